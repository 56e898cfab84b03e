/* Jones terms and vectors made of scalars, one for each element. */
#include "nodes/common/form.h"

#define GROVE_KERNEL_SOURCE "../../kernels/arithmetic/matrix.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(assemble);

static const grove_port one[] = {
    {"x", GROVE_VALUE, "the number", .linear = GROVE_LINEAR},
    {0},
};

static const grove_port two[] = {
    {"a", GROVE_VALUE, "first number of the diagonal: X or R", .linear = GROVE_LINEAR, .group = 1},
    {"b", GROVE_VALUE, "second: Y or L, in the unit of a", .linear = GROVE_LINEAR, .group = 1},
    {0},
};

static const grove_port four[] = {
    {"a", GROVE_VALUE, "first row, first column", .linear = GROVE_LINEAR, .group = 1},
    {"b", GROVE_VALUE, "first row, second column", .linear = GROVE_LINEAR, .group = 1},
    {"c", GROVE_VALUE, "second row, first column", .linear = GROVE_LINEAR, .group = 1},
    {"d", GROVE_VALUE, "second row, second column", .linear = GROVE_LINEAR, .group = 1},
    {0},
};

static const grove_port vector[] = {
    {"a", GROVE_VALUE, "first number", .linear = GROVE_LINEAR, .group = 1},
    {"b", GROVE_VALUE, "second, in the unit of a", .linear = GROVE_LINEAR, .group = 1},
    {0},
};

static const grove_port vector_more[] = {
    {"c", GROVE_VALUE, "third, in the unit of a", .initial = "none", .linear = GROVE_LINEAR,
     .group = 1},
    {"d", GROVE_VALUE, "fourth, in the unit of a", .initial = "none", .linear = GROVE_LINEAR,
     .group = 1},
    {0},
};

static int check(grove_node *node, int shape)
{
    grove_form form = {.shape = shape};
    int code = form_common_unit(node, shape, "put together", &form.unit);

    for (int k = 0; k < shape; k++)
        form.complex_ = form.complex_ || grove_node_input_form(node, k)->complex_;
    grove_node_set_output(node, &form);
    return code;
}

static int check_scalar(grove_node *node)
{
    return check(node, GROVE_SCALAR);
}

static int check_diagonal(grove_node *node)
{
    return check(node, GROVE_DIAGONAL);
}

static int check_matrix(grove_node *node)
{
    return check(node, GROVE_MATRIX);
}

static int check_vector(grove_node *node)
{
    grove_form form = {.shape = GROVE_VECTOR, .vector = 2};

    while (form.vector < 4 && grove_node_input_form(node, form.vector))
        form.vector++;
    if (form.vector < 3 && grove_node_input_form(node, 3))
        return grove_node_fail_option(node, "d", "d is given, but not c");
    int code = form_common_unit(node, form.vector, "put together", &form.unit);
    for (int k = 0; k < form.vector; k++)
        form.complex_ = form.complex_ || grove_node_input_form(node, k)->complex_;
    grove_node_set_output(node, &form);
    return code;
}

GROVE_CLASS(scalar) = {
    GROVE_CLASS_HEAD(scalar),
    .doc = "A Jones term that is one number: that times the identity.",
    .output_doc = "a scalar, in the unit of x",
    .group = "matrices",
    .inputs = one,
    .role = GROVE_ROLE_SCALAR,
    .kernel = &kernel,
    .check = check_scalar,
    .example = "G[p] = scalar(exp(1i * x[p]))",
};

GROVE_CLASS(diagonal) = {
    GROVE_CLASS_HEAD(diagonal),
    .doc = "A diagonal Jones matrix from two scalars.\nBoth must have the same unit; a constant 0 "
           "fits any unit.",
    .output_doc = "a diagonal matrix, in the unit of a and b",
    .group = "matrices",
    .inputs = two,
    .role = GROVE_ROLE_DIAGONAL,
    .kernel = &kernel,
    .check = check_diagonal,
    .example = "G[p] = diagonal(gx[p], gy[p])",
};

GROVE_CLASS(matrix) = {
    GROVE_CLASS_HEAD(matrix),
    .doc = "A 2x2 Jones matrix [[a, b], [c, d]] from four scalars.\nAll must have the same unit; a "
           "constant 0 fits any unit.",
    .output_doc = "a matrix, in the unit of its elements",
    .group = "matrices",
    .inputs = four,
    .role = GROVE_ROLE_MATRIX,
    .kernel = &kernel,
    .check = check_matrix,
    .example = "D[p] = matrix(1, d1[p], d2[p], 1)",
};

GROVE_CLASS(vector) = {
    GROVE_CLASS_HEAD(vector),
    .doc = "A vector from two to four scalars, such as Stokes parameters or direction "
           "cosines.\nAll must "
           "have the same unit; a constant 0 fits any unit.",
    .output_doc = "a vector, in the unit of its elements",
    .group = "matrices",
    .inputs = vector,
    .options = vector_more,
    .kernel = &kernel,
    .check = check_vector,
    .example = "stokes = vector(1Jy, 0.1Jy, 0.05Jy, 0.02Jy)",
};
