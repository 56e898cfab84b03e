#include "nodes/assemble.h"

#define GROVE_KERNEL_SOURCE "../kernels/matrix.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(assemble);

static const grove_input inputs[] = {
    {"a", GROVE_VALUE, "first number of the diagonal: X or R", .linear = GROVE_LINEAR, .group = 1},
    {"b", GROVE_VALUE, "second: Y or L, in the unit of a", .linear = GROVE_LINEAR, .group = 1},
    {0},
};

static int check(grove_node *node)
{
    return assemble_check(node, GROVE_DIAGONAL);
}

GROVE_CLASS(diagonal) = {
    GROVE_CLASS_HEAD(diagonal),
    .doc = "A diagonal Jones matrix from two scalars.\nBoth have one unit; a constant 0 goes with "
           "any.",
    .output_doc = "a diagonal matrix, in the unit of a and b",
    .group = "matrices",
    .inputs = inputs,
    .kernel = &kernel,
    .check = check,
    .example = "G[p] = diagonal(gx[p], gy[p])",
};
