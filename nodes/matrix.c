#include "nodes/assemble.h"

#define GROVE_KERNEL_SOURCE "../kernels/matrix.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(assemble);

static const grove_input inputs[] = {
    {"a", GROVE_VALUE, "first row, first column", .linear = GROVE_LINEAR, .group = 1},
    {"b", GROVE_VALUE, "first row, second column", .linear = GROVE_LINEAR, .group = 1},
    {"c", GROVE_VALUE, "second row, first column", .linear = GROVE_LINEAR, .group = 1},
    {"d", GROVE_VALUE, "second row, second column", .linear = GROVE_LINEAR, .group = 1},
    {0},
};

static int check(grove_node *node)
{
    return assemble_check(node, GROVE_MATRIX);
}

GROVE_CLASS(matrix) = {
    GROVE_CLASS_HEAD(matrix),
    .doc = "A 2x2 Jones matrix [[a, b], [c, d]] from four scalars.\nAll have one unit; a constant "
           "0 goes with any.",
    .output_doc = "a matrix, in the unit of its elements",
    .group = "matrices",
    .inputs = inputs,
    .kernel = &kernel,
    .check = check,
    .example = "D[p] = matrix(1, d1[p], d2[p], 1)",
};
