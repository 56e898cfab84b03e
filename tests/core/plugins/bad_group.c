/* Its input is in a group, but not linear. */
#include "plain.h"

static const grove_port inputs[] = {
    {"x", GROVE_VALUE_NUMBER, "any number", .group = 1},
    {0},
};

GROVE_CLASS(bad_group) = {GROVE_CLASS_HEAD(bad_group), PLAIN_TEXTS, .inputs = inputs,
                          .kernel = &plain_kernel};
