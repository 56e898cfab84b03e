/* Names that something else has, runs that died, and what a written column keeps. */
#include "safe-testing.h"
#include "tests/common/faults.h"
#include "tests/common/foreign-sets.h"
#include "tests/common/suite.h"

#include "base/file.h"
#include "base/text.h"
#include "unstable/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- names that something else has ---- */

static int make_one(const void *context)
{
    return safe_new_set(safe_path("a.ms"), *(const float *)context, false);
}

LOOP_TEST(two_runs_to_one_name, 0, 2)
{
    static const float scales[] = {2, 3};
    grove_ms *ms = safe_create(safe_path("a.ms"), "DATA", false);

    faults_simple_system(_i);
    safe_good(ms && !safe_write_all(ms, 5));
    ck_assert_int_eq(safe_in_child(make_one, &scales[0]), 0);
    ck_assert_int_ne(grove_ms_finish(ms, safe_error), 0);
    safe_said("another file has this name now");
    safe_expect(safe_path("a.ms"), "DATA", 2, 1, 0);
    safe_expect_names(safe_work, "a.ms ");
}

TEST(planted_names)
{
    char *target = suite_text("%s/target", safe_top);
    FILE *to = fopen(target, "w");

    fputs("mine", to);
    fclose(to);
    safe_make("a.ms");
    ck_assert(symlink(target, safe_path("a.ms/grove-space")) == 0);
    ck_assert(symlink(safe_top, safe_path("a.ms/.grove-abcdef")) == 0);
    ck_assert(symlink(safe_top, safe_path(".b.ms.grove-abcdef")) == 0);
    safe_good(!safe_write_column(safe_path("a.ms"), "DATA", GROVE_MS_ADD, 1));
    safe_expect(safe_path("a.ms"), "DATA", 2, 1, 0);
    safe_make("b.ms");
    ck_assert_str_eq(suite_keep(grove_file_read(target, 100, true, NULL, NULL)), "mine");
    safe_expect_names(safe_work, ".b.ms.grove-abcdef a.ms b.ms ");
}

TEST(what_is_not_replaced)
{
    ck_assert(symlink("nowhere", safe_path("link.ms")) == 0);
    ck_assert_int_ne(safe_new_set(safe_path("link.ms"), 1, true), 0);
    safe_said("is a symbolic link to a file that does not exist");
    safe_make("a.ms");
    /* a table, but no set: the subtable of one */
    ck_assert_int_ne(safe_new_set(safe_path("a.ms/FIELD"), 1, true), 0);
    safe_said("exists and is not a Measurement Set; it is not replaced");
    safe_expect(safe_path("a.ms"), "DATA", 1, 1, 0);
    /* through a link, the set itself is replaced */
    ck_assert(symlink("a.ms", safe_path("good.ms")) == 0);
    safe_good(!safe_new_set(safe_path("good.ms"), 2, true));
    ck_assert(grove_path_is_link(safe_path("good.ms")));
    safe_expect(safe_path("a.ms"), "DATA", 2, 1, 0);
    safe_expect_names(safe_work, "a.ms good.ms link.ms ");
}

static int in_read_only_folder(const void *context)
{
    (void)context;
    if (geteuid() == 0 && setuid(65534))
        return 1;
    grove_ms *ms = grove_ms_open(safe_path("a.ms"), &(grove_ms_part){0}, safe_error);
    bool reads = ms != NULL;
    if (ms)
        grove_ms_close(ms);
    grove_error_clear(safe_error);
    bool column = safe_write_column(safe_path("a.ms"), "DATA", GROVE_MS_ADD, 1) != 0 &&
                  strstr(grove_error_message(safe_error, 0), "a.ms: may not be written");
    grove_error_clear(safe_error);
    bool set = safe_new_set(safe_path("new.ms"), 1, false) != 0 &&
               strstr(grove_error_message(safe_error, 0), "Permission denied");
    if (!column || !set)
        fprintf(stderr, "%s\n", grove_error_message(safe_error, 0));
    return !reads || !column || !set;
}

