/* Sets that several runs or other programs use, names that something else has, and what a written
 * column keeps. */
#include "faults.h"
#include "foreign-sets.h"
#include "safe-testing.h"

#include "base/file.h"
#include "base/log.h"
#include "base/record.h"
#include "base/text.h"
#include "io/set_lock.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void good(bool fine)
{
    char *text = grove_error_text(safe_error);

    ck_assert_msg(fine, "%s", text);
    free(text);
}

/* That the only message says `part`; forgets it. */
static void said(const char *part)
{
    const char *message = grove_error_message(safe_error, 0);

    ck_assert_msg(message && strstr(message, part), "it says '%s', not '%s'",
                  message ? message : "", part);
    grove_error_clear(safe_error);
}

/* Every number of a column is scale * 1, 2, ...; of other rows than `step` says `other` times. */
static void expect(const char *path, const char *column, float scale, int step, float other)
{
    float data[2 * SAFE_NUMBERS];
    grove_ms_block block = {0, 3, 0, 3, 0, 2};
    grove_ms *ms = grove_ms_open(path, &(grove_ms_part){0}, false, safe_error);

    good(ms != NULL);
    good(!grove_ms_read_data(ms, column, &block, data, NULL, safe_error));
    for (int i = 0; i < 2 * SAFE_NUMBERS; i++) {
        float factor = i / 8 % step ? other : scale;
        ck_assert_msg(data[i] == factor * (float)(i + 1), "%s: number %d is %g", column, i,
                      (double)data[i]);
    }
    grove_ms_close(ms);
}

static char *names_in(const char *path)
{
    char **names = grove_folder_list(path);
    grove_text text = {0};

    for (char **each = names; *each; each++) {
        grove_text_add(&text, "%s ", *each);
        free(*each);
    }
    free(names);
    return text.at ? text.at : grove_strdup("");
}

static void expect_names(const char *path, const char *wanted)
{
    char *names = names_in(path);

    ck_assert_str_eq(names, wanted);
    free(names);
}

static void make(const char *name)
{
    good(!safe_new_set(safe_path(name), 1, false));
}

/* ---- two at once ---- */

/* Opens the set as a tree does, then adds to a column of it. */
static int read_and_add(const void *column)
{
    grove_ms *reader = grove_ms_open(safe_path("a.ms"), &(grove_ms_part){0}, false, safe_error);
    float data[2 * SAFE_NUMBERS];
    grove_ms_block block = {0, 3, 0, 3, 0, 2};
    grove_ms *ms = reader ? safe_open_column(safe_path("a.ms"), column, GROVE_MS_ADD) : NULL;
    int code = ms ? grove_ms_read_data(reader, column, &block, data, NULL, safe_error) : 1;

    usleep(20000);
    code = code ? code : safe_write_all(ms, 1);
    if (!code)
        code = grove_ms_finish(ms, safe_error);
    /* what is read now is what was written */
    float before = data[0];
    code = code ? code : grove_ms_read_data(reader, column, &block, data, NULL, safe_error);
    if (!code && data[0] != before + 1)
        code = 1;
    if (reader)
        grove_ms_close(reader);
    return code;
}

static pid_t start(int (*function)(const void *), const void *context)
{
    pid_t child = fork();

    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(2);
        _exit(function(context) ? 1 : 0);
    }
    ck_assert(child > 0);
    return child;
}

