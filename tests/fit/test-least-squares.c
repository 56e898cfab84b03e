/* The machine of nonlinear least squares: against QR in long double, certified fits, closed forms,
 * and what must not happen. */
#include "least-squares-testing.h"
#include "tests/common/suite.h"

/* ---- linear problems ---- */

/* Undamped one step is enough; damped the end is the same. Both sides of where LAPACK begins. */
LOOP_TEST(linear_fit, 0, 18)
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
        ck_assert_double_eq_tol(grove_least_squares_errors(fit, NULL)[j] / error, 1, 1e-11);
    }
    grove_least_squares_free(fit);
}

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
LOOP_TEST(certified, 0, 2)
{
    static const double starts[][2] = {{500, 1e-4}, {250, 5e-4}};
    problem p = {.n = 2, .data = 14, .model = misra1a, .at = misra_at, .d = misra_d};
    grove_least_squares_settings s = {.max_iterations = 100, .tolerance = 1e-10, .damping = 1e-3};
    grove_least_squares *fit = fit_problem(&p, &s, starts[_i]);
    const double *x = grove_least_squares_best(fit), *error = grove_least_squares_errors(fit, NULL);

    ck_assert_int_eq(outcome_of(fit), GROVE_LEAST_SQUARES_CONVERGED);
    ck_assert_double_eq_tol(x[0], 2.3894212918E+02, 1e-8);
    ck_assert_double_eq_tol(x[1], 5.5015643181E-04, 1e-14);
    ck_assert_double_eq_tol(grove_least_squares_chi2(fit), 1.2455138894E-01, 1e-11);
    ck_assert_double_eq_tol(error[0], 2.7070075241E+00, 1e-9);
    ck_assert_double_eq_tol(error[1], 7.2668688436E-06, 1e-15);
    ck_assert_int_eq(grove_least_squares_rank(fit), 2);
    grove_least_squares_free(fit);
}

/* ---- noise-free data ---- */

static const double exponential_at[12] = {0, 0.3, 0.6, 1, 1.5, 2, 2.7, 3.5, 4.2, 5, 6, 7};

/* x0 exp(-x1 t) + x2 exp(-x3 t) */
static void exponentials(const problem *p, const double *x, double *values, double *slopes)
{
    for (int64_t i = 0; i < p->data; i++) {
        double *row = slopes + i * 4, t = p->at[i];

        row[0] = exp(-x[1] * t);
        row[1] = -t * x[0] * row[0];
        row[2] = exp(-x[3] * t);
        row[3] = -t * x[2] * row[2];
        values[i] = x[0] * row[0] + x[2] * row[2];
    }
}

static const double exponential_truth[4] = {2, 0.3, -1.5, 1.7};

static problem exponential_problem(void)
{
    static double values[12];
    problem p = {.n = 4, .data = 12, .model = exponentials, .at = exponential_at, .d = values};

    p.model(&p, exponential_truth, values, slope);
    return p;
}

/* Chi-squared goes to rounding, which is no reason to stall. */
LOOP_TEST(noise_free, 0, 6)
{
    static const double start[4] = {1, 0.2, -1, 2.5}, tolerances[3] = {1e-12, 1e-6, 0};
    problem p = exponential_problem();
    grove_least_squares_settings s = {
        .max_iterations = 60, .tolerance = tolerances[_i / 2], .damping = _i % 2 ? 1e-3 : 0};
    grove_least_squares *fit = fit_problem(&p, &s, start);

    ck_assert_int_eq(outcome_of(fit), GROVE_LEAST_SQUARES_CONVERGED);
    for (int j = 0; j < 4; j++)
        ck_assert_double_eq_tol(grove_least_squares_best(fit)[j] / exponential_truth[j], 1, 2e-12);
    grove_least_squares_free(fit);
}

