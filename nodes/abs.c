#include "nodes/elementary.h"

#define GROVE_KERNEL_SOURCE "../kernels/elementary.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(elementary_abs);

static const grove_input inputs[] = {
    {"x", GROVE_VALUE, "any value", .shapes = GROVE_ANY_SHAPE},
    {0},
};

GROVE_CLASS(abs) = {
    GROVE_CLASS_HEAD(abs),
    .doc = "Absolute value of every number.\nOf a matrix or vector it is taken number by number; "
           "norm makes one number of the cell.",
    .output_doc = "real numbers, with the unit of x",
    .group = "functions",
    .inputs = inputs,
    .kernel = &kernel,
    .check = elementary_real,
    .example = "a = abs(obs.data)",
};