TEST(a_folder_that_may_not_be_written)
{
    safe_make("a.ms");
    ck_assert(chmod(safe_top, 0755) == 0);
    ck_assert_int_eq(system(suite_text("chmod -R a-w,a+rX '%s'", safe_work)), 0);
    ck_assert_int_eq(safe_in_child(in_read_only_folder, NULL), 0);
    ck_assert_int_eq(system(suite_text("chmod -R u+w '%s'", safe_work)), 0);
    safe_expect(safe_path("a.ms"), "DATA", 1, 1, 0);
    safe_expect_names(safe_work, "a.ms ");
}

/* ---- a run that died ---- */

static int replace_and_die(const void *at)
{
    faults_arm(safe_work, FAULTS_KILL, *(const int *)at);
    return safe_write_column(safe_path("a.ms"), "DATA", GROVE_MS_REPLACE, 2);
}

/* A set that was being changed when its run died, as late as possible. */
static void make_unfinished(void)
{
    grove_record_state state = GROVE_RECORD_NONE;

    for (int at = 150; at > 0 && state != GROVE_RECORD_UNDONE; at--) {
        grove_path_remove(safe_path("a.ms"), NULL);
        safe_make("a.ms");
        safe_in_child(replace_and_die, &at);
        safe_good(!grove_record_examine(safe_path("a.ms"), &state, safe_error));
    }
    ck_assert_int_eq(state, GROVE_RECORD_UNDONE);
}

LOOP_TEST(opening_recovers, 0, 2)
{
    faults_lock(_i ? FAULTS_NFS : FAULTS_LOCKS);
    make_unfinished();
    ck_assert(rename(safe_path("a.ms"), safe_path("b.ms")) == 0); /* wherever it is */
    safe_expect(safe_path("b.ms"), "DATA", 1, 1, 0);
    safe_expect_names(safe_work, "b.ms ");
    grove_record_state state;
    safe_good(!grove_record_examine(safe_path("b.ms"), &state, safe_error));
    ck_assert_int_eq(state, GROVE_RECORD_NONE);
    faults_lock(FAULTS_LOCKS);
}

/* Another program has written the set since: nothing is touched. */
TEST(what_another_program_changed_stays)
{
    bool done;

    make_unfinished();
    ck_assert(grove_file_copy(safe_path("a.ms/table.dat"), safe_path("copy")) == 0);
    ck_assert(rename(safe_path("copy"), safe_path("a.ms/table.dat")) == 0);
    char *before = safe_names(safe_path("a.ms"));
    ck_assert_int_ne(grove_ms_recover(safe_path("a.ms"), &done, safe_error), 0);
    safe_said("table.dat: has changed since the run that wrote it died; it is not restored");
    ck_assert_ptr_null(grove_ms_open(safe_path("a.ms"), &(grove_ms_part){0}, safe_error));
    safe_said("To keep all files in their present state, remove ");
    safe_expect_names(safe_path("a.ms"), before);
}

/* ---- what a column keeps ---- */

TEST(kinds_of_columns)
{
    static const char *const one[] = {"ONE"}, *const two[] = {"TWO", "THREE"},
                             *const four[] = {"E"};
    static const char *const managers[] = {"TiledColumnStMan", "TiledShapeStMan", "StandardStMan",
                                           "TiledShapeStMan"};
    static const char *const columns[] = {"DATA", "ONE", "TWO", "E"};
    const char *path = safe_path("a.ms");

    safe_make("a.ms");
    foreign_columns(path, "tiled", one, 1);
    foreign_columns(path, "standard", two, 2);
    foreign_columns(path, "undefined", four, 1);
    for (int k = 0; k < 4; k++) {
        safe_good(!safe_write_column(path, columns[k], GROVE_MS_REPLACE, 7));
        char *kind = foreign_manager(path, columns[k]);
        ck_assert_int_eq(strncmp(kind, managers[k], strlen(managers[k])), 0);
        free(kind);
        safe_good(!safe_write_column(path, columns[k], GROVE_MS_SUBTRACT, 2));
        for (int j = 0; j < 4; j++)
            if (j <= k)
                safe_expect(path, columns[j], 5, 1, 0);
        safe_expect(path, "THREE", 2, 1, 0);
    }
    ck_assert(foreign_opens(path));
}

