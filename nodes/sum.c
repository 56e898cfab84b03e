#include "plugin.h"

static const grove_input inputs[] = {
    {"x", GROVE_VALUE, "any value", .shapes = GROVE_ANY_SHAPE, .linear = GROVE_LINEAR},
    {0},
};

static const grove_option options[] = {
    {"over", GROVE_AXIS_NAMES, "none", "axes that go: a name such as time or a list; none: all"},
    {0},
};

GROVE_CLASS(sum) = {
    GROVE_CLASS_HEAD(sum),
    .doc = "Sum of a value along axes.\n"
           "sum[s] takes the source axis that s stands for; without an index and without over, all "
           "axes go. Flagged samples are left out.",
    .output_doc = "the sum, without these axes, in the unit of x",
    .group = "reductions",
    .inputs = inputs,
    .options = options,
    .kind = GROVE_CLASS_REDUCTION,
    .reduce = GROVE_REDUCE_SUM,
    .example = "V[p,q] = sum[s](E[s,p] * point(S, obs) * E[s,q]^H)",
};
