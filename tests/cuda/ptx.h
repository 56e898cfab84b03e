// What PTX translated by ptx_translate.py runs on: memory with checks, and what C++ has no operator
// for. Semantics are those of the PTX ISA, "Instruction Set". A fault ends the process with the
// line of the PTX. For tests only.
#ifndef GROVE_TESTS_CUDA_PTX_H
#define GROVE_TESTS_CUDA_PTX_H

#include "emulated.h"

#include <cfenv>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <type_traits>

#define PTX_EXPORT extern "C" __attribute__((visibility("default")))

static const char *ptx_kernel = "?";

[[noreturn]] static inline __attribute__((noinline, cold)) void
ptx_fail(unsigned line, const char *what, uint64_t x)
{
    fprintf(stderr, "PTX of %s, line %u: %s (%#llx), thread %u of block %u\n", ptx_kernel, line,
            what, (unsigned long long)x, threadIdx.x, blockIdx.x);
    abort();
}

// ---- memory ----
// Addresses of shared memory have 32 bits and begin at PTX_SHARED_BASE; all others are the host's.
alignas(1024) static char ptx_shared[PTX_SHARED_BYTES + 1]
    __attribute__((section("emulated_shared")));

static inline char *ptx_at(uint64_t at, unsigned bytes, unsigned line)
{
    if (at % bytes)
        ptx_fail(line, "address is not aligned", at);
    return (char *)at;
}
static inline char *ptx_at_shared(uint32_t at, unsigned bytes, unsigned line)
{
    if (at % bytes)
        ptx_fail(line, "address of shared memory is not aligned", at);
    if (at < PTX_SHARED_BASE || at - PTX_SHARED_BASE + bytes > PTX_SHARED_BYTES)
        ptx_fail(line, "address is not in shared memory", at);
    return ptx_shared + (at - PTX_SHARED_BASE);
}
static inline char *ptx_within(uint64_t at, unsigned bytes, unsigned line, uintptr_t begin,
                               size_t size, const char *what)
{
    if (at < begin || at - begin + bytes > size)
        ptx_fail(line, what, at - begin);
    return ptx_at(at, bytes, line);
}
static inline uint64_t ptx_generic_of_shared(uint64_t at)
{
    return (uint64_t)ptx_shared + (at - PTX_SHARED_BASE);
}
static inline uint64_t ptx_shared_of_generic(uint64_t at)
{
    return at - (uint64_t)ptx_shared + PTX_SHARED_BASE;
}

#ifdef PTX_COUNTS
#include "ptx_counts.h"
#else
#define PTX_TRIPS           0
#define PTX_TRIPS_PARAMETER int
#define PTX_BLOCK(number)
#define PTX_COUNT(site, at)
#define PTX_COUNT_START()
#define PTX_END
#endif

#define PTX_GENERIC(at, bytes, line, site) (PTX_COUNT(site, at) ptx_at(at, bytes, line))
#define PTX_GLOBAL(at, bytes, line, site)  (PTX_COUNT(site, at) ptx_at(at, bytes, line))
#define PTX_SHARED(at, bytes, line, site)  (PTX_COUNT(site, at) ptx_at_shared(at, bytes, line))
#define PTX_LOCAL(at, bytes, line, site)                                                           \
    (PTX_COUNT(site, (uint64_t)(at) - (uintptr_t)depot) ptx_within(                                \
        at, bytes, line, (uintptr_t)depot, depot_bytes, "address is not in local memory"))
#define PTX_PARAM(at, bytes, line, site)                                                           \
    ptx_within(at, bytes, line, parameters, parameter_bytes, "address is not in the parameters")

// A launch: the name of the kernel, and the number of threads that it was compiled for.
#define PTX_BEGIN(name, max_threads)                                                               \
    ptx_kernel = name;                                                                             \
    if ((max_threads) && blockDim.x * blockDim.y * blockDim.z > (max_threads))                     \
        ptx_fail(0, "more threads in a block than .maxntid", blockDim.x);                          \
    PTX_COUNT_START();

