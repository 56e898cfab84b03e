/* grove show: prints a tree as text, or draws it with Graphviz. */
#include "cli/command.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The temporary name under which a file is written before it is renamed. The caller frees. */
static char *temporary_name(const char *path)
{
    char *name = malloc(strlen(path) + 40);

    sprintf(name, "%s.grove-tmp-%ld", path, (long)getpid());
    return name;
}

/* Renames the temporary file to its final name if it is complete, else removes it. */
static int settle(char *temporary, const char *path, bool good)
{
    int code = GROVE_DONE;

    if (!good || rename(temporary, path)) {
        code = grove_complain(GROVE_FAILED, "%s: cannot write: %s", path, strerror(errno));
        unlink(temporary);
    }
    free(temporary);
    return code;
}

static int write_text(const char *text, const char *path)
{
    char *temporary = temporary_name(path);
    FILE *file = fopen(temporary, "w");
    bool good = file && fputs(text, file) >= 0;

    if (file)
        good = !fclose(file) && good;
    return settle(temporary, path, good);
}

/* Starts dot with its input on a pipe; gives the pipe's writing end. */
static pid_t start_dot(const char *option, const char *output, int *to)
{
    int ends[2];

    if (pipe(ends))
        return -1;
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[0], 0);
        close(ends[0]);
        close(ends[1]);
        execlp("dot", "dot", option, "-o", output, (char *)NULL);
        _exit(127);
    }
    close(ends[0]);
    if (child < 0)
        close(ends[1]);
    *to = ends[1];
    return child;
}

/* Draws `text` with Graphviz's dot into a temporary file, which is renamed when complete. */
static int draw(const char *text, const char *format, const char *path)
{
    char *temporary = temporary_name(path), option[16];
    size_t length = strlen(text), done = 0;
    int to, status = -1;

    snprintf(option, sizeof(option), "-T%s", format);
    signal(SIGPIPE, SIG_IGN); /* dot may be missing, or end before it has read all input */
    pid_t child = start_dot(option, temporary, &to);
    if (child < 0)
        return settle(temporary, path, false);
    for (ssize_t count = 1; count > 0 && done<length; done += count> 0 ? (size_t)count : 0)
        count = write(to, text + done, length - done);
    close(to);
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
        free(temporary);
        return grove_complain(GROVE_FAILED,
                              "%s: Graphviz's dot was not found; on Debian: apt-get "
                              "install graphviz",
                              path);
    }
    if (status != 0) {
        unlink(temporary);
        free(temporary);
        return grove_complain(GROVE_FAILED, "%s: Graphviz's dot could not draw it", path);
    }
    return settle(temporary, path, true);
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
    if (line->dot)
        code = write_text(text, line->dot);
    if (!code && line->svg)
        code = draw(text, "svg", line->svg);
    if (!code && line->png)
        code = draw(text, "png", line->png);
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
                                          "set plugins derivatives svg png dot", show};
