/* Reductions over axes: sum, mean, min and max. */
#include "plugin.h"

static const grove_port any[] = {
    {"x", GROVE_VALUE, "any value", .shapes = GROVE_ANY_SHAPE, .linear = GROVE_LINEAR},
    {0},
};

static const grove_port any_real[] = {
    {"x", GROVE_VALUE, "any real value", .handing = GROVE_AS_REAL, .shapes = GROVE_ANY_SHAPE},
    {0},
};

static const grove_port options[] = {
    {"over", GROVE_AXIS_NAMES, "axes to reduce: a name such as time, or a list; none: all",
     .initial = "none"},
    {0},
};

#define REDUCTION(name_, reduce_, inputs_)                                                         \
    GROVE_CLASS_HEAD(name_), .group = "reductions", .inputs = inputs_, .options = options,         \
                             .kind = GROVE_CLASS_REDUCTION, .reduce = reduce_

GROVE_CLASS(sum) = {
    REDUCTION(sum, GROVE_REDUCE_SUM, any),
    .doc = "Sum of a value along axes.\nsum[s] is along the source axis that s means; without an "
           "index and without over, along all axes. Flagged samples are left out.",
    .output_doc = "the sum, without these axes, in the unit of x",
    .example = "V[p,q] = sum[s](E[s,p] * point(S, obs) * E[s,q]^H)",
};

GROVE_CLASS(mean) = {
    REDUCTION(mean, GROVE_REDUCE_MEAN, any),
    .doc = "Mean of a value along axes.\nFlagged samples are left out and not counted.",
    .output_doc = "the mean, without these axes, in the unit of x",
    .example = "average = mean(obs.data, over=[time, freq])",
};

GROVE_CLASS(min) = {
    REDUCTION(min, GROVE_REDUCE_MIN, any_real),
    .doc = "Smallest number of a real value along axes, element by element.\nFlagged samples are "
           "left out.",
    .output_doc = "the smallest, without these axes, in the unit of x",
    .example = "lowest = min(abs(obs.data), over=time)",
};

GROVE_CLASS(max) = {
    REDUCTION(max, GROVE_REDUCE_MAX, any_real),
    .doc = "Largest number of a real value along axes, element by element.\nFlagged samples are "
           "left out.",
    .output_doc = "the largest, without these axes, in the unit of x",
    .example = "highest = max(abs(obs.data), over=time)",
};
