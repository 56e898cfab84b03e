#include "plugin.h"

#define GROVE_KERNEL_SOURCE "../kernels/coordinates.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(copy_doubles);

static const grove_input inputs[] = {
    {"obs", GROVE_OBJECT, "the observation", .object = "observation"},
    {0},
};

static const grove_option options[] = {
    {"time", GROVE_VALUE_TIME, "obs.time", "centres of the time slots, s",
     .handing = GROVE_AS_DOUBLE},
    {0},
};

GROVE_CLASS(time) = {
    GROVE_CLASS_HEAD(time),
    .doc = "Time of an observation, as a value.",
    .output_doc = "centres of the time slots, UTC modified Julian date in s",
    .group = "coordinates",
    .inputs = inputs,
    .options = options,
    .output = GROVE_FORM(.shape = GROVE_SCALAR, .precision = GROVE_PRECISION_DOUBLE,
                         .unit = {.s = 1}),
    .kernel = &kernel,
    .example = "t = time(obs)",
};
