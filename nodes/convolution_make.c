#include "nodes/convolution_make.h"
#include "../kernels/convolution/convolution_fit.h"

#include "base/error.h"
#include "base/memory.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the raster those pixels count that lie in the image, and one more on each side. */
static bool counts(const convolution_making *c, int d, double at)
{
    const grove_gridder_image *image = &c->plan.image;
    const double low = image->centre[d] - (double)(image->size[d] / 2) * image->cell[d],
                 high = low + (double)(image->size[d] - 1) * image->cell[d],
                 margin = c->raster[d] ? c->raster[d]->width[0] : 0.1 * image->cell[d];

    return at > low - margin && at < high + margin;
}

int64_t convolution_pixels(const convolution_making *c, int d, int64_t *first, double *at)
{
    const grove_gridder_image *image = &c->plan.image;
    const int64_t size = c->raster[d] ? c->raster[d]->size : 4 * (int64_t)c->functions.support + 1;
    int64_t count = 0;

    for (int64_t k = 0; k < size; k++) {
        double cosine = c->raster[d] ? c->raster[d]->centre[k]
                                     : image->centre[d] +
                                           ((double)k / (double)(size - 1) - 0.5) *
                                               (double)(image->size[d] - 1) * image->cell[d] -
                                           (image->size[d] % 2 ? 0 : 0.5 * image->cell[d]);
        if (!counts(c, d, cosine))
            continue;
        if (!count)
            *first = k;
        if (at)
            at[count] = cosine;
        count++;
    }
    return count;
}

uint64_t convolution_work_bytes(const convolution_making *c)
{
    const uint64_t fine = (uint64_t)grove_convolution_side(&c->functions);
    uint64_t pixels[2];

    for (int d = 0; d < 2; d++) {
        int64_t first;
        pixels[d] = (uint64_t)convolution_pixels(c, d, &first, NULL);
    }
    return 16 * (fine * (pixels[0] + 2 * pixels[1] + fine) + 2 * pixels[0] * pixels[1]);
}

/* Pixels along l or m that count. */
typedef struct {
    int64_t count, first;
    double *at;          /* direction cosines */
    double complex *fit; /* as of grove_convolution_fit; along l conjugate, as products want */
} axis_work;

/* In cycles per cell of the grid, from the image's middle. */
static double cycles(const convolution_making *c, int d, double cosine)
{
    return (cosine - c->plan.image.centre[d]) / c->functions.scale[d];
}

static int fit_axis(const convolution_making *c, int d, axis_work *w)
{
    double *x = grove_alloc((size_t)w->count * sizeof(*x));

    for (int64_t k = 0; k < w->count; k++)
        x[k] = cycles(c, d, w->at[k]);
    int code =
        grove_convolution_fit(&c->plan.kernel, c->functions.support, c->functions.oversampling,
                              c->functions.linear, x, w->count, (double *)w->fit);
    for (int64_t k = 0; k < w->count * grove_convolution_side(&c->functions) && !d && !code; k++)
        w->fit[k] = conj(w->fit[k]);
    free(x);
    return code ? GROVE_NO_MEMORY : 0;
}

typedef struct {
    const grove_call *call;
    const convolution_making *c;
    axis_work axis[2];
    double complex *element; /* of the Mueller matrix, conjugate, [m][l] */
    double complex *sky, *half, *plane;
    double off, size; /* squares of what is left of a function, and of it, at most */
} making_work;

