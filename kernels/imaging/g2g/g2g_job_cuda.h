// Common to the kernels of g2g that apply a diagonal, templates of `real`.
#ifndef GROVE_KERNELS_G2G_JOB_CUDA_H
#define GROVE_KERNELS_G2G_JOB_CUDA_H

#include "g2g_cuda.h"

#include "../../cuda/number.h"

namespace
{
enum { CELL = (1 << 24) - 1 /* bits of an entry's place */ };
#define ALL 0xffffffffu

template <typename real> struct alignas(2 * sizeof(real)) pair_of {
    real re, im;
};

template <typename real> struct alignas(16) entry {
    int32_t place;
    uint32_t function;
    real weight;
};
static_assert(sizeof(entry<float>) == GROVE_G2G_ENTRY_BYTES, "as counted by the host");
static_assert(sizeof(entry<double>) == GROVE_G2G_ENTRY_BYTES, "as counted by the host");

// A number of a function.
template <typename real, bool REAL> struct number_type {
    typedef real type;
};
template <typename real> struct number_type<real, false> {
    typedef pair_of<real> type;
};

// sum += conj(k) z
template <typename real>
__device__ __forceinline__ void add_conjugate(pair_of<real> *sum, real k, pair_of<real> z)
{
    sum->re += k * z.re;
    sum->im += k * z.im;
}

template <typename real>
__device__ __forceinline__ void add_conjugate(pair_of<real> *sum, pair_of<real> k, pair_of<real> z)
{
    sum->re += k.re * z.re;
    sum->im += k.re * z.im;
    sum->re += k.im * z.im;
    sum->im -= k.im * z.re;
}

// sum += k z
template <typename real>
__device__ __forceinline__ void add_product(pair_of<real> *sum, real k, pair_of<real> z)
{
    sum->re += k * z.re;
    sum->im += k * z.im;
}

template <typename real>
__device__ __forceinline__ void add_product(pair_of<real> *sum, pair_of<real> k, pair_of<real> z)
{
    sum->re += k.re * z.re;
    sum->im += k.re * z.im;
    sum->re -= k.im * z.im;
    sum->im += k.im * z.re;
}

// The arguments of a piece.
template <typename real> struct job {
    const pair_of<real> *in; // the tile's first cell
    pair_of<real> *out;      // its slot
    const real *functions;
    const entry<real> *entries;
    int32_t support, pitch; // of rows of the slot, in cells
    int32_t step[2];        // along u and v of the input, in bytes
};

// `bytes` further: of 32 bits, so that an address takes one instruction.
template <typename type> __device__ __forceinline__ type *go_on(type *from, uint32_t bytes)
{
    return (type *)(void *)((char *)(void *)from + bytes);
}

template <typename type>
__device__ __forceinline__ const type *go_on(const type *from, uint32_t bytes)
{
    return (const type *)(const void *)((const char *)(const void *)from + bytes);
}

__device__ __forceinline__ int lane_of()
{
    return (int)(threadIdx.x % 32);
}

__device__ __forceinline__ int u_of(int32_t place)
{
    return place & 4095;
}

__device__ __forceinline__ int v_of(int32_t place)
{
    return place >> 12 & 4095;
}

template <typename real>
__device__ __forceinline__ const pair_of<real> *source_of(const job<real> &j, int32_t place)
{
    return go_on<pair_of<real>>(j.in,
                                (uint32_t)(v_of(place) * j.step[1] + u_of(place) * j.step[0]));
}

template <typename real>
__device__ __forceinline__ pair_of<real> *target_of(const job<real> &j, int32_t place)
{
    return go_on<pair_of<real>>(j.out, (uint32_t)(v_of(place) * j.pitch + u_of(place)) *
                                           (uint32_t)sizeof(pair_of<real>));
}
} // namespace

#endif