// ---- bits ----
static inline float ptx_float32(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}
static inline double ptx_float64(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof(x));
    return x;
}
static inline uint32_t ptx_bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(x));
    return bits;
}
static inline uint64_t ptx_bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof(x));
    return bits;
}
template <typename T> static inline T ptx_shift_left(T x, uint32_t by)
{
    return by >= 8 * sizeof(T) ? (T)0 : (T)(x << by);
}
// What is shifted in is the sign.
template <typename T> static inline T ptx_shift_right(T x, uint32_t by)
{
    if (by >= 8 * sizeof(T))
        return x < 0 ? (T)-1 : (T)0;
    return (T)(x >> by);
}
static inline uint32_t ptx_leading_zeros(uint64_t x, unsigned bits)
{
    return x ? (uint32_t)__builtin_clzll(x) - (64 - bits) : bits;
}
template <typename T> static inline T ptx_insert_bits(T from, T to, uint32_t at, uint32_t count)
{
    at &= 0xff;
    count &= 0xff;
    T ones = count >= 8 * sizeof(T) ? (T) ~(T)0 : (T)(((T)1 << count) - 1);
    T mask = ptx_shift_left<T>(ones, at);
    return (T)((to & ~mask) | (ptx_shift_left<T>(from, at) & mask));
}

// ---- numbers ----
template <typename T> static inline T ptx_divide(T a, T b, unsigned line)
{
    if (b == 0)
        ptx_fail(line, "division by zero", (uint64_t)a);
    return std::is_signed<T>::value && b == (T)-1 ? (T)(0 - (uint64_t)a) : (T)(a / b);
}
template <typename T> static inline T ptx_remainder(T a, T b, unsigned line)
{
    if (b == 0)
        ptx_fail(line, "division by zero", (uint64_t)a);
    return std::is_signed<T>::value && b == (T)-1 ? (T)0 : (T)(a % b);
}
// Of a number without fraction, to the nearest that T has; no number becomes 0, or the highest bit
// where 64 bits are on either side.
template <typename T> static inline T ptx_to_integer(double x, bool wide)
{
    typedef std::numeric_limits<T> limits;
    if (x != x)
        return wide ? (T)((typename std::make_unsigned<T>::type)1 << (8 * sizeof(T) - 1)) : (T)0;
    if (x <= (double)limits::min())
        return limits::min();
    return x >= (double)limits::max() ? limits::max() : (T)x;
}
// The other where one is no number; -0 is less than 0.
template <typename T> static inline T ptx_min(T a, T b)
{
    return a != a ? b : b != b ? a : a == b ? (std::signbit(a) ? a : b) : a < b ? a : b;
}
template <typename T> static inline T ptx_max(T a, T b)
{
    return a != a ? b : b != b ? a : a == b ? (std::signbit(a) ? b : a) : a > b ? a : b;
}
static inline float ptx_saturate(float x)
{
    return x > 0 ? (x < 1 ? x : 1) : 0;
}
static inline float ptx_flush(float x)
{
    return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}
// .approx.ftz.f64 looks at and gives the upper 32 bits only.
static inline double ptx_high_word(double x)
{
    return ptx_float64(ptx_bits_of(x) & 0xffffffff00000000u);
}
static __attribute__((noinline, unused)) float ptx_fma_down(float a, float b, float c)
{
    volatile float x = a, y = b, z = c;
    int before = fegetround();

    fesetround(FE_DOWNWARD);
    volatile float result = fmaf(x, y, z);
    fesetround(before);
    return result;
}

// ---- between the lanes of a warp ----
static inline void ptx_check_mask(uint32_t mask, unsigned line)
{
    if (!(mask >> emulated_now->lane() & 1))
        ptx_fail(line, "the mask lacks the own lane", mask);
}
static inline void ptx_warp_barrier(uint32_t mask, unsigned line)
{
    ptx_check_mask(mask, line);
    __syncwarp(mask);
}
// What lane `from` of the mask has, or what this one has where that is out of reach.
static inline uint32_t ptx_take(uint32_t value, int from, bool reached, uint32_t mask,
                                unsigned line)
{
    uint32_t result;

    ptx_check_mask(mask, line);
    if (!reached)
        from = emulated_now->lane();
    if (!(mask >> from & 1))
        ptx_fail(line, "a shuffle takes from a lane that the mask lacks", mask);
    emulated_now->exchange(mask, &value, sizeof(value), from, &result);
    return result;
}
// `clamp`: bits 0 to 4 the clamp, 8 to 12 the mask of a segment's number.
#define PTX_SHUFFLE(name, other, test)                                                             \
    static inline uint32_t ptx_shuffle_##name(uint32_t value, uint32_t by, uint32_t clamp,         \
                                              uint32_t mask, bool *reached, unsigned line)         \
    {                                                                                              \
        int lane = emulated_now->lane(), b = (int)(by & 31), segment = (int)(clamp >> 8 & 31);     \
        int end = (lane & segment) | ((int)(clamp & 31) & ~segment), from = other;                 \
        *reached = from test end;                                                                  \
        return ptx_take(value, from, *reached, mask, line);                                        \
    }