/* Values that are never exact, of unknowns that are zero. */
static void ripple(const problem *p, const double *x, double *values, double *slopes)
{
    for (int64_t i = 0; i < p->data; i++) {
        double t = p->at[i], scale = (1 + 0.3 * t) / 7;

        values[i] = scale * 7 * exp(x[0] * sqrt(1 + t) + x[1] * t) * (1 + sin(x[0]));
        slopes[2 * i] = values[i] * (sqrt(1 + t) + cos(x[0]) / (1 + sin(x[0])));
        slopes[2 * i + 1] = values[i] * t;
    }
}

static void decay_single(const problem *p, const double *x, double *values, double *slopes)
{
    decay(p, x, values, slopes);
    for (int64_t i = 0; i < p->data; i++)
        values[i] = (float)values[i];
}

/* Where the unknowns are zero only the power of the data tells what rounding is. */
LOOP_TEST(zero_solution, 0, 2)
{
    double d[12], w[12], start[2] = {0.3, -0.2};
    problem p = {.n = 2, .data = 12, .model = ripple, .at = decay_at, .d = d, .w = w};
    grove_least_squares_settings s = {
        .max_iterations = 50, .tolerance = _i % 2 ? 0 : 1e-12, .damping = 1e-3};
    grove_least_squares *fit;

    state = 41;
    for (int i = 0; i < 12; i++) {
        d[i] = 1 + 0.3 * decay_at[i];
        w[i] = 1 + uniform();
    }
    fit = fit_problem(&p, &s, start);
    ck_assert_int_eq(outcome_of(fit), GROVE_LEAST_SQUARES_CONVERGED);
    for (int j = 0; j < 2; j++)
        ck_assert_double_eq_tol(grove_least_squares_best(fit)[j], 0, 1e-15);
    ck_assert_int_le(grove_least_squares_iterations(fit), 4);
    grove_least_squares_free(fit);
}

/* A model in single precision: the last steps are lost in its rounding. That is no stall where it
 * is known or the tolerance above it; elsewhere it is, and soon. */
LOOP_TEST(single_precision, 0, 3)
{
    static const double truth[2] = {2, 0.4}, start[2] = {1, 1};
    double d[12];
    problem p = {.n = 2, .data = 12, .model = decay_single, .at = decay_at, .d = d};
    grove_least_squares_settings s = {.max_iterations = 50,
                                      .tolerance = _i == 1 ? 1e-4 : 1e-6,
                                      .rounding = _i == 0 ? FLT_EPSILON : 0,
                                      .damping = 1e-3};

    for (int trial = 0; trial < 50; trial++) {
        grove_least_squares *fit;

        state = (uint64_t)trial;
        decay(&p, truth, d, slope);
        for (int i = 0; i < 12; i++)
            d[i] += 0.05 * normal();
        fit = fit_problem(&p, &s, start);
        if (_i < 2)
            ck_assert_int_eq(outcome_of(fit), GROVE_LEAST_SQUARES_CONVERGED);
        ck_assert_int_lt(grove_least_squares_iterations(fit), 40);
        grove_least_squares_free(fit);
    }
}

/* A short step because of damping is not the end. */
TEST(much_damping)
{
    double truth[3], inverse[3], start[3] = {0};
    grove_least_squares_settings s = {.max_iterations = 50, .tolerance = 1e-4, .damping = 1e10};
    grove_least_squares *fit;
    problem p;

    state = 43;
    random_problem(&p, 3, 30, matrix_now, d_now, w_now, 0.1);
    solve_qr(30, 3, matrix_now, d_now, w_now, truth, inverse);
    fit = fit_problem(&p, &s, start);
    ck_assert_int_eq(outcome_of(fit), GROVE_LEAST_SQUARES_CONVERGED);
    for (int j = 0; j < 3; j++)
        ck_assert_double_eq_tol(grove_least_squares_best(fit)[j], truth[j], 1e-12);
    grove_least_squares_free(fit);
}

