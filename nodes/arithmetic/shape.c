#include "plugin.h"

#define GROVE_KERNEL_SOURCE "../../kernels/common/coordinates.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(shape);

static const grove_port inputs[] = {
    {"sky", GROVE_OBJECT, "the sources", .object = "sky"},
    {"obs", GROVE_OBJECT, "the phase centre", .object = "observation"},
    {0},
};

static const grove_port options[] = {
    {"shape", GROVE_VALUE_ANGLE,
     "full widths at half maximum along both axes and position angle of the first, rad",
     .initial = "sky.shape", .handing = GROVE_AS_DOUBLE, .shapes = GROVE_VECTOR, .vector = 3},
    {"absolute_angle", GROVE_VALUE_NUMBER,
     "1: the position angle counts from true north at the source; 0: from the m axis",
     .initial = "sky.absolute_angle", .handing = GROVE_AS_DOUBLE, .linear = GROVE_SELECTOR},
    {"radec", GROVE_VALUE_ANGLE, "J2000 right ascensions and declinations, rad",
     .initial = "sky.radec", .handing = GROVE_AS_DOUBLE, .shapes = GROVE_VECTOR, .vector = 2},
    {"phase_centre", GROVE_VALUE_ANGLE,
     "J2000 right ascension and declination of the phase centre, rad",
     .initial = "obs.phase_centre", .handing = GROVE_AS_DOUBLE, .shapes = GROVE_VECTOR,
     .vector = 2},
    {0},
};

GROVE_CLASS(shape) = {
    GROVE_CLASS_HEAD(shape),
    .doc = "Shapes of Gaussian sources; a major and a minor axis of 0 make a point.\nWhere the "
           "position angle counts from true north at the source, the axes are those on the sky "
           "there: visibilities have u, v and w turned to the source. Where it counts from the m "
           "axis, they are in the plane of l and m and require only u and v, for any position of "
           "the source, as in DP3 and MeqTrees.",
    .output_doc = "vectors major, minor, angle, l, m, n - 1 per source: full widths at half "
                  "maximum, rad, the position angle from m through l, rad, in the plane that "
                  "touches the sphere at l, m (0 0 0 at the phase centre)",
    .group = "sky",
    .inputs = inputs,
    .options = options,
    .output = GROVE_FORM(.shape = GROVE_VECTOR, .vector = 6, .precision = GROVE_PRECISION_DOUBLE,
                         .unit = {.rad = 1}),
    .kernel = &kernel,
    .example = "V[p,q] = sum[s](point(S, obs, shape=shape(S, obs)))",
};
