/* Shared by tests of the tree language: a tree from text with the classes of tree-classes.h. */
#ifndef GROVE_TESTS_TREE_TESTING_H
#define GROVE_TESTS_TREE_TESTING_H

#include "lang/lang.h"

#include "tests/common/suite.h"
#include "tree-classes.h"

#include <check.h>
#include <string.h>

static grove_classes *classes;
static grove_error *error;
static grove_tree *tree;

static inline void setup(void)
{
    unsetenv("GROVE_TREE_PATH");
    classes = tree_classes_new();
    error = grove_error_new();
    tree = NULL;
}

static inline void teardown(void)
{
    grove_tree_free(tree);
    grove_error_free(error);
    grove_classes_free(classes);
}

/* ---- helpers ---- */

static inline grove_tree *parse_with(const char *text, const grove_setting *settings, size_t count)
{
    grove_tree_free(tree);
    grove_error_clear(error);
    tree = grove_lang_parse(text, "t.tree", classes, settings, count, NULL, NULL, error);
    return tree;
}

static inline void parse(const char *text)
{
    if (!parse_with(text, NULL, 0)) {
        char *messages = grove_error_text(error);
        ck_abort_msg("%s\n%s", text, messages);
    }
}

/* Checks that the messages of a tree, with or without errors, are exactly these. */
static inline void says(const char *text, const char *expected)
{
    parse_with(text, NULL, 0);
    ck_assert_str_eq(suite_messages(error), expected);
}

static inline grove_node *node(const char *name)
{
    for (size_t i = 0; i < tree->node_count; i++)
        if (!strcmp(tree->nodes[i]->name, name))
            return tree->nodes[i];
    ck_abort_msg("no node '%s'", name);
    return NULL;
}

static inline const grove_node *input_of(const grove_node *of, int k)
{
    const grove_node *in = of->inputs[k].node;

    while (in->kind == GROVE_NODE_CAST)
        in = in->inputs[0].node;
    return in;
}

static inline const grove_node *input(const char *name, int k)
{
    return input_of(node(name), k);
}

#define LEAVES "obs = observe()\nS = sky_model(\"x\")\n"

#endif
