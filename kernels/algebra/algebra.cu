// Matrix product, Fourier transform and Cholesky factor where NVIDIA's libraries are absent.
#include "../cuda/number.h"
#include "algebra.h"

namespace
{
enum { TILE = GROVE_PRODUCT_TILE, THREADS = GROVE_CHOLESKY_THREADS };

template <typename T> __device__ __forceinline__ const T *state_of(const grove_args *args)
{
    return (const T *)(const void *)args->state.bytes;
}

template <typename real> struct tiles {
    complex_number<real> a[TILE][TILE + 1], b[TILE][TILE + 1];
};

// Tile by tile along `inner`, always from its begin: the order of a sum is that of its terms.
template <typename real>
__device__ void multiply_tile(const grove_product_state *p, int64_t tile, tiles<real> *t)
{
    typedef complex_number<real> number;
    int64_t across = (p->columns + TILE - 1) / TILE, down = (p->rows + TILE - 1) / TILE;
    int64_t batch = tile / (across * down), y = threadIdx.x / TILE, x = threadIdx.x % TILE;
    int64_t first_row = tile / across % down * TILE, first_column = tile % across * TILE;
    const number *a = (const number *)p->a + batch * p->stride_a;
    const number *b = (const number *)p->b + batch * p->stride_b;
    number sum = {};

    for (int64_t k = 0; k < p->inner; k += TILE) {
        bool inside = k + x < p->inner;
        number none = {};
        __syncthreads();
        t->a[y][x] =
            inside && first_row + y < p->rows ? a[(first_row + y) * p->inner + k + x] : none;
        t->b[y][x] = inside && first_column + y < p->columns
                         ? b[(first_column + y) * p->inner + k + x]
                         : none;
        t->b[y][x].im = -t->b[y][x].im;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; i++)
            add_product(&sum, t->a[y][i], t->b[x][i]);
    }
    if (first_row + y < p->rows && first_column + x < p->columns)
        ((number *)p->c)[batch * p->stride_c + (first_row + y) * p->columns + first_column + x] =
            sum;
}

template <typename real> __device__ void multiply(const grove_args *args, tiles<real> *t)
{
    const grove_product_state *p = state_of<grove_product_state>(args);
    int64_t count = grove_product_tiles(p);

    for (int64_t tile = blockIdx.x; tile < count; tile += gridDim.x)
        multiply_tile(p, tile, t);
}

template <typename real>
__device__ void transform_number(const grove_transform_state *p, int64_t at)
{
    typedef complex_number<real> number;
    int64_t inside = at % p->inner, place = at / p->inner % p->n,
            start = at / p->inner / p->n * p->n;
    int64_t rest = p->n / p->before / p->factor;
    int64_t i = place % rest, k = place / rest % p->before, j = place / rest / p->before;
    const number *from = (const number *)p->from;
    complex_number<double> sum = {};

    for (int64_t q = 0; q < p->factor; q++) {
        number x = from[(start + i + rest * (q + p->factor * k)) * p->inner + inside];
        complex_number<double> wide = {(double)x.re, (double)x.im};
        add_product(&sum, wide,
                    phasor<double>(p->sign * (double)(j * q % p->factor) / (double)p->factor));
    }
    sum = sum * phasor<double>(p->sign * (double)(j * i * p->before % p->n) / (double)p->n);
    ((number *)p->to)[at] = {(real)sum.re, (real)sum.im};
}

template <typename real> __device__ void transform(const grove_args *args)
{
    const grove_transform_state *p = state_of<grove_transform_state>(args);
    int64_t count = p->outer * p->n * p->inner;

    for (int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; at < count;
         at += (int64_t)gridDim.x * blockDim.x)
        transform_number<real>(p, at);
}

// Column by column; what is right of it is updated by all threads.
__device__ void factor(const grove_cholesky_state *p)
{
    const int64_t n = p->size;
    double *m = p->matrix;

    for (int64_t k = 0; k < n; k++) {
        double pivot = m[k * n + k];
        __syncthreads();
        if (!(pivot > 0)) {
            if (threadIdx.x == 0)
                *p->info = (int32_t)(k + 1);
            return;
        }
        double root = sqrt(pivot);
        for (int64_t i = k + threadIdx.x; i < n; i += THREADS)
            m[i * n + k] = i == k ? root : m[i * n + k] / root;
        __syncthreads();
        int64_t rest = n - k - 1;
        for (int64_t at = threadIdx.x; at < rest * rest; at += THREADS) {
            int64_t i = k + 1 + at / rest, j = k + 1 + at % rest;
            if (j <= i)
                m[i * n + j] -= m[i * n + k] * m[j * n + k];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0)
        *p->info = 0;
}

// A right side per thread.
__device__ void solve(const grove_cholesky_state *p)
{
    const int64_t n = p->size;
    const double *m = p->matrix;

    for (int64_t c = threadIdx.x; c < p->count; c += THREADS) {
        double *x = p->right + c * n;
        for (int64_t i = 0; i < n; i++) {
            double sum = x[i];
            for (int64_t j = 0; j < i; j++)
                sum -= m[i * n + j] * x[j];
            x[i] = sum / m[i * n + i];
        }
        for (int64_t i = n - 1; i >= 0; i--) {
            double sum = x[i];
            for (int64_t j = i + 1; j < n; j++)
                sum -= m[j * n + i] * x[j];
            x[i] = sum / m[i * n + i];
        }
    }
}
} // namespace

#define KERNELS(precision, real)                                                                   \
    extern "C" __global__ void __launch_bounds__(TILE *TILE)                                       \
        product_##precision(const __grid_constant__ grove_args args)                               \
    {                                                                                              \
        __shared__ tiles<real> shared_##precision;                                                 \
        multiply<real>(&args, &shared_##precision);                                                \
    }                                                                                              \
    GROVE_CUDA_EXPORT(product_##precision)                                                         \
    extern "C" __global__ void transform_##precision(const __grid_constant__ grove_args args)      \
    {                                                                                              \
        transform<real>(&args);                                                                    \
    }                                                                                              \
    GROVE_CUDA_EXPORT(transform_##precision)

KERNELS(single, float)
KERNELS(double, double)

extern "C" __global__ void __launch_bounds__(THREADS)
    cholesky_double(const __grid_constant__ grove_args args)
{
    const grove_cholesky_state *p = state_of<grove_cholesky_state>(&args);

    if (blockIdx.x != 0)
        return;
    factor(p);
    __syncthreads();
    if (*p->info == 0)
        solve(p);
}
GROVE_CUDA_EXPORT(cholesky_double)
