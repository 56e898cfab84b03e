/* grove test-node: runs the conformance tests on a node class. */
#include "cli/command.h"

#include <stdio.h>

static void print_line(void *context, const char *line)
{
    (void)context;
    puts(line);
    fflush(stdout); /* the next check may take long */
}

static int test(grove_library *library, const grove_command_line *line, const char *name,
                grove_error *error)
{
    const grove_class_test test =
        GROVE_CLASS_TEST(.tree = line->tree, .settings = line->settings,
                         .setting_count = line->setting_count, .device = line->session.device,
                         .print = print_line);
    int failed = grove_library_test_class(library, name, &test, error);

    if (failed < 0)
        return grove_complain_errors(GROVE_USAGE, error);
    if (failed)
        return grove_complain(GROVE_FAILED, "class %s: %d check%s failed", name, failed,
                              failed == 1 ? "" : "s");
    return GROVE_DONE;
}

static int test_node(grove_command_line *line)
{
    if (line->help) {
        grove_command_help(&grove_command_test_node);
        return GROVE_DONE;
    }
    const char *name = grove_command_word(&grove_command_test_node, line, "node class");
    if (!name)
        return GROVE_USAGE;
    if (line->setting_count && !line->tree)
        return grove_complain(GROVE_USAGE, "-s requires --tree, whose options it sets");
    grove_library *library = grove_library_new(line->plugin_folders);
    grove_error *error = grove_error_new();
    int code = test(library, line, name, error);
    grove_error_free(error);
    grove_library_free(library);
    return code;
}

const grove_command grove_command_test_node = {"test-node", "NAME [--tree FILE]",
                                               "runs the conformance tests on a node class",
                                               "tree set plugins device", test_node};
