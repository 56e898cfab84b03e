/* grove show: a tree as text, or drawn by Graphviz. */
#include "cli/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int write_text(const char *text, const char *path)
{
    FILE *file = fopen(path, "w");

    if (!file || fputs(text, file) < 0 || fclose(file))
        return grove_complain(GROVE_FAILED, "%s: cannot write: %s", path, strerror(errno));
    return GROVE_DONE;
}

/* Runs dot with `text` on its input and its output in a temporary file, which is renamed when
 * whole. */
static int draw(const char *text, const char *format, const char *path)
{
    char *temporary = malloc(strlen(path) + 32);
    char option[16];
    int pipes[2], status = -1;

    sprintf(temporary, "%s.grove-tmp-%ld", path, (long)getpid());
    snprintf(option, sizeof(option), "-T%s", format);
    if (pipe(pipes)) {
        free(temporary);
        return grove_complain(GROVE_FAILED, "no pipe: %s", strerror(errno));
    }
    pid_t child = fork();
    if (child == 0) {
        dup2(pipes[0], 0);
        close(pipes[0]);
        close(pipes[1]);
        execlp("dot", "dot", option, "-o", temporary, (char *)NULL);
        _exit(127);
    }
    close(pipes[0]);
    FILE *to = fdopen(pipes[1], "w");
    if (to) {
        fputs(text, to);
        fclose(to);
    }
    if (child > 0)
        waitpid(child, &status, 0);
    int code = GROVE_DONE;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        code = grove_complain(GROVE_FAILED,
                              "Graphviz's dot was not found; on Debian: apt-get install graphviz");
    else if (status != 0 || rename(temporary, path))
        code = grove_complain(GROVE_FAILED, "%s: cannot write", path);
    if (code)
        unlink(temporary);
    free(temporary);
    return code;
}

static int show_tree(const grove_tree *tree, const grove_command_line *line)
{
    int code = GROVE_DONE;

    if (!line->svg && !line->png && !line->dot) {
        char *text = grove_tree_show(tree);
        fputs(text, stdout);
        free(text);
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
                                          "set plugins svg png dot", show};
