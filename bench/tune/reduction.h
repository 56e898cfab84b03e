/* 64 sums of neighbouring elements: bound by memory. The threads of a block share a sum; on the
 * host the first of them does all. Tunables: BLOCK; SUMS, independent sums of a thread; STEP,
 * elements of each that it adds at once. size: sums, elements of each. */
#include "items.h"

#ifndef GROVE_BENCH_TUNE_REDUCTION
#define GROVE_BENCH_TUNE_REDUCTION
enum { REDUCTION_BLOCK, REDUCTION_SUMS, REDUCTION_STEP, REDUCTION_MAX_BLOCK = 1024 };
#endif

/* A thread's part of a sum. */
GROVE_FN real GROVE_NAME(reduction_wide)(const grove_args *args, int64_t number, int thread,
                                         int threads, const int sums)
{
    const int64_t length = args->size[1];
    const int step = GROVE_TUNED(args, REDUCTION_STEP, STEP);
    const real *in = INPUT(args, 0) + number * length;
    real sum[16], total = 0;

    for (int s = 0; s < sums; s++)
        sum[s] = 0;
    for (int64_t at = (int64_t)thread * sums; at < length; at += (int64_t)threads * sums * step)
        for (int k = 0; k < step; k++)
            for (int s = 0; s < sums; s++)
                sum[s] += in[at + (int64_t)k * threads * sums + s];
    for (int s = 0; s < sums; s++)
        total += sum[s];
    return total;
}

GROVE_FN real GROVE_NAME(reduction_part)(const grove_args *args, int64_t number, int thread,
                                         int threads)
{
#ifdef GROVE_OPENCL
    return GROVE_NAME(reduction_wide)(args, number, thread, threads, SUMS);
#else
    switch (args->tuned[REDUCTION_SUMS]) {
    case 1:
        return GROVE_NAME(reduction_wide)(args, number, thread, threads, 1);
    case 2:
        return GROVE_NAME(reduction_wide)(args, number, thread, threads, 2);
    case 4:
        return GROVE_NAME(reduction_wide)(args, number, thread, threads, 4);
    case 8:
        return GROVE_NAME(reduction_wide)(args, number, thread, threads, 8);
    default:
        return GROVE_NAME(reduction_wide)(args, number, thread, threads, 16);
    }
#endif
}

#if defined(GROVE_OPENCL) || defined(GROVE_CUDA)
#ifdef GROVE_OPENCL
#define REDUCTION_WAIT barrier(CLK_LOCAL_MEM_FENCE)
__kernel void GROVE_NAME(reduction)(__global const grove_args *given)
{
    __local real part[BLOCK];
    const grove_args *args = GROVE_GENERIC(const grove_args, given);
    const int thread = (int)get_local_id(0), threads = BLOCK;
    const int64_t first = get_group_id(0), groups = get_num_groups(0);
#else
#define REDUCTION_WAIT __syncthreads()
extern "C" __global__ void GROVE_NAME(reduction)(const __grid_constant__ grove_args given)
{
    __shared__ real part[REDUCTION_MAX_BLOCK];
    const grove_args *args = &given;
    const int thread = threadIdx.x, threads = blockDim.x;
    const int64_t first = blockIdx.x, groups = gridDim.x;
#endif
    for (int64_t number = first; number < args->size[0]; number += groups) {
        part[thread] = GROVE_NAME(reduction_part)(args, number, thread, threads);
        for (int distance = threads / 2; distance > 0; distance /= 2) {
            REDUCTION_WAIT;
            if (thread < distance)
                part[thread] += part[thread + distance];
        }
        if (thread == 0)
            OUTPUT(args)[number] = part[0];
        REDUCTION_WAIT;
    }
}
#ifdef GROVE_CUDA
GROVE_CUDA_EXPORT(GROVE_NAME(reduction))
#endif
#undef REDUCTION_WAIT
#else
static void GROVE_NAME(reduction_items)(const grove_args *args, int64_t first, int64_t last)
{
    const int block = args->tuned[REDUCTION_BLOCK];

    for (int64_t item = (first + block - 1) / block; item * block < last; item++)
        OUTPUT(args)[item] = GROVE_NAME(reduction_part)(args, item, 0, 1);
}
#endif
