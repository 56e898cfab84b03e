/* The machine of nonlinear least squares: against QR in long double, certified fits, closed forms,
 * and what must not happen. */
#include "nodes/least_squares.h"

#include <check.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DATA = 2000, MOST_UNKNOWNS = 160 };

/* A model with n unknowns of `data` numbers: v [data], slope [data][n]. */
typedef struct problem problem;
struct problem {
    int64_t n, data;
    void (*model)(const problem *p, const double *x, double *v, double *slope);
    const double *at, *d, *w; /* where the model is taken, data and weights (NULL: 1) */
    const double *matrix;     /* of a linear model */
    double chi2_offset; /* added to chi-squared in place of cancellation; then by its change */
};

static uint64_t state;

static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    double radius = sqrt(-2 * log(uniform()));

    return radius * cos(6.283185307179586 * uniform());
}

/* ---- a caller ---- */

static double v[MOST_DATA], slope[MOST_DATA * MOST_UNKNOWNS];

/* Evaluates the model at the point; sums chi-squared, gradient and matrix. */
static grove_least_squares_sums evaluate(const problem *p, grove_least_squares *fit)
{
    grove_least_squares_sums sums = {.data = p->data};
    double *gradient = grove_least_squares_gradient(fit), *matrix = grove_least_squares_matrix(fit);

    p->model(p, grove_least_squares_point(fit), v, slope);
    for (int64_t i = 0; i < p->data; i++) {
        double w = p->w ? p->w[i] : 1, residual = p->d[i] - v[i];

        sums.chi2 += w * residual * residual;
        sums.power += w * p->d[i] * p->d[i];
        for (int64_t j = 0; j < p->n; j++) {
            gradient[j] += w * slope[i * p->n + j] * residual;
            for (int64_t k = 0; k <= j; k++)
                matrix[j * p->n + k] += w * slope[i * p->n + j] * slope[i * p->n + k];
        }
    }
    return sums;
}

/* Fits until the end. */
static grove_least_squares *
fit_problem(const problem *p, const grove_least_squares_settings *settings, const double *start)
{
    grove_least_squares *fit = grove_least_squares_new(p->n, settings, start);
    grove_least_squares_outcome outcome;

    ck_assert_ptr_nonnull(fit);
    do {
        grove_least_squares_sums sums = evaluate(p, fit);

        outcome = grove_least_squares_step(fit, &sums);
        for (int64_t j = 0; j < p->n && settings->lower; j++)
            ck_assert_double_ge(grove_least_squares_point(fit)[j], settings->lower[j]);
        for (int64_t j = 0; j < p->n && settings->upper; j++)
            ck_assert_double_le(grove_least_squares_point(fit)[j], settings->upper[j]);
    } while (outcome == GROVE_LEAST_SQUARES_RUNNING);
    return fit;
}

static grove_least_squares_outcome outcome_of(grove_least_squares *fit)
{
    return grove_least_squares_step(fit, &(grove_least_squares_sums){0});
}

/* ---- linear problems ---- */

static void linear(const problem *p, const double *x, double *values, double *slopes)
{
    memcpy(slopes, p->matrix, (size_t)(p->data * p->n) * sizeof(double));
    for (int64_t i = 0; i < p->data; i++) {
        values[i] = 0;
        for (int64_t j = 0; j < p->n; j++)
            values[i] += p->matrix[i * p->n + j] * x[j];
    }
}

/* The independent truth: Householder's QR in long double of `rows` equations with full rank, rows
 * >= n. x [n]; inverse [n] the diagonal of (A^T A)^-1; returns the sum of squares that is left. */
static double solve_qr(int64_t rows, int64_t n, const double *matrix, const double *right,
                       const double *w, double *x, double *inverse)
{
    long double *a = malloc((size_t)(rows * (n + 1)) * sizeof(*a)), left = 0;
    long double *u = calloc((size_t)(n * n), sizeof(*u));

    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j <= n; j++)
            a[i * (n + 1) + j] = sqrtl(w ? w[i] : 1) * (j < n ? matrix[i * n + j] : right[i]);
    for (int64_t k = 0; k < n; k++) {
        long double norm = 0, pivot = a[k * (n + 1) + k], length;

        for (int64_t i = k; i < rows; i++)
            norm += a[i * (n + 1) + k] * a[i * (n + 1) + k];
        norm = pivot > 0 ? -sqrtl(norm) : sqrtl(norm);
        length = norm * norm - norm * pivot;
        a[k * (n + 1) + k] -= norm;
        for (int64_t j = k + 1; j <= n; j++) {
            long double sum = 0;

            for (int64_t i = k; i < rows; i++)
                sum += a[i * (n + 1) + k] * a[i * (n + 1) + j];
            for (int64_t i = k; i < rows; i++)
                a[i * (n + 1) + j] -= sum / length * a[i * (n + 1) + k];
        }
        u[k * n + k] = 1 / norm; /* becomes R^-1 */
        for (int64_t i = 0; i < k; i++) {
            long double sum = 0;

            for (int64_t j = i; j < k; j++)
                sum += u[i * n + j] * a[j * (n + 1) + k];
            u[i * n + k] = -sum / norm;
        }
    }
    for (int64_t j = 0; j < n; j++) {
        long double sum = 0, square = 0;

        for (int64_t k = j; k < n; k++) {
            sum += u[j * n + k] * a[k * (n + 1) + n];
            square += u[j * n + k] * u[j * n + k];
        }
        x[j] = (double)sum;
        inverse[j] = (double)square;
    }
    for (int64_t i = n; i < rows; i++)
        left += a[i * (n + 1) + n] * a[i * (n + 1) + n];
    free(a);
    free(u);
    return (double)left;
}

