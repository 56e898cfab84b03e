/* From running sums to finished ones, four correlations at a time. */
#include "compression_simd.h"

#include "compression_cell.h"

#include <stddef.h>

typedef double four __attribute__((vector_size(32)));
typedef double unaligned_four_doubles __attribute__((vector_size(32), aligned(8), may_alias));

INLINE void put_four(double *to, const four *x)
{
    *(unaligned_four_doubles *)to = *x;
}

INLINE void split(const double *from, four *even, four *odd)
{
    const four a = *(const unaligned_four_doubles *)from,
               b = *(const unaligned_four_doubles *)(from + 4);

    *even = __builtin_shufflevector(a, b, 0, 2, 4, 6);
    *odd = __builtin_shufflevector(a, b, 1, 3, 5, 7);
}

/* The real parts of a cell of products, and from the next cell their imaginary parts. */
INLINE void put_real(double *to, const double *from)
{
    four even, odd;

    split(from, &even, &odd);
    even += odd;
    put_four(to, &even);
}

INLINE void put_imaginary(double *to, const double *from, int conjugate)
{
    four even, odd;

    split(from + 8, &even, &odd);
    odd = conjugate ? even - odd : odd - even;
    put_four(to, &odd);
}

static void finish_diagonal(const double *running, int groups, double *sums)
{
    const double *pair = running + 16 * (ptrdiff_t)(1 + groups);

    for (int g = 0; g < groups; g++) {
        const double *data = running + 16 * (ptrdiff_t)(1 + g);
        put_real(sums + GROVE_SUMS_DATA(g), data);
        put_imaginary(sums + GROVE_SUMS_DATA(g) + 4, data, 0);
        put_real(sums + GROVE_SUMS_SQUARE(groups, g), pair);
        pair += 16;
        for (int h = g + 1; h < groups; h++, pair += 16) {
            put_real(sums + GROVE_SUMS_PAIR(groups, g, h), pair);
            put_imaginary(sums + GROVE_SUMS_PAIR(groups, g, h) + 4, pair, 1);
        }
    }
}

/* Element c of rows (j - c) mod 4: of model element j with correlation c. */
INLINE void put_turned(double *to, const four rows[4], int j)
{
    const four low = __builtin_shufflevector(rows[j], rows[(j + 3) % 4], 0, 5, 2, 7),
               high = __builtin_shufflevector(rows[(j + 2) % 4], rows[(j + 1) % 4], 0, 5, 2, 7),
               x = __builtin_shufflevector(low, high, 0, 1, 6, 7);

    put_four(to, &x);
}

/* Products of the data with the elements of a model. */
INLINE void finish_data(const double *running, double *sums)
{
    four re[4], im[4], even, odd;

    for (int r = 0; r < 4; r++) {
        split(running + 16 * r, &even, &odd);
        re[r] = even + odd;
        split(running + 16 * r + 8, &even, &odd);
        im[r] = odd - even;
    }
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) {
        put_turned(sums + 8 * j, re, j);
        put_turned(sums + 8 * j + 4, im, j);
    }
}

/* Whether weights of any cell have differed between its correlations. */
INLINE int has_own(const double *running)
{
    integers any[PIECES] = {{0}};

    for (int k = GROVE_COMPRESSION_OWN; k < GROVE_COMPRESSION_PAIR; k++) {
        cell x = load(running + 8 * k);
        EACH any[i] |= (integers)x.part[i];
    }
    return !is_zero(any);
}

/* conj(m_e) m_(e + r) of groups g and h; r is 0 for the first products in `running`, which are of
 * all correlations, and in `own` for each correlation's. */
INLINE void finish_product(const double *running, const double *own, int n, int j, int k,
                           double *sums)
{
    const int e = j % 4;
    double *to = sums + (j == k  ? GROVE_SUMS_SQUARE(n, j)
                         : j < k ? GROVE_SUMS_PAIR(n, j, k)
                                 : GROVE_SUMS_PAIR(n, k, j));
    four re = (four){0} + (running[2 * e] + running[2 * e + 1]);
    four im = (four){0} + (running[8 + 2 * e + 1] - running[8 + 2 * e]);

    if (own) {
        own += 2 * e;
        re += (four){own[0], own[32], own[64], own[96]};
        im += (four){own[1], own[33], own[65], own[97]};
    }
    im = j < k ? -im : im;
    put_four(to, &re);
    if (j != k)
        put_four(to + 4, &im);
}

INLINE void finish_pair(const double *running, int n, int g, int h, double *sums)
{
    const double *own = has_own(running) ? running + 8 * GROVE_COMPRESSION_OWN : NULL;

    for (int r = 0; r < (g == h ? 3 : 4); r++)
        for (int e = 0; e < (g == h && r == 2 ? 2 : 4); e++)
            finish_product(running + 16 * r, own ? own + 8 * r : NULL, n, 4 * g + e,
                           4 * h + (e + r) % 4, sums);
}

INLINE void finish_full(const double *running, int groups, double *sums)
{
    const int n = 4 * groups;
    const double *pair = running + 16 * (ptrdiff_t)(1 + n);

    for (int g = 0; g < groups; g++)
        finish_data(running + 16 * (ptrdiff_t)(1 + 4 * g), sums + GROVE_SUMS_DATA(4 * g));
    for (int g = 0; g < groups; g++)
        for (int h = g; h < groups; h++, pair += (ptrdiff_t)8 * GROVE_COMPRESSION_PAIR)
            finish_pair(pair, n, g, h, sums);
}

void FINISH(const double *running, int groups, int full, double *sums)
{
    put_real(sums + GROVE_SUMS_NUMBERS, running);
    put_real(sums + GROVE_SUMS_POWER, running + 8);
    if (full && groups == 1)
        finish_full(running, 1, sums); /* all places are known */
    else if (full)
        finish_full(running, groups, sums);
    else
        finish_diagonal(running, groups, sums);
}
