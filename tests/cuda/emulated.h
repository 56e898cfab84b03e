// The subset of CUDA C++ that kernels use, for a C++ compiler: included before a .cu source, which
// then becomes a shared object that the emulated driver loads as it does a fatbin. For tests only.
#ifndef GROVE_TESTS_CUDA_EMULATED_H
#define GROVE_TESTS_CUDA_EMULATED_H

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <utility>

#define GROVE_CUDA_EMULATED 1

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_)
    {
    }
};
struct float2 {
    float x, y;
};
struct float4 {
    float x, y, z, w;
};
struct double2 {
    double x, y;
};
static inline float2 make_float2(float x, float y)
{
    return {x, y};
}
static inline float4 make_float4(float x, float y, float z, float w)
{
    return {x, y, z, w};
}
static inline double2 make_double2(double x, double y)
{
    return {x, y};
}

// Shared by the driver and a loaded kernel: the index of the running thread, and the functions that
// it may call.
struct emulated_thread {
    dim3 grid, block;
    uint3 block_at, thread_at;
    void (*barrier)();
    // Puts `bytes` of `in` where lanes of `mask` may take them; then takes what lane `from` put.
    void (*exchange)(unsigned mask, const void *in, size_t bytes, int from, void *out);
    int (*lane)();
    // Puts `bytes` of `in`; then takes what all 32 lanes of the warp put. They all have to come.
    void (*share)(const void *in, size_t bytes, void *all);
};

extern "C" {
__attribute__((visibility("default"))) emulated_thread *emulated_now;
// Shared memory of this module, filled with random bytes before each block.
extern char __start_emulated_shared[] __attribute__((weak, visibility("hidden")));
extern char __stop_emulated_shared[] __attribute__((weak, visibility("hidden")));
__attribute__((visibility("default"))) void emulated_shared_fill(int byte)
{
    if (__start_emulated_shared)
        memset(__start_emulated_shared, byte,
               (size_t)(__stop_emulated_shared - __start_emulated_shared));
}
}
#define gridDim   (emulated_now->grid)
#define blockDim  (emulated_now->block)
#define blockIdx  (emulated_now->block_at)
#define threadIdx (emulated_now->thread_at)
enum { warpSize = 32 };

#define __global__ __attribute__((visibility("default")))
#define __device__
#define __host__
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(...)
// Threads of a block take turns on one thread of the host, and blocks follow each other.
#define __shared__ static __attribute__((section("emulated_shared")))

// Unpacks the arguments of a launch.
template <typename... T, size_t... I>
void emulated_call(void (*kernel)(T...), void **arguments, std::index_sequence<I...>)
{
    kernel(*static_cast<std::remove_const_t<T> *>(arguments[I])...);
}
template <typename... T> void emulated_run(void (*kernel)(T...), void **arguments)
{
    emulated_call(kernel, arguments, std::index_sequence_for<T...>());
}
template <typename... T> size_t emulated_sizes(void (*)(T...), size_t *sizes)
{
    size_t k = 0;
    ((sizes[k++] = sizeof(T)), ...);
    return k;
}

// After the definition of an extern "C" kernel: makes it known to the emulated driver.
#define GROVE_CUDA_EXPORT(name)                                                                    \
    extern "C" __attribute__((visibility("default"))) size_t emulated_sizes_##name(size_t *sizes)  \
    {                                                                                              \
        return emulated_sizes(name, sizes);                                                        \
    }                                                                                              \
    extern "C" __attribute__((visibility("default"))) void emulated_run_##name(void **arguments)   \
    {                                                                                              \
        emulated_run(name, arguments);                                                             \
    }

static inline void __syncthreads()
{
    emulated_now->barrier();
}
static inline void __syncwarp(unsigned mask = 0xffffffffu)
{
    char none = 0;
    emulated_now->exchange(mask, &none, 1, emulated_now->lane(), &none);
}
template <typename T> T emulated_exchange(unsigned mask, T value, int from)
{
    static_assert(sizeof(T) <= 16, "a shuffle of at most 16 bytes");
    T result;
    emulated_now->exchange(mask, &value, sizeof(T), from, &result);
    return result;
}
template <typename T> T __shfl_sync(unsigned mask, T value, int from, int width = 32)
{
    int lane = emulated_now->lane();
    return emulated_exchange(mask, value, lane / width * width + from % width);
}
template <typename T> T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32)
{
    int lane = emulated_now->lane(), from = lane + (int)by;
    return emulated_exchange(mask, value, from / width == lane / width ? from : lane);
}
template <typename T> T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32)
{
    int lane = emulated_now->lane(), from = lane - (int)by;
    return emulated_exchange(mask, value, from >= lane / width * width ? from : lane);
}
template <typename T> T __shfl_xor_sync(unsigned mask, T value, int with, int width = 32)
{
    int lane = emulated_now->lane(), from = lane ^ with;
    return emulated_exchange(mask, value, from / width <= lane / width ? from : lane);
}

// Threads take turns only where they wait, so these need no lock.
template <typename T> T atomicAdd(T *at, T value)
{
    T old = *at;
    *at = old + value;
    return old;
}
template <typename T> T atomicMax(T *at, T value)
{
    T old = *at;
    *at = old < value ? value : old;
    return old;
}
template <typename T> T atomicMin(T *at, T value)
{
    T old = *at;
    *at = value < old ? value : old;
    return old;
}
template <typename T> T atomicOr(T *at, T value)
{
    T old = *at;
    *at = old | value;
    return old;
}
template <typename T> T atomicExch(T *at, T value)
{
    T old = *at;
    *at = value;
    return old;
}
template <typename T> T atomicCAS(T *at, T expected, T value)
{
    T old = *at;
    if (old == expected)
        *at = value;
    return old;
}

template <typename T> T __ldg(const T *at)
{
    return *at;
}
static inline void sincospi(double x, double *sine, double *cosine)
{
    double whole = 2 * std::rint(x / 2), angle = 3.14159265358979323846 * (x - whole);
    *sine = std::sin(angle);
    *cosine = std::cos(angle);
}
static inline float rsqrtf(float x)
{
    return 1 / sqrtf(x);
}

static inline void sincospif(float x, float *sine, float *cosine)
{
    double s, c;
    sincospi((double)x, &s, &c);
    *sine = (float)s;
    *cosine = (float)c;
}

#endif
