/* Problems of least squares, a caller of the machine, and an independent solution of linear ones.
 */
#ifndef GROVE_TESTS_LEAST_SQUARES_TESTING_H
#define GROVE_TESTS_LEAST_SQUARES_TESTING_H

#include "nodes/fit/least_squares.h"
#include "nodes/fit/least_squares_algebra.h"

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
};

static uint64_t state;

static inline double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

static inline double normal(void)
{
    double radius = sqrt(-2 * log(uniform()));

    return radius * cos(6.283185307179586 * uniform());
}

/* ---- a caller ---- */

static double v[MOST_DATA], slope[MOST_DATA * MOST_UNKNOWNS];

/* Evaluates the model at the point; sums chi-squared, gradient and matrix. */
static inline grove_least_squares_sums evaluate(const problem *p, grove_least_squares *fit)
{
    grove_least_squares_sums sums = {.data = p->data};
    double *gradient = grove_least_squares_gradient(fit), *matrix = grove_least_squares_matrix(fit);
    const grove_least_squares_layout *layout = grove_least_squares_layout_of(fit);

    p->model(p, grove_least_squares_point(fit), v, slope);
    for (int64_t i = 0; i < p->data; i++) {
        double w = p->w ? p->w[i] : 1, residual = p->d[i] - v[i];

        sums.chi2 += w * residual * residual;
        sums.power += w * p->d[i] * p->d[i];
        sums.values = sums.power; /* about */
        for (int64_t j = 0; j < p->n; j++) {
            gradient[j] += w * slope[i * p->n + j] * residual;
            for (int64_t k = 0; k <= j; k++)
                if (grove_least_squares_find(layout, j, k) >= 0)
                    matrix[grove_least_squares_find(layout, j, k)] +=
                        w * slope[i * p->n + j] * slope[i * p->n + k];
        }
    }
    return sums;
}

/* ---- a caller who solves ---- */

/* Sums chi-squared, gradient, diagonal and the caller's own matrix. */
static inline grove_least_squares_sums evaluate_own(const problem *p, grove_least_squares *fit,
                                                    double *matrix)
{
    grove_least_squares_sums sums = {.data = p->data};
    double *gradient = grove_least_squares_gradient(fit);

    p->model(p, grove_least_squares_point(fit), v, slope);
    memset(matrix, 0, (size_t)(p->n * p->n) * sizeof(*matrix));
    for (int64_t i = 0; i < p->data; i++) {
        double w = p->w ? p->w[i] : 1, residual = p->d[i] - v[i];

        sums.chi2 += w * residual * residual;
        sums.power += w * p->d[i] * p->d[i];
        sums.values = sums.power; /* about */
        for (int64_t j = 0; j < p->n; j++) {
            gradient[j] += w * slope[i * p->n + j] * residual;
            for (int64_t k = 0; k < p->n; k++)
                matrix[j * p->n + k] += w * slope[i * p->n + j] * slope[i * p->n + k];
        }
    }
    for (int64_t j = 0; j < p->n; j++)
        grove_least_squares_matrix(fit)[j] = matrix[j * p->n + j];
    return sums;
}

/* The step, and step^T N step. `right`: the gradient; those of what is left out are 0 in `use`. */
static inline double solve_own(int64_t n, const double *matrix, const double *right,
                               const bool *use, double damping, double *step)
{
    double *work = malloc((size_t)(n * n + 4 * n) * sizeof(*work)), *b = work + n * n + 2 * n;
    int32_t *order = malloc((size_t)n * sizeof(*order)), *of = malloc((size_t)n * sizeof(*of));
    grove_factor f = {.lower = work, .order = order, .work = work + n * n};
    double square = 0;

    for (int32_t j = 0; j < n; j++)
        if (use[j])
            of[f.size++] = j;
    for (int64_t j = 0; j < f.size; j++) {
        b[j] = right[of[j]] / sqrt(matrix[of[j] * (n + 1)]);
        for (int64_t k = 0; k <= j; k++)
            work[j * f.size + k] =
                j == k ? 1 + damping
                       : matrix[of[j] * n + of[k]] /
                             sqrt(matrix[of[j] * (n + 1)] * matrix[of[k] * (n + 1)]);
    }
    ck_assert(grove_factor_pivoted(&f, 64 * (double)f.size * DBL_EPSILON));
    grove_factor_solve(&f, b);
    memset(step, 0, (size_t)n * sizeof(*step));
    for (int64_t j = 0; j < f.size; j++)
        step[of[j]] = b[j] / sqrt(matrix[of[j] * (n + 1)]);
    for (int64_t j = 0; j < n; j++)
        for (int64_t k = 0; k < n; k++)
            square += step[j] * matrix[j * n + k] * step[k];
    free(f.null);
    free(work);
    free(order);
    free(of);
    return square;
}

