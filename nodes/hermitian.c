#include "nodes/elementary.h"

#define GROVE_KERNEL_SOURCE "../kernels/matrix.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(hermitian);

static const grove_input inputs[] = {
    {"x", GROVE_VALUE, "a Jones term", .shapes = GROVE_JONES, .linear = true},
    {0},
};

GROVE_CLASS(hermitian) = {
    GROVE_CLASS_HEAD(hermitian),
    .doc = "Conjugate transpose of a Jones term; written x^H.",
    .output_doc = "as x, with its unit",
    .group = "matrices",
    .inputs = inputs,
    .flags = GROVE_CLASS_TRANSPOSE_FLAGS,
    .kernel = &kernel,
    .check = elementary_keep,
    .example = "V[p,q] = G[p] * M[p,q] * G[q]^H",
};
