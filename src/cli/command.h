/* Declarations that the subcommands of `grove` share. */
#ifndef GROVE_CLI_COMMAND_H
#define GROVE_CLI_COMMAND_H

#include "grove.h"
#include <stdio.h>

enum { GROVE_DONE = 0, GROVE_FAILED = 1, GROVE_USAGE = 2 };

/* A parsed command line. Strings are argv's. */
typedef struct {
    const char *words[64]; /* arguments that are not options */
    int word_count;
    grove_setting settings[256]; /* -s name=value; names are copies */
    size_t setting_count;
    const char *plugin_folders[33]; /* -p, NULL-terminated */
    int plugin_count;
    grove_session_options session;
    bool help, quiet, no_wait, check, markdown, devices, logarithmic, device_kernel, eval,
        device_call, leaf, action, accumulator, derivatives, report;
    const char *svg, *png, *dot, *output, *what, *column, *baselines, *correlations, *folder,
        *trace, *tree, *value, *dataset, *stations, *reference, *direction, *flags, *kernel,
        *strategy, *objective;
    int field, window, size;
    int polarization;        /* -1: not given */
    double cell;             /* arcsec */
    double budget, patience; /* s; 0: not given */
} grove_command_line;

typedef struct {
    const char *name, *arguments, *summary;
    const char *options; /* letters and words of the options that it accepts, for the parser and the
                            help, separated by blanks; "*": no word is parsed as an option */
    int (*run)(grove_command_line *line);
} grove_command;

extern const grove_command grove_command_run, grove_command_check, grove_command_show,
    grove_command_nodes, grove_command_info, grove_command_plot, grove_command_call,
    grove_command_new_node, grove_command_test_node, grove_command_bench, grove_command_recover,
    grove_command_tune;

/* 0, or GROVE_USAGE after a message. */
int grove_command_parse(const grove_command *command, int count, char **arguments,
                        grove_command_line *line);
void grove_command_release(grove_command_line *line);
void grove_command_help(const grove_command *command);

/* Prints "grove: ..." to standard error; returns `code`. */
int grove_complain(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints all messages of `error` to standard error; returns `code`. */
int grove_complain_errors(int code, const grove_error *error);
/* Prints text that may hold names from files, control characters as \xNN. Frees `text`, which may
 * be NULL. */
void grove_put(FILE *to, char *text);
/* grove tune without a tree: costs of sums on this machine's GPU. */
int grove_tune_costs(const grove_command_line *line);
/* The single argument that a command expects, or NULL after a message. */
const char *grove_command_word(const grove_command *command, const grove_command_line *line,
                               const char *expected);

#endif
