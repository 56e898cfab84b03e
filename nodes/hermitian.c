#include "nodes/elementary.h"

#define GROVE_KERNEL_SOURCE "../kernels/matrix.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(hermitian);

static const grove_input inputs[] = {
    {"x", GROVE_VALUE, "a Jones term", .shapes = GROVE_JONES, .linear = GROVE_ANTILINEAR},
    {0},
};

GROVE_CLASS(hermitian) = {
    GROVE_CLASS_HEAD(hermitian),
    .doc = "Conjugate transpose of a Jones term; written x^H.",
    .output_doc = "as x, with its unit",
    .group = "matrices",
    .role = GROVE_ROLE_HERMITIAN,
    .inputs = inputs,
    .flag_rule = GROVE_FLAGS_TRANSPOSE,
    .kernel = &kernel,
    .check = elementary_keep,
    .example = "V[p,q] = G[p] * M[p,q] * G[q]^H",
};
