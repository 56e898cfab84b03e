/* Skipped work: flagged samples and weak sources. */
#include "tests/common/grid.h"
#include "tests/common/probe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TESTING_FIXTURE(grid_begin(&t), probe_begin(&t))

enum { CELLS = PROBE_TIMES * PROBE_BASELINES * PROBE_CHANNELS };

static bool is_skipped(int cell)
{
    int channel = cell % PROBE_CHANNELS, baseline = cell / PROBE_CHANNELS % PROBE_BASELINES;
    int time = cell / PROBE_CHANNELS / PROBE_BASELINES;

    for (int e = 0; e < 4; e++)
        if (!probe_flagged(time, baseline, channel, e))
            return false;
    return true;
}

/* The same bits where something is wanted; elsewhere zero and flagged: by baselines, by stations
 * and source by source, with tiles of any size. */
LOOP_TEST(flagged_samples, 0, 6)
{
    static const char *const ways[] = {"smear=both", "left=J[s,p], right=J[s,q]^H",
                                       "left=diagonal(1, 2 * S.absolute_angle * obs.time / 1s)"};
    static const grove_session_options tiles[] = {
        TESTING_OPTIONS(.double_precision = true),
        TESTING_OPTIONS(.double_precision = true, .tile_times = 2, .tile_channels = 3,
                        .tile_baselines = 4)};
    char text[1024];
    unsigned char *flags;
    int skipped = 0;

    if (_i / 2 == 1) /* points, which go by stations */
        memset(field_now.shape, 0, sizeof(field_now.shape));
    snprintf(text, sizeof(text),
             "obs = probe()\nS = field()\n"
             "J[s,p] = complex(1 + 0.1 * S.absolute_angle, 0.05 * obs.station_index)\n"
             "x = predict(S, obs, %s)\n"
             "y = predict(S, obs, skip=obs.data, %s)\n",
             ways[_i / 2], ways[_i / 2]);
    testing_tree(&t, text);
    if (_i / 2 == 1)
        ck_assert(strstr(testing_node(&t, "y")->note, "stations") != NULL);
    testing_value x = probe_session(&t, "x", &tiles[0], NULL);
    testing_value y = probe_session(&t, "y", &tiles[_i % 2], &flags);
    ck_assert_int_eq(y.cells, CELLS);
    for (int i = 0; i < CELLS; i++)
        for (int e = 0; e < 4; e++) {
            double complex wanted = is_skipped(i) ? 0 : x.at[4 * i + e];
            ck_assert_msg(y.at[4 * i + e] == wanted, "%s: %d %d: %g%+gi, not %g%+gi", ways[_i / 2],
                          i, e, creal(y.at[4 * i + e]), cimag(y.at[4 * i + e]), creal(wanted),
                          cimag(wanted));
            ck_assert(flags[4 * i + e] == is_skipped(i));
            skipped += is_skipped(i);
        }
    ck_assert(skipped >= 4 * PROBE_CHANNELS);
}

/* Single channels of rows; the flags are those of what the option names. */
LOOP_TEST(flagged_channels, 0, 3)
{
    const grove_session_options options =
        GROVE_SESSION_OPTIONS(.double_precision = true, .tile_channels = _i);
    unsigned char *flags, *of_y;
    int skipped = 0;

    testing_tree(&t, "obs = probe()\nS = field()\nf = trace(obs.data)\n"
                     "x = predict(S, obs)\ny = predict(S, obs, skip=f)\n");
    testing_value f = probe_session(&t, "f", &options, &flags);
    testing_value x = probe_session(&t, "x", &options, NULL);
    testing_value y = probe_session(&t, "y", &options, &of_y);
    ck_assert_int_eq(f.cells, CELLS);
    for (int i = 0; i < CELLS; i++)
        for (int e = 0; e < 4; e++) {
            ck_assert(y.at[4 * i + e] == (flags[i] ? 0 : x.at[4 * i + e]));
            skipped += i && flags[i] != flags[i - 1];
        }
    ck_assert_int_gt(skipped, CELLS / 4);
}

static bool skips(const char *name)
{
    const grove_node *node = testing_node(&t, name);

    for (int k = 0; k < node->input_count; k++)
        if (!strcmp(node->input_names[k], "skip"))
            return node->inputs[k].node != NULL;
    return false;
}

/* What a sum over unflagged samples alone uses is not computed where the data are flagged; what
 * somebody else looks at is. */
