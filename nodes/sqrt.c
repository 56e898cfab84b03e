#include "nodes/elementary.h"

#define GROVE_KERNEL_SOURCE "../kernels/elementary.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(elementary_sqrt);

static const grove_input inputs[] = {
    {"x", GROVE_VALUE, "a value whose unit has a square root", .shapes = ELEMENTARY_SHAPES},
    {0},
};

static int check(grove_node *node)
{
    grove_form form = *grove_node_input_form(node, 0);
    grove_unit unit;

    if (!grove_unit_power(form_unit(&form), 0.5, &unit))
        return grove_node_fail_option(node, "x", "its unit has no square root");
    form_set_unit(&form, unit);
    grove_node_set_output(node, &form);
    return 0;
}

GROVE_CLASS(sqrt) = {
    GROVE_CLASS_HEAD(sqrt),
    .doc = "Square root, the principal one of a complex number.\nA real number below zero has "
           "none: make it complex first: complex(x, 0).",
    .output_doc = "the square root, in the root of the unit of x",
    .group = "functions",
    .inputs = inputs,
    .kernel = &kernel,
    .check = check,
    .example = "s = sqrt(S.reference_frequency / obs.freq)",
};
