// Planes of the uv grid to an image and back, except the Fourier transforms: a thread for each cell
// or pixel. Per cell of the grid and plane, in single precision: 8 bytes written, and read where
// samples are kept, and 32 bytes of each pass of the transform; per pixel and plane 8 bytes and the
// image's 8.
#include "gridder_cuda.h"

#include "../../cuda/number.h"

namespace
{
// A complex number that is read and written at once.
template <typename real> struct alignas(2 * sizeof(real)) pair_of {
    real re, im;
};

// A plane of kept cells to the whole grid.
template <typename real> __device__ void unfold(const grove_args *args, int64_t i)
{
    const grove_gridder_image_state *g = grove_gridder_image_state_of(args);
    const pair_of<real> *from = (const pair_of<real> *)args->in[GROVE_GRIDDER_FROM].data;
    pair_of<real> value = {0, 0};
    int32_t x, y;

    grove_gridder_divide(i, &g->row, &y, &x);
    x = grove_gridder_image_kept_index(g, 0, x);
    y = grove_gridder_image_kept_index(g, 1, y);
    if (x < g->cells[0] && y < g->cells[1])
        value = from[(int64_t)y * g->cells[0] + x];
    ((pair_of<real> *)args->out.data)[i] = value;
}

// And back, from cells that may have others between them.
template <typename real> __device__ void fold(const grove_args *args, int64_t i)
{
    const grove_gridder_image_state *g = grove_gridder_image_state_of(args);
    const char *from = (const char *)args->in[GROVE_GRIDDER_FROM].data;
    int32_t x, y;

    grove_gridder_divide(i, &g->row, &y, &x);
    ((pair_of<real> *)args->out.data)[i] = *(
        const pair_of<real> *)(const void *)(from +
                                             grove_gridder_image_grid_index(g, 1, y) * g->step[1] +
                                             grove_gridder_image_grid_index(g, 0, x) * g->step[0]);
}

// sqrt(x) - 1 for 0 < x <= 1, good to 1e-12: for images in single precision, whose phases w (n - 1)
// then are good to 1e-6 turns at 1e6 wavelengths. One step of Newton's from the fast inverse root.
__device__ __forceinline__ double root_less_1(double x)
{
    const double inverse = (double)rsqrtf((float)x), root = x * inverse;
    return root - 1 + 0.5 * inverse * (x - root * root);
}

// n - 1 - middle_n of a pixel; false beyond the horizon.
template <typename real>
__device__ __forceinline__ bool direction(const grove_gridder_image_state *g, int32_t x, int32_t y,
                                          double *n)
{
    const double square = grove_gridder_image_square(g, x, y), rest = 1 - square;

    if (sizeof(real) == sizeof(double))
        *n = rest > 0 ? -square / (1 + sqrt(rest)) - g->middle_n : 0;
    else
        *n = rest > 0 ? root_less_1(rest) - g->middle_n : 0;
    return rest > 0;
}

// Adds a plane to the image: Re(value exp(2 pi i w (n - 1 - middle_n))).
template <typename real> __device__ void to_image(const grove_args *args, int64_t i)
{
    const grove_gridder_image_state *g = grove_gridder_image_state_of(args);
    const char *from = (const char *)args->in[GROVE_GRIDDER_FROM].data;
    int32_t x, y;

    grove_gridder_divide(i, &g->row, &y, &x);
    const int32_t column = x - g->pixels[0] / 2 + g->middle[0],
                  row = y - g->pixels[1] / 2 + g->middle[1];
    const pair_of<real> value =
        *(const pair_of<real> *)(const void *)(from +
                                               (row < 0 ? row + g->size[1] : row) * g->step[1] +
                                               (column < 0 ? column + g->size[0] : column) *
                                                   g->step[0]);
    real *pixel = (real *)args->out.data + i, sum = g->begin ? 0 : *pixel;
    double n;
    const bool above = direction<real>(g, x, y, &n);
    const complex_number<real> phase = phasor<real>(g->w * n);

    sum += value.re * phase.re - value.im * phase.im;
    if (g->finish)
        sum = above ? sum * (real)grove_gridder_image_correction(args, g, x, y, n) : 0;
    *pixel = sum;
}

// A plane of the whole grid from the image: pixel exp(-2 pi i w (n - 1 - middle_n)), 0 around it.
template <typename real> __device__ void from_image(const grove_args *args, int64_t i)
{
    const grove_gridder_image_state *g = grove_gridder_image_state_of(args);
    pair_of<real> value = {0, 0};
    int32_t x, y;
    double n;

    grove_gridder_divide(i, &g->row, &y, &x);
    x += g->pixels[0] / 2 - g->middle[0];
    y += g->pixels[1] / 2 - g->middle[1];
    x -= x >= g->size[0] ? g->size[0] : 0;
    y -= y >= g->size[1] ? g->size[1] : 0;
    if (x >= 0 && y >= 0 && x < g->pixels[0] && y < g->pixels[1] && direction<real>(g, x, y, &n)) {
        const char *at =
            (const char *)args->in[GROVE_GRIDDER_FROM].data + y * g->step[1] + x * g->step[0];
        const real pixel = *(const real *)(const void *)at *
                           (real)grove_gridder_image_correction(args, g, x, y, n);
        const complex_number<real> phase = phasor<real>(g->w * n);
        value = {pixel * phase.re, -pixel * phase.im};
    }
    ((pair_of<real> *)args->out.data)[i] = value;
}

// Cells of an array, shifted, cut, or with zeros around them.
template <typename real> __device__ void window(const grove_args *args, int64_t i)
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

// Correlations of the Stokes parameters [row][channel][parameter].
template <typename real> __device__ void correlate(const grove_args *args, int64_t i)
{
    const grove_gridder_image_state *g = grove_gridder_image_state_of(args);
    const pair_of<real> *from =
        (const pair_of<real> *)args->in[GROVE_GRIDDER_FROM].data + i * g->polarisations;
    const double *factor = (const double *)args->in[GROVE_GRIDDER_TABLE].data;
    int32_t row, channel;
    grove_gridder_divide(i, &g->row, &row, &channel);
    const int64_t at[3] = {row / g->baselines, row % g->baselines, channel};
    pair_of<real> *to = (pair_of<real> *)args->out.data, sum[4] = {};
    int64_t offset = 0;

    for (int d = 0; d < 3; d++)
        if (g->axis[d] >= 0)
            offset += args->out.stride[g->axis[d]] * at[d];
    for (int k = 0; k < g->polarisations; k++)
        for (int e = 0; e < 4; e++, factor += 2) { // a scalar has but the first one
            sum[e].re += (real)factor[0] * from[k].re - (real)factor[1] * from[k].im;
            sum[e].im += (real)factor[0] * from[k].im + (real)factor[1] * from[k].re;
        }
    to = (pair_of<real> *)(void *)((char *)to + offset);
    for (int e = 0; e < args->out.elements; e++)
        to[e] = sum[e];
}

// out[k] += the sum of in[piece][k] for each k, by one block of a warp: always in the same order.
template <typename real> __device__ void total(const grove_args *args, int64_t i)
{
    const grove_gridder_image_state *g = grove_gridder_image_state_of(args);
    const double *from = (const double *)args->in[GROVE_GRIDDER_FROM].data;

    for (int k = 0; k < g->channels; k++) {
        double sum = 0;
        for (int64_t p = i; p < g->pieces; p += 32)
            sum += from[g->channels * p + k];
        for (int by = 16; by > 0; by /= 2)
            sum += __shfl_down_sync(0xffffffffu, sum, (unsigned)by);
        if (i == 0)
            ((double *)args->out.data)[k] += sum;
    }
}
} // namespace

#define KERNEL(name, precision, real)                                                              \
    extern "C" __global__ void gridder_##name##_##precision(                                       \
        const __grid_constant__ grove_args args)                                                   \
    {                                                                                              \
        const int64_t count = args.size[0], step = (int64_t)gridDim.x * blockDim.x;                \
                                                                                                   \
        _Pragma("unroll 1") for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;       \
                                 i < count; i += step) name<real>(&args, i);                       \
    }                                                                                              \
    GROVE_CUDA_EXPORT(gridder_##name##_##precision)

#define KERNELS(name)                                                                              \
    KERNEL(name, single, float)                                                                    \
    KERNEL(name, double, double)

KERNELS(unfold)
KERNELS(fold)
KERNELS(to_image)
KERNELS(from_image)
KERNELS(window)
KERNELS(correlate)
KERNELS(total)