/* The matrix is singular at the solution, 0, where convergence is linear. */
static void powell(const problem *p, const double *x, double *values, double *slopes)
{
    double a = x[1] - 2 * x[2], b = x[0] - x[3];

    (void)p;
    values[0] = x[0] + 10 * x[1];
    values[1] = sqrt(5) * (x[2] - x[3]);
    values[2] = a * a;
    values[3] = sqrt(10) * b * b;
    memset(slopes, 0, 16 * sizeof(double));
    slopes[0] = 1;
    slopes[1] = 10;
    slopes[6] = sqrt(5);
    slopes[7] = -sqrt(5);
    slopes[9] = 2 * a;
    slopes[10] = -4 * a;
    slopes[12] = 2 * sqrt(10) * b;
    slopes[15] = -2 * sqrt(10) * b;
}

LOOP_TEST(classic, 0, 2)
{
    static const double start[2][4] = {{-1.2, 1}, {3, -1, 0, 1}}, zeros[4] = {0};
    problem p = {
        .n = _i ? 4 : 2, .data = _i ? 4 : 2, .model = _i ? powell : rosenbrock, .d = zeros};
    grove_least_squares_settings s = {.max_iterations = 200, .tolerance = 1e-8, .damping = 1e-3};
    grove_least_squares *fit = fit_problem(&p, &s, start[_i]);

    ck_assert_int_eq(outcome_of(fit), GROVE_LEAST_SQUARES_CONVERGED);
    for (int64_t j = 0; j < p.n; j++)
        ck_assert_double_eq_tol(grove_least_squares_best(fit)[j], _i ? 0 : 1, _i ? 1e-6 : 1e-12);
    ck_assert_int_lt(grove_least_squares_iterations(fit), _i ? 60 : 40);
    grove_least_squares_free(fit);
}

/* ---- gauges ---- */

/* The common phase of all stations is free: no slower for it, it does not wander, and it is named.
 */
LOOP_TEST(common_phase, 0, 6)
{
    static const int counts[] = {4, 8, 40};
    int count = counts[_i / 2];
    problem p;
    grove_least_squares_settings s = {
        .max_iterations = 30, .tolerance = 1e-12, .damping = _i % 2 ? 1e-3 : 0};
    grove_least_squares *fit;
    double start[2 * STATIONS_MAX], norm = 0, along = 0, real = 0, imag = 0;
    const double *x, *null;
    int64_t nulls;

    state = 7;
    p = gains_problem(count, 0);
    for (int j = 0; j < p.n; j++)
        start[j] = gains_truth[j] + 0.1 * normal();
    fit = fit_problem(&p, &s, start);
    x = grove_least_squares_best(fit);
    ck_assert_int_eq(outcome_of(fit), GROVE_LEAST_SQUARES_CONVERGED);
    ck_assert_int_le(grove_least_squares_iterations(fit), 8);
    check_products(x, gains_truth, 1e-12);
    ck_assert_int_eq(grove_least_squares_rank(fit), p.n - 1);
    null = grove_least_squares_null_space(fit, &nulls);
    ck_assert_int_eq(nulls, 1);
    /* It is i g in units of 1 / sqrt(N_jj), N_jj = sum over the others of |g|^2. */
    for (int a = 0; a < 2 * stations; a++) {
        double other = 0, direction = (a % 2 ? 1 : -1) * x[a ^ 1];

        for (int b = 0; b < 2 * stations; b++)
            other += b / 2 == a / 2 ? 0 : x[b] * x[b];
        norm += other * direction * direction;
        along += sqrt(other) * direction * null[a];
    }
    ck_assert_double_eq_tol(fabs(along) / sqrt(norm), 1, 1e-12);
    /* Of all phases the one nearest the start, in these units. */
    for (int a = 0; a < stations; a++) {
        double other = -x[2 * a] * x[2 * a] - x[2 * a + 1] * x[2 * a + 1];

        for (int b = 0; b < 2 * stations; b++)
            other += x[b] * x[b];
        real += other * (x[2 * a] * start[2 * a] + x[2 * a + 1] * start[2 * a + 1]);
        imag += other * (x[2 * a + 1] * start[2 * a] - x[2 * a] * start[2 * a + 1]);
    }
    ck_assert_double_le(fabs(atan2(imag, real)), 0.01);
    grove_least_squares_free(fit);
}

