/* grove show: prints a tree as text, or draws it with Graphviz. */
#include "cli/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int write_file(const grove_tree *tree, const char *path, const void *bytes, size_t length,
                      bool overwrite)
{
    grove_error *error = grove_error_new();
    int code = grove_tree_write_file(tree, path, bytes, length, overwrite, error)
                   ? grove_complain_errors(GROVE_FAILED, error)
                   : GROVE_DONE;

    grove_error_free(error);
    return code;
}

/* Starts dot, whose input is that file; gives the pipe's end that reads its drawing. */
static pid_t start_dot(const char *option, int input, int *from)
{
    int ends[2];

    if (pipe(ends))
        return -1;
    pid_t child = fork();
    if (child == 0) {
        dup2(input, 0);
        dup2(ends[1], 1);
        close(ends[0]);
        close(ends[1]);
        execlp("dot", "dot", option, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    if (child < 0)
        close(ends[0]);
    *from = ends[0];
    return child;
}

/* All that comes from a pipe. The caller frees. */
static char *read_all(int from, size_t *length)
{
    size_t room = 1 << 16;
    char *bytes = malloc(room);
    ssize_t got;

    for (*length = 0; (got = read(from, bytes + *length, room - *length)) != 0;) {
        if (got < 0 && errno != EINTR)
            break;
        *length += got > 0 ? (size_t)got : 0;
        if (*length == room)
            bytes = realloc(bytes, room *= 2);
    }
    return bytes;
}

/* The drawing of `text` by Graphviz's dot; NULL after a message. The caller frees. */
static char *run_dot(const char *text, const char *format, const char *path, size_t *length)
{
    char option[16], *drawn = NULL;
    FILE *input = tmpfile();
    int from, status = -1;

    snprintf(option, sizeof(option), "-T%s", format);
    bool good = input && fputs(text, input) >= 0 && !fflush(input);
    if (good)
        rewind(input);
    pid_t child = good ? start_dot(option, fileno(input), &from) : -1;
    if (child < 0) {
        grove_complain(0, "%s: cannot be drawn: %s", path, strerror(errno));
    } else {
        drawn = read_all(from, length);
        close(from);
        waitpid(child, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
            grove_complain(
                0, "%s: Graphviz's dot was not found; on Debian: apt-get install graphviz", path);
        else if (status != 0)
            grove_complain(0, "%s: Graphviz's dot could not draw it", path);
    }
    if (input)
        fclose(input);
    if (status == 0)
        return drawn;
    free(drawn);
    return NULL;
}

static int draw(const grove_tree *tree, const char *text, const char *format, const char *path,
                bool overwrite)
{
    size_t length = 0;
    char *drawn = run_dot(text, format, path, &length);
    int code = drawn ? write_file(tree, path, drawn, length, overwrite) : GROVE_FAILED;

    free(drawn);
    return code;
}

static int show_derivatives(grove_tree *tree)
{
    grove_error *error = grove_error_new();
    char *text = grove_tree_show_derivatives(tree, error);
    int code = GROVE_DONE;

    if (!text)
        code = grove_complain_errors(GROVE_USAGE, error);
    else if (!*text)
        grove_complain(0, "no action depends on a parm that is fitted");
    if (text)
        grove_put(stdout, text);
    grove_error_free(error);
    return code;
}

static int show_tree(grove_tree *tree, const grove_command_line *line)
{
    int code = GROVE_DONE;

    if (line->derivatives)
        return show_derivatives(tree);
    if (!line->svg && !line->png && !line->dot) {
        grove_put(stdout, grove_tree_show(tree));
        return GROVE_DONE;
    }
    char *text = grove_tree_dot(tree);
    const bool overwrite = line->session.overwrite;
    if (line->dot)
        code = write_file(tree, line->dot, text, strlen(text), overwrite);
    if (!code && line->svg)
        code = draw(tree, text, "svg", line->svg, overwrite);
    if (!code && line->png)
        code = draw(tree, text, "png", line->png, overwrite);
    free(text);
    return code;
}

static int show(grove_command_line *line)
{
    if (line->help) {
        grove_command_help(&grove_command_show);
        return GROVE_DONE;
    }
    const char *file = grove_command_word(&grove_command_show, line, "tree file");
    if (!file)
        return GROVE_USAGE;
    grove_library *library = grove_library_new(line->plugin_folders);
    grove_error *error = grove_error_new();
    grove_tree *tree =
        grove_library_load(library, file, line->settings, line->setting_count, error);
    if (!tree || grove_error_warnings(error))
        grove_complain_errors(0, error);
    int code = tree ? show_tree(tree, line) : GROVE_USAGE;
    grove_tree_free(tree);
    grove_error_free(error);
    grove_library_free(library);
    return code;
}

const grove_command grove_command_show = {"show", "FILE [OPTIONS]", "prints or draws a tree",
                                          "set plugins derivatives svg png dot overwrite", show};
