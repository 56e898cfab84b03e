/* Solution domains that do not fit the memory: their tiles are walked again in each iteration, or
 * summed once, and the solutions are those of domains in memory. */
#include "solve-world.h"

#include "run/state.h"

#include "base/error.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

SOLVE_WORLD_FIXTURE

#define T "T[p] = draw(obs, shape=diagonal, times=2, around=1).value\n"
#define U "U[p] = draw(obs, shape=diagonal, channels=1, around=1, seed=2).value\n"
#define X "X[p] = draw(obs, shape=diagonal, around=0, seed=3).value\n"

/* One datum in twenty, by much; and what does not mind. */
#define O                                                                                          \
    "o = draw(obs, complex=false, spread=1, times=1, channels=1, seed=9).value\n"                  \
    "c[p,q] = o[p] * o[q] - 0.55\n"
#define OUTLIERS " + (c + abs(c)) * matrix(20Jy, 20i * 1Jy, 40Jy, 20Jy)"
#define ROBUST   ", robust=student_t"

/* What is fitted, to which data; whether data are read once however small the memory is; how many
 * tiles of 5 times there are, and in a domain. */
static const struct {
    const char *definitions, *model, *data, *options;
    bool once;
    int tiles, parts;
} forms[] = {
    /* gains in time with a bandpass of the whole set: all at once, in turns, not compressed */
    {"G[p] = parm(\"G\", jones=diagonal, time=4min)\nB[p] = parm(\"B\", jones=diagonal, "
     "freq=2MHz)\n",
     "G[p] * B[p] * M[p,q] * B[q]^H * G[q]^H", "T[p] * U[p] * M[p,q] * U[q]^H * T[q]^H", "", false,
     3, 3},
    {"G[p] = parm(\"G\", jones=diagonal, time=4min)\nB[p] = parm(\"B\", jones=diagonal, "
     "freq=2MHz)\n",
     "G[p] * B[p] * M[p,q] * B[q]^H * G[q]^H", "T[p] * U[p] * M[p,q] * U[q]^H * T[q]^H",
     ", method=alternating", false, 3, 3},
    {"G[p] = parm(\"G\", jones=diagonal, time=4min)\nB[p] = parm(\"B\", jones=diagonal, "
     "freq=2MHz)\n",
     "G[p] * B[p] * M[p,q] * B[q]^H * G[q]^H", "T[p] * U[p] * M[p,q] * U[q]^H * T[q]^H",
     ", method=alternating, compress=false", false, 3, 3},
    /* a bandpass alone, a domain for each channel: StEFCal, and others */
    {"B[p] = parm(\"B\", jones=diagonal, freq=2MHz)\n", "B[p] * M[p,q] * B[q]^H",
     "U[p] * M[p,q] * U[q]^H", "", true, 3, 3},
    {"B[p] = parm(\"B\", jones=full, freq=2MHz)\n", "B[p] * M[p,q] * B[q]^H",
     "U[p] * M[p,q] * U[q]^H", ", errors=true", true, 3, 3},
    {"B[p] = parm(\"B\", jones=diagonal, freq=2MHz)\n", "B[p] * M[p,q] * B[q]^H",
     "U[p] * M[p,q] * U[q]^H", ", method=lm, min_baseline=200", false, 3, 3},
    {"B[p] = parm(\"B\", jones=full, freq=2MHz)\n", "B[p] * M[p,q] * B[q]^H",
     "U[p] * M[p,q] * U[q]^H", ", compress=false, min_baseline=200", false, 3, 3},
    /* delays are searched; polynomials; what cannot be compressed */
    {"A[p] = parm(\"A\", jones=phase, time=4min)\nK[p] = parm(\"K\", jones=delay)\n",
     "A[p] * K[p] * M[p,q] * K[q]^H * A[q]^H",
     "exp(1i * real(T[p]) + 2i * pi * obs.freq * 3ns * real(X[p])) * M[p,q] * "
     "exp(1i * real(T[q]) + 2i * pi * obs.freq * 3ns * real(X[q]))^H",
     "", true, 3, 3},
    {"A[p] = parm(\"A\", jones=diagonal, degree=[1, 0], init=1)\n", "A[p] * M[p,q] * A[q]^H",
     "U[p] * M[p,q] * U[q]^H", "", false, 3, 3},
    {"f = parm(\"f\", init=1)\n", "f * f * M[p,q] + f * N[p,q]", "1.2 * M[p,q] + 1.1 * N[p,q]", "",
     false, 3, 3},
    /* several domains, of which each is in parts */
    {"G[p] = parm(\"G\", jones=diagonal, time=12min)\n", "G[p] * M[p,q] * G[q]^H",
     "T[p] * M[p,q] * T[q]^H", ", method=lm, batch=1", false, 4, 2},
    {"G[p] = parm(\"G\", jones=diagonal, time=8min)\n", "G[p] * M[p,q] * G[q]^H",
     "T[p] * M[p,q] * T[q]^H", ", batch=2, method=stefcal", true, 3, 2},
    /* outliers count less: weights are those of residuals where the weights before led to */
    {"G[p] = parm(\"G\", jones=diagonal, time=4min)\nB[p] = parm(\"B\", jones=diagonal, "
     "freq=2MHz)\n",
     "G[p] * B[p] * M[p,q] * B[q]^H * G[q]^H", "T[p] * U[p] * M[p,q] * U[q]^H * T[q]^H" OUTLIERS,
     ROBUST, false, 3, 3},
    {"G[p] = parm(\"G\", jones=diagonal, time=4min)\nB[p] = parm(\"B\", jones=diagonal, "
     "freq=2MHz)\n",
     "G[p] * B[p] * M[p,q] * B[q]^H * G[q]^H", "T[p] * U[p] * M[p,q] * U[q]^H * T[q]^H" OUTLIERS,
     ROBUST ", method=alternating", false, 3, 3},
    {"B[p] = parm(\"B\", jones=diagonal, freq=2MHz)\n", "B[p] * M[p,q] * B[q]^H",
     "U[p] * M[p,q] * U[q]^H" OUTLIERS, ROBUST, false, 3, 3},
    {"B[p] = parm(\"B\", jones=diagonal, freq=2MHz)\n", "B[p] * M[p,q] * B[q]^H",
     "U[p] * M[p,q] * U[q]^H" OUTLIERS, ROBUST ", compress=false, min_baseline=200", false, 3, 3},
    {"A[p] = parm(\"A\", jones=phase, time=4min)\nK[p] = parm(\"K\", jones=delay)\n",
     "A[p] * K[p] * M[p,q] * K[q]^H * A[q]^H",
     "exp(1i * real(T[p]) + 2i * pi * obs.freq * 3ns * real(X[p])) * M[p,q] * "
     "exp(1i * real(T[q]) + 2i * pi * obs.freq * 3ns * real(X[q]))^H" OUTLIERS,
     ROBUST, false, 3, 3},
    {"f = parm(\"f\", init=1)\n", "f * f * M[p,q] + f * N[p,q]",
     "1.2 * M[p,q] + 1.1 * N[p,q]" OUTLIERS, ROBUST ", errors=true", false, 3, 3},
    {"G[p] = parm(\"G\", jones=diagonal, time=12min)\n", "G[p] * M[p,q] * G[q]^H",
     "T[p] * M[p,q] * T[q]^H" OUTLIERS, ROBUST ", method=lm, batch=1, compress=false", false, 4, 2},
    {"G[p] = parm(\"G\", jones=diagonal, time=8min)\n", "G[p] * M[p,q] * G[q]^H",
     "T[p] * M[p,q] * T[q]^H" OUTLIERS, ROBUST ", batch=2", false, 3, 2},
};
enum { FORMS = sizeof(forms) / sizeof(forms[0]) };

