/* Linear algebra and Fourier transforms on devices: by NVIDIA's libraries on CUDA devices, by BLAS,
 * LAPACK and FFTW on the host. All arrays are dense, by rows, in the device's memory; `double_` is
 * the precision; numbers are complex unless stated otherwise. Calls are queued behind earlier
 * launches. GROVE_MISSING, with a message, when the device has no such library: the host can then
 * compute it. GROVE_INVALID for sizes outside 1 to 2^31 - 1. */
#ifndef GROVE_DEVICE_ALGEBRA_H
#define GROVE_DEVICE_ALGEBRA_H

#include "base/error.h"
#include "plugin.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct grove_device grove_device;

typedef struct {
    int (*product)(grove_device *device, const grove_product *operation, bool double_,
                   grove_error *error);
    int (*transform)(grove_device *device, const grove_transform *operation, bool double_,
                     grove_error *error);
    int (*cholesky)(grove_device *device, const grove_cholesky *operation, grove_error *error);
    /* The libraries that the device has: "cuBLAS, cuFFT", or "none". Opens them. */
    void (*describe)(grove_device *device, char *text, size_t size);
} grove_algebra;

/* Checks that the sizes are in range: 0 or GROVE_INVALID. */
int grove_product_check(const char *device, const grove_product *operation, grove_error *error);
int grove_transform_check(const char *device, const grove_transform *operation, grove_error *error);
int grove_cholesky_check(const char *device, const grove_cholesky *operation, grove_error *error);

/* The host's implementation, from a module that is opened when first used. */
extern const grove_algebra grove_algebra_host;

/* The table that the module algebra.so exports as grove_algebra_api. */
typedef struct {
    int version; /* GROVE_ALGEBRA_VERSION */
    grove_algebra algebra;
} grove_algebra_module;
enum { GROVE_ALGEBRA_VERSION = 3 };

#endif
