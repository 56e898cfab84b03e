/* An accumulator without an add function. */
#include "plain.h"

static int begin(const grove_call *call, void **state)
{
    (void)call, (void)state;
    return 0;
}

GROVE_CLASS(no_add) = {GROVE_CLASS_HEAD(no_add), PLAIN_TEXTS, .inputs = plain_inputs,
                       .kind = GROVE_CLASS_ACCUMULATOR,
                       .accumulator = &(const grove_accumulator_functions){.create = begin}};
