/* Products of two sincs, for smearing in time and over channels. */
#ifndef GROVE_KERNELS_PREDICT_SINCS_H
#define GROVE_KERNELS_PREDICT_SINCS_H

#include "../simd/vector.h"

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

static vec far_sincs(vec x, vec y)
{
    vec sine, angle, other, over;

    sinc_parts(x, &sine, &angle);
    sinc_parts(y, &other, &over);
    return (sine * other) / (angle * over); /* one division for both */
}

/* Both sincs' product, of |x|, |y| <= 1/2 mostly: then without roundings and divisions. What a lane
 * gets depends on that lane alone. */
INLINE vec sincs(vec x, vec y)
{
    vec t = x * x, u = y * y, near = sinc_near(t) * sinc_near(u);
    integers far = (t > R(0.25)) | (u > R(0.25));

    if (!any_of(far))
        return near;
    return (vec)(((integers)far_sincs(x, y) & far) | ((integers)near & ~far));
}

#endif
