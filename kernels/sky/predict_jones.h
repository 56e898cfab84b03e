/* Jones terms in vectors, a cell in each lane: loads of cells of any shape and precision, and
 * products. */
#ifndef GROVE_KERNELS_PREDICT_JONES_H
#define GROVE_KERNELS_PREDICT_JONES_H

#include "../simd/vector.h"
#include "predict_job.h"

enum {
    PREFETCH_AHEAD =
        4 /* number of sources, or stations, by which Jones terms are prefetched ahead */
};

/* Jones terms of a source in all rows, or their product with its brightness: elements, re and im.
 */
typedef struct {
    vec at[8];
} jones;

/* Whether a brightness is a real number times unity. */
INLINE int is_unpolarised(const real *b)
{
    return b[0] == b[6] && b[1] == 0 && b[2] == 0 && b[3] == 0 && b[4] == 0 && b[5] == 0 &&
           b[7] == 0;
}

/* Number k of a cell whose numbers have `bytes` bytes. */
INLINE real real_at(const char *cell, int bytes, int k)
{
    return bytes == 8 ? (real)((const double *)(const void *)cell)[k]
                      : (real)((const float *)(const void *)cell)[k];
}

static void load_converted(const grove_predict_jones_side *side, int64_t offset,
                           real numbers[8][LANES])
{
    for (int i = 0; i < LANES; i++)
        for (int k = 0; k < side->numbers; k++)
            numbers[k][i] = real_at(side->at[i] + offset, side->bytes, k);
}

/* Cells of eight numbers, one after the other, to eight vectors. */
INLINE void transpose_cells(vec x[8], jones *to)
{
    vec y[8];

    for (int k = 0; k < 4; k++)
        unzip(x[2 * k], x[2 * k + 1], &y[k], &y[4 + k]);
    for (int k = 0; k < 4; k++)
        unzip(y[2 * k], y[2 * k + 1], &x[k / 2 * 4 + k % 2], &x[k / 2 * 4 + 2 + k % 2]);
    for (int k = 0; k < 4; k++)
        unzip(x[2 * k], x[2 * k + 1], &to->at[k / 2 + 2 * (k % 2)],
              &to->at[k / 2 + 2 * (k % 2) + 4]);
}

/* A matrix for each lane, from the lane's own address. */
INLINE void load_matrices(const grove_predict_jones_side *side, int64_t offset, jones *to)
{
    vec x[8];

#if GROVE_REAL_SINGLE && VECTOR_BYTES == 64
    for (int k = 0; k < 8; k++) {
        part a, b;
        memcpy(&a, side->at[2 * k] + offset, sizeof(a));
        memcpy(&b, side->at[2 * k + 1] + offset, sizeof(b));
        x[k] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    }
#else
    const int each = 8 / LANES > 0 ? 8 / LANES : 1; /* vectors of a cell */
    for (int k = 0; k < 8; k++)
        memcpy(&x[k], side->at[k / each] + offset + k % each * VECTOR_BYTES, sizeof(vec));
#endif
    transpose_cells(x, to);
}

/* Jones terms of a side as matrices, `offset` bytes from where they start. */
static void load_cells(const grove_predict_jones_side *side, int64_t offset, jones *to)
{
    vec numbers[8];
    real(*scalars)[LANES] = (real(*)[LANES])numbers;

    if (side->bytes == (int)sizeof(real) && side->numbers == 8) {
        load_matrices(side, offset, to);
        return;
    }
    memset(to, 0, sizeof(*to));
    if (!side->numbers) {
        to->at[0] = to->at[6] = splat(1);
        return;
    }
    if (side->bytes == (int)sizeof(real)) {
        load_pairs(side->at, offset, to->at);
        load_pairs(side->at, offset + (side->numbers - 2) * (int64_t)sizeof(real), to->at + 6);
        return;
    }
    load_converted(side, offset, scalars);
    if (side->numbers == 8) {
        memcpy(to, numbers, sizeof(*to));
        return;
    }
    memcpy(to->at, numbers, 2 * sizeof(vec));
    memcpy(to->at + 6, numbers + side->numbers - 2, 2 * sizeof(vec));
}

