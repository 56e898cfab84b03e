/* Fits on emulated devices: the same solutions as on the cpu. */
#include "solve-world.h"
#include "tests/common/cuda-testing.h"

#include "base/text.h"
#include "run/state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static solve_world w;

static void setup(void)
{
    solve_world_begin(&w);
    cuda_testing_begin(); /* watches messages */
    cuda_testing_reset(0);
}

static void teardown(void)
{
    solve_world_end(&w);
}

#define TURNS "jones=diagonal, time=4min)\nB[p] = parm(\"B\", jones=diagonal, freq=4MHz"

static const struct {
    const char *parm, *options;
} fits[] = {
    {"jones=diagonal, time=4min", ""},
    {"jones=diagonal, time=4min", ", method=lm"},
    {"jones=diagonal, time=4min", ", compress=false"},
    {"jones=full, time=8min, freq=4MHz", ", compress=false"},
    {"jones=delay, time=4min", ""},
    {"jones=phase, time=8min, degree=1", ", compress=false"},
    {TURNS, ", method=alternating"},
    {TURNS, ", method=alternating, compress=false"},
};
enum { FITS = sizeof(fits) / sizeof(fits[0]) };

static const struct {
    const char *device;
    int64_t times;
    bool single;
} ways[] = {{"cuda", 0, false}, {"cuda:all", 2, false}, {"cuda", 4, true}};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

static const char *model_of(int fit)
{
    return strstr(fits[fit].parm, "B[p]") ? "B[p] * G[p] * M[p,q] * G[q]^H * B[q]^H"
                                          : "G[p] * M[p,q] * G[q]^H";
}

LOOP_TEST(as_on_the_cpu, 0, FITS *WAYS)
{
    char *texts[2];
    bool single = ways[_i % WAYS].single;
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.device = "cpu", .double_precision = !single, .threads = 1);

    if (cuda_testing_control())
        cuda_testing_control()->devices = 2;
    for (int k = 0; k < 2; k++) {
        texts[k] =
            grove_format("T[p] = draw(obs, shape=diagonal, times=2, around=1).value\n"
                         "G[p] = parm(\"G\", %s)\nV[p,q] = %s\n"
                         "D[p,q] = T[p] * M[p,q] * T[q]^H + noise(obs, sigma=1Jy)\n"
                         "fit = solve(V, D, tolerance=1e-10, max_iterations=200, batch=1%s)\n"
                         "k0 = keep(V, number=%d)\n",
                         fits[_i / WAYS].parm, model_of(_i / WAYS), fits[_i / WAYS].options, k);
        ck_assert_int_eq(solve_world_run(&w, texts[k], &options), 0);
        options.device = cuda_testing_device(ways[_i % WAYS].device);
        options.tile_times = ways[_i % WAYS].times;
        free(texts[k]);
    }
    ck_assert_int_gt((int64_t)grove_session_counters(w.session)->launches, 10);
    /* visibilities of some 10 Jy */
    ck_assert_msg(solve_world_distance(0, 1) < (single ? 1e-3 : 1e-6), "%s%s on %s: %g",
                  fits[_i / WAYS].parm, fits[_i / WAYS].options, ways[_i % WAYS].device,
                  solve_world_distance(0, 1));
}

/* All data of a station are 0: it keeps what it starts from. */
LOOP_TEST(station_of_zeros, 0, 3)
{
    static const char *const each[] = {"", ", method=lm", ", compress=false"};
    const grove_session_options options =
        GROVE_SESSION_OPTIONS(.device = cuda_testing_device("cuda"), .double_precision = true);
    ck_assert_int_eq(
        solve_world_run(
            &w,
            suite_text("T[p] = draw(obs, shape=diagonal, around=1).value\n"
                       "a[p] = 1 - exp(-1e4 * (obs.station_index - 2)^2)\n"
                       "G[p] = parm(\"G\", jones=diagonal, init=0.9)\n"
                       "fit = solve(G[p] * M[p,q] * G[q]^H, a[p] * T[p] * M[p,q] * T[q]^H * "
                       "a[q], tolerance=1e-12, max_iterations=200%s)\n"
                       "k0 = keep(G[p] + 0 * obs.freq / 1Hz + 0 * obs.time / 1s)\n"
                       "k1 = keep(T, number=1)\n",
                       each[_i]),
            &options),
        0);
    ck_assert_int_gt((int64_t)grove_session_counters(w.session)->launches, 10);
    const solve_kept *found = &solve_world_kept[0];
    ck_assert(found->at[2 * found->elements * found->size[2]] == 0.9);
    solve_world_align(0, 1, 2);
    ck_assert(solve_world_distance_without(0, 1, 2) < 1e-6);
}

