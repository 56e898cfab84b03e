/* Linear algebra and Fourier transforms on devices: by NVIDIA's libraries on CUDA devices, by BLAS,
 * LAPACK and FFTW on the host. All arrays are dense, by rows, in the device's memory; `double_` is
 * the precision; numbers are complex unless stated otherwise. Calls are queued behind earlier
 * launches. GROVE_MISSING, with a message, when the device lacks the library: the host can then
 * compute it. GROVE_INVALID for sizes outside 1 to 2^31 - 1. */
#ifndef GROVE_DEVICE_ALGEBRA_H
#define GROVE_DEVICE_ALGEBRA_H

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct grove_device grove_device;

/* c[k] = a[k] b[k]^H for k < count: a is rows x inner, b columns x inner, c rows x columns.
 * Strides, in complex numbers, lead from one matrix to the next; 0: the same matrix for all k. */
typedef struct {
    const void *a, *b;
    void *c;
    int64_t rows, columns, inner, count;
    int64_t stride_a, stride_b, stride_c;
} grove_product;

/* y = sum_x x exp(sign 2 pi i j k / n), not normalised, in `rank` 1 or 2 dimensions of sizes
 * size[0], size[1], for `count` arrays in sequence; in place. sign: -1 or 1. */
typedef struct {
    void *at;
    int64_t size[2], count;
    int rank, sign;
} grove_transform;

/* Solves m x = right for `count` right-hand sides of `size` real doubles each, in place: m is
 * symmetric and positive definite; its lower triangle is replaced by its Cholesky factor. *info, an
 * int32_t in the device's memory, is 0, or k when the k-th leading minor is not positive; the
 * right-hand sides are then undefined. `right` NULL, `count` 0: the factor alone. */
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
    /* The libraries that the device has: "cuBLAS, cuFFT", or "none". Opens them. */
    void (*describe)(grove_device *device, char *text, size_t size);
} grove_algebra;

/* Checks that the sizes are in range: 0 or GROVE_INVALID. */
int grove_product_check(const char *device, const grove_product *what, grove_error *error);
int grove_transform_check(const char *device, const grove_transform *what, grove_error *error);
int grove_cholesky_check(const char *device, const grove_cholesky *what, grove_error *error);

/* The host's implementation, from a module that is opened when first used. */
extern const grove_algebra grove_algebra_host;

/* The table that the module algebra.so exports as grove_algebra_api. */
typedef struct {
    int version; /* GROVE_ALGEBRA_VERSION */
    grove_algebra algebra;
} grove_algebra_module;
enum { GROVE_ALGEBRA_VERSION = 1 };

#endif
