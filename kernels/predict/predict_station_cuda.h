/* Sums of a warp in the products of stations by sources: parts of HEIGHT x WIDTH complex numbers,
 * in registers, from factors in shared memory. */
#ifndef GROVE_KERNELS_PREDICT_STATION_CUDA_H
#define GROVE_KERNELS_PREDICT_STATION_CUDA_H

#include "../cuda/number.h"
#include "../cuda/tensor.h"
#include "gaussian_cuda.h"
#include "predict_cuda.h"

#include "../visibility.h"

namespace
{
enum { THREADS = PREDICT_CUDA_ROWS, WARPS = THREADS / 32, EDGE = PREDICT_CUDA_EDGE, WIDTH = 8 };
template <typename real> constexpr int HEIGHT = sizeof(real) == 4 ? 16 : 8;
/* Numbers of sources in shared memory at once. After each such chunk the single-precision sums are
 * added to the totals, so that what tensor cores cut off stays small. */
template <typename real> constexpr int DEPTH = sizeof(real) == 4 ? 32 : 16;
/* Length of the rows of factors: a warp's loads touch all banks. */
template <typename real> constexpr int PITCH = sizeof(real) == 4 ? EDGE + 4 : EDGE + 2;
template <typename real> constexpr int PARTS = EDGE / HEIGHT<real> *(EDGE / WIDTH);
template <typename real> constexpr int MAX_TILES = (PARTS<real> + WARPS - 1) / WARPS;

template <typename real> struct shared {
    alignas(16) complex_number<real> x[DEPTH<real>][PITCH<real>]; // [source][row]
    alignas(16) complex_number<real> y[DEPTH<real>][PITCH<real>]; // [source][column]
    alignas(16) double direction[DEPTH<real>][4];                 // l, m, n - 1 of a source
    matrix_number<real> brightness[DEPTH<real>];                  // zero after the last source
    double far[THREADS];
    int wanted[PARTS<real>], part[PARTS<real>], count;
    int polarised, strays;
};

// Row and column in a part of number n of a lane.
template <typename real, bool TENSOR> __device__ __forceinline__ int row_of(int lane, int n)
{
    return sizeof(real) == 8 ? lane / 4 : TENSOR ? lane / 4 + n / 2 * 8 : lane / 4 * 2 + n / 2;
}

__device__ __forceinline__ int column_of(int lane, int n)
{
    return lane % 4 * 2 + n % 2;
}

// Factors of the rows of a part, and the products with those of its columns, for numbers of sources
// from k.
template <typename real, bool TENSOR> struct factors;

template <typename real> struct factors<real, false> {
    enum { STEP = 1, NUMBERS = sizeof(real) == 4 ? 4 : 2, ROWS = NUMBERS / 2 };
    complex_number<real> row[ROWS];

    __device__ __forceinline__ void load(const shared<real> &s, int k, int first)
    {
        for (int r = 0; r < ROWS; r++)
            row[r] = s.x[k][first + row_of<real, false>(threadIdx.x % 32, 2 * r)];
    }
    __device__ __forceinline__ void multiply(const shared<real> &s, int k, int first, real *re,
                                             real *im) const
    {
        const complex_number<real> *y = &s.y[k][first + column_of(threadIdx.x % 32, 0)];
        complex_number<real> column[2] = {y[0], y[1]};

        for (int n = 0; n < NUMBERS; n++) {
            complex_number<real> sum = {re[n], im[n]};
            add_product(&sum, row[n / 2], column[n % 2]);
            re[n] = sum.re;
            im[n] = sum.im;
        }
    }
};

template <> struct factors<float, true> {
    enum { STEP = 8, NUMBERS = 4 };
    tf32_parts<4> row;

    __device__ __forceinline__ void load(const shared<float> &s, int k, int first)
    {
        int lane = threadIdx.x % 32;

        for (int n = 0; n < 4; n++) {
            complex_number<float> z = s.x[k + lane % 4 + n / 2 * 4][first + lane / 4 + n % 2 * 8];
            row.set(n, z.re, z.im);
        }
    }
    __device__ __forceinline__ void multiply(const shared<float> &s, int k, int first, float *re,
                                             float *im) const
    {
        int lane = threadIdx.x % 32;
        tf32_parts<2> column;

        for (int n = 0; n < 2; n++) {
            complex_number<float> z = s.y[k + lane % 4 + n * 4][first + lane / 4];
            column.set(n, z.re, z.im);
        }
        multiply_parts(re, im, row, column);
    }
};

template <> struct factors<double, true> {
    enum { STEP = 4, NUMBERS = 2 };
    complex_number<double> row;

    __device__ __forceinline__ void load(const shared<double> &s, int k, int first)
    {
        int lane = threadIdx.x % 32;

        row = s.x[k + lane % 4][first + lane / 4];
    }
    __device__ __forceinline__ void multiply(const shared<double> &s, int k, int first, double *re,
                                             double *im) const
    {
        int lane = threadIdx.x % 32;
        complex_number<double> z = s.y[k + lane % 4][first + lane / 4];

        multiply_double(re, row.re, z.re);
        multiply_double(im, row.re, z.im);
        multiply_double(re, row.im, -z.im);
        multiply_double(im, row.im, z.re);
    }
};

// The sums of a warp: parts number `first` to first + count of the list.
template <typename real, bool TENSOR> struct warp_sums {
    enum { NUMBERS = factors<real, TENSOR>::NUMBERS };
    real re[MAX_TILES<real>][NUMBERS], im[MAX_TILES<real>][NUMBERS];

    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int t = 0; t < MAX_TILES<real>; t++)
            for (int n = 0; n < NUMBERS; n++)
                re[t][n] = im[t][n] = 0;
    }

    __device__ __forceinline__ void add_products(const shared<real> &s, int first, int count)
    {
#pragma unroll 1
        for (int k = 0; k < DEPTH<real>; k += factors<real, TENSOR>::STEP) {
            factors<real, TENSOR> f = {};
            int row = -1;
#pragma unroll
            for (int t = 0; t < MAX_TILES<real>; t++)
                if (t < count) {
                    int part = s.part[first + t], height = part / (EDGE / WIDTH);
                    if (height != row)
                        f.load(s, k, height * HEIGHT<real>);
                    row = height;
                    f.multiply(s, k, part % (EDGE / WIDTH) * WIDTH, re[t], im[t]);
                }
        }
    }

    // The sums of a chunk alone, in single precision.
    __device__ __forceinline__ void add(const shared<real> &s, int first, int count)
    {
        if (sizeof(real) == 8) {
            add_products(s, first, count);
            return;
        }
        warp_sums chunk;
        chunk.clear();
        chunk.add_products(s, first, count);
#pragma unroll
        for (int t = 0; t < MAX_TILES<real>; t++)
            for (int n = 0; n < NUMBERS; n++) {
                re[t][n] += chunk.re[t][n];
                im[t][n] += chunk.im[t][n];
            }
    }

    // Writes the parts of a strip of rows to s->x.
    __device__ __forceinline__ void put(shared<real> *s, int first, int count, int strip) const
    {
        int lane = threadIdx.x % 32;

#pragma unroll
        for (int t = 0; t < MAX_TILES<real>; t++)
            if (t < count && s->part[first + t] / (EDGE / WIDTH) == strip)
                for (int n = 0; n < NUMBERS; n++)
                    s->x[row_of<real, TENSOR>(lane, n)]
                        [s->part[first + t] % (EDGE / WIDTH) * WIDTH + column_of(lane, n)] = {
                        re[t][n], im[t][n]};
    }
};
} // namespace

#endif
