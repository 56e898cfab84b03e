/* The machine of nonlinear least squares where it is not free or has nothing to go by: bounds,
 * priors, no data, NaN; what must not matter, units; and what its errors are worth. */
#include "least-squares-testing.h"
#include "tests/common/suite.h"

/* ---- bounds and priors ---- */

/* Of all 27 choices of which unknowns lie at which bound, the best one that keeps inside. */
static void best_inside(const problem *p, const double *lower, const double *upper, double *best)
{
    double lowest = INFINITY;

    for (int choice = 0; choice < 27; choice++) {
        double columns[3 * 40], right[40], x[3], at[3], inverse[3], chi2;
        int kind[3] = {choice % 3, choice / 3 % 3, choice / 9}, n = 0;
        bool inside = true;

        for (int64_t i = 0; i < p->data; i++) {
            right[i] = p->d[i];
            for (int j = 0; j < 3; j++)
                if (kind[j])
                    right[i] -= p->matrix[i * 3 + j] * (kind[j] == 1 ? lower[j] : upper[j]);
        }
        for (int j = 0; j < 3; j++)
            n += !kind[j];
        for (int64_t i = 0; i < p->data; i++)
            for (int j = 0, k = 0; j < 3; j++)
                if (!kind[j])
                    columns[i * n + k++] = p->matrix[i * 3 + j];
        chi2 = solve_qr(p->data, n, columns, right, p->w, at, inverse);
        for (int j = 0, k = 0; j < 3; j++) {
            x[j] = kind[j] == 1 ? lower[j] : kind[j] == 2 ? upper[j] : at[k++];
            inside = inside && x[j] >= lower[j] && x[j] <= upper[j];
        }
        if (inside && chi2 < lowest) {
            lowest = chi2;
            memcpy(best, x, sizeof(x));
        }
    }
}

TEST(bounds)
{
    int active = 0;

    for (int trial = 0; trial < 60; trial++) {
        double lower[3], upper[3], start[3], truth[3];
        grove_least_squares_settings s = {.max_iterations = 50,
                                          .tolerance = 1e-12,
                                          .damping = trial % 2 ? 1e-3 : 0,
                                          .lower = lower,
                                          .upper = upper};
        grove_least_squares *fit;
        problem p;

        state = (uint64_t)trial;
        random_problem(&p, 3, 40, matrix_now, d_now, w_now, 0.5);
        for (int64_t i = 0; i < p.data; i++) /* correlated */
            matrix_now[i * 3 + 1] += 2 * matrix_now[i * 3];
        for (int j = 0; j < 3; j++) {
            lower[j] = 2 * normal();
            upper[j] = lower[j] + uniform();
            start[j] = 3 * normal();
        }
        best_inside(&p, lower, upper, truth);
        fit = fit_problem(&p, &s, start);
        ck_assert_int_eq(outcome_of(fit), GROVE_LEAST_SQUARES_CONVERGED);
        for (int j = 0; j < 3; j++) {
            ck_assert_double_eq_tol(grove_least_squares_best(fit)[j], truth[j], 1e-10);
            active += truth[j] == lower[j] || truth[j] == upper[j];
        }
        grove_least_squares_free(fit);
    }
    ck_assert_int_gt(active, 60);
}

/* The gradient points inward at the bound, the step of both outward: then the other goes alone. */
TEST(step_outward)
{
    static const double matrix[4] = {1, 0.9, 0, 0.43588989435406736}, lower[2] = {0, -INFINITY};
    static const double start[2] = {0, 0};
    double d[2] = {0.1, (1 - 0.09) / 0.43588989435406736}; /* gradient (0.1, 1) */
    problem p = {.n = 2, .data = 2, .model = linear, .matrix = matrix, .d = d};
    grove_least_squares_settings s = {.max_iterations = 20, .tolerance = 1e-9, .lower = lower};
    grove_least_squares *fit = fit_problem(&p, &s, start);

    ck_assert_int_eq(outcome_of(fit), GROVE_LEAST_SQUARES_CONVERGED);
    ck_assert_int_eq(grove_least_squares_iterations(fit), 1);
    ck_assert(grove_least_squares_best(fit)[0] == 0);
    ck_assert_double_eq_tol(grove_least_squares_best(fit)[1], 1, 1e-12);
    grove_least_squares_free(fit);
}