TEST(cells_without_numbers)
{
    static const char *const names[] = {"E"};

    safe_make("a.ms");
    foreign_columns(safe_path("a.ms"), "undefined", names, 1);
    ck_assert_int_ne(safe_write_column(safe_path("a.ms"), "E", GROVE_MS_ADD, 1), 0);
    safe_said("row 0 of column E has no data to add to or subtract from");
    safe_good(!safe_write_column(safe_path("a.ms"), "E", GROVE_MS_REPLACE, 1));
    safe_expect(safe_path("a.ms"), "E", 1, 1, 0);
}

/* Every second row of a set, and two sets as one. */
TEST(sets_of_sets)
{
    static const char *const names[] = {"MODEL_DATA"};

    safe_make("a.ms");
    foreign_columns(safe_path("a.ms"), "tiled", names, 1);
    foreign_reference(safe_path("a.ms"), safe_path("some.ms"));
    ck_assert_int_ne(safe_write_column(safe_path("some.ms"), "CORRECTED_DATA", GROVE_MS_REPLACE, 1),
                     0);
    safe_said(
        "has no column CORRECTED_DATA, and it cannot be created through a table that refers to it");
    grove_ms *ms = safe_open_column(safe_path("some.ms"), "MODEL_DATA", GROVE_MS_REPLACE);
    safe_good(ms != NULL);
    safe_good(!safe_write_all(ms, 0));
    safe_good(!grove_ms_finish(ms, safe_error));
    safe_expect(safe_path("a.ms"), "MODEL_DATA", 0, 2, 1);
    safe_expect(safe_path("a.ms"), "DATA", 1, 1, 0);
}

/* Two sets as one: a new column, then numbers added to it, of which each set gets its own. */
TEST(sets_one_after_the_other)
{
    float data[4 * SAFE_NUMBERS];

    safe_make("a.ms");
    safe_first_time += 100;
    safe_make("b.ms");
    foreign_concatenation(safe_path("a.ms"), safe_path("b.ms"), safe_path("all.ms"));
    safe_good(!safe_write_column(safe_path("all.ms"), "MODEL_DATA", GROVE_MS_REPLACE, 2));
    safe_good(!safe_write_column(safe_path("all.ms"), "MODEL_DATA", GROVE_MS_ADD, 1));
    safe_expect(safe_path("a.ms"), "MODEL_DATA", 3, 1, 0);
    grove_ms *ms = grove_ms_open(safe_path("b.ms"), &(grove_ms_part){0}, safe_error);
    safe_good(ms != NULL);
    safe_good(!grove_ms_read_data(ms, "MODEL_DATA", &(grove_ms_block){0, 3, 0, 3, 0, 2}, data, NULL,
                                  safe_error));
    for (int i = 0; i < 2 * SAFE_NUMBERS; i++)
        ck_assert(data[i] == 3 * (float)(2 * SAFE_NUMBERS + i + 1));
    grove_ms_close(ms);
    safe_expect(safe_path("b.ms"), "DATA", 1, 1, 0);
}

/* Rows of one baseline of safe_make's sets; a window of foreign_windows(path, 3) has them. */
enum { WINDOW_TIMES = 3, ROW = 8 };
static const grove_ms_block all_of_window = {0, WINDOW_TIMES, 0, 1, 0, 2};

static grove_ms *open_window(const char *column, int window, grove_ms_mode mode)
{
    grove_ms_part part = {.spectral_window = window};
    grove_ms *ms = grove_ms_open_writable(safe_path("a.ms"), &part, safe_record, safe_error);

    safe_good(ms != NULL);
    if (!grove_ms_prepare(ms, column, mode, safe_error))
        return ms;
    grove_ms_abort(ms);
    return NULL;
}

static void write_window(grove_ms *ms, int window, float scale)
{
    float data[WINDOW_TIMES * ROW];

    for (int i = 0; i < WINDOW_TIMES * ROW; i++)
        data[i] = scale * (float)((3 * (i / ROW) + window) * ROW + i % ROW + 1);
    safe_good(!grove_ms_write_data(ms, &all_of_window, data, NULL, safe_error));
}

