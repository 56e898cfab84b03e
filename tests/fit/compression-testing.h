/* Random numbers and products of matrices for tests of compressed sums. */
#ifndef GROVE_TESTS_COMPRESSION_TESTING_H
#define GROVE_TESTS_COMPRESSION_TESTING_H

#include "nodes/fit/compression.h"

#include "cell.h"

#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef double _Complex number;
typedef long double _Complex exact;

enum { MAX_GROUPS = 3 };

static uint64_t counter;

static inline double draw(void)
{
    return 2 * grove_random_uniform(grove_random_bits(11, counter++, 0, 0, 0)) - 1;
}

static inline int draw_below(int n)
{
    return (int)(0.5 * (draw() + 1) * n) % n;
}

static inline number draw_number(void)
{
    double re = draw(), im = draw();

    return re + im * I;
}

/* L M R^H in long double. */
static inline void sandwich(const number *l, const number *m, const number *r, bool full,
                            exact v[4])
{
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            v[2 * i + j] = 0;
            for (int a = 0; a < 2; a++)
                for (int b = 0; b < 2; b++)
                    if (full || (a == i && b == j))
                        v[2 * i + j] +=
                            (exact)l[2 * i + a] * (exact)m[2 * a + b] * (exact)conj(r[2 * j + b]);
        }
}

#endif