static char *text_of(int form, int number)
{
    return suite_text("%s" T U X O "b = spoil(obs, share=0.3, weights=odd, nan=0.02)\nV[p,q] = %s\n"
                      "D[p,q] = (%s + noise(obs, sigma=0.5Jy, seed=3)) * b.value\n"
                      "fit = solve(V, D, weights=b.weight, tolerance=1e-9, max_iterations=300%s)\n"
                      "k0 = keep(V, number=%d)\n",
                      forms[form].definitions, forms[form].model, forms[form].data,
                      forms[form].options, number);
}

/* What a fit has said, without how many iterations it took. */
static void outcomes(char to[400])
{
    const char *chi2 = strstr(solve_world_said, "chi-squared per");
    const char *words = strstr(solve_world_said, " iterations on average");

    ck_assert_msg(words && chi2, "%s", solve_world_said);
    snprintf(to, 400, "%.*s %.100s", (int)strcspn(solve_world_said, ";"), solve_world_said, chi2);
}

static grove_plan plan(void)
{
    grove_plan plan = GROVE_PLAN();

    ck_assert_int_eq(grove_session_plan(w.session, &plan), 0);
    return plan;
}

/* Runs it again with so little memory; returns how often data were read. */
static int run_within(uint64_t bytes)
{
    w.session->budget = w.session->memory = bytes;
    solve_world_reads[0] = 0;
    ck_assert_int_eq(grove_session_run(w.session), 0);
    return solve_world_reads[0];
}

