#include "nodes/assemble.h"

#define GROVE_KERNEL_SOURCE "../kernels/matrix.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(assemble);

static const grove_input inputs[] = {
    {"x", GROVE_VALUE, "the number", .linear = GROVE_LINEAR},
    {0},
};

static int check(grove_node *node)
{
    return assemble_check(node, GROVE_SCALAR);
}

GROVE_CLASS(scalar) = {
    GROVE_CLASS_HEAD(scalar),
    .doc = "A Jones term that is one number: that times the identity.",
    .output_doc = "a scalar, in the unit of x",
    .group = "matrices",
    .inputs = inputs,
    .kernel = &kernel,
    .check = check,
    .example = "G[p] = scalar(exp(1i * x[p]))",
};
