/* Brightness of several cells at once: the same as kernels/sky/brightness.h, but for rounding. */
#ifndef GROVE_KERNELS_BRIGHTNESS_SIMD_H
#define GROVE_KERNELS_BRIGHTNESS_SIMD_H

#include "../simd/isa.h"
#include "cell.h"

/* Cells [first, last) of an evaluation. */
void grove_brightness_single(const grove_args *args, int64_t first, int64_t last);
void grove_brightness_double(const grove_args *args, int64_t first, int64_t last);

/* Numbers in a block: whole vectors of each instruction set. */
enum { GROVE_BRIGHTNESS_CELLS = 64 };

/* For one instruction set: functions of the first `count` numbers of a block, in place. They may
 * write the rest of it. */
typedef struct {
    void (*logarithms)(double *x, int count); /* log(x), of positive, normal numbers */
    void (*powers)(double *x, int count);     /* 2^x */
    /* x becomes cos(2 pi x), and sine sin(2 pi x); |x| below 1e9 */
    void (*turns)(double *x, double *sine, int count);
} grove_brightness_kernels;

extern const grove_brightness_kernels grove_brightness_portable, grove_brightness_avx2,
    grove_brightness_avx512;

#endif