/* The first memory with which data are summed once in tiles; 0: there is none. */
static uint64_t find_once(void)
{
    for (uint64_t bytes = 1 << 12; bytes < 1 << 28; bytes += bytes / 16) {
        w.session->budget = w.session->memory = bytes;
        if (!plan().in_parts)
            return 0;
        if (plan().reads_once)
            return bytes;
    }
    return 0;
}

static const grove_session_options in_tiles =
    TESTING_OPTIONS(.device = "cpu", .threads = 3, .tile_times = 5, .double_precision = true);

/* Tiles of 5 times of 12, of which one fits at most: the same solutions as in memory, from data
 * that are read in each iteration. Where sums of all data fit, from these. */
LOOP_TEST(as_in_memory, 0, FORMS)
{
    char before[400], after[400], *text = text_of(_i, 0);
    grove_session_options how =
        GROVE_SESSION_OPTIONS(.device = "cpu", .threads = 1, .double_precision = true);

    ck_assert_int_eq(solve_world_run(&w, text, &how), 0);
    ck_assert(!plan().in_parts);
    outcomes(before);
    text = text_of(_i, 1);
    ck_assert_int_eq(solve_world_run(&w, text, &in_tiles), 0);
    int reads = run_within(1 << 10);
    grove_plan parts = plan();
    ck_assert_str_eq(parts.in_parts, "fit");
    ck_assert_int_eq(parts.parts, forms[_i].parts);
    ck_assert(parts.reads_once == forms[_i].once);
    if (forms[_i].once)
        ck_assert_int_eq(reads, forms[_i].tiles);
    else
        ck_assert_int_ge(reads, 4 * forms[_i].tiles);
    outcomes(after);
    ck_assert_str_eq(before, after);
    ck_assert_msg(solve_world_distance(0, 1) < 1e-6, "%g", solve_world_distance(0, 1));
    text = text_of(_i, 0);
    how.tile_times = 5;
    ck_assert_int_eq(solve_world_run(&w, text, &how), 0);
    run_within(1 << 10);
    ck_assert(solve_world_distance(0, 1) == 0);
}

/* Sums of all data fit, data do not: they are read once. */
LOOP_TEST(summed_once, 0, 3)
{
#define GAINS "G[p] * B[p] * M[p,q] * B[q]^H * G[q]^H, D"
    static const char *const fits[] = {GAINS, GAINS ", method=alternating",
                                       "B[p] * M[p,q] * B[q]^H, D, method=lm, min_baseline=200"};
    char before[400], after[400];
    char *text =
        suite_text("G[p] = parm(\"G\", jones=diagonal, time=40min)\n"
                   "B[p] = parm(\"B\", jones=diagonal, freq=2MHz)\n" U
                   "b = spoil(obs, share=0.3, weights=odd, nan=0.02)\n"
                   "D[p,q] = (U[p] * M[p,q] * U[q]^H + noise(obs, sigma=0.5Jy, seed=1)) * b.value\n"
                   "fit = solve(%s, weights=b.weight, tolerance=1e-9, max_iterations=300)\n"
                   "k0 = keep(B[p] * M[p,q])\n",
                   fits[_i]);

    w.times = 60;
    ck_assert_int_eq(solve_world_run(&w, text, &in_tiles), 0);
    outcomes(before);
    solve_kept *kept = &solve_world_kept[0], *other = &solve_world_kept[1];
    size_t bytes = (size_t)(kept->cells * kept->elements) * sizeof(*kept->at);
    *other = *kept;
    other->flags = NULL;
    other->at = malloc(bytes);
    memcpy(other->at, kept->at, bytes);
    uint64_t once = find_once();
    ck_assert(once != 0);
    ck_assert_int_eq(run_within(once), plan().parts);
    outcomes(after);
    ck_assert_str_eq(before, after);
    ck_assert_msg(solve_world_distance(0, 1) < 1e-6, "%g", solve_world_distance(0, 1));
}

/* What does not fit in parts either: what tiles do not divide is said. */
TEST(not_even_one_time)
{
    static const char text[] =
        "f = parm(\"f\", init=1)\nfit = solve(f * f * M[p,q], M, compress=false)\n";

    ck_assert_int_eq(solve_world_run(&w, text, NULL), 0);
    w.session->budget = w.session->memory = 1 << 14;
    ck_assert_int_ne(grove_session_run(w.session), 0);
    char *messages = suite_messages(w.t.error);
    ck_assert_msg(strstr(messages, "'fit' are divided along time only") != NULL, "%s", messages);
}

SUITE(120, setup, teardown)
