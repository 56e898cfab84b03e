/* compare: its results for values that are equal, close, different, flagged, not finite. */
#include "tests/common/probe.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TESTING_FIXTURE(probe_begin(&t))

/* What a run of `same = EXPRESSION` writes to standard output; until the next call. */
static const char *run(const char *expression, const grove_session_options *options, int *code)
{
    static char said[1024];
    testing_tree(&t, suite_text("obs = probe()\nbad = probe(spoil=true)\nsame = %s\n", expression));
    *code = probe_run_said(&t, options, said, sizeof(said));
    return said;
}

static void passes(const char *expression, const char *line)
{
    int code;
    const char *said = run(expression, NULL, &code);

    ck_assert_msg(code == 0, "%s: %s", expression, grove_error_message(t.error, 0));
    ck_assert_msg(!strcmp(said, line), "%s: '%s', not '%s'", expression, said, line);
}

static void fails(const char *expression, const char *message)
{
    int code;

    run(expression, NULL, &code);
    ck_assert_msg(code < 0, "%s passes", expression);
    ck_assert_int_eq(grove_error_count(t.error), 1);
    ck_assert_str_eq(grove_error_message(t.error, 0), message);
}

static void refused(const char *expression, const char *message)
{
    const char *said = testing_faults(&t, suite_text("obs = probe()\nsame = %s\n", expression));

    ck_assert_msg(strstr(said, message) != NULL, "%s: %s", expression, said);
}

/* Largest difference, sums of squares of it and of b, numbers and flagged ones when a is scale * b.
 */
typedef struct {
    double largest, difference, reference;
    int numbers, flagged;
} truth;

static truth data_against(double scale)
{
    truth all = {0};

    for (int i = 0; i < PROBE_TIMES; i++)
        for (int b = 0; b < PROBE_BASELINES; b++)
            for (int k = 0; k < PROBE_CHANNELS; k++)
                for (int e = 0; e < 4; e++) {
                    double size = cabs(probe_data(i, b, k, e)), off = fabs(scale - 1) * size;
                    if (probe_flagged(i, b, k, e)) {
                        all.flagged++;
                        continue;
                    }
                    all.numbers++;
                    all.largest = fmax(all.largest, off);
                    all.difference += off * off;
                    all.reference += size * size;
                }
    return all;
}

TEST(equal_values)
{
    truth all = data_against(1);
    char *line = suite_text("same: largest difference 0 Jy, rms 0 Jy, relative 0 (%d numbers, "
                            "%d flagged, 0 not finite)\n",
                            all.numbers, all.flagged);

    ck_assert(all.flagged > 100 && all.numbers > 500);
    passes("compare(obs.data, obs.data, tolerance=0)", line);
    passes("compare(obs.data, obs.data, tolerance=0, print=false)", "");
    /* flagged on one side alone */
    passes("compare(0 * obs.data + 1Jy * obs.weight, 1Jy * obs.weight, tolerance=0)", line);
    passes("compare(1Jy * obs.weight, 0 * obs.data + 1Jy * obs.weight, tolerance=0)", line);
}

/* The numbers of the line are those of direct sums, and decide. */
TEST(near_values)
{
    truth all = data_against(1.5);
    char *line = suite_text("same: largest difference %.3g Jy, rms %.3g Jy, relative %.3g (%d "
                            "numbers, %d flagged, 0 not finite)\n",
                            all.largest, sqrt(all.difference / all.numbers),
                            sqrt(all.difference / all.reference), all.numbers, all.flagged);

    ck_assert(strstr(line, "relative 0.5 ") != NULL);
    passes("compare(1.5 * obs.data, obs.data)", line);
    passes("compare(1.5 * obs.data, obs.data, tolerance=0.51)", line);
    fails("compare(1.5 * obs.data, obs.data, tolerance=0.49)",
          "compare: the relative difference is 0.5, above the tolerance of 0.49");
    fails("compare(0 * obs.data, obs.data, tolerance=0.99)",
          "compare: the relative difference is 1, above the tolerance of 0.99");
    fails("compare(obs.data, 0 * obs.data, tolerance=1e300)",
          "compare: the relative difference is inf, above the tolerance of 1e+300");
}

/* A value without an axis is compared with every cell along it. */
TEST(axes_of_one_side)
{
    double largest = 0, difference = 0, reference = 0;

    for (int i = 0; i < PROBE_TIMES; i++)
        for (int b = 0; b < PROBE_BASELINES; b++)
            for (int k = 0; k < PROBE_CHANNELS; k++)
                for (int e = 0; e < 4; e++) {
                    double x = probe_weight(i, b, k, e), y = probe_weight(i, b, 0, e);
                    largest = fmax(largest, fabs(x - y));
                    difference += (x - y) * (x - y);
                    reference += y * y;
                }
    int numbers = 4 * PROBE_TIMES * PROBE_BASELINES * PROBE_CHANNELS;
    char *line =
        grove_format("same: largest difference %.3g, rms %.3g, relative %.3g (%d numbers, "
                     "0 flagged, 0 not finite)\n",
                     largest, sqrt(difference / numbers), sqrt(difference / reference), numbers);
    passes("compare(obs.weight, select(obs.weight, axis=freq))", line);
    free(line);
}

/* Whatever the tiles are. */
TEST(compared_tile_by_tile)
{
    char whole[1024];
    int code;

    strcpy(whole, run("compare(obs.data, 0.75 * obs.data)", NULL, &code));
    for (int k = 1; k < 4; k++) {
        grove_session_options options =
            GROVE_SESSION_OPTIONS(.double_precision = true, .tile_times = k, .tile_channels = 4 - k,
                                  .tile_baselines = k, .threads = k);
        const char *said = run("compare(obs.data, 0.75 * obs.data)", &options, &code);
        ck_assert_msg(!strcmp(said, whole), "%s%s", said, whole);
    }
}

TEST(numbers_that_are_none)
{
    truth all = data_against(1);
    bool counts = !probe_flagged(0, 0, 0, 0);
    char *message = suite_text("compare: 1 of %d differences are not finite", all.numbers);
    char *line = suite_text("same: largest difference 0 Jy, rms 0 Jy, relative 0 (%d numbers, "
                            "%d flagged, 1 not finite)\n",
                            all.numbers, all.flagged);

    ck_assert(counts);
    fails("compare(bad.data, bad.data, tolerance=1)", message);
    passes("compare(bad.data, bad.data)", line);
}

TEST(comparisons_that_are_refused)
{
    refused("compare(obs.data, obs.weight)", "cannot compare a flux density and a plain number");
    refused("compare(obs.data, trace(obs.data))", "both must have the same cell shape; one has "
                                                  "4 numbers, the other 1");
    refused("compare(obs.data, obs)", "has no value of its own");
    refused("compare(obs.data, obs.data, tolerance=1Jy)",
            "option 'tolerance' must be a plain number");
}

SUITE(60, setup, teardown)