TEST(sums_of_residuals)
{
    testing_tree(&t, "obs = probe()\nS = field()\nm = predict(S, obs)\n"
                     "r = norm(obs.data - rotation(0.1rad) * m)\n"
                     "n = predict(S, obs, smear=time)\n"
                     "d = norm(obs.data - n)\n"
                     "a = compare(mean(r, over=[time, baseline, freq]), 0Jy, print=false)\n"
                     "b = compare(mean(d, over=[time, baseline, freq]), 0Jy, print=false)\n"
                     "c = compare(n, n, print=false)\n");
    ck_assert(skips("m"));
    ck_assert(!skips("n"));
    ck_assert(strstr(testing_node(&t, "m")->fused, "not computed where") != NULL);
    testing_value fast = probe_session(&t, "r", NULL, NULL);
    testing_tree(&t, "obs = probe()\nS = field()\nm = predict(S, obs)\n"
                     "r = norm(obs.data - rotation(0.1rad) * m)\n");
    ck_assert(!skips("m"));
    testing_value all = probe_session(&t, "r", NULL, NULL);
    int differ = 0;
    for (int i = 0; i < CELLS; i++) {
        ck_assert(is_skipped(i) || fast.at[i] == all.at[i]);
        differ += fast.at[i] != all.at[i];
    }
    ck_assert_int_ge(differ, PROBE_CHANNELS);
}

TEST(weak_sources)
{
    const char *sky = testing_file(&t, "weak.skymodel",
                                   "FORMAT = Name, Type, Ra, Dec, I\n"
                                   "a, POINT, 12:00:00, 30.00.00, 2\n"
                                   "b, POINT, 12:00:10, 30.00.00, 0.009\n"
                                   "c, POINT, 12:00:20, 30.00.00, -0.5\n"
                                   "d, POINT, 12:00:30, 30.00.00, 0.01\n");
    char text[512];

    snprintf(text, sizeof(text), "S = sky_model(\"%s\", cutoff=10mJy)\nx = 1 * S.stokes\n", sky);
    testing_tree(&t, text);
    testing_value x = testing_evaluate(&t, "x");
    ck_assert_int_eq(x.cells, 3);
    ck_assert(x.at[0] == 2 && x.at[4] == -0.5 && x.at[8] == 0.01);
    ck_assert(strstr(testing_node(&t, "S")->note, "1 of 4 sources, together 0.009 Jy") != NULL);
}

/* With a cutoff a visibility lacks at most that fraction of the flux; the same bits for any tiles;
 * zero baselines lack nothing. */
LOOP_TEST(small_remainders, 0, 8)
{
    static const grove_session_options tiles[] = {
        TESTING_OPTIONS(.double_precision = true),
        TESTING_OPTIONS(.double_precision = true, .tile_times = 1, .tile_channels = 13,
                        .tile_baselines = 3)};
    static const double cutoffs[] = {1e-30, 0.05, 0.2, 0.9};
    char text[300];
    double flux = 0;
    int less = 0;

    grid_reset();
    for (int k = 0; k < grid_now.channels; k++)
        grid_now.width[k] = 2e7;
    for (int s = 0; s < field_now.sources; s++) {
        memset(field_now.spectrum[s], 0, sizeof(field_now.spectrum[s]));
        for (int k = 0; k < 4; k++)
            flux += fabs(field_now.stokes[s][k]);
    }
    if (_i / 4) /* no recurrence */
        grid_now.freq[1] += 3e5;
    snprintf(text, sizeof(text),
             "obs = grid()\nS = field()\nx = predict(S, obs, smear=both)\n"
             "y = predict(S, obs, smear=both, cutoff=%g)\n",
             cutoffs[_i % 4]);
    testing_tree(&t, text);
    testing_value x = probe_session(&t, "x", &tiles[0], NULL);
    testing_value y = probe_session(&t, "y", &tiles[0], NULL);
    testing_value z = probe_session(&t, "y", &tiles[1], NULL);
    for (int64_t i = 0; i < 4 * x.cells; i++) {
        int p, q;
        grid_pair((int)(i / 4 / grid_now.channels % GRID_BASELINES), &p, &q);
        double max = p == q ? 0 : cutoffs[_i % 4] * flux;
        ck_assert(y.at[i] == z.at[i]);
        ck_assert_msg(cabs(x.at[i] - y.at[i]) <= max + 1e-10, "%d: %g", (int)i,
                      cabs(x.at[i] - y.at[i]));
        less += cabs(x.at[i] - y.at[i]) > 1e-10;
    }
    ck_assert_int_eq(less > 0, _i % 4 > 0);
}

TEST(wrong_cutoff)
{
    const char *said = testing_faults(&t, "obs = grid()\nS = field()\n"
                                          "x = predict(S, obs, cutoff=1)\n");

    ck_assert_msg(strstr(said, "1 is not a fraction of a source") != NULL, "%s", said);
}

SUITE(60, setup, teardown)
