#include "plugin.h"

#define GROVE_KERNEL_SOURCE "../../kernels/common/coordinates.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(wavelength);

static const grove_port inputs[] = {
    {"obs", GROVE_OBJECT, "the observation", .object = "observation"},
    {0},
};

static const grove_port options[] = {
    {"freq", GROVE_VALUE_FREQUENCY, "centres of the channels, Hz", .initial = "obs.freq",
     .handing = GROVE_AS_DOUBLE},
    {0},
};

GROVE_CLASS(wavelength) = {
    GROVE_CLASS_HEAD(wavelength),
    .doc = "Wavelength of an observation: the speed of light over the frequency.",
    .output_doc = "wavelengths of the channels' centres, m",
    .group = "coordinates",
    .inputs = inputs,
    .options = options,
    .output = GROVE_FORM(.shape = GROVE_SCALAR, .precision = GROVE_PRECISION_DOUBLE,
                         .unit = {.m = 1}),
    .kernel = &kernel,
    .example = "x = norm(obs.uvw) / wavelength(obs)",
};
