// The kernel of beam_cos3 for NVIDIA GPUs, by hand: it takes the place of what nvcc makes of
// beam_cos3.h by itself, and calls the same function. A launch has about one thread per output
// cell; threads take cells in steps of the whole grid. An input that does not vary along an axis
// has stride 0 there.
#include <grove/cell.h>

#include "beam_cos3.h"

namespace
{
template <typename real> __device__ void compute(const grove_args *args)
{
    const int64_t cells = grove_args_cells(args), step = (int64_t)gridDim.x * blockDim.x;
    const double scale = *(const double *)(const void *)args->state.bytes;

    for (int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; at < cells; at += step) {
        int64_t index[GROVE_MAX_AXES], rest = at;
        for (int d = args->axes - 1; d >= 0; d--) {
            index[d] = rest % args->size[d];
            rest /= args->size[d];
        }
        const double *lmn = (const double *)(void *)grove_view_at(&args->in[0], index, args->axes);
        const double *freq = (const double *)(void *)grove_view_at(&args->in[1], index, args->axes);
        *(real *)(void *)grove_view_at(&args->out, index, args->axes) =
            (real)beam_cos3_voltage(lmn, freq[0], scale);
    }
}
} // namespace

// One kernel for each precision. GROVE_CUDA_EXPORT matters only where devices are emulated.
extern "C" __global__ void beam_cos3_single(const __grid_constant__ grove_args args)
{
    compute<float>(&args);
}
GROVE_CUDA_EXPORT(beam_cos3_single)

extern "C" __global__ void beam_cos3_double(const __grid_constant__ grove_args args)
{
    compute<double>(&args);
}
GROVE_CUDA_EXPORT(beam_cos3_double)
