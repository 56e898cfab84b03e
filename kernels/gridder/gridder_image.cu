// Planes of the uv grid to an image and back, beside the Fourier transforms: a thread for each cell
// or pixel. Per cell of the grid and plane, in single precision: 8 bytes written, and read where
// samples are kept, and 32 bytes of each pass of the transform; per pixel and plane 8 bytes and the
// image's 8.
#include "gridder_cuda.h"

#include "../cuda/number.h"

namespace
{
// i / size and the rest; divisions of 64 bits are slow.
__device__ __forceinline__ void divide(int64_t i, int32_t size, int64_t *quotient, int64_t *rest)
{
    if ((uint64_t)i >> 32) {
        *quotient = i / size;
        *rest = i % size;
    } else {
        *quotient = (uint32_t)i / (uint32_t)size;
        *rest = (uint32_t)i % (uint32_t)size;
    }
}

// Number of a row or column of the grid among those that are kept, or size - 1 at most.
__device__ __forceinline__ int64_t kept_index(const grove_gridder_image_state *g, int d, int64_t at)
{
    int64_t kept = at - g->first[d]; // `first` is from -size to 0

    return kept >= g->size[d] ? kept - g->size[d] : kept;
}

__device__ __forceinline__ int64_t grid_index(const grove_gridder_image_state *g, int d,
                                              int64_t kept)
{
    int64_t at = g->first[d] + kept;

    return at < 0 ? at + g->size[d] : at;
}

// A plane of what is kept to the whole grid.
template <typename real> __device__ void unfold(const grove_args *args, int64_t i)
{
    const grove_gridder_image_state *g = grove_gridder_image_state_of(args);
    const complex_number<real> *from =
        (const complex_number<real> *)args->in[GROVE_GRIDDER_FROM].data;
    complex_number<real> value = {0, 0};
    int64_t x, y;

    divide(i, g->size[0], &y, &x);
    x = kept_index(g, 0, x);
    y = kept_index(g, 1, y);
    if (x < g->cells[0] && y < g->cells[1])
        value = from[y * g->cells[0] + x];
    ((complex_number<real> *)args->out.data)[i] = value;
}

// And back, from cells that may have others between them.
template <typename real> __device__ void fold(const grove_args *args, int64_t i)
{
    const grove_gridder_image_state *g = grove_gridder_image_state_of(args);
    const char *from = (const char *)args->in[GROVE_GRIDDER_FROM].data;
    int64_t x, y;

    divide(i, g->cells[0], &y, &x);
    ((complex_number<real> *)args->out.data)[i] =
        *(const complex_number<real> *)(const void *)(from + grid_index(g, 1, y) * g->step[1] +
                                                      grid_index(g, 0, x) * g->step[0]);
}

// n - 1 - middle_n of a pixel; false beyond the horizon.
__device__ __forceinline__ bool direction(const grove_gridder_image_state *g, int64_t x, int64_t y,
                                          double *n)
{
    const double l = g->centre[0] + (double)(x - g->pixels[0] / 2) * g->cell[0];
    const double m = g->centre[1] + (double)(y - g->pixels[1] / 2) * g->cell[1];
    const double square = l * l + m * m, rest = 1 - square;

    *n = rest > 0 ? -square / (1 + sqrt(rest)) - g->middle_n : 0;
    return rest > 0;
}

// What divides by the transforms of the kernels: along l, m, and a polynomial along w.
__device__ __forceinline__ double correction(const grove_args *args,
                                             const grove_gridder_image_state *g, int64_t x,
                                             int64_t y, double n)
{
    const double *along_l = (const double *)args->in[GROVE_GRIDDER_TABLE].data;
    const double *along_m = along_l + g->pixels[0], *polynomial = along_m + g->pixels[1];
    const double t = 2 * g->scale_t * (n * n) - 1;
    double sum = polynomial[g->degree];

    for (int d = g->degree - 1; d >= 0; d--)
        sum = sum * t + polynomial[d];
    return sum * along_l[x] * along_m[y];
}

// Adds a plane to the image: Re(value exp(2 pi i w (n - 1 - middle_n))).
template <typename real> __device__ void to_image(const grove_args *args, int64_t i)
{
    const grove_gridder_image_state *g = grove_gridder_image_state_of(args);
    const complex_number<real> *from =
        (const complex_number<real> *)args->in[GROVE_GRIDDER_FROM].data;
    int64_t x, y;

    divide(i, g->pixels[0], &y, &x);
    const int64_t column = x - g->pixels[0] / 2, row = y - g->pixels[1] / 2;
    const complex_number<real> value = from[(row < 0 ? row + g->size[1] : row) * g->size[0] +
                                            (column < 0 ? column + g->size[0] : column)];
    real *pixel = (real *)args->out.data + i, sum = g->begin ? 0 : *pixel;
    double n;
    const bool above = direction(g, x, y, &n);
    const complex_number<real> phase = phasor<real>(g->w * n);

    sum += value.re * phase.re - value.im * phase.im;
    if (g->finish)
        sum = above ? sum * (real)correction(args, g, x, y, n) : 0;
    *pixel = sum;
}

// A plane of the whole grid from the image: pixel exp(-2 pi i w (n - 1 - middle_n)), 0 around it.
template <typename real> __device__ void from_image(const grove_args *args, int64_t i)
{
    const grove_gridder_image_state *g = grove_gridder_image_state_of(args);
    complex_number<real> value = {0, 0};
    int64_t x, y;
    double n;

    divide(i, g->size[0], &y, &x);
    x += g->pixels[0] / 2;
    y += g->pixels[1] / 2;
    x -= x >= g->size[0] ? g->size[0] : 0;
    y -= y >= g->size[1] ? g->size[1] : 0;
    if (x < g->pixels[0] && y < g->pixels[1] && direction(g, x, y, &n)) {
        const char *at =
            (const char *)args->in[GROVE_GRIDDER_FROM].data + y * g->step[1] + x * g->step[0];
        const real pixel = *(const real *)(const void *)at * (real)correction(args, g, x, y, n);
        const complex_number<real> phase = phasor<real>(g->w * n);
        value = {pixel * phase.re, -pixel * phase.im};
    }
    ((complex_number<real> *)args->out.data)[i] = value;
}

// Correlations of the Stokes parameters [row][channel][parameter].
template <typename real> __device__ void correlate(const grove_args *args, int64_t i)
{
    const grove_gridder_image_state *g = grove_gridder_image_state_of(args);
    const complex_number<real> *from =
        (const complex_number<real> *)args->in[GROVE_GRIDDER_FROM].data + i * g->polarisations;
    const double *factor = (const double *)args->in[GROVE_GRIDDER_TABLE].data;
    const int64_t channel = i % g->channels, row = i / g->channels;
    const int64_t at[3] = {row / g->baselines, row % g->baselines, channel};
    complex_number<real> *to = (complex_number<real> *)args->out.data, sum[4] = {};
    int64_t offset = 0;

    for (int d = 0; d < 3; d++)
        if (g->axis[d] >= 0)
            offset += args->out.stride[g->axis[d]] * at[d];
    for (int k = 0; k < g->polarisations; k++)
        for (int e = 0; e < 4; e++, factor += 2) { // a scalar has but the first one
            sum[e].re += (real)factor[0] * from[k].re - (real)factor[1] * from[k].im;
            sum[e].im += (real)factor[0] * from[k].im + (real)factor[1] * from[k].re;
        }
    to = (complex_number<real> *)(void *)((char *)to + offset);
    for (int e = 0; e < args->out.elements; e++)
        to[e] = sum[e];
}

// out[k] += the sum of in[piece][k], by one block of a warp: always in the same order.
template <typename real> __device__ void total(const grove_args *args, int64_t i)
{
    const grove_gridder_image_state *g = grove_gridder_image_state_of(args);
    const double *from = (const double *)args->in[GROVE_GRIDDER_FROM].data;

    for (int k = 0; k < 2; k++) {
        double sum = 0;
        for (int64_t p = i; p < g->pieces; p += 32)
            sum += from[2 * p + k];
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
        const int64_t count = grove_args_cells(&args), step = (int64_t)gridDim.x * blockDim.x;     \
                                                                                                   \
        for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)     \
            name<real>(&args, i);                                                                  \
    }                                                                                              \
    GROVE_CUDA_EXPORT(gridder_##name##_##precision)

#define KERNELS(name)                                                                              \
    KERNEL(name, single, float)                                                                    \
    KERNEL(name, double, double)

KERNELS(unfold)
KERNELS(fold)
KERNELS(to_image)
KERNELS(from_image)
KERNELS(correlate)
KERNELS(total)
