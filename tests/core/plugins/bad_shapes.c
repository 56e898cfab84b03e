/* Its input accepts an unknown shape. */
#include "plain.h"

static const grove_port inputs[] = {
    {"x", GROVE_VALUE_NUMBER, "any number", .shapes = 32},
    {0},
};

GROVE_CLASS(bad_shapes) = {GROVE_CLASS_HEAD(bad_shapes), PLAIN_TEXTS, .inputs = inputs,
                           .kernel = &plain_kernel};
