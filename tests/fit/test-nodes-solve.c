/* solve: parms of every kind are found again from noise-free data; flags, weights and baselines
 * that are left out; intervals that differ; the same bits for any tiles and threads; faults. */
#include "solve-world.h"

#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

SOLVE_WORLD_FIXTURE

/* ---- noise-free ---- */

#define VARIED " + 0 * obs.freq / 1Hz + 0 * obs.time / 1s"

static const struct {
    const char *parms, *truth;
} kinds[] = {
    {"G[p] = parm(\"G\", jones=diagonal, time=4min)",
     "T[p] = draw(obs, shape=diagonal, times=2, around=1).value"},
    {"G[p] = parm(\"G\", jones=scalar, time=4min, freq=4MHz)",
     "T[p] = draw(obs, times=2, channels=2, around=1).value"},
    {"G[p] = parm(\"G\", jones=full, freq=6MHz)",
     "T[p] = draw(obs, shape=matrix, channels=3, around=1).value"},
    {"G[p] = parm(\"G\", jones=phase, time=4min)",
     "a = draw(obs, times=2, complex=false, spread=0.7).value\n"
     "b = draw(obs, times=2, complex=false, spread=0.7, seed=2).value\n"
     "T[p] = diagonal(exp(1i * a[p]), exp(1i * b[p]))"},
    {"G[p] = parm(\"G\", jones=amplitude, time=4min)",
     "a = draw(obs, times=2, complex=false, around=1).value\n"
     "b = draw(obs, times=2, complex=false, around=1, seed=2).value\n"
     "T[p] = diagonal(a[p], b[p])"},
    {"G[p] = parm(\"G\", jones=rotation, time=4min)",
     "a = draw(obs, times=2, complex=false, spread=0.3).value\nT[p] = rotation(1rad * a[p])"},
    {"G[p] = parm(\"G\", jones=leakage, time=12min)",
     "a = draw(obs, spread=0.1).value\nb = draw(obs, spread=0.1, seed=2).value\n"
     "T[p] = matrix(1, a[p], b[p], 1)"},
    {"G[p] = parm(\"G\", jones=delay, time=4min)",
     "a = draw(obs, times=2, complex=false, spread=0.4).value\n"
     "b = draw(obs, times=2, complex=false, spread=0.4, seed=2).value\n"
     "T[p] = diagonal(exp(2i * pi * a[p] * obs.freq * 1ns), exp(2i * pi * b[p] * obs.freq * 1ns))"},
    {"G[p] = parm(\"G\", jones=tec, time=4min)",
     "a = draw(obs, times=2, complex=false, spread=0.006).value\n"
     "T[p] = exp(-8.44797245e9i * a[p] * 1Hz / obs.freq)"},
    /* terms of different intervals, and parms of the array and with polynomials */
    {"A[p] = parm(\"A\", jones=phase, time=2min)\nB[p] = parm(\"B\", jones=amplitude, freq=4MHz)\n"
     "G[p] = A[p] * B[p]",
     "a = draw(obs, times=1, complex=false, spread=0.7).value\n"
     "b = draw(obs, channels=2, complex=false, around=1, seed=3).value\n"
     "T[p] = diagonal(b[p] * exp(1i * a[p]), b[p] * exp(1i * a[p]))"},
    {"G[p] = parm(\"G\", jones=diagonal, degree=[1, 1], time=8min)",
     "a = draw(obs, times=4, spread=0.1).value\n"
     "x = (obs.freq - 155MHz) / 6MHz\n"
     "T[p] = diagonal(1 + a[p] + 0.3 * a[p] * x, 1 - a[p])"},
    {"c = parm(\"c\", init=1, complex=true)\nG[p] = parm(\"G\", jones=phase, time=4min) * c",
     "a = draw(obs, times=2, complex=false, spread=0.7).value\n"
     "T[p] = 1.3 * diagonal(exp(1i * a[p]), exp(1i * a[p]))"},
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* Compressed or not, with all data or some, what was found makes the same visibilities as the
 * truth, and where the phase that is common to all stations is not known, differs by that alone. */
LOOP_TEST(found_again, 0, 4 * KINDS)
{
    bool compress = _i % 2;
    const char *spoilt = _i / 2 / KINDS ? ", share=0.3, channel=3, weights=unequal" : "";
    int kind = _i / 2 % KINDS;
    solve_world_pass(
        &w,
        suite_text(
            "%s\n%s\nholes = spoil(obs%s)\n"
            "V[p,q] = G[p] * M[p,q] * G[q]^H\nD[p,q] = T[p] * M[p,q] * T[q]^H\n"
            "fit = solve(V, D * holes.value, tolerance=1e-13, max_iterations=200, compress=%s)\n"
            "g[p] = G[p]" VARIED "\nt[p] = T[p]" VARIED "\n"
            "k0 = keep(g)\nk1 = keep(t, number=1)\nk2 = keep(V, number=2)\nk3 = keep(D, "
            "number=3)\n",
            kinds[kind].parms, kinds[kind].truth, spoilt, compress ? "true" : "false"));
    ck_assert_double_lt(solve_world_distance(2, 3), 1e-8);
    solve_world_align(0, 1, -1);
    ck_assert_double_lt(solve_world_distance(0, 1), 1e-9);
}

/* 5 % of outliers: the robust fit finds the truth, the plain one does not. */
LOOP_TEST(outliers, 0, 4)
{
    for (int robust = 0; robust < 2; robust++) {
        solve_world_pass(
            &w,
            suite_text(
                "G[p] = parm(\"G\", jones=diagonal, time=12min)\n"
                "T[p] = draw(obs, shape=diagonal, around=1).value\n"
                "V[p,q] = G[p] * M[p,q] * G[q]^H\n"
                "b = draw(obs, complex=false, spread=1, times=1, channels=1, seed=9).value\n"
                "c[p,q] = b[p] * b[q] - 0.55\no[p,q] = 1e4 * (c + abs(c))\n"
                "D[p,q] = T[p] * M[p,q] * T[q]^H + o[p,q] * matrix(1Jy, 1i * 1Jy, 2 * 1Jy, 1Jy)\n"
                "fit = solve(V, D, tolerance=1e-9, robust=%s, compress=%s, method=%s)\n"
                "k0 = keep(V)\nk1 = keep(T[p] * M[p,q] * T[q]^H, number=1)\nk2 = keep(o, "
                "number=2)\n",
                robust ? "student_t" : "none", _i & 1 ? "true" : "false", _i & 2 ? "auto" : "lm"));
        double far = solve_world_distance(0, 1);
        ck_assert_msg(robust ? far < 1e-5 : far > 1, "robust %d: %g", robust, far);
    }
}

/* ---- the equations of a robust fit ---- */

enum { STATIONS = 8, SLOTS = 4 }; /* SLOTS: of a solution */

/* |r|^2 of the cells of some slots; returns how many. */
static int64_t residuals_of(int64_t first, double *squares)
{
    const solve_kept *v = &solve_world_kept[0], *d = &solve_world_kept[1];
    const int64_t each = v->cells / v->size[0] * v->elements;

    for (int64_t i = 0; i < SLOTS * each; i++) {
        const double complex r = d->at[first * each + i] - v->at[first * each + i];
        squares[i] = creal(r) * creal(r) + cimag(r) * cimag(r);
    }
    return SLOTS * each;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median_of(const double *x, int64_t count)
{
    double *sorted = malloc((size_t)count * sizeof(*sorted)), median;

    memcpy(sorted, x, (size_t)count * sizeof(*sorted));
    qsort(sorted, (size_t)count, sizeof(*sorted), compare);
    median = sorted[count / 2];
    free(sorted);
    return median;
}

/* The largest gradient by a change X of the gains, (1 + X) G, that is diagonal or full, over the
 * sum of its parts' sizes. */
static double gradient_of(int64_t first, const double *squares, double scale, bool full)
{
    const solve_kept *v = &solve_world_kept[0], *d = &solve_world_kept[1];
    const double complex *pair = solve_world_kept[2].at;
    const int64_t freqs = v->size[2], each = v->cells / v->size[0];
    double complex sum[STATIONS][2][2] = {{{0}}};
    double all[STATIONS][2][2] = {{{0}}}, largest = 0;

    for (int64_t i = 0; i < SLOTS * each * 8; i++) {
        const int64_t cell = first * each + i / 8, baseline = cell / freqs % v->size[1];
        const int p = (int)creal(pair[baseline]), q = (int)cimag(pair[baseline]);
        const int e = i / 2 % 4, b = i % 2, row = e / 2, column = e % 2;
        const double weight = 6 / (4 + squares[i / 8 * 4 + e] / scale);
        const double complex r = weight * (d->at[4 * cell + e] - v->at[4 * cell + e]);
        const double complex left = r * conj(v->at[4 * cell + 2 * b + column]);
        const double complex right = conj(r) * v->at[4 * cell + 2 * row + b];
        sum[p][row][b] += left;
        all[p][row][b] += cabs(left);
        sum[q][column][b] += right;
        all[q][column][b] += cabs(right);
    }
    for (int k = 0; k < 4 * STATIONS; k++)
        if (full || k % 4 == 0 || k % 4 == 3)
            largest =
                fmax(largest, cabs(sum[k / 4][k / 2 % 2][k % 2]) / all[k / 4][k / 2 % 2][k % 2]);
    return largest;
}

/* At the solution the weighted residuals have no part along any gain, with weights that are
 * those of Student's t distribution of these very residuals: however the weights change and the
 * gains are found, and whether of some cells, or of matrices, at once. */
LOOP_TEST(robust_equations, 0, 16)
{
    static const char *const options[] = {"", ", method=lm", ", compress=false", ", batch=1"};
    const bool full = _i & 8;
    char *text =
        grove_format("G[p] = parm(\"G\", jones=%s, time=8min)\n"
                     "T[p] = draw(obs, shape=%s, around=1).value\n"
                     "b = draw(obs, complex=false, spread=1, times=1, channels=1, seed=9).value\n"
                     "c[p,q] = b[p] * b[q] - 0.55\no[p,q] = 10 * (c + abs(c))\n"
                     "D[p,q] = T[p] * M[p,q] * T[q]^H + noise(obs, sigma=0.3Jy, seed=2)"
                     " + o[p,q] * matrix(1Jy, 1i * 1Jy, 2 * 1Jy, 1Jy)\n"
                     "V[p,q] = %s\n"
                     "fit = solve(V, D, tolerance=1e-8, robust=student_t%s)\n"
                     "k0 = keep(V)\nk1 = keep(D, number=1)\n"
                     "k2 = keep(obs.station_index[p] + 1i * obs.station_index[q] + 0, number=2)\n",
                     full ? "full" : "diagonal", full ? "matrix" : "diagonal",
                     _i % 2 ? "G[p] * M[p,q] * G[q]^H"
                            : "G[p] * (0.5 * M[p,q]) * G[q]^H + 0.5 * G[p] * M[p,q] * G[q]^H",
                     options[_i / 2 % 4]);

    solve_world_pass(&w, text);
    free(text);
    const solve_kept *v = &solve_world_kept[0];
    ck_assert(v->axes == 3 && v->elements == 4 && v->size[0] == w.times);
    double *squares = malloc((size_t)(v->cells * 4) * sizeof(*squares));
    for (int64_t t = 0; t < v->size[0]; t += SLOTS) {
        const int64_t count = residuals_of(t, squares);
        const double median = median_of(squares, count), scale = median / (2 * M_LN2);
        const double gradient = gradient_of(t, squares, scale, full);
        ck_assert_msg(gradient < 1e-5, "%g", gradient);
        ck_assert_double_gt(gradient_of(t, squares, 1e9 * scale, full), 1e-2); /* equal weights */
    }
    free(squares);
}

/* Of a linear model a fit is one step; the weights go on changing. */
LOOP_TEST(outliers_of_a_factor, 0, 2)
{
    static const char text[] =
        "a = parm(\"a\", init=1)\nV[p,q] = a * M[p,q]\n"
        "b = draw(obs, complex=false, spread=1, times=1, channels=1, seed=9).value\n"
        "c[p,q] = b[p] * b[q] - 0.55\no[p,q] = c + abs(c)\n"
        "D[p,q] = 2 * M[p,q] * (1 + 5 * o[p,q])\n"
        "fit = solve(V, D, tolerance=1e-6, robust=student_t)\n"
        "k0 = keep(V)\nk1 = keep(2 * M, number=1)\n";
    grove_session_options how =
        GROVE_SESSION_OPTIONS(.device = "cpu", .threads = 1, .double_precision = _i);

    ck_assert_int_eq(solve_world_run(&w, text, &how), 0);
    double far = solve_world_distance(0, 1);
    ck_assert_msg(far < 1e-3, "%g: %s", far, solve_world_said);
}

/* The standard deviation of a factor: chi^2 per degree of freedom over the sum of squares of what
 * it multiplies. */
TEST(errors)
{
    solve_world_pass(&w, "a = parm(\"a\", init=1)\nV[p,q] = a * M[p,q]\n"
                         "D[p,q] = 2 * M[p,q] + noise(obs, sigma=1Jy, seed=3)\n"
                         "fit = solve(V, D, errors=true, tolerance=1e-10)\n"
                         "k0 = keep(a.value_error)\nk1 = keep(V, number=1)\n"
                         "k2 = keep(D, number=2)\nk3 = keep(M, number=3)\n");
    const solve_kept *v = &solve_world_kept[1], *d = &solve_world_kept[2],
                     *m = &solve_world_kept[3];
    double chi2 = 0, norm = 0;
    int64_t count = v->cells * v->elements;
    for (int64_t i = 0; i < count; i++) {
        chi2 += pow(cabs(d->at[i] - v->at[i]), 2);
        norm += pow(cabs(m->at[i]), 2);
    }
    double wanted = sqrt(chi2 / (double)(2 * count - 1) / norm);
    ck_assert_int_eq(solve_world_kept[0].cells, 1);
    ck_assert_double_eq_tol(creal(solve_world_kept[0].at[0]), wanted, 1e-9 * wanted);
}

/* Amplitudes are as far from the truth as their standard deviations say. */
TEST(errors_of_amplitudes)
{
    solve_world_pass(&w, "G[p] = parm(\"G\", jones=amplitude, time=2min)\n"
                         "D[p,q] = M[p,q] + noise(obs, sigma=1Jy, seed=3)\n"
                         "fit = solve(G[p] * M[p,q] * G[q]^H, D, errors=true, tolerance=1e-9)\n"
                         "k0 = keep(G.x)\nk1 = keep(G.x_error, number=1)\n"
                         "k2 = keep(G.y, number=2)\nk3 = keep(G.y_error, number=3)\n");
    for (int k = 0; k < SOLVE_WORLD_KEPT; k += 2) {
        const solve_kept *x = &solve_world_kept[k], *error = &solve_world_kept[k + 1];
        double sum = 0;
        for (int64_t i = 0; i < x->cells; i++)
            sum += pow((creal(x->at[i]) - 1) / creal(error->at[i]), 2);
        ck_assert_int_eq(x->cells, 8 * 12);
        ck_assert_double_eq_tol(sqrt(sum / (double)x->cells), 1, 0.25);
    }
}

/* Models that a step makes NaN, terms of one station, robust fits of some baselines. */
static const char *const others[] = {
    "A = parm(\"A\", init=1)\nV[p,q] = sqrt(A) * M[p,q]\nD[p,q] = 0.1 * M[p,q]\n"
    "fit = solve(V, D, compress=%s, tolerance=1e-12)\n",
    "A[p] = parm(\"A\", init=0, complex=true)\nT[p] = draw(obs).value\n"
    "V[p,q] = M[p,q] + 1Jy * A[p] - 2Jy * A[q]^H\nD[p,q] = M[p,q] + 1Jy * T[p] - 2Jy * T[q]^H\n"
    "fit = solve(V, D, compress=%s, tolerance=1e-12)\n",
    "A[p] = parm(\"A\", jones=diagonal)\nT[p] = draw(obs, shape=diagonal, around=1).value\n"
    "k = draw(obs, seed=5).value\nK[p] = 1Jy * k[p]\n"
    "V[p,q] = A[p] * M[p,q] * A[q]^H + K[q]\nD[p,q] = T[p] * M[p,q] * T[q]^H + K[q]\n"
    "fit = solve(V, D, compress=%s, tolerance=1e-12)\n",
    "A[p] = parm(\"A\", jones=diagonal)\nT[p] = draw(obs, shape=diagonal, around=1).value\n"
    "V[p,q] = A[p] * M[p,q] * A[q]^H\nD[p,q] = T[p] * M[p,q] * T[q]^H\n"
    "fit = solve(V, D, compress=%s, robust=student_t, max_baseline=900m, tolerance=1e-12)\n",
};
enum { OTHERS = sizeof(others) / sizeof(others[0]) };

LOOP_TEST(other_models, 0, 2 * OTHERS)
{
    solve_world_pass(&w, suite_text("%sk2 = keep(V, number=2)\nk3 = keep(D, number=3)\n",
                                    suite_text(others[_i / 2], _i % 2 ? "true" : "false")));
    ck_assert_double_lt(solve_world_distance(2, 3), 1e-7);
}

/* Delays and TEC of several turns. */
static const struct {
    const char *parms, *truth;
} far[] = {
    {"G[p] = parm(\"G\", jones=delay, time=4min)",
     "x = draw(obs, times=2, complex=false, spread=90).value\n"
     "y = draw(obs, times=2, complex=false, spread=90, seed=2).value\n"
     "T[p] = diagonal(exp(2i * pi * x[p] * obs.freq * 1ns), exp(2i * pi * y[p] * obs.freq * 1ns))"},
    {"G[p] = parm(\"G\", jones=tec, time=4min)",
     "x = draw(obs, times=2, complex=false, spread=0.9).value\n"
     "T[p] = exp(-8.44797245e9i * x[p] * 1Hz / obs.freq)"},
    {"G[p] = parm(\"D\", jones=delay, time=4min) * parm(\"P\", jones=phase, time=4min)",
     "x = draw(obs, times=2, complex=false, spread=90).value\n"
     "y = draw(obs, times=2, complex=false, spread=90, seed=2).value\n"
     "u = draw(obs, times=2, complex=false, spread=3, seed=3).value\n"
     "v = draw(obs, times=2, complex=false, spread=3, seed=4).value\n"
     "T[p] = diagonal(exp(2i * pi * x[p] * obs.freq * 1ns), exp(2i * pi * y[p] * obs.freq * 1ns)) "
     "* diagonal(exp(1i * u[p]), exp(1i * v[p]))"},
    /* which make up for each other in the middle of the band */
    {"G[p] = parm(\"D\", jones=delay, time=4min) * parm(\"I\", jones=tec, time=2min)",
     "x = draw(obs, times=2, complex=false, spread=90).value\n"
     "y = draw(obs, times=2, complex=false, spread=90, seed=2).value\n"
     "z = draw(obs, times=2, complex=false, spread=0.5, seed=3).value\n"
     "T[p] = diagonal(exp(2i * pi * x[p] * obs.freq * 1ns), exp(2i * pi * y[p] * obs.freq * 1ns)) "
     "* exp(-8.44797245e9i * z[p] * 1Hz / obs.freq)"},
    {"G[p] = parm(\"G\", jones=phase, time=4min)",
     "x = draw(obs, times=2, complex=false, spread=3).value\n"
     "y = draw(obs, times=2, complex=false, spread=3, seed=2).value\n"
     "T[p] = diagonal(exp(1i * x[p]), exp(1i * y[p]))"},
};
enum { FAR = sizeof(far) / sizeof(far[0]) };

LOOP_TEST(far_away, 0, FAR)
{
    char *text =
        grove_format("%s\n%s\nV[p,q] = G[p] * M[p,q] * G[q]^H\nD[p,q] = T[p] * M[p,q] * T[q]^H\n"
                     "fit = solve(V, D, tolerance=1e-12)\n"
                     "k0 = keep(G[p]" VARIED ")\nk1 = keep(T[p]" VARIED ", number=1)\n"
                     "k2 = keep(V, number=2)\nk3 = keep(D, number=3)\n",
                     far[_i].parms, far[_i].truth);
    solve_world_pass(&w, text);
    free(text);
    ck_assert_double_lt(solve_world_distance(2, 3), 1e-8);
    solve_world_align(0, 1, -1);
    ck_assert_double_lt(solve_world_distance(0, 1), 1e-9);
}

/* The last domain is shorter, so that it does not start from the one before: its delays are
 * searched for as those of the first are. */
TEST(far_in_a_short_domain)
{
    solve_world_pass(
        &w, "G[p] = parm(\"D\", jones=delay, time=10min) * parm(\"P\", jones=phase, time=2min)\n"
            "x = draw(obs, complex=false, spread=90).value\n"
            "u = draw(obs, times=1, complex=false, spread=0.5, seed=3).value\n"
            "T[p] = exp(2i * pi * x[p] * obs.freq * 1ns) * exp(1i * u[p])\n"
            "V[p,q] = G[p] * M[p,q] * G[q]^H\nD[p,q] = T[p] * M[p,q] * T[q]^H\n"
            "fit = solve(V, D, tolerance=1e-12, batch=1)\n"
            "k2 = keep(V, number=2)\nk3 = keep(D, number=3)\n");
    ck_assert_double_lt(solve_world_distance(2, 3), 1e-8);
}

/* So they are where each cell has a sum of its own, and sums take longer than the cells. */
static const struct {
    const char *model, *data, *kept;
} alone[] = {
    {"G[p] * trace(M[p,q]) * G[q]^H", "t[p] * trace(M[p,q]) * t[q]^H", "diagonal(D, D)"},
    {"P[p] * G[p] * M[p,q] * G[q]^H * P[q]^H", "P[p] * t[p] * M[p,q] * t[q]^H * P[q]^H", "D"},
};
enum { ALONE = sizeof(alone) / sizeof(alone[0]) };

LOOP_TEST(far_in_a_cell, 0, ALONE)
{
    solve_world_pass(
        &w, suite_text("G[p] = parm(\"G\", jones=delay, time=2min)\n"
                       "P[p] = rotation(obs.parallactic + 3rad * (obs.freq / 150MHz - 1))\n"
                       "x = draw(obs, complex=false, spread=90).value\n"
                       "t[p] = exp(2i * pi * x[p] * obs.freq * 1ns)\n"
                       "V[p,q] = %s\nD[p,q] = %s\nfit = solve(V, D, tolerance=1e-12)\n"
                       "k2 = keep(V, number=2)\nk3 = keep(%s, number=3)\n",
                       alone[_i].model, alone[_i].data, alone[_i].kept));
    ck_assert_double_lt(solve_world_distance(2, 3), 1e-8);
}

/* Each cycle of a run tells of its own domains. */
TEST(cycles)
{
    solve_world_pass(&w, "G[p] = parm(\"G\", jones=diagonal, time=4min)\n"
                         "T[p] = draw(obs, shape=diagonal, times=2, around=1).value\n"
                         "fit = solve(G[p] * M[p,q] * G[q]^H, T[p] * M[p,q] * T[q]^H)\n"
                         "run fit [cycles=2]\n");
    ck_assert_msg(strstr(solve_world_said, " 6 solution domains") != NULL, "%s", solve_world_said);
}

SUITE(60, setup, teardown)
