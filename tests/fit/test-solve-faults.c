/* What solve refuses, each with its message, and what becomes of bad data and bad starts. */
#include "solve-world.h"

#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "run/state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static solve_world w;

static void setup(void)
{
    grove_interrupt_set(false);
    solve_world_begin(&w);
}

static void teardown(void)
{
    grove_interrupt_set(false);
    solve_world_end(&w);
}

#define TREE                                                                                       \
    "G[p] = parm(\"G\", jones=diagonal, time=4min)\n"                                              \
    "T[p] = draw(obs, shape=diagonal, times=2, around=1).value\n"                                  \
    "V[p,q] = G[p] * M[p,q] * G[q]^H\nD[p,q] = T[p] * M[p,q] * T[q]^H\n"
#define OPTION(text) TREE "fit = solve(V, D, " text ")\n"

/* What a user reads; all are found before anything is computed. */
static const struct {
    const char *tree, *says;
} refused[] = {
    /* parms */
    {TREE "fit = solve(M, D)\n",
     "its input 'model' depends on no parm that may be fitted, such as G[p] = "},
    {"G[p] = parm(\"G\", jones=diagonal, fixed=true)\nfit = solve(G[p] * M[p,q] * G[q]^H, M)\n",
     "depends on no parm that may be fitted; the parms that it depends on are fixed"},
    {OPTION("parms=K"), "there is no parm 'K'; parms that can be fitted: G"},
    {TREE "H[p] = parm(\"H\", jones=scalar)\nk = keep(H)\nfit = solve(V, D, parms=H)\n",
     "the fitted value does not depend on 'H'; parms that can be fitted: G"},
    {OPTION("parms=[G, M]"),
     "'M' depends on no parm that may be fitted; parms that can be fitted: G"},
    {TREE
     "C[p] = parm(\"C\", jones=scalar, fixed=true)\nfit = solve(C[p] * V * C[q]^H, D, parms=C)\n",
     "'C' depends on no parm that may be fitted"},
    {OPTION("parms=[]"), "parms: it names no parm; parms that can be fitted: G"},
    {OPTION("parms=3"), "must be names of parms, got 3"},
    {OPTION("parms=[G, 3]"), "must be names of parms"},
    {OPTION("parms=fit"), "'fit' is defined in terms of itself"},
    /* what is compared */
    {TREE "fit = solve(V, D - V)\n",
     "its input 'data' depends on the parm 'G', which is fitted; only 'model' may depend on it"},
    {TREE "fit = solve(V, D, weights=abs(trace(G[p] * G[q]^H)))\n",
     "its input 'weights' depends on the parm 'G', which is fitted; only 'model' may depend on it"},
    {TREE "fit = solve(V, mean(D, over=freq))\n", "the model varies with freq, the data do not"},
    {TREE "fit = solve(sum(V, over=time), mean(D, over=freq))\n", "the data do not"},
    {"g[s] = parm(\"g\", init=1, sky=S)\nfit = solve(g[s] * point(S, obs), M)\n",
     "the model varies with source, the data do not; sum first: sum[s](...)"},
    {TREE "fit = solve(V / 1Jy, D)\n", "Jy"},
    {TREE "b = spoil(obs)\nfit = solve(V, D, weights=diagonal(b.weight, b.weight))\n",
     "they must be numbers, or of the shape of the data"},
    {TREE "fit = solve(V, obs.uvw)\n", ""},
    /* a parm that chooses */
    {"x = parm(\"x\", init=0)\nfit = solve(sum[s](point(S, obs, brightness=brightness(S, obs, "
     "logarithmic=x))), M)\n",
     "logarithmic"},
    /* numbers */
    {OPTION("tolerance=-1"), "-1 is not between 0 and 1"},
    {OPTION("tolerance=0"), "0 is not between 0 and 1"},
    {OPTION("tolerance=1"), "1 is not between 0 and 1"},
    {OPTION("max_iterations=0"), "0 is not from 1 to"},
    {OPTION("max_iterations=-5"), "-5 is not from 1 to"},
    {OPTION("max_iterations=99999999999"), "99999999999 is not from 1 to"},
    {OPTION("max_iterations=1.5"), "max_iterations"},
    {OPTION("damping=-0.5"), "-0.5 is negative"},
    {OPTION("damping=1e999"), ""},
    {OPTION("quota=1.5"), "1.5 is not from 0 to 1"},
    {OPTION("quota=-0.1"), "-0.1 is not from 0 to 1"},
    {OPTION("keep=1.5"), "1.5 is not from 0 to 1"},
    {OPTION("keep=-0.1"), "-0.1 is not from 0 to 1"},
    {OPTION("batch=0"), "0 is less than 1"},
    {OPTION("batch=-8"), "-8 is less than 1"},
    {OPTION("method=newton"), "newton"},
    {OPTION("robust=yes"), "must be one of none, student_t"},
    {OPTION("reference=nowhere"), "there is no station 'nowhere'"},
    {OPTION("method=stefcal, errors=true"), "stefcal supports neither errors nor outliers"},
    {OPTION("min_baseline=3s"), "must be a length such as 100m, or a number of wavelengths"},
    {OPTION("min_baseline=-3m"), "must be a length"},
    {OPTION("max_baseline=1i"), ""},
    {TREE "fit = solve(V / 1Jy, T[p] * T[q]^H, max_baseline=100m)\n",
     "the data have no uvw, which give the lengths of baselines"},
    {TREE "b = spoil(obs)\nfit = solve(V, D * b.value, min_baseline=2km, max_baseline=1km)\n",
     "it is longer than max_baseline"},
    /* methods */
    {OPTION("method=stefcal, compress=false"), "stefcal is not possible: compress=false"},
    {TREE "x[p] = parm(\"x\", init=0)\n"
          "fit = solve(V * exp(1i * (x[p] - x[q])), D, method=stefcal)\n",
     "stefcal is not possible"},
    {"G[p] = parm(\"G\", jones=rotation)\nfit = solve(G[p] * M[p,q] * G[q]^H, M, method=stefcal)\n",
     "stefcal is not possible: it requires Jones terms that are the numbers of one parm each"},
    /* calls */
    {TREE "fit = solve(V)\n", "data"},
    {"fit = solve()\n", "model"},
    {TREE "fit = solve(V, D, D)\n", ""},
    {TREE "fit = solve(obs, D)\n", ""},
    {TREE "fit = solve(V, D) + 1\n", ""},
};
enum { REFUSED = sizeof(refused) / sizeof(refused[0]) };

