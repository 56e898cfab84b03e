#include "nodes/elementary.h"

#define GROVE_KERNEL_SOURCE "../kernels/elementary.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(elementary_exp);

static const grove_input inputs[] = {
    {"x", GROVE_VALUE, "plain numbers", .shapes = ELEMENTARY_SHAPES},
    {0},
};

GROVE_CLASS(exp) = {
    GROVE_CLASS_HEAD(exp),
    .doc = "Exponential function, also of complex numbers.",
    .output_doc = "plain numbers",
    .group = "functions",
    .inputs = inputs,
    .kernel = &kernel,
    .check = elementary_number,
    .example = "e = exp(-0.5 * tau)",
};
