#include "nodes/common/form.h"

#define GROVE_KERNEL_SOURCE "../../kernels/arithmetic/arithmetic.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(complex_parts);

static const grove_port inputs[] = {
    {"re", GROVE_VALUE, "real parts", .handing = GROVE_AS_REAL, .linear = GROVE_REAL_LINEAR,
     .group = 1},
    {"im", GROVE_VALUE, "imaginary parts, in the unit of re", .handing = GROVE_AS_REAL,
     .linear = GROVE_REAL_LINEAR, .group = 1},
    {0},
};

static int check(grove_node *node)
{
    grove_form form = {.shape = GROVE_SCALAR, .complex_ = true};
    int code = form_common_unit(node, 2, "put together", &form.unit);

    grove_node_set_output(node, &form);
    return code;
}

GROVE_CLASS(complex) = {
    GROVE_CLASS_HEAD(complex),
    .doc = "A complex scalar from its real and imaginary part.",
    .output_doc = "re + i im, in the unit of both",
    .group = "functions",
    .inputs = inputs,
    .role = GROVE_ROLE_COMPLEX,
    .kernel = &kernel,
    .check = check,
    .example = "G[p] = complex(cos(x[p]), sin(x[p]))",
};