/* x0 + 1e3 x1 = 10 alone: in units in which both count alike, the step is the shortest one. */
LOOP_TEST(sum_of_two, 0, 2)
{
    static const double matrix[2] = {1, 1e3}, ten = 10, start[2] = {1, 0.002};
    problem p = {.n = 2, .data = 1, .model = linear, .matrix = matrix, .d = &ten};
    grove_least_squares_settings s = {
        .max_iterations = 30, .tolerance = 1e-12, .damping = _i ? 1e-3 : 0};
    grove_least_squares *fit = fit_problem(&p, &s, start);

    ck_assert_int_eq(outcome_of(fit), GROVE_LEAST_SQUARES_CONVERGED);
    ck_assert_double_eq_tol(grove_least_squares_best(fit)[0], 4.5, 1e-12);
    ck_assert_double_eq_tol(grove_least_squares_best(fit)[1], 5.5e-3, 1e-15);
    ck_assert_int_eq(grove_least_squares_rank(fit), 1);
    ck_assert(isnan(grove_least_squares_errors(fit, NULL)[0])); /* one datum, one unknown */
    grove_least_squares_free(fit);
}

/* Unknowns 2 i and 2 i + 1 only as their sum, i < pairs, each sum and all others determined: the
 * pseudo-inverse of a sum of two is a quarter of that of the sum, and the same for both. */
LOOP_TEST(defects, 0, 2)
{
    int64_t n = _i ? 90 : 7, pairs = _i ? 30 : 2, m = n - pairs, data = 2 * n;
    double *full = matrix_now, *reduced = malloc((size_t)(data * m) * sizeof(double));
    double truth[MOST_UNKNOWNS], inverse[MOST_UNKNOWNS], start[MOST_UNKNOWNS] = {0}, chi2;
    grove_least_squares_settings s = {.max_iterations = 30, .tolerance = 1e-10};
    grove_least_squares *fit;
    const double *null;
    int64_t nulls;
    problem p;

    state = 3;
    random_problem(&p, n, data, full, d_now, w_now, 0.1);
    for (int64_t i = 0; i < data; i++)
        for (int64_t k = 0; k < m; k++) {
            int64_t j = k < pairs ? 2 * k : k + pairs;

            reduced[i * m + k] = full[i * n + j];
            if (k < pairs)
                full[i * n + j + 1] = full[i * n + j];
        }
    chi2 = solve_qr(data, m, reduced, d_now, w_now, truth, inverse);
    fit = fit_problem(&p, &s, start);
    ck_assert_int_eq(outcome_of(fit), GROVE_LEAST_SQUARES_CONVERGED);
    ck_assert_int_eq(grove_least_squares_rank(fit), m);
    for (int64_t j = 0; j < n; j++) {
        int64_t k = j < 2 * pairs ? j / 2 : j - pairs;
        double share = j < 2 * pairs ? 0.5 : 1;
        double error = share * sqrt(inverse[k] * chi2 / (double)(data - m));

        ck_assert_double_eq_tol(grove_least_squares_best(fit)[j], share * truth[k], 1e-11);
        ck_assert_double_eq_tol(grove_least_squares_errors(fit, NULL)[j] / error, 1, 1e-10);
    }
    null = grove_least_squares_null_space(fit, &nulls);
    ck_assert_int_eq(nulls, pairs);
    for (int64_t a = 0; a < nulls; a++)
        for (int64_t b = 0; b <= a; b++) {
            double sum = 0;

            for (int64_t j = 0; j < n; j++)
                sum += null[a * n + j] * null[b * n + j];
            ck_assert_double_eq_tol(sum, a == b, 1e-13);
        }
    for (int64_t a = 0; a < nulls; a++)
        for (int64_t k = 0; k < pairs; k++)
            ck_assert_double_eq_tol(null[a * n + 2 * k], -null[a * n + 2 * k + 1], 1e-12);
    grove_least_squares_free(fit);
    free(reduced);
}