/* With x0 <= 0.5 the minimum is at (0.5, 0.25). */
LOOP_TEST(bent_bound, 0, 2)
{
    static const double upper[2] = {0.5, INFINITY}, lower[2] = {-3, -INFINITY}, zeros[2] = {0};
    static const double starts[2][2] = {{-1.2, 1}, {2, -5}};
    problem p = {.n = 2, .data = 2, .model = rosenbrock, .d = zeros};
    grove_least_squares_settings s = {
        .max_iterations = 100, .tolerance = 1e-10, .damping = 1e-3, .lower = lower, .upper = upper};
    grove_least_squares *fit = fit_problem(&p, &s, starts[_i]);

    ck_assert_int_eq(outcome_of(fit), GROVE_LEAST_SQUARES_CONVERGED);
    ck_assert(grove_least_squares_best(fit)[0] == 0.5);
    ck_assert_double_eq_tol(grove_least_squares_best(fit)[1], 0.25, 1e-12);
    ck_assert_double_eq_tol(grove_least_squares_chi2(fit), 0.25, 1e-12);
    grove_least_squares_free(fit);
}

/* A prior is one more equation. */
LOOP_TEST(priors, 0, 2)
{
    double mean[6], inverse_sigma[6], truth[6], inverse[6], start[6] = {0}, chi2;
    grove_least_squares_settings s = {.max_iterations = 20,
                                      .tolerance = 1e-12,
                                      .damping = _i ? 1e-3 : 0,
                                      .mean = mean,
                                      .inverse_sigma = inverse_sigma};
    grove_least_squares *fit;
    problem p;
    int64_t rows;

    state = 11;
    /* Without priors not enough: 4 equations of 6 unknowns. */
    random_problem(&p, 6, 4, matrix_now, d_now, w_now, 0.1);
    rows = p.data;
    for (int j = 0; j < 6; j++) {
        mean[j] = normal();
        inverse_sigma[j] = j == 2 ? 0 : 0.5 + uniform();
        if (j == 2)
            continue;
        memset(matrix_now + rows * 6, 0, 6 * sizeof(double));
        matrix_now[rows * 6 + j] = 1;
        d_now[rows] = mean[j];
        w_now[rows++] = inverse_sigma[j] * inverse_sigma[j];
    }
    chi2 = solve_qr(rows, 6, matrix_now, d_now, w_now, truth, inverse);
    fit = fit_problem(&p, &s, start);
    ck_assert_int_eq(outcome_of(fit), GROVE_LEAST_SQUARES_CONVERGED);
    ck_assert_double_eq_tol(grove_least_squares_chi2(fit) / chi2, 1, 1e-12);
    for (int j = 0; j < 6; j++) {
        double error = sqrt(inverse[j] * chi2 / (double)(rows - 6));

        ck_assert_double_eq_tol(grove_least_squares_best(fit)[j], truth[j], 1e-12);
        ck_assert_double_eq_tol(grove_least_squares_errors(fit, NULL)[j] / error, 1, 1e-12);
    }
    grove_least_squares_free(fit);
}

/* ---- units ---- */

static grove_least_squares *fit_decay(double data, double weight, double unit, double damping)
{
    static const double truth[2] = {2, 0.4};
    double d[12], w[12], start[2] = {data, unit};
    problem p = {.n = 2, .data = 12, .model = decay, .at = decay_at, .d = d, .w = w};
    grove_least_squares_settings s = {.max_iterations = 50, .tolerance = 1e-9, .damping = damping};

    state = 5;
    decay_unit = 1;
    decay(&p, truth, d, slope);
    for (int i = 0; i < 12; i++) {
        d[i] = (d[i] + 0.02 * normal()) * data;
        w[i] = weight * (0.5 + uniform());
    }
    decay_unit = unit;
    return fit_problem(&p, &s, start);
}