/* In single precision, data that are much larger than the model at the start still say something
 * of it. */
LOOP_TEST(large_data, 0, 2)
{
    const grove_session_options options =
        GROVE_SESSION_OPTIONS(.device = cuda_testing_device(_i ? "cuda" : "cpu"), .threads = 1);

    ck_assert_int_eq(
        solve_world_run(&w,
                        "F = parm(\"F\", init=1)\nV[p,q] = F * M[p,q]\nD[p,q] = 1e7 * M[p,q]\n"
                        "fit = solve(V, D, method=lm, compress=false)\n"
                        "k0 = keep(V, number=0)\nk1 = keep(D, number=1)\n",
                        &options),
        0);
    /* visibilities of some 1e8 Jy */
    ck_assert_double_lt(solve_world_distance(0, 1), 1e3);
}

/* One device, two and three: the same bits. */
LOOP_TEST(any_number_of_devices, 0, FITS)
{
    const grove_session_options options =
        GROVE_SESSION_OPTIONS(.device = cuda_testing_device("cuda:all"), .double_precision = true,
                              .threads = 1, .tile_times = 2);

    for (int devices = 1; devices < 4 && cuda_testing_control(); devices++) {
        cuda_testing_control()->devices = devices;
        ck_assert_int_eq(
            solve_world_run(&w,
                            suite_text("T[p] = draw(obs, shape=diagonal, times=2, around=1).value\n"
                                       "G[p] = parm(\"G\", %s)\nV[p,q] = %s\n"
                                       "D[p,q] = T[p] * M[p,q] * T[q]^H + noise(obs, sigma=1Jy)\n"
                                       "fit = solve(V, D, batch=2%s)\nk0 = keep(G, number=%d)\n",
                                       fits[_i].parm, model_of(_i), fits[_i].options, devices > 1),
                            &options),
            0);
        ck_assert(devices == 1 || solve_world_distance(0, 1) == 0);
    }
}

/* Domains of more times than a tile has: the same solutions as in memory. Tiles of 4 times end
 * where intervals do, those of 5 within them. */
LOOP_TEST(in_parts, 0, 4)
{
    int fit = FITS - 2 + _i % 2;
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.device = cuda_testing_device("cuda"), .double_precision = true,
                              .threads = 1, .tile_times = 4 + _i / 2);

    for (int k = 0; k < 2; k++) {
        char *text =
            grove_format("T[p] = draw(obs, shape=diagonal, times=2, around=1).value\n"
                         "G[p] = parm(\"G\", %s)\nV[p,q] = %s\n"
                         "D[p,q] = T[p] * M[p,q] * T[q]^H + noise(obs, sigma=1Jy)\n"
                         "fit = solve(V, D, tolerance=1e-10, max_iterations=200, batch=1%s)\n"
                         "k0 = keep(V, number=%d)\n",
                         fits[fit].parm, model_of(fit), fits[fit].options, k);
        ck_assert_int_eq(solve_world_run(&w, text, &options), 0);
        free(text);
    }
    w.session->budget = w.session->memory = 1 << 10;
    grove_plan plan = GROVE_PLAN();
    ck_assert_int_eq(grove_session_plan(w.session, &plan), 0);
    ck_assert_int_eq(plan.parts, 3);
    ck_assert_int_eq(grove_session_run(w.session), 0);
    ck_assert_msg(solve_world_distance(0, 1) < 1e-6, "%g", solve_world_distance(0, 1));
    ck_assert_int_gt((int64_t)grove_session_counters(w.session)->launches, 10);
}

CUDA_SUITE(120, setup, teardown)
