/* Planes of the uv grid to an image and back on OpenCL devices, as gridder_image.cu: a thread for
 * each cell or pixel. */
#ifndef GROVE_GRIDDER_IMAGE_OPENCL
#define GROVE_GRIDDER_IMAGE_OPENCL
#include "gridder_cuda.h"

/* n - 1 - middle_n of a pixel; false beyond the horizon. */
GROVE_FN bool gridder_direction(const grove_gridder_image_state *g, int32_t x, int32_t y, double *n)
{
    const double square = grove_gridder_image_square(g, x, y), rest = 1 - square;

    *n = rest > 0 ? -square / (1 + sqrt(rest)) - g->middle_n : 0;
    return rest > 0;
}
#endif

#define gridder_phase            GROVE_NAME(gridder_phase)
#define gridder_unfold_cell      GROVE_NAME(gridder_unfold_cell)
#define gridder_fold_cell        GROVE_NAME(gridder_fold_cell)
#define gridder_to_pixel         GROVE_NAME(gridder_to_pixel)
#define gridder_from_pixel       GROVE_NAME(gridder_from_pixel)
#define gridder_window_cell      GROVE_NAME(gridder_window_cell)
#define gridder_correlate_sample GROVE_NAME(gridder_correlate_sample)
#define gridder_total_all        GROVE_NAME(gridder_total_all)

/* exp(2 pi i turns) */
GROVE_FN cplx gridder_phase(double turns)
{
    const real rest = (real)(2 * (turns - rint(turns)));
    cplx z;

    z.re = cospi(rest);
    z.im = sinpi(rest);
    return z;
}

/* A plane of kept cells to the whole grid. */
GROVE_FN void gridder_unfold_cell(const grove_args *args, int64_t i)
{
    const grove_gridder_image_state *g = grove_gridder_image_state_of(args);
    const cplx *from = (const cplx *)args->in[GROVE_GRIDDER_FROM].data;
    cplx value = {0, 0};
    int32_t x, y;

    grove_gridder_divide(i, &g->row, &y, &x);
    x = grove_gridder_image_kept_index(g, 0, x);
    y = grove_gridder_image_kept_index(g, 1, y);
    if (x < g->cells[0] && y < g->cells[1])
        value = from[(int64_t)y * g->cells[0] + x];
    ((cplx *)args->out.data)[i] = value;
}

/* And back, from cells that may have others between them. */
GROVE_FN void gridder_fold_cell(const grove_args *args, int64_t i)
{
    const grove_gridder_image_state *g = grove_gridder_image_state_of(args);
    const char *from = (const char *)args->in[GROVE_GRIDDER_FROM].data;
    int32_t x, y;

    grove_gridder_divide(i, &g->row, &y, &x);
    ((cplx *)args->out.data)[i] =
        *(const cplx *)(const void *)(from + grove_gridder_image_grid_index(g, 1, y) * g->step[1] +
                                      grove_gridder_image_grid_index(g, 0, x) * g->step[0]);
}

/* Adds a plane to the image: Re(value exp(2 pi i w (n - 1 - middle_n))). */
GROVE_FN void gridder_to_pixel(const grove_args *args, int64_t i)
{
    const grove_gridder_image_state *g = grove_gridder_image_state_of(args);
    const char *from = (const char *)args->in[GROVE_GRIDDER_FROM].data;
    int32_t x, y;
    double n;

    grove_gridder_divide(i, &g->row, &y, &x);
    const int32_t column = x - g->pixels[0] / 2 + g->middle[0],
                  row = y - g->pixels[1] / 2 + g->middle[1];
    const cplx value =
        *(const cplx *)(const void *)(from + (row < 0 ? row + g->size[1] : row) * g->step[1] +
                                      (column < 0 ? column + g->size[0] : column) * g->step[0]);
    const bool above = gridder_direction(g, x, y, &n);
    const cplx phase = gridder_phase(g->w * n);
    real *pixel = (real *)args->out.data + i, sum = g->begin ? 0 : *pixel;

    sum += value.re * phase.re - value.im * phase.im;
    if (g->finish)
        sum = above ? sum * (real)grove_gridder_image_correction(args, g, x, y, n) : 0;
    *pixel = sum;
}

/* A plane of the whole grid from the image: pixel exp(-2 pi i w (n - 1 - middle_n)), 0 around it.
 */
