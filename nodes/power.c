#include "nodes/form.h"

#include <math.h>

#define GROVE_KERNEL_SOURCE "../kernels/arithmetic.h"
#include "kernel.h"

enum { MOST = 1024 }; /* exponent of a matrix */

static const grove_kernel elements = GROVE_KERNEL(power_elements);
static const grove_kernel matrix = GROVE_KERNEL(power_matrix);

static const grove_input inputs[] = {
    {"x", GROVE_VALUE, "base", .shapes = GROVE_JONES},
    {0},
};

static const grove_option options[] = {
    {"exponent", GROVE_NUMBER, NULL, "exponent, a plain number; for matrices a whole one"},
    {0},
};

static int check(grove_node *node)
{
    grove_form form = *grove_node_input_form(node, 0);
    double exponent = grove_node_number(node, "exponent");
    grove_unit unit = form_unit(&form), result = unit;
    char text[48];

    if (form.shape == GROVE_MATRIX && (exponent != rint(exponent) || fabs(exponent) > MOST))
        return grove_node_fail_option(node, "exponent",
                                      "of a matrix only whole powers up to %d are taken, got %g",
                                      MOST, exponent);
    if (!grove_unit_power(unit, exponent, &result))
        return grove_node_fail_option(node, "exponent", "%s has no power %g",
                                      grove_unit_describe(text, unit), exponent);
    form_set_unit(&form, result);
    grove_node_set_output(node, &form);
    grove_node_set_state(node, &exponent, sizeof(exponent));
    grove_node_set_kernel(node, form.shape == GROVE_MATRIX ? &matrix : &elements);
    return 0;
}

GROVE_CLASS(power) = {
    GROVE_CLASS_HEAD(power),
    .doc = "A value to a constant power; written x^2.\n"
           "Of a complex number the principal one; of a matrix the product with itself, and of "
           "its inverse where the exponent is negative. A negative real number has whole powers "
           "only.",
    .output_doc = "the power, in the power of the unit",
    .group = "arithmetic",
    .role = GROVE_ROLE_POWER,
    .inputs = inputs,
    .options = options,
    .flag_rule = GROVE_FLAGS_MIX,
    .check = check,
    .example = "F = S0 * (obs.freq / 1.4GHz)^-0.7",
};
