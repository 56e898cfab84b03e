/* Fuzzes tree files: any bytes give a tree with its nodes in order, or messages. Lines of the form
 * "#-s name=value" are settings. */
#include "lang/lang.h"
#include "tests/common/fuzz.h"
#include "tree-classes.h"

enum { MAX_SETTINGS = 8 };

static void check(int good)
{
    if (!good) {
        abort();
    }
}

static void check_tree(const grove_tree *tree)
{
    for (size_t i = 0; i < tree->node_count; i++) {
        const grove_node *node = tree->nodes[i];
        check(node->id == (int)i && node->name && node->axis_count <= GROVE_MAX_AXES);
        for (int k = 0; k < node->input_count; k++) {
            check(!node->inputs[k].node || node->inputs[k].node->id < node->id || !node->used);
        }
    }
    for (size_t i = 0; i < tree->action_count; i++) {
        check(tree->actions[i]->used);
    }
    free(grove_tree_show(tree));
    free(grove_tree_dot(tree));
}

static size_t read_settings(char *text, grove_setting *settings)
{
    size_t count = 0;
    for (char *at = text; (at = strstr(at, "#-s ")) && count < MAX_SETTINGS;) {
        char *name = at + 4, *equals = strchr(name, '='), *end = strchr(name, '\n');
        at = name;
        if (equals && end && equals < end) {
            *equals = *end = 0;
            settings[count++] = (grove_setting){name, equals + 1};
            at = end + 1;
        }
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size), *copy = fuzz_text(data, size);
    grove_setting settings[MAX_SETTINGS];
    size_t count = read_settings(copy, settings);
    grove_error *error = grove_error_new();
    grove_classes *classes = tree_classes_new();
    grove_tree *tree = grove_lang_parse(text, "input", classes, settings, count, NULL, NULL, error);
    check((tree == NULL) == (grove_error_count(error) > 0));
    free(text);
    free(copy);
    free(grove_error_text(error));
    if (tree) {
        check_tree(tree);
    }
    grove_tree_free(tree);
    grove_classes_free(classes);
    grove_error_free(error);
    return 0;
}
