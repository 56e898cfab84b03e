#include "nodes/elementary.h"

#define GROVE_KERNEL_SOURCE "../kernels/matrix.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(inverse);

static const grove_input inputs[] = {
    {"x", GROVE_VALUE, "a Jones term", .shapes = GROVE_JONES},
    {0},
};

static int check(grove_node *node)
{
    grove_form form = *grove_node_input_form(node, 0);

    form_set_unit(&form, grove_unit_divide(GROVE_UNIT_NONE, form_unit(&form)));
    grove_node_set_output(node, &form);
    return 0;
}

GROVE_CLASS(inverse) = {
    GROVE_CLASS_HEAD(inverse),
    .doc = "Inverse of a Jones term; written x^-1.\nWhat has none becomes infinite or no number.",
    .output_doc = "the inverse, in the inverse of the unit",
    .group = "matrices",
    .role = GROVE_ROLE_INVERSE,
    .inputs = inputs,
    .flag_rule = GROVE_FLAGS_MIX,
    .kernel = &kernel,
    .check = check,
    .example = "C[p,q] = G[p]^-1 * obs.data * G[q]^-1^H",
};
