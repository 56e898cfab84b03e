/* Small fits whose end is known: those that MeqTrees' solver was tried with, at any tolerance and
 * scale; the smallest observations; real data; many unknowns; domains of which few are slow.
 *
 * What MeqTrees' solver is known to get wrong (its documents, issues, and runs of it), and the
 * tests that it is right here; names without a file are below:
 *
 *   differences with a fixed step: 6 % at 4 km       derivative-formulas: long_baselines
 *   ... of all children must agree in their steps    derivatives: a_tree
 *   more than 256 coefficients of a parm collide     many_intervals
 *   all is computed again for each unknown           solve-loop: nothing_twice
 *   bounds are those of constants only               bounded_polynomial
 *   steps that are NaN become zero, unsaid           least-squares-limits: nan_at_trial
 *   start: which of last, table and init is not told parm-start: fits_start_at_the_table,
 *                                                    solve-loop: starts_from_the_last
 *   tables are written behind the solver, and lost   solve-resume: a_fault_at_every_call
 *   convergence depends on units, flux, number of data   least-squares-limits: units
 *   small tolerances are never reached               by_hand, least-squares: noise_free
 *   derivatives that are all zero count as success   solve-faults: zero_derivatives, zero_data
 *   a quota of domains ends the others               one_is_slow
 *   children that fail are left out, unsaid          solve-faults: failures
 *   sums in the order of arrival: other bits         solve-loop: same_bits
 *   damped steps that are short count as the end     least-squares: much_damping
 *   slow convergence                                 least-squares: classic, turns
 *   rank defects are filled up, unsaid               solve-statistics: free_unknowns,
 *                                                    solve-turns: shared_factors
 *   unknowns with intervals of 2 and 3 cells         solve-turns: as_all_at_once
 *   "I do not understand the solver result"          notes_of_two, least-squares-limits: words
 *   solvables are not recognised                     solve-loop: chosen_parms, named_parms
 *   a second solution of a session is another        run_twice
 *   of several solvers in a cascade one works        solve-loop: one_after_the_other, peeling
 *   over-subtraction with differential gains         subtracted
 *   memory of large domains                          solve-parts: as_in_memory,
 *                                                    solve-turns: too_large_for_the_memory
 *   crashes: Ctrl-C; one cell; a source at the phase centre, smeared
 *                                                    solve-faults: interrupted, smallest, fluxes
 *   sets are damaged, or columns not written         solve-sets: nothing_written, calibrated */
#include "solve-world.h"

#include "base/text.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

SOLVE_WORLD_FIXTURE

static void says(const char *words)
{
    ck_assert_msg(strstr(solve_world_said, words) != NULL, "%snot: %s", solve_world_said, words);
}

/* The number that follows these words of what the last fit said. */
static double number_after(const char *words)
{
    says(words);
    return atof(strstr(solve_world_said, words) + strlen(words));
}

/* ---- MeqTrees' examples ---- */

/* s: 30, 90, 150 and 210. */
#define TIMES "n = obs.time - min(obs.time)\ns = 30 + 180 * n / max(n)\n"

static const struct {
    const char *tree, *ends, *note; /* note: of check */
    int count, most;                /* most: iterations that MeqTrees took */
    double values[4];
} examples[] = {
    {"x = parm(\"x\", init=0)\ny = parm(\"y\", init=0)\n"
     "fit = solve(diagonal(x + y, x - y), diagonal(3, 1), tolerance=%s)\n"
     "k = keep(diagonal(x, y))\n",
     "1 solution domain: 1 converged; ",
     "fit: method: lm; 1 solution domain, 2 unknown numbers (at most 2 in a domain)\n    fit: data "
     "are not compressed: the data are not visibilities\n",
     2,
     4,
     {2, 1}},
    {TIMES "p = parm(\"p\", obs=obs, axes=none, init=0, degree=[1, 0])\n"
           "fit = solve(exp(1i * p), exp(1i * (0.7 + 0.01 * s)), tolerance=%s)\nk = keep(p)\n",
     "1 solution domain: 1 converged; ",
     "fit: method: lm; 1 solution domain, 2 unknown numbers (at most 2 in a domain)\n",
     4,
     7,
     {1, 1.6, 2.2, 2.8}},
    {TIMES "q = parm(\"q\", obs=obs, axes=none, init=0, time=4min)\n"
           "fit = solve(q, s, tolerance=%s)\nk = keep(q)\n",
     "2 solution domains: 2 converged; ",
     "fit: method: lm; 2 solution domains, 2 unknown numbers (at most 1 in a domain)\n",
     4,
     10,
     {60, 60, 180, 180}},
};
enum { EXAMPLES = sizeof(examples) / sizeof(examples[0]) };

