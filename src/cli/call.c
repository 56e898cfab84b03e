/* grove call: one class on expressions. */
#include "cli/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *make_text(const grove_command_line *line)
{
    size_t length = 4;

    for (int i = 0; i < line->word_count; i++)
        length += strlen(line->words[i]) + 2;
    char *text = malloc(length);
    int at = sprintf(text, "%s(", line->words[0]);
    for (int i = 1; i < line->word_count; i++)
        at += sprintf(text + at, "%s%s", i > 1 ? ", " : "", line->words[i]);
    sprintf(text + at, ")");
    return text;
}

static int call(grove_command_line *line)
{
    if (line->help) {
        grove_command_help(&grove_command_call);
        return GROVE_DONE;
    }
    if (!line->word_count)
        return grove_complain(GROVE_USAGE, "grove call requires a class; see grove call --help");
    grove_library *library = grove_library_new(line->plugin_folders);
    grove_error *error = grove_error_new();
    char *text = make_text(line);
    int code = GROVE_USAGE;
    line->session.double_precision = true;
    if (!line->session.device) /* a GPU takes longer to start than most calls to compute */
        line->session.device = "cpu";
    grove_tree *tree = grove_library_value(library, line->tree, text, "call", line->settings,
                                           line->setting_count, error);
    if (!tree)
        grove_complain_errors(0, error);
    grove_error_clear(error);
    grove_session *session = tree ? grove_session_new(tree, &line->session, error) : NULL;
    if (session)
        code = grove_session_run(session) ? GROVE_FAILED : GROVE_DONE;
    else if (tree)
        code = GROVE_FAILED;
    if (code == GROVE_FAILED)
        grove_complain_errors(code, error);
    grove_session_free(session);
    grove_tree_free(tree);
    free(text);
    grove_error_free(error);
    grove_library_free(library);
    return code;
}

const grove_command grove_command_call = {
    "call", "CLASS [INPUT=EXPRESSION ...]",
    "evaluates one class, in double precision; with --tree, expressions may use a tree's names",
    "tree set plugins threads device", call};
