/* grove tune: finds the fastest configurations of the kernels that a tree runs. A child process
 * tries them, so that one that crashes, or does not end, is only a failure in its record. */
#include "cli/command.h"

#include "tune/record.h"
#include "tune/statistics.h"
#include "tune/tune.h"
#include "unstable/threads.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- in the child process ---- */

typedef struct {
    const grove_command_line *line;
    grove_tree *tree;
} work;

static int run_session(void *context, const grove_tuner *tuner, grove_error *error)
{
    const work *w = context;
    grove_session *session = grove_session_new(w->tree, &w->line->session, error);
    const int code = session ? grove_session_tune(session, tuner) : GROVE_INVALID;

    grove_session_free(session);
    return code;
}

static int tune_kernels_of(work *w, const tune_options *options, grove_error *error)
{
    tune_report report = {0};
    const int code = tune_kernels(run_session, w, options, &report, error);

    if (!code && report.count)
        tune_report_print(&report);
    else if (!code)
        puts("No kernel that can be tuned was run on this device.");
    tune_report_free(&report);
    return code;
}

static int tune_tree(grove_command_line *line, const char *file, const tune_options *options)
{
    grove_library *library = grove_library_new(line->plugin_folders);
    grove_error *error = grove_error_new();
    grove_tree *tree =
        grove_library_load(library, file, line->settings, line->setting_count, error);
    int code = GROVE_DONE;

    line->session.serial = true; /* nothing else takes time meanwhile */
    if (!tree || tune_kernels_of(&(work){line, tree}, options, error))
        code = grove_complain_errors(GROVE_FAILED, error);
    grove_tree_free(tree);
    grove_error_free(error);
    grove_library_free(library);
    return code;
}

/* ---- in the process that watches it ---- */

/* The configuration that is tried; path empty: none. */
typedef struct {
    double until; /* when it counts as failed */
    char path[4096], key[512];
} trial;

/* Takes whole lines from the child's text; the rest stays. */
static void take_lines(char *text, size_t *length, trial *at)
{
    char *line = text, *end;

    text[*length] = 0;
    for (; (end = strchr(line, '\n')); line = end + 1) {
        double seconds = 0;
        *end = 0;
        at->path[0] = 0;
        if (sscanf(line, "%lf\t%4095[^\t]\t%511[^\n]", &seconds, at->path, at->key) < 3)
            at->path[0] = 0;
        at->until = grove_now() + seconds;
    }
    *length -= (size_t)(line - text);
    memmove(text, line, *length);
}

/* Until the child has ended; true: it was ended, since a configuration takes too long. */
static bool watch(int from, pid_t child, trial *at)
{
    char text[8192];
    size_t length = 0;

    for (at->path[0] = 0;;) {
        struct pollfd ready = {.fd = from, .events = POLLIN};
        const double left = at->until - grove_now();
        const int timeout = !at->path[0] ? -1 : left > 0 ? (int)(1e3 * fmin(left, 1e6)) + 1 : 0;
        const int count = poll(&ready, 1, timeout);
        if (count < 0 && errno == EINTR)
            continue;
        if (!count && at->path[0]) {
            kill(child, SIGKILL);
            return true;
        }
        const ssize_t got = read(from, text + length, sizeof(text) - 1 - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        length += (size_t)got;
        take_lines(text, &length, at);
    }
}

/* Adds the failure of a configuration, by which the child ended, to its record. */
static int add_failure(const trial *at, int status, bool too_long)
{
    grove_error *error = grove_error_new();
    tune_record *there = tune_record_read(at->path, error),
                *record = there ? tune_record_open(there, "", error) : NULL;
    char reason[128];
    int code = GROVE_DONE;

    if (too_long)
        snprintf(reason, sizeof(reason), "it took too long and was ended");
    else if (WIFSIGNALED(status))
        snprintf(reason, sizeof(reason), "it ended the program: %s", strsignal(WTERMSIG(status)));
    else
        snprintf(reason, sizeof(reason), "it ended the program");
    const tune_point point = {.key = (char *)at->key, .failure = reason};
    if (!record || tune_record_add(record, &point, error))
        code = grove_complain_errors(GROVE_FAILED, error);
    tune_record_free(record);
    tune_record_free(there);
    grove_error_free(error);
    return code;
}

/* Tries configurations in a child process; `again`: it was ended by one. */
static int run_child(grove_command_line *line, const char *file, tune_options *options, bool *again)
{
    int ends[2], status = 0;
    trial at = {0};

    *again = false;
    fflush(NULL);
    if (pipe(ends))
        return grove_complain(GROVE_FAILED, "grove tune: %s", strerror(errno));
    const pid_t child = fork();
    if (child < 0)
        return grove_complain(GROVE_FAILED, "grove tune: %s", strerror(errno));
    if (!child) {
        close(ends[0]);
        options->guard = ends[1];
        signal(SIGPIPE, SIG_IGN);
        exit(tune_tree(line, file, options));
    }
    close(ends[1]);
    const bool too_long = watch(ends[0], child, &at);
    close(ends[0]);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM))
        return grove_complain(GROVE_FAILED, "grove tune was interrupted; what it tried is kept");
    if (at.path[0]) {
        *again = true;
        return add_failure(&at, status, too_long);
    }
    if (WIFSIGNALED(status))
        return grove_complain(GROVE_FAILED, "grove tune was ended: %s",
                              strsignal(WTERMSIG(status)));
    return WEXITSTATUS(status);
}

