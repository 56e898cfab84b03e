#include "nodes/common/form.h"

#define GROVE_KERNEL_SOURCE "../../kernels/arithmetic/matrix.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(reshape);

static const grove_port inputs[] = {
    {"value", GROVE_VALUE, "a number, a list of numbers, or any value", .shapes = GROVE_ANY_SHAPE,
     .linear = GROVE_LINEAR},
    {0},
};

static const grove_port options[] = {
    {"shape", GROVE_CHOICE,
     "shape of the value: scalar (1 number), diagonal (2), matrix (4: XX XY YX YY), vector; none: "
     "the shape of the input",
     .initial = "none", .choices = "none scalar diagonal matrix vector"},
    {0},
};

static int check(grove_node *node)
{
    static const int shapes[] = {0, GROVE_SCALAR, GROVE_DIAGONAL, GROVE_MATRIX, GROVE_VECTOR};
    grove_form form = *grove_node_input_form(node, 0);
    int have = form_elements(&form), shape = shapes[grove_node_choice(node, "shape")];

    if (shape == GROVE_VECTOR)
        form.vector = have;
    else if (shape && shape != have)
        return grove_node_fail_option(node, "shape", "a %s is made of %d numbers, got %d",
                                      grove_node_text(node, "shape"), shape, have);
    form.shape = shape ? shape : form.shape;
    grove_node_set_output(node, &form);
    return 0;
}

GROVE_CLASS(constant) = {
    GROVE_CLASS_HEAD(constant),
    .doc = "A number or a list of numbers as a value, or as a Jones matrix.",
    .output_doc = "the numbers given, with their unit",
    .group = "matrices",
    .inputs = inputs,
    .options = options,
    .kernel = &kernel,
    .check = check,
    .example = "D = constant([1, 0.01, -0.01, 1], shape=matrix)",
};
