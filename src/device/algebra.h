/* Linear algebra and Fourier transforms on devices with memory of their own. All arrays are dense,
 * by rows, in the device's memory; `double_` says the precision, numbers are complex pairs where
 * nothing else is said. Each call is queued behind what was launched before it. */
#ifndef GROVE_DEVICE_ALGEBRA_H
#define GROVE_DEVICE_ALGEBRA_H

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct grove_device grove_device;

/* c[k] = a[k] b[k]^H for k < count: a is rows x inner, b columns x inner, c rows x columns. From
 * one matrix to the next are the strides, in complex numbers; 0: the same for all. */
typedef struct {
    const void *a, *b;
    void *c;
    int64_t rows, columns, inner, count;
    int64_t stride_a, stride_b, stride_c;
} grove_product;

/* y = sum_x x exp(sign 2 pi i j k / n), not normalised, in one or two dimensions (rank) of sizes
 * size[0], size[1], for `count` arrays that follow each other; in place. sign: -1 or 1. */
typedef struct {
    void *at;
    int64_t size[2], count;
    int rank, sign;
} grove_transform;

/* Solves m x = right for each of `count` right sides of `size` real doubles, in place: m is
 * symmetric and positive definite, and its lower triangle becomes its Cholesky factor. *info, an
 * int32_t in the device's memory, is 0, or k when the k-th leading minor is not positive. */
typedef struct {
    double *matrix, *right;
    int32_t *info;
    int64_t size, count;
} grove_cholesky;

typedef struct {
    int (*product)(grove_device *device, const grove_product *what, bool double_,
                   grove_error *error);
    int (*transform)(grove_device *device, const grove_transform *what, bool double_,
                     grove_error *error);
    int (*cholesky)(grove_device *device, const grove_cholesky *what, grove_error *error);
    /* Which of NVIDIA's libraries are there for it: "cuBLAS, cuFFT", or "none". Opens them. */
    void (*tell)(grove_device *device, char *text, size_t size);
} grove_algebra;

#endif
