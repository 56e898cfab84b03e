/* Fits that are killed, or whose disk fails, at calls that change a file, and are resumed: the
 * table is the same to the last bit, and no domain that was found is fitted again. At every call
 * with GROVE_ALL_FAULTS=1, else at some. */
#include "solve-world.h"
#include "tests/common/faults.h"

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "nodes/fit/checkpoint.h"
#include "unstable/record.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static solve_world w;
static char *path, *checkpoint;
static bool keeps;   /* a table that is there is not to be replaced */
static int restored; /* domains that a run took from the checkpoint */

static void hear(const char *message)
{
    const char *at = strstr(message, " solution domains are taken from ");
    int of;

    if (at && sscanf(strchr(message, ':') + 1, "%d of %d", &restored, &of) != 2)
        restored = -1;
}

static void setup(void)
{
    solve_world_begin(&w);
    grove_log_watch(hear);
    keeps = false;
    path = grove_format("%s/gains.h5", w.t.folder);
    checkpoint = grove_format("%s.checkpoint", path);
}

static void teardown(void)
{
    free(path);
    free(checkpoint);
    solve_world_end(&w);
}

static const struct {
    const char *parm, *options, *run;
    int domains;
    bool in_cycles; /* a cycle writes a table of its own */
} fits[] = {
    {"jones=diagonal, time=4min", ", batch=1", "", 6, false},
    {"jones=full, time=4min, freq=6MHz", ", batch=2, errors=true, method=lm, compress=false", "",
     12, false},
    {"jones=phase, time=6min", ", batch=1, robust=student_t, reference=\"1\"", "", 4, false},
    {"jones=delay, time=4min", ", batch=1, errors=true", "", 6, false},
    {"jones=diagonal, time=4min, degree=1", ", batch=2", "", 6, false},
    {"jones=full, time=6min", ", method=block, batch=2", "run fit [cycles=3]\n", 4, true},
};
enum { FITS = sizeof(fits) / sizeof(fits[0]), MODES = FAULTS_MODES - 1 };

/* Runs the tree once: its table is how all others have to be. */
static char *run_once(int fit, size_t *length)
{
    solve_world_pass(
        &w,
        suite_text(
            "G[p] = parm(\"G\", %s)\n"
            "T[p] = draw(obs, shape=diagonal, around=1, times=1).value\n"
            "b = spoil(obs, station=3, first_time=10)\n"
            "D[p,q] = (T[p] * M[p,q] * T[q]^H + noise(obs, sigma=1Jy)) * b.value\n"
            "fit = solve(G[p] * M[p,q] * G[q]^H, D, max_iterations=20, to=\"%s\", overwrite=%s%s)\n"
            "k0 = keep(G)\n%s",
            fits[fit].parm, path, keeps ? "false" : "true", fits[fit].options, fits[fit].run));
    grove_session_free(w.session);
    w.session = NULL;
    char *bytes = grove_file_read(path, 1 << 28, false, length, w.t.error);
    ck_assert(bytes && !grove_path_exists(checkpoint));
    return suite_keep(bytes);
}

static int run(bool resume, int times)
{
    const grove_session_options options =
        GROVE_SESSION_OPTIONS(.device = "cpu", .double_precision = true, .resume = resume,
                              .tile_times = times);
    grove_session *session = grove_session_new(w.t.tree, &options, w.t.error);
    int code = session ? grove_session_run(session) : GROVE_INVALID;

    grove_session_free(session);
    return code;
}

/* The same in a process of its own, with a fault at a call; at 0: how many calls there are, in
 * *calls. 0, 1 that it has failed, or -1 that it was killed. */
static int run_with_fault(faults_mode mode, int at, bool resume, int *calls)
{
    int ends[2], status;

    ck_assert(!pipe(ends));
    restored = 0;
    pid_t child = fork();
    if (child == 0) {
        faults_arm(w.t.folder, mode, at);
        int code = run(resume, 0), said[2] = {faults_count(), restored};
        faults_arm("", FAULTS_NONE, 0);
        _exit(write(ends[1], said, sizeof(said)) != sizeof(said) ? 2 : code != 0);
    }
    close(ends[1]);
    ck_assert(child > 0 && waitpid(child, &status, 0) == child);
    int said[2] = {0, 0};
    ck_assert_int_ge(read(ends[0], said, sizeof(said)), 0); /* nothing from one that was killed */
    close(ends[0]);
    if (calls)
        *calls = said[0];
    restored = said[1];
    ck_assert(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) < 2);
    return WIFSIGNALED(status) ? -1 : WEXITSTATUS(status);
}

static void expect_table(const char *bytes, size_t length)
{
    size_t now;
    char *found = suite_keep(grove_file_read(path, 1 << 28, false, &now, w.t.error));

    ck_assert(found && now == length && !memcmp(found, bytes, length));
}

