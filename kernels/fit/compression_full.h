/* Sums of the full form, a part of a cell at a time, so that running sums stay in registers. Where
 * a register is shorter than a cell, a number's neighbours are loaded instead of turned: between
 * the halves of registers some processors are slow to move numbers. */
#ifndef GROVE_KERNELS_COMPRESSION_FULL_H
#define GROVE_KERNELS_COMPRESSION_FULL_H

#include "compression_cell.h"

#include <stddef.h>
#include <stdint.h>

/* LANES of a cell's numbers from `first` on; after the last number comes the first. */
INLINE vec rotated(const double *cell_, int first)
{
#if defined(__AVX512F__)
    return rotate(load(cell_), first / 2).part[0];
#elif defined(__AVX2__)
    if (first % 8 == 6)
        return (vec)_mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(cell_ + 6)),
                                         _mm_loadu_pd(cell_), 1);
    return load_vec(cell_ + first % 8);
#else
    return load_vec(cell_ + first % 8);
#endif
}

/* Part i of a cell with its weight; without any it has it already. */
INLINE vec weighted(const double *weight, const double *a, int64_t k, int i)
{
    const vec x = load_vec(a + 8 * k + LANES * i);

    return weight ? load_vec(weight + 8 * k + LANES * i) * x : x;
}

/* Products of a and b, which is rotated: four times two cells. */
INLINE void add_rotations(const double *weight, const double *a, const double *b, int64_t count,
                          double *sums)
{
#pragma GCC unroll 4
    for (int i = 0; i < PIECES; i++) {
        double *to = sums + LANES * i;
        vec re[4], im[4];
        for (int r = 0; r < 4; r++) {
            re[r] = load_vec(to + 16 * r);
            im[r] = load_vec(to + 16 * r + 8);
        }
        for (int64_t k = 0; k < count; k++) {
            const vec x = weighted(weight, a, k, i), turned = swap_vec(x);
            for (int r = 0; r < 4; r++) {
                const vec y = rotated(b + 8 * k, LANES * i + 2 * r);
                re[r] += x * y;
                im[r] += turned * y;
            }
        }
        for (int r = 0; r < 4; r++) {
            store_vec(to + 16 * r, re[r]);
            store_vec(to + 16 * r + 8, im[r]);
        }
    }
}

#if !defined(__AVX512F__)

/* Parts that are summed at once. */
enum { AT_ONCE = 2 };

/* Products of a model with itself, `a` or `weight` having the weight: squares, those with the next
 * element, and of the first two elements with the one after that. */
INLINE void add_self(const double *weight, const double *a, const double *b, int64_t count,
                     double *sums)
{
#pragma GCC unroll 2
    for (int first = 0; first < PIECES; first += AT_ONCE) {
        const int others = first < PIECES / 2 ? (PIECES == 2 ? 1 : 2) : 0;
        double *to = sums + LANES * first;
        vec square[AT_ONCE], re[AT_ONCE], im[AT_ONCE], other_re[AT_ONCE], other_im[AT_ONCE];
        for (int j = 0; j < AT_ONCE; j++) {
            square[j] = load_vec(to + LANES * j);
            re[j] = load_vec(to + LANES * j + 16);
            im[j] = load_vec(to + LANES * j + 24);
            other_re[j] = load_vec(to + LANES * j + 32);
            other_im[j] = load_vec(to + LANES * j + 40);
        }
        for (int64_t k = 0; k < count; k++)
            for (int j = 0; j < AT_ONCE; j++) {
                const int i = first + j;
                const vec x = weighted(weight, a, k, i), turned = swap_vec(x),
                          y = rotated(b + 8 * k, LANES * i + 2);
                square[j] += x * rotated(b + 8 * k, LANES * i);
                re[j] += x * y;
                im[j] += turned * y;
                if (j >= others)
                    continue;
                other_re[j] += x * rotated(b + 8 * k, LANES * i + 4);
                other_im[j] += turned * rotated(b + 8 * k, LANES * i + 4);
            }
        for (int j = 0; j < AT_ONCE; j++) {
            store_vec(to + LANES * j, square[j]);
            store_vec(to + LANES * j + 16, re[j]);
            store_vec(to + LANES * j + 24, im[j]);
        }
        for (int j = 0; j < others; j++) {
            store_vec(to + LANES * j + 32, other_re[j]);
            store_vec(to + LANES * j + 40, other_im[j]);
        }
    }
}

/* Squares of a model with the weights of each correlation, 4 x `step` doubles of a cell. */
INLINE void add_own_squares(const double *weight, int step, const double *m, int64_t count,
                            double *sums)
{
    enum { HALF = PIECES / 2 };
    vec sum[4][HALF] = {{{0}}};

    for (int64_t k = 0; k < count; k++)
        for (int i = 0; i < HALF; i++) {
            const vec a = load_vec(m + 8 * k + LANES * (2 * i)),
                      b = load_vec(m + 8 * k + LANES * (2 * i + 1)), x = a * a, y = b * b;
            const vec both = EVEN_OF(x, y) + ODD_OF(x, y);
            for (int c = 0; c < 4; c++)
                sum[c][i] += both * weight[step * (4 * k + c)];
        }
    for (int c = 0; c < 4; c++)
        for (int i = 0; i < HALF; i++)
            for (int j = 0; j < LANES; j++) /* of two parts alternately */
                sums[32 * c + LANES * (2 * i + j % 2) + j / 2 * 2] += sum[c][i][j];
}

/* conj(m_e) m_(e + r) with the weights of each correlation, `parts` of them from `first` on. */
INLINE void add_own_products(const double *weight, int step, const double *m, int64_t count, int r,
                             int first, int parts, double *sums)
{
    vec sum[4][AT_ONCE] = {{{0}}};

    for (int64_t k = 0; k < count; k++)
        for (int i = 0; i < parts; i++) {
            const vec a = load_vec(m + 8 * k + LANES * (first + i)),
                      b = rotated(m + 8 * k, LANES * (first + i) + 2 * r),
                      imaginary = WITHIN(a, 1, 1, 3, 3) * signs();
            const vec product = WITHIN(a, 0, 0, 2, 2) * b + imaginary * swap_vec(b);
            for (int c = 0; c < 4; c++)
                sum[c][i] += product * weight[step * (4 * k + c)];
        }
    for (int c = 0; c < 4; c++)
        for (int i = 0; i < parts; i++) {
            double *to = sums + 8 * (ptrdiff_t)(4 * c + r) + LANES * (first + i);
            store_vec(to, load_vec(to) + sum[c][i]);
        }
}

/* As far as finished sums have them. */
INLINE void add_own(const double *weight, int step, const double *m, int64_t count, double *sums)
{
    enum { HALF = PIECES / 2 };

    add_own_squares(weight, step, m, count, sums);
    add_own_products(weight, step, m, count, 1, 0, 2, sums);
    if (PIECES == 4)
        add_own_products(weight, step, m, count, 1, 2, 2, sums);
    add_own_products(weight, step, m, count, 2, 0, HALF, sums);
}

#endif

#endif
