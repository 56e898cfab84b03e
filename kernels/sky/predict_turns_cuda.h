/* Phasors along equal channels on a CUDA device, by recurrences. */
#ifndef GROVE_KERNELS_PREDICT_TURNS_CUDA_H
#define GROVE_KERNELS_PREDICT_TURNS_CUDA_H

#include "../cuda/number.h"

namespace
{
// The phasor after `z` of two at equal distances: 2 cos(distance) z - before.
template <typename real>
__device__ __forceinline__ complex_number<real> next(real cosines, complex_number<real> z,
                                                     complex_number<real> before)
{
    return {cosines * z.re - before.re, cosines * z.im - before.im};
}

// turn[k]; before the middle they are conjugate.
template <typename real>
__device__ __forceinline__ complex_number<real> turn_at(const complex_number<real> *turn, int k)
{
    return k < 0 ? complex_number<real>{turn[-k].re, -turn[-k].im} : turn[k];
}

// Finds turn[k] of those before it, k > 1. Half of those on each side of the middle of GROUP
// channels are products, the others follow at that distance.
template <typename real, int GROUP>
__device__ __forceinline__ void find_turn(complex_number<real> *turn, int k)
{
    const int apart = GROUP > 4 ? GROUP / 4 : 1;

    if (k > apart)
        turn[k] = next(2 * turn[apart].re, turn[k - apart], turn_at(turn, k - 2 * apart));
    else
        turn[k] = turn[k / 2] * turn[k - k / 2];
}
} // namespace

#endif