/* Of plane k: fit_v S fit_u^T, the sky's S = conj(M) exp(2 pi i w (n - 1 - its middle)). */
static int make_plane(making_work *w, int64_t k)
{
    const convolution_making *c = w->c;
    const int64_t columns = w->axis[0].count, rows = w->axis[1].count,
                  fine = grove_convolution_side(&c->functions);
    const double plane = (double)k * c->functions.step_w;

    for (int64_t y = 0; y < rows; y++)
        for (int64_t x = 0; x < columns; x++) {
            double n =
                grove_gridder_n_less_1(w->axis[0].at[x], w->axis[1].at[y]) - c->functions.turn[2];
            w->sky[y * columns + x] =
                w->element[y * columns + x] * cexp(2 * GROVE_PI * I * (plane * n));
            if (c->functions.linear)
                w->sky[y * columns + x] *= grove_convolution_unsmear(c->functions.step_w * n);
        }
    int code = grove_call_product(w->call,
                                  &(grove_product){.a = w->axis[0].fit,
                                                   .b = w->sky,
                                                   .c = w->half,
                                                   .rows = fine,
                                                   .columns = rows,
                                                   .inner = columns,
                                                   .count = 1},
                                  true);
    return code ? code
                : grove_call_product(w->call,
                                     &(grove_product){.a = w->axis[1].fit,
                                                      .b = w->half,
                                                      .c = w->plane,
                                                      .rows = fine,
                                                      .columns = fine,
                                                      .inner = rows,
                                                      .count = 1},
                                     true);
}

/* What cells at q = 0 make at a pixel, along l or m; less what interpolation takes off. */
static void see_cells(const convolution_making *c, int d, double cosine, double complex *seen)
{
    const grove_convolution_plan *f = &c->functions;
    const double x = cycles(c, d, cosine);

    grove_convolution_see(&c->plan.kernel, f->support, f->oversampling, x, (double *)seen);
    for (int k = 0; k < f->support && f->linear; k++)
        seen[k] /= grove_convolution_unsmear(x / f->oversampling);
}

/* How far the function at offset 0 is from what it is to be, over all pixels. */
static void find_residual(making_work *w)
{
    const int64_t columns = w->axis[0].count, rows = w->axis[1].count;
    const int support = w->c->functions.support;
    const grove_convolution_plan *f = &w->c->functions;
    const int64_t fine = grove_convolution_side(f), stride = grove_convolution_stride(f),
                  first = f->linear; /* where q = 0 is */
    double complex *seen[2];
    double off = 0, size = 0;

    for (int d = 0; d < 2; d++) {
        seen[d] = grove_alloc((size_t)(w->axis[d].count * support) * sizeof(**seen));
        for (int64_t k = 0; k < w->axis[d].count; k++)
            see_cells(w->c, d, w->axis[d].at[k], seen[d] + k * support);
    }
    for (int64_t y = 0; y < rows; y++)
        for (int64_t x = 0; x < columns; x++) {
            double complex sum = 0, sky = w->sky[y * columns + x];
            for (int64_t j = 0; j < support; j++)
                for (int64_t i = 0; i < support; i++)
                    sum += w->plane[(j * stride + first) * fine + i * stride + first] *
                           seen[1][y * support + j] * seen[0][x * support + i];
            sum -= sky;
            off += creal(sum) * creal(sum) + cimag(sum) * cimag(sum);
            size += creal(sky) * creal(sky) + cimag(sky) * cimag(sky);
        }
    free(seen[0]);
    free(seen[1]);
    w->off = fmax(w->off, off);
    w->size = fmax(w->size, size);
}

enum { PIECES = 6 };

static bool take_memory(making_work *w, void *taken[PIECES])
{
    const convolution_making *c = w->c;
    const int64_t fine = grove_convolution_side(&c->functions), rows = w->axis[1].count,
                  pixels = w->axis[0].count * rows;
    const struct {
        double complex **at;
        int64_t numbers;
    } all[PIECES] = {{&w->axis[0].fit, fine * w->axis[0].count},
                     {&w->axis[1].fit, fine * rows},
                     {&w->element, pixels},
                     {&w->sky, pixels},
                     {&w->half, fine * rows},
                     {&w->plane, fine * fine}};
    bool good = true;

    for (int i = 0; i < PIECES; i++) {
        taken[i] = *all[i].at = malloc((size_t)all[i].numbers * sizeof(**all[i].at));
        good = good && taken[i];
    }
    return good;
}

static void put_plane(const making_work *w, char *to)
{
    const int64_t fine = grove_convolution_side(&w->c->functions);
    const double *from = (const double *)w->plane;

    if (w->call->double_precision)
        memcpy(to, from, (size_t)(2 * fine * fine) * sizeof(*from));
    for (int64_t k = 0; k < 2 * fine * fine && !w->call->double_precision; k++)
        ((float *)(void *)to)[k] = (float)from[k];
}

