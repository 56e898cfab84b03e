#include "plugin.h"

static const grove_input inputs[] = {
    {"x", GROVE_VALUE, "any value", .shapes = GROVE_ANY_SHAPE, .linear = GROVE_LINEAR},
    {0},
};

static const grove_option options[] = {
    {"over", GROVE_AXIS_NAMES, "none", "axes that go: a name such as time or a list; none: all"},
    {0},
};

GROVE_CLASS(mean) = {
    GROVE_CLASS_HEAD(mean),
    .doc = "Mean of a value along axes.\nFlagged samples are left out and not counted.",
    .output_doc = "the mean, without these axes, in the unit of x",
    .group = "reductions",
    .inputs = inputs,
    .options = options,
    .kind = GROVE_CLASS_REDUCTION,
    .reduce = GROVE_REDUCE_MEAN,
    .example = "average = mean(obs.data, over=[time, freq])",
};