/* The same problem with matrices that the machine does not see: it comes to the same end. */
static inline void check_remote(const problem *p, const grove_least_squares_settings *settings,
                                const double *start, grove_least_squares *truth)
{
    static double matrix[2][MOST_UNKNOWNS * MOST_UNKNOWNS], gradient[2][MOST_UNKNOWNS],
        step[MOST_UNKNOWNS];
    grove_least_squares_settings set = *settings;
    grove_least_squares_outcome outcome;
    bool use[2][MOST_UNKNOWNS];
    int best = 0;
    double power = 0;

    set.remote = true;
    grove_least_squares *fit = grove_least_squares_new(p->n, &set, start);
    for (int64_t i = 0; i < p->data; i++)
        power += (p->w ? p->w[i] : 1) * p->d[i] * p->d[i];
    do {
        grove_least_squares_sums sums = evaluate_own(p, fit, matrix[!best]);
        double epsilon = 2 * fmax(set.rounding, DBL_EPSILON);
        memcpy(gradient[!best], grove_least_squares_gradient(fit), (size_t)p->n * sizeof(double));
        for (int64_t j = 0; j < p->n; j++) {
            double diagonal = matrix[!best][j * (p->n + 1)];
            use[!best][j] =
                diagonal >= DBL_MIN &&
                !(set.size && diagonal * set.size[j] * set.size[j] <= epsilon * epsilon * power);
        }
        outcome = grove_least_squares_step(fit, &sums);
        best = grove_least_squares_is_best(fit) ? !best : best;
        while (outcome == GROVE_LEAST_SQUARES_SOLVING) {
            double square = solve_own(p->n, matrix[best], gradient[best], use[best],
                                      grove_least_squares_solving(fit), step);
            outcome = grove_least_squares_solved(fit, step, square);
        }
    } while (outcome == GROVE_LEAST_SQUARES_RUNNING);
    grove_least_squares_outcome other =
        grove_least_squares_step(truth, &(grove_least_squares_sums){0});
    ck_assert_int_eq(outcome, other);
    ck_assert(grove_least_squares_set_matrix(fit, matrix[best]));
    ck_assert_int_eq(grove_least_squares_rank(fit), grove_least_squares_rank(truth));
    double chi2 = grove_least_squares_chi2(truth);
    /* Where models round, steps that differ in their last bits lead to other roundings. */
    ck_assert_double_le(fabs(grove_least_squares_chi2(fit) - chi2),
                        1e-9 * chi2 + set.rounding * sqrt(chi2 * power) + 1e-14 * power + 1e-25);
    for (int64_t j = 0; j < p->n && chi2 > 1e-12 * power + 1e-20; j++) {
        double error = grove_least_squares_errors(truth, NULL)[j];
        if (error > 0) {
            ck_assert_double_eq_tol(grove_least_squares_errors(fit, NULL)[j] / error, 1,
                                    set.rounding > 0 ? 1e-2 : 1e-4);
            ck_assert_double_le(
                fabs(grove_least_squares_best(fit)[j] - grove_least_squares_best(truth)[j]),
                1e-3 * error);
        }
    }
    grove_least_squares_free(fit);
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
    ck_assert(!memcmp(grove_least_squares_point(fit), grove_least_squares_best(fit),
                      (size_t)p->n * sizeof(double)));
    if (!settings->blocks && !settings->block_of && !settings->subset_of && !settings->lower &&
        !settings->upper && !settings->mean)
        check_remote(p, settings, start, fit);
    return fit;
}

