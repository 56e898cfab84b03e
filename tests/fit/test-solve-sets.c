/* Fits to Measurement Sets, with sinks of residual and corrected columns in the same tree. */
#include "solve-world.h"

#include "base/log.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static solve_world w;
static char *set;

/* A set with gains in its data, some flagged. */
static void setup(void)
{
    grove_interrupt_set(false);
    solve_world_begin(&w);
    w.observe = ", autocorrelations=true";
    set = grove_format("%s/sim.ms", w.t.folder);
    solve_world_pass(&w,
                     suite_text("T[p] = draw(obs, shape=diagonal, times=2, around=1).value\n"
                                "b = spoil(obs, share=0.1, station=5, autocorrelations=50)\n"
                                "write = sink(T[p] * M[p,q] * T[q]^H * b.value, obs, to=\"%s\")\n",
                                set));
}

static void teardown(void)
{
    grove_interrupt_set(false);
    solve_world_end(&w);
    free(set);
}

static const grove_session_options ways[] = {
    TESTING_OPTIONS(.device = "cpu", .double_precision = true),
    TESTING_OPTIONS(.device = "cpu", .double_precision = true, .tile_times = 3, .threads = 3),
    TESTING_OPTIONS(.device = "cpu", .tile_times = 2, .tile_channels = 2, .tile_baselines = 5),
};

/* What stands in a column, as keep(number=0), and what should, as number 1. */
static void read_column(const char *column, const char *should)
{
    solve_world_pass(
        &w,
        suite_text(
            "o = ms(\"%s\", column=\"%s\", autocorrelations=false)\nP[p,q] = sum[s](point(S, o))\n"
            "k0 = keep(o.data)\nk1 = keep(%s, number=1)\n",
            set, column, should));
}

/* Largest difference where nothing is flagged, and how many are not. */
static double difference(int64_t *count)
{
    const solve_kept *a = &solve_world_kept[0], *b = &solve_world_kept[1];
    double largest = 0;

    *count = 0;
    ck_assert_int_eq(a->cells, b->cells);
    for (int64_t i = 0; i < a->cells * 4; i++)
        if (!a->flags[i / 4]) {
            largest = fmax(largest, cabs(a->at[i] - b->at[i]));
            ++*count;
        }
    return largest;
}

static char *calibration(const char *options)
{
    return suite_text(
        "o = ms(\"%s\", column=\"DATA\")\nG[p] = parm(\"G\", obs=o, jones=diagonal, time=4min)\n"
        "P[p,q] = sum[s](point(S, o))\nV[p,q] = G[p] * P[p,q] * G[q]^H\n"
        "fit = solve(V, o.data, parms=G, tolerance=1e-7%s)\n"
        "w1 = sink(o.data - V, o, column=\"RESIDUAL_DATA\")\n"
        "w2 = sink(G[p]^-1 * o.data * G[q]^-1^H, o, column=\"CORRECTED_DATA\")\n"
        "k = keep(G, number=2)\n",
        set, options);
}

LOOP_TEST(calibrated, 0, 12)
{
    static const char *const options[] = {"", ", compress=false", ", min_baseline=60m",
                                          ", min_baseline=20, compress=false"};
    char *text = calibration(options[_i % 4]);
    int64_t count;

    ck_assert_int_eq(solve_world_run(&w, text, &ways[_i / 4]), 0);
    ck_assert_msg(strstr(solve_world_said, "6 solution domains: 6 converged") != NULL, "%s",
                  solve_world_said);
    for (int64_t i = 0; i < solve_world_kept[2].cells; i++)
        if (i % 8 == 5)
            ck_assert(solve_world_kept[2].at[2 * i] == 1);
    read_column("RESIDUAL_DATA", "0 * P");
    double residual = difference(&count);
    ck_assert_msg(residual < 2e-4 && count > 4 * 1000 && count < 4 * 12 * 21 * 6, "%g %d", residual,
                  (int)count);
    read_column("CORRECTED_DATA", "P");
    double corrected = difference(&count);
    ck_assert_msg(corrected < 2e-4 && count > 4 * 1000, "%g", corrected);
    /* the data are as before */
    read_column("DATA", "P");
    ck_assert_double_gt(difference(&count), 1);
}

