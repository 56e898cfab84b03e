/* Cholesky factors of small and large matrices, of full rank and not; and that they can be stopped.
 */
#include "nodes/fit/least_squares_algebra.h"

#include "base/log.h"
#include "tests/common/suite.h"

#include <float.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define RHO 0.9

static const int64_t sizes[] = {5, 63, 64, 300, 1023, 1024, 1025, 1600};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]), TWINS = 3 };

/* RHO^|i - j|, of which the inverse is known; the last `twins` unknowns are the first ones again.
 */
static double element(int64_t n, int64_t twins, int64_t i, int64_t j)
{
    int64_t whole = n - twins;
    double distance = (double)llabs((i < whole ? i : i - whole) - (j < whole ? j : j - whole));

    return pow(RHO, distance);
}

static grove_factor make(int64_t n, int64_t twins)
{
    grove_factor factor = {.size = n};

    factor.lower = malloc((size_t)(n * n) * sizeof(double));
    factor.order = malloc((size_t)n * sizeof(int32_t));
    factor.work = malloc((size_t)n * 2 * sizeof(double));
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            factor.lower[i * n + j] = j > i ? NAN : element(n, twins, i, j);
    return factor;
}

static void drop(grove_factor *factor)
{
    free(factor->lower);
    free(factor->order);
    free(factor->work);
    free(factor->null);
}

static double smallest(int64_t n)
{
    return 64 * (double)n * DBL_EPSILON;
}

/* The matrix times some numbers, which are solved for. */
static void check_solution(const grove_factor *factor, int64_t twins)
{
    int64_t n = factor->size;
    double *x = malloc((size_t)n * sizeof(*x)), *b = malloc((size_t)n * sizeof(*b));

    for (int64_t i = 0; i < n; i++)
        x[i] = sin(0.7 * (double)(i < n - twins ? i : i - (n - twins)));
    for (int64_t i = 0; i < n; i++) {
        b[i] = 0;
        for (int64_t j = 0; j < n; j++)
            b[i] += element(n, twins, i, j) * x[j];
    }
    grove_factor_solve(factor, b);
    for (int64_t i = 0; i < n; i++)
        ck_assert_double_eq_tol(b[i], x[i], 1e-10);
    free(x);
    free(b);
}

LOOP_TEST(full, 0, 2 * SIZES)
{
    int64_t n = sizes[_i / 2];
    grove_factor factor = make(n, 0);
    double *inverse = malloc((size_t)n * sizeof(*inverse));

    ck_assert(_i % 2 ? grove_factor_pivoted(&factor, smallest(n))
                     : grove_factor_plain(&factor, smallest(n)));
    ck_assert_int_eq(factor.rank, n);
    check_solution(&factor, 0);
    grove_factor_variances(&factor, NULL, inverse);
    for (int64_t i = 0; i < n; i++)
        ck_assert_double_eq_tol(inverse[i] * (1 - RHO * RHO),
                                1 + (i > 0 && i < n - 1 ? RHO * RHO : 0), 1e-11);
    drop(&factor);
    free(inverse);
}

/* What two unknowns share is divided between them, and not told by the data otherwise. */
LOOP_TEST(deficient, 0, SIZES - 1)
{
    int64_t n = sizes[1 + _i], whole = n - TWINS;
    grove_factor factor = make(n, TWINS);

    ck_assert(!grove_factor_plain(&factor, smallest(n)));
    drop(&factor);
    factor = make(n, TWINS);
    ck_assert(grove_factor_pivoted(&factor, smallest(n)));
    ck_assert_int_eq(factor.rank, whole);
    check_solution(&factor, TWINS);
    for (int64_t k = 0; k < TWINS; k++) {
        double share = 0;
        for (int64_t i = 0; i < TWINS; i++) {
            const double *row = factor.null + k * n;
            ck_assert_double_eq_tol(row[i], -row[whole + i], 1e-12);
            share += 2 * row[i] * row[i];
        }
        ck_assert_double_eq_tol(share, 1, 1e-12);
    }
    drop(&factor);
}

static void stop(int number)
{
    (void)number;
    grove_interrupt_set(true);
}

/* A factorisation of many milliseconds that the user stops at the first. */
LOOP_TEST(stopped, 0, 2)
{
    const struct itimerval soon = {.it_value = {.tv_usec = 1000}};
    int64_t n = 2500;
    grove_factor factor = make(n, 0);

    signal(SIGALRM, stop);
    grove_interrupt_set(false);
    setitimer(ITIMER_REAL, &soon, NULL);
    ck_assert(!(_i ? grove_factor_pivoted(&factor, smallest(n))
                   : grove_factor_plain(&factor, smallest(n))));
    ck_assert(grove_interrupted());
    grove_interrupt_set(false);
    drop(&factor);
}

SUITE(120, NULL, NULL)
