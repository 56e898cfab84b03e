/* Matrix algebra of one Jones term, `x`. */
#include "nodes/common/form.h"
#include "unstable/fit.h"

#define GROVE_KERNEL_SOURCE "../../kernels/arithmetic/matrix.h"
#include "kernel.h"

/* ---- inputs ---- */

static const grove_port jones[] = {
    {"x", GROVE_VALUE, "a Jones term", .shapes = GROVE_JONES},
    {0},
};

static const grove_port jones_linear[] = {
    {"x", GROVE_VALUE, "a Jones term", .shapes = GROVE_JONES, .linear = GROVE_LINEAR},
    {0},
};

static const grove_port jones_antilinear[] = {
    {"x", GROVE_VALUE, "a Jones term", .shapes = GROVE_JONES, .linear = GROVE_ANTILINEAR},
    {0},
};

static const grove_port square[] = {
    {"x", GROVE_VALUE, "a Jones term; a scalar is multiplied by the identity matrix",
     .shapes = GROVE_JONES},
    {0},
};

static const grove_port square_linear[] = {
    {"x", GROVE_VALUE, "a Jones term; a scalar is multiplied by the identity matrix",
     .shapes = GROVE_JONES, .linear = GROVE_LINEAR},
    {0},
};

static const grove_port any[] = {
    {"x", GROVE_VALUE, "any value", .shapes = GROVE_ANY_SHAPE},
    {0},
};

/* ---- checks ---- */

static int to_inverse(grove_node *node)
{
    grove_form form = *grove_node_input_form(node, 0);

    form.unit = grove_unit_divide(GROVE_UNIT_NONE, form.unit);
    grove_node_set_output(node, &form);
    return 0;
}

/* An error for data of a set without some elements of `needed`. */
static int check_missing(const grove_node *node, int needed)
{
    return grove_node_missing_elements(node, 0) & needed
               ? grove_node_fail(node, GROVE_SHAPE,
                                 "x comes from a set without all correlations, and this class "
                                 "needs more of them")
               : 0;
}

/* Stokes I, which a set may have alone, is half of it. */
static int to_trace(grove_node *node)
{
    grove_form form = *grove_node_input_form(node, 0);

    form.shape = GROVE_SCALAR;
    grove_node_set_output(node, &form);
    return grove_node_missing_elements(node, 0) == 15 ? 0 : check_missing(node, 9);
}

static int to_determinant(grove_node *node)
{
    grove_form form = *grove_node_input_form(node, 0);

    form.shape = GROVE_SCALAR;
    form.unit = grove_unit_multiply(form.unit, form.unit);
    grove_node_set_output(node, &form);
    return check_missing(node, 15);
}

static int to_norm(grove_node *node)
{
    grove_form form = *grove_node_input_form(node, 0);

    form.shape = GROVE_SCALAR;
    form.vector = 0;
    form.complex_ = false;
    grove_node_set_output(node, &form);
    return 0;
}

/* ---- the classes; each has the kernel of its own name ---- */

#define FUNCTION(name_, inputs_, check_)                                                           \
    GROVE_CLASS_HEAD(name_), .group = "matrices", .inputs = inputs_,                               \
                             .kernel = &(const grove_kernel)GROVE_KERNEL(name_), .check = check_

GROVE_CLASS(transpose) = {
    FUNCTION(transpose, jones_linear, form_keep),
    .doc = "Transpose of a Jones term, without conjugating; written x^T.",
    .output_doc = "as x, with its unit",
    .role = GROVE_ROLE_TRANSPOSE,
    .flag_rule = GROVE_FLAGS_TRANSPOSE,
    .example = "T[p] = G[p]^T",
};

GROVE_CLASS(hermitian) = {
    FUNCTION(hermitian, jones_antilinear, form_keep),
    .doc = "Conjugate transpose of a Jones term; written x^H.",
    .output_doc = "as x, with its unit",
    .role = GROVE_ROLE_HERMITIAN,
    .flag_rule = GROVE_FLAGS_TRANSPOSE,
    .example = "V[p,q] = G[p] * M[p,q] * G[q]^H",
};

GROVE_CLASS(inverse) = {
    FUNCTION(inverse, jones, to_inverse),
    .doc = "Inverse of a Jones term; written x^-1.\nA singular matrix gives infinities or NaNs.",
    .output_doc = "the inverse, in the inverse of the unit",
    .role = GROVE_ROLE_INVERSE,
    .flag_rule = GROVE_FLAGS_MIX,
    .tangent = "x: -value * dx * value",
    .example = "C[p,q] = G[p]^-1 * obs.data * G[q]^-1^H",
};

GROVE_CLASS(trace) = {
    FUNCTION(trace, square_linear, to_trace),   .doc = "Sum of the diagonal of a Jones term.",
    .output_doc = "a scalar, in the unit of x", .flag_rule = GROVE_FLAGS_MIX,
    .example = "I = 0.5 * trace(obs.data)",
};

GROVE_CLASS(determinant) = {
    FUNCTION(determinant, square, to_determinant),
    .doc = "Determinant of a Jones term.",
    .output_doc = "a scalar, in the square of the unit of x",
    .flag_rule = GROVE_FLAGS_MIX,
    .example = "d = determinant(G[p])",
};

GROVE_CLASS(norm) = {
    FUNCTION(norm, any, to_norm),
    .doc = "Root of the sum of the squared absolute values of all numbers of a cell.",
    .output_doc = "a real scalar, in the unit of x",
    .flag_rule = GROVE_FLAGS_MIX,
    .example = "length = norm(obs.uvw)",
};
