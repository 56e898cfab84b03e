#include "nodes/elementary.h"

#define GROVE_KERNEL_SOURCE "../kernels/elementary.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(elementary_log);

static const grove_input inputs[] = {
    {"x", GROVE_VALUE, "plain numbers", .shapes = ELEMENTARY_SHAPES},
    {0},
};

GROVE_CLASS(log) = {
    GROVE_CLASS_HEAD(log),
    .doc = "Natural logarithm, the principal one of a complex number.\nA real number below zero "
           "has none; that of 0 is minus infinity.",
    .output_doc = "plain numbers",
    .group = "functions",
    .inputs = inputs,
    .kernel = &kernel,
    .check = elementary_number,
    .example = "x = log(obs.freq / 1.4GHz)",
};
