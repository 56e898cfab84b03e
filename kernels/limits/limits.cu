// Peak rates of a device: independent chains of operations in registers, and a copy in its memory.
#include "../cuda/tensor.h"
#include "limits.h"

namespace
{
__device__ __forceinline__ const grove_limits_state *state_of(const grove_args *args)
{
    return (const grove_limits_state *)(const void *)args->state.bytes;
}

template <typename real, bool SINES> __device__ __forceinline__ void chains(const grove_args *args)
{
    const grove_limits_state *state = state_of(args);
    const real factor = (real)state->factor, offset = (real)state->offset;

    for (int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; at < state->threads;
         at += (int64_t)gridDim.x * blockDim.x) {
        real x[LIMITS_CHAINS], sum = 0;
#pragma unroll
        for (int k = 0; k < LIMITS_CHAINS; k++)
            x[k] = (real)(at + k) * offset;
#pragma unroll 8
        for (int64_t n = 0; n < state->rounds; n++)
#pragma unroll
            for (int k = 0; k < LIMITS_CHAINS; k++)
                x[k] = SINES ? sin(x[k]) : x[k] * factor + offset;
#pragma unroll
        for (int k = 0; k < LIMITS_CHAINS; k++)
            sum += x[k];
        ((real *)args->out.data)[at] = sum;
    }
}

__device__ __forceinline__ void multiply(float c[4], const float a[4])
{
    multiply_tf32(c, a, a);
}

__device__ __forceinline__ void multiply(double c[4], const double a[4])
{
    multiply_double(c, a[0], a[1]);
}

// Whole warps only.
template <typename real> __device__ __forceinline__ void products(const grove_args *args)
{
    const grove_limits_state *state = state_of(args);

    for (int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; at < state->threads;
         at += (int64_t)gridDim.x * blockDim.x) {
        real c[LIMITS_CHAINS][4] = {}, sum = 0;
        real a[4] = {(real)state->offset, (real)-state->offset, (real)state->factor, (real)at};
#pragma unroll 4
        for (int64_t n = 0; n < state->rounds; n++)
#pragma unroll
            for (int k = 0; k < LIMITS_CHAINS; k++)
                multiply(c[k], a);
#pragma unroll
        for (int k = 0; k < LIMITS_CHAINS; k++)
            sum += c[k][0] + c[k][1];
        ((real *)args->out.data)[at] = sum;
    }
}

__device__ __forceinline__ void copy(const grove_args *args)
{
    const grove_limits_state *state = state_of(args);

    for (int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; at < state->threads;
         at += (int64_t)gridDim.x * blockDim.x)
        ((double2 *)args->out.data)[at] = ((const double2 *)args->in[0].data)[at];
}
} // namespace

extern "C" __global__ void multiply_add_single(const __grid_constant__ grove_args args)
{
    chains<float, false>(&args);
}
GROVE_CUDA_EXPORT(multiply_add_single)

extern "C" __global__ void multiply_add_double(const __grid_constant__ grove_args args)
{
    chains<double, false>(&args);
}
GROVE_CUDA_EXPORT(multiply_add_double)

extern "C" __global__ void sines_single(const __grid_constant__ grove_args args)
{
    chains<float, true>(&args);
}
GROVE_CUDA_EXPORT(sines_single)

extern "C" __global__ void sines_double(const __grid_constant__ grove_args args)
{
    chains<double, true>(&args);
}
GROVE_CUDA_EXPORT(sines_double)

extern "C" __global__ void stream_double(const __grid_constant__ grove_args args)
{
    copy(&args);
}
GROVE_CUDA_EXPORT(stream_double)

extern "C" __global__ void tensor_single(const __grid_constant__ grove_args args)
{
    products<float>(&args);
}
GROVE_CUDA_EXPORT(tensor_single)

extern "C" __global__ void tensor_double(const __grid_constant__ grove_args args)
{
    products<double>(&args);
}
GROVE_CUDA_EXPORT(tensor_double)
