#include "nodes/elementary.h"

#define GROVE_KERNEL_SOURCE "../kernels/elementary.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(elementary_conj);

static const grove_input inputs[] = {
    {"x", GROVE_VALUE, "any value", .shapes = GROVE_ANY_SHAPE, .linear = GROVE_ANTILINEAR},
    {0},
};

GROVE_CLASS(conj) = {
    GROVE_CLASS_HEAD(conj),
    .doc = "Complex conjugate of every number; not transposed, see hermitian.",
    .output_doc = "as x, with its unit",
    .group = "functions",
    .inputs = inputs,
    .kernel = &kernel,
    .check = elementary_keep,
    .example = "c = conj(obs.data)",
};
