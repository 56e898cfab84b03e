/* Its input has an unknown handing. */
#include "plain.h"

static const grove_port inputs[] = {
    {"x", GROVE_VALUE_NUMBER, "any number", .handing = (grove_handing)17},
    {0},
};

GROVE_CLASS(bad_handing) = {GROVE_CLASS_HEAD(bad_handing), PLAIN_TEXTS, .inputs = inputs,
                            .kernel = &plain_kernel};