/* Random equations with a solution about 1, noise, and weights. */
static void random_problem(problem *p, int64_t n, int64_t data, double *matrix, double *d,
                           double *w, double noise)
{
    *p = (problem){.n = n, .data = data, .model = linear, .matrix = matrix, .d = d, .w = w};
    for (int64_t i = 0; i < data; i++) {
        w[i] = 0.1 + uniform();
        d[i] = noise * normal();
        for (int64_t j = 0; j < n; j++) {
            matrix[i * n + j] = normal();
            d[i] += matrix[i * n + j] * (j % 3 ? 1.0 : -0.5);
        }
    }
}

static double matrix_now[MOST_DATA * MOST_UNKNOWNS], d_now[MOST_DATA], w_now[MOST_DATA];

/* Undamped one step is enough; damped the end is the same. Both sides of where LAPACK begins. */
START_TEST(linear_fit)
{
    static const int sizes[] = {1, 2, 3, 5, 8, 20, 63, 64, 150};
    int64_t n = sizes[_i / 2];
    double truth[MOST_UNKNOWNS], inverse[MOST_UNKNOWNS], start[MOST_UNKNOWNS] = {0}, chi2;
    grove_least_squares_settings s = {
        .max_iterations = 50, .tolerance = 1e-10, .damping = _i % 2 ? 1e-3 : 0};
    grove_least_squares *fit;
    problem p;

    state = (uint64_t)_i;
    random_problem(&p, n, 3 * n + 20, matrix_now, d_now, w_now, 0.1);
    chi2 = solve_qr(p.data, n, matrix_now, d_now, w_now, truth, inverse);
    fit = fit_problem(&p, &s, start);
    ck_assert_int_eq(outcome_of(fit), GROVE_LEAST_SQUARES_CONVERGED);
    ck_assert_int_le(grove_least_squares_iterations(fit), _i % 2 ? 6 : 1);
    ck_assert_double_eq_tol(grove_least_squares_chi2(fit) / chi2, 1, 1e-12);
    ck_assert_int_eq(grove_least_squares_rank(fit), n);
    for (int64_t j = 0; j < n; j++) {
        double error = sqrt(inverse[j] * chi2 / (double)(p.data - n));

        ck_assert_double_eq_tol(grove_least_squares_best(fit)[j], truth[j], 1e-12);
        ck_assert_double_eq_tol(grove_least_squares_errors(fit)[j] / error, 1, 1e-11);
    }
    grove_least_squares_free(fit);
}
END_TEST

/* ---- NIST's certified fits ---- */

static void misra1a(const problem *p, const double *x, double *values, double *slopes)
{
    for (int64_t i = 0; i < p->data; i++) {
        double e = exp(-x[1] * p->at[i]);

        values[i] = x[0] * (1 - e);
        slopes[i * 2] = 1 - e;
        slopes[i * 2 + 1] = x[0] * p->at[i] * e;
    }
}

static const double misra_at[14] = {77.6,  114.9, 141.1, 190.8, 239.9, 289.0, 332.8,
                                    378.4, 434.8, 477.3, 536.8, 593.1, 689.1, 760.0};
static const double misra_d[14] = {10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02,
                                   44.82, 50.76, 55.05, 61.01, 66.40, 75.47, 81.78};

/* NIST StRD, nonlinear regression, Misra1a: parameters, their standard deviations, residual sum of
 * squares. */
START_TEST(certified)
{
    static const double starts[][2] = {{500, 1e-4}, {250, 5e-4}};
    problem p = {.n = 2, .data = 14, .model = misra1a, .at = misra_at, .d = misra_d};
    grove_least_squares_settings s = {.max_iterations = 100, .tolerance = 1e-10, .damping = 1e-3};
    grove_least_squares *fit = fit_problem(&p, &s, starts[_i]);
    const double *x = grove_least_squares_best(fit), *error = grove_least_squares_errors(fit);

    ck_assert_int_eq(outcome_of(fit), GROVE_LEAST_SQUARES_CONVERGED);
    ck_assert_double_eq_tol(x[0], 2.3894212918E+02, 1e-8);
    ck_assert_double_eq_tol(x[1], 5.5015643181E-04, 1e-14);
    ck_assert_double_eq_tol(grove_least_squares_chi2(fit), 1.2455138894E-01, 1e-11);
    ck_assert_double_eq_tol(error[0], 2.7070075241E+00, 1e-9);
    ck_assert_double_eq_tol(error[1], 7.2668688436E-06, 1e-15);
    ck_assert_int_eq(grove_least_squares_rank(fit), 2);
    grove_least_squares_free(fit);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("least squares");
    TCase *tests = tcase_create("fits");
    SRunner *runner = srunner_create(suite);
    int failed;

    suite_add_tcase(suite, tests);
    tcase_add_loop_test(tests, linear_fit, 0, 18);
    tcase_add_loop_test(tests, certified, 0, 2);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
