/* An action that fails when it is to begin, write or finish, and counts how often it is aborted
 * (into the environment, which outlives the run). */
#include "plain.h"

#include <stdio.h>
#include <stdlib.h>

static const grove_option options[] = {
    {"at", GROVE_CHOICE, "write", "where it fails", "begin write finish"},
    {"mute", GROVE_BOOL, "false", "without a message"},
    {0},
};

static int fail_at(grove_node *node, int place)
{
    static const char *const says[] = {"the ink is dry", "the pen broke", "the paper burnt"};

    if (grove_node_choice(node, "at") != place)
        return 0;
    return grove_node_bool(node, "mute") ? -5 : grove_node_fail(node, -5, "%s", says[place]);
}

static int begin(grove_node *node)
{
    return fail_at(node, 0);
}

static int write_block(grove_node *node, const grove_array *inputs, int count)
{
    (void)inputs, (void)count;
    return fail_at(node, 1);
}

static int finish(grove_node *node)
{
    return fail_at(node, 2);
}

static void give_up(grove_node *node)
{
    const char *before = getenv("GROVE_TEST_ABORTS");
    char text[16];

    (void)node;
    snprintf(text, sizeof(text), "%d", before ? atoi(before) + 1 : 1);
    setenv("GROVE_TEST_ABORTS", text, 1);
}

GROVE_CLASS(write_fails) = {
    GROVE_CLASS_HEAD(write_fails),
    PLAIN_TEXTS,
    .inputs = plain_inputs,
    .options = options,
    .flags = GROVE_CLASS_ACTION,
    .begin = begin,
    .write = write_block,
    .finish = finish,
    .abort = give_up,
};
