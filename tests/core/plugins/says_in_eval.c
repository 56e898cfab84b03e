/* Its evaluation reports an error, but returns 0. */
#include "plain.h"

static int eval(const grove_call *call)
{
    grove_node_fail(call->node, -1, "the well is dry");
    return 0;
}

GROVE_CLASS(says_in_eval) = {GROVE_CLASS_HEAD(says_in_eval), PLAIN_TEXTS, .inputs = plain_inputs,
                             .eval = eval};
