#include "nodes/elementary.h"

#define GROVE_KERNEL_SOURCE "../kernels/matrix.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(norm);

static const grove_input inputs[] = {
    {"x", GROVE_VALUE, "any value", .shapes = GROVE_ANY_SHAPE},
    {0},
};

static int check(grove_node *node)
{
    grove_form form = *grove_node_input_form(node, 0);

    form.shape = GROVE_SCALAR;
    form.vector = 0;
    form.complex_ = false;
    grove_node_set_output(node, &form);
    return 0;
}

GROVE_CLASS(norm) = {
    GROVE_CLASS_HEAD(norm),
    .doc = "Root of the sum of the squared absolute values of all numbers of a cell.",
    .output_doc = "a real scalar, in the unit of x",
    .group = "matrices",
    .inputs = inputs,
    .flag_rule = GROVE_FLAGS_MIX,
    .kernel = &kernel,
    .check = check,
    .example = "length = norm(obs.uvw)",
};
