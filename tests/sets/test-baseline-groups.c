/* Sets whose baselines have times of their own: those of the same times are neighbours in values.
 */
#include "tests/common/foreign-sets.h"
#include "tests/common/probe.h"

#include "base/memory.h"
#include "base/text.h"
#include "nodes/sets/measurement_set.h"

#include <stdlib.h>
#include <string.h>

enum { CHANNELS = 3, BASELINES = 21, TIMES = 6, ROWS = BASELINES * TIMES };

TESTING_FIXTURE(probe_begin(&t))

/* The set full.ms, and sets with the same rows at 3, 5 and 10 offsets of time: the last are too
 * many for groups. */
static void make_sets(void)
{
    const char *source = getenv("GROVE_SOURCE") ? getenv("GROVE_SOURCE") : ".";
    char *text =
        grove_format("obs = observe(array=\"%s/data/arrays/kat-7.array\", hour_angle=-30s..30s, "
                     "integration=10s, phase_centre=\"0deg -30deg\", frequency=1.4GHz, "
                     "channels=%d, channel_width=1MHz)\nV[p,q] = noise(obs, sigma=1Jy)\n",
                     source, CHANNELS);

    for (int k = 0; k < 4; k++) {
        static const int offsets[] = {1, 3, 5, 10};
        char *path = suite_text("%s/by-%d.ms", t.folder, offsets[k]);
        testing_tree(&t, suite_text("%sw = sink(V, obs, to=\"%s\")\n", text, path));
        ck_assert(!probe_run(&t, NULL));
        if (k)
            foreign_offsets(path, BASELINES, offsets[k]);
    }
    free(text);
}

static grove_ms *open_set(const char *name)
{
    grove_ms *ms = grove_ms_open(suite_text("%s/%s", t.folder, name),
                                 &(grove_ms_part){.cross_only = true}, t.error);

    ck_assert_msg(ms != NULL, "%s", grove_error_message(t.error, 0));
    return ms;
}

/* Runs of rows that follow each other, in all times together. */
static int count_runs(const unsigned char *missing, const grove_ms_layout *layout)
{
    int runs = 0;

    for (int64_t time = 0; time < layout->times; time++)
        for (int64_t b = 0; b < layout->baselines; b++) {
            const unsigned char *at = missing + time * layout->baselines + b;
            runs += !*at && (b == 0 || at[-1]);
        }
    return runs;
}

/* The place of two stations among the baselines. */
static int64_t baseline_of(const grove_ms_layout *layout, int p, int q)
{
    int64_t b = 0;

    while (b < layout->baselines && (layout->antenna1[b] != p || layout->antenna2[b] != q))
        b++;
    ck_assert_int_lt(b, layout->baselines);
    return b;
}

/* Baselines of one offset stand together, where that makes few groups, and each row has its own
 * numbers. */
LOOP_TEST(neighbours, 0, 3)
{
    static const struct {
        int offsets, runs;
    } sets[] = {{3, TIMES * 3}, {5, TIMES * 5}, {10, ROWS}};
    const int offsets = sets[_i].offsets;
    char *name = suite_text("by-%d.ms", offsets);
    const size_t row = 2 * 4 * CHANNELS;
    float *whole = grove_alloc(ROWS * row * sizeof(*whole)),
          *data = grove_alloc((size_t)offsets * ROWS * row * sizeof(*data));
    unsigned char *missing = grove_alloc((size_t)offsets * ROWS);

    make_sets();
    grove_ms *full = open_set("by-1.ms");
    const grove_ms_layout *from = grove_ms_layout_of(full);
    grove_ms_block all = {0, TIMES, 0, BASELINES, 0, CHANNELS, false};
    ck_assert(!grove_ms_read_data(full, "DATA", &all, whole, NULL, t.error));
    int left[BASELINES], right[BASELINES];
    memcpy(left, from->antenna1, sizeof(left));
    memcpy(right, from->antenna2, sizeof(right));
    grove_ms_close(full); /* sets that are open have one order */

    grove_ms *ms = open_set(name);
    const grove_ms_layout *layout = grove_ms_layout_of(ms);
    ck_assert_int_eq(layout->times, offsets * TIMES);
    ck_assert_int_eq(layout->rows, ROWS);
    all.times = layout->times;
    ck_assert(!grove_ms_read_data(ms, "DATA", &all, data, NULL, t.error));
    ck_assert(!grove_ms_find_missing(ms, &all, missing, t.error));
    ck_assert_int_eq(count_runs(missing, layout), sets[_i].runs);
    for (int time = 0; time < TIMES; time++)
        for (int b = 0; b < BASELINES; b++) {
            const int64_t slot = time * offsets + b % offsets;
            const int64_t at = slot * BASELINES + baseline_of(layout, left[b], right[b]);
            ck_assert(!missing[at]);
            ck_assert_mem_eq(data + (size_t)at * row, whole + (size_t)(time * BASELINES + b) * row,
                             row * sizeof(*data));
        }
    grove_ms_close(ms);
    free(missing);
    free(data);
    free(whole);
}

