/* Vectors of `real` for the instruction set that the file is compiled for, in the vector extension
 * that GCC and clang share. A file defines GROVE_REAL_SINGLE as 1 or 0 and includes this; compiler
 * flags choose the instruction set. `doubles` has the lanes of a part of a vector in double: where
 * double is needed, vectors of float are handled in two parts. */
#ifndef GROVE_KERNELS_VECTOR_H
#define GROVE_KERNELS_VECTOR_H

#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__)
#define VECTOR_BYTES 64
#elif defined(__AVX2__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif

#if GROVE_REAL_SINGLE
typedef float real;
typedef int32_t integer;
#define R(x) x##f
enum { PARTS = 2, MANTISSA = 23 };
#else
typedef double real;
typedef int64_t integer;
#define R(x) x
enum { PARTS = 1, MANTISSA = 52 };
#endif

enum { LANES = VECTOR_BYTES / (int)sizeof(real), PART = LANES / PARTS };

typedef real vec __attribute__((vector_size(VECTOR_BYTES)));
typedef integer integers __attribute__((vector_size(VECTOR_BYTES)));
typedef double doubles __attribute__((vector_size(VECTOR_BYTES)));
#if GROVE_REAL_SINGLE
typedef real part __attribute__((vector_size(VECTOR_BYTES / 2)));
#else
typedef vec part;
#endif

/* doubles at an address that need not be aligned. */
typedef double unaligned __attribute__((vector_size(VECTOR_BYTES), aligned(8), may_alias));

#define INLINE static inline __attribute__((always_inline))

/* Adding and then subtracting one of these rounds to the nearest whole number. */
#define ROUND_DOUBLE 6755399441055744.0
#if GROVE_REAL_SINGLE
#define ROUND_REAL 12582912.0f
#else
#define ROUND_REAL ROUND_DOUBLE
#endif

/* Keeps the compiler from fusing the product `x` with a sum. Of two products in a sum it may fuse
 * either, so the result would depend on the compiler. */
#if defined(__AVX512F__)
#define KEEP(x) __asm__("" : "+v"(x))
#elif defined(__FMA__)
#define KEEP(x) __asm__("" : "+x"(x))
#else
#define KEEP(x) ((void)0)
#endif

INLINE vec splat(real x)
{
    return x - (vec){0};
}

/* Double to `real`: a vector from its parts. */
INLINE vec narrow(const doubles x[PARTS])
{
#if GROVE_REAL_SINGLE
    part a = __builtin_convertvector(x[0], part), b = __builtin_convertvector(x[1], part);
#if VECTOR_BYTES == 64
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
#elif VECTOR_BYTES == 32
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
#else
    return __builtin_shufflevector(a, b, 0, 1, 2, 3);
#endif
#else
    return x[0];
#endif
}

/* x * factor less the nearest whole number. */
INLINE vec fractional_turns(const doubles x[PARTS], double factor)
{
    doubles rest[PARTS];

    for (int i = 0; i < PARTS; i++) {
        doubles turns = x[i] * factor;
        rest[i] = turns - ((turns + ROUND_DOUBLE) - ROUND_DOUBLE);
    }
    return narrow(rest);
}

/* cos and sin of 2 pi y, |y| <= 1/2, from cos and sin of half the angle: polynomials in y^2 for
 * sin(pi y) / y and cos(pi y) on [0, 1/4]. In single precision they are fitted by least squares,
 * since a bias of the cosine would add up over sources; in double they are Chebyshev's. The
 * relative error of the sine is a few of its last bits. */
INLINE void phasor(vec y, vec *cosine, vec *sine)
{
    vec t = y * y;
#if GROVE_REAL_SINGLE
    vec s = t * 0.07814113050699234f + -0.5985610485076904f;
    s = s * t + 2.5501296520233154f;
    s = s * t + -5.1677141189575195f;
    s = s * t + 3.1415927410125732f;
    vec c = t * -0.024395931512117386f + 0.23493707180023193f;
    c = c * t + -1.335211992263794f;
    c = c * t + 4.058709144592285f;
    c = c * t + -4.934802055358887f;
#else
    vec s = t * 7.697826768224191e-07 + -2.1903497074626018e-05;
    s = s * t + 0.0004662998161898394;
    s = s * t + -0.007370430505916944;
    s = s * t + 0.0821458865731029;
    s = s * t + -0.5992645293189447;
    s = s * t + 2.5501640398773007;
    s = s * t + -5.167712780049969;
    s = s * t + 3.141592653589793;
    vec c = t * -1.34352129509532e-07 + 4.300724172734847e-06;
    c = c * t + -0.00010463741681752138;
    c = c * t + 0.0019295741872812349;
    c = c * t + -0.025806891376592964;
    c = c * t + 0.235330630357995;
    c = c * t + -1.3352627688545549;
    c = c * t + 4.058712126416768;
    c = c * t + -4.934802200544679;
#endif
    c = c * t + R(1.0);
    s = s * y;
    *cosine = c * c - s * s;
    *sine = (s + s) * c;
}