/* ---- blocks ---- */

/* By station: the same minimum as all at once. Pairs of other blocks have no place. */
LOOP_TEST(station_blocks, 0, 2)
{
    int32_t block_of[2 * STATIONS_MAX];
    double start[2 * STATIONS_MAX], truth[2 * STATIONS_MAX];
    grove_least_squares_settings s = {.max_iterations = 100, .tolerance = 1e-10, .damping = 1e-3};
    grove_least_squares_outcome outcome = GROVE_LEAST_SQUARES_RUNNING;
    grove_least_squares *fit;
    problem p;

    state = 23;
    p = gains_problem(_i ? 30 : 6, 0.05);
    for (int j = 0; j < p.n; j++) {
        block_of[j] = (j / 2 + 3) % stations;
        start[j] = j % 2 ? 0 : 1;
    }
    fit = fit_problem(&p, &s, start);
    ck_assert_int_eq(outcome_of(fit), GROVE_LEAST_SQUARES_CONVERGED);
    memcpy(truth, grove_least_squares_best(fit), (size_t)p.n * sizeof(double));
    grove_least_squares_free(fit);
    s.blocks = true;
    s.block_of = block_of;
    s.damping = 0;
    fit = grove_least_squares_new(p.n, &s, start);
    while (outcome == GROVE_LEAST_SQUARES_RUNNING) {
        grove_least_squares_sums sums = evaluate(&p, fit);

        for (int64_t j = 0; j < p.n; j++)
            for (int64_t k = 0; k < j; k++)
                ck_assert(j / 2 == k / 2 ||
                          grove_least_squares_find(grove_least_squares_layout_of(fit), j, k) < 0);
        outcome = grove_least_squares_step(fit, &sums);
    }
    ck_assert_int_eq(outcome, GROVE_LEAST_SQUARES_CONVERGED);
    ck_assert_int_le(grove_least_squares_iterations(fit), 30);
    check_products(grove_least_squares_best(fit), truth, 1e-8);
    grove_least_squares_free(fit);
}

/* Five unknowns that all do nearly the same, each a block: together they go five times too far. */
TEST(coupled_blocks)
{
    static const int32_t block_of[5] = {0, 1, 2, 3, 4};
    double truth[5], inverse[5], start[5] = {0}, chi2;
    grove_least_squares_settings s = {
        .max_iterations = 500, .tolerance = 1e-9, .blocks = true, .block_of = block_of};
    grove_least_squares *fit;
    problem p;

    state = 29;
    random_problem(&p, 5, 30, matrix_now, d_now, w_now, 0.1);
    for (int i = 0; i < 30; i++) {
        double common = 2 * normal();

        for (int j = 0; j < 5; j++)
            matrix_now[i * 5 + j] += common;
    }
    chi2 = solve_qr(30, 5, matrix_now, d_now, w_now, truth, inverse);
    fit = fit_problem(&p, &s, start);
    ck_assert_int_eq(outcome_of(fit), GROVE_LEAST_SQUARES_CONVERGED);
    ck_assert_double_eq_tol(grove_least_squares_chi2(fit) / chi2, 1, 1e-10);
    for (int j = 0; j < 5; j++)
        ck_assert_double_eq_tol(grove_least_squares_best(fit)[j], truth[j], 1e-5);
    grove_least_squares_free(fit);
}

/* ---- cancellation ---- */

/* Chi-squared with errors of 1e-6, as a difference of large sums has: its change decides. A prior
 * that the data contradict changes with it. */