static const char *const tolerances[] = {"1e-3", "1e-8", "1e-14"};
enum { TOLERANCES = sizeof(tolerances) / sizeof(tolerances[0]) };

/* They end by themselves, whatever the tolerance. */
LOOP_TEST(by_hand, 0, EXAMPLES *TOLERANCES)
{
    int which = _i / TOLERANCES;
    char *text = suite_text(examples[which].tree, tolerances[_i % TOLERANCES]);

    w.times = 4;
    solve_world_pass(&w, text);
    char *notes = grove_tree_show(w.t.tree);
    ck_assert_msg(strstr(notes, examples[which].note) != NULL, "%s", notes);
    free(notes);
    ck_assert_double_le(number_after(examples[which].ends), examples[which].most);
    for (int i = 0; i < examples[which].count; i++) {
        double off = cabs(solve_world_kept[0].at[i] - examples[which].values[i]);
        ck_assert_msg(off < (_i % TOLERANCES ? 1e-12 : 1e-3) * examples[which].values[i], "%s%g",
                      text, off);
    }
}

/* Of two fits, each note says of which it is. */
TEST(notes_of_two)
{
    solve_world_pass(&w, "G[p] = parm(\"G\", jones=diagonal, time=4min)\n"
                         "H[p] = parm(\"H\", jones=diagonal, time=4min)\n"
                         "a = solve(G[p] * M[p,q] * G[q]^H, M)\n"
                         "b = solve(H[p] * M[p,q] * H[q]^H, M, compress=false)\nk = keep(G)\n");
    char *notes = grove_tree_show(w.t.tree);

    ck_assert_msg(strstr(notes, "    a: method: stefcal, then") &&
                      strstr(notes, "    a: data are compressed once") &&
                      strstr(notes, "    b: method: lm;") &&
                      strstr(notes, "    b: data are not compressed: compress=false"),
                  "%s", notes);
    free(notes);
}

/* 20 fluxes of smeared sources without Jones terms, one of them at the phase centre. Model and data
 * in other units: the same steps. */
LOOP_TEST(fluxes, 0, 6)
{
    static const char *const units[] = {"1", "1e-12", "1e12"};
    enum { SOURCES = 20 };
    grove_text lines = {0};

    grove_text_add(&lines, "FORMAT = Name, Type, Ra, Dec, I\n");
    for (int k = 0; k < SOURCES; k++)
        grove_text_add(&lines, "s%d, POINT, %gdeg, %gdeg, %g\n", k, 75 + 0.9 * sin(2.0 * k),
                       45 + 0.04 * k * cos(3.0 * k), 1 + 0.1 * k);
    const char *sky = testing_file(&w.t, "twenty.skymodel", lines.at);
    solve_world_pass(
        &w,
        suite_text(
            "A = sky_model(\"%s\")\nI[s] = parm(\"I\", sky=A, obs=obs, init=0.5)\n"
            "B = brightness(A, obs, stokes=vector(I * 1Jy, 0, 0, 0))\n"
            "V[p,q] = %s * sum[s](point(A, obs, brightness=B, smear=both))\n"
            "D[p,q] = %s * sum[s](point(A, obs, smear=both))\nfit = solve(V, D, tolerance=1e-8%s)\n"
            "k = keep(I)\n",
            sky, units[_i % 3], units[_i % 3], _i / 3 ? ", compress=false" : ""));
    ck_assert_double_le(number_after("1 solution domain: 1 converged; "), 5);
    ck_assert_str_eq(solve_world_free, ""); /* all 20 are told */
    ck_assert_int_eq(solve_world_kept[0].cells, SOURCES);
    for (int k = 0; k < SOURCES; k++)
        ck_assert_msg(cabs(solve_world_kept[0].at[k] - (1 + 0.1 * k)) < 1e-11, "%d: %g", k,
                      creal(solve_world_kept[0].at[k]));
    free(lines.at);
}

/* ---- the smallest observations ---- */

