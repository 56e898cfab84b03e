/* The command: finds the subcommand and hands over. */
#include "cli/command.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const grove_command *const commands[] = {
    &grove_command_run,       &grove_command_check, &grove_command_show,    &grove_command_nodes,
    &grove_command_info,      &grove_command_plot,  &grove_command_call,    &grove_command_new_node,
    &grove_command_test_node, &grove_command_bench, &grove_command_recover,
};
enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

int grove_complain(int code, const char *format, ...)
{
    va_list args;

    fputs("grove: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return code;
}

int grove_complain_errors(int code, const grove_error *error)
{
    char *text = grove_error_text(error);

    /* Messages with a place look like a compiler's; those without one say who speaks. */
    for (char *line = text, *next; *line; line = next) {
        next = line + strcspn(line, "\n");
        next += *next != 0;
        if (!strncmp(line, "error: ", 7))
            fputs("grove: ", stderr), line += 7;
        else if (!strncmp(line, "warning: ", 9))
            fputs("grove: ", stderr);
        fwrite(line, 1, (size_t)(next - line), stderr);
    }
    free(text);
    return code;
}

static void usage(FILE *to)
{
    fputs("usage: grove COMMAND [OPTIONS] ...\n\n"
          "Evaluates measurement-equation trees for radio interferometry.\n\n",
          to);
    for (int i = 0; i < COMMANDS; i++)
        fprintf(to, "  %-9s %s\n", commands[i]->name, commands[i]->summary);
    fputs("  version   prints the version\n\n"
          "grove COMMAND --help says more of each; the manual page is grove(1).\n",
          to);
}

static int unknown(const char *name)
{
    const char *names[COMMANDS + 1];

    for (int i = 0; i < COMMANDS; i++)
        names[i] = commands[i]->name;
    names[COMMANDS] = "version";
    const char *near = grove_nearest(name, names, COMMANDS + 1);
    return grove_complain(GROVE_USAGE, "no command '%s'%s%s%s", name,
                          near ? "; did you mean '" : "", near ? near : "; grove --help lists them",
                          near ? "'?" : "");
}

/* What was printed may not have arrived: a full disk. */
static int flush(int code)
{
    if (!fflush(stdout) && !ferror(stdout))
        return code;
    return grove_complain(code ? code : GROVE_FAILED, "standard output: cannot write: %s",
                          strerror(errno));
}

int main(int count, char **arguments)
{
    signal(SIGXFSZ, SIG_IGN); /* beyond the largest size of a file, writing fails with a reason */
    if (count < 2) {
        usage(stderr);
        return GROVE_USAGE;
    }
    const char *name = arguments[1];
    if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) {
        usage(stdout);
        return flush(GROVE_DONE);
    }
    if (!strcmp(name, "--version") || !strcmp(name, "version")) {
        puts("grove " GROVE_VERSION);
        return flush(GROVE_DONE);
    }
    for (int i = 0; i < COMMANDS; i++) {
        if (strcmp(commands[i]->name, name) != 0)
            continue;
        grove_command_line line;
        int code = grove_command_parse(commands[i], count - 2, arguments + 2, &line);
        grove_wait_for_sets(!line.no_wait);
        if (!code)
            code = commands[i]->run(&line);
        grove_command_release(&line);
        return flush(code);
    }
    return unknown(name);
}
