#include "nodes/elementary.h"

#define GROVE_KERNEL_SOURCE "../kernels/elementary.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(elementary_real_part);

static const grove_input inputs[] = {
    {"x", GROVE_VALUE, "any value", .shapes = GROVE_ANY_SHAPE, .linear = GROVE_REAL_LINEAR},
    {0},
};

GROVE_CLASS(real) = {
    GROVE_CLASS_HEAD(real),
    .doc = "Real part of every number.",
    .output_doc = "real numbers, with the unit of x",
    .group = "functions",
    .inputs = inputs,
    .kernel = &kernel,
    .check = elementary_real,
    .example = "r = real(obs.data)",
};