LOOP_TEST(refusals, 0, REFUSED)
{
    solve_world_refuse(&w, refused[_i].tree, refused[_i].says);
    ck_assert_ptr_null(w.session);
    if (getenv("SHOW")) {
        fprintf(stderr, "---- %d\n%s", _i, suite_messages(w.t.error));
    }
}

LOOP_TEST(other_observations, 0, 2)
{
    char *layout =
        strdup(testing_file(&w.t, "other.txt", "0 0 6378000\n100 0 6378000\n0 90 6378000\n"));
    solve_world_refuse(
        &w,
        suite_text(
            "o2 = observe(array=\"%s\", phase_centre=\"05h00m00s 45d00m00s\", hour_angle=0h..1h, "
            "integration=10min, channels=2)\nG[p] = parm(\"G\", obs=%s, jones=diagonal, "
            "time=4min)\n"
            "fit = solve(%s, noise(o2, sigma=1Jy))\n",
            layout, _i == 0 ? "obs" : "o2",
            _i == 0 ? "G[p] * M[p,q] * G[q]^H"
                    : "G[p] * noise(o2, sigma=1Jy) * G[q]^H + 0 * M[p,q]"),
        "has the time axis of");
    free(layout);
}

/* ---- during the run ---- */

static const struct {
    const char *tree, *says;
} failing[] = {
    {TREE "b = spoil(obs, first_time=0)\nfit = solve(V, D * b.value)\n",
     "there is nothing to fit to: of 6 solution domains 6 not enough data"},
    {TREE "b = spoil(obs, nan=1)\nfit = solve(V, D * b.value)\n",
     "there is nothing to fit to: of 6 solution domains 6 not enough data"},
    {TREE "fit = solve(V, D, weights=0)\n",
     "there is nothing to fit to: of 6 solution domains 6 not enough data"},
    {TREE "fit = solve(V, D, weights=-1)\n",
     "there is nothing to fit to: of 6 solution domains 6 not enough data"},
    {TREE "b = spoil(obs)\nfit = solve(V, D * b.value, min_baseline=1000km)\n",
     "there is nothing to fit to: of 6 solution domains 6 not enough data"},
    /* models that are no numbers */
    {"G[p] = parm(\"G\", jones=scalar, init=0)\nfit = solve(G[p]^-1 * M[p,q] * G[q]^-1^H, M)\n",
     "there is nothing to fit to: of 1 solution domains 1 not enough data (data are flagged, "
     "without weight, left out or 0, or data or model are not finite)"},
};
enum { FAILING = sizeof(failing) / sizeof(failing[0]) };

