#include "nodes/elementary.h"

#define GROVE_KERNEL_SOURCE "../kernels/elementary.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(elementary_log10);

static const grove_input inputs[] = {
    {"x", GROVE_VALUE, "plain numbers", .shapes = ELEMENTARY_SHAPES},
    {0},
};

GROVE_CLASS(log10) = {
    GROVE_CLASS_HEAD(log10),
    .doc = "Logarithm to base 10, the principal one of a complex number.\nA real number below zero "
           "has none; that of 0 is minus infinity.",
    .output_doc = "plain numbers",
    .group = "functions",
    .inputs = inputs,
    .kernel = &kernel,
    .check = elementary_number,
    .example = "x = log10(obs.freq / 1.4GHz)",
};
