/* Its evaluation fails without a message, and with an invalid code. */
#include "plain.h"

static int eval(const grove_call *call)
{
    (void)call;
    return 7;
}

GROVE_CLASS(eval_silent) = {
    GROVE_CLASS_HEAD(eval_silent),
    PLAIN_TEXTS,
    .inputs = plain_inputs,
    .eval = eval,
};
