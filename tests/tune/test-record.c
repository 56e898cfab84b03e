/* Records of tuning: what is written is read, whole and cut off anywhere; those of kernel_tuner;
 * files that are none. The order of strategies. */
#include "tests/common/testing.h"

#include "base/file.h"
#include "tune/record.h"
#include "tune/space.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static testing t;
static char path[200];

static void setup(void)
{
    testing_begin(&t);
    snprintf(path, sizeof(path), "%s/record.json", t.folder);
}

static void teardown(void)
{
    testing_end(&t);
}

static tune_record *open_record(const char *machine)
{
    tune_record head = {.path = path,
                        .machine = (char *)machine,
                        .kernel = "sum",
                        .sizes = "16,300",
                        .tunables = 2,
                        .name = {"BLOCK", "CELLS"},
                        .values = {"128,64", "4,1"}};

    return tune_record_open(&head, "sum single 0123", t.error);
}

static void add(tune_record *record, const char *key, double time, const char *failure)
{
    double times[] = {time, 2 * time, time / 2};
    const tune_point point = {.key = (char *)key,
                              .failure = (char *)failure,
                              .time = failure ? INFINITY : time,
                              .compile = 12,
                              .times = times,
                              .runs = failure ? 0 : 3};

    ck_assert_int_eq(tune_record_add(record, &point, t.error), 0);
}

static char *text(void)
{
    return suite_keep(grove_file_read(path, 1 << 20, true, NULL, t.error));
}

static void put(const char *bytes, size_t length)
{
    FILE *stream = fopen(path, "w");

    fwrite(bytes, 1, length, stream);
    fclose(stream);
}

TEST(kept)
{
    tune_record *record = open_record("a machine, \"quoted\"");

    ck_assert_msg(record, "%s", suite_messages(t.error));
    add(record, "128,4", 2.5, NULL);
    add(record, "64,1", 1.25, NULL);
    add(record, "64,4", 0, "wrong output: \"},\n it differs");
    tune_record_free(record);
    ck_assert_str_eq(text() + strlen(text()) - 3, "}\n}");
    record = tune_record_read(path, t.error);
    ck_assert_msg(record, "%s", suite_messages(t.error));
    ck_assert_str_eq(record->machine, "a machine, \"quoted\"");
    ck_assert_str_eq(record->sizes, "16,300");
    ck_assert_int_eq(record->tunables, 2);
    ck_assert_str_eq(record->name[1], "CELLS");
    ck_assert_str_eq(record->values[0], "128,64");
    ck_assert_int_eq(record->count, 3);
    ck_assert_double_eq(tune_record_find(record, "128,4")->time, 2.5);
    ck_assert_int_eq(tune_record_find(record, "128,4")->runs, 3);
    ck_assert_double_eq(tune_record_find(record, "128,4")->compile, 12);
    ck_assert_str_eq(tune_record_find(record, "64,4")->failure, "wrong output: \"},\n it differs");
    ck_assert_str_eq(tune_record_best(record, false)->key, "64,1");
    ck_assert_ptr_null(tune_record_best(record, true)); /* no energy was measured */
    tune_record_free(record);
}

/* A program that is ended while it writes leaves a beginning of the file: what is whole in it is
 * read, and a later program goes on. */
TEST(cut_off)
{
    tune_record *record = open_record("machine");

    add(record, "128,4", 2.5, NULL);
    add(record, "64,4", 0, "fails },");
    add(record, "64,1", 1.25, NULL);
    tune_record_free(record);
    char *whole = text();
    const size_t length = strlen(whole);
    for (size_t cut = 0; cut <= length; cut++) {
        put(whole, cut);
        record = open_record("machine");
        ck_assert_msg(record, "cut at %zu: %s", cut, suite_messages(t.error));
        const size_t count = record->count;
        ck_assert_int_le(count, 3);
        if (count < 1)
            add(record, "128,4", 2.5, NULL);
        if (count < 2)
            add(record, "64,4", 0, "fails },");
        if (count < 3)
            add(record, "64,1", 1.25, NULL);
        tune_record_free(record);
        ck_assert_msg(!strcmp(text(), whole), "cut at %zu: %s", cut, text());
    }
}

