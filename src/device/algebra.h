/* Linear algebra and Fourier transforms on devices: by NVIDIA's libraries on CUDA devices, by BLAS,
 * LAPACK and FFTW on the host. All arrays are dense, by rows, in the device's memory; `double_`
 * says the precision, numbers are complex pairs where nothing else is said. Each call is queued
 * behind what was launched before it. GROVE_MISSING, with a message, where the library for it is
 * not there: what a CUDA device lacks may be asked of the host. GROVE_INVALID for sizes that are
 * not from 1 to 2^31 - 1. */
#ifndef GROVE_DEVICE_ALGEBRA_H
#define GROVE_DEVICE_ALGEBRA_H

#include "base/error.h"
#include "plugin.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct grove_device grove_device;

typedef struct {
    int (*product)(grove_device *device, const grove_product *what, bool double_,
                   grove_error *error);
    int (*transform)(grove_device *device, const grove_transform *what, bool double_,
                     grove_error *error);
    int (*cholesky)(grove_device *device, const grove_cholesky *what, grove_error *error);
    /* Which libraries are there for it: "cuBLAS, cuFFT", or "none". Opens them. */
    void (*describe)(grove_device *device, char *text, size_t size);
} grove_algebra;

/* Whether the sizes can be computed with: 0 or GROVE_INVALID. */
int grove_product_check(const char *device, const grove_product *what, grove_error *error);
int grove_transform_check(const char *device, const grove_transform *what, grove_error *error);
int grove_cholesky_check(const char *device, const grove_cholesky *what, grove_error *error);

/* The host's, by a module of its own, opened when first used. */
extern const grove_algebra grove_algebra_host;

/* What that module, algebra.so, exports as grove_algebra_api. */
typedef struct {
    int version; /* GROVE_ALGEBRA_VERSION */
    grove_algebra algebra;
} grove_algebra_module;
enum { GROVE_ALGEBRA_VERSION = 1 };

#endif
