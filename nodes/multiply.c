#include "nodes/form.h"

#define GROVE_KERNEL_SOURCE "../kernels/arithmetic.h"
#include "kernel.h"

static const grove_kernel reals = GROVE_KERNEL(multiply_reals);
static const grove_kernel elements = GROVE_KERNEL(multiply_elements);
static const grove_kernel jones = GROVE_KERNEL(multiply_jones);
static const grove_kernel matrices = GROVE_KERNEL(multiply_matrices);
static const grove_kernel scale_left = GROVE_KERNEL(scale_from_left);
static const grove_kernel scale_right = GROVE_KERNEL(scale_from_right);
static const grove_kernel from_left = GROVE_KERNEL(multiply_from_left);
static const grove_kernel from_right = GROVE_KERNEL(multiply_from_right);

static const grove_input inputs[] = {
    {"a", GROVE_VALUE, "left factor", .shapes = GROVE_ANY_SHAPE, .linear = GROVE_LINEAR},
    {"b", GROVE_VALUE, "right factor", .shapes = GROVE_ANY_SHAPE, .linear = GROVE_LINEAR},
    {0},
};

/* Of complex Jones terms one of which is a matrix: by the shape of the other. */
static const grove_kernel *product_with_matrix(const grove_form *a, const grove_form *b)
{
    if (a->shape == GROVE_SCALAR || b->shape == GROVE_SCALAR)
        return a->shape == GROVE_SCALAR ? &scale_left : &scale_right;
    if (a->shape == GROVE_DIAGONAL || b->shape == GROVE_DIAGONAL)
        return a->shape == GROVE_DIAGONAL ? &from_left : &from_right;
    return &matrices;
}

static int check(grove_node *node)
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
    form_set_unit(&form, grove_unit_multiply(form_unit(a), form_unit(b)));
    grove_node_set_output(node, &form);
    if (form.shape == GROVE_MATRIX && a->complex_ && b->complex_)
        grove_node_set_kernel(node, product_with_matrix(a, b));
    else if (by_element)
        grove_node_set_kernel(node, form.complex_ ? &elements : &reals);
    else
        grove_node_set_kernel(node, &jones);
    return 0;
}

GROVE_CLASS(multiply) = {
    GROVE_CLASS_HEAD(multiply),
    .doc = "Product of two values, of matrices the matrix product; written a * b.\n"
           "Scalars, diagonals and matrices go together in any order; a vector goes with scalars. "
           "Units multiply.",
    .output_doc = "the product, in the product of the units",
    .group = "arithmetic",
    .role = GROVE_ROLE_PRODUCT,
    .inputs = inputs,
    .flag_rule = GROVE_FLAGS_PRODUCT,
    .check = check,
    .example = "J[s,p] = G[p] * E[s,p]",
};