static void expect_window(const char *column, int window, float scale)
{
    float data[WINDOW_TIMES * ROW];
    grove_ms_part part = {.spectral_window = window};
    grove_ms *ms = grove_ms_open(safe_path("a.ms"), &part, safe_error);

    safe_good(ms && !grove_ms_read_data(ms, column, &all_of_window, data, NULL, safe_error));
    for (int i = 0; i < WINDOW_TIMES * ROW; i++)
        ck_assert(data[i] == scale * (float)((3 * (i / ROW) + window) * ROW + i % ROW + 1));
    grove_ms_close(ms);
}

/* One column of two windows of three, in files of its own, through casacore, and a new one: all of
 * it, or none. */
LOOP_TEST(windows_of_one_column, 0, 6)
{
    const char *column = _i / 2 == 2 ? "MODEL_DATA" : "DATA";
    const grove_ms_mode mode = _i / 2 == 2 ? GROVE_MS_REPLACE : GROVE_MS_ADD;
    const bool whole = _i % 2;
    grove_record *record = grove_record_new();

    safe_make("a.ms");
    if (_i / 2 == 1)
        foreign_store(safe_path("a.ms"), "TiledShapeStMan", (const int[]){2, 1, 2});
    foreign_windows(safe_path("a.ms"), 3);
    safe_record = record;
    grove_ms *one = open_window(column, 0, GROVE_MS_REPLACE);
    grove_ms *two = open_window(column, 2, mode);
    safe_good(one && two);
    ck_assert_ptr_null(open_window(column, 2, mode));
    safe_said("is being written already; write another column");
    write_window(two, 2, 2);
    write_window(one, 0, 5);
    safe_good(!grove_ms_settle(one, safe_error));
    if (whole)
        safe_good(!grove_ms_settle(two, safe_error) && !grove_record_commit(record, safe_error));
    grove_ms_abort(two);
    grove_ms_abort(one);
    safe_record = NULL;
    grove_record_free(record);
    for (int k = 0; k < 3; k++)
        expect_window("DATA", k, !whole || _i / 2 == 2 || k == 1 ? 1 : k == 0 ? 5 : 3);
    for (int k = 0; k < 3 && whole && _i / 2 == 2; k++)
        expect_window("MODEL_DATA", k, k == 0 ? 5 : k == 1 ? 0 : 2);
}

enum { NUMBERS = WINDOW_TIMES * ROW / 2 };

static unsigned char flag_of(int window, int i)
{
    return (i + window) % 3 == 0;
}

static float weight_of(int window, int i)
{
    return (float)(10 * window + i + 2);
}

static void write_flags_and_weights(grove_ms *ms, int window)
{
    float data[2 * NUMBERS] = {0}, weight[NUMBERS];
    unsigned char flag[NUMBERS];

    for (int i = 0; i < NUMBERS; i++) {
        flag[i] = flag_of(window, i);
        weight[i] = weight_of(window, i);
    }
    safe_good(!grove_ms_write_data(ms, &all_of_window, data, flag, safe_error));
    safe_good(!grove_ms_write_weight(ms, &all_of_window, weight, safe_error));
}

static void expect_flags_and_weights(int window, bool written)
{
    float data[2 * NUMBERS], weight[NUMBERS];
    unsigned char flag[NUMBERS];
    grove_ms_part part = {.spectral_window = window};
    grove_ms *ms = grove_ms_open(safe_path("a.ms"), &part, safe_error);

    safe_good(ms && !grove_ms_read_data(ms, "DATA", &all_of_window, data, flag, safe_error));
    safe_good(!grove_ms_read_weight(ms, &all_of_window, weight, safe_error));
    for (int i = 0; i < NUMBERS; i++) {
        ck_assert_int_eq(flag[i], written && flag_of(window, i));
        ck_assert(weight[i] == (written ? weight_of(window, i) : 1));
    }
    grove_ms_close(ms);
}

