/* Normal numbers in vectors. Operations for a complex number: two rounds of the hash (2 x 10 on
 * whole numbers), a logarithm (24), a square root, sine and cosine (30): about 75 on doubles. */
#define GROVE_REAL_SINGLE 0
#include "../simd/vector.h"
#include "noise_simd.h"

typedef naturals bits;

/* The last round of grove_random_bits. */
INLINE bits mix(bits x, bits word)
{
    x ^= word + 0x9e3779b97f4a7c15u + (x << 6) + (x >> 2);
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* As grove_random_uniform: 53 bits in two parts, each made a double through its bits. */
INLINE vec uniform(bits x)
{
    bits high = (x >> 32) | 0x4330000000000000u, low = (x >> 11 & 0x1fffff) | 0x4330000000000000u;
    vec number = ((vec)high - 4503599627370496.0) * 2097152.0 + ((vec)low - 4503599627370496.0);

    return (number + 0.5) * (1.0 / 9007199254740992.0);
}

INLINE vec root(vec x)
{
    vec y;

    for (int i = 0; i < LANES; i++)
        y[i] = sqrt(x[i]);
    return y;
}

/* Two independent normal numbers of each lane (Box-Muller). */
INLINE void normal(bits hash, int element, vec size, vec pair[2])
{
    bits word = (bits){0} + (uint64_t)(2 * element);
    vec u = uniform(mix(hash, word)), v = uniform(mix(hash, word + 1));
    vec r = size * root(-2.0 * logarithm(u)), cosine, sine;

    phasor(v - nearest(v), &cosine, &sine);
    pair[0] = r * cosine;
    pair[1] = r * sine;
}

INLINE void four(uint64_t hash, uint64_t channel, const double *size, vec pair[4][2])
{
    bits channels;
    vec sizes;

    memcpy(&sizes, size, sizeof(sizes));
    for (int i = 0; i < LANES; i++)
        channels[i] = channel + (uint64_t)i;
    bits start = mix((bits){0} + hash, channels);
    for (int e = 0; e < 4; e++)
        normal(start, e, sizes, pair[e]);
}

#define DEFINE_FILL(name, number)                                                                  \
    static void name(uint64_t hash, uint64_t channel, int64_t count, const double *size,           \
                     number *out, int64_t step)                                                    \
    {                                                                                              \
        for (int64_t done = 0; done < count; done += LANES) {                                      \
            int wanted = count - done < LANES ? (int)(count - done) : LANES;                       \
            vec pair[4][2];                                                                        \
            four(hash, channel + (uint64_t)done, size + done, pair);                               \
            for (int i = 0; i < wanted; i++)                                                       \
                for (int e = 0; e < 8; e++)                                                        \
                    out[(done + i) * step + e] = (number)pair[e / 2][e % 2][i];                    \
        }                                                                                          \
    }
DEFINE_FILL(fill_single, float)
DEFINE_FILL(fill_double, double)

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)

const grove_noise_kernels JOIN(grove_noise_, GROVE_ISA_SUFFIX) = {fill_single, fill_double};
