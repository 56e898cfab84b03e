#include "nodes/elementary.h"

#define GROVE_KERNEL_SOURCE "../kernels/elementary.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(elementary_sinc);

static const grove_input inputs[] = {
    {"x", GROVE_VALUE, "real angles (rad) or plain numbers", .handing = GROVE_AS_REAL,
     .shapes = ELEMENTARY_SHAPES},
    {0},
};

GROVE_CLASS(sinc) = {
    GROVE_CLASS_HEAD(sinc),
    .doc = "sin x / x of real numbers (not sin(pi x) / (pi x)); 1 at 0.",
    .output_doc = "plain numbers",
    .group = "functions",
    .inputs = inputs,
    .kernel = &kernel,
    .check = elementary_from_angle,
    .example = "s = sinc(x)",
};
