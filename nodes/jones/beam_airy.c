#include "nodes/jones/dish.h"

#define GROVE_KERNEL_SOURCE "../../kernels/jones/beam.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(beam_airy);

static const grove_port inputs[] = {
    {"sky", GROVE_OBJECT, "directions", .object = "sky"},
    {"obs", GROVE_OBJECT, "pointing (the phase centre), frequencies, dishes",
     .object = "observation"},
    {0},
};

static const grove_port options[] = {
    {"lmn", GROVE_VALUE_NUMBER, "direction cosines l, m, n - 1", .initial = "lmn(sky, obs)",
     .handing = GROVE_AS_DOUBLE, .shapes = GROVE_VECTOR, .vector = 3},
    {"freq", GROVE_VALUE_FREQUENCY, "frequencies, Hz", .initial = "obs.freq",
     .handing = GROVE_AS_DOUBLE},
    {"diameter", GROVE_VALUE_LENGTH, "effective diameters of the dishes, m",
     .initial = "obs.diameter", .handing = GROVE_AS_DOUBLE},
    {0},
};

static int check(grove_node *node)
{
    return dish_check(node);
}

GROVE_CLASS(beam_airy) = {
    GROVE_CLASS_HEAD(beam_airy),
    .doc = "Voltage pattern of a uniformly illuminated circular aperture.\n"
           "2 J1(x) / x with x = pi D sin(theta) nu / c, theta the angle from the phase centre; 1 "
           "there, negative in odd sidelobes, 0 beyond 90 degrees. The power pattern is its "
           "square.",
    .output_doc = "a real number per source and channel, and per station where diameters differ, "
                  "without unit",
    .group = "Jones terms",
    .inputs = inputs,
    .options = options,
    .kernel = &kernel,
    .check = check,
    .example = "E[s,p] = beam_airy(S, obs, diameter=25m)",
};
