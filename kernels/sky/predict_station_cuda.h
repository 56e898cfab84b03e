/* Sums of a warp in the products of stations by sources: parts of HEIGHT x WIDTH complex numbers,
 * in registers, from factors in shared memory. */
#ifndef GROVE_KERNELS_PREDICT_STATION_CUDA_H
#define GROVE_KERNELS_PREDICT_STATION_CUDA_H

#include "../cuda/number.h"
#include "../cuda/tensor.h"
#include "gaussian_cuda.h"
#include "predict_cuda.h"

#include "../common/visibility.h"

namespace
{
enum { THREADS = PREDICT_CUDA_ROWS, WARPS = THREADS / 32, EDGE = PREDICT_CUDA_EDGE, WIDTH = 8 };
template <typename real> constexpr int HEIGHT = sizeof(real) == 4 ? 16 : 8;
/* Numbers of sources in shared memory at once. After each such chunk the single-precision sums are
 * added to the totals, so that the rounding by tensor cores stays small. */
template <typename real, bool TENSOR> constexpr int DEPTH = sizeof(real) == 4 && !TENSOR ? 32 : 16;
/* Length of the rows of factors: a warp's loads touch all banks. */
template <typename real> constexpr int PITCH = sizeof(real) == 4 ? EDGE + 4 : EDGE + 2;
template <typename real> constexpr int PARTS = EDGE / HEIGHT<real> *(EDGE / WIDTH);
template <typename real> constexpr int MAX_TILES = (PARTS<real> + WARPS - 1) / WARPS;

// Factors of a chunk in shared memory.
template <typename real, bool TENSOR> struct chunk_factors {
    alignas(16) complex_number<real> x[DEPTH<real, TENSOR>][PITCH<real>]; // [source][row]
    alignas(16) complex_number<real> y[DEPTH<real, TENSOR>][PITCH<real>]; // [source][column]

    __device__ __forceinline__ void put_x(int k, int row, complex_number<real> z)
    {
        x[k][row] = z;
    }
    __device__ __forceinline__ void put_y(int k, int column, complex_number<real> z)
    {
        y[k][column] = z;
    }
};

// Numbers that a thread loads or stores at once.
struct alignas(16) four {
    float of[4];
};

struct alignas(8) two {
    float of[2];
};

// In single precision factors lie as the lanes of tensor cores hold them, split: a lane loads
// neighbours in its registers together. Of 8 numbers of sources,
//   x, for 16 rows: the lane's four, each of [high, low of re, high, low of im];
//   y, for 8 columns: the lane's two, high and low, each of [re, im].
// Lanes take turns in places, so that lanes that store neighbouring stations' factors touch all
// banks.
template <> struct chunk_factors<float, true> {
    enum { STEPS = DEPTH<float, true> / 8, SLOTS = 32 };
    four x[STEPS][EDGE / 16][4][SLOTS];
    four y[STEPS][EDGE / 8][2][SLOTS];

    __device__ __forceinline__ static int slot_of(int lane)
    {
        return lane ^ (lane >> 4 & 1) ^ (lane >> 1 & 4);
    }
    __device__ __forceinline__ void put_x(int k, int row, complex_number<float> z)
    {
        four *to = &x[k / 8][row / 16][0][slot_of(row % 8 * 4 + k % 4)];
        const int n = row / 8 % 2 + k / 4 % 2 * 2;
        const split re = split_of(z.re), im = split_of(z.im);

        to[0].of[n] = re.high;
        to[SLOTS].of[n] = re.low;
        to[2 * SLOTS].of[n] = im.high;
        to[3 * SLOTS].of[n] = im.low;
    }
    // Of rows `row` and row + 8.
    __device__ __forceinline__ void put_two_x(int k, int row, const complex_number<float> z[2])
    {
        four *to = &x[k / 8][row / 16][0][slot_of(row % 8 * 4 + k % 4)];

        for (int part = 0; part < 2; part++) {
            const split a = split_of(part ? z[0].im : z[0].re);
            const split b = split_of(part ? z[1].im : z[1].re);
            *(two *)(void *)&to[2 * part * SLOTS].of[k / 4 % 2 * 2] = {a.high, b.high};
            *(two *)(void *)&to[(2 * part + 1) * SLOTS].of[k / 4 % 2 * 2] = {a.low, b.low};
        }
    }
    // Of numbers k and k + 4.
    __device__ __forceinline__ void put_two_y(int k, int column, const complex_number<float> z[2])
    {
        four *to = &y[k / 8][column / 8][0][slot_of(column % 8 * 4 + k % 4)];

        for (int part = 0; part < 2; part++) {
            const split a = split_of(part ? z[0].im : z[0].re);
            const split b = split_of(part ? z[1].im : z[1].re);
            to[part * SLOTS] = {a.high, b.high, a.low, b.low};
        }
    }
    // Of rows `row` and row + 8, numbers k and k + 4.
    __device__ __forceinline__ void put_four_x(int k, int row, const complex_number<float> z[4])
    {
        four *to = &x[k / 8][row / 16][0][slot_of(row % 8 * 4 + k % 4)], high, low;

        for (int part = 0; part < 2; part++) {
            for (int n = 0; n < 4; n++) {
                const split number = split_of(part ? z[n].im : z[n].re);
                high.of[n] = number.high;
                low.of[n] = number.low;
            }
            to[2 * part * SLOTS] = high;
            to[(2 * part + 1) * SLOTS] = low;
        }
    }
};

// First row and column of a part.
struct corner {
    unsigned row, column;
};

template <typename real, bool TENSOR> struct shared {
    enum { STAGED = 64 }; // sources, of one chunk or more
    union {
        chunk_factors<real, TENSOR> factors;
        complex_number<real> sums[HEIGHT<real>][EDGE]; // of a strip of rows, in the end
    };
    alignas(16) double direction[STAGED][4]; // l, m, n - 1 of a source
    matrix_number<real> brightness[STAGED];  // zero after the last source
    double far[THREADS];
    int needed[PARTS<real>], count;
    corner part[PARTS<real>];
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

// Factors of the rows of a part for STEP numbers of sources from k, and the products with factors
// of its columns, which are added to sums.
template <typename real, bool TENSOR> struct factors;

template <typename real> struct factors<real, false> {
    enum { STEP = 1, NUMBERS = sizeof(real) == 4 ? 4 : 2, ROWS = NUMBERS / 2 };
    complex_number<real> row[ROWS];

    __device__ __forceinline__ void load(const shared<real, false> &s, int k, unsigned first)
    {
        for (int r = 0; r < ROWS; r++)
            row[r] = s.factors.x[k][first + row_of<real, false>(threadIdx.x % 32, 2 * r)];
    }
    __device__ __forceinline__ void multiply(const shared<real, false> &s, int k, unsigned first,
                                             real *re, real *im) const
    {
        const complex_number<real> *y = &s.factors.y[k][first + column_of(threadIdx.x % 32, 0)];
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
    enum { STEP = DEPTH<float, true>, STEPS = STEP / 8, NUMBERS = 4 };
    four x[STEPS][4];

    __device__ __forceinline__ void load(const shared<float, true> &s, int, unsigned row)
    {
        const int slot = s.factors.slot_of(threadIdx.x % 32);

#pragma unroll
        for (int n = 0; n < STEPS; n++)
            for (int part = 0; part < 4; part++)
                x[n][part] = s.factors.x[n][row / 16][part][slot];
    }
    // Real parts are sums of two products, whose difference is taken in the end; small ones first.
    __device__ __forceinline__ void multiply(const shared<float, true> &s, int, unsigned column,
                                             float *sum_re, float *sum_im) const
    {
        const int slot = s.factors.slot_of(threadIdx.x % 32);
        float plus[4] = {}, minus[4] = {}, left[4] = {}, right[4] = {};
        four y[STEPS][2];

#pragma unroll
        for (int n = 0; n < STEPS; n++)
            for (int part = 0; part < 2; part++)
                y[n][part] = s.factors.y[n][column / 8][part][slot];
#pragma unroll
        for (int m = 0; m < 3; m++) // low x high, high x low, high x high
#pragma unroll
            for (int n = 0; n < STEPS; n++) {
                const float *re = x[n][m == 0].of, *im = x[n][2 + (m == 0)].of;
                const float *y_re = y[n][0].of + 2 * (m == 1), *y_im = y[n][1].of + 2 * (m == 1);
                multiply_tf32(plus, re, y_re);
                multiply_tf32(left, re, y_im);
                multiply_tf32(minus, im, y_im);
                multiply_tf32(right, im, y_re);
            }
        for (int n = 0; n < NUMBERS; n++) {
            sum_re[n] += plus[n] - minus[n];
            sum_im[n] += left[n] + right[n];
        }
    }
};

template <> struct factors<double, true> {
    enum { STEP = DEPTH<double, true>, STEPS = STEP / 4, NUMBERS = 2 };
    double re[STEPS], im[STEPS], minus[STEPS]; // minus: -im

    __device__ __forceinline__ void load(const shared<double, true> &s, int, unsigned row)
    {
        const int lane = threadIdx.x % 32;

#pragma unroll
        for (int n = 0; n < STEPS; n++) {
            const complex_number<double> z = s.factors.x[4 * n + lane % 4][row + lane / 4];
            re[n] = z.re;
            im[n] = z.im;
            minus[n] = -z.im;
        }
    }
    __device__ __forceinline__ void multiply(const shared<double, true> &s, int, unsigned column,
                                             double *sum_re, double *sum_im) const
    {
        const int lane = threadIdx.x % 32;

#pragma unroll
        for (int n = 0; n < STEPS; n++) {
            const complex_number<double> z = s.factors.y[4 * n + lane % 4][column + lane / 4];
            multiply_double(sum_re, re[n], z.re);
            multiply_double(sum_im, re[n], z.im);
            multiply_double(sum_re, minus[n], z.im);
            multiply_double(sum_im, im[n], z.re);
        }
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

    __device__ __forceinline__ void add_products(const shared<real, TENSOR> &s, int first,
                                                 int count)
    {
        if (count == 0)
            return;
#pragma unroll 1
        for (int k = 0; k < DEPTH<real, TENSOR>; k += factors<real, TENSOR>::STEP) {
            factors<real, TENSOR> f;
            unsigned row = s.part[first].row;

            f.load(s, k, row);
#pragma unroll
            for (int t = 0; t < MAX_TILES<real>; t++)
                if (t < count) {
                    const corner part = s.part[first + t];
                    if (part.row != row)
                        f.load(s, k, part.row);
                    row = part.row;
                    f.multiply(s, k, part.column, re[t], im[t]);
                }
        }
    }

    // Without tensor cores the sums of a chunk alone, in single precision.
    __device__ __forceinline__ void add(const shared<real, TENSOR> &s, int first, int count)
    {
        if (sizeof(real) == 8 || TENSOR) {
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

    // Writes the parts of a strip of rows to shared memory.
    __device__ __forceinline__ void put(shared<real, TENSOR> *s, int first, int count,
                                        unsigned strip) const
    {
        int lane = threadIdx.x % 32;

#pragma unroll
        for (int t = 0; t < MAX_TILES<real>; t++)
            if (t < count && s->part[first + t].row == strip)
                for (int n = 0; n < NUMBERS; n++)
                    s->sums[row_of<real, TENSOR>(lane, n)]
                           [s->part[first + t].column + column_of(lane, n)] = {re[t][n], im[t][n]};
    }
};
} // namespace

#endif