static int result(pid_t child)
{
    int status;

    ck_assert(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* On NFS, too: there the lock is a file in the set. */
START_TEST(two_writers_take_turns)
{
    pid_t children[3];

    faults_lock(_i % 2 ? FAULTS_NFS : FAULTS_LOCKS);
    make("a.ms");
    for (int k = 0; k < 3; k++)
        children[k] = start(read_and_add, "DATA");
    for (int k = 0; k < 3; k++)
        ck_assert_int_eq(result(children[k]), 0);
    expect(safe_path("a.ms"), "DATA", 4, 1, 0);
    expect_names(safe_work, "a.ms ");
    ck_assert_int_eq(grove_path_exists(safe_path("a.ms/.grove.lock")), _i % 2);
    faults_lock(FAULTS_LOCKS);
}
END_TEST

static int hold(const void *context)
{
    char go;
    const int *pipes = context;

    if (!safe_open_column(safe_path("a.ms"), "DATA", GROVE_MS_REPLACE))
        return 1;
    if (write(pipes[1], "x", 1) != 1)
        return 1;
    return read(pipes[2], &go, 1) != 1;
}

static int hold_foreign(const void *context)
{
    char go;
    const int *pipes = context;

    foreign_hold(safe_path("a.ms"), pipes[4]);
    if (write(pipes[1], "x", 1) != 1)
        return 1;
    return read(pipes[2], &go, 1) != 1;
}

/* Grove itself writing, another program that has the set open, and one that has locked it; and
 * Grove on NFS. */
START_TEST(one_writer_does_not_wait)
{
    static const char *const says[] = {
        "another run of Grove has it open", "another program has it open",
        "another program has locked it", "another run of Grove has it open"};
    int pipes[5] = {0};
    char ready;

    faults_lock(_i == 3 ? FAULTS_NFS : FAULTS_LOCKS);
    make("a.ms");
    ck_assert(pipe(pipes) == 0 && pipe(pipes + 2) == 0);
    pipes[4] = _i == 2;
    pid_t child = start(_i == 1 || _i == 2 ? hold_foreign : hold, pipes);
    ck_assert(read(pipes[0], &ready, 1) == 1);
    grove_set_lock_wait(false);
    ck_assert_ptr_null(safe_open_column(safe_path("a.ms"), "DATA", GROVE_MS_REPLACE));
    said(says[_i]);
    /* one Ctrl-C ends the wait */
    grove_set_lock_wait(true);
    grove_interrupt_set(true);
    ck_assert_ptr_null(safe_open_column(safe_path("a.ms"), "DATA", GROVE_MS_REPLACE));
    ck_assert_int_eq(grove_error_code(safe_error), GROVE_INTERRUPTED);
    said("interrupted");
    grove_interrupt_set(false);
    ck_assert(write(pipes[3], "x", 1) == 1);
    ck_assert_int_eq(result(child), 0);
    good(!safe_write_column(safe_path("a.ms"), "DATA", GROVE_MS_REPLACE, 2));
    expect(safe_path("a.ms"), "DATA", 2, 1, 0);
    faults_lock(FAULTS_LOCKS);
}
END_TEST

/* `says`: what keeps it from opening the set; NULL: nothing. */
static int read_without_rights(const void *says)
{
    if (geteuid() == 0 && setuid(65534))
        return 1;
    grove_set_lock_wait(false);
    grove_ms *ms = grove_ms_open(safe_path("a.ms"), &(grove_ms_part){0}, false, safe_error);
    return says ? ms || !strstr(grove_error_message(safe_error, 0), says) : !ms;
}

/* The lock file of NFS is there for who may not write, too. */
START_TEST(a_reader_waits_on_nfs)
{
    int pipes[4];
    char ready;

    faults_lock(FAULTS_NFS);
    make("a.ms");
    ck_assert(chmod(safe_top, 0755) == 0);
    ck_assert(pipe(pipes) == 0 && pipe(pipes + 2) == 0);
    pid_t child = start(hold, pipes);
    ck_assert(read(pipes[0], &ready, 1) == 1);
    ck_assert(chmod(safe_path("a.ms/.grove.lock"), 0444) == 0);
    ck_assert_int_eq(safe_in_child(read_without_rights, "another run of Grove is writing it"), 0);
    ck_assert(write(pipes[3], "x", 1) == 1);
    ck_assert_int_eq(result(child), 0);
    ck_assert_int_eq(safe_in_child(read_without_rights, NULL), 0);
    faults_lock(FAULTS_LOCKS);
}
END_TEST

static int make_one(const void *context)
{
    return safe_new_set(safe_path("a.ms"), *(const float *)context, false);
}

START_TEST(two_runs_to_one_name)
{
    static const float scales[] = {2, 3};
    grove_ms *ms = safe_create(safe_path("a.ms"), "DATA", false);

    faults_simple_system(_i);
    good(ms && !safe_write_all(ms, 5));
    ck_assert_int_eq(safe_in_child(make_one, &scales[0]), 0);
    ck_assert_int_ne(grove_ms_finish(ms, safe_error), 0);
    said("something else has got this name meanwhile");
    expect(safe_path("a.ms"), "DATA", 2, 1, 0);
    expect_names(safe_work, "a.ms ");
}
END_TEST

/* ---- names that something else has ---- */

START_TEST(planted_names)
{
    char *target = grove_format("%s/target", safe_top);
    FILE *to = fopen(target, "w");

    fputs("mine", to);
    fclose(to);
    make("a.ms");
    ck_assert(symlink(target, safe_path("a.ms/grove-space")) == 0);
    ck_assert(symlink(safe_top, safe_path("a.ms/.grove-abcdef")) == 0);
    ck_assert(symlink(safe_top, safe_path(".b.ms.grove-abcdef")) == 0);
    good(!safe_write_column(safe_path("a.ms"), "DATA", GROVE_MS_ADD, 1));
    expect(safe_path("a.ms"), "DATA", 2, 1, 0);
    make("b.ms");
    char *text = grove_file_read(target, 100, true, NULL, NULL);
    ck_assert_str_eq(text, "mine");
    free(text);
    free(target);
    expect_names(safe_work, ".b.ms.grove-abcdef a.ms b.ms ");
}
END_TEST

START_TEST(what_is_not_replaced)
{
    ck_assert(symlink("nowhere", safe_path("link.ms")) == 0);
    ck_assert_int_ne(safe_new_set(safe_path("link.ms"), 1, true), 0);
    said("is a symbolic link to something that is not there");
    make("a.ms");
    /* a table, but no set: the subtable of one */
    ck_assert_int_ne(safe_new_set(safe_path("a.ms/FIELD"), 1, true), 0);
    said("exists and is not a Measurement Set; it is not replaced");
    expect(safe_path("a.ms"), "DATA", 1, 1, 0);
    /* through a link, the set itself is replaced */
    ck_assert(symlink("a.ms", safe_path("good.ms")) == 0);
    good(!safe_new_set(safe_path("good.ms"), 2, true));
    ck_assert(grove_path_is_link(safe_path("good.ms")));
    expect(safe_path("a.ms"), "DATA", 2, 1, 0);
    expect_names(safe_work, "a.ms good.ms link.ms ");
}
END_TEST

static int in_read_only_folder(const void *context)
{
    (void)context;
    if (geteuid() == 0 && setuid(65534))
        return 1;
    grove_ms *ms = grove_ms_open(safe_path("a.ms"), &(grove_ms_part){0}, false, safe_error);
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

START_TEST(a_folder_that_may_not_be_written)
{
    make("a.ms");
    ck_assert(chmod(safe_top, 0755) == 0);
    char *command = grove_format("chmod -R a-w,a+rX '%s'", safe_work);
    ck_assert_int_eq(system(command), 0);
    free(command);
    ck_assert_int_eq(safe_in_child(in_read_only_folder, NULL), 0);
    command = grove_format("chmod -R u+w '%s'", safe_work);
    ck_assert_int_eq(system(command), 0);
    free(command);
    expect(safe_path("a.ms"), "DATA", 1, 1, 0);
    expect_names(safe_work, "a.ms ");
}
END_TEST

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
        make("a.ms");
        safe_in_child(replace_and_die, &at);
        state = grove_record_look(safe_path("a.ms"));
    }
    ck_assert_int_eq(state, GROVE_RECORD_UNDONE);
}

/* Where nothing can be locked, a run that lives is told from one that died nevertheless. */
START_TEST(runs_without_locks)
{
    int pipes[4];
    char ready;
    bool done = true;

    faults_lock(FAULTS_NO_LOCKS);
    make("a.ms");
    ck_assert(pipe(pipes) == 0 && pipe(pipes + 2) == 0);
    pid_t child = start(hold, pipes);
    ck_assert(read(pipes[0], &ready, 1) == 1);
    good(!grove_ms_recover(safe_path("a.ms"), &done, safe_error));
    ck_assert(!done);
    char *names = names_in(safe_path("a.ms"));
    ck_assert_msg(strstr(names, ".grove-") != NULL, "%s", names);
    free(names);
    ck_assert(write(pipes[3], "x", 1) == 1);
    ck_assert_int_eq(result(child), 0); /* without finishing */
    expect(safe_path("a.ms"), "DATA", 1, 1, 0);
    good(!safe_write_column(safe_path("a.ms"), "DATA", GROVE_MS_REPLACE, 2));
    expect(safe_path("a.ms"), "DATA", 2, 1, 0);
    names = names_in(safe_path("a.ms"));
    ck_assert_msg(strstr(names, ".grove-") == NULL, "%s", names);
    free(names);
    faults_lock(FAULTS_LOCKS);
}
END_TEST

START_TEST(opening_recovers)
{
    faults_lock(_i ? FAULTS_NFS : FAULTS_LOCKS);
    make_unfinished();
    ck_assert(rename(safe_path("a.ms"), safe_path("b.ms")) == 0); /* wherever it is */
    expect(safe_path("b.ms"), "DATA", 1, 1, 0);
    expect_names(safe_work, "b.ms ");
    ck_assert_int_eq(grove_record_look(safe_path("b.ms")), GROVE_RECORD_NONE);
    faults_lock(FAULTS_LOCKS);
}
END_TEST

/* Another program has written the set since: nothing is touched. */
START_TEST(what_another_program_changed_stays)
{
    bool done;

    make_unfinished();
    ck_assert(grove_file_copy(safe_path("a.ms/table.dat"), safe_path("copy")) == 0);
    ck_assert(rename(safe_path("copy"), safe_path("a.ms/table.dat")) == 0);
    char *before = names_in(safe_path("a.ms"));
    ck_assert_int_ne(grove_ms_recover(safe_path("a.ms"), &done, safe_error), 0);
    said("table.dat: has changed since a run died that wrote it; it is left as it is");
    ck_assert_ptr_null(grove_ms_open(safe_path("a.ms"), &(grove_ms_part){0}, false, safe_error));
    said("To keep everything as it is now, remove ");
    expect_names(safe_path("a.ms"), before);
    free(before);
}
END_TEST

/* ---- what a column keeps ---- */

START_TEST(kinds_of_columns)
{
    static const char *const one[] = {"ONE"}, *const two[] = {"TWO", "THREE"},
                             *const four[] = {"E"};
    static const char *const managers[] = {"TiledColumnStMan", "TiledShapeStMan", "StandardStMan",
                                           "TiledShapeStMan"};
    static const char *const columns[] = {"DATA", "ONE", "TWO", "E"};
    const char *path = safe_path("a.ms");

    make("a.ms");
    foreign_columns(path, "tiled", one, 1);
    foreign_columns(path, "standard", two, 2);
    foreign_columns(path, "undefined", four, 1);
    for (int k = 0; k < 4; k++) {
        good(!safe_write_column(path, columns[k], GROVE_MS_REPLACE, 7));
        char *kind = foreign_manager(path, columns[k]);
        ck_assert_int_eq(strncmp(kind, managers[k], strlen(managers[k])), 0);
        free(kind);
        good(!safe_write_column(path, columns[k], GROVE_MS_SUBTRACT, 2));
        for (int j = 0; j < 4; j++)
            if (j <= k)
                expect(path, columns[j], 5, 1, 0);
        expect(path, "THREE", 2, 1, 0);
    }
    ck_assert(foreign_opens(path));
}
END_TEST

START_TEST(cells_without_numbers)
{
    static const char *const names[] = {"E"};

    make("a.ms");
    foreign_columns(safe_path("a.ms"), "undefined", names, 1);
    ck_assert_int_ne(safe_write_column(safe_path("a.ms"), "E", GROVE_MS_ADD, 1), 0);
    said("row 0 of column E has no data to add to or subtract from");
    good(!safe_write_column(safe_path("a.ms"), "E", GROVE_MS_REPLACE, 1));
    expect(safe_path("a.ms"), "E", 1, 1, 0);
}
END_TEST

/* Every second row of a set, and two sets as one. */
START_TEST(sets_of_sets)
{
    static const char *const names[] = {"MODEL_DATA"};

    make("a.ms");
    foreign_columns(safe_path("a.ms"), "tiled", names, 1);
    foreign_reference(safe_path("a.ms"), safe_path("some.ms"));
    ck_assert_int_ne(safe_write_column(safe_path("some.ms"), "CORRECTED_DATA", GROVE_MS_REPLACE, 1),
                     0);
    said("has no column CORRECTED_DATA, and none can be made through a selection of its rows");
    grove_ms *ms = safe_open_column(safe_path("some.ms"), "MODEL_DATA", GROVE_MS_REPLACE);
    good(ms != NULL);
    good(!safe_write_all(ms, 0));
    good(!grove_ms_finish(ms, safe_error));
    expect(safe_path("a.ms"), "MODEL_DATA", 0, 2, 1);
    expect(safe_path("a.ms"), "DATA", 1, 1, 0);
}
END_TEST

/* Two sets as one: a new column, then numbers added to it, of which each set gets its own. */
START_TEST(sets_one_after_the_other)
{
    float data[4 * SAFE_NUMBERS];

    make("a.ms");
    safe_first_time += 100;
    make("b.ms");
    foreign_concatenation(safe_path("a.ms"), safe_path("b.ms"), safe_path("all.ms"));
    good(!safe_write_column(safe_path("all.ms"), "MODEL_DATA", GROVE_MS_REPLACE, 2));
    good(!safe_write_column(safe_path("all.ms"), "MODEL_DATA", GROVE_MS_ADD, 1));
    expect(safe_path("a.ms"), "MODEL_DATA", 3, 1, 0);
    grove_ms *ms = grove_ms_open(safe_path("b.ms"), &(grove_ms_part){0}, false, safe_error);
    good(ms != NULL);
    good(!grove_ms_read_data(ms, "MODEL_DATA", &(grove_ms_block){0, 3, 0, 3, 0, 2}, data, NULL,
                             safe_error));
    for (int i = 0; i < 2 * SAFE_NUMBERS; i++)
        ck_assert(data[i] == 3 * (float)(2 * SAFE_NUMBERS + i + 1));
    grove_ms_close(ms);
    expect(safe_path("b.ms"), "DATA", 1, 1, 0);
}
END_TEST

/* A set that is written and replaced by one run. */
START_TEST(outputs_in_each_others_way)
{
    grove_record *record = grove_record_new();

    make("a.ms");
    grove_record_enter(record);
    grove_ms *column = safe_open_column(safe_path("a.ms"), "DATA", GROVE_MS_ADD);
    grove_ms *set = safe_create(safe_path("a.ms"), "DATA", true);
    good(column && set && !safe_write_all(column, 1) && !safe_write_all(set, 1));
    good(!grove_ms_settle(column, safe_error) && !grove_ms_settle(set, safe_error));
    ck_assert_int_eq(grove_record_commit(record, safe_error), GROVE_INVALID);
    said("two outputs of one run are in each other's way");
    grove_ms_abort(column);
    grove_ms_abort(set);
    grove_record_enter(NULL);
    grove_record_free(record);
    expect(safe_path("a.ms"), "DATA", 1, 1, 0);
    expect_names(safe_work, "a.ms ");
}
END_TEST

/* Two columns of one new set, of which one is not written: before or after the other is complete.
 */
START_TEST(one_column_of_two)
{
    grove_record *record = grove_record_new();

    grove_record_enter(record);
    grove_ms *one = safe_create(safe_path("a.ms"), "DATA", false);
    ck_assert_ptr_null(safe_create(safe_path("./a.ms"), "DATA", false));
    said("column DATA is being written already; write another column");
    safe_first_time += 100;
    ck_assert_ptr_null(safe_create(safe_path("a.ms"), "MODEL_DATA", false));
    said("is to get columns of different observations");
    safe_first_time -= 100;
    grove_ms *two = safe_create(safe_path("a.ms"), "MODEL_DATA", false);
    good(one && two && grove_ms_leads(one) && !grove_ms_leads(two));
    good(!safe_write_all(one, 1) && !safe_write_all(two, 2));
    if (_i == 0) {
        grove_ms_abort(two);
        ck_assert_int_eq(grove_ms_settle(one, safe_error), GROVE_IO);
        said("another of its columns is not written");
    } else {
        good(!grove_ms_settle(one, safe_error));
        grove_ms_abort(two);
        good(!grove_record_commit(record, safe_error));
    }
    grove_ms_abort(one);
    grove_record_enter(NULL);
    grove_record_free(record);
    expect_names(safe_work, "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("set-sharing");
    TCase *test = tcase_create("all");

    tcase_add_checked_fixture(test, safe_setup, safe_teardown);
    tcase_set_timeout(test, 120);
    tcase_add_loop_test(test, two_writers_take_turns, 0, 10);
    tcase_add_loop_test(test, one_writer_does_not_wait, 0, 4);
    tcase_add_test(test, a_reader_waits_on_nfs);
    tcase_add_loop_test(test, two_runs_to_one_name, 0, 2);
    tcase_add_test(test, planted_names);
    tcase_add_test(test, what_is_not_replaced);
    tcase_add_test(test, a_folder_that_may_not_be_written);
    tcase_add_test(test, runs_without_locks);
    tcase_add_loop_test(test, opening_recovers, 0, 2);
    tcase_add_test(test, what_another_program_changed_stays);
    tcase_add_test(test, kinds_of_columns);
    tcase_add_test(test, cells_without_numbers);
    tcase_add_test(test, sets_of_sets);
    tcase_add_test(test, sets_one_after_the_other);
    tcase_add_test(test, outputs_in_each_others_way);
    tcase_add_loop_test(test, one_column_of_two, 0, 2);
    suite_add_tcase(suite, test);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
