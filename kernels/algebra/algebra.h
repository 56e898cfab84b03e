/* Products of matrices, Fourier transforms and Cholesky factors on a CUDA device without NVIDIA's
 * libraries. What they work on is in the state; the output view is only what is written. */
#ifndef GROVE_KERNELS_ALGEBRA_H
#define GROVE_KERNELS_ALGEBRA_H

#include "cell.h"

enum { GROVE_PRODUCT_TILE = 16, GROVE_CHOLESKY_THREADS = 256 };

/* `product`: c = a b^H; see src/device/algebra.h. A block makes a tile of TILE x TILE. */
typedef struct {
    const void *a, *b;
    void *c;
    int64_t rows, columns, inner, count, stride_a, stride_b, stride_c;
} grove_product_state;

GROVE_FN int64_t grove_product_tiles(const grove_product_state *p)
{
    enum { TILE = GROVE_PRODUCT_TILE };

    return (p->rows + TILE - 1) / TILE * ((p->columns + TILE - 1) / TILE) * p->count;
}

/* `transform`: one factor of a transform along the middle axis of an array outer x n x inner. With
 * `before` the product of the factors done, rest = n / before / factor:
 *   to[i + rest (k + before j)] = exp(sign 2 pi i j i before / n)
 *                                 sum_q from[i + rest (q + factor k)] exp(sign 2 pi i j q / factor)
 * (Stockham's order: after the last factor the result is in place). One thread per number. */
typedef struct {
    const void *from;
    void *to;
    int64_t outer, n, inner, factor, before;
    int32_t sign, spare;
} grove_transform_state;

/* `cholesky`: see src/device/algebra.h; one block. */
typedef struct {
    double *matrix, *right;
    int32_t *info;
    int64_t size, count;
} grove_cholesky_state;

#endif
