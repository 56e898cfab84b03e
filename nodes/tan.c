#include "nodes/elementary.h"

#define GROVE_KERNEL_SOURCE "../kernels/elementary.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(elementary_tan);

static const grove_input inputs[] = {
    {"x", GROVE_VALUE, "angles (rad) or plain numbers", .shapes = ELEMENTARY_SHAPES},
    {0},
};

GROVE_CLASS(tan) = {
    GROVE_CLASS_HEAD(tan),
    .doc = "Tangent, also of complex numbers.",
    .output_doc = "plain numbers",
    .group = "functions",
    .inputs = inputs,
    .kernel = &kernel,
    .check = elementary_from_angle,
    .example = "t = tan(obs.elevation)",
};
