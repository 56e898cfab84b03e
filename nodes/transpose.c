#include "nodes/elementary.h"

#define GROVE_KERNEL_SOURCE "../kernels/matrix.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(transpose);

static const grove_input inputs[] = {
    {"x", GROVE_VALUE, "a Jones term", .shapes = GROVE_JONES, .linear = true},
    {0},
};

GROVE_CLASS(transpose) = {
    GROVE_CLASS_HEAD(transpose),
    .doc = "Transpose of a Jones term, without conjugating; written x^T.",
    .output_doc = "as x, with its unit",
    .group = "matrices",
    .inputs = inputs,
    .flags = GROVE_CLASS_TRANSPOSE_FLAGS,
    .kernel = &kernel,
    .check = elementary_keep,
    .example = "T[p] = G[p]^T",
};
