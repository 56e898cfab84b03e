#include "nodes/elementary.h"

#define GROVE_KERNEL_SOURCE "../kernels/arithmetic.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(negate);

static const grove_input inputs[] = {
    {"x", GROVE_VALUE, "any value", .shapes = GROVE_ANY_SHAPE, .linear = GROVE_LINEAR},
    {0},
};

GROVE_CLASS(negate) = {
    GROVE_CLASS_HEAD(negate),
    .doc = "The value with the other sign; written -x.",
    .output_doc = "-x, in the unit of x",
    .group = "arithmetic",
    .role = GROVE_ROLE_NEGATIVE,
    .inputs = inputs,
    .kernel = &kernel,
    .check = elementary_keep,
    .example = "y = -x",
};
