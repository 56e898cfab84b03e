#include "nodes/form.h"

#define GROVE_KERNEL_SOURCE "../kernels/matrix.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(rotation);

static const grove_input inputs[] = {
    {"angle", GROVE_VALUE_ANGLE, "angle, rad", GROVE_AS_DOUBLE},
    {0},
};

GROVE_CLASS(rotation) = {
    GROVE_CLASS_HEAD(rotation),
    .doc = "The real Jones matrix [[cos, -sin], [sin, cos]] of an angle (Smirnov 2011).\n"
           "For a feed rotated the other way use -angle. For linear feeds; in circular ones "
           "rotation changes phases.",
    .output_doc = "a real matrix without unit",
    .group = "Jones terms",
    .inputs = inputs,
    .output = GROVE_FORM(.shape = GROVE_MATRIX),
    .flag_rule = GROVE_FLAGS_MIX,
    .kernel = &kernel,
    .example = "P[p] = rotation(obs.parallactic)",
};
