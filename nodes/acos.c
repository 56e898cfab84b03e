#include "nodes/elementary.h"

#define GROVE_KERNEL_SOURCE "../kernels/elementary.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(elementary_acos);

static const grove_input inputs[] = {
    {"x", GROVE_VALUE, "real plain numbers from -1 to 1", .handing = GROVE_AS_REAL,
     .shapes = ELEMENTARY_SHAPES},
    {0},
};

GROVE_CLASS(acos) = {
    GROVE_CLASS_HEAD(acos),
    .doc = "Inverse cosine of real numbers.",
    .output_doc = "angles from 0 to pi, rad",
    .group = "functions",
    .inputs = inputs,
    .kernel = &kernel,
    .check = elementary_to_angle,
    .example = "a = acos(x)",
};
