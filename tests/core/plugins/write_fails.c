/* An action that fails at a chosen phase of the run, and counts its aborts in the environment,
 * which outlives the run. */
#include "plain.h"

#include <stdio.h>
#include <stdlib.h>

static const grove_port options[] = {
    {"at", GROVE_CHOICE, "where it fails", .initial = "write",
     .choices = "start begin write prepare commit"},
    {"mute", GROVE_BOOL, "without a message", .initial = "false"},
    {0},
};

static int fail_at(const grove_node *node, int place)
{
    static const char *const says[] = {"the shop is shut", "the ink is dry", "the pen broke",
                                       "the paper burnt", "the post is late"};

    if (grove_node_choice(node, "at") != place)
        return 0;
    return grove_node_bool(node, "mute") ? -5 : grove_node_fail(node, -5, "%s", says[place]);
}

static int start(const grove_node *node, void **run)
{
    *run = NULL;
    return fail_at(node, 0);
}

static int begin(const grove_call *call)
{
    return fail_at(call->node, 1);
}

static int write_block(const grove_call *call, const grove_array *const *inputs, int count)
{
    (void)inputs, (void)count;
    return fail_at(call->node, 2);
}

static int prepare(const grove_call *call)
{
    return fail_at(call->node, 3);
}

static int commit(const grove_call *call)
{
    return fail_at(call->node, 4);
}

static void give_up(const grove_call *call)
{
    const char *before = getenv("GROVE_TEST_ABORTS");
    char text[16];

    (void)call;
    snprintf(text, sizeof(text), "%d", before ? atoi(before) + 1 : 1);
    setenv("GROVE_TEST_ABORTS", text, 1);
}

static const grove_action_functions functions = {
    .begin = begin,
    .write = write_block,
    .prepare = prepare,
    .commit = commit,
    .abort = give_up,
};

GROVE_CLASS(write_fails) = {
    GROVE_CLASS_HEAD(write_fails), PLAIN_TEXTS,    .inputs = plain_inputs, .options = options,
    .kind = GROVE_CLASS_ACTION,    .start = start, .action = &functions,
};
