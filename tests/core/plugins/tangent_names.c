/* Has a rule of derivatives, in which `value` is the node and not its input. */
#include "plain.h"

static const grove_port inputs[] = {
    {"value", GROVE_VALUE_NUMBER, "any number", .handing = GROVE_AS_REAL},
    {0},
};

GROVE_CLASS(tangent_names) = {GROVE_CLASS_HEAD(tangent_names), PLAIN_TEXTS, .inputs = inputs,
                              .kernel = &plain_kernel, .tangent = "value: dvalue"};