/* Units of data, weights and unknowns change nothing: with powers of four not one bit. */
LOOP_TEST(units, 0, 16)
{
    static const double factors[][3] = {
        {0x1p66, 1, 1},       {0x1p-66, 0x1p66, 1}, {1, 0x1p-66, 1},     {1, 1, 0x1p30},
        {0x1p66, 1, 0x1p-30}, {1e20, 1e-20, 1e9},   {1e-20, 1e20, 1e-9}, {1e-20, 1e-20, 1}};
    const double *k = factors[_i / 2], damping = _i % 2 ? 1e-3 : 0;
    grove_least_squares *plain = fit_decay(1, 1, 1, damping);
    grove_least_squares *scaled = fit_decay(k[0], k[1], k[2], damping);
    double tolerance = _i / 2 < 5 ? 0 : 1e-9;

    ck_assert_int_eq(outcome_of(plain), GROVE_LEAST_SQUARES_CONVERGED);
    ck_assert_int_eq(outcome_of(scaled), GROVE_LEAST_SQUARES_CONVERGED);
    ck_assert_int_eq(grove_least_squares_iterations(plain), grove_least_squares_iterations(scaled));
    for (int j = 0; j < 2; j++) {
        double unit = j ? k[2] : k[0];
        double x = grove_least_squares_best(plain)[j], y = grove_least_squares_best(scaled)[j];
        double e = grove_least_squares_errors(plain, NULL)[j],
               f = grove_least_squares_errors(scaled, NULL)[j];

        ck_assert_double_le(fabs(y / unit / x - 1), tolerance);
        ck_assert_double_le(fabs(f / unit / e - 1), tolerance);
    }
    grove_least_squares_free(plain);
    grove_least_squares_free(scaled);
}

/* ---- what is not a number, and nothing ---- */

static int spoilt; /* which of the sums, from the second point on: 1 chi2, 2 gradient, 3 matrix */

static grove_least_squares_sums evaluate_spoilt(const problem *p, grove_least_squares *fit,
                                                double with)
{
    grove_least_squares_sums sums = evaluate(p, fit);

    if (spoilt == 1)
        sums.chi2 = with;
    if (spoilt == 2)
        grove_least_squares_gradient(fit)[p->n - 1] = with;
    if (spoilt == 3)
        grove_least_squares_matrix(fit)[p->n * p->n - 1] = with;
    return sums;
}

static void logarithm(const problem *p, const double *x, double *values, double *slopes)
{
    (void)p;
    values[0] = log(x[0]);
    slopes[0] = 1 / x[0];
}

/* The step from 10 goes to -6, where the model is NaN. */
TEST(nan_at_trial)
{
    static const double start = 10;
    double d = log(2);
    problem p = {.n = 1, .data = 1, .model = logarithm, .d = &d};
    grove_least_squares_settings s = {.max_iterations = 50, .tolerance = 1e-12};
    grove_least_squares *fit = fit_problem(&p, &s, &start);

    ck_assert_int_eq(outcome_of(fit), GROVE_LEAST_SQUARES_CONVERGED);
    ck_assert_double_eq_tol(grove_least_squares_best(fit)[0], 2, 1e-12);
    grove_least_squares_free(fit);
}

LOOP_TEST(spoilt_sums, 0, 6)
{
    static const double zeros[2] = {0}, start[2] = {-1.2, 1}, with[] = {NAN, INFINITY};
    problem p = {.n = 2, .data = 2, .model = rosenbrock, .d = zeros};
    grove_least_squares_settings s = {.max_iterations = 100, .tolerance = 1e-10, .damping = 1e-3};
    grove_least_squares *fit = grove_least_squares_new(2, &s, start);
    grove_least_squares_sums sums;
    grove_least_squares_outcome outcome = GROVE_LEAST_SQUARES_RUNNING;

    /* Two trial points are spoilt: the best point stays, and the fit goes on. */
    for (int step = 0; outcome == GROVE_LEAST_SQUARES_RUNNING; step++) {
        spoilt = step == 1 || step == 2 ? _i / 2 + 1 : 0;
        sums = evaluate_spoilt(&p, fit, with[_i % 2]);
        outcome = grove_least_squares_step(fit, &sums);
        if (step == 1 || step == 2) {
            ck_assert_int_eq(outcome, GROVE_LEAST_SQUARES_RUNNING);
            ck_assert(!memcmp(grove_least_squares_best(fit), start, sizeof(start)));
            ck_assert(isfinite(grove_least_squares_point(fit)[0]));
        }
    }
    ck_assert_int_eq(outcome, GROVE_LEAST_SQUARES_CONVERGED);
    ck_assert_double_eq_tol(grove_least_squares_best(fit)[1], 1, 1e-10);
    grove_least_squares_free(fit);

    /* At the start it is the end. */
    fit = grove_least_squares_new(2, &s, start);
    spoilt = _i / 2 + 1;
    sums = evaluate_spoilt(&p, fit, with[_i % 2]);
    ck_assert_int_eq(grove_least_squares_step(fit, &sums), GROVE_LEAST_SQUARES_NOT_FINITE);
    ck_assert(!memcmp(grove_least_squares_best(fit), start, sizeof(start)));
    ck_assert(isnan(grove_least_squares_errors(fit, NULL)[0]));
    ck_assert_int_eq(grove_least_squares_rank(fit), 0);
    grove_least_squares_free(fit);
}

