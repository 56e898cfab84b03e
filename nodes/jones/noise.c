#include "plugin.h"
#include "util.h"

#include "../../kernels/jones/noise_simd.h"

static const grove_kernel kernel = {
    "noise", grove_noise_single, grove_noise_double, "../../kernels/jones/noise.h", 0, 0, 0};

static const grove_port inputs[] = {
    {"obs", GROVE_OBJECT, "times, baselines, channels", .object = "observation"},
    {0},
};

static const grove_port options[] = {
    {"interval", GROVE_VALUE_TIME, "integration times, s", .initial = "obs.interval",
     .handing = GROVE_AS_DOUBLE},
    {"channel_width", GROVE_VALUE_FREQUENCY, "channel widths, Hz", .initial = "obs.channel_width",
     .handing = GROVE_AS_DOUBLE},
    {"baseline", GROVE_VALUE_NUMBER, "station numbers of the baselines", .initial = "obs.baseline",
     .handing = GROVE_AS_DOUBLE, .shapes = GROVE_VECTOR, .vector = 2},
    {"sigma", GROVE_VALUE_FLUX, "standard deviation of the real and of the imaginary part, Jy",
     .initial = "none", .handing = GROVE_AS_DOUBLE},
    {"sefd", GROVE_VALUE_FLUX,
     "system equivalent flux density of a receptor, Jy; sigma = sefd / sqrt(2 bandwidth time)",
     .initial = "none", .handing = GROVE_AS_DOUBLE},
    {"seed", GROVE_INTEGER, "seed of the random numbers", .initial = "0"},
    {0},
};

static int check(grove_node *node)
{
    static const char *const names[] = {"sigma", "sefd"};
    grove_noise_state state = {.seed = (uint64_t)grove_node_integer(node, "seed")};
    grove_isa isa;
    char message[160];
    double number;

    if (grove_node_given(node, "sigma") == grove_node_given(node, "sefd"))
        return grove_node_fail(node, GROVE_INVALID,
                               "give one of sigma and sefd, such as sefd=400Jy");
    for (int i = 0; i < 2; i++)
        if (grove_node_input_constant(node, grove_node_input(node, names[i]), &number) &&
            !(number >= 0))
            return grove_node_fail_option(node, names[i], "%g Jy is negative", number);
    if (grove_isa_choose(&isa, message))
        return grove_node_fail(node, GROVE_INVALID, "%s", message);
    state.isa = (int32_t)isa;
    grove_node_set_state(node, &state, sizeof(state));
    return 0;
}

GROVE_CLASS(noise) = {
    GROVE_CLASS_HEAD(noise),
    .doc = "Thermal noise of the receivers, for simulations: complex Gaussian, independent in "
           "every correlation.\nThe same for the same seed, regardless of other changes. With "
           "sefd, real and imaginary part each have the standard deviation sefd / sqrt(2 "
           "channel_width interval) (Thompson, Moran & Swenson, eq. 6.50). EXPOSURE of a set is "
           "not read: where data are taken in less than the interval, give that time as interval.",
    .output_doc = "a complex matrix per time, baseline and channel, Jy",
    .group = "Jones terms",
    .inputs = inputs,
    .options = options,
    .output = GROVE_FORM(.shape = GROVE_MATRIX, .complex_ = true, .unit = {.Jy = 1}),
    .kernel = &kernel,
    .check = check,
    .example = "V[p,q] = M[p,q] + noise(obs, sefd=420Jy, seed=2)",
};
