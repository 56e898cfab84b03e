/* grove run and grove check: runs a tree file, or checks it without running. */
#include "cli/command.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int show_options(grove_library *library, const grove_command *command,
                        const grove_command_line *line)
{
    grove_error *error = grove_error_new();
    int code = GROVE_DONE;

    grove_command_help(command);
    if (line->word_count) {
        char *text = grove_library_options(library, line->words[0], error);
        if (text)
            printf("\nOptions of %s, given as -s name=value:\n", line->words[0]);
        else
            code = grove_complain_errors(GROVE_USAGE, error);
        grove_put(stdout, text);
    }
    grove_error_free(error);
    return code;
}

static void print_summary(const grove_session *session)
{
    const grove_counters *c = grove_session_counters(session);
    char count[32], rate[32], time[32], bytes[32];

    grove_show_seconds(time, c->seconds);
    if (c->visibilities > 0)
        fprintf(stderr, "grove: %s visibilities in %s (%s/s), ",
                grove_show_count(count, c->visibilities), time,
                grove_show_count(rate, c->seconds > 0 ? c->visibilities / c->seconds : 0));
    else
        fprintf(stderr, "grove: done in %s, ", time);
    fprintf(stderr, "%lld tile%s, at most %s of values\n", (long long)c->tiles,
            c->tiles == 1 ? "" : "s", grove_show_bytes(bytes, (double)c->peak_bytes));
}

/* "grove: obs: phase centre: ..." */
static void print_notes(const grove_tree *tree)
{
    char *notes = grove_tree_notes(tree);

    for (char *at = notes, *end; *at; at = end + 1) {
        end = strchr(at, '\n');
        fprintf(stderr, "grove: %.*s\n", (int)(end - at), at);
    }
    free(notes);
}

/* "grove: energy 12.3 J ...", and the table unchanged. */
static void print_energy(char *text)
{
    char *at = text;

    for (char *end; at && *at && *at != '\n'; at = end + 1) {
        end = strchr(at, '\n');
        fputs("grove: ", stderr);
        grove_put(stderr, strndup(at, (size_t)(end + 1 - at)));
    }
    if (at && *at)
        grove_put(stderr, strdup(at + 1));
    free(text);
}

static int run_session(grove_session *session, const grove_tree *tree,
                       const grove_command_line *line, grove_error *error)
{
    int failed = grove_session_run(session);

    if (line->session.profile)
        grove_put(stderr, grove_session_profile(session));
    if (failed) {
        print_energy(grove_session_energy(session));
        return grove_complain_errors(GROVE_FAILED, error);
    }
    if (grove_error_warnings(error))
        grove_complain_errors(0, error);
    if (!line->quiet) {
        print_notes(tree);
        print_summary(session);
    }
    print_energy(grove_session_energy(session));
    return GROVE_DONE;
}

/* The first lines. */
static void print_tuned(const char *lines)
{
    enum { FEW = 8 };
    int more = 0;

    if (*lines)
        puts("kernels' configurations kept by grove tune for these devices:");
    for (int k = 0; *lines; k++) {
        const size_t length = strcspn(lines, "\n") + 1;
        if (k < FEW)
            printf("  %.*s", (int)length, lines);
        more += k >= FEW;
        lines += length;
    }
    if (more)
        printf("  and %d more\n", more);
}

