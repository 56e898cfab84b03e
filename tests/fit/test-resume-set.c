/* Runs that fit, and write a table and a set, killed or failing at calls that change a file, and
 * resumed: table and set are as after an undisturbed run, and nothing else is left. At every call
 * with GROVE_ALL_FAULTS=1, else at some, and at those that put things in place. */
#include "tests/common/faults.h"
#include "tests/common/testing.h"

#include "run/session.h"

#include "base/file.h"
#include "base/text.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char work[140]; /* where runs happen */

TESTING_FIXTURE(snprintf(work, sizeof(work), "%s/work", t.folder))

static const char world[] =
    "obs = observe(array=\"wsrt\", phase_centre=\"10h0m0s +60d0m0s\", hour_angle=-2min..2min, "
    "integration=30s, frequency=140MHz, channels=2, channel_width=1MHz)\n"
    "G[p] = gains(obs, kind=sine, jones=diagonal, amplitude=0.2, phase=60deg, seed=1)\n"
    "write = sink(G[p] * 3Jy * G[q]^H + noise(obs, sigma=0.1Jy, seed=2), obs, "
    "to=\"%s/field.ms\")\n";

/* What writes into the set, or makes another; what then holds the result; and whether there is a
 * table before. */
static const struct {
    const char *write, *set, *column;
    bool replaces;
} sinks[] = {
    {"sink(G[p]^-1 * obs.data * G[q]^-1^H, obs, column=\"CORRECTED_DATA\")", "field.ms",
     "CORRECTED_DATA", false},
    {"sink(V, obs, mode=subtract, overwrite=true)", "field.ms", "DATA", true},
    {"sink(G[p]^-1 * obs.data * G[q]^-1^H, obs, to=\"%s/new.ms\")", "new.ms", "DATA", false},
};
enum { SINKS = sizeof(sinks) / sizeof(sinks[0]), MODES = FAULTS_MODES - 1 };

static char *in_work(const char *name)
{
    return suite_text("%s/%s", work, name);
}

/* A command in which each %s is the folder of work. */
static void shell(const char *format)
{
    ck_assert_int_eq(system(suite_text(format, work, work, work)), 0);
}

static bool exists(const char *name)
{
    char *path = in_work(name);
    bool is = grove_path_exists(path);

    return is;
}

static int run(const char *text, bool resume)
{
    const grove_session_options options =
        GROVE_SESSION_OPTIONS(.device = "cpu", .resume = resume, .tile_times = 4);

    testing_tree(&t, text);
    grove_session *session = grove_session_new(t.tree, &options, t.error);
    int code = session ? grove_session_run(session) : GROVE_INVALID;
    grove_session_free(session);
    return code;
}

typedef struct {
    faults_mode mode;
    int at, calls; /* calls: set by a run that was not killed */
    bool resume;
    char said[200]; /* its first message */
} fault;

/* In a process of its own: 0, 1 that it has failed, or -1 that it was killed. */
static int run_with(const char *text, fault *f)
{
    int ends[2], status;

    ck_assert(!pipe(ends));
    pid_t child = fork();
    if (child == 0) {
        faults_arm(work, f->mode, f->at);
        int code = run(text, f->resume);
        f->calls = faults_count();
        faults_arm("", FAULTS_NONE, 0);
        const char *message = code ? grove_error_message(t.error, 0) : NULL;
        snprintf(f->said, sizeof(f->said), "%s", message ? message : "");
        _exit(write(ends[1], f, sizeof(*f)) != sizeof(*f) ? 2 : code != 0);
    }
    close(ends[1]);
    ck_assert(child > 0 && waitpid(child, &status, 0) == child);
    fault told;
    if (read(ends[0], &told, sizeof(told)) == sizeof(told))
        *f = told;
    close(ends[0]);
    /* casacore aborts where a file cannot be written when it closes a table */
    ck_assert(!WIFSIGNALED(status)          ? WEXITSTATUS(status) < 2
              : WTERMSIG(status) == SIGABRT ? f->mode != FAULTS_KILL
                                            : WTERMSIG(status) == SIGKILL);
    return WIFSIGNALED(status) ? -1 : WEXITSTATUS(status);
}

static int run_once(const char *text, bool resume)
{
    fault none = {.resume = resume};

    int code = run_with(text, &none);
    ck_assert_msg(!code, "%s", none.said);
    return none.calls;
}

/* As before any run. */
static void begin_anew(void)
{
    shell("rm -rf %s && cp -a %s.fresh %s");
}

static char *make_tree(int sink)
{
    char *write = grove_format(sinks[sink].write, work);
    char *save = sink == 1
                     ? suite_text("left = save(mean(norm(obs.data)), to=\"%s/mean.npy\")\n", work)
                     : suite_text("%s", "");
    char *text =
        grove_format("obs = ms(\"%s/field.ms\")\n"
                     "G[p] = parm(\"G\", jones=diagonal, time=1min)\n"
                     "V[p,q] = G[p] * 3Jy * G[q]^H\n%s"
                     "fit = solve(V, obs.data, parms=G, batch=1, to=\"%s/gains.h5\"%s)\n"
                     "write = %s\n",
                     work, save, work, sinks[sink].replaces ? ", overwrite=true" : "", write);

    free(write);
    return suite_keep(text);
}

/* Whether the table is in place. */
static bool has_table(void)
{
    bool is = !system(suite_text("cmp -s %s/gains.h5 %s.done/gains.h5", work, work));

    return is;
}

