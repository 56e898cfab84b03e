/* Functions of one value, `x`, element by element. */
#include "nodes/common/form.h"

#define GROVE_KERNEL_SOURCE "../../kernels/arithmetic/elementary.h"
#include "kernel.h"

/* Elementwise functions, which matrices are refused for. */
enum { SHAPES = GROVE_SCALAR | GROVE_DIAGONAL | GROVE_VECTOR };

/* ---- inputs ---- */

static const grove_port angle_or_number[] = {
    {"x", GROVE_VALUE, "angles (rad) or plain numbers", .shapes = SHAPES},
    {0},
};

static const grove_port real_angle_or_number[] = {
    {"x", GROVE_VALUE, "real angles (rad) or plain numbers", .handing = GROVE_AS_REAL,
     .shapes = SHAPES},
    {0},
};

static const grove_port number[] = {
    {"x", GROVE_VALUE, "plain numbers", .shapes = SHAPES},
    {0},
};

static const grove_port real_number[] = {
    {"x", GROVE_VALUE, "real plain numbers", .handing = GROVE_AS_REAL, .shapes = SHAPES},
    {0},
};

static const grove_port sine_or_cosine[] = {
    {"x", GROVE_VALUE, "real plain numbers from -1 to 1", .handing = GROVE_AS_REAL,
     .shapes = SHAPES},
    {0},
};

static const grove_port square[] = {
    {"x", GROVE_VALUE, "a value whose unit has a square root", .shapes = SHAPES},
    {0},
};

static const grove_port any[] = {
    {"x", GROVE_VALUE, "any value", .shapes = GROVE_ANY_SHAPE},
    {0},
};

static const grove_port any_real_linear[] = {
    {"x", GROVE_VALUE, "any value", .shapes = GROVE_ANY_SHAPE, .linear = GROVE_REAL_LINEAR},
    {0},
};

static const grove_port any_antilinear[] = {
    {"x", GROVE_VALUE, "any value", .shapes = GROVE_ANY_SHAPE, .linear = GROVE_ANTILINEAR},
    {0},
};

/* ---- checks ---- */

/* Products of rules take scalars and diagonals element by element; other values have differences.
 */
static void rule_by_element(grove_node *node)
{
    int shape = grove_node_input_form(node, 0)->shape;

    if (shape != GROVE_SCALAR && shape != GROVE_DIAGONAL)
        grove_node_set_tangent(node, NULL);
}

/* As x, but real. */
static int to_real(grove_node *node)
{
    grove_form form = *grove_node_input_form(node, 0);

    form.complex_ = false;
    grove_node_set_output(node, &form);
    return 0;
}

/* Plain numbers to plain numbers. */
static int number_to_number(grove_node *node)
{
    form_keep(node);
    rule_by_element(node);
    return form_require_number(node, 0, "x", false);
}

/* Angles or plain numbers to plain numbers. */
static int angle_to_number(grove_node *node)
{
    grove_form form = *grove_node_input_form(node, 0);

    form.unit = GROVE_UNIT_NONE;
    grove_node_set_output(node, &form);
    rule_by_element(node);
    return form_require_number(node, 0, "x", true);
}

/* Real plain numbers to angles. */
static int number_to_angle(grove_node *node)
{
    grove_form form = *grove_node_input_form(node, 0);

    form.unit = GROVE_UNIT_ANGLE;
    grove_node_set_output(node, &form);
    rule_by_element(node);
    return form_require_number(node, 0, "x", false);
}

static int to_phase(grove_node *node)
{
    grove_form form = *grove_node_input_form(node, 0);

    form.complex_ = false;
    form.unit = GROVE_UNIT_ANGLE;
    grove_node_set_output(node, &form);
    rule_by_element(node);
    return 0;
}

static int to_root(grove_node *node)
{
    grove_form form = *grove_node_input_form(node, 0);

    if (!grove_unit_power(form.unit, 0.5, &form.unit))
        return grove_node_fail_option(node, "x", "its unit has no square root");
    grove_node_set_output(node, &form);
    rule_by_element(node);
    return 0;
}

/* ---- the classes ---- */

#define FUNCTION(name_, kernel_, inputs_, check_)                                                  \
    GROVE_CLASS_HEAD(name_), .group = "functions", .inputs = inputs_,                              \
                             .kernel = &(const grove_kernel)GROVE_KERNEL(kernel_), .check = check_

GROVE_CLASS(sin) = {
    FUNCTION(sin, elementary_sin, angle_or_number, angle_to_number),
    .doc = "Sine, also of complex numbers.",
    .output_doc = "plain numbers",
    .role = GROVE_ROLE_SINE,
    .tangent = "x: cos(x) * dx",
    .example = "s = sin(obs.parallactic)",
};

GROVE_CLASS(cos) = {
    FUNCTION(cos, elementary_cos, angle_or_number, angle_to_number),
    .doc = "Cosine, also of complex numbers.",
    .output_doc = "plain numbers",
    .role = GROVE_ROLE_COSINE,
    .tangent = "x: -sin(x) * dx",
    .example = "c = cos(obs.parallactic)",
};