LOOP_TEST(a_fault_at_every_call, 0, FITS *MODES)
{
    int fit = _i / MODES, calls, most = 0;
    faults_mode mode = (faults_mode)(1 + _i % MODES);
    size_t length;
    char *bytes = run_once(fit, &length);

    ck_assert_int_eq(run_with_fault(FAULTS_NONE, 0, false, &calls), 0);
    expect_table(bytes, length);
    ck_assert_int_gt(calls, 8);
    int step = getenv("GROVE_ALL_FAULTS") ? 1 : mode == FAULTS_KILL ? 3 : 7;
    /* all of the last calls, which put the table in place */
    for (int at = 1 + fit % step; at <= calls; at += calls - at > 8 ? step : 1) {
        ck_assert(!unlink(path));
        int code = run_with_fault(mode, at, false, NULL);
        bool written = grove_path_exists(path);
        /* files are synced at most once a second: there may be fewer calls than before */
        ck_assert(code == -1 ? mode == FAULTS_KILL : mode != FAULTS_KILL || !code);
        ck_assert_msg(written || code, "fault %d at %d: said to be done", mode, at);
        if (written && !fits[fit].in_cycles)
            expect_table(bytes, length);
        ck_assert_int_eq(run_with_fault(FAULTS_NONE, 0, true, NULL), 0);
        expect_table(bytes, length);
        ck_assert(!grove_path_exists(checkpoint));
        if (!written && restored > most)
            most = restored;
    }
    if (mode == FAULTS_KILL && !fits[fit].in_cycles)
        ck_assert_int_eq(most, fits[fit].domains); /* when the table was about to be written */
}

/* Killed again and again; resumed with other tiles. */
LOOP_TEST(many_deaths, 0, FITS)
{
    size_t length;
    char *bytes = run_once(_i, &length);

    ck_assert(!unlink(path));
    for (int death = 0; death < 4; death++)
        ck_assert_int_eq(run_with_fault(FAULTS_KILL, death ? 4 : 7, true, NULL), -1);
    size_t size;
    char *before = suite_keep(grove_file_read(checkpoint, 1 << 28, false, &size, w.t.error));
    ck_assert_ptr_nonnull(before);
    char *text = suite_keep(grove_checkpoint_describe(checkpoint, w.t.error));
    size_t now;
    char *after = suite_keep(grove_file_read(checkpoint, 1 << 28, false, &now, w.t.error));
    ck_assert(after && now == size && !memcmp(before, after, now));
    int domains = 0;
    ck_assert(text && sscanf(text, "checkpoint of gains.h5: %d solution domain", &domains) == 1);
    restored = 0;
    ck_assert_int_eq(run(true, 4), 0);
    ck_assert_int_gt(restored, 0);
    ck_assert(fits[_i].in_cycles ? domains >= restored : domains == restored);
    expect_table(bytes, length);
}

/* Those that must not go on. */
TEST(refusals)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.device = "cpu", .resume = true);
    size_t length;
    char *bytes = run_once(0, &length), *text;

    ck_assert(!unlink(path));
    ck_assert_int_eq(run_with_fault(FAULTS_KILL, 7, false, NULL), -1);
    ck_assert_int_ne(run(false, 0), 0);
    text = suite_messages(w.t.error);
    ck_assert_msg(strstr(text, "gains.h5.checkpoint: a run that did not end has left its"), "%s",
                  text);
    grove_error_clear(w.t.error);
    grove_session *session = grove_session_new(w.t.tree, &options, w.t.error);
    ck_assert_int_ne(grove_session_run(session), 0);
    grove_session_free(session);
    text = suite_messages(w.t.error);
    ck_assert_msg(strstr(text, "differs in the precision, and cannot"), "%s", text);
    grove_error_clear(w.t.error);
    ck_assert_int_eq(run(true, 0), 0);
    expect_table(bytes, length);
}

static void expect_refusal(const char *words)
{
    ck_assert_int_ne(run(true, 0), 0);
    char *text = suite_messages(w.t.error);
    ck_assert_msg(strstr(text, words), "%s", text);
    grove_error_clear(w.t.error);
}

/* A file that somebody else has put at the table's name meanwhile is not replaced; a table of an
 * earlier cycle of the run is. */
LOOP_TEST(a_file_of_others, FITS - 2, FITS)
{
    size_t length, other;
    int calls, own = 0;

    keeps = true;
    char *bytes = run_once(_i, &length);
    ck_assert(!unlink(path));
    ck_assert_int_eq(run_with_fault(FAULTS_NONE, 0, false, &calls), 0);
    ck_assert(!unlink(path));
    for (int at = 7; at < calls - 4; at += 5) {
        int code = run_with_fault(FAULTS_KILL, at, false, NULL);
        ck_assert(!grove_record_recover_file(path, w.t.error)); /* as grove recover does */
        bool written = grove_path_exists(path);
        ck_assert(code == -1 || (!code && written));
        if (written && !fits[_i].in_cycles) { /* fewer calls than before, see above: the end */
            expect_table(bytes, length);
            ck_assert(at > 7 && !unlink(path));
            break;
        }
        if (written) { /* of an earlier cycle */
            own++;
            ck_assert(!unlink(path));
        }
        if (!code)
            break;
        FILE *file = fopen(path, "w");
        ck_assert(file && fputs("mine", file) >= 0 && !fclose(file));
        expect_refusal("gains.h5: exists, and this run has not written it; move it away");
        char *mine = suite_keep(grove_file_read(path, 100, true, &other, w.t.error));
        ck_assert(mine && !strcmp(mine, "mine") && grove_path_exists(checkpoint) && !unlink(path));
        ck_assert_int_eq(run_with_fault(FAULTS_KILL, 5, true, NULL), -1);
        ck_assert_int_eq(run(true, 0), 0);
        expect_table(bytes, length);
        ck_assert(!unlink(path));
    }
    ck_assert_int_eq(own > 0, fits[_i].in_cycles);
}

SUITE(120, setup, teardown)
