/* Parms of different intervals that are fitted in turns: the same minimum as all at once, with
 * flags, weights, bounds, priors, a reference station and outliers. */
#include "solve-world.h"

#include "base/error.h"
#include "base/log.h"
#include "base/text.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

SOLVE_WORLD_FIXTURE

#define T "T[p] = draw(obs, shape=diagonal, times=2, around=1).value\n"
#define U "U[p] = draw(obs, shape=diagonal, channels=1, around=1, seed=2).value\n"
#define X "X[p] = draw(obs, shape=diagonal, around=0, seed=3).value\n"

static const struct {
    const char *definitions, *model, *data;
    int most; /* steps */
} forms[] = {
    /* gains in time with a bandpass */
    {"G[p] = parm(\"G\", jones=diagonal, time=4min)\nB[p] = parm(\"B\", jones=diagonal, "
     "freq=2MHz)\n",
     "G[p] * B[p] * M[p,q] * B[q]^H * G[q]^H", "T[p] * U[p] * M[p,q] * U[q]^H * T[q]^H", 40},
    {"G[p] = parm(\"G\", jones=scalar, time=4min)\nB[p] = parm(\"B\", jones=full, freq=4MHz)\n",
     "G[p] * B[p] * M[p,q] * B[q]^H * G[q]^H", "T[p] * U[p] * M[p,q] * U[q]^H * T[q]^H", 60},
    /* three turns */
    {"G[p] = parm(\"G\", jones=diagonal, time=4min)\nB[p] = parm(\"B\", jones=diagonal, "
     "freq=2MHz)\n"
     "F[p] = parm(\"F\", jones=leakage)\n",
     "F[p] * G[p] * B[p] * M[p,q] * B[q]^H * G[q]^H * F[q]^H",
     "T[p] * U[p] * M[p,q] * U[q]^H * T[q]^H", 100},
    /* intervals that hardly differ, each of which spoils what the others have found */
    {"G[p] = parm(\"G\", jones=diagonal, time=4min)\nH[p] = parm(\"H\", jones=diagonal, "
     "time=6min)\n",
     "G[p] * M[p,q] * G[q]^H + H[p] * N[p,q] * H[q]^H",
     "T[p] * M[p,q] * T[q]^H + U[p] * N[p,q] * U[q]^H", 60},
    {"A[p] = parm(\"A\", jones=phase, time=4min)\nK[p] = parm(\"K\", jones=delay)\n",
     "A[p] * K[p] * M[p,q] * K[q]^H * A[q]^H",
     "exp(1i * real(T[p]) + 2i * pi * obs.freq * 3ns * real(X[p])) * M[p,q] * "
     "exp(1i * real(T[q]) + 2i * pi * obs.freq * 3ns * real(X[q]))^H",
     80},
    /* bounds and a prior */
    {"A[p] = parm(\"A\", jones=amplitude, time=4min, bounds=[0.8, 1.2])\n"
     "B[p] = parm(\"B\", jones=diagonal, freq=4MHz, prior=0.05)\n",
     "A[p] * B[p] * M[p,q] * B[q]^H * A[q]^H", "T[p] * U[p] * M[p,q] * U[q]^H * T[q]^H", 120},
};
enum { FORMS = sizeof(forms) / sizeof(forms[0]) };

static double iterations(void)
{
    const char *at = strstr(solve_world_said, " iterations on average");

    ck_assert_msg(at != NULL, "%s", solve_world_said);
    while (at > solve_world_said && strchr("0123456789.", at[-1]))
        at--;
    return atof(at);
}

/* Of kept residuals and weights. */
static double chi2(void)
{
    const solve_kept *r = &solve_world_kept[2], *weight = &solve_world_kept[3];
    double sum = 0;

    ck_assert_int_eq(r->cells, weight->cells);
    for (int64_t i = 0; i < r->cells; i++)
        for (int e = 0; e < r->elements; e++) {
            double complex x = r->at[i * r->elements + e];
            double g = creal(weight->at[i * weight->elements + (weight->elements > 1 ? e : 0)]);
            if (!(r->flags[i] >> e & 1) && isfinite(creal(x)) && g > 0 && isfinite(g))
                sum += g * creal(x * conj(x));
        }
    return sum;
}

static double fit(int form, const char *noise, const char *options, int number)
{
    solve_world_pass(
        &w,
        suite_text(
            "%s" T U X "b = spoil(obs, share=0.3, weights=odd, nan=0.02)\nV[p,q] = %s\n"
            "D[p,q] = (%s%s) * b.value\nfit = solve(V, D, weights=b.weight, max_iterations=300%s)\n"
            "k0 = keep(V, number=%d)\nk2 = keep(D - V, number=2)\nk3 = keep(b.weight, number=3)\n",
            forms[form].definitions, forms[form].model, forms[form].data, noise, options, number));
    ck_assert_msg(strstr(solve_world_said, ": 1 converged;") != NULL ||
                      strstr(solve_world_said, ": 2 converged;") != NULL,
                  "%s", solve_world_said);
    return chi2();
}

