/* Sums of a slab on tensor cores, in single precision: with x and y the phases along both axes, x
 * times visibilities, pixels are the product of matrices sum_v x[v][.] y[v][.], and of pixels sums
 * over rows are conj(x)[v][.] pixel[.][.]; numbers are split into two of TF32. For CUDA alone. */
#ifndef GROVE_KERNELS_IDG_TENSOR_CUDA_H
#define GROVE_KERNELS_IDG_TENSOR_CUDA_H

#include "idg_slab_cuda.h"

#include "../../cuda/tensor.h"

namespace
{
// A lane's numbers of a or b of multiply_tf32, from its first one on: numbers of rows of a that are
// 8 apart are `across` apart in memory, numbers of terms of the sum that are 4 apart `along`.
template <int N>
__device__ __forceinline__ void load_parts(const pair_of<float> *from, int across, int along,
                                           tf32_parts<N> *to)
{
    for (int n = 0; n < N; n++) {
        const pair_of<float> z = N == 4 ? from[n % 2 * across + n / 2 * along] : from[n * along];
        to->set(n, z.re, z.im);
    }
}

/* ---- visibilities to pixels ---- */

// A warp has half of the columns of pixels, of 8 in a part, in strips of 16 rows. The sums of a
// slab are made alone, and then added to the totals, so that the rounding by tensor cores stays
// small; sums of some strips together, as registers allow. Rows of the last strip beyond the pixels
// are made, of undefined numbers, and not kept. Lines of phases begin in other banks.
template <int T> struct tensor_summing {
    typedef float real;
    enum {
        side = EIGHT * T,
        slab = GROVE_IDG_SLAB_SINGLE,
        parts = 1,
        strips = (T + 1) / 2,
        tiles = (T + 1) / 2,
        group = EIGHT * T <= 48 ? strips : 1,
        columns = side,
        line = 2 * EIGHT * strips + 4,
        line_y = side + 4
    };
    struct alignas(16) memory {
        pair_of<float> x[slab * line];
        alignas(16) pair_of<float> y[slab * line_y];
        pair_of<float> value[slab];
        double uvw[3 * slab];
    };
    float re[strips][tiles][4], im[strips][tiles][4];

    __device__ __forceinline__ void clear()
    {
        for (int i = 0; i < strips; i++)
            for (int j = 0; j < tiles; j++)
                for (int n = 0; n < 4; n++)
                    re[i][j][n] = im[i][j][n] = 0;
    }

    // Zeros for visibilities that fill the last step.
    static __device__ __forceinline__ void pad(memory *sh, int count)
    {
        const int end = (count + EIGHT - 1) / EIGHT * EIGHT;

#pragma unroll 1
        for (int k = count; k < end; k++)
            for (int i = (int)threadIdx.x; i < side; i += THREADS)
                sh->x[k * line + i] = sh->y[k * line_y + i] = {0, 0};
    }

    static __device__ __forceinline__ int first_tile()
    {
        return (int)threadIdx.x / 32 * tiles;
    }
    // Where parts of a strip are odd in number the second warp has one less.
    static __device__ __forceinline__ bool has(int tile)
    {
        return T % 2 == 0 || tile < tiles - 1 || threadIdx.x < 32;
    }

    __device__ __forceinline__ void add(const memory *sh, int count)
    {
        const int lane = (int)threadIdx.x % 32, first = first_tile();
        const pair_of<float> *x = sh->x + lane % 4 * line + lane / 4,
                             *y = sh->y + lane % 4 * line_y + first * EIGHT + lane / 4;

#pragma unroll
        for (int strip = 0; strip < strips; strip += group) {
            float part_re[group][tiles][4] = {}, part_im[group][tiles][4] = {};
#pragma unroll 1
            for (int k = 0; k < count; k += EIGHT) {
                tf32_parts<2> right[tiles];
                for (int j = 0; j < tiles; j++)
                    if (has(j))
                        load_parts(y + k * line_y + j * EIGHT, 0, 4 * line_y, &right[j]);
                for (int i = 0; i < group; i++) {
                    tf32_parts<4> left;
                    load_parts(x + k * line + (strip + i) * 16, 8, 4 * line, &left);
                    for (int j = 0; j < tiles; j++)
                        if (has(j))
                            multiply_parts<(group > 1)>(part_re[i][j], part_im[i][j], left,
                                                        right[j]);
                }
            }
            for (int i = 0; i < group; i++)
                for (int j = 0; j < tiles; j++)
                    for (int n = 0; n < 4; n++) {
                        re[strip + i][j][n] += part_re[i][j][n];
                        im[strip + i][j][n] += part_im[i][j][n];
                    }
        }
    }

    __device__ __forceinline__ void put(pair_of<float> *to) const
    {
        const int row = (int)threadIdx.x % 32 / 4, first = first_tile();

        to += first * EIGHT + (int)threadIdx.x % 4 * 2;
        for (int i = 0; i < strips; i++)
            for (int j = 0; j < tiles; j++)
                for (int n = 0; n < 4; n++)
                    if (has(j) && i * 16 + n / 2 * 8 < side)
                        to[(i * 16 + n / 2 * 8 + row) * side + j * EIGHT + n % 2] = {re[i][j][n],
                                                                                     im[i][j][n]};
    }
};

/* ---- pixels to visibilities ---- */

// A warp has 16 visibilities, and all columns of pixels.
template <int T> struct tensor_collecting {
    typedef float real;
    enum {
        side = EIGHT * T,
        slab = GROVE_IDG_SLAB_SINGLE,
        line = side + 4,
        line_y = T % 2 ? side : side + 8,
        panel = EIGHT * T <= 48 ? EIGHT * T : 16,
        line_pixel = line
    };
    struct alignas(16) memory {
        pair_of<float> x[slab * line];
        alignas(16) pair_of<float> y[slab * line_y];
        alignas(16) pair_of<float> pixel[panel * line_pixel];
        pair_of<float> value[slab];
        double uvw[3 * slab];
    };
    float re[T][4], im[T][4];

    __device__ __forceinline__ void clear()
    {
        for (int j = 0; j < T; j++)
            for (int n = 0; n < 4; n++)
                re[j][n] = im[j][n] = 0;
    }

    // Of pixels in rows from `first` on, the panel that is in shared memory.
    __device__ __forceinline__ void add(const memory *sh, int first, int count)
    {
        const int lane = (int)threadIdx.x % 32, row = (int)threadIdx.x / 32 * 16;
        const pair_of<float> *x = sh->x + (row + lane / 4) * line + first + lane % 4,
                             *pixel = sh->pixel + lane % 4 * line_pixel + lane / 4;

        if (row >= count)
            return;
#pragma unroll 1
        for (int k = 0; k < panel; k += EIGHT, x += EIGHT, pixel += EIGHT * line_pixel) {
            tf32_parts<4> left;
            load_parts(x, 8 * line, 4, &left);
            left.conjugate();
            for (int j = 0; j < T; j++) {
                tf32_parts<2> right;
                load_parts(pixel + j * EIGHT, 0, 4 * line_pixel, &right);
                multiply_parts(re[j], im[j], left, right);
            }
        }
    }

    // Sums over columns, times phases along y.
    __device__ __forceinline__ void put(memory *sh) const
    {
        struct alignas(16) chunk {
            pair_of<float> x[2];
        };
        const int lane = (int)threadIdx.x % 32, row = (int)threadIdx.x / 32 * 16 + lane / 4;
        const pair_of<float> *y = sh->y + row * line_y + lane % 4 * 2;
        pair_of<float> sum[2] = {};

        for (int j = 0; j < T; j++)
            for (int n = 0; n < 4; n += 2) {
                const chunk c = *(const chunk *)(const void *)(y + n / 2 * 8 * line_y + j * EIGHT);
                for (int m = 0; m < 2; m++)
                    add_conjugate(&sum[n / 2], c.x[m], {re[j][n + m], im[j][n + m]});
            }
        float all[4] = {sum[0].re, sum[0].im, sum[1].re, sum[1].im};
        const float one = sum_of_lanes<float, 4, 4>(all);
        pair_of<float> *to = &sh->value[row + lane % 4 / 2 * 8];
        (lane % 2 ? to->im : to->re) = one;
    }
};
} // namespace

#endif
