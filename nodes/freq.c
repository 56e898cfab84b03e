#include "plugin.h"

#define GROVE_KERNEL_SOURCE "../kernels/coordinates.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(copy_doubles);

static const grove_input inputs[] = {
    {"obs", GROVE_OBJECT, "the observation", .object = "observation"},
    {0},
};

static const grove_option options[] = {
    {"freq", GROVE_VALUE_FREQUENCY, "obs.freq", "centres of the channels, Hz",
     .handing = GROVE_AS_DOUBLE},
    {0},
};

GROVE_CLASS(freq) = {
    GROVE_CLASS_HEAD(freq),
    .doc = "Frequency of an observation, as a value.",
    .output_doc = "centres of the channels, Hz",
    .group = "coordinates",
    .inputs = inputs,
    .options = options,
    .output = GROVE_FORM(.shape = GROVE_SCALAR, .precision = GROVE_PRECISION_DOUBLE,
                         .unit = {.s = -1}),
    .kernel = &kernel,
    .example = "nu = freq(obs)",
};
