#include "nodes/jones/dish.h"

#define GROVE_KERNEL_SOURCE "../../kernels/jones/beam.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(beam_gaussian);

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
    {"diameter", GROVE_VALUE_LENGTH,
     "effective diameters of the dishes, m; used where fwhm is not given",
     .initial = "obs.diameter", .handing = GROVE_AS_DOUBLE},
    {"fwhm", GROVE_VALUE_ANGLE,
     "full width at half maximum of the power pattern, rad, at each frequency", .initial = "none",
     .handing = GROVE_AS_DOUBLE},
    {"factor", GROVE_NUMBER,
     "with diameter, fwhm = factor c / (nu D); 1.029 is for uniform illumination",
     .initial = "1.029"},
    {0},
};

static int check(grove_node *node)
{
    double factor = grove_node_number(node, "factor"), number;
    int fwhm = grove_node_input(node, "fwhm");

    if (!(factor > 0))
        return grove_node_fail_option(node, "factor", "%g is not positive", factor);
    grove_node_set_state(node, &factor, sizeof(factor));
    if (!grove_node_input_form(node, fwhm))
        return dish_check(node);
    if (grove_node_input_constant(node, fwhm, &number) && !(number > 0))
        return grove_node_fail_option(node, "fwhm", "%g rad is not a width", number);
    grove_node_drop_input(node, grove_node_input(node, "diameter"));
    grove_node_drop_input(node, grove_node_input(node, "freq"));
    return 0;
}

GROVE_CLASS(beam_gaussian) = {
    GROVE_CLASS_HEAD(beam_gaussian),
    .doc = "Voltage pattern whose power is a Gaussian.\n"
           "exp(-2 ln 2 (theta / fwhm)^2), theta the angle from the phase centre: its square, the "
           "power pattern, has the full width at half maximum fwhm. 0 beyond 90 degrees.",
    .output_doc = "a real number per source and channel, and per station where diameters differ, "
                  "without unit; with fwhm, per source and along the axes of fwhm",
    .group = "Jones terms",
    .inputs = inputs,
    .options = options,
    .kernel = &kernel,
    .check = check,
    .example = "E[s,p] = beam_gaussian(S, obs, fwhm=1.2deg)",
};
