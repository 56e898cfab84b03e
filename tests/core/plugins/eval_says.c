/* Its evaluation fails with a message. */
#include "plain.h"

static int eval(const grove_call *call)
{
    return grove_node_fail(call->node, -1, "the numbers ran out");
}

GROVE_CLASS(eval_says) = {
    GROVE_CLASS_HEAD(eval_says),
    PLAIN_TEXTS,
    .inputs = plain_inputs,
    .eval = eval,
};