static int check_session(grove_session *session, grove_tree *tree, grove_error *error)
{
    grove_plan plan = GROVE_PLAN();
    char a[32], b[32], c[32], d[32];

    grove_put(stdout, grove_tree_show(tree));
    if (grove_session_plan(session, &plan))
        return grove_complain_errors(GROVE_FAILED, error);
    putchar('\n');
    if (plan.visibilities > 0)
        printf("%s visibilities, ", grove_show_count(a, plan.visibilities));
    printf("%s cells to compute\n", grove_show_count(b, plan.operations));
    printf("%lld tile%s of %lld times, %lld baselines, %lld channels; %d pass%s",
           (long long)plan.tiles, plan.tiles == 1 ? "" : "s", (long long)plan.tile_times,
           (long long)plan.tile_baselines, (long long)plan.tile_channels, plan.passes,
           plan.passes == 1 ? "" : "es");
    if (plan.walks > plan.passes)
        printf(", %d walks over the tiles", plan.walks);
    if (plan.groups > 1)
        printf(", planes of an image in %d groups for each tile", plan.groups);
    putchar('\n');
    if (plan.in_parts && !plan.undivided_bytes)
        printf("%s: a solution domain has %lld tiles, which are read once, and then summed\n",
               plan.in_parts, (long long)plan.parts);
    else if (plan.in_parts)
        printf("%s: a solution domain does not fit in memory and has %lld tiles, which are read "
               "%s; with --memory %.0fMB it has one\n",
               plan.in_parts, (long long)plan.parts,
               plan.reads_once ? "once, and then summed" : "again in each iteration",
               ceil((double)plan.undivided_bytes / 1e6));
    if (plan.section)
        printf("sums over sources in sections of %lld\n", (long long)plan.section);
    print_tuned(plan.tuned);
    char *outputs = grove_session_outputs(session);
    if (!outputs)
        return grove_complain_errors(GROVE_FAILED, error);
    fputs(outputs, stdout);
    free(outputs);
    printf("memory: values %s, process %.1f MiB (%s)\n",
           grove_show_bytes(c, (double)plan.peak_bytes), (double)plan.process_bytes / 1048576,
           grove_show_bytes(d, (double)plan.process_bytes));
    return GROVE_DONE;
}

static grove_tree *load(grove_library *library, const char *file, const grove_command_line *line,
                        grove_error *error)
{
    if (line->value)
        return grove_library_value(library, file, line->value, "--value", line->settings,
                                   line->setting_count, error);
    return grove_library_load(library, file, line->settings, line->setting_count, error);
}

static int with_tree(const grove_command *command, grove_command_line *line, bool run)
{
    grove_library *library = grove_library_new(line->plugin_folders);
    grove_error *error = grove_error_new();
    const char *file = NULL;
    int code = GROVE_USAGE;

    if (line->help) {
        code = show_options(library, command, line);
    } else if ((file = grove_command_word(command, line, "tree file"))) {
        grove_tree *tree = load(library, file, line, error);
        if (!tree || grove_error_warnings(error))
            grove_complain_errors(0, error);
        grove_error_clear(error);
        line->quiet = line->quiet || line->value;
        line->session.progress = run && !line->quiet;
        line->session.trace = line->trace;
        line->session.trace_lines = line->trace != NULL;
        grove_session *session = tree ? grove_session_new(tree, &line->session, error) : NULL;
        if (tree && !session)
            code = grove_complain_errors(GROVE_FAILED, error);
        else if (session && run)
            code = run_session(session, tree, line, error);
        else if (session)
            code = check_session(session, tree, error);
        grove_session_free(session);
        grove_tree_free(tree);
    }
    grove_error_free(error);
    grove_library_free(library);
    return code;
}

static int run(grove_command_line *line)
{
    grove_interrupt_watch();
    return with_tree(&grove_command_run, line, true);
}

static int check(grove_command_line *line)
{
    return with_tree(&grove_command_check, line, false);
}

const grove_command grove_command_run = {
    "run", "FILE [OPTIONS]", "runs a tree file",
    "set plugins precision memory threads device device-memory tile-times "
    "tile-channels tile-baselines profile energy trace overwrite "
    "resume value stop-on-error quiet no-wait",
    run};
const grove_command grove_command_check = {
    "check", "FILE [OPTIONS]",
    "checks a tree file without running it: errors, axes, memory, methods",
    "set plugins precision memory threads device device-memory tile-times tile-channels "
    "tile-baselines no-wait",
    check};