LOOP_TEST(change, 0, 4)
{
    static const double truth[2] = {2, 0.4}, start[2] = {1, 1};
    static const double mean[2] = {0, 0.5}, inverse_sigma[2] = {0, 30};
    double d[12], best[12], trial[12];
    problem p = {.n = 2, .data = 12, .model = decay, .at = decay_at, .d = d};
    grove_least_squares_settings s = {
        .max_iterations = 50, .tolerance = _i % 2 ? 0 : 1e-12, .damping = 1e-3};
    grove_least_squares *fit, *plain;
    grove_least_squares_outcome outcome = GROVE_LEAST_SQUARES_RUNNING;

    s.mean = _i / 2 ? mean : NULL;
    s.inverse_sigma = _i / 2 ? inverse_sigma : NULL;
    state = 31;
    decay_unit = 1;
    p.model(&p, truth, d, slope);
    plain = fit_problem(&p, &s, start);
    fit = grove_least_squares_new(2, &s, start);
    while (outcome == GROVE_LEAST_SQUARES_RUNNING) {
        grove_least_squares_sums sums = evaluate(&p, fit);

        memcpy(trial, v, sizeof(trial));
        p.model(&p, grove_least_squares_best(fit), best, slope);
        sums.chi2 += 1e-6 * (uniform() - 0.5); /* below zero, too */
        sums.has_change = true;
        for (int i = 0; i < 12; i++)
            sums.change += (trial[i] - best[i]) * (trial[i] + best[i] - 2 * d[i]);
        outcome = grove_least_squares_step(fit, &sums);
    }
    ck_assert_int_eq(outcome, GROVE_LEAST_SQUARES_CONVERGED);
    for (int j = 0; j < 2; j++) {
        double x = grove_least_squares_best(fit)[j];

        ck_assert_double_eq_tol(x, _i / 2 ? grove_least_squares_best(plain)[j] : truth[j], 1e-11);
        if (_i / 2)
            ck_assert_double_ge(fabs(x - truth[j]), 1e-3);
    }
    grove_least_squares_free(fit);
    grove_least_squares_free(plain);
}

/* |z|^2, which is well known, and z itself, which is hardly so. */
static void valley(const problem *p, const double *x, double *values, double *slopes)
{
    static const double rows[3] = {1e4, 1, 1};

    values[0] = rows[0] * (x[0] * x[0] + x[1] * x[1]);
    values[1] = x[0];
    values[2] = x[1];
    memset(slopes, 0, (size_t)(p->data * p->n) * sizeof(*slopes));
    slopes[0] = rows[0] * 2 * x[0];
    slopes[1] = rows[0] * 2 * x[1];
    slopes[2] = 1;
    slopes[5] = 1;
}

/* Along a bent valley a factor turns at once, where plain steps have to creep. */
LOOP_TEST(turns, 0, 2)
{
    static const double truth[2] = {0.8, 0.6}, start[2] = {0.6, 0.8};
    static const bool pairs[2] = {true, false};
    double values[3];
    problem p = {.n = 2, .data = 3, .model = valley, .d = values};
    grove_least_squares_settings s = {
        .max_iterations = 100, .tolerance = 1e-10, .pairs = _i ? pairs : NULL};

    p.model(&p, truth, values, slope);
    grove_least_squares *fit = fit_problem(&p, &s, start);
    if (_i) {
        ck_assert_int_eq(outcome_of(fit), GROVE_LEAST_SQUARES_CONVERGED);
        ck_assert_int_le(grove_least_squares_iterations(fit), 8);
        ck_assert_double_eq_tol(grove_least_squares_best(fit)[0], truth[0], 1e-8);
        ck_assert_double_eq_tol(grove_least_squares_best(fit)[1], truth[1], 1e-8);
    } else {
        ck_assert_int_gt(grove_least_squares_iterations(fit), 16);
    }
    grove_least_squares_free(fit);
}

SUITE(60, NULL, NULL)