/* to += a b */
INLINE void add_times(vec to[2], const vec *a, vec re, vec im)
{
    to[0] += a[0] * re;
    to[1] += a[1] * re;
    to[0] -= a[1] * im;
    to[1] += a[0] * im;
}

/* to = from (c, s) */
INLINE void rotate(vec to[2], const vec from[2], vec c, vec s)
{
    to[0] = from[0] * c - from[1] * s;
    to[1] = from[0] * s + from[1] * c;
}

/* left * b * right */
static void apply_matrices(const jones *left, const real *b, const jones *right, jones *to)
{
    jones product = *left;
    vec zero = splat(0);

    if (is_unpolarised(b)) { /* the same without the products with zero */
        for (int e = 0; e < 8; e++)
            product.at[e] = left->at[e] * b[0];
    } else {
        for (int e = 0; e < 8; e += 2) {
            const vec *l = left->at + (e & 4);
            const real *m = b + (e & 2);
            vec x[2] = {zero, zero};
            add_times(x, l, splat(m[0]), splat(m[1]));
            add_times(x, l + 2, splat(m[4]), splat(m[5]));
            product.at[e] = x[0];
            product.at[e + 1] = x[1];
        }
    }
    for (int e = 0; e < 8; e += 2) {
        const vec *l = product.at + (e & 4), *r = right->at + (e & 2);
        vec x[2] = {zero, zero};
        add_times(x, l, r[0], r[1]);
        add_times(x, l + 2, r[4], r[5]);
        to->at[e] = x[0];
        to->at[e + 1] = x[1];
    }
}

enum { TOGETHER = LANES < 8 ? LANES : 8 /* vectors whose lanes are added together */ };

/* The sums over the lanes of TOGETHER vectors, neighbours first. */
INLINE vec sums_of_lanes(const vec *x)
{
    vec y[TOGETHER], even, odd;

    memcpy(y, x, sizeof(y));
#pragma GCC unroll 3
    for (int n = TOGETHER / 2; n > 0; n /= 2)
#pragma GCC unroll 4
        for (int i = 0; i < n; i++) {
            unzip(y[2 * i], y[2 * i + 1], &even, &odd);
            y[i] = even + odd;
        }
    for (int n = LANES / TOGETHER; n > 1; n /= 2) {
        unzip(y[0], y[0], &even, &odd);
        y[0] = even + odd;
    }
    return y[0];
}

/* to[k] += the sum over the lanes of vector k of `count`, after which there may be others, up to a
 * multiple of TOGETHER. */
INLINE void add_lanes(const vec *x, int count, double *to)
{
#pragma GCC unroll 6
    for (int k = 0; k < count; k += TOGETHER) {
        const vec sums = sums_of_lanes(x + k);
        for (int i = 0; i < TOGETHER && k + i < count; i++)
            to[k + i] += (double)sums[i];
    }
}

INLINE void multiply_elements(jones *m, int count, vec c, vec s)
{
    for (int e = 0; e < count; e += 2) {
        vec x[2] = {splat(0), splat(0)};
        add_times(x, &m->at[e], c, s);
        m->at[e] = x[0];
        m->at[e + 1] = x[1];
    }
}

/* left * b. With an unpolarised b the products with zero are left out. */
static void multiply_brightness(const jones *left, const jones *b, int unpolarised, jones *to)
{
    if (unpolarised) {
        for (int e = 0; e < 8; e++)
            to->at[e] = left->at[e] * b->at[0];
        return;
    }
    for (int e = 0; e < 8; e += 2) {
        const vec *l = left->at + (e & 4), *m = b->at + (e & 2);
        vec x[2] = {splat(0), splat(0)};
        add_times(x, l, m[0], m[1]);
        add_times(x, l + 2, m[4], m[5]);
        to->at[e] = x[0];
        to->at[e + 1] = x[1];
    }
}

#endif