/* Zero derivatives are no success while data and model differ. */
TEST(nothing)
{
    static const double start[3] = {1, 2, 3};
    grove_least_squares_settings s = {.max_iterations = 10, .tolerance = 1e-6};
    grove_least_squares *fit = grove_least_squares_new(3, &s, start);
    grove_least_squares_sums sums = {.chi2 = 1, .data = 10};

    ck_assert_int_eq(grove_least_squares_step(fit, &sums), GROVE_LEAST_SQUARES_SINGULAR);
    ck_assert(!memcmp(grove_least_squares_best(fit), start, sizeof(start)));
    ck_assert(grove_least_squares_has_no_data(fit, 1));
    grove_least_squares_free(fit);

    fit = grove_least_squares_new(3, &s, start);
    sums.chi2 = 0;
    ck_assert_int_eq(grove_least_squares_step(fit, &sums), GROVE_LEAST_SQUARES_CONVERGED);
    grove_least_squares_free(fit);

    fit = grove_least_squares_new(3, &s, start);
    sums.data = 0;
    ck_assert_int_eq(grove_least_squares_step(fit, &sums), GROVE_LEAST_SQUARES_NO_DATA);
    ck_assert(!memcmp(grove_least_squares_best(fit), start, sizeof(start)));
    grove_least_squares_free(fit);

    fit = grove_least_squares_new(0, &s, NULL);
    sums.data = 10;
    ck_assert_int_eq(grove_least_squares_step(fit, &sums), GROVE_LEAST_SQUARES_NO_DATA);
    ck_assert_int_eq(grove_least_squares_rank(fit), 0);
    grove_least_squares_free(fit);
    grove_least_squares_free(NULL);
}

/* An unknown on which nothing depends keeps its start to the bit, whatever its prior says. */
LOOP_TEST(unknown_without_data, 0, 2)
{
    double mean[4] = {0}, inverse_sigma[4] = {0, 0, 1, 0}, start[4] = {0, 0, 0.1, 0};
    double reduced[3 * 20], truth[3], inverse[3], chi2;
    grove_least_squares_settings s = {.max_iterations = 20,
                                      .tolerance = 1e-12,
                                      .damping = _i ? 1e-3 : 0,
                                      .mean = mean,
                                      .inverse_sigma = inverse_sigma};
    grove_least_squares *fit;
    problem p;

    state = 2;
    random_problem(&p, 4, 20, matrix_now, d_now, w_now, 0.1);
    for (int i = 0; i < 20; i++) {
        matrix_now[i * 4 + 2] = 0;
        for (int j = 0; j < 3; j++)
            reduced[i * 3 + j] = matrix_now[i * 4 + j + j / 2];
    }
    chi2 = solve_qr(20, 3, reduced, d_now, w_now, truth, inverse);
    fit = fit_problem(&p, &s, start);
    ck_assert_int_eq(outcome_of(fit), GROVE_LEAST_SQUARES_CONVERGED);
    for (int j = 0; j < 4; j++) {
        double error = j == 2 ? NAN : sqrt(inverse[j - j / 3] * chi2 / 17);

        ck_assert_int_eq(grove_least_squares_has_no_data(fit, j), j == 2);
        if (j == 2) {
            ck_assert(grove_least_squares_best(fit)[j] == 0.1);
            ck_assert(isnan(grove_least_squares_errors(fit, NULL)[j]));
            continue;
        }
        ck_assert_double_eq_tol(grove_least_squares_best(fit)[j], truth[j - j / 3], 1e-12);
        ck_assert_double_eq_tol(grove_least_squares_errors(fit, NULL)[j] / error, 1, 1e-11);
    }
    ck_assert_int_eq(grove_least_squares_rank(fit), 3);
    grove_least_squares_free(fit);
}

