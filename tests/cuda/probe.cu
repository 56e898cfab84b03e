// Kernels that test the guarantees of the emulation, and how cells are found.
#define GROVE_KERNEL_SOURCE "cell.h" // no cell functions
#include "kernel.h"

enum { THREADS = 96 };

// Sums of each block over shared memory, through the last warp's shuffles.
extern "C" __global__ void block_sum_double(const __grid_constant__ grove_args args)
{
    __shared__ double part[THREADS];
    const double *in = (const double *)args.in[0].data;
    double *out = (double *)args.out.data;
    int t = (int)threadIdx.x;

    part[t] = in[blockIdx.x * THREADS + threadIdx.x];
    __syncthreads();
    if (t < 32) {
        double sum = part[t] + part[t + 32] + part[t + 64];
        for (int by = 16; by > 0; by /= 2)
            sum += __shfl_down_sync(0xffffffffu, sum, (unsigned)by);
        if (t == 0) {
            out[blockIdx.x] = sum;
            atomicAdd(&out[gridDim.x], sum);
        }
    }
}
GROVE_CUDA_EXPORT(block_sum_double)

// The same without the barrier.
extern "C" __global__ void no_barrier_double(const __grid_constant__ grove_args args)
{
    __shared__ double part_unguarded[THREADS];
    const double *in = (const double *)args.in[0].data;
    double sum = 0;

    part_unguarded[threadIdx.x] = in[blockIdx.x * THREADS + threadIdx.x];
    for (int k = 0; threadIdx.x == 0 && k < THREADS; k++)
        sum += part_unguarded[k];
    if (threadIdx.x == 0)
        ((double *)args.out.data)[blockIdx.x] = sum;
}
GROVE_CUDA_EXPORT(no_barrier_double)

// Lanes that wait for one that has left.
extern "C" __global__ void stuck_double(const __grid_constant__ grove_args args)
{
    double x = 1;

    if (threadIdx.x != 3)
        x = __shfl_xor_sync(0xffffffffu, x, 1);
    ((double *)args.out.data)[0] = x;
}
GROVE_CUDA_EXPORT(stuck_double)

// All lanes' values turned around, and a value of one lane for all.
extern "C" __global__ void shuffles_double(const __grid_constant__ grove_args args)
{
    double *out = (double *)args.out.data;
    int t = (int)threadIdx.x;
    int turned = __shfl_xor_sync(0xffffffffu, t, 31), fifth = __shfl_sync(0xffffffffu, t, 5);
    int above = __shfl_up_sync(0xffffffffu, t, 1);

    out[t] = turned + 1000 * fifth + 1000000.0 * above;
}
GROVE_CUDA_EXPORT(shuffles_double)

// Where cells are whose numbers the state has: indices, and bytes from the beginning of two inputs.
extern "C" __global__ void where_double(const __grid_constant__ grove_args args)
{
    const int64_t *at = (const int64_t *)(const void *)args.state.bytes;
    int64_t *out = (int64_t *)args.out.data + 10 * threadIdx.x, n;
    grove_cell cell;

    if (blockIdx.x > 0 || threadIdx.x >= 16)
        return;
    n = at[threadIdx.x] < args.walk.cells ? at[threadIdx.x] : args.walk.cells - 1;
    grove_cell_find(&cell, &args, n < 0 ? 0 : n);
#pragma unroll
    for (int d = 0; d < 8; d++)
        out[d] = cell.index[d];
    out[8] = cell.in[0] - (const char *)args.in[0].data;
    out[9] = cell.in[1] - (const char *)args.in[1].data;
}
GROVE_CUDA_EXPORT(where_double)
