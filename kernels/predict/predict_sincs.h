/* Products of two sincs, for smearing in time and over channels. */
#ifndef GROVE_KERNELS_PREDICT_SINCS_H
#define GROVE_KERNELS_PREDICT_SINCS_H

#include "../simd/vector.h"

enum { MOST_SINCS = 32 }; /* at once */

/* Whether any bit is set. */
INLINE int any_of(integers x)
{
    typedef uint64_t words __attribute__((vector_size(VECTOR_BYTES)));
    words w = (words)x;
    uint64_t any = 0;

    for (int i = 0; i < VECTOR_BYTES / 8; i++)
        any |= w[i];
    return any != 0;
}

/* sin(pi x) / (pi x) from t = x^2 <= 1/4: the polynomial of sine_of_half_turns over pi. */
INLINE vec sinc_near(vec t)
{
#if GROVE_REAL_SINGLE
    vec s = t * 0.02471864459807641f + -0.19044175272048114f;
    s = s * t + 0.8117148426658763f;
    s = s * t + -1.6449332063351194f;
#else
    vec s = t * -6.7270425170826265e-06 + 0.00014832827396380304;
    s = s * t + -0.002346059829910968;
    s = s * t + 0.026147845336487233;
    s = s * t + -0.19075182396433998;
    s = s * t + 0.811742425278427;
    s = s * t + -1.6449340668481678;
#endif
    return s * t + R(1.0);
}

/* |x|, and never zero: 1e-15 more changes no sinc. */
INLINE vec size_of_turns(vec x)
{
    integers sign = (integers)splat(R(-0.0));

    return (vec)((integers)x & ~sign) + R(1e-15);
}

/* Of any arguments. */
INLINE vec far_sincs(vec x, vec y)
{
    vec a = size_of_turns(x), b = size_of_turns(y);
    vec sines = sine_of_half_turns(a) * sine_of_half_turns(b);

    return sines / (a * b * R(9.869604401089358)); /* one division for both */
}

/* Of |x|, |y| <= 1/2: without roundings and divisions. */
INLINE vec near_sincs(vec x, vec y)
{
    return sinc_near(x * x) * sinc_near(y * y);
}

/* The lanes with others. */
INLINE integers are_far(vec x, vec y)
{
    return (x * x > R(0.25)) | (y * y > R(0.25));
}

/* Both sincs' product of some arguments, in place of x. near: none is above 1/2, mostly so: then
 * without roundings and divisions. What a lane gets depends on that lane alone. */
INLINE void sincs_of(vec *x, const vec *y, int count, int near)
{
    int far[MOST_SINCS], some = 0;
    vec kept[MOST_SINCS];

    for (int i = 0; i < count && near; i++)
        x[i] = near_sincs(x[i], y[i]);
    for (int i = 0; i < count && !near; i++) {
        kept[some] = x[i];
        far[some] = i;
        some += any_of(are_far(x[i], y[i]));
        x[i] = near_sincs(x[i], y[i]);
    }
    for (int k = 0; k < some; k++) {
        int i = far[k];
        integers mask = are_far(kept[k], y[i]);
        x[i] = (vec)(((integers)far_sincs(kept[k], y[i]) & mask) | ((integers)x[i] & ~mask));
    }
}

#endif