static void lie(const problem *p, const double *x, double *values, double *slopes)
{
    (void)p;
    values[0] = x[0];
    slopes[0] = -1;
}

/* Nothing lowers chi-squared, or there is no time. */
TEST(other_ends)
{
    static const double one = 1, zeros[2] = {0}, start[2] = {-1.2, 1};
    problem p = {.n = 1, .data = 1, .model = lie, .d = &one};
    grove_least_squares_settings s = {.max_iterations = 1000, .tolerance = 1e-6};
    grove_least_squares *fit = fit_problem(&p, &s, zeros);

    ck_assert_int_eq(outcome_of(fit), GROVE_LEAST_SQUARES_STALLED);
    ck_assert(grove_least_squares_best(fit)[0] == 0);
    ck_assert_double_eq(grove_least_squares_chi2(fit), 1);
    ck_assert_int_lt(grove_least_squares_iterations(fit), 20);
    grove_least_squares_free(fit);

    p = (problem){.n = 2, .data = 2, .model = rosenbrock, .d = zeros};
    s.max_iterations = 3;
    s.damping = 1e-3;
    fit = fit_problem(&p, &s, start);
    ck_assert_int_eq(outcome_of(fit), GROVE_LEAST_SQUARES_LIMIT);
    ck_assert_int_eq(grove_least_squares_iterations(fit), 3);
    ck_assert_double_lt(grove_least_squares_chi2(fit), 24.2);
    grove_least_squares_free(fit);
}

/* Two decays that are hard to tell apart, x0 exp(-x1 t) + x2 exp(-x3 t), from numbers of single or
 * of double precision. */
static bool in_single;

static double given(double x)
{
    return in_single ? (double)(float)x : x;
}

static void two_decays(const problem *p, const double *x, double *values, double *slopes)
{
    for (int64_t i = 0; i < p->data; i++, slopes += 4) {
        double t = given(p->at[i]);

        slopes[0] = given(exp(-given(x[1]) * t));
        slopes[2] = given(exp(-given(x[3]) * t));
        slopes[1] = given(-t * given(x[0]) * slopes[0]);
        slopes[3] = given(-t * given(x[2]) * slopes[2]);
        values[i] = given(given(given(x[0]) * slopes[0]) + given(given(x[2]) * slopes[2]));
    }
}

/* Whatever single precision hides: a fit that says that it has converged is within 3 % of the
 * errors of the minimum, and many do. */
LOOP_TEST(told_in_single, 0, 4)
{
    double at[MOST_DATA], distance = _i % 2 ? 0.1 : 0.3, noise = _i / 2 ? 1e-3 : 1e-2;
    double truth[4] = {1, 0.5, 1, 0.5 + distance}, start[4] = {1.1, 0.45, 0.9, 0.55 + distance};
    problem p = {.n = 4, .data = MOST_DATA, .model = two_decays, .at = at, .d = d_now};
    int converged = 0;

    state = 3;
    for (int64_t i = 0; i < p.data; i++)
        at[i] = 8.0 * (double)i / MOST_DATA;
    for (int trial = 0; trial < 8; trial++) {
        grove_least_squares_settings s = {
            .max_iterations = 100, .tolerance = 1e-6, .damping = 1e-3, .rounding = FLT_EPSILON};
        in_single = false;
        two_decays(&p, truth, d_now, slope);
        for (int64_t i = 0; i < p.data; i++)
            d_now[i] += noise * normal();
        in_single = true;
        grove_least_squares *fit = fit_problem(&p, &s, start);
        in_single = false;
        s.rounding = 0;
        s.tolerance = 1e-9;
        grove_least_squares *exact = fit_problem(&p, &s, grove_least_squares_best(fit));
        const double *errors = grove_least_squares_errors(exact, NULL);
        bool told = outcome_of(fit) == GROVE_LEAST_SQUARES_CONVERGED;
        for (int j = 0; j < 4 && told; j++)
            ck_assert_double_le(
                fabs(grove_least_squares_best(fit)[j] - grove_least_squares_best(exact)[j]),
                0.03 * errors[j]);
        converged += told;
        grove_least_squares_free(fit);
        grove_least_squares_free(exact);
    }
    ck_assert_int_ge(converged, _i % 2 ? 0 : 8);
}

