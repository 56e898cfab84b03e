#include "plugin.h"

static const grove_input inputs[] = {
    {"x", GROVE_VALUE, "any real value", .handing = GROVE_AS_REAL, .shapes = GROVE_ANY_SHAPE},
    {0},
};

static const grove_option options[] = {
    {"over", GROVE_AXIS_NAMES, "none", "axes that go: a name such as time or a list; none: all"},
    {0},
};

GROVE_CLASS(max) = {
    GROVE_CLASS_HEAD(max),
    .doc = "Largest number of a real value along axes, element by element.\nFlagged samples are "
           "left out.",
    .output_doc = "the largest, without these axes, in the unit of x",
    .group = "reductions",
    .inputs = inputs,
    .options = options,
    .kind = GROVE_CLASS_REDUCTION,
    .reduce = GROVE_REDUCE_MAX,
    .example = "highest = max(abs(obs.data), over=time)",
};
