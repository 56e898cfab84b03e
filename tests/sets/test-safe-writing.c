/* Writing into sets, killed and failed at every call that changes a file (safe-attempts.h); and
 * what is not written is not copied.
 */
#include "safe-attempts.h"
#include "safe-testing.h"
#include "tests/common/suite.h"

#include <stdio.h>
#include <stdlib.h>

LOOP_TEST(a_fault_at_every_call, 0, (FAULTS_MODES - 1) * safe_scenario_count)
{
    faults_mode mode = (faults_mode)(1 + _i % (FAULTS_MODES - 1));

    safe_try_all(&safe_scenarios[_i / (FAULTS_MODES - 1)], FAULTS_CHANGES, mode, _i);
}

/* A set whose columns are much more than what is lost beside them. */
enum { MANY_TIMES = 128, MANY_CHANNELS = 8192 };

static int write_many(grove_ms *ms)
{
    const grove_ms_block block = {0, MANY_TIMES, 0, 1, 0, MANY_CHANNELS};
    float *data = calloc((size_t)MANY_TIMES * MANY_CHANNELS * 4, 2 * sizeof(float));
    int code = grove_ms_write_data(ms, &block, data, NULL, safe_error);

    free(data);
    return code ? code : grove_ms_finish(ms, safe_error);
}

static int make_many(const void *context)
{
    grove_station stations[] = {{.name = (char *)"A", .position = {6e6, 0, 0}},
                                {.name = (char *)"B", .position = {6e6, 9, 0}}};
    static double time[MANY_TIMES], interval[MANY_TIMES], frequency[MANY_CHANNELS],
        width[MANY_CHANNELS];
    int left = 0, right = 1;
    grove_ms_layout layout = {.stations = stations,
                              .station_count = 2,
                              .telescope = (char *)"T",
                              .field_name = (char *)"F",
                              .time = time,
                              .interval = interval,
                              .times = MANY_TIMES,
                              .frequency = frequency,
                              .channel_width = width,
                              .channels = MANY_CHANNELS,
                              .correlations = 4,
                              .correlation = {9, 10, 11, 12},
                              .antenna1 = &left,
                              .antenna2 = &right,
                              .baselines = 1};

    (void)context;
    for (int i = 0; i < MANY_TIMES; i++) {
        time[i] = 4e9 + i;
        interval[i] = 1;
    }
    for (int i = 0; i < MANY_CHANNELS; i++) {
        frequency[i] = 1e9 + 1e5 * i;
        width[i] = 1e5;
    }
    return write_many(
        grove_ms_create(safe_path("a.ms"), &layout, NULL, "DATA", false, safe_record, safe_error));
}

/* Writes a column; whether that takes more bytes than it should. */
static int measure(const void *column)
{
    const long long most = (long long)MANY_TIMES * MANY_CHANNELS * 4 * 8 * 12 / 10 + 10000000;

    faults_protect(true);
    faults_arm(safe_work, FAULTS_NONE, 0);
    int code = write_many(safe_open_column(safe_path("a.ms"), column, GROVE_MS_REPLACE));
    const long long bytes = faults_written();
    faults_arm("", FAULTS_NONE, 0);
    printf("%s: %lld bytes were written, at most %lld may be\n", (const char *)column, bytes, most);
    fflush(stdout);
    return code || bytes > most || bytes < most / 2;
}

/* No column that a run does not write is copied. */
LOOP_TEST(a_column_takes_its_own_bytes, 0, 2)
{
    static const char *const columns[] = {"MODEL_DATA", "DATA"};

    ck_assert_int_eq(safe_in_child(make_many, NULL), 0);
    ck_assert_int_eq(safe_in_child(measure, columns[_i]), 0);
}

SUITE(getenv("GROVE_ALL_FAULTS") ? 3600 : 120, safe_attempts_setup, safe_teardown)
