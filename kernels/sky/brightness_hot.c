/* Functions of vectors of doubles for spectra and rotations. */
#define GROVE_REAL_SINGLE 0
#include "../simd/vector.h"
#include "brightness_simd.h"

INLINE vec chosen(integers first, vec a, vec b)
{
    return (vec)((first & (integers)a) | (~first & (integers)b));
}

/* 2^x. The power of two is applied in halves; neither overflows. */
INLINE vec power(vec x)
{
    const integers bias = (integers)splat(ROUND_DOUBLE) - 1023;

    x = chosen(x > 1100.0, splat(1100.0), chosen(x < -1100.0, splat(-1100.0), x));
    vec whole = nearest(x), f = x - whole, half = 0.5 * whole + ROUND_DOUBLE;
    vec other = whole - (half - ROUND_DOUBLE) + ROUND_DOUBLE;
    vec scale = (vec)(((integers)half - bias) << MANTISSA);

    return (power_slope(f) * f + 1.0) * scale * (vec)(((integers)other - bias) << MANTISSA);
}

static void logarithms(double *x, int count)
{
    for (int k = 0; k < count; k += LANES) {
        unaligned *at = (unaligned *)(void *)(x + k);
        *at = logarithm(*at);
    }
}

static void powers(double *x, int count)
{
    for (int k = 0; k < count; k += LANES) {
        unaligned *at = (unaligned *)(void *)(x + k);
        *at = power(*at);
    }
}

static void turns(double *x, double *sine, int count)
{
    for (int k = 0; k < count; k += LANES) {
        unaligned *at = (unaligned *)(void *)(x + k);
        vec c, s;
        phasor(*at - nearest(*at), &c, &s);
        *at = c;
        *(unaligned *)(void *)(sine + k) = s;
    }
}

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)

const grove_brightness_kernels JOIN(grove_brightness_, GROVE_ISA_SUFFIX) = {logarithms, powers,
                                                                            turns};
