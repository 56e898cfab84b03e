/* The operators + - * / ^ of the tree language. */
#include "nodes/common/form.h"

#include <math.h>

#define GROVE_KERNEL_SOURCE "../../kernels/arithmetic/arithmetic.h"
#include "kernel.h"

/* ---- sums ---- */

/* Kernels of sums: element by element, of two complex matrices, of two different shapes. */
enum { ELEMENTS, MATRICES, JONES, SUM_KERNELS };

/* Sets the form and the kernel of a sum of inputs 0 and 1. `action`, for messages: "add". */
static int check_sum(grove_node *node, const char *action, const grove_kernel *kernels)
{
    const grove_form *a = grove_node_input_form(node, 0), *b = grove_node_input_form(node, 1);
    grove_form form = a->shape >= b->shape ? *a : *b;
    int code = form_common_unit(node, 2, action, &form.unit);

    if (code)
        return code;
    const bool jones = a->shape != b->shape;
    if (form.shape == GROVE_VECTOR && (jones || a->vector != b->vector))
        return grove_node_fail(node, GROVE_SHAPE,
                               "cannot %s a vector and anything but a vector of the same length",
                               action);
    form.complex_ = a->complex_ || b->complex_;
    grove_node_set_output(node, &form);
    bool matrices = form.shape == GROVE_MATRIX && a->complex_ && b->complex_;
    grove_node_set_kernel(node, &kernels[jones ? JONES : matrices ? MATRICES : ELEMENTS]);
    return 0;
}

static const grove_kernel add_kernels[SUM_KERNELS] = {
    [ELEMENTS] = GROVE_KERNEL(add_elements),
    [MATRICES] = GROVE_KERNEL(add_matrices),
    [JONES] = GROVE_KERNEL(add_jones),
};

static const grove_port add_inputs[] = {
    {"a", GROVE_VALUE, "left of the +", .shapes = GROVE_ANY_SHAPE, .linear = GROVE_LINEAR,
     .group = 1},
    {"b", GROVE_VALUE, "right of the +, in the unit of a", .shapes = GROVE_ANY_SHAPE,
     .linear = GROVE_LINEAR, .group = 1},
    {0},
};

static int check_add(grove_node *node)
{
    return check_sum(node, "add", add_kernels);
}

GROVE_CLASS(add) = {
    GROVE_CLASS_HEAD(add),
    .doc = "Sum of two values; written a + b.\nA scalar with a matrix means that number times the "
           "identity; a diagonal with a matrix, the diagonal matrix. Both must have the same unit; "
           "a constant 0 fits any unit.",
    .output_doc = "the sum, in the unit of both",
    .group = "arithmetic",
    .role = GROVE_ROLE_SUM,
    .inputs = add_inputs,
    .check = check_add,
    .example = "V[p,q] = M[p,q] + N[p,q]",
};

static const grove_kernel subtract_kernels[SUM_KERNELS] = {
    [ELEMENTS] = GROVE_KERNEL(subtract_elements),
    [MATRICES] = GROVE_KERNEL(subtract_matrices),
    [JONES] = GROVE_KERNEL(subtract_jones),
};

static const grove_port subtract_inputs[] = {
    {"a", GROVE_VALUE, "left of the -", .shapes = GROVE_ANY_SHAPE, .linear = GROVE_LINEAR,
     .group = 1},
    {"b", GROVE_VALUE, "right of the -, in the unit of a", .shapes = GROVE_ANY_SHAPE,
     .linear = GROVE_LINEAR, .group = 1},
    {0},
};

static int check_subtract(grove_node *node)
{
    return check_sum(node, "subtract", subtract_kernels);
}

GROVE_CLASS(subtract) = {
    GROVE_CLASS_HEAD(subtract),
    .doc = "Difference of two values; written a - b.\nA scalar with a matrix means that number "
           "times the identity; a diagonal with a matrix, the diagonal matrix. Both must have the "
           "same unit; a constant 0 fits any unit.",
    .output_doc = "the difference, in the unit of both",
    .group = "arithmetic",
    .role = GROVE_ROLE_DIFFERENCE,
    .inputs = subtract_inputs,
    .check = check_subtract,
    .example = "V[p,q] = M[p,q] - N[p,q]",
};