/* Values of two sets with the same baselines meet, whatever the times of these, and whichever of
 * them is opened first. */
LOOP_TEST(two_sets, 0, 4)
{
    static const char *const pairs[][2] = {
        {"by-1", "by-3"}, {"by-3", "by-1"}, {"by-3", "by-5"}, {"by-5", "by-3"}};
    const grove_session_options options =
        GROVE_SESSION_OPTIONS(.device = "cpu", .double_precision = true);
    unsigned char *flags;

    make_sets();
    testing_tree(&t, suite_text("a = ms(\"%s/%s.ms\")\nb = ms(\"%s/%s.ms\")\n"
                                "D = mean(a.data, over=time) - mean(b.data, over=time)\n"
                                "N = mean(a.data, over=time)\nw = print(D)\nx = print(N)\n",
                                t.folder, pairs[_i][0], t.folder, pairs[_i][1]));
    testing_value value = probe_session(&t, "D", &options, &flags);
    ck_assert_uint_eq(value.cells, BASELINES * CHANNELS);
    for (size_t i = 0; i < (size_t)value.cells * 4; i++)
        ck_assert(!flags[i] && cabs(value.at[i]) < 1e-15);
    value = probe_session(&t, "N", &options, &flags);
    ck_assert(cabs(value.at[0]) > 1e-3);
}

/* A column that is written has each number in its own row, in a new set, too. */
TEST(columns)
{
    const size_t row = 2 * 4 * CHANNELS;
    float *data = grove_alloc(3 * ROWS * row * sizeof(*data)),
          *copy = grove_alloc(3 * ROWS * row * sizeof(*copy));

    make_sets();
    testing_tree(
        &t, suite_text("obs = ms(\"%s/by-3.ms\")\nw = sink(2 * obs.data, obs, column=\"TWICE\")\n"
                       "x = sink(2 * obs.data, obs, to=\"%s/new.ms\")\n",
                       t.folder, t.folder));
    ck_assert_msg(!probe_run(&t, NULL), "%s", grove_error_message(t.error, 0));
    for (int k = 0; k < 2; k++) {
        grove_ms *ms = open_set("by-3.ms"), *other = k ? open_set("new.ms") : NULL;
        grove_ms_block all = {0, 3 * TIMES, 0, BASELINES, 0, CHANNELS, false};
        ck_assert_int_eq(grove_ms_layout_of(other ? other : ms)->rows, ROWS);
        ck_assert(!grove_ms_read_data(ms, "DATA", &all, data, NULL, t.error));
        ck_assert(!grove_ms_read_data(other ? other : ms, k ? "DATA" : "TWICE", &all, copy, NULL,
                                      t.error));
        for (size_t i = 0; i < 3 * ROWS * row; i++)
            ck_assert(copy[i] == 2 * data[i]);
        grove_ms_close(other);
        grove_ms_close(ms);
    }
    free(copy);
    free(data);
}

/* A baseline has its own noise, wherever it stands: alone or beside a set with another order. */
TEST(noise_is_of_stations)
{
    const grove_session_options options =
        GROVE_SESSION_OPTIONS(.device = "cpu", .double_precision = true);
    testing_value noise[2], pair[2];

    make_sets();
    for (int k = 0; k < 2; k++) {
        unsigned char *flags;
        testing_tree(&t, suite_text("%s%s%sb = ms(\"%s/by-3.ms\")\n"
                                    "N = noise(b, sigma=1Jy)\nP = 1 * b.baseline\nw = print(N)\n"
                                    "x = print(P)\n",
                                    k ? "a = ms(\"" : "", k ? t.folder : "",
                                    k ? "/by-1.ms\")\ny = print(a.data)\n" : "", t.folder));
        noise[k] = probe_session(&t, "N", &options, &flags);
        pair[k] = probe_session(&t, "P", &options, &flags);
    }
    const size_t cell = 4 * CHANNELS;
    int moved = 0;
    for (int b = 0; b < BASELINES; b++) {
        int other = 0;
        while (other < BASELINES && (pair[1].at[2 * other] != pair[0].at[2 * b] ||
                                     pair[1].at[2 * other + 1] != pair[0].at[2 * b + 1]))
            other++;
        ck_assert_int_lt(other, BASELINES);
        moved += other != b;
        for (size_t time = 0; time < 3 * TIMES; time++)
            ck_assert_mem_eq(noise[0].at + (time * BASELINES + (size_t)b) * cell,
                             noise[1].at + (time * BASELINES + (size_t)other) * cell,
                             cell * sizeof(*noise[0].at));
    }
    ck_assert_int_gt(moved, 0);
    for (int k = 0; k < 2; k++) {
    }
}

SUITE(60, setup, teardown)