/* All planes of element [j][r] of stations whose terms are at p and q. */
static int make_function(making_work *w, int j, int r, const double *p, const double *q, char *to)
{
    const convolution_making *c = w->c;
    const int64_t pixels = w->axis[0].count * w->axis[1].count,
                  fine = grove_convolution_side(&c->functions),
                  bytes = fine * fine * (w->call->double_precision ? 16 : 8);
    int code = 0;

    for (int64_t k = 0; k < pixels; k++) {
        double m[2];
        image_mueller_element(&c->mueller, j, r,
                              (const double(*)[2])(const void *)(p + 2 * k * c->mueller.shape),
                              (const double(*)[2])(const void *)(q + 2 * k * c->mueller.shape), m);
        w->element[k] = m[0] - I * m[1];
    }
    for (int64_t k = 0; k < c->functions.planes && !code; k++) {
        code = make_plane(w, k);
        if (!code)
            put_plane(w, to + k * bytes);
    }
    if (!code)
        find_residual(w);
    return code;
}

/* Functions of a block of times, of channels, and of a pair of groups: those of its elements. */
static int make_elements(making_work *w, const double *p, const double *q, char *to,
                         int64_t function_bytes)
{
    const image_mueller *m = &w->c->mueller;
    int code = 0;

    for (int j = 0; j < m->visibilities; j++)
        for (int r = 0; r < m->images && !code; r++)
            if (m->element[j][r] >= 0)
                code = make_function(w, j, r, p, q, to + m->element[j][r] * function_bytes);
    return code;
}

static int make_all(making_work *w, const double *jones, char *out)
{
    const image_mueller *m = &w->c->mueller;
    const int64_t fine = grove_convolution_side(&w->c->functions),
                  bytes =
                      w->c->functions.planes * fine * fine * (w->call->double_precision ? 16 : 8),
                  numbers = 2 * m->shape * w->axis[0].count * w->axis[1].count,
                  sets = m->time_blocks * m->groups * m->groups * m->channel_blocks;
    int code = 0;

    for (int64_t set = 0; set < sets && !code; set++) {
        const int64_t f = set % m->channel_blocks, pair = set / m->channel_blocks,
                      q = pair % m->groups, p = pair / m->groups % m->groups,
                      t = pair / m->groups / m->groups;
        const double *of_time = jones + t * m->groups * m->channel_blocks * numbers;
        code = make_elements(w, of_time + (p * m->channel_blocks + f) * numbers,
                             of_time + (q * m->channel_blocks + f) * numbers,
                             out + set * m->elements * bytes, bytes);
    }
    return code;
}

static void warn_support(const making_work *w)
{
    const convolution_making *c = w->c;
    const double off = w->size > 0 ? sqrt(w->off / w->size) : 0;

    if (off > c->error)
        grove_node_warn(w->call->node,
                        "a support of %d cells leaves an error of %.2g, more than the nearest "
                        "samples do (%.2g); support=%d would leave less",
                        c->functions.support, off, c->error, c->functions.support + 4);
}

int convolution_make(const grove_call *call, const convolution_making *c, const double *jones,
                     void *out)
{
    making_work w = {.call = call, .c = c};
    void *taken[PIECES];

    for (int d = 0; d < 2; d++) {
        axis_work *a = &w.axis[d];
        a->count = convolution_pixels(c, d, &a->first, NULL);
        a->at = grove_alloc((size_t)a->count * sizeof(*a->at));
        convolution_pixels(c, d, &a->first, a->at);
    }
    int code = take_memory(&w, taken) ? 0 : GROVE_NO_MEMORY;
    for (int d = 0; d < 2 && !code; d++)
        code = fit_axis(c, d, &w.axis[d]);
    code = code ? code : make_all(&w, jones, out);
    for (int d = 0; d < 2; d++)
        free(w.axis[d].at);
    for (int i = 0; i < PIECES; i++)
        free(taken[i]);
    if (code == GROVE_NO_MEMORY)
        return grove_node_fail(call->node, code, "not enough memory to make the functions");
    if (!code)
        warn_support(&w);
    return code;
}
