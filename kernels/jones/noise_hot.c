/* Normal numbers in vectors. Operations for a complex number: ten rounds of Philox (2 products and
 * 6 others on whole numbers), a logarithm (24), a square root, sine and cosine (30): about 75 on
 * doubles. */
#define GROVE_REAL_SINGLE 0
#include "../simd/vector.h"
#include "noise_simd.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

typedef naturals bits;

static const uint64_t LOW = 0xffffffff;

/* The product of the low half of each lane and a number below 2^32. */
INLINE bits multiply(bits x, uint64_t y)
{
#if defined(__AVX512F__)
    return (bits)_mm512_mul_epu32((__m512i)x, _mm512_set1_epi64((long long)y));
#elif defined(__AVX2__)
    return (bits)_mm256_mul_epu32((__m256i)x, _mm256_set1_epi64x((long long)y));
#else
    return (x & LOW) * y;
#endif
}

/* As grove_random_block; only the low halves of x count. */
INLINE void block(uint64_t seed, bits x[4], bits result[2])
{
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};

    for (int round = 0; round < 10; round++) {
        const bits first = multiply(x[0], 0xd2511f53), second = multiply(x[2], 0xcd9e8d57);
        x[0] = (second >> 32) ^ x[1] ^ key[0];
        x[1] = second;
        x[2] = (first >> 32) ^ x[3] ^ key[1];
        x[3] = first;
        key[0] += 0x9e3779b9u;
        key[1] += 0xbb67ae85u;
    }
    result[0] = x[1] << 32 | (x[0] & LOW);
    result[1] = x[3] << 32 | (x[2] & LOW);
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
INLINE void normal(const grove_noise_row *row, bits last, vec size, vec pair[2])
{
    const bits zero = {0};
    bits x[4] = {zero + row->time, zero + row->stations[0], zero + row->stations[1], last}, word[2];

    block(row->seed, x, word);
    vec r = size * root(-2.0 * logarithm(uniform(word[0]))), v = uniform(word[1]), cosine, sine;
    phasor(v - nearest(v), &cosine, &sine);
    pair[0] = r * cosine;
    pair[1] = r * sine;
}

INLINE void four(const grove_noise_row *row, uint64_t channel, const double *size, vec pair[4][2])
{
    bits first;
    vec sizes;

    memcpy(&sizes, size, sizeof(sizes));
    for (int i = 0; i < LANES; i++)
        first[i] = 4 * (channel + (uint64_t)i);
    for (int e = 0; e < 4; e++)
        normal(row, first + (uint64_t)e, sizes, pair[e]);
}

#define DEFINE_FILL(name, number)                                                                  \
    static void name(const grove_noise_row *row, uint64_t channel, int64_t count,                  \
                     const double *size, number *out, int64_t step)                                \
    {                                                                                              \
        for (int64_t done = 0; done < count; done += LANES) {                                      \
            int used = count - done < LANES ? (int)(count - done) : LANES;                         \
            vec pair[4][2];                                                                        \
            four(row, channel + (uint64_t)done, size + done, pair);                                \
            for (int i = 0; i < used; i++)                                                         \
                for (int e = 0; e < 8; e++)                                                        \
                    out[(done + i) * step + e] = (number)pair[e / 2][e % 2][i];                    \
        }                                                                                          \
    }
DEFINE_FILL(fill_single, float)
DEFINE_FILL(fill_double, double)

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)

const grove_noise_kernels JOIN(grove_noise_, GROVE_ISA_SUFFIX) = {fill_single, fill_double};
