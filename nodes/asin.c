#include "nodes/elementary.h"

#define GROVE_KERNEL_SOURCE "../kernels/elementary.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(elementary_asin);

static const grove_input inputs[] = {
    {"x", GROVE_VALUE, "real plain numbers from -1 to 1", .handing = GROVE_AS_REAL,
     .shapes = ELEMENTARY_SHAPES},
    {0},
};

GROVE_CLASS(asin) = {
    GROVE_CLASS_HEAD(asin),
    .doc = "Inverse sine of real numbers.",
    .output_doc = "angles from -pi/2 to pi/2, rad",
    .group = "functions",
    .inputs = inputs,
    .kernel = &kernel,
    .check = elementary_to_angle,
    .example = "a = asin(x)",
};
