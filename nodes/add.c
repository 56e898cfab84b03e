#include "nodes/sums.h"

#define GROVE_KERNEL_SOURCE "../kernels/arithmetic.h"
#include "kernel.h"

static const grove_kernel elements = GROVE_KERNEL(add_elements);
static const grove_kernel matrices = GROVE_KERNEL(add_matrices);
static const grove_kernel jones = GROVE_KERNEL(add_jones);

static const grove_input inputs[] = {
    {"a", GROVE_VALUE, "left of the +", .shapes = GROVE_ANY_SHAPE, .linear = GROVE_LINEAR,
     .group = 1},
    {"b", GROVE_VALUE, "right of the +, in the unit of a", .shapes = GROVE_ANY_SHAPE,
     .linear = GROVE_LINEAR, .group = 1},
    {0},
};

static int check(grove_node *node)
{
    static const sums_kernels kernels = {&elements, &matrices, &jones};

    return sums_check(node, "add", &kernels);
}

GROVE_CLASS(add) = {
    GROVE_CLASS_HEAD(add),
    .doc = "Sum of two values; written a + b.\nA scalar with a matrix means that number times the "
           "identity; a "
           "diagonal with a matrix, the diagonal matrix. Both have one unit; a constant 0 goes "
           "with any.",
    .output_doc = "the sum, in the unit of both",
    .group = "arithmetic",
    .role = GROVE_ROLE_SUM,
    .inputs = inputs,
    .check = check,
    .example = "V[p,q] = M[p,q] + N[p,q]",
};