/* Weights of a set, which differ from sample to sample, count in a fit to its data. */
LOOP_TEST(weights_of_the_set, 0, 2)
{
    static const char *const weights[] = {"", ", weights=o.weight", ", weights=1"};
    solve_world_pass(&w, suite_text("b = spoil(obs, weights=unequal)\n"
                                    "write = sink(M[p,q] + noise(obs, sigma=2Jy), obs, to=\"%s\", "
                                    "weight=b.weight, overwrite=true)\n",
                                    set));
    for (int k = 0; k < 3; k++) {
        solve_world_pass(
            &w, suite_text("o = ms(\"%s\")\nG[p] = parm(\"G\", obs=o, jones=amplitude)\n"
                           "P[p,q] = sum[s](point(S, o))\n"
                           "fit = solve(G[p] * P[p,q] * G[q]^H, o.data, tolerance=1e-10%s%s)\n"
                           "k = keep(G, number=%d)\n",
                           set, weights[k], _i ? ", compress=false" : "", k));
    }
    ck_assert_double_lt(solve_world_distance(0, 1), 1e-9);
    ck_assert_double_gt(solve_world_distance(0, 2), 1e-4);
}

/* Weights of corrected data are written into the set, with or without a spectrum of its own, where
 * another sink writes its flags; and read back. */
LOOP_TEST(corrected_weights, 0, 6)
{
    const grove_session_options read =
        GROVE_SESSION_OPTIONS(.device = "cpu", .double_precision = true);
    char *text = suite_text("b = spoil(obs, weights=unequal)\n"
                            "write = sink(M[p,q], obs, to=\"%s\", weight=b.weight, "
                            "overwrite=true)\n",
                            set);

    if (_i / 3)
        solve_world_pass(&w, text);
    const char *weight = "real(G[p] * G[p]^H * (0.5 * o.weight) * G[q] * G[q]^H)";
    ck_assert_int_eq(
        solve_world_run(
            &w,
            suite_text("o = ms(\"%s\")\nG[p] = draw(o, shape=diagonal, times=2, around=1).value\n"
                       "w1 = sink(G[p]^-1 * o.data * G[q]^-1^H, o, column=\"CORRECTED_DATA\", "
                       "weight=%s)\n"
                       "w2 = sink(2 * o.data, o, column=\"DOUBLE\", flags=write)\n"
                       "k1 = keep(%s, number=1)\nk2 = keep(2 * o.data, number=2)\n",
                       set, weight, weight),
            &ways[_i % 3]),
        0);
    ck_assert_int_eq(
        solve_world_run(&w,
                        suite_text("o = ms(\"%s\", column=\"DOUBLE\")\nk0 = keep(o.weight)\n"
                                   "k3 = keep(o.data, number=3)\n",
                                   set),
                        &read),
        0);
    ck_assert_int_gt(solve_world_kept[0].cells, 0);
    ck_assert_double_lt(solve_world_distance(0, 1), 1e-5);
    ck_assert_double_lt(solve_world_distance(2, 3), 1e-5);
}

/* One sink writes the weights of rows. */
TEST(weights_twice)
{
    solve_world_refuse(&w,
                       suite_text("o = ms(\"%s\")\n"
                                  "w1 = sink(o.data, o, column=\"A\", weight=o.weight)\n"
                                  "w2 = sink(o.data, o, column=\"B\", weight=o.weight)\n",
                                  set),
                       "weights of its rows are being written already; use only one sink for them");
}

/* A fit that fails, or is stopped, writes no column. */
LOOP_TEST(nothing_written, 0, 2)
{
    grove_session_options options = ways[1];
    char *text, *all;

    if (_i) {
        text = calibration(", quota=0.99");
        ck_assert_int_ne(solve_world_run(&w, text, &options), 0);
    } else {
        text = calibration(", batch=1");
        all = suite_text("%sx = spoil(o)\nk4 = keep(x.value * o.data, number=3)\n", text);
        solve_world_interrupt = 2;
        memset(solve_world_reads, 0, sizeof(solve_world_reads));
        ck_assert_int_ne(solve_world_run(&w, all, &options), 0);
        grove_interrupt_set(false);
    }
    for (int k = 0; k < 2; k++) {
        solve_world_refuse(&w,
                           suite_text("o = ms(\"%s\", column=\"%s\")\nk0 = keep(o.data)\n", set,
                                      k ? "RESIDUAL_DATA" : "CORRECTED_DATA"),
                           k ? "RESIDUAL_DATA" : "CORRECTED_DATA");
    }
}

SUITE(60, setup, teardown)
