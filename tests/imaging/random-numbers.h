/* Random numbers, and arrays of either precision, for tests of gridders. */
#ifndef GROVE_TESTS_RANDOM_NUMBERS_H
#define GROVE_TESTS_RANDOM_NUMBERS_H

#include <stdint.h>
#include <stdlib.h>

static uint64_t state = 1;

static inline double uniform(double low, double high)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(state >> 11) / 9007199254740992.0;
}

/* Number k of doubles or floats; `real` is the bytes of one. */
static inline double get(const void *at, int64_t k, size_t real)
{
    return real == sizeof(double) ? ((const double *)at)[k] : (double)((const float *)at)[k];
}

static inline void put(void *at, int64_t k, double x, size_t real)
{
    if (real == sizeof(double))
        ((double *)at)[k] = x;
    else
        ((float *)at)[k] = (float)x;
}

/* From low to 1. */
static inline void *random_numbers(int64_t count, double low, size_t real)
{
    void *at = malloc((size_t)count * real);

    for (int64_t k = 0; k < count; k++)
        put(at, k, uniform(low, 1), real);
    return at;
}

#endif
