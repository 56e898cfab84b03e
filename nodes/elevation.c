#include "plugin.h"

#define GROVE_KERNEL_SOURCE "../kernels/coordinates.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(copy_doubles);

static const grove_input inputs[] = {
    {"obs", GROVE_OBJECT, "the observation", .object = "observation"},
    {0},
};

static const grove_option options[] = {
    {"elevation", GROVE_VALUE_ANGLE, "obs.elevation", "elevations, rad",
     .handing = GROVE_AS_DOUBLE},
    {0},
};

GROVE_CLASS(elevation) = {
    GROVE_CLASS_HEAD(elevation),
    .doc = "Elevation of the phase centre, without refraction, as a value.",
    .output_doc = "elevations per time at the array's centre, rad",
    .group = "coordinates",
    .inputs = inputs,
    .options = options,
    .output = GROVE_FORM(.shape = GROVE_SCALAR, .precision = GROVE_PRECISION_DOUBLE,
                         .unit = {.rad = 1}),
    .kernel = &kernel,
    .example = "airmass = 1 / sin(elevation(obs))",
};