static inline grove_least_squares_outcome outcome_of(grove_least_squares *fit)
{
    return grove_least_squares_step(fit, &(grove_least_squares_sums){0});
}

/* ---- linear problems ---- */

static inline void linear(const problem *p, const double *x, double *values, double *slopes)
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
static inline double solve_qr(int64_t rows, int64_t n, const double *matrix, const double *right,
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
static inline void random_problem(problem *p, int64_t n, int64_t data, double *matrix, double *d,
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

/* ---- nonlinear problems ---- */

static inline void rosenbrock(const problem *p, const double *x, double *values, double *slopes)
{
    (void)p;
    values[0] = 10 * (x[1] - x[0] * x[0]);
    values[1] = 1 - x[0];
    slopes[0] = -20 * x[0];
    slopes[1] = 10;
    slopes[2] = -1;
    slopes[3] = 0;
}

static const double decay_at[12] = {0, 0.3, 0.6, 1, 1.5, 2, 2.7, 3.5, 4.2, 5, 6, 7};
static double decay_unit = 1;

/* x0 exp(-x1 t / unit) */
static inline void decay(const problem *p, const double *x, double *values, double *slopes)
{
    for (int64_t i = 0; i < p->data; i++) {
        double t = p->at[i % 12] / decay_unit;

        slopes[2 * i] = exp(-x[1] * t);
        slopes[2 * i + 1] = -t * x[0] * slopes[2 * i];
        values[i] = x[0] * slopes[2 * i];
    }
}

/* ---- gains of stations ---- */

enum { STATIONS_MAX = 40 };
static int stations;

/* V_pq = g_p conj(g_q), p < q; unknowns Re and Im of each station in turn. */
static inline void gains(const problem *p, const double *x, double *values, double *slopes)
{
    double *row = slopes;

    memset(slopes, 0, (size_t)(p->data * p->n) * sizeof(double));
    for (int a = 0; a < stations; a++)
        for (int b = a + 1; b < stations; b++, row += 2 * p->n, values += 2) {
            double ar = x[2 * a], ai = x[2 * a + 1], br = x[2 * b], bi = x[2 * b + 1];

            values[0] = ar * br + ai * bi;
            values[1] = ai * br - ar * bi;
            row[2 * a] = br;
            row[2 * a + 1] = bi;
            row[2 * b] = ar;
            row[2 * b + 1] = ai;
            row[p->n + 2 * a] = -bi;
            row[p->n + 2 * a + 1] = br;
            row[p->n + 2 * b] = ai;
            row[p->n + 2 * b + 1] = -ar;
        }
}

static double gains_truth[2 * STATIONS_MAX];

static inline problem gains_problem(int count, double noise)
{
    problem p = {.n = 2 * count, .data = count * (count - 1), .model = gains, .d = d_now};

    stations = count;
    for (int j = 0; j < 2 * count; j++)
        gains_truth[j] = (j % 2 ? 0 : 1) + 0.5 * normal();
    p.model(&p, gains_truth, d_now, slope);
    for (int64_t i = 0; i < p.data; i++)
        d_now[i] += noise * normal();
    return p;
}

/* Products of gains, which no gauge changes. */
static inline void check_products(const double *x, const double *truth, double tolerance)
{
    for (int a = 0; a < stations; a++)
        for (int b = 0; b < a; b++) {
            const double *g = x + 2 * a, *h = x + 2 * b, *e = truth + 2 * a, *f = truth + 2 * b;

            ck_assert_double_eq_tol(g[0] * h[0] + g[1] * h[1], e[0] * f[0] + e[1] * f[1],
                                    tolerance);
            ck_assert_double_eq_tol(g[1] * h[0] - g[0] * h[1], e[1] * f[0] - e[0] * f[1],
                                    tolerance);
        }
}

#endif
