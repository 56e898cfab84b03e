// A file of kernels as compiled with headers of another version; with UNSTAMPED, with headers that
// had no stamp.
#define grove_kernel_stamp stamp_of_these_headers
#include "cell.h"
#undef grove_kernel_stamp

#ifndef UNSTAMPED
extern "C" __device__ grove_stamp grove_kernel_stamp;
__device__ grove_stamp grove_kernel_stamp = {GROVE_ABI_MAJOR, GROVE_ABI_MINOR,
                                             (int32_t)sizeof(grove_args) + 8, GROVE_MAX_AXES,
                                             GROVE_MAX_INPUTS};
#endif

extern "C" __global__ void add_elements_double(const __grid_constant__ grove_args args)
{
    ((double *)args.out.data)[0] = -1;
}
GROVE_CUDA_EXPORT(add_elements_double)