static const grove_kernel negate_kernel = GROVE_KERNEL(negate);

static const grove_port negate_inputs[] = {
    {"x", GROVE_VALUE, "any value", .shapes = GROVE_ANY_SHAPE, .linear = GROVE_LINEAR},
    {0},
};

GROVE_CLASS(negate) = {
    GROVE_CLASS_HEAD(negate),
    .doc = "The value with the other sign; written -x.",
    .output_doc = "-x, in the unit of x",
    .group = "arithmetic",
    .role = GROVE_ROLE_NEGATIVE,
    .inputs = negate_inputs,
    .kernel = &negate_kernel,
    .check = form_keep,
    .example = "y = -x",
};

/* ---- products ---- */

static const grove_kernel reals = GROVE_KERNEL(multiply_reals);
static const grove_kernel elements = GROVE_KERNEL(multiply_elements);
static const grove_kernel jones = GROVE_KERNEL(multiply_jones);
static const grove_kernel matrices = GROVE_KERNEL(multiply_matrices);
static const grove_kernel scale_left = GROVE_KERNEL(scale_from_left);
static const grove_kernel scale_right = GROVE_KERNEL(scale_from_right);
static const grove_kernel from_left = GROVE_KERNEL(multiply_from_left);
static const grove_kernel from_right = GROVE_KERNEL(multiply_from_right);
static const grove_kernel real_left = GROVE_KERNEL(multiply_real_left);
static const grove_kernel real_right = GROVE_KERNEL(multiply_real_right);

static const grove_port multiply_inputs[] = {
    {"a", GROVE_VALUE, "left factor", .shapes = GROVE_ANY_SHAPE, .linear = GROVE_LINEAR},
    {"b", GROVE_VALUE, "right factor", .shapes = GROVE_ANY_SHAPE, .linear = GROVE_LINEAR},
    {0},
};

/* Kernels of products of a matrix and another Jones term, by the shape of the other. */
static const grove_kernel *product_with_matrix(const grove_form *a, const grove_form *b)
{
    if (a->complex_ != b->complex_) {
        const grove_form *plain = a->complex_ ? b : a, *other = a->complex_ ? a : b;
        if (plain->shape != GROVE_DIAGONAL || other->shape != GROVE_MATRIX)
            return &jones;
        return plain == a ? &real_left : &real_right;
    }
    if (a->shape == GROVE_SCALAR || b->shape == GROVE_SCALAR)
        return a->shape == GROVE_SCALAR ? &scale_left : &scale_right;
    if (a->shape == GROVE_DIAGONAL || b->shape == GROVE_DIAGONAL)
        return a->shape == GROVE_DIAGONAL ? &from_left : &from_right;
    return &matrices;
}

static int check_multiply(grove_node *node)
{
    const grove_form *a = grove_node_input_form(node, 0), *b = grove_node_input_form(node, 1);
    grove_form form = a->shape >= b->shape ? *a : *b;
    bool by_element = a->shape == GROVE_SCALAR || b->shape == GROVE_SCALAR ||
                      (a->shape == GROVE_DIAGONAL && b->shape == GROVE_DIAGONAL);

    if (form.shape == GROVE_VECTOR && !by_element)
        return grove_node_fail(node, GROVE_SHAPE,
                               "a vector can only be multiplied by a scalar; select takes one "
                               "element of it");
    form.complex_ = a->complex_ || b->complex_;
    form.unit = grove_unit_multiply(a->unit, b->unit);
    grove_node_set_output(node, &form);
    if (form.shape == GROVE_MATRIX && a->complex_ && b->complex_)
        grove_node_set_kernel(node, product_with_matrix(a, b));
    else if (by_element)
        grove_node_set_kernel(node, form.complex_ ? &elements : &reals);
    else
        grove_node_set_kernel(node, form.complex_ ? product_with_matrix(a, b) : &jones);
    return 0;
}

