#include "nodes/sky/phase_rate.h"
#include "plugin.h"

#define GROVE_KERNEL_SOURCE "../../kernels/sky/phase.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(phase);

static const grove_port inputs[] = {
    {"sky", GROVE_OBJECT, "the sources", .object = "sky"},
    {"obs", GROVE_OBJECT, "station coordinates and frequencies", .object = "observation"},
    {0},
};

static const grove_port options[] = {
    {"lmn", GROVE_VALUE_NUMBER, "direction cosines l, m, n - 1", .initial = "lmn(sky, obs)",
     .handing = GROVE_AS_DOUBLE, .shapes = GROVE_VECTOR, .vector = 3},
    {"station_uvw", GROVE_VALUE_LENGTH, "station coordinates, m", .initial = "obs.station_uvw",
     .handing = GROVE_AS_DOUBLE, .shapes = GROVE_VECTOR, .vector = 3},
    {"freq", GROVE_VALUE_FREQUENCY, "frequencies, Hz", .initial = "obs.freq",
     .handing = GROVE_AS_DOUBLE},
    {0},
};

GROVE_CLASS(phase) = {
    GROVE_CLASS_HEAD(phase),
    .doc = "The phase term K of the measurement equation: the geometric delay of a station.\nK = "
           "exp(-2 pi i nu/c (u l + v m + w (n - 1))) with the station's u, v, w; computed in "
           "double precision, then rounded. A sum over sources of K[s,p] * B[s] * K[s,q]^H is "
           "computed by predict, like a sum over point.",
    .output_doc = "a complex number per source, time, station and channel, of absolute value 1",
    .group = "sky",
    .fused = "predict",
    .inputs = inputs,
    .options = options,
    .output = GROVE_FORM(.shape = GROVE_SCALAR, .complex_ = true),
    .kernel = &kernel,
    .tangent = "lmn: " PHASE_RATE " * freq * " VECTOR_PRODUCT(
        "station_uvw",
        "dlmn") " * value;"
                "station_uvw: " PHASE_RATE
                " * freq * " VECTOR_PRODUCT("dstation_uvw",
                                            "lmn") " * value;"
                                                   "freq: " PHASE_RATE
                                                   " * dfreq * " VECTOR_PRODUCT("station_uvw",
                                                                                "lmn") " * value",
    .example = "K[s,p] = phase(S, obs)",
};
