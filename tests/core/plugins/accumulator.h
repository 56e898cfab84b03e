/* The functions of an accumulator that ignores its input. */
#ifndef GROVE_TESTS_PLUGINS_ACCUMULATOR_H
#define GROVE_TESTS_PLUGINS_ACCUMULATOR_H

#include "plain.h"

static int check(grove_node *node)
{
    (void)node;
    return 0;
}

static int begin(const grove_call *call, void **state)
{
    (void)call, (void)state;
    return 0;
}

static int add(const grove_call *call, void *state, const grove_array *const *inputs, int count)
{
    (void)call, (void)state, (void)inputs, (void)count;
    return 0;
}

static int finish(const grove_call *call, void *state, grove_array *out)
{
    (void)call, (void)state, (void)out;
    return 0;
}

static void end(const grove_node *node, void *state)
{
    (void)node, (void)state;
}

static const grove_accumulator_functions functions = {
    .create = begin, .add = add, .finish = finish, .free = end};

#define ACCUMULATOR .kind = GROVE_CLASS_ACCUMULATOR, .check = check, .accumulator = &functions

#endif
