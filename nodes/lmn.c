#include "plugin.h"

#define GROVE_KERNEL_SOURCE "../kernels/coordinates.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(lmn);

static const grove_input inputs[] = {
    {"sky", GROVE_OBJECT, "the sources", .object = "sky"},
    {"obs", GROVE_OBJECT, "the phase centre", .object = "observation"},
    {0},
};

static const grove_option options[] = {
    {"radec", GROVE_VALUE_ANGLE, "sky.radec", "J2000 right ascensions and declinations, rad",
     .handing = GROVE_AS_DOUBLE, .shapes = GROVE_VECTOR, .vector = 2},
    {"phase_centre", GROVE_VALUE_ANGLE, "obs.phase_centre",
     "J2000 right ascension and declination of the tangent point, rad", .handing = GROVE_AS_DOUBLE,
     .shapes = GROVE_VECTOR, .vector = 2},
    {0},
};

GROVE_CLASS(lmn) = {
    GROVE_CLASS_HEAD(lmn),
    .doc = "Direction cosines of sources about the phase centre.\n"
           "Orthographic projection (SIN): l to the east, m to the north (Thompson, Moran & "
           "Swenson, eq. 3.1). The third number is n - 1, computed without cancellation; below -1 "
           "the source is more than 90 degrees away.",
    .output_doc = "vectors l, m, n - 1 per source, without unit",
    .group = "coordinates",
    .inputs = inputs,
    .options = options,
    .output = GROVE_FORM(.shape = GROVE_VECTOR, .vector = 3, .precision = GROVE_PRECISION_DOUBLE),
    .kernel = &kernel,
    .example = "E[s,p] = beam_airy(S, obs, lmn=lmn(S, obs))",
};
