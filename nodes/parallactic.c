#include "plugin.h"

#define GROVE_KERNEL_SOURCE "../kernels/coordinates.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(copy_doubles);

static const grove_input inputs[] = {
    {"obs", GROVE_OBJECT, "the observation", .object = "observation"},
    {0},
};

static const grove_option options[] = {
    {"parallactic", GROVE_VALUE_ANGLE, "obs.parallactic", "parallactic angles, rad",
     .handing = GROVE_AS_DOUBLE},
    {0},
};

GROVE_CLASS(parallactic) = {
    GROVE_CLASS_HEAD(parallactic),
    .doc = "Parallactic angle of the phase centre at each station, as a value.",
    .output_doc =
        "angles at the source from north to the zenith, through east, per time and station, rad",
    .group = "coordinates",
    .inputs = inputs,
    .options = options,
    .output = GROVE_FORM(.shape = GROVE_SCALAR, .precision = GROVE_PRECISION_DOUBLE,
                         .unit = {.rad = 1}),
    .kernel = &kernel,
    .example = "P[p] = rotation(parallactic(obs))",
};