static const char *const arrays[] = {
    "-1601185 -5041977 3554876\n-1601035 -5041957 3554951\n",
    "-1601185 -5041977 3554876\n-1601035 -5041957 3554951\n-1601275 -5041767 3554832\n",
    /* a baseline of no length */
    "-1601185 -5041977 3554876\n-1601185 -5041977 3554876\n-1601275 -5041767 3554832\n",
};
enum { ARRAYS = sizeof(arrays) / sizeof(arrays[0]) };

static const char *const kinds[] = {"scalar", "diagonal", "full", "phase", "amplitude"};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static const char *const ways[] = {"", ", compress=false", ", method=lm", ", method=block"};
enum { WAYS = sizeof(ways) / sizeof(ways[0]), BLOCK = WAYS - 1 };

/* One time and channel of one or three baselines; the source is at the phase centre. */
LOOP_TEST(smallest, 0, ARRAYS *KINDS *WAYS)
{
    int array = _i % ARRAYS, kind = _i / ARRAYS % KINDS, way = _i / ARRAYS / KINDS;
    const char *stations = testing_file(&w.t, "few.txt", arrays[array]);
    const char *sky = testing_file(&w.t, "one.skymodel",
                                   "FORMAT = Name, Type, Ra, Dec, I, Q, U, V\n"
                                   "a, POINT, 05:00:00, +45.00.00, 10.0, 1, 0.5, 0.2\n");
    char *text = suite_text(
        "o = observe(array=\"%s\", phase_centre=\"05h00m00s 45d00m00s\", duration=1min, "
        "start=\"2000-01-01T12:00:00\", integration=1min, frequency=150MHz, channels=1, "
        "channel_width=2MHz)\nA = sky_model(\"%s\")\nC[p,q] = sum[s](point(A, o, smear=both))\n"
        "a = draw(o, complex=false, around=1).value\nb = draw(o, complex=false, seed=2).value\n"
        "T[p] = %s\nG[p] = parm(\"G\", obs=o, jones=%s, time=1min)\nV[p,q] = G[p] * C * G[q]^H\n"
        "D[p,q] = T[p] * C * T[q]^H\n"
        "fit = solve(V, D, tolerance=1e-10, max_iterations=300%s)\n"
        "k0 = keep(V)\nk1 = keep(D, number=1)\nk2 = keep(G, number=2)\n",
        stations, sky,
        kind == 3   ? "exp(1i * b[p]) * diagonal(1, 1)"
        : kind == 4 ? "a[p] * diagonal(1, 1)"
                    : "a[p] * exp(1i * b[p]) * diagonal(1, 1)",
        kinds[kind], ways[way]);

    solve_world_pass(&w, text);
    for (int64_t i = 0; i < solve_world_kept[2].cells * solve_world_kept[2].elements; i++)
        ck_assert(isfinite(cabs(solve_world_kept[2].at[i])));
    if (way != BLOCK) {
        says("1 solution domain: 1 converged; ");
        ck_assert_msg(solve_world_distance(0, 1) < 1e-6, "%s%g: %s", text,
                      solve_world_distance(0, 1), solve_world_said);
    }
    if (array == 0 && kind == 2) /* 16 numbers from 8 */
        says(": there are no more data than unknowns");
}

/* ---- nothing is left over ---- */

/* Solved again in one session: the same bits, of each method. */
LOOP_TEST(run_twice, 0, 3)
{
    static const char *const options[] = {"", ", compress=false", ", method=lm, robust=student_t"};
    solve_world_pass(&w, suite_text("T[p] = draw(obs, shape=diagonal, times=2, around=1).value\n"
                                    "G[p] = parm(\"G\", jones=diagonal, time=4min)\n"
                                    "fit = solve(G[p] * M[p,q] * G[q]^H, T[p] * M[p,q] * T[q]^H + "
                                    "noise(obs, sigma=0.5Jy)%s)\nk0 = keep(G)\n",
                                    options[_i]));
    solve_kept *kept = &solve_world_kept[0];
    size_t bytes = (size_t)(kept->cells * kept->elements) * sizeof(*kept->at);
    double complex *first = malloc(bytes);
    char said[sizeof(solve_world_said)];
    memcpy(first, kept->at, bytes);
    strcpy(said, solve_world_said);
    memset(kept->at, 0, bytes);
    ck_assert_int_eq(grove_session_run(w.session), 0);
    ck_assert(!memcmp(first, kept->at, bytes));
    ck_assert_str_eq(said, solve_world_said);
    free(first);
}

