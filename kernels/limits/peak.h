/* The processor's limits: multiply-adds that do not wait for each other, sines and cosines, both in
 * turn, and numbers that are moved. Source of the mixture: Veenboer 2021, "Radio-astronomical
 * imaging on accelerators", 5.3.5. */
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

/* Sines and cosines of `rounds` times four vectors of phases in turns, which are reduced to half a
 * turn; returns the number of pairs. */
static int64_t peak_phases(int64_t rounds)
{
    vec y[4], sum[4], step = splat(R(0.37));

    for (int k = 0; k < 4; k++) {
        y[k] = splat(R(0.1) * (real)(k + 1));
        sum[k] = splat(0);
    }
    for (int64_t n = 0; n < rounds; n++)
        for (int k = 0; k < 4; k++) {
            vec c, s;
            y[k] += step;
            KEEP(y[k]);
            y[k] -= (y[k] + ROUND_REAL) - ROUND_REAL;
            phasor(y[k], &c, &s);
            sum[k] += c;
            KEEP(s);
        }
    vec all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    return 4 * LANES * rounds + (all[0] > R(1e30));
}

#define UNROLL_SUMS _Pragma("GCC unroll 12")

/* For `rounds` times 16 vectors of phases first their sines and cosines, then `each` multiply-adds
 * with each pair, as visibilities and pixels meet in a direct sum; returns the number of
 * multiply-adds. */
static int64_t peak_mixed(int64_t rounds, int each)
{
    enum { SUMS = 12, BATCH = 16 };
    vec y[BATCH], c[BATCH], s[BATCH], sum[SUMS], step = splat(R(0.37)), all = splat(0);

    for (int b = 0; b < BATCH; b++)
        y[b] = splat(R(0.05) * (real)b);
    UNROLL_SUMS for (int k = 0; k < SUMS; k++) sum[k] = splat((real)k);
    for (int64_t n = 0; n < rounds; n++) {
        for (int b = 0; b < BATCH; b++) {
            const vec at = y[b] + step;
            y[b] = at - ((at + ROUND_REAL) - ROUND_REAL);
            phasor(y[b], &c[b], &s[b]);
        }
        for (int b = 0; b < BATCH; b++) {
            const vec cosine = c[b], sine = s[b];
            int left = each;
            for (; left >= SUMS; left -= SUMS)
                UNROLL_SUMS for (int i = 0; i < SUMS; i++) sum[i] = sum[i] * cosine + sine;
            UNROLL_SUMS for (int i = 0; i < SUMS - 1; i++) if (i < left) sum[i] =
                sum[i] * cosine + sine;
        }
    }
    UNROLL_SUMS for (int k = 0; k < SUMS; k++) all += sum[k];
    return BATCH * LANES * rounds * each + (all[0] > R(1e30));
}

/* a = b + c / 2, `count` numbers each, a multiple of LANES, at aligned addresses; returns the bytes
 * that are read and written. */
static int64_t peak_stream(void *a, const void *b, const void *c, int64_t count)
{
    const vec half = splat(R(0.5));

    for (int64_t k = 0; k < count / LANES; k++)
        ((vec *)a)[k] = ((const vec *)b)[k] + half * ((const vec *)c)[k];
    return 3 * count * (int64_t)sizeof(real);
}

#endif