static void linear_in_single(const problem *p, const double *x, double *values, double *slopes)
{
    linear(p, x, values, slopes);
    for (int64_t i = 0; i < p->data; i++)
        values[i] = (double)(float)values[i];
}

/* The same of steps that converge slowly: of unknowns that do much the same in other blocks or
 * turns. Chi-squared then falls by less than its rounding long before the end. */
LOOP_TEST(told_of_slow_steps, 0, 2)
{
    enum { N = 6, DATA = 600 };
    static const int32_t each[N] = {0, 1, 2, 3, 4, 5}, turns[N] = {0, 0, 0, 1, 1, 1};
    double start[N] = {0}, truth[N], inverse[N];
    int converged = 0;

    for (int trial = 0; trial < 5; trial++) {
        grove_least_squares_settings s = {.max_iterations = 2000,
                                          .tolerance = 1e-6,
                                          .rounding = FLT_EPSILON,
                                          .blocks = !_i,
                                          .block_of = _i ? turns : each,
                                          .subset_of = _i ? turns : NULL};
        problem p;

        state = (uint64_t)trial;
        random_problem(&p, N, DATA, matrix_now, d_now, w_now, 0.5);
        p.model = linear_in_single;
        for (int64_t i = 0; i < DATA; i++)
            for (int j = 1; j < N; j++)
                matrix_now[i * N + j] = matrix_now[i * N + j % 3] + 0.2 * matrix_now[i * N + j];
        double chi2 = solve_qr(DATA, N, matrix_now, d_now, w_now, truth, inverse);
        grove_least_squares *fit = fit_problem(&p, &s, start);
        bool told = outcome_of(fit) == GROVE_LEAST_SQUARES_CONVERGED;
        for (int j = 0; j < N && told; j++)
            ck_assert_double_le(fabs(grove_least_squares_best(fit)[j] - truth[j]),
                                0.03 * sqrt(inverse[j] * chi2 / (DATA - N)));
        converged += told;
        grove_least_squares_free(fit);
    }
    ck_assert_int_eq(converged, 5);
}

TEST(words)
{
    static const char *const expected[] = {"running",         "converged", "stalled",
                                           "not enough data", "singular",  "iteration limit",
                                           "not finite"};

    for (int k = GROVE_LEAST_SQUARES_RUNNING; k <= GROVE_LEAST_SQUARES_NOT_FINITE; k++)
        ck_assert_str_eq(grove_least_squares_words((grove_least_squares_outcome)k), expected[k]);
}

/* ---- errors ---- */

/* Over 200 realisations, (x - truth) / error is standard normal. */
LOOP_TEST(pulls, 0, 2)
{
    enum { REALISATIONS = 200, DATA = 72 };
    static const double truths[2][4] = {{2, 0.4}, {-0.5, 1, 1, -0.5}};
    double clean[DATA], start[4] = {1, 0.6}, sum[4] = {0}, squares[4] = {0};
    grove_least_squares_settings s = {.max_iterations = 50, .tolerance = 1e-6, .damping = 1e-3};
    problem p;

    state = 17;
    decay_unit = 1;
    random_problem(&p, 4, DATA, matrix_now, d_now, w_now, 0);
    if (!_i) {
        p.n = 2;
        p.model = decay;
        p.at = decay_at;
    }
    p.model(&p, truths[_i], clean, slope);
    for (int k = 0; k < REALISATIONS; k++) {
        grove_least_squares *fit;

        for (int i = 0; i < DATA; i++)
            d_now[i] = clean[i] + 0.03 / sqrt(w_now[i]) * normal();
        fit = fit_problem(&p, &s, start);
        ck_assert_int_eq(outcome_of(fit), GROVE_LEAST_SQUARES_CONVERGED);
        for (int64_t j = 0; j < p.n; j++) {
            double pull = (grove_least_squares_best(fit)[j] - truths[_i][j]) /
                          grove_least_squares_errors(fit, NULL)[j];

            sum[j] += pull / REALISATIONS;
            squares[j] += pull * pull / REALISATIONS;
        }
        grove_least_squares_free(fit);
    }
    for (int64_t j = 0; j < p.n; j++) {
        ck_assert_double_le(fabs(sum[j]), 3 / sqrt(REALISATIONS));
        ck_assert_double_le(fabs(squares[j] - 1), 3 * sqrt(2.0 / REALISATIONS));
    }
}

SUITE(60, NULL, NULL)