/* The same for few turns, |y| <= SMALL_TURNS, by short series: errors below 1e-16. */
#define SMALL_TURNS (1.0 / 512)
INLINE void small_phasor(vec y, vec *cosine, vec *sine)
{
    vec x = y * R(6.283185307179586477), square = x * x;

    *cosine =
        R(1.0) + square * (R(-0.5) + square * (R(1.0) / R(24.0) - square * (R(1.0) / R(720.0))));
    *sine = x * (R(1.0) + square * (R(-1.0) / R(6.0) + square * (R(1.0) / R(120.0))));
}

INLINE vec nearest(vec x)
{
    return (x + ROUND_REAL) - ROUND_REAL;
}

/* Numbers too small to divide by become 1e-20, which changes no sinc. */
INLINE vec avoid_zero(vec x)
{
    integers tiny = (x < R(1e-20)) & (x > -R(1e-20));
    integers bits = (tiny & (integers)splat(R(1e-20))) | (~tiny & (integers)x);
    return (vec)bits;
}

/* sin(pi y), with a relative error of a few of its last bits. */
INLINE vec sine_of_half_turns(vec y)
{
    vec rounded = y + ROUND_REAL, r = y - (rounded - ROUND_REAL), t = r * r;
    integers odd = (integers)rounded << (int)(8 * sizeof(real) - 1);
#if GROVE_REAL_SINGLE
    vec s = t * 0.07765591227601387f + -0.5982904112834275f;
    s = s * t + 2.550077386528912f;
    s = s * t + -5.167710076668315f;
    s = s * t + 3.1415926400772034f;
#else
    vec s = t * -2.113362735205297e-05 + 0.0004659870158043378;
    s = s * t + -0.0073703643265304155;
    s = s * t + 0.08214587881631043;
    s = s * t + -0.599264528825224;
    s = s * t + 2.5501640398618677;
    s = s * t + -5.1677127800497855;
    s = s * t + 3.1415926535897927;
#endif
    return (vec)((integers)(s * r) ^ odd);
}

/* sin(pi x) and pi x, neither of them zero. Their ratio is the sinc, and ratios of products are
 * products of sincs. */
INLINE void sinc_parts(vec x, vec *sine, vec *angle)
{
    integers tiny = (x < R(1e-15)) & (x > -R(1e-15));
    vec y = (vec)((tiny & (integers)splat(R(1e-15))) | (~tiny & (integers)x));

    *sine = sine_of_half_turns(y);
    *angle = y * R(3.141592653589793238);
    KEEP(*sine);
    KEEP(*angle);
}

/* sin(pi x) / (pi x) */
INLINE vec sinc_turns(vec x)
{
    vec sine, angle;

    sinc_parts(x, &sine, &angle);
    return sine / angle;
}

/* (2^f - 1) / f, |f| <= 1/2 */
INLINE vec power_slope(vec f)
{
#if GROVE_REAL_SINGLE
    vec e = f * 0.0001546144469856913f + 0.0013400428177615838f;
    e = e * f + 0.009618056678524637f;
    e = e * f + 0.05550327226670302f;
    e = e * f + 0.24022650922288757f;
    e = e * f + 0.6931472067028326f;
#else
    vec e = f * 4.4558179083360645e-10 + 7.074194297288521e-09;
    e = e * f + 1.0178057087733941e-07;
    e = e * f + 1.3215432535912375e-06;
    e = e * f + 1.5252733841556773e-05;
    e = e * f + 0.00015403530463724353;
    e = e * f + 0.001333355814640647;
    e = e * f + 0.009618129107587256;
    e = e * f + 0.055504108664821625;
    e = e * f + 0.24022650695910158;
    e = e * f + 0.6931471805599453;
#endif
    return e;
}

/* exp(-x) = 2^(power >> MANTISSA) 2^f, |f| <= 1/2; x > 80, near the smallest number of single
 * precision, are `underflow` and count as 0, or the power would overflow. */
INLINE vec decay_parts(vec x, integers *power, integers *underflow)
{
    *underflow = x > R(80.0);
    vec y = (vec)((integers)x & ~*underflow) * -R(1.442695040888963407);
    vec rounded = y + ROUND_REAL;

    *power = ((integers)rounded - (integers)splat(ROUND_REAL)) << MANTISSA;
    return y - (rounded - ROUND_REAL);
}