PTX_SHUFFLE(up, lane - b, >=)
PTX_SHUFFLE(down, lane + b, <=)
PTX_SHUFFLE(bfly, lane ^ b, <=)
PTX_SHUFFLE(idx, (lane & segment) | (b & ~segment), <=)

// ---- products of matrices by a warp ----
// The rounding of sums in single precision is not documented: GROVE_PTX_ROUNDING=nearest rounds the
// whole sum once, otherwise terms and sum are cut to 24 bits of the largest.
static inline bool ptx_rounds_to_nearest()
{
    const char *wanted = getenv("GROVE_PTX_ROUNDING");
    return wanted && !strcmp(wanted, "nearest");
}
static inline double ptx_cut(double x, double unit)
{
    return std::trunc(x / unit) * unit;
}
static inline double ptx_unit(double largest) // of the last of 24 bits
{
    int exponent;
    std::frexp(largest, &exponent);
    return std::ldexp(1, exponent - 24);
}
static inline float ptx_add_terms(const double *terms, int count)
{
    double largest = 0, sum = 0;
    bool nearest = ptx_rounds_to_nearest();

    for (int k = 0; k < count; k++)
        largest = std::fmax(largest, std::fabs(terms[k]));
    for (int k = 0; k < count; k++)
        sum += nearest || largest == 0 ? terms[k] : ptx_cut(terms[k], ptx_unit(largest));
    if (nearest || sum == 0 || sum - sum != 0)
        return (float)sum;
    return (float)ptx_cut(sum, ptx_unit(sum));
}
// PTX ISA, "Matrix Fragments for mma.m16n8k8", .tf32: a: row g for a0 and a2, g + 8 for a1 and a3;
// column t for a0 and a1, t + 4 for a2 and a3. b: row t for b0, t + 4 for b1; column g. c: row g
// for c0 and c1, g + 8 for c2 and c3; column 2 t + i % 2. g = lane / 4, t = lane % 4.
static inline void ptx_mma_tf32(const uint32_t a[4], const uint32_t b[2], float c[4])
{
    struct fragment {
        uint32_t a[4], b[2];
    } own, all[32];
    double left[16][8], right[8][8], terms[9];
    int group = emulated_now->lane() / 4, place = emulated_now->lane() % 4;

    memcpy(own.a, a, sizeof(own.a));
    memcpy(own.b, b, sizeof(own.b));
    emulated_now->share(&own, sizeof(own), all);
    for (int lane = 0; lane < 32; lane++) {
        int g = lane / 4, t = lane % 4;
        for (int i = 0; i < 4; i++)
            left[i == 0 || i == 2 ? g : g + 8][i == 0 || i == 1 ? t : t + 4] =
                (double)ptx_float32(all[lane].a[i] & 0xffffe000u);
        for (int i = 0; i < 2; i++)
            right[i == 0 ? t : t + 4][g] = (double)ptx_float32(all[lane].b[i] & 0xffffe000u);
    }
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 8; k++)
            terms[k] = left[i < 2 ? group : group + 8][k] * right[k][place * 2 + i % 2];
        terms[8] = (double)c[i];
        c[i] = ptx_add_terms(terms, 9);
    }
}
// "Matrix Fragments for mma.m8n8k4", .f64: a: row g, column t. b: row t, column g. c: row g, column
// 2 t + i. Every product is added with one rounding to nearest.
static inline void ptx_mma_f64(const double *a, const double *b, double c[2])
{
    double own[2] = {*a, *b}, all[32][2], left[8][4], right[4][8];
    int group = emulated_now->lane() / 4, place = emulated_now->lane() % 4;

    emulated_now->share(own, sizeof(own), all);
    for (int lane = 0; lane < 32; lane++) {
        left[lane / 4][lane % 4] = all[lane][0];
        right[lane % 4][lane / 4] = all[lane][1];
    }
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 4; k++)
            c[i] = std::fma(left[group][k], right[k][place * 2 + i], c[i]);
}

#endif
