#include "plugin.h"

#define GROVE_KERNEL_SOURCE "../kernels/coordinates.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(copy_doubles);

static const grove_input inputs[] = {
    {"obs", GROVE_OBJECT, "the observation", .object = "observation"},
    {0},
};

static const grove_option options[] = {
    {"uvw", GROVE_VALUE_LENGTH, "obs.uvw", "baseline coordinates, m", .handing = GROVE_AS_DOUBLE,
     .shapes = GROVE_VECTOR, .vector = 3},
    {0},
};

GROVE_CLASS(uvw) = {
    GROVE_CLASS_HEAD(uvw),
    .doc = "Baseline coordinates u, v, w of an observation, as a value.\nu_pq = u_p - u_q; the "
           "phase of a source is exp(-2 pi i nu/c (u l + v m + w (n - 1))).",
    .output_doc = "vectors u, v, w per time and baseline, m",
    .group = "coordinates",
    .inputs = inputs,
    .options = options,
    .output = GROVE_FORM(.shape = GROVE_VECTOR, .vector = 3, .precision = GROVE_PRECISION_DOUBLE,
                         .unit = {.m = 1}),
    .kernel = &kernel,
    .example = "length = norm(uvw(obs))",
};