/* Flags and weights of two windows of three in one run; of the same rows only one writes them. */
LOOP_TEST(flags_and_weights_of_windows, 0, 2)
{
    const bool whole = _i;
    grove_record *record = grove_record_new();
    grove_ms *of[3];

    safe_make("a.ms");
    foreign_windows(safe_path("a.ms"), 3);
    safe_record = record;
    for (int k = 0; k < 3; k++)
        safe_good((of[k] = open_window("DATA", k, GROVE_MS_REPLACE)) != NULL);
    for (int k = 0; k < 3; k += 2) {
        safe_good(!grove_ms_prepare_flags(of[k], safe_error));
        safe_good(!grove_ms_prepare_weights(of[k], safe_error));
    }
    grove_ms *again = open_window("MODEL_DATA", 2, GROVE_MS_REPLACE);
    ck_assert_int_eq(grove_ms_prepare_flags(again, safe_error), GROVE_INVALID);
    safe_said("flags of its rows are being written already; use only one sink");
    ck_assert_int_eq(grove_ms_prepare_weights(again, safe_error), GROVE_INVALID);
    safe_said("weights of its rows are being written already; use only one sink");
    ck_assert(grove_ms_has_flags_written(again) && !grove_ms_has_flags_written(of[1]));
    write_window(of[1], 1, 3);
    write_flags_and_weights(of[2], 2);
    write_flags_and_weights(of[0], 0);
    safe_good(!grove_ms_settle(of[0], safe_error) && !grove_ms_settle(of[1], safe_error));
    if (whole)
        safe_good(!grove_ms_settle(again, safe_error) && !grove_ms_settle(of[2], safe_error) &&
                  !grove_record_commit(record, safe_error));
    grove_ms_abort(again);
    for (int k = 0; k < 3; k++)
        grove_ms_abort(of[k]);
    safe_record = NULL;
    grove_record_free(record);
    for (int k = 0; k < 3; k++)
        expect_flags_and_weights(k, whole && k != 1);
    expect_window("DATA", 1, whole ? 3 : 1);
}

/* A set that is written and replaced by one run. */
TEST(outputs_in_each_others_way)
{
    grove_record *record = grove_record_new();

    safe_make("a.ms");
    safe_record = record;
    grove_ms *column = safe_open_column(safe_path("a.ms"), "DATA", GROVE_MS_ADD);
    grove_ms *set = safe_create(safe_path("a.ms"), "DATA", true);
    safe_good(column && set && !safe_write_all(column, 1) && !safe_write_all(set, 1));
    safe_good(!grove_ms_settle(column, safe_error) && !grove_ms_settle(set, safe_error));
    ck_assert_int_eq(grove_record_commit(record, safe_error), GROVE_INVALID);
    safe_said("two outputs of one run write to the same path");
    grove_ms_abort(column);
    grove_ms_abort(set);
    safe_record = NULL;
    grove_record_free(record);
    safe_expect(safe_path("a.ms"), "DATA", 1, 1, 0);
    safe_expect_names(safe_work, "a.ms ");
}

/* Two columns of one new set, of which one is not written: before or after the other is complete.
 */
LOOP_TEST(one_column_of_two, 0, 2)
{
    grove_record *record = grove_record_new();

    safe_record = record;
    grove_ms *one = safe_create(safe_path("a.ms"), "DATA", false);
    ck_assert_ptr_null(safe_create(safe_path("./a.ms"), "DATA", false));
    safe_said("column DATA is being written already; write another column");
    double *const others[] = {&safe_first_time, &safe_interval, &safe_width, &safe_height};
    for (size_t k = 0; k < sizeof(others) / sizeof(others[0]); k++) {
        double kept = *others[k];
        *others[k] = 2 * kept;
        ck_assert_ptr_null(safe_create(safe_path("a.ms"), "MODEL_DATA", false));
        safe_said("would get columns of different observations");
        *others[k] = kept;
    }
    grove_ms *two = safe_create(safe_path("a.ms"), "MODEL_DATA", false);
    safe_good(one && two && grove_ms_leads(one) && !grove_ms_leads(two));
    safe_good(!safe_write_all(one, 1) && !safe_write_all(two, 2));
    if (_i == 0) {
        grove_ms_abort(two);
        ck_assert_int_eq(grove_ms_settle(one, safe_error), GROVE_IO);
        safe_said("another of its columns is not written");
    } else {
        safe_good(!grove_ms_settle(one, safe_error));
        grove_ms_abort(two);
        safe_good(!grove_record_commit(record, safe_error));
    }
    grove_ms_abort(one);
    safe_record = NULL;
    grove_record_free(record);
    safe_expect_names(safe_work, "");
}

SUITE(120, safe_setup, safe_teardown)
