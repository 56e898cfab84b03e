// Sums over the samples that count in an image, without their places: a thread takes samples at
// equal distances, and the threads of a warp are added up, always in the same order.
#include "gridder_load_cuda.h"

namespace
{
__device__ void weigh(const grove_args *args, int64_t i)
{
    const grove_gridder_weighing *g =
        (const grove_gridder_weighing *)(const void *)args->state.bytes;
    double sum[GROVE_GRIDDER_TOTALS] = {};

#pragma unroll 1
    for (int64_t n = i; n < g->rows * g->samples.channels; n += g->threads)
        weigh_sample(args, g, (uint32_t)n, sum);
    for (int k = 0; k < GROVE_GRIDDER_TOTALS; k++) {
        for (int by = 16; by > 0; by /= 2)
            sum[k] += __shfl_down_sync(0xffffffffu, sum[k], (unsigned)by);
        if (i % 32 == 0)
            ((double *)args->out.data)[i / 32 * GROVE_GRIDDER_TOTALS + k] = sum[k];
    }
}
} // namespace

// All threads of a warp have a number: there are whole warps of them.
#define KERNEL(precision)                                                                          \
    extern "C" __global__ void gridder_weigh_##precision(const __grid_constant__ grove_args args)  \
    {                                                                                              \
        const int64_t count = grove_args_cells(&args), step = (int64_t)gridDim.x * blockDim.x;     \
                                                                                                   \
        for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)     \
            weigh(&args, i);                                                                       \
    }                                                                                              \
    GROVE_CUDA_EXPORT(gridder_weigh_##precision)

KERNEL(single)
KERNEL(double)