/* Gains of one group of sources alone, which is then subtracted: what is left is the others. */
LOOP_TEST(subtracted, 0, 2)
{
    solve_world_pass(&w,
                     suite_text("T[p] = draw(obs, shape=diagonal, times=2, around=1).value\n"
                                "E[p] = parm(\"E\", jones=diagonal, time=4min)\n"
                                "D[p,q] = T[p] * M[p,q] * T[q]^H + N[p,q]\n"
                                "fit = solve(E[p] * M[p,q] * E[q]^H + N[p,q], D, tolerance=1e-12, "
                                "max_iterations=300%s)\n"
                                "k0 = keep(D - E[p] * M[p,q] * E[q]^H)\nk1 = keep(N, number=1)\n",
                                _i ? ", compress=false" : ""));
    ck_assert_msg(solve_world_distance(0, 1) < 1e-8, "%g: %s", solve_world_distance(0, 1),
                  solve_world_said);
}

/* ---- real data ---- */

/* Model and data of the baselines are real: each counts once, and chi-squared and errors are those
 * of real numbers. */
LOOP_TEST(real_data, 0, 4)
{
    bool robust = _i / 2;
    solve_world_pass(
        &w, suite_text(
                "d[p,q] = 3 + real(select(noise(obs, sigma=1Jy, seed=3), element=XX)) / 1Jy\n"
                "a = parm(\"a\", init=1)\nfit = solve(a * (1 + 0 * d), d, tolerance=1e-9%s%s)\n"
                "k0 = keep(d)\nk1 = keep(a, number=1)\nk2 = keep(a.value_error, number=2)\n",
                robust ? ", robust=student_t" : ", errors=true", _i % 2 ? ", compress=false" : ""));
    const solve_kept *d = &solve_world_kept[0];
    double a = creal(solve_world_kept[1].at[0]), square = 0, chi2 = 0;
    for (int64_t i = 0; i < d->cells; i++)
        square += pow(creal(d->at[i]) - a, 2);
    square /= (double)(d->cells - 1);
    for (int64_t i = 0; i < d->cells; i++) {
        double r = pow(creal(d->at[i]) - a, 2);
        chi2 += r * 5 / (4 + r); /* of noise with sigma 1 */
    }
    chi2 /= (double)(d->cells - 1);
    double expected = robust ? chi2 : square, off = number_after("freedom ") - expected;
    ck_assert_msg(fabs(off) < (robust ? 0.03 : 1e-3), "%g off %g", off, expected);
    if (!robust)
        ck_assert_double_eq_tol(creal(solve_world_kept[2].at[0]), sqrt(square / (double)d->cells),
                                1e-9);
}

/* ---- many unknowns, and domains that take longer ---- */

/* 640 numbers of one parm, and more, in one domain. */
TEST(many_intervals)
{
    w.times = 40;
    solve_world_pass(&w, "G[p] = parm(\"G\", jones=amplitude, time=2min)\n"
                         "B[p] = parm(\"B\", jones=amplitude, freq=2MHz)\n"
                         "t = draw(obs, complex=false, times=1, around=1).value\n"
                         "b = draw(obs, complex=false, channels=1, around=1, seed=2).value\n"
                         "J[p] = G[p] * B[p]\nV[p,q] = J[p] * M * J[q]^H\n"
                         "D[p,q] = t[p] * b[p] * M * t[q]^H * b[q]^H\n"
                         "fit = solve(V, D, tolerance=1e-10)\n"
                         "k0 = keep(V)\nk1 = keep(D, number=1)\n");
    says("1 solution domain: 1 converged; ");
    ck_assert_double_lt(solve_world_distance(0, 1), 1e-8);
}

/* Of eight domains that are fitted together one needs many more steps than the others: none is left
 * when most have converged. */
TEST(one_is_slow)
{
    w.times = 8;
    solve_world_pass(&w, "q = parm(\"q\", obs=obs, axes=none, init=1, time=2min)\n"
                         "n = (obs.time - min(obs.time)) / (max(obs.time) - min(obs.time))\n"
                         "d = 1 + 1e8 * n^40\nfit = solve(q^5, d, tolerance=1e-12)\n"
                         "k0 = keep(q^5 / d)\nk1 = keep(d / d, number=1)\n");
    says("8 solution domains: 8 converged; ");
    ck_assert_double_lt(solve_world_distance(0, 1), 1e-9);
}