static void check_note(const char *words)
{
    char *notes = grove_tree_show(w.t.tree);

    ck_assert_msg(strstr(notes, words) != NULL, "%s", notes);
    free(notes);
}

/* Compressed or not: the chi-squared of the joint fit, and its visibilities, in not many steps. */
LOOP_TEST(as_all_at_once, 0, 4 * FORMS)
{
    static const char *const ways[] = {"", ", compress=false"};
    int form = _i / 4;
    const char *noise = _i / 2 % 2 ? " + noise(obs, sigma=0.5Jy)" : "", *way = ways[_i % 2];
    char *options = suite_text(", method=alternating%s", way);
    char *joint = suite_text(", method=lm%s", way);
    double all = fit(form, noise, joint, 0);

    check_note("method: lm; ");
    double turns = fit(form, noise, options, 1);
    check_note("method: alternating in ");
    if (all > 1)
        ck_assert_msg(fabs(turns / all - 1) < 1e-6, "%d: %.9g and %.9g", form, turns, all);
    ck_assert_msg(solve_world_distance(0, 1) < 1e-3, "%d: %g", form, solve_world_distance(0, 1));
    ck_assert_msg(iterations() <= forms[form].most, "%d: %g steps", form, iterations());
}

/* Phases of the reference station are 0, and outliers count less, as in a joint fit. */
LOOP_TEST(reference_and_outliers, 0, 2)
{
    const char *options = _i ? "reference=\"3\", robust=student_t" : "reference=\"3\"";

    for (int k = 0; k < 2; k++) {
        solve_world_pass(
            &w,
            suite_text("G[p] = parm(\"G\", jones=diagonal, time=4min)\n"
                       "B[p] = parm(\"B\", jones=diagonal, freq=2MHz)\n" T U
                       "V[p,q] = G[p] * B[p] * M[p,q] * B[q]^H * G[q]^H\n"
                       "D[p,q] = T[p] * U[p] * M[p,q] * U[q]^H * T[q]^H + noise(obs, sigma=0.5Jy)\n"
                       "fit = solve(V, D, %s, method=%s)\nk0 = keep(V, number=%d)\n"
                       "k2 = keep(G, number=2)\nk3 = keep(B, number=3)\n",
                       options, k ? "alternating" : "lm", k));
        for (int i = 2; i < 4; i++) {
            const solve_kept *kept = &solve_world_kept[i];
            int64_t inner = 1;
            int station = 0;
            while (kept->kind[station] != GROVE_AXIS_STATION)
                station++;
            for (int a = station + 1; a < kept->axes; a++)
                inner *= kept->size[a];
            for (int64_t c = 0; c < kept->cells; c++)
                if (c / inner % kept->size[station] == 3) /* X: the sky tells Y's from it */
                    ck_assert_double_lt(fabs(cimag(kept->at[c * kept->elements])), 1e-12);
        }
    }
    ck_assert_double_lt(solve_world_distance(0, 1), 1e-3);
}

static const char large[] = "G[p] = parm(\"G\", jones=diagonal, time=2min)\n"
                            "B[p] = parm(\"B\", jones=diagonal, freq=2MHz)\n"
                            "T[p] = draw(obs, shape=diagonal, times=1, around=1).value\n" U
                            "V[p,q] = G[p] * B[p] * M[p,q] * B[q]^H * G[q]^H\n"
                            "D[p,q] = T[p] * U[p] * M[p,q] * U[q]^H * T[q]^H\n";

/* More unknowns than are solved for together. */
TEST(too_many_for_all_at_once)
{
    char *text =
        suite_text("%sfit = solve(V, D)\nk0 = keep(V, number=0)\nk1 = keep(D, number=1)\n", large);

    w.times = 700;
    solve_world_pass(&w, text);
    check_note("method: alternating in 2 turns of 704 blocks with at most 32 unknowns; 1 solution "
               "domain, 22528 unknown numbers");
    ck_assert_msg(strstr(solve_world_said, ": 1 converged;") != NULL, "%s", solve_world_said);
    ck_assert_double_lt(solve_world_distance(0, 1), 1e-4);
    solve_world_refuse(&w, suite_text("%sfit = solve(V, D, method=lm)\n", large),
                       "22528 unknown numbers would be solved for together in one solution domain, "
                       "but at most 20000 are possible; make the intervals of all parms end "
                       "together more often, or try method=alternating");
}

