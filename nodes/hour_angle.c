#include "plugin.h"

#define GROVE_KERNEL_SOURCE "../kernels/coordinates.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(copy_doubles);

static const grove_input inputs[] = {
    {"obs", GROVE_OBJECT, "the observation", .object = "observation"},
    {0},
};

static const grove_option options[] = {
    {"hour_angle", GROVE_VALUE_ANGLE, "obs.hour_angle", "hour angles, rad",
     .handing = GROVE_AS_DOUBLE},
    {0},
};

GROVE_CLASS(hour_angle) = {
    GROVE_CLASS_HEAD(hour_angle),
    .doc = "Hour angle of the phase centre, as a value.",
    .output_doc = "hour angles per time at the array's centre, rad, -pi to pi",
    .group = "coordinates",
    .inputs = inputs,
    .options = options,
    .output = GROVE_FORM(.shape = GROVE_SCALAR, .precision = GROVE_PRECISION_DOUBLE,
                         .unit = {.rad = 1}),
    .kernel = &kernel,
    .example = "H = hour_angle(obs)",
};
