/* Alternating steps of nonlinear least squares against solutions of all unknowns together: also
 * where two turns nearly do the same. */
#include "least-squares-testing.h"
#include "tests/common/suite.h"

enum { N = 10, DATA = 60 };

/* Linear problems; columns of the second and third turn are nearly those of the first. */
static const double differences[] = {1, 0.3, 0.1, 0.03};
enum { DIFFERENCES = sizeof(differences) / sizeof(differences[0]) };

static const int32_t turns_of[2][N] = {{0, 0, 0, 0, 0, 1, 1, 1, 1, 1},
                                       {0, 0, 0, 1, 1, 1, 1, 2, 2, 2}};

static void make_alike(problem *p, double difference)
{
    random_problem(p, N, DATA, matrix_now, d_now, w_now, 0.1);
    for (int64_t i = 0; i < DATA; i++)
        for (int j = N / 2; j < N; j++)
            matrix_now[i * N + j] =
                matrix_now[i * N + j - N / 2] + difference * matrix_now[i * N + j];
}

LOOP_TEST(linear_problems, 0, 2 * DIFFERENCES)
{
    const int32_t *turns = turns_of[_i % 2];
    double start[N] = {0}, truth[N], inverse[N];
    grove_least_squares_settings s = {
        .max_iterations = 500, .tolerance = 1e-6, .block_of = turns, .subset_of = turns};
    problem p;

    state = 41 + (uint64_t)_i;
    make_alike(&p, differences[_i / 2]);
    double chi2 = solve_qr(DATA, N, matrix_now, d_now, w_now, truth, inverse);
    grove_least_squares *fit = fit_problem(&p, &s, start);
    ck_assert_int_eq(outcome_of(fit), GROVE_LEAST_SQUARES_CONVERGED);
    ck_assert_msg(fabs(grove_least_squares_chi2(fit) / chi2 - 1) < 1e-6, "%g: %.9g, not %.9g",
                  differences[_i / 2], grove_least_squares_chi2(fit), chi2);
    for (int j = 0; j < N; j++) {
        double error = sqrt(inverse[j] * chi2 / (DATA - N));
        ck_assert_double_eq_tol(grove_least_squares_best(fit)[j], truth[j], 0.02 * error);
    }
    ck_assert_int_le(grove_least_squares_iterations(fit), 150);
    grove_least_squares_free(fit);
}

/* Bounds, of which some hold in the end: the joint fit's solution. */
LOOP_TEST(bounded, 0, 8)
{
    const int32_t *turns = turns_of[_i % 2];
    double start[N] = {0}, lower[N], upper[N];
    grove_least_squares_settings s = {
        .max_iterations = 500, .tolerance = 1e-8, .lower = lower, .upper = upper};
    problem p;

    state = 71 + (uint64_t)_i;
    make_alike(&p, 0.5);
    for (int j = 0; j < N; j++) {
        lower[j] = j % 2 ? -0.4 : -INFINITY;
        upper[j] = j % 2 ? 0.4 : 1.1;
    }
    grove_least_squares *all = fit_problem(&p, &s, start);
    s.block_of = s.subset_of = turns;
    grove_least_squares *fit = fit_problem(&p, &s, start);
    ck_assert_int_eq(outcome_of(fit), GROVE_LEAST_SQUARES_CONVERGED);
    ck_assert_double_eq_tol(grove_least_squares_chi2(fit) / grove_least_squares_chi2(all), 1, 1e-9);
    for (int j = 0; j < N; j++)
        ck_assert_double_eq_tol(grove_least_squares_best(fit)[j], grove_least_squares_best(all)[j],
                                1e-4);
    grove_least_squares_free(all);
    grove_least_squares_free(fit);
}

/* A limit counts rounds; data that are no numbers end nothing well. */
TEST(limits)
{
    double start[N] = {0};
    grove_least_squares_settings s = {
        .max_iterations = 2, .tolerance = 1e-9, .block_of = turns_of[0], .subset_of = turns_of[0]};
    problem p;

    state = 5;
    make_alike(&p, 0.03);
    grove_least_squares *fit = fit_problem(&p, &s, start);
    ck_assert_int_eq(outcome_of(fit), GROVE_LEAST_SQUARES_LIMIT);
    ck_assert_int_eq(grove_least_squares_iterations(fit), 6);
    grove_least_squares_free(fit);
    d_now[3] = NAN;
    fit = fit_problem(&p, &s, start);
    ck_assert_int_eq(outcome_of(fit), GROVE_LEAST_SQUARES_NOT_FINITE);
    grove_least_squares_free(fit);
}

SUITE(60, NULL, NULL)
