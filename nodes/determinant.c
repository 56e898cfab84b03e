#include "nodes/elementary.h"

#define GROVE_KERNEL_SOURCE "../kernels/matrix.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(determinant);

static const grove_input inputs[] = {
    {"x", GROVE_VALUE, "a Jones term; a scalar stands for that times the identity",
     .shapes = GROVE_JONES},
    {0},
};

static int check(grove_node *node)
{
    grove_form form = *grove_node_input_form(node, 0);

    form.shape = GROVE_SCALAR;
    form_set_unit(&form, grove_unit_multiply(form_unit(&form), form_unit(&form)));
    grove_node_set_output(node, &form);
    return 0;
}

GROVE_CLASS(determinant) = {
    GROVE_CLASS_HEAD(determinant),
    .doc = "Determinant of a Jones term.",
    .output_doc = "a scalar, in the square of the unit of x",
    .group = "matrices",
    .inputs = inputs,
    .flag_rule = GROVE_FLAGS_MIX,
    .kernel = &kernel,
    .check = check,
    .example = "d = determinant(G[p])",
};
