/* Runs of Grove and other programs that want one set at once, on file systems of several kinds. */
#include "safe-testing.h"
#include "tests/common/faults.h"
#include "tests/common/foreign-sets.h"
#include "tests/common/suite.h"

#include "base/file.h"
#include "base/log.h"
#include "base/record_private.h"
#include "base/text.h"
#include "nodes/sets/set_lock.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Opens the set as a tree does, then adds to a column of it. */
static int read_and_add(const void *column)
{
    grove_ms *reader = grove_ms_open(safe_path("a.ms"), &(grove_ms_part){0}, safe_error);
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
LOOP_TEST(two_writers_take_turns, 0, 10)
{
    pid_t children[3];

    faults_lock(_i % 2 ? FAULTS_NFS : FAULTS_LOCKS);
    safe_make("a.ms");
    for (int k = 0; k < 3; k++)
        children[k] = start(read_and_add, "DATA");
    for (int k = 0; k < 3; k++)
        ck_assert_int_eq(result(children[k]), 0);
    safe_expect(safe_path("a.ms"), "DATA", 4, 1, 0);
    safe_expect_names(safe_work, "a.ms ");
    ck_assert_int_eq(grove_path_exists(safe_path("a.ms/.grove.lock")), _i % 2);
    faults_lock(FAULTS_LOCKS);
}

enum { THREE_RUNS = 3 };

/* A run that adds to columns of sets in this order; of one set, it reads the other. */
typedef struct {
    const char *sets[2];
    int written;
} two_sets;

static int add_to_both(const void *context)
{
    const two_sets *of = context;
    grove_record *record = grove_record_new();
    grove_ms *ms[2] = {NULL, NULL}, *reader = NULL;
    int code = 0;

    alarm(60);
    if (of->written == 1 &&
        !(reader = grove_ms_open(safe_path(of->sets[1]), &(grove_ms_part){0}, safe_error)))
        return 1;
    usleep(20000);
    for (int k = 0; k < of->written; k++)
        grove_record_expect(record, safe_path(of->sets[k]));
    safe_record = record;
    for (int k = 0; k < of->written && !code; k++) {
        code = !(ms[k] = safe_open_column(safe_path(of->sets[k]), "DATA", GROVE_MS_ADD));
        usleep(20000);
    }
    for (int k = 0; k < of->written && !code; k++)
        code = safe_write_all(ms[k], 1) || grove_ms_settle(ms[k], safe_error);
    code = code ? code : grove_record_commit(record, safe_error);
    for (int k = 0; k < of->written && !code; k++)
        code = grove_ms_finish(ms[k], safe_error);
    safe_record = NULL;
    grove_record_free(record);
    if (reader)
        grove_ms_close(reader);
    return code;
}

/* Runs that want the same two sets in another order do not wait for each other: those that write
 * both, and those that read one and write the other. */
LOOP_TEST(two_sets_in_either_order, 0, 8)
{
    const int written = 2 - _i % 2;
    const two_sets runs[THREE_RUNS] = {
        {{"a.ms", "b.ms"}, written},
        {{"b.ms", "a.ms"}, written},
        {{_i % 4 < 2 ? "a.ms" : "b.ms", _i % 4 < 2 ? "b.ms" : "a.ms"}, written}};
    pid_t children[THREE_RUNS];
    int a = 1, b = 1;

    safe_make("a.ms");
    safe_make("b.ms");
    for (int k = 0; k < THREE_RUNS; k++) {
        children[k] = start(add_to_both, &runs[k]);
        a += written == 2 || runs[k].sets[0][0] == 'a';
        b += written == 2 || runs[k].sets[0][0] == 'b';
    }
    for (int k = 0; k < THREE_RUNS; k++)
        ck_assert_int_eq(result(children[k]), 0);
    safe_expect(safe_path("a.ms"), "DATA", (float)a, 1, 0);
    safe_expect(safe_path("b.ms"), "DATA", (float)b, 1, 0);
    safe_expect_names(safe_work, "a.ms b.ms ");
}

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
LOOP_TEST(one_writer_does_not_wait, 0, 4)
{
    static const char *const says[] = {
        "another run of Grove has it open", "another program has it open",
        "another program has locked it", "another run of Grove has it open"};
    int pipes[5] = {0};
    char ready;

    faults_lock(_i == 3 ? FAULTS_NFS : FAULTS_LOCKS);
    safe_make("a.ms");
    ck_assert(pipe(pipes) == 0 && pipe(pipes + 2) == 0);
    pipes[4] = _i == 2;
    pid_t child = start(_i == 1 || _i == 2 ? hold_foreign : hold, pipes);
    ck_assert(read(pipes[0], &ready, 1) == 1);
    grove_record_wait(false);
    ck_assert_ptr_null(safe_open_column(safe_path("a.ms"), "DATA", GROVE_MS_REPLACE));
    safe_said(says[_i]);
    /* one Ctrl-C ends the wait */
    grove_record_wait(true);
    grove_interrupt_set(true);
    ck_assert_ptr_null(safe_open_column(safe_path("a.ms"), "DATA", GROVE_MS_REPLACE));
    ck_assert_int_eq(grove_error_code(safe_error), GROVE_INTERRUPTED);
    safe_said("interrupted");
    grove_interrupt_set(false);
    ck_assert(write(pipes[3], "x", 1) == 1);
    ck_assert_int_eq(result(child), 0);
    safe_good(!safe_write_column(safe_path("a.ms"), "DATA", GROVE_MS_REPLACE, 2));
    safe_expect(safe_path("a.ms"), "DATA", 2, 1, 0);
    faults_lock(FAULTS_LOCKS);
}

/* A lock that nobody has, and that cannot be had, is not waited for. */
TEST(a_lock_that_cannot_be_had)
{
    safe_make("a.ms");
    faults_lock(FAULTS_READ_LOCKS);
    ck_assert_ptr_null(safe_open_column(safe_path("a.ms"), "DATA", GROVE_MS_REPLACE));
    faults_lock(FAULTS_LOCKS);
    safe_said("a.ms: table.lock cannot be locked: Bad file descriptor");
    safe_good(!safe_write_column(safe_path("a.ms"), "DATA", GROVE_MS_REPLACE, 2));
    safe_expect(safe_path("a.ms"), "DATA", 2, 1, 0);
}

/* ---- two that wait for each other ---- */

typedef struct {
    const char *locks;
    bool late, writes;               /* late: opens the set once Grove writes it */
    int begin[2], open[2], waits[2]; /* pipes: the other may open it; has it open; Grove waits */
} meeting;

static const meeting *now_met;

static void tell_open(void *context)
{
    const meeting *of = context;
    char waits;

    if (write(of->open[1], "x", 1) != 1 || read(of->waits[0], &waits, 1) != 1)
        _exit(3);
}

static int edit(const void *context)
{
    const meeting *of = context;
    char begin;

    alarm(30);
    if (read(of->begin[0], &begin, 1) != 1)
        return 2;
    foreign_edit(safe_path("a.ms"), of->locks, of->writes, tell_open, (void *)context);
    return 0;
}

static void tell_waiting(const char *message)
{
    if (strstr(message, "; waiting") && write(now_met->waits[1], "x", 1) != 1)
        _exit(3);
}

static int write_meanwhile(const void *context)
{
    const meeting *of = context;
    char ready;

    alarm(30);
    now_met = of;
    grove_log_watch(tell_waiting);
    if (!of->late && (write(of->begin[1], "x", 1) != 1 || read(of->open[0], &ready, 1) != 1))
        return 2;
    grove_ms *ms = safe_open_column(safe_path("a.ms"), "DATA", GROVE_MS_REPLACE);
    if (!ms || safe_write_all(ms, 2))
        return 2;
    if (of->late && (write(of->begin[1], "x", 1) != 1 || read(of->open[0], &ready, 1) != 1))
        return 2;
    return grove_ms_finish(ms, safe_error);
}

/* A program that has the set open, and writes a cell while Grove waits for it to end. What it has
 * changed once Grove has copied it is kept. */
LOOP_TEST(another_program_writes_while_a_run_waits, 0, 6)
{
    meeting of = {.locks = _i < 2 ? "auto" : "autonoread", .late = _i >= 4, .writes = _i % 2};

    safe_make("a.ms");
    ck_assert(pipe(of.begin) == 0 && pipe(of.open) == 0 && pipe(of.waits) == 0);
    pid_t child = start(edit, &of);
    const int refused = of.late && of.writes;
    ck_assert_int_eq(safe_in_child(write_meanwhile, &of), refused);
    ck_assert_int_eq(result(child), 0);
    safe_expect(safe_path("a.ms"), "DATA", refused ? 1 : 2, 1, 0);
    safe_expect_names(safe_work, "a.ms ");
}

static int said_record_locks;

static void count_record_locks(const char *message)
{
    said_record_locks += strstr(message, "no record locks") != NULL;
}

/* Where casacore cannot lock tables nobody is waited for, and a warning says so once. */
LOOP_TEST(no_record_locks, 0, 2)
{
    safe_make("a.ms");
    faults_lock(_i ? FAULTS_NO_RECORD_LOCKS : FAULTS_NO_LOCKS);
    grove_record_wait(false);
    said_record_locks = 0;
    grove_log_watch(count_record_locks);
    safe_good(!safe_write_column(safe_path("a.ms"), "DATA", GROVE_MS_REPLACE, 2));
    safe_good(!safe_write_column(safe_path("a.ms"), "MODEL_DATA", GROVE_MS_REPLACE, 3));
    grove_log_watch(NULL);
    ck_assert_int_eq(said_record_locks, 1);
    safe_expect(safe_path("a.ms"), "DATA", 2, 1, 0);
    safe_expect(safe_path("a.ms"), "MODEL_DATA", 3, 1, 0);
    grove_record_wait(true);
    faults_lock(FAULTS_LOCKS);
}

static int make_one(const void *context)
{
    (void)context;
    return safe_new_set(safe_path("a.ms"), 1, false);
}

static int add_model(const void *context)
{
    (void)context;
    setenv("HOME", safe_top, 1);
    return safe_write_column(safe_path("a.ms"), "MODEL_DATA", GROVE_MS_REPLACE, 3);
}

/* Of a user who has told casacore not to lock tables: what is said to be written is there. */
TEST(a_user_without_locks)
{
    FILE *to = fopen(suite_text("%s/.casarc", safe_top), "w");

    fputs("table.nolocking: true\n", to);
    fclose(to);
    ck_assert_int_eq(safe_in_child(make_one, NULL), 0);
    ck_assert_int_eq(safe_in_child(add_model, NULL), 0);
    safe_expect(safe_path("a.ms"), "DATA", 1, 1, 0);
    safe_expect(safe_path("a.ms"), "MODEL_DATA", 3, 1, 0);
}

/* `says`: what keeps it from opening the set; NULL: nothing. */
static int read_without_rights(const void *says)
{
    if (geteuid() == 0 && setuid(65534))
        return 1;
    grove_record_wait(false);
    grove_ms *ms = grove_ms_open(safe_path("a.ms"), &(grove_ms_part){0}, safe_error);
    return says ? ms || !strstr(grove_error_message(safe_error, 0), says) : !ms;
}

/* The lock file of NFS is there for who may not write, too. */
TEST(a_reader_waits_on_nfs)
{
    int pipes[4];
    char ready;

    faults_lock(FAULTS_NFS);
    safe_make("a.ms");
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

static int write_without_rights(const void *says)
{
    if (geteuid() == 0 && setuid(65534))
        return 1;
    grove_record_wait(false);
    grove_ms *ms = safe_open_column(safe_path("a.ms"), "DATA", GROVE_MS_REPLACE);
    return ms || !strstr(grove_error_message(safe_error, 0), says);
}

/* The lock file of NFS is for whoever may write the set; where it is not, there is no writing. */
TEST(a_lock_file_that_may_not_be_written)
{
    static const mode_t modes[] = {0444, 0};
    struct stat info;

    faults_lock(FAULTS_NFS);
    safe_make("a.ms");
    ck_assert_int_eq(system(suite_text("chmod -R a+rwX '%s'", safe_top)), 0);
    safe_expect(safe_path("a.ms"), "DATA", 1, 1, 0);
    ck_assert(stat(safe_path("a.ms/.grove.lock"), &info) == 0);
    ck_assert_int_eq(info.st_mode & 0777, 0666);
    for (int k = 0; k < 2; k++) {
        ck_assert(chmod(safe_path("a.ms/.grove.lock"), modes[k]) == 0);
        ck_assert_int_eq(safe_in_child(write_without_rights, "a.ms/.grove.lock: may not be"), 0);
    }
    faults_lock(FAULTS_LOCKS);
}

/* Where nothing can be locked, a run that lives is told from one that died nevertheless. */
TEST(runs_without_locks)
{
    int pipes[4];
    char ready;
    bool done = true;

    faults_lock(FAULTS_NO_LOCKS);
    safe_make("a.ms");
    ck_assert(pipe(pipes) == 0 && pipe(pipes + 2) == 0);
    pid_t child = start(hold, pipes);
    ck_assert(read(pipes[0], &ready, 1) == 1);
    safe_good(!grove_ms_recover(safe_path("a.ms"), &done, safe_error));
    ck_assert(!done);
    char *names = safe_names(safe_path("a.ms"));
    ck_assert_msg(strstr(names, ".grove-") != NULL, "%s", names);
    ck_assert(write(pipes[3], "x", 1) == 1);
    ck_assert_int_eq(result(child), 0); /* without finishing */
    safe_expect(safe_path("a.ms"), "DATA", 1, 1, 0);
    safe_good(!safe_write_column(safe_path("a.ms"), "DATA", GROVE_MS_REPLACE, 2));
    safe_expect(safe_path("a.ms"), "DATA", 2, 1, 0);
    names = safe_names(safe_path("a.ms"));
    ck_assert_msg(strstr(names, ".grove-") == NULL, "%s", names);
    faults_lock(FAULTS_LOCKS);
}

/* Makes a set and kills a run that writes it; the working folder that it leaves. */
static char *die_while_writing(void)
{
    int pipes[4], status;
    char ready;

    safe_make("a.ms");
    ck_assert(pipe(pipes) == 0 && pipe(pipes + 2) == 0);
    pid_t child = start(hold, pipes);
    ck_assert(read(pipes[0], &ready, 1) == 1 && kill(child, SIGKILL) == 0);
    ck_assert(waitpid(child, &status, 0) == child);
    char **names = grove_folder_list(safe_path("a.ms")), *work = NULL;
    for (char **name = names; *name; name++) {
        if (!strncmp(*name, ".grove-", 7))
            work = grove_path_join(safe_path("a.ms"), *name);
        free(*name);
    }
    free(names);
    ck_assert_ptr_nonnull(work);
    return suite_keep(work);
}

/* Without locks, a run that has not yet said who it is lives, unless that was long ago. */
TEST(an_empty_lock)
{
    grove_record_state state;

    faults_lock(FAULTS_NO_LOCKS);
    char *work = die_while_writing(), *lock = suite_keep(grove_path_join(work, "lock"));
    ck_assert(truncate(lock, 0) == 0);
    safe_good(!grove_record_recover(safe_path("a.ms"), &state, safe_error));
    ck_assert(state == GROVE_RECORD_NONE && grove_path_exists(lock));
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1}};
    ck_assert(utimensat(AT_FDCWD, lock, times, 0) == 0);
    safe_good(!grove_record_recover(safe_path("a.ms"), &state, safe_error));
    ck_assert(state == GROVE_RECORD_CLEANED && !grove_path_exists(work));
    faults_lock(FAULTS_LOCKS);
}

