#include "nodes/form.h"

#define GROVE_KERNEL_SOURCE "../kernels/arithmetic.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(divide);

static const grove_input inputs[] = {
    {"a", GROVE_VALUE, "what is divided", .shapes = GROVE_ANY_SHAPE, .linear = GROVE_LINEAR},
    {"b", GROVE_VALUE, "scalar that divides; for a matrix write a * b^-1"},
    {0},
};

static int check(grove_node *node)
{
    const grove_form *a = grove_node_input_form(node, 0), *b = grove_node_input_form(node, 1);
    grove_form form = *a;

    if (form_is_zero(node, 1))
        return grove_node_fail_option(node, "b", "division by 0");
    form.complex_ = a->complex_ || b->complex_;
    form_set_unit(&form, grove_unit_divide(form_unit(a), form_unit(b)));
    grove_node_set_output(node, &form);
    return 0;
}

GROVE_CLASS(divide) = {
    GROVE_CLASS_HEAD(divide),
    .doc = "A value divided by a scalar; written a / b.\n"
           "To divide by a diagonal or a matrix multiply by its inverse, on the side that is "
           "meant: a * b^-1 or b^-1 * a. Units divide.",
    .output_doc = "the quotient, in the quotient of the units",
    .group = "arithmetic",
    .role = GROVE_ROLE_QUOTIENT,
    .inputs = inputs,
    .kernel = &kernel,
    .check = check,
    .example = "x = obs.freq / 1.4GHz",
};
