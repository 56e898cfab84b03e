/* Noise of several channels at once, in vectors: the same as kernels/jones/noise.h, but for
 * rounding. */
#ifndef GROVE_KERNELS_NOISE_SIMD_H
#define GROVE_KERNELS_NOISE_SIMD_H

#include "../simd/isa.h"
#include "cell.h"

/* State of the class: the seed first, as CUDA devices read it. */
typedef struct {
    uint64_t seed;
    int32_t isa, spare;
} grove_noise_state;

/* Cells [first, last) of an evaluation. */
void grove_noise_single(const grove_args *args, int64_t first, int64_t last);
void grove_noise_double(const grove_args *args, int64_t first, int64_t last);

/* Where the numbers of all channels belong. */
typedef struct {
    uint64_t seed, time, stations[2];
} grove_noise_row;

/* For one instruction set. For each of `count` channels from `channel` on `out` gets size[k] times
 * four complex standard normal numbers, `step` numbers from one channel to the next. */
typedef struct {
    void (*single)(const grove_noise_row *row, uint64_t channel, int64_t count, const double *size,
                   float *out, int64_t step);
    void (*double_)(const grove_noise_row *row, uint64_t channel, int64_t count, const double *size,
                    double *out, int64_t step);
} grove_noise_kernels;

extern const grove_noise_kernels grove_noise_portable, grove_noise_avx2, grove_noise_avx512;

#endif