GROVE_FN void gridder_from_pixel(const grove_args *args, int64_t i)
{
    const grove_gridder_image_state *g = grove_gridder_image_state_of(args);
    cplx value = {0, 0};
    int32_t x, y;
    double n;

    grove_gridder_divide(i, &g->row, &y, &x);
    x += g->pixels[0] / 2 - g->middle[0];
    y += g->pixels[1] / 2 - g->middle[1];
    x -= x >= g->size[0] ? g->size[0] : 0;
    y -= y >= g->size[1] ? g->size[1] : 0;
    if (x >= 0 && y >= 0 && x < g->pixels[0] && y < g->pixels[1] &&
        gridder_direction(g, x, y, &n)) {
        const char *at =
            (const char *)args->in[GROVE_GRIDDER_FROM].data + y * g->step[1] + x * g->step[0];
        const real pixel = *(const real *)(const void *)at *
                           (real)grove_gridder_image_correction(args, g, x, y, n);
        const cplx phase = gridder_phase(g->w * n);
        value.re = pixel * phase.re;
        value.im = -pixel * phase.im;
    }
    ((cplx *)args->out.data)[i] = value;
}

/* Cells of an array, shifted, cut, or with zeros around them. */
GROVE_FN void gridder_window_cell(const grove_args *args, int64_t i)
{
    const grove_gridder_window *g = (const grove_gridder_window *)(const void *)args->state.bytes;
    const char *from = (const char *)args->in[GROVE_GRIDDER_FROM].data;
    char *to = (char *)args->out.data;
    int32_t x, y;

    grove_gridder_divide(i, &g->row, &y, &x);
    to += y * g->to_step[1] + x * g->to_step[0];
    x += g->skip[0];
    y += g->skip[1];
    if (g->wraps) {
        x -= x >= g->from_size[0] ? g->from_size[0] : 0;
        y -= y >= g->from_size[1] ? g->from_size[1] : 0;
    }
    const bool within = x >= 0 && y >= 0 && x < g->from_size[0] && y < g->from_size[1];
    from += y * g->from_step[1] + x * g->from_step[0];
    for (int k = 0; k < g->numbers; k++)
        ((real *)(void *)to)[k] = within ? ((const real *)(const void *)from)[k] : 0;
}

/* Correlations of the Stokes parameters [row][channel][parameter]. */
GROVE_FN void gridder_correlate_sample(const grove_args *args, int64_t i)
{
    const grove_gridder_image_state *g = grove_gridder_image_state_of(args);
    const cplx *from = (const cplx *)args->in[GROVE_GRIDDER_FROM].data + i * g->polarisations;
    const double *factor = (const double *)args->in[GROVE_GRIDDER_TABLE].data;
    char *to = (char *)args->out.data;
    int32_t row, channel;
    cplx sum[4] = {{0, 0}};

    grove_gridder_divide(i, &g->row, &row, &channel);
    const int64_t at[3] = {row / g->baselines, row % g->baselines, channel};
    for (int d = 0; d < 3; d++)
        if (g->axis[d] >= 0)
            to += args->out.stride[g->axis[d]] * at[d];
    for (int k = 0; k < g->polarisations; k++)
        for (int e = 0; e < 4; e++, factor += 2) { /* a scalar has but the first one */
            sum[e].re += (real)factor[0] * from[k].re - (real)factor[1] * from[k].im;
            sum[e].im += (real)factor[0] * from[k].im + (real)factor[1] * from[k].re;
        }
    for (int e = 0; e < args->out.elements; e++)
        ((cplx *)(void *)to)[e] = sum[e];
}

/* out[k] += the sum of in[piece][k] for each k: one thread. */
GROVE_FN void gridder_total_all(const grove_args *args, int64_t i)
{
    const grove_gridder_image_state *g = grove_gridder_image_state_of(args);
    const double *from = (const double *)args->in[GROVE_GRIDDER_FROM].data;

    for (int k = 0; k < g->channels && i == 0; k++)
        for (int64_t p = 0; p < g->pieces; p++)
            ((double *)args->out.data)[k] += from[g->channels * p + k];
}

#define GRIDDER_KERNEL(name, function)                                                             \
    GROVE_FN void GROVE_NAME(name##_items)(const grove_args *args)                                 \
    {                                                                                              \
        for (int64_t i = get_global_id(0); i < args->size[0]; i += get_global_size(0))             \
            function(args, i);                                                                     \
    }                                                                                              \
    GROVE_OPENCL_KERNEL(name, GROVE_NAME(name##_items))

GRIDDER_KERNEL(gridder_unfold, gridder_unfold_cell)
GRIDDER_KERNEL(gridder_fold, gridder_fold_cell)
GRIDDER_KERNEL(gridder_to_image, gridder_to_pixel)
GRIDDER_KERNEL(gridder_from_image, gridder_from_pixel)
GRIDDER_KERNEL(gridder_window, gridder_window_cell)
GRIDDER_KERNEL(gridder_correlate, gridder_correlate_sample)
GRIDDER_KERNEL(gridder_total, gridder_total_all)