/* The run fails, and what was fitted or kept before is not of it: no commit. */
LOOP_TEST(failures, 0, 2 * FAILING)
{
    const char *way = _i / FAILING ? ", compress=false)\n" : ")\n";
    const char *tree = failing[_i % FAILING].tree;
    solve_world_refuse(&w, suite_text("%.*s%s", (int)strlen(tree) - 2, tree, way),
                       failing[_i % FAILING].says);
    ck_assert_ptr_nonnull(w.session);
}

/* No station has observed anything. */
LOOP_TEST(zero_data, 0, 2)
{
    solve_world_refuse(&w,
                       suite_text(TREE "fit = solve(V, 0 * D%s)\n", _i ? ", compress=false" : ""),
                       "there is nothing to fit to: of 6 solution domains 6 not enough data");
}

/* A model whose derivatives are zero where it starts is no success. */
LOOP_TEST(zero_derivatives, 0, 2)
{
    solve_world_refuse(&w,
                       suite_text("G[p] = parm(\"G\", jones=diagonal, init=0)\n"
                                  "fit = solve(G[p] * M[p,q] * G[q]^H, M%s)\n"
                                  "k = keep(G)\n",
                                  _i ? ", compress=false, method=lm" : ", method=lm"),
                       "there is no solution: of 1 solution domain 1 singular");
    for (int64_t i = 0; i < solve_world_kept[0].cells * 2; i++)
        ck_assert(solve_world_kept[0].at[i] == 0);
}

/* The share of baselines of stations that the model has, of those that are not flagged. */
static double share_of_model(const solve_kept *c)
{
    int kept = 0, all = 0;

    ck_assert_int_eq(c->cells, 12 * 8 * 6);
    for (int t = 0; t < 12; t++)
        for (int p = 0; p < 8; p++)
            for (int q = p + 1; q < 8; q++) {
                bool flagged = p == 3 || q == 3;
                all += !flagged;
                kept += !flagged && creal(c->at[(t * 8 + p) * 6]) > 0 &&
                        creal(c->at[(t * 8 + q) * 6]) > 0;
            }
    return (double)kept / all;
}

/* A model that some stations have not, other ones in each domain: the run fails where less than
 * half of the data would keep a solution, or as much as is asked for. What has no data to lose does
 * not count. */
LOOP_TEST(few_keep_a_solution, 0, 128)
{
    static const char *const ways[] = {"", "method=lm, ", "compress=false, ", "unsolved=nan, "};
    static const double keeps[] = {0.5, 0, 1, 0.3};
    double keep = keeps[_i / 4 % 4];
    int seed = 1 + _i / 16 % 4;
    char *text = suite_text(
        "c = draw(obs, complex=false, spread=1, times=2, seed=%d).value\nd[p] = c[p] + %g\n"
        "m[p] = d[p] + abs(d[p])\nb = spoil(obs, station=3)\nk = keep(d)\n"
        "G[p] = parm(\"G\", jones=diagonal, time=4min)\n"
        "fit = solve(G[p] * m[p] * M[p,q] * m[q] * G[q]^H, M * b.value, %skeep=%g)\n",
        seed, seed / 4.0 - 0.4, ways[_i % 4], keep);

    const grove_session_options how =
        GROVE_SESSION_OPTIONS(.device = "cpu", .double_precision = true,
                              .tile_times = _i / 64 ? 5 : 0);
    int code = solve_world_run(&w, text, &how);
    if (_i / 64) { /* again, in tiles of which one fits at most */
        grove_error_clear(w.t.error);
        w.session->budget = w.session->memory = 1 << 10;
        code = grove_session_run(w.session);
    }
    double share = share_of_model(&solve_world_kept[0]);
    char *messages = suite_messages(w.t.error),
         *said =
             suite_text(": %.3g %% of the unflagged data would keep a solution, less", 100 * share);
    ck_assert_msg(!code == (share > 0 && share >= keep), "%g, %s", share, messages);
    ck_assert_msg(!code || strstr(messages, share > 0 ? said : "there is no solution"),
                  "%s, not %s", messages, said);
}

