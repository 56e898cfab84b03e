/* The command line program: finds the subcommand and runs it. */
#include "cli/command.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const grove_command *const commands[] = {
    &grove_command_run,       &grove_command_check, &grove_command_show, &grove_command_nodes,
    &grove_command_info,      &grove_command_plot,  &grove_command_call, &grove_command_new_node,
    &grove_command_test_node, &grove_command_bench, &grove_command_tune, &grove_command_recover,
};
enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

void grove_put(FILE *to, char *text)
{
    char *shown = text ? grove_shown(text, "\n\t") : NULL;

    if (shown)
        fputs(shown, to);
    free(shown);
    free(text);
}

int grove_complain(int code, const char *format, ...)
{
    va_list args, again;

    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    char *text = length >= 0 ? malloc((size_t)length + 1) : NULL;
    if (text)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(args);
    fputs("grove: ", stderr);
    grove_put(stderr, text);
    fputc('\n', stderr);
    return code;
}

int grove_complain_errors(int code, const grove_error *error)
{
    char *text = grove_error_text(error);

    /* Messages with a place look like a compiler's; others begin with "grove: ". */
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
    fputs("  version   prints the version\n\ngrove COMMAND --help describes each command; the "
          "manual page is grove(1).\n",
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

/* Output may not have been written: the disk may be full. */
static int flush(int code)
{
    if (!fflush(stdout) && !ferror(stdout))
        return code;
    return grove_complain(code ? code : GROVE_FAILED, "standard output: cannot write: %s",
                          strerror(errno));
}

/* Where standard input, output or error is closed, the next file that is opened would take its
 * number, and messages would be written into that file. The substitute for output cannot be
 * written, so that printing fails as it should. */
static void reserve_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd)
            _exit(GROVE_FAILED);
}

/* Memory that was freed is used again, by all threads: each new page costs a fault. */
static void keep_memory(void)
{
#ifdef M_ARENA_MAX
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
}

int main(int count, char **arguments)
{
    keep_memory();
    reserve_descriptors();
    signal(SIGXFSZ, SIG_IGN); /* writing past the file size limit fails with a reason */
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
