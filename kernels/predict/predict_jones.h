/* Jones terms in vectors, a cell in each lane: loads of cells of any shape and precision, and
 * products. */
#ifndef GROVE_KERNELS_PREDICT_JONES_H
#define GROVE_KERNELS_PREDICT_JONES_H

#include "../simd/vector.h"
#include "predict_job.h"

enum { PREFETCH_AHEAD = 4 /* sources, or stations, whose Jones terms memory is asked for */ };

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

/* Number k of a cell of numbers of 4 or 8 bytes. */
INLINE real number_at(const char *cell, int bytes, int k)
{
    return bytes == 8 ? (real)((const double *)(const void *)cell)[k]
                      : (real)((const float *)(const void *)cell)[k];
}

static void load_converted(const grove_predict_jones_side *side, int64_t offset,
                           real numbers[8][LANES])
{
    for (int i = 0; i < LANES; i++)
        for (int k = 0; k < side->numbers; k++)
            numbers[k][i] = number_at(side->at[i] + offset, side->bytes, k);
}

INLINE void load_numbers(const grove_predict_jones_side *side, int64_t offset, int count,
                         real numbers[8][LANES])
{
    for (int i = 0; i < LANES; i++) {
        const real *from = (const real *)(const void *)(side->at[i] + offset);
        for (int k = 0; k < count; k++)
            numbers[k][i] = from[k];
    }
}

/* Numbers 0, 2, 4 ... of two vectors, one after the other, and 1, 3, 5 ... */
INLINE void unzip(vec a, vec b, vec *even, vec *odd)
{
#if VECTOR_BYTES / 4 == 16 && GROVE_REAL_SINGLE
    *even =
        __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    *odd = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
#elif (VECTOR_BYTES / 4 == 8 && GROVE_REAL_SINGLE) || VECTOR_BYTES / 8 == 8
    *even = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
    *odd = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
#elif GROVE_REAL_SINGLE || VECTOR_BYTES / 8 == 4
    *even = __builtin_shufflevector(a, b, 0, 2, 4, 6);
    *odd = __builtin_shufflevector(a, b, 1, 3, 5, 7);
#else
    *even = __builtin_shufflevector(a, b, 0, 2);
    *odd = __builtin_shufflevector(a, b, 1, 3);
#endif
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

/* Matrices, each from its row. */
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

/* The `count` numbers of a scalar, diagonal or matrix as a matrix. */
INLINE void set_matrix(const vec *numbers, int count, jones *to)
{
    memset(to, 0, sizeof(*to));
    memcpy(to->at, numbers, (size_t)(count == 8 ? 8 : 2) * sizeof(vec));
    if (count != 8)
        memcpy(to->at + 6, numbers + count - 2, 2 * sizeof(vec));
}

INLINE void set_unity(jones *to)
{
    memset(to, 0, sizeof(*to));
    to->at[0] = to->at[6] = splat(1);
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
    if (!side->numbers) {
        set_unity(to);
        return;
    }
    if (side->bytes != (int)sizeof(real))
        load_converted(side, offset, scalars);
    else if (side->numbers == 4)
        load_numbers(side, offset, 4, scalars);
    else
        load_numbers(side, offset, 2, scalars);
    set_matrix(numbers, side->numbers, to);
}

/* ---- products ---- */

/* to = a (re + i im), rounded as complex_add_product; `to` may be `a`. */
INLINE void set_product(vec to[2], const vec a[2], vec re, vec im)
{
    vec x[2] = {splat(0), splat(0)};

    complex_add_product(x, a, re, im);
    to[0] = x[0];
    to[1] = x[1];
}

/* All elements times c + i s. */
INLINE void multiply_elements(jones *m, vec c, vec s)
{
    for (int e = 0; e < 8; e += 2)
        set_product(&m->at[e], &m->at[e], c, s);
}

/* to = a b */
INLINE void multiply_matrices(const jones *a, const jones *b, jones *to)
{
    for (int e = 0; e < 8; e += 2) {
        const vec *row = a->at + (e & 4), *column = b->at + (e & 2);
        vec x[2];
        set_product(x, row, column[0], column[1]);
        complex_add_product(x, row + 2, column[4], column[5]);
        to->at[e] = x[0];
        to->at[e + 1] = x[1];
    }
}

/* to = left b, without the products with zero where `left` is diagonal or b unpolarised. */
static void multiply_brightness(const jones *left, int diagonal, const jones *b, int unpolarised,
                                jones *to)
{
    if (unpolarised)
        for (int e = 0; e < 8; e++)
            to->at[e] = left->at[e] * b->at[0];
    else if (diagonal)
        for (int e = 0; e < 8; e += 2)
            set_product(&to->at[e], left->at + (e & 4 ? 6 : 0), b->at[e], b->at[e + 1]);
    else
        multiply_matrices(left, b, to);
}

/* x += f a b for matrices; x0 ... x3 are the elements, apart so that they stay in registers. */
INLINE void add_matrix_terms(vec f, const vec *a, const vec *b, vec x0[2], vec x1[2], vec x2[2],
                             vec x3[2])
{
    for (int k = 0; k < 2; k++) {
        vec re = a[2 * k] * f, im = a[2 * k + 1] * f;
        complex_add_product(x0, b + 4 * k, re, im);
        complex_add_product(x1, b + 4 * k + 2, re, im);
        re = a[4 + 2 * k] * f;
        im = a[4 + 2 * k + 1] * f;
        complex_add_product(x2, b + 4 * k, re, im);
        complex_add_product(x3, b + 4 * k + 2, re, im);
    }
}

/* The same for diagonals, of some elements: sum is [element][re, im]. */
INLINE void add_diagonal_terms(vec f, const vec *a, const vec *b, const int *element, int elements,
                               vec *sum)
{
    for (int k = 0; k < elements; k++) {
        int e = 2 * element[k];
        vec re = a[e] * f, im = a[e + 1] * f;
        KEEP(re);
        KEEP(im);
        complex_add_product(sum + e, b + (e & 2 ? 6 : 0), re, im);
    }
}

#endif
