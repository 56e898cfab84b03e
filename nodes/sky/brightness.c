#include "plugin.h"

#include "../../kernels/sky/brightness_simd.h"

static const grove_kernel kernel = {"brightness",
                                    grove_brightness_single,
                                    grove_brightness_double,
                                    "../../kernels/sky/brightness.h",
                                    0,
                                    0,
                                    0};

static const grove_port inputs[] = {
    {"sky", GROVE_OBJECT, "the sources", .object = "sky"},
    {"obs", GROVE_OBJECT, "frequencies and feeds", .object = "observation"},
    {0},
};

static const grove_port options[] = {
    {"stokes", GROVE_VALUE_FLUX, "I, Q, U, V at the reference frequency, Jy",
     .initial = "sky.stokes", .handing = GROVE_AS_DOUBLE, .shapes = GROVE_VECTOR, .vector = 4},
    {"reference_frequency", GROVE_VALUE_FREQUENCY,
     "reference frequencies of the spectra, Hz; 0: a flat spectrum",
     .initial = "sky.reference_frequency", .handing = GROVE_AS_DOUBLE},
    {"spectrum", GROVE_VALUE, "terms a1, a2, ... (without unit) or c1, c2, ... (Jy) of the spectra",
     .initial = "sky.spectrum", .handing = GROVE_AS_DOUBLE, .shapes = GROVE_VECTOR | GROVE_SCALAR},
    {"logarithmic", GROVE_VALUE_NUMBER,
     "1: I = I0 10^(a1 x + a2 x^2 + ...), x = log10(nu/nu0); 0: I = I0 + c1 y + c2 y^2 + ..., y = "
     "nu/nu0 - 1",
     .initial = "sky.logarithmic", .handing = GROVE_AS_DOUBLE, .linear = GROVE_SELECTOR},
    {"rotation_measure", GROVE_VALUE, "rotation measures, rad/m^2",
     .initial = "sky.rotation_measure", .handing = GROVE_AS_DOUBLE},
    {"rotation_reference", GROVE_VALUE,
     "squared wavelengths at which Q and U are as given, m^2; 0: infinite frequency",
     .initial = "sky.rotation_reference", .handing = GROVE_AS_DOUBLE},
    {"freq", GROVE_VALUE_FREQUENCY, "frequencies, Hz", .initial = "obs.freq",
     .handing = GROVE_AS_DOUBLE},
    {"feed", GROVE_VALUE_NUMBER, "0: linear feeds, 1: circular", .initial = "obs.feed",
     .handing = GROVE_AS_DOUBLE, .linear = GROVE_SELECTOR},
    {0},
};

static bool all_zero(const grove_node *node, const char *input)
{
    int64_t count = 0;
    int k = grove_node_input(node, input);
    const double *x = grove_node_input_data(node, k, &count);
    double number;

    if (!x)
        return grove_node_input_constant(node, k, &number) && number == 0;
    for (int64_t i = 0; i < count; i++)
        if (x[i] != 0)
            return false;
    return true;
}

/* Flat spectra without rotation measure do not vary with frequency, which makes sums over sources
 * faster. */
static int check(grove_node *node)
{
    if (all_zero(node, "rotation_measure") &&
        (all_zero(node, "spectrum") || all_zero(node, "reference_frequency")))
        grove_node_drop_input(node, grove_node_input(node, "freq"));
    return 0;
}

GROVE_CLASS(brightness) = {
    GROVE_CLASS_HEAD(brightness),
    .doc = "Brightness matrices of sources.\n"
           "Linear feeds: [[I+Q, U+iV], [U-iV, I-Q]]; circular: [[I+V, Q+iU], [Q-iU, I-V]]; no "
           "factor 1/2, so 1 Jy unpolarised gives XX = YY = 1 Jy. The spectrum scales all four "
           "Stokes parameters; the rotation measure turns Q + iU by 2 RM (lambda^2 - "
           "lambda0^2).",
    .output_doc =
        "a complex matrix per source and channel, Jy; per source where all spectra are flat",
    .group = "sky",
    .inputs = inputs,
    .options = options,
    .output = GROVE_FORM(.shape = GROVE_MATRIX, .complex_ = true, .unit = {.Jy = 1}),
    .kernel = &kernel,
    .check = check,
    .example = "B[s] = brightness(S, obs)",
};
