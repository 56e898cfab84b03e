/* Weights that threads of a group share, for fit_*.cu alone. */
#ifndef GROVE_KERNELS_FIT_CUDA_H
#define GROVE_KERNELS_FIT_CUDA_H

#include "fit_cell.h"

namespace
{
typedef grove_cplx64 complex;

// The weight that lane `from` of a group has.
__device__ __forceinline__ double group_weight(double weight, int from, int group)
{
    if (group == 32)
        return __shfl_sync(0xffffffffu, weight, from);
    const unsigned here = threadIdx.x % 32 / group * group;

    return __shfl_sync((0xffffffffu >> (32 - group)) << here, weight, from, group);
}
} // namespace

#endif
