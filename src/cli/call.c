/* grove call: one class on literals. */
#include "cli/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *make_text(const grove_command_line *line)
{
    size_t length = 64;

    for (int i = 0; i < line->word_count; i++)
        length += strlen(line->words[i]) + 2;
    char *text = malloc(length);
    int at = sprintf(text, "result = %s(", line->words[0]);
    for (int i = 1; i < line->word_count; i++)
        at += sprintf(text + at, "%s%s", i > 1 ? ", " : "", line->words[i]);
    sprintf(text + at, ")\n");
    return text;
}

static void print_index(const grove_value *value, int64_t cell)
{
    int64_t index[16], size;
    int axes = grove_value_axes(value);

    for (int d = axes - 1; d >= 0; d--) {
        grove_value_axis(value, d, &size);
        index[d] = cell % size;
        cell /= size;
    }
    for (int d = 0; d < axes; d++)
        printf("%s %lld  ", grove_value_axis(value, d, NULL), (long long)index[d]);
}

static int print_value(grove_value *value, grove_error *error)
{
    int64_t count;
    double *numbers = grove_value_numbers(value, &count, error);
    int elements = grove_value_elements(value);

    if (!numbers)
        return grove_complain_errors(GROVE_FAILED, error);
    for (int64_t i = 0; i < count; i++) {
        if (i % elements == 0)
            print_index(value, i / elements);
        printf("%.10g", numbers[2 * i]);
        if (grove_value_is_complex(value))
            printf("%+.10gi", numbers[2 * i + 1]);
        putchar(i % elements == elements - 1 ? '\n' : ' ');
    }
    free(numbers);
    return GROVE_DONE;
}

static int call(grove_command_line *line)
{
    if (line->help) {
        grove_command_help(&grove_command_call);
        return GROVE_DONE;
    }
    if (!line->word_count)
        return grove_complain(GROVE_USAGE, "grove call wants a class; grove call --help says more");
    grove_library *library = grove_library_new(line->plugin_folders);
    grove_error *error = grove_error_new();
    char *text = make_text(line);
    grove_value *value = NULL;
    int code = GROVE_USAGE;
    line->session.double_precision = true;
    if (!line->session.device) /* a GPU takes longer to start than literals to compute */
        line->session.device = "cpu";
    grove_tree *tree = grove_library_parse(library, text, "call", NULL, 0, error);
    if (!tree)
        grove_complain_errors(0, error);
    grove_error_clear(error);
    grove_session *session = tree ? grove_session_new(tree, &line->session, error) : NULL;
    if (tree && !session)
        code = grove_complain_errors(GROVE_FAILED, error);
    if (session && grove_tree_action_count(tree))
        code = grove_session_run(session) ? grove_complain_errors(GROVE_FAILED, error) : GROVE_DONE;
    else if (session)
        code = grove_session_value(session, "result", &value)
                   ? grove_complain_errors(GROVE_FAILED, error)
                   : print_value(value, error);
    grove_value_unref(value);
    grove_session_free(session);
    grove_tree_free(tree);
    free(text);
    grove_error_free(error);
    grove_library_free(library);
    return code;
}

const grove_command grove_command_call = {"call", "CLASS [INPUT=LITERAL ...]",
                                          "evaluates one class on literals, in double precision",
                                          "plugins threads device", call};