/* Bounds of a polynomial are those of its constant term; its slope is free. */
TEST(bounded_polynomial)
{
    solve_world_pass(&w, "p = parm(\"p\", obs=obs, axes=none, init=0.1, degree=[1, 0], "
                         "bounds=[0, 0.2])\n"
                         "n = obs.time - mean(obs.time)\nx = n / max(n)\n"
                         "fit = solve(p, 0.5 + 1.5 * x)\n"
                         "k0 = keep(p)\nk1 = keep(0.2 + 1.5 * x, number=1)\n");
    says("1 solution domain: 1 converged; ");
    ck_assert_double_lt(solve_world_distance(0, 1), 1e-7);
}

/* A tree that fits polynomials whose common phase is nearly free, since such a polynomial turned by
 * another one is nearly a polynomial again. */
static char *fit_polynomials(const char *options, int number)
{
    return suite_text("n = (obs.time - mean(obs.time)) / (max(obs.time) - min(obs.time))\n"
                      "a[p] = draw(obs, complex=false, spread=2).value\n"
                      "b[p] = draw(obs, complex=false, spread=1, seed=2).value\n"
                      "T[p] = (1 + 0.1 * b[p]) * exp(1i * a[p] * sin(2 * n + b[p]))\n"
                      "G[p] = parm(\"G\", jones=diagonal, degree=[5, 0], init=1)\n"
                      "V[p,q] = G[p] * M * G[q]^H\n"
                      "D[p,q] = T[p] * M * T[q]^H + noise(obs, sigma=0.1Jy, seed=6)\n"
                      "fit = solve(V, D, method=lm%s)\nk = keep(V, number=%d)\n",
                      options, number);
}

/* Steps are damped all the way. Few of them lead to the minimum that compressed sums have in
 * double precision, in single precision too: visibilities to 1 % of the noise. With other noise
 * single precision may say that it has stalled, or take more steps. */
LOOP_TEST(polynomials, 0, 2)
{
    char *truth = fit_polynomials(", tolerance=1e-9, max_iterations=400", 0),
         *own = fit_polynomials(", compress=false, max_iterations=60", 1);
    grove_session_options how =
        GROVE_SESSION_OPTIONS(.device = "cpu", .threads = 1, .double_precision = true);

    w.times = 24;
    ck_assert_int_eq(solve_world_run(&w, truth, &how), 0);
    says("1 solution domain: 1 converged; ");
    how.double_precision = _i == 0;
    ck_assert_int_eq(solve_world_run(&w, own, &how), 0);
    says("1 solution domain: 1 converged; ");
    ck_assert_double_lt(solve_world_distance(0, 1), 1e-3);
}

/* Blocks of stations, in both precisions, compressed and not: the minimum that the whole matrix
 * leads to, visibilities to a hundredth of what noise makes of them. */
LOOP_TEST(blocks, 0, 4)
{
    static const char *const options[] = {"method=lm, tolerance=1e-10, max_iterations=300",
                                          "method=block, tolerance=1e-8, max_iterations=1000",
                                          "method=block, max_iterations=300"};
    grove_session_options how = GROVE_SESSION_OPTIONS(.device = "cpu", .threads = 1);

    for (int k = 0; k < 3; k++) {
        char *text = suite_text("T[p] = %s\n"
                                "G[p] = parm(\"G\", jones=%s, time=4min)\n"
                                "V[p,q] = G[p] * M[p,q] * G[q]^H\n"
                                "D[p,q] = T[p] * M[p,q] * T[q]^H + noise(obs, sigma=0.5Jy)\n"
                                "fit = solve(V, D, %s%s)\nk = keep(V, number=%d)\n",
                                _i / 2 ? "draw(obs, times=2, around=1).value"
                                       : "draw(obs, complex=false, times=2, around=1).value",
                                _i / 2 ? "scalar" : "amplitude", options[k],
                                _i % 2 ? ", compress=false" : "", k);
        how.double_precision = k < 2;
        ck_assert_int_eq(solve_world_run(&w, text, &how), 0);
        says("6 solution domains: 6 converged; ");
    }
    ck_assert_double_lt(solve_world_distance(0, 1), 6e-4);
    ck_assert_double_lt(solve_world_distance(0, 2), 6e-4);
}

SUITE(60, setup, teardown)
