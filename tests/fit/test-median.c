/* Medians of numbers that are given again and again, against those of sorted numbers. */
#include "nodes/fit/median.h"

#include "base/memory.h"
#include "tests/common/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 100000, TURNS = 8 };

static double numbers[MOST], sorted[MOST];

enum { SOME = 7 }; /* given at once */

/* Returns in how many turns. */
static int find(int count, double guess, double *median)
{
    grove_median m;
    int turns = 0;
    bool known = false;

    grove_median_begin(&m, guess);
    for (; !known && turns < 2 * TURNS; turns++) {
        for (int i = 0; i < count; i += SOME)
            grove_median_add(&m, &numbers[i], count - i < SOME ? count - i : SOME);
        known = grove_median_end(&m, median);
    }
    ck_assert(known);
    return turns;
}

static double draw(void)
{
    return (double)rand() / RAND_MAX;
}

/* Of all sizes, all the same, of few values, far apart, denormal, zero. */
static double number(int kind, int i)
{
    switch (kind) {
    case 0:
        return -log(draw() + 1e-9);
    case 1:
        return 1.25;
    case 2:
        return i % 3;
    case 3:
        return pow(10, 600 * draw() - 300);
    case 4:
        return 5e-324 * (i % 5000);
    case 5:
        return 1 + 1e-16 * (i % 50);
    default:
        return 0;
    }
}

LOOP_TEST(exact, 0, 7)
{
    static const int counts[] = {1, 2, 3, 2047, 2048, 2049, 4097, MOST};

    for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
        int n = counts[k];
        double median;
        for (int i = 0; i < n; i++)
            numbers[i] = number(_i, i);
        memcpy(sorted, numbers, (size_t)n * sizeof(double));
        qsort(sorted, (size_t)n, sizeof(double), grove_compare_numbers);
        double truth = sorted[n / 2];
        const double guesses[] = {0, truth, 1.05 * truth, 3 * truth, 1e-9, 1e300, INFINITY};
        for (size_t g = 0; g < sizeof(guesses) / sizeof(guesses[0]); g++) {
            int turns = find(n, guesses[g], &median);
            ck_assert_msg(median == truth, "%d of kind %d from %g: %g, not %g", n, _i, guesses[g],
                          median, truth);
            ck_assert_int_le(turns, TURNS);
        }
    }
}

/* One that is hardly different from the last costs no more than two turns. */
TEST(by_guess)
{
    double median;

    for (int i = 0; i < MOST; i++)
        numbers[i] = number(0, i);
    find(MOST, 0, &median);
    ck_assert_int_eq(find(MOST, 1.02 * median, &median), 2);
    find(0, 0, &median);
    ck_assert(isnan(median));
}

SUITE(60, NULL, NULL)