/* Few steps: said so, and the best point so far is kept. */
TEST(step_limit)
{
    solve_world_pass(&w, TREE "k0 = keep(V - D)\nfit = solve(V, D, max_iterations=1, method=lm)\n"
                              "k1 = keep(V - D, number=1)\n");
    ck_assert_msg(strstr(solve_world_said, "6 iteration limit") != NULL, "%s", solve_world_said);
    double before = 0, after = 0;
    for (int64_t i = 0; i < solve_world_kept[0].cells * 4; i++) {
        before += pow(cabs(solve_world_kept[0].at[i]), 2);
        after += pow(cabs(solve_world_kept[1].at[i]), 2);
    }
    ck_assert_double_lt(after, before);
}

/* ---- Ctrl-C ---- */

/* In one tile: no further step is taken. */
LOOP_TEST(interrupted_between_steps, 0, 2)
{
    char *text = suite_text(TREE "b = spoil(obs)\n"
                                 "fit = solve(V, D * b.value, compress=false%s)\n",
                            _i ? ", method=block" : "");

    solve_world_interrupt = 1;
    ck_assert_int_eq(solve_world_run(&w, text, NULL), GROVE_INTERRUPTED);
    uint64_t calls = w.session->nodes[testing_node(&w.t, "V")->id].calls;
    ck_assert_msg(calls <= 1, "%d", (int)calls);
    grove_interrupt_set(false);
    solve_world_interrupt = 0;
    ck_assert_int_eq(grove_session_run(w.session), 0);
    ck_assert_int_gt((int)w.session->nodes[testing_node(&w.t, "V")->id].calls, 3);
}

/* In the middle of a solution: the weights of the second tile are read while the first is fitted,
 * or in it. */
LOOP_TEST(interrupted, 0, 6)
{
    static const char *const ways[] = {"", ", compress=false", ", method=block, compress=false"};
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.device = "cpu", .double_precision = true, .threads = 1,
                              .tile_times = 2, .serial = _i > 2);
    char *text = suite_text(TREE "b = spoil(obs)\nfit = solve(V, D * b.value, batch=1%s)\n"
                                 "k = keep(G)\n",
                            ways[_i % 3]);

    solve_world_interrupt = 3;
    ck_assert_int_eq(solve_world_run(&w, text, &options), GROVE_INTERRUPTED);
    ck_assert_int_eq(solve_world_kept[0].cells, 0); /* nothing came after */
    ck_assert_int_lt(solve_world_reads[0], 6);
    /* and the same session goes on when asked to */
    grove_interrupt_set(false);
    solve_world_interrupt = 0;
    ck_assert_int_eq(grove_session_run(w.session), 0);
    ck_assert_msg(strstr(solve_world_said, "6 solution domains") != NULL, "%s", solve_world_said);
}

/* Coefficients without a solution: start values, or no numbers; all others are the same. */
LOOP_TEST(unsolved, 0, 8)
{
    static const char *const ways[] = {"", ", method=lm", ", compress=false", ", batch=1"};
    static const char *const runs[] = {"", "run fit, k [cycles=2]\n"};
    const solve_kept *kept = solve_world_kept;
    int64_t missing = 0;

    for (int nan = 0; nan < 2; nan++) {
        /* station 3 has no data, and nobody has from time 8 on */
        char *text =
            grove_format("T[p] = draw(obs, shape=diagonal, around=1, times=2).value\n"
                         "b = spoil(obs, station=3, first_time=8)\n"
                         "G[p] = parm(\"G\", jones=diagonal, time=4min)\n"
                         "D[p,q] = (T[p] * M[p,q] * T[q]^H + noise(obs, sigma=1Jy)) * b.value\n"
                         "fit = solve(G[p] * M[p,q] * G[q]^H, D, unsolved=%s%s)\n"
                         "k = keep(G + 0 * obs.freq / 1Hz, number=%d)\n%s",
                         nan ? "nan" : "keep", ways[_i % 4], nan, runs[_i / 4]);
        solve_world_pass(&w, text);
        free(text);
    }
    ck_assert_int_eq(kept[1].cells, kept[0].cells);
    for (int64_t i = 0; i < kept[0].cells * 2; i++) {
        int64_t t = i / 2 / kept[0].size[2] / kept[0].size[1],
                station = i / 2 / kept[0].size[2] % kept[0].size[1];
        bool is_missing = t >= 8 || station == 3;
        ck_assert_msg(is_missing ? isnan(creal(kept[1].at[i])) : kept[1].at[i] == kept[0].at[i],
                      "time %d, station %d: %g, %g", (int)t, (int)station, creal(kept[0].at[i]),
                      creal(kept[1].at[i]));
        ck_assert(isfinite(cabs(kept[0].at[i])));
        missing += is_missing;
    }
    ck_assert_int_gt(missing, 0);
}

SUITE(60, setup, teardown)