/* exp(-x), x >= 0; 0 for x > 80. */
INLINE vec decay(vec x)
{
    integers power, underflow;
    vec f = decay_parts(x, &power, &underflow), e = power_slope(f) * f + R(1.0);

    return (vec)(((integers)e + power) & ~underflow);
}

/* exp(-x) - 1, x >= 0, with a relative error of a few of its last bits; -1 for x > 80. */
INLINE vec decay_less_one(vec x)
{
    integers power, underflow;
    vec f = decay_parts(x, &power, &underflow), e = power_slope(f) * f;
    vec scale = (vec)((integers)splat(1) + power), less;

    KEEP(e);
    less = scale * e + (scale - R(1.0));
    return (vec)(((integers)less & ~underflow) | ((integers)splat(-1) & underflow));
}

#if !GROVE_REAL_SINGLE
typedef uint64_t naturals __attribute__((vector_size(VECTOR_BYTES)));

/* log(u), u > 0 and not denormal, to the last bits: the mantissa m, from sqrt(1/2) to sqrt(2), by
 * the series of artanh((m - 1) / (m + 1)) with the coefficients of fdlibm (Sun, 1993). */
INLINE vec logarithm(vec u)
{
    const naturals lowest = (naturals)splat(0.70710678118654752440);
    naturals power = ((naturals)u - lowest + (1024ull << MANTISSA)) >> MANTISSA; /* and 1024 */
    vec m = (vec)((naturals)u - ((power - 1024) << MANTISSA));
    vec k = (vec)(power | 0x4330000000000000u) - (4503599627370496.0 + 1024);
    vec f = m - 1.0, s = f / (f + 2.0), z = s * s, square = 0.5 * f * f;
    vec r = z * 1.479819860511658591e-01 + 1.531383769920937332e-01;

    r = r * z + 1.818357216161805012e-01;
    r = r * z + 2.222219843214978396e-01;
    r = r * z + 2.857142874366239149e-01;
    r = r * z + 3.999999999940941908e-01;
    r = r * z + 6.666666666666735130e-01;
    r = r * z;
    return k * 6.93147180369123816490e-01 -
           ((square - (s * (square + r) + k * 1.90821492927058770002e-10)) - f);
}

#endif

/* Numbers 0, 2, 4 ... of a and then b, and numbers 1, 3, 5 ... */
INLINE void unzip(vec a, vec b, vec *even, vec *odd)
{
#if VECTOR_BYTES / 4 == 16 && GROVE_REAL_SINGLE
    *even =
        __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    *odd = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
#elif (VECTOR_BYTES / 4 == 8 && GROVE_REAL_SINGLE) || VECTOR_BYTES / 8 == 8
    *even = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
    *odd = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
#elif GROVE_REAL_SINGLE || VECTOR_BYTES / 8 == 4
    *even = __builtin_shufflevector(a, b, 0, 2, 4, 6);
    *odd = __builtin_shufflevector(a, b, 1, 3, 5, 7);
#else
    *even = __builtin_shufflevector(a, b, 0, 2);
    *odd = __builtin_shufflevector(a, b, 1, 3);
#endif
}

/* A pair of numbers for each lane, from the lane's own address: their first and their second ones.
 */
INLINE void load_pairs(const char *const at[LANES], int64_t offset, vec to[2])
{
#if GROVE_REAL_SINGLE
    typedef int64_t pairs __attribute__((vector_size(VECTOR_BYTES)));
    pairs half[2];
    int64_t pair[LANES];

#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++)
        memcpy(&pair[i], at[i] + offset, sizeof(pair[i]));
#if VECTOR_BYTES == 64
    half[0] = (pairs){pair[0], pair[1], pair[2], pair[3], pair[4], pair[5], pair[6], pair[7]};
    half[1] = (pairs){pair[8], pair[9], pair[10], pair[11], pair[12], pair[13], pair[14], pair[15]};
#elif VECTOR_BYTES == 32
    half[0] = (pairs){pair[0], pair[1], pair[2], pair[3]};
    half[1] = (pairs){pair[4], pair[5], pair[6], pair[7]};
#else
    half[0] = (pairs){pair[0], pair[1]};
    half[1] = (pairs){pair[2], pair[3]};
#endif
    unzip((vec)half[0], (vec)half[1], &to[0], &to[1]);
#else
    for (int i = 0; i < LANES; i++) {
        const double *from = (const double *)(const void *)(at[i] + offset);
        to[0][i] = from[0];
        to[1][i] = from[1];
    }
#endif
}

#endif
