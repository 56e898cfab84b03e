#include "plugin.h"

static const grove_port inputs[] = {
    {"x", GROVE_VALUE, "any value", .shapes = GROVE_ANY_SHAPE, .linear = GROVE_LINEAR},
    {0},
};

static const grove_port options[] = {
    {"axis", GROVE_AXIS_NAMES, "axis along which one cell is taken; none: keep all axes",
     .initial = "none"},
    {"index", GROVE_INTEGER, "which cell of the axis, from 0; -1 is the last", .initial = "0"},
    {"element", GROVE_TEXT,
     "element of the cell: XX XY YX YY or RR RL LR LL of a matrix, x y z of a vector, or its "
     "number from 0; none: the whole cell",
     .initial = "none", .choices = "XX XY YX YY RR RL LR LL x y z"},
    {0},
};

GROVE_CLASS(select) = {
    GROVE_CLASS_HEAD(select),
    .doc = "A part of a value: one cell along an axis, one element of every cell, or both.",
    .output_doc = "that part, without the axis; a scalar where element is given; in the unit of x",
    .group = "reductions",
    .inputs = inputs,
    .options = options,
    .kind = GROVE_CLASS_SELECTION,
    .example = "first = select(obs.data, axis=time, index=0, element=XX)",
};
