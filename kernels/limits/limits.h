/* Peak rates of a CUDA device for bench/gpu: multiply-adds, sines, memory. */
#ifndef GROVE_KERNELS_LIMITS_H
#define GROVE_KERNELS_LIMITS_H

#include "cell.h"

enum { LIMITS_CHAINS = 8 }; /* independent ones in each thread */
/* Multiply-adds of a warp in one product of small matrices on tensor cores. */
enum { LIMITS_TENSOR_SINGLE = 16 * 8 * 8, LIMITS_TENSOR_DOUBLE = 8 * 8 * 4 };

/* The state. `multiply_add` and `sines` do rounds * LIMITS_CHAINS operations in each thread and
 * write one number for each, `tensor` as many products for each warp; `stream` copies `threads`
 * pieces of 16 bytes from input 0. */
typedef struct {
    int64_t threads, rounds;
    double factor, offset;
} grove_limits_state;

GROVE_FN int64_t grove_limits_threads(const grove_args *args)
{
    return ((const grove_limits_state *)(const void *)args->state.bytes)->threads;
}

#endif
