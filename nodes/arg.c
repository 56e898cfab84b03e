#include "nodes/elementary.h"

#define GROVE_KERNEL_SOURCE "../kernels/elementary.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(elementary_arg);

static const grove_input inputs[] = {
    {"x", GROVE_VALUE, "any value", .shapes = GROVE_ANY_SHAPE},
    {0},
};

static int check(grove_node *node)
{
    grove_form form = *grove_node_input_form(node, 0);

    form.complex_ = false;
    form_set_unit(&form, GROVE_UNIT_ANGLE);
    grove_node_set_output(node, &form);
    return 0;
}

GROVE_CLASS(arg) = {
    GROVE_CLASS_HEAD(arg),
    .doc = "Phase of every number, from -pi to pi; 0 of a number that is zero.",
    .output_doc = "angles, rad",
    .group = "functions",
    .inputs = inputs,
    .kernel = &kernel,
    .check = check,
    .example = "angle = arg(obs.data)",
};