TEST(one_at_a_time)
{
    tune_record *record = open_record("machine");

    ck_assert_ptr_null(open_record("machine"));
    ck_assert_ptr_nonnull(strstr(suite_messages(t.error), "another grove tune"));
    tune_record_free(record);
    grove_error_clear(t.error);
    ck_assert_ptr_null(open_record("another machine"));
    ck_assert_ptr_nonnull(strstr(suite_messages(t.error), "another kernel, device or size"));
}

/* A cache file that kernel_tuner was writing when it was ended. */
TEST(of_kernel_tuner)
{
    snprintf(path, sizeof(path), "%s/tests/tune/theirs.json", getenv("GROVE_SOURCE"));
    tune_record *record = tune_record_read(path, t.error);
    ck_assert_msg(record, "%s", suite_messages(t.error));
    ck_assert_str_eq(record->kernel, "triad");
    ck_assert_str_eq(record->sizes, "16384");
    ck_assert_str_eq(record->values[0], "1,2,3,4");
    ck_assert_int_eq(record->count, 5);
    ck_assert_double_eq_tol(tune_record_find(record, "2,2")->time, 0.00901, 1e-5);
    ck_assert_int_eq(tune_record_find(record, "1,1")->runs, 7);
    ck_assert_str_eq(tune_record_find(record, "3,1")->failure, "CompilationFailedConfig");
    tune_record_free(record);
}

LOOP_TEST(no_records, 0, 8)
{
    static const char *const texts[] = {"",
                                        "{}",
                                        "{\"cache\": 3}",
                                        "{\"cache\": {\"a\": 3}}",
                                        "[{\"cache\": {",
                                        "\"cache\": {",
                                        "{\"cache\": {\"1\": {\"time\": 1}, \"1\": {\"time\": 1}}}",
                                        "not JSON"};

    put(texts[_i], strlen(texts[_i]));
    tune_record *record = tune_record_read(path, t.error);
    if (record) /* a configuration that is no object has failed */
        ck_assert_ptr_null(tune_record_best(record, false));
    else
        ck_assert_ptr_nonnull(strstr(suite_messages(t.error), "not a record of tuning"));
    tune_record_free(record);
}

/* ---- strategies ---- */

static const grove_tunables tunables = {.tunable = {{"A", NULL, 8, {0, 1, 2, 3, 4, 5, 6, 7}},
                                                    {"B", NULL, 8, {0, 1, 2, 3, 4, 5, 6, 7}}}};

/* The distance from (6, 5). */
static double cost(const tune_space *space, int number)
{
    return 1 + abs(space->value[number][0] - 6) + abs(space->value[number][1] - 5);
}

/* Each strategy tries each configuration once, the default one first; the local search is at the
 * optimum of a function without others after few. */
LOOP_TEST(strategies, 0, TUNE_STRATEGIES)
{
    const grove_args args = {0};
    grove_device *device = grove_device_cpu(1);
    tune_space *space = tune_space_new(&tunables, device, &args, (tune_strategy)_i, 1);
    int tried[64] = {0}, number, count = 0, found = -1;

    ck_assert_int_eq(space->count, 64);
    for (; (number = tune_space_next(space)) >= 0; count++) {
        ck_assert_int_lt(number, 64);
        ck_assert_int_eq(tried[number]++, 0);
        ck_assert(count || !number);
        if (cost(space, number) == 1)
            found = count;
        tune_space_result(space, number, cost(space, number));
    }
    ck_assert_int_eq(count, 64);
    ck_assert_int_ge(found, 0);
    if (_i == TUNE_LOCAL)
        ck_assert_int_lt(found, 32);
    tune_space_free(space);
    grove_device_free(device);
}

SUITE(60, setup, teardown)
