#include "nodes/elementary.h"

#define GROVE_KERNEL_SOURCE "../kernels/matrix.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(transpose);

static const grove_input inputs[] = {
    {"x", GROVE_VALUE, "a Jones term", .shapes = GROVE_JONES, .linear = GROVE_LINEAR},
    {0},
};

GROVE_CLASS(transpose) = {
    GROVE_CLASS_HEAD(transpose),
    .doc = "Transpose of a Jones term, without conjugating; written x^T.",
    .output_doc = "as x, with its unit",
    .group = "matrices",
    .role = GROVE_ROLE_TRANSPOSE,
    .inputs = inputs,
    .flag_rule = GROVE_FLAGS_TRANSPOSE,
    .kernel = &kernel,
    .check = elementary_keep,
    .example = "T[p] = G[p]^T",
};