enum { TAKERS = 6 };

typedef struct {
    const char *work;
    int said, go;
} taker;

static int take_lock(const void *context)
{
    const taker *of = context;
    int lock = grove_record_lock(of->work, false);
    char end;

    if (write(of->said, lock >= 0 ? "y" : "n", 1) != 1)
        return 1;
    return read(of->go, &end, 1) != 0;
}

/* Without locks, too, one alone takes what a run that died has left; and another when that dies. */
TEST(one_takes_what_is_left)
{
    pid_t children[TAKERS];
    char answers[TAKERS];

    faults_lock(FAULTS_NO_LOCKS);
    char *work = die_while_writing();
    for (int k = 0; k < 3; k++) {
        int said[2], go[2], taken = 0;
        ck_assert(pipe(said) == 0 && pipe(go) == 0);
        taker of = {work, said[1], go[0]};
        for (int i = 0; i < TAKERS; i++)
            children[i] = start(take_lock, &of);
        for (int i = 0; i < TAKERS; i++) {
            ck_assert(read(said[0], &answers[i], 1) == 1);
            taken += answers[i] == 'y';
        }
        for (int i = 0; i < TAKERS; i++) {
            ck_assert(kill(children[i], SIGKILL) == 0);
            result(children[i]);
        }
        ck_assert_int_eq(taken, 1);
    }
    int lock = grove_record_lock(work, false);
    ck_assert(lock >= 0 && grove_record_lock(work, false) < 0);
    grove_record_unlock(work, lock);
    lock = grove_record_lock(work, false);
    ck_assert(lock >= 0);
    grove_record_unlock(work, lock);
    safe_good(!safe_write_column(safe_path("a.ms"), "DATA", GROVE_MS_REPLACE, 2));
    ck_assert(!grove_path_exists(work));
    faults_lock(FAULTS_LOCKS);
}

SUITE(120, safe_setup, safe_teardown)