GROVE_CLASS(multiply) = {
    GROVE_CLASS_HEAD(multiply),
    .doc =
        "Product of two values, of matrices the matrix product; written a * b.\nScalars, diagonals "
        "and matrices can be multiplied in any order; a vector only by scalars. Units multiply.",
    .output_doc = "the product, in the product of the units",
    .group = "arithmetic",
    .role = GROVE_ROLE_PRODUCT,
    .inputs = multiply_inputs,
    .flag_rule = GROVE_FLAGS_PRODUCT,
    .check = check_multiply,
    .example = "J[s,p] = G[p] * E[s,p]",
};

static const grove_kernel divide_kernel = GROVE_KERNEL(divide);

static const grove_port divide_inputs[] = {
    {"a", GROVE_VALUE, "dividend", .shapes = GROVE_ANY_SHAPE, .linear = GROVE_LINEAR},
    {"b", GROVE_VALUE, "scalar that divides; for a matrix write a * b^-1"},
    {0},
};

static int check_divide(grove_node *node)
{
    const grove_form *a = grove_node_input_form(node, 0), *b = grove_node_input_form(node, 1);
    grove_form form = *a;

    if (form_is_zero(node, 1))
        return grove_node_fail_option(node, "b", "division by 0");
    form.complex_ = a->complex_ || b->complex_;
    form.unit = grove_unit_divide(a->unit, b->unit);
    grove_node_set_output(node, &form);
    return 0;
}

GROVE_CLASS(divide) = {
    GROVE_CLASS_HEAD(divide),
    .doc = "A value divided by a scalar; written a / b.\nTo divide by a diagonal or a matrix "
           "multiply by its inverse, on the intended side: a * b^-1 or b^-1 * a. Units divide.",
    .output_doc = "the quotient, in the quotient of the units",
    .group = "arithmetic",
    .role = GROVE_ROLE_QUOTIENT,
    .inputs = divide_inputs,
    .kernel = &divide_kernel,
    .check = check_divide,
    .tangent = "b: -value * db / b",
    .example = "x = obs.freq / 1.4GHz",
};

enum { MAX_EXPONENT = 1024 }; /* exponent of a matrix */

static const grove_kernel power_elements = GROVE_KERNEL(power_elements);
static const grove_kernel power_matrix = GROVE_KERNEL(power_matrix);

static const grove_port power_inputs[] = {
    {"x", GROVE_VALUE, "base", .shapes = GROVE_JONES},
    {0},
};

static const grove_port power_options[] = {
    {"exponent", GROVE_NUMBER, "exponent, a plain number; for matrices a whole one"},
    {0},
};

static int check_power(grove_node *node)
{
    grove_form form = *grove_node_input_form(node, 0);
    double exponent = grove_node_number(node, "exponent");
    grove_unit unit = form.unit;
    char text[48];

    if (form.shape == GROVE_MATRIX && (exponent != rint(exponent) || fabs(exponent) > MAX_EXPONENT))
        return grove_node_fail_option(node, "exponent",
                                      "a matrix can have only whole powers up to %d, got %g",
                                      MAX_EXPONENT, exponent);
    if (!grove_unit_power(unit, exponent, &form.unit))
        return grove_node_fail_option(node, "exponent", "%s has no power %g",
                                      grove_unit_describe(text, unit), exponent);
    grove_node_set_output(node, &form);
    grove_node_set_state(node, &exponent, sizeof(exponent));
    grove_node_set_kernel(node, form.shape == GROVE_MATRIX ? &power_matrix : &power_elements);
    if (form.shape == GROVE_MATRIX) /* which its change need not commute with */
        grove_node_set_tangent(node, NULL);
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
    .inputs = power_inputs,
    .options = power_options,
    .flag_rule = GROVE_FLAGS_MIX,
    .check = check_power,
    .tangent = "x: exponent * x^(exponent - 1) * dx",
    .example = "F = S0 * (obs.freq / 1.4GHz)^-0.7",
};