/* Matrices that do not fit the memory are refused before anything runs, and told what would. */
LOOP_TEST(too_large_for_the_memory, 0, 3)
{
    static const struct {
        const char *options, *words;
    } fits[] = {{", method=lm", "method=alternating takes less"},
                {", method=lm, batch=2", "batch=1 takes less"},
                {", method=alternating", NULL}};
    const grove_session_options options =
        GROVE_SESSION_OPTIONS(.device = "cpu", .double_precision = true, .memory = 64 << 20);
    char *text = suite_text("%sfit = solve(V, D%s)\nk0 = keep(V, number=0)\nk1 = keep(D, "
                            "number=1)\n",
                            large, fits[_i].options);

    w.times = 100;
    int code = solve_world_run(&w, text, &options);
    if (fits[_i].words) {
        char *messages = suite_messages(w.t.error);
        ck_assert_int_eq(code, GROVE_NO_MEMORY);
        ck_assert_msg(strstr(messages, fits[_i].words) != NULL, "%s", messages);
    } else {
        ck_assert_int_eq(code, 0);
        ck_assert_double_lt(solve_world_distance(0, 1), 1e-4);
    }
}

static void stop(int number)
{
    (void)number;
    grove_interrupt_set(true);
}

/* Ctrl-C while thousands of unknowns are solved for. */
TEST(stopped)
{
    const struct itimerval soon = {.it_value = {.tv_usec = 500000}};
    char *text = suite_text("%sfit = solve(V, D, method=lm)\nk0 = keep(V, number=0)\n", large);

    w.times = 140;
    signal(SIGALRM, stop);
    setitimer(ITIMER_REAL, &soon, NULL);
    ck_assert_int_eq(solve_world_run(&w, text, NULL), GROVE_INTERRUPTED);
    grove_interrupt_set(false);
    ck_assert(!solve_world_kept[0].at);
    check_note("method: lm; 1 solution domain, ");
    check_note("unknown numbers (at most 4672 in a domain)\n");
}

/* Errors are those of the joint fit: a bandpass and a gain of all channels for each time. What they
 * share is said. */
TEST(errors_and_rank)
{
    double most = 0;

    for (int k = 0; k < 2; k++) {
        solve_world_pass(
            &w, suite_text("A = parm(\"A\", time=4min, init=1)\nC = parm(\"C\", freq=2MHz, init=1, "
                           "prior=0.1)\n"
                           "b = spoil(obs, share=0.3, weights=odd, nan=0.02)\n"
                           "D[p,q] = (M[p,q] + 0.5 * N[p,q] + noise(obs, sigma=0.5Jy)) * b.value\n"
                           "fit = solve(A * M[p,q] + C * N[p,q], D, weights=b.weight, errors=true, "
                           "method=%s, tolerance=1e-8, max_iterations=300)\n"
                           "k0 = keep(A.value_error + 0 * obs.time / 1s, number=%d)\n"
                           "k2 = keep(C.value_error + 0 * obs.freq / 1Hz, number=%d)\n",
                           k ? "alternating" : "lm", k, 2 + k));
    }
    for (int i = 0; i < 4; i += 2) {
        const solve_kept *kept = &solve_world_kept[i];
        for (int64_t c = 0; c < kept->cells; c++) {
            ck_assert_double_gt(creal(kept->at[c]), 0);
            most = fmax(most, fabs(creal(kept[1].at[c]) / creal(kept->at[c]) - 1));
        }
    }
    ck_assert_msg(most < 1e-5, "%g", most);
}

LOOP_TEST(shared_factors, 0, 4)
{
    static const char *const methods[] = {"lm", "alternating"};
    solve_world_pass(
        &w,
        suite_text(
            "G[p] = parm(\"G\", jones=diagonal, time=4min)\n"
            "B[p] = parm(\"B\", jones=%s, freq=2MHz)\n" T U
            "fit = solve(G[p] * B[p] * M[p,q] * B[q]^H * G[q]^H, T[p] * U[p] * M[p,q] * U[q]^H * "
            "T[q]^H, method=%s)\nk0 = keep(G)\n",
            _i / 2 ? "full" : "diagonal", methods[_i % 2]));
    ck_assert_msg(strstr(solve_world_free,
                         "which part of a station's factor belongs to one parm and "
                         "which to another: G.x and B.x") != NULL,
                  "%s", solve_world_free);
    ck_assert_msg(strstr(solve_world_free, "G.y and B.y") != NULL, "%s", solve_world_free);
    ck_assert_msg(!strstr(solve_world_free, "further"), "%s", solve_world_free);
    ck_assert_msg(!strstr(solve_world_free, "B.yx, "), "%s", solve_world_free);
}

TEST(bad_input)
{
    solve_world_refuse(&w,
                       "G[p] = parm(\"G\", jones=diagonal, time=4min)\n"
                       "fit = solve(G[p] * M[p,q] * G[q]^H, N[p,q], method=alternating)\n",
                       "alternating is for parms with different intervals");
    char *text = suite_text("%sfit = solve(V, D, errors=true, method=alternating)\n", large);
    w.times = 700;
    solve_world_refuse(&w, text, "errors require the matrix of all of them, at most 20000");
}

SUITE(120, setup, teardown)