GROVE_CLASS(tan) = {
    FUNCTION(tan, elementary_tan, angle_or_number, angle_to_number),
    .doc = "Tangent, also of complex numbers.",
    .output_doc = "plain numbers",
    .tangent = "x: (1 + value * value) * dx",
    .example = "t = tan(obs.elevation)",
};

GROVE_CLASS(sinc) = {
    FUNCTION(sinc, elementary_sinc, real_angle_or_number, angle_to_number),
    .doc = "sin x / x of real numbers (not sin(pi x) / (pi x)); 1 at 0.",
    .output_doc = "plain numbers",
    .example = "s = sinc(x)",
};

GROVE_CLASS(asin) = {
    FUNCTION(asin, elementary_asin, sine_or_cosine, number_to_angle),
    .doc = "Inverse sine of real numbers.",
    .output_doc = "angles from -pi/2 to pi/2, rad",
    .tangent = "x: (1 - x * x)^-0.5 * dx",
    .example = "a = asin(x)",
};

GROVE_CLASS(acos) = {
    FUNCTION(acos, elementary_acos, sine_or_cosine, number_to_angle),
    .doc = "Inverse cosine of real numbers.",
    .output_doc = "angles from 0 to pi, rad",
    .tangent = "x: -(1 - x * x)^-0.5 * dx",
    .example = "a = acos(x)",
};

GROVE_CLASS(atan) = {
    FUNCTION(atan, elementary_atan, real_number, number_to_angle),
    .doc = "Inverse tangent of real numbers.",
    .output_doc = "angles from -pi/2 to pi/2, rad",
    .tangent = "x: (1 + x * x)^-1 * dx",
    .example = "a = atan(x)",
};

GROVE_CLASS(exp) = {
    FUNCTION(exp, elementary_exp, number, number_to_number),
    .doc = "Exponential function, also of complex numbers.",
    .output_doc = "plain numbers",
    .role = GROVE_ROLE_EXPONENTIAL,
    .tangent = "x: value * dx",
    .example = "e = exp(-0.5 * tau)",
};

GROVE_CLASS(log) = {
    FUNCTION(log, elementary_log, number, number_to_number),
    .doc = "Natural logarithm, the principal one of a complex number.\nA real number below zero "
           "has none; the logarithm of 0 is minus infinity.",
    .output_doc = "plain numbers",
    .tangent = "x: x^-1 * dx",
    .example = "x = log(obs.freq / 1.4GHz)",
};

GROVE_CLASS(log10) = {
    FUNCTION(log10, elementary_log10, number, number_to_number),
    .doc = "Logarithm to base 10, the principal one of a complex number.\nA real number below zero "
           "has none; the logarithm of 0 is minus infinity.",
    .output_doc = "plain numbers",
    .tangent = "x: 0.43429448190325176 * x^-1 * dx",
    .example = "x = log10(obs.freq / 1.4GHz)",
};

GROVE_CLASS(sqrt) = {
    FUNCTION(sqrt, elementary_sqrt, square, to_root),
    .doc = "Square root, the principal one of a complex number.\nA real number below zero has "
           "none: make it complex first: complex(x, 0).",
    .output_doc = "the square root, in the root of the unit of x",
    .tangent = "x: 0.5 * value^-1 * dx",
    .example = "s = sqrt(S.reference_frequency / obs.freq)",
};

GROVE_CLASS(abs) = {
    FUNCTION(abs, elementary_abs, any, to_real),
    .doc = "Absolute value of every number.\nOf a matrix or vector it is taken number by number; "
           "norm makes one number of the cell.",
    .output_doc = "real numbers, with the unit of x",
    .example = "a = abs(obs.data)",
};

GROVE_CLASS(arg) = {
    FUNCTION(arg, elementary_arg, any, to_phase),
    .doc = "Phase of every number, from -pi to pi; 0 of a number that is zero.",
    .output_doc = "angles, rad",
    .tangent = "x: imag(x^-1 * dx) * 1rad",
    .example = "angle = arg(obs.data)",
};

GROVE_CLASS(real) = {
    FUNCTION(real, elementary_real_part, any_real_linear, to_real),
    .doc = "Real part of every number.",
    .output_doc = "real numbers, with the unit of x",
    .example = "r = real(obs.data)",
};

GROVE_CLASS(imag) = {
    FUNCTION(imag, elementary_imag, any_real_linear, to_real),
    .doc = "Imaginary part of every number; 0 of a real one.",
    .output_doc = "real numbers, with the unit of x",
    .example = "i = imag(obs.data)",
};

GROVE_CLASS(conj) = {
    FUNCTION(conj, elementary_conj, any_antilinear, form_keep),
    .doc = "Complex conjugate of every number; not transposed, see hermitian.",
    .output_doc = "as x, with its unit",
    .role = GROVE_ROLE_CONJUGATE,
    .example = "c = conj(obs.data)",
};