/* The folder is as after an undisturbed run, of which a copy is beside it. What could not be tidied
 * up for a new set, or on a disk that fails, is left for the next run that writes there. */
static void expect_all(int sink, faults_mode mode, int at)
{
    const char *compare = "a = ms(\"%s/%s\", column=\"%s\")\n"
                          "b = ms(\"%s.done/%s\", column=\"%s\")\n"
                          "same = compare(a.data, b.data, tolerance=0)\n";
    char *text = suite_text(compare, work, sinks[sink].set, sinks[sink].column, work,
                            sinks[sink].set, sinks[sink].column);
    char *files =
        grove_format("cmp %s/gains.h5 %s.done/gains.h5 && cd %s && "
                     "%s && ls -A -I '.mean.npy.*' -I '%s' >../now && cd "
                     "%s.done && ls -A | diff - ../now",
                     work, work, work, sink == 1 ? "cmp mean.npy ../work.done/mean.npy" : "true",
                     mode == FAULTS_KILL ? ".new.ms.grove-*" : ".*.grove-*", work);
    fault none = {.mode = FAULTS_NONE};
    int code = run_with(text, &none);

    ck_assert_msg(!code, "fault %d at %d: %s", mode, at, none.said);
    ck_assert_msg(!system(files), "fault %d at %d: other files", mode, at);
    free(files);
}

/* An undisturbed run, whose results are kept; how many calls it takes. */
static int make_all(int sink, const char *text)
{
    char *made = suite_text(world, work);

    ck_assert(!mkdir(work, 0777));
    run_once(made, false);
    if (sinks[sink].replaces)
        shell("echo another >%s/gains.h5");
    shell("mv %s %s.fresh");
    begin_anew();
    int calls = run_once(text, false);
    ck_assert(!exists("gains.h5.checkpoint"));
    shell("mv %s %s.done");
    return calls;
}

LOOP_TEST(a_fault_at_every_call, 0, SINKS *MODES)
{
    int sink = _i / MODES, late = 0;
    faults_mode mode = (faults_mode)(1 + _i % MODES);
    bool all = getenv("GROVE_ALL_FAULTS") != NULL;
    int step = all ? 1 : 61, last_step = all ? 1 : mode == FAULTS_KILL ? 2 : 9;
    char *text = make_tree(sink);

    faults_simple_system(sink == 2);
    int calls = make_all(sink, text);
    /* Files are synced at most once a second: a run may make fewer calls, or more. Kills go on
       until a run is not reached by them. */
    bool ended = false;
    for (int at = 1 + sink; at <= calls || (mode == FAULTS_KILL && !ended);
         at += calls - at > 100 ? step : last_step) {
        fault f = {.mode = mode, .at = at}, again = {.resume = true};
        begin_anew();
        int code = run_with(text, &f);
        bool has_ended = has_table() && !exists("gains.h5.checkpoint");
        ended = !code;
        ck_assert(code == -1 || mode != FAULTS_KILL || !code);
        ck_assert_msg(code || has_table(), "fault %d at %d: said to be done", mode, at);
        late += has_table() && !has_ended;
        code = has_ended ? 0 : run_with(text, &again);
        ck_assert_msg(!code, "fault %d at %d, resumed: %s", mode, at, again.said);
        expect_all(sink, mode, at);
    }
    ck_assert(mode != FAULTS_KILL || late > 0);
    faults_simple_system(false);
}

/* Kills a run in its last calls, when the table has its name. Runs differ by a few calls. */
static void kill_at_the_end(const char *text, int calls)
{
    for (int at = calls + 3, tries = 0; tries < 50; tries++) {
        fault kill = {.mode = FAULTS_KILL, .at = at};
        begin_anew();
        bool killed = run_with(text, &kill) == -1;
        if (killed && has_table())
            return;
        at += killed ? 1 : -1;
    }
    ck_abort_msg("no run could be killed at its end");
}

/* The checkpoint of a run that has ended is in nobody's way. */
TEST(a_run_that_ended)
{
    char *text = make_tree(0), *other = suite_text("# another tree\n%s", text);
    int calls = make_all(0, text);

    for (int way = 0; way < 2; way++) {
        fault again = {.resume = way};
        kill_at_the_end(text, calls);
        ck_assert(exists("gains.h5.checkpoint"));
        ck_assert_int_eq(run_with(way ? other : text, &again), 1);
        ck_assert_msg(strstr(again.said, "exists already; give overwrite=true"), "%s", again.said);
        expect_all(0, FAULTS_KILL, calls);
    }
}

/* After a cycle that has written what it reads, a run cannot go on, and says so. */
TEST(cycles)
{
    char *once = make_tree(0), *text = suite_text("%srun fit, write [cycles=3]\n", once);
    int calls = make_all(0, text), refused = 0;

    for (int at = calls / 4; at < calls; at += calls / 8) {
        fault kill = {.mode = FAULTS_KILL, .at = at}, again = {.resume = true};
        begin_anew();
        ck_assert_int_eq(run_with(text, &kill), -1);
        int code = run_with(text, &again);
        if (!code) /* in the first cycle, or after all */
            continue;
        refused++;
        ck_assert_msg(strstr(again.said, "gains.h5.checkpoint: its run has completed "
                                         "cycle "),
                      "%s", again.said);
        ck_assert(exists("gains.h5") && exists("gains.h5.checkpoint"));
    }
    ck_assert_int_gt(refused, 2);
}

SUITE(getenv("GROVE_ALL_FAULTS") ? 7200 : 600, setup, teardown)