static int report(const grove_command_line *line)
{
    const char *picture = line->output, *end = picture ? strrchr(picture, '.') : NULL;
    int code = GROVE_DONE;

    if (picture && (!end || strcmp(end, ".svg") != 0))
        return grove_complain(GROVE_USAGE, "-o %s: must end in .svg", picture);
    grove_error *error = grove_error_new();
    tune_statistics *s = tune_statistics_read(line->words, (size_t)line->word_count, error);
    if (!s || (picture && tune_statistics_draw(s, picture, line->session.overwrite, error)))
        code = grove_complain_errors(GROVE_FAILED, error);
    else
        grove_put(stdout, tune_statistics_text(s));
    tune_statistics_free(s);
    grove_error_free(error);
    return code;
}

static int tune(grove_command_line *line)
{
    tune_options options = {.kernel = line->kernel,
                            .least_share = 0.01,
                            .budget = line->budget > 0 ? line->budget : 60,
                            .patience = line->patience > 0 ? line->patience : 30,
                            .quiet = line->quiet,
                            .energy = line->objective && !strcmp(line->objective, "energy")};
    const char *file;
    bool again = true;
    int code = 0;

    if (line->help) {
        grove_command_help(&grove_command_tune);
        return GROVE_DONE;
    }
    if (line->report)
        return report(line);
    if (line->output)
        return grove_complain(GROVE_USAGE, "-o %s: only with --report", line->output);
    if (!line->word_count)
        return grove_tune_costs(line);
    if (!(file = grove_command_word(&grove_command_tune, line, "tree file")))
        return GROVE_USAGE;
    if (line->objective && !options.energy && strcmp(line->objective, "time") != 0)
        return grove_complain(GROVE_USAGE, "--objective %s: must be time or energy",
                              line->objective);
    options.strategy = TUNE_LOCAL;
    if (line->strategy && !tune_strategy_named(line->strategy, &options.strategy))
        return grove_complain(GROVE_USAGE, "--strategy %s: must be %s", line->strategy,
                              tune_strategy_list);
    if (options.energy && !tune_measures_energy())
        return grove_complain(GROVE_FAILED, "--objective energy: this machine has no counter of "
                                            "energy that may be read");
    const double end = grove_now() + options.budget;
    while (again && !code) {
        code = run_child(line, file, &options, &again);
        options.budget = fmax(1e-9, end - grove_now());
    }
    return code;
}

const grove_command grove_command_tune = {
    "tune", "[FILE [OPTIONS] | --report [RECORD|FOLDER ...]]",
    "finds the fastest configurations of the kernels that a tree runs on this device",
    "set plugins precision memory threads device device-memory kernel strategy objective budget "
    "patience quiet no-wait report output overwrite",
    tune};
