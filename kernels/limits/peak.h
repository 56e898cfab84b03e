/* The processor's peak rate: multiply-adds that do not wait for each other. */
#ifndef GROVE_KERNELS_PEAK_H
#define GROVE_KERNELS_PEAK_H

#include "../simd/vector.h"

/* Computes `rounds` rounds of twelve vectors of multiply-adds; returns the number of
 * multiply-adds. */
static int64_t peak_multiply_adds(int64_t rounds)
{
    vec m = splat(R(0.5)), one = splat(1);
    vec a = splat(1), b = splat(2), c = splat(3), d = splat(4), e = splat(5), f = splat(6);
    vec g = splat(7), h = splat(8), i = splat(9), j = splat(10), k = splat(11), l = splat(12);

    for (int64_t n = 0; n < rounds; n++) {
        a = a * m + one;
        b = b * m + one;
        c = c * m + one;
        d = d * m + one;
        e = e * m + one;
        f = f * m + one;
        g = g * m + one;
        h = h * m + one;
        i = i * m + one;
        j = j * m + one;
        k = k * m + one;
        l = l * m + one;
        KEEP(a);
    }
    vec sum = ((a + b) + (c + d)) + ((e + f) + (g + h)) + ((i + j) + (k + l));
    return 12 * LANES * rounds + (sum[0] < 0);
}

#endif
