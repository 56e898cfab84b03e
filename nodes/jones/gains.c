#include "plugin.h"
#include "util.h"

#define GROVE_KERNEL_SOURCE "../../kernels/jones/gains.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(gains);

static const grove_port inputs[] = {
    {"obs", GROVE_OBJECT, "stations and times", .object = "observation"},
    {0},
};

static const grove_port options[] = {
    {"kind", GROVE_CHOICE,
     "constant: constant errors; sine: they vary as a sine with the period; random_walk: they "
     "start at 0 and drift",
     .initial = "constant", .choices = "constant sine random_walk"},
    {"jones", GROVE_CHOICE, "scalar, diagonal (each receptor its own), or matrix (with leakage)",
     .initial = "scalar", .choices = "scalar diagonal matrix"},
    {"amplitude", GROVE_NUMBER, "relative errors of the amplitudes, and size of leakage",
     .initial = "0.1"},
    {"phase", GROVE_ANGLE, "errors of the phases, rad", .initial = "0.1rad"},
    {"period", GROVE_TIME, "period of sine; time in which random_walk drifts by one error",
     .initial = "1h"},
    {"seed", GROVE_INTEGER, "seed of the random numbers", .initial = "0"},
    {"station", GROVE_VALUE_NUMBER, "station numbers", .initial = "obs.station_index",
     .handing = GROVE_AS_DOUBLE, .linear = GROVE_SELECTOR},
    {"time", GROVE_VALUE_TIME, "times, s", .initial = "obs.time", .handing = GROVE_AS_DOUBLE,
     .linear = GROVE_SELECTOR},
    {0},
};

static double first_time(const grove_node *node, int k)
{
    const grove_axis *axis = grove_node_input_axis(node, k, GROVE_AXIS_TIME);
    double first = 0;

    for (int64_t i = 0; axis && axis->centre && i < axis->size; i++)
        if (i == 0 || axis->centre[i] < first)
            first = axis->centre[i];
    return first;
}

static int check(grove_node *node)
{
    static const int shapes[] = {GROVE_SCALAR, GROVE_DIAGONAL, GROVE_MATRIX};
    grove_form form = {.shape = shapes[grove_node_choice(node, "jones")], .complex_ = true};
    int time = grove_node_input(node, "time");
    grove_gains gains = {.amplitude = grove_node_number(node, "amplitude"),
                         .phase = grove_node_number(node, "phase"),
                         .period = grove_node_number(node, "period"),
                         .start = first_time(node, time),
                         .seed = (uint64_t)grove_node_integer(node, "seed"),
                         .kind = grove_node_choice(node, "kind")};

    if (!(gains.period > 0))
        return grove_node_fail_option(node, "period", "%g s is not a period", gains.period);
    if (gains.kind == GROVE_GAINS_CONSTANT)
        grove_node_drop_input(node, time);
    grove_node_set_state(node, &gains, sizeof(gains));
    grove_node_set_output(node, &form);
    return 0;
}

GROVE_CLASS(gains) = {
    GROVE_CLASS_HEAD(gains),
    .doc = "Errors of the stations' receivers, for simulations: the same for the same seed, "
           "regardless of other changes.\nexp(amplitude a + i phase b), where a and b differ by "
           "station and receptor. constant: standard normal numbers; sine: sines of the given "
           "period with random phases; random_walk: Brownian motions from 0 at the first time, of "
           "variance 1 after one period. Leakage (jones=matrix) is amplitude (a + i b).",
    .output_doc = "a complex scalar, diagonal or matrix per station, and time unless constant, "
                  "without unit; near 1",
    .group = "Jones terms",
    .inputs = inputs,
    .options = options,
    .output = GROVE_FORM(.shape = GROVE_SCALAR, .complex_ = true),
    .kernel = &kernel,
    .check = check,
    .example = "G[p] = gains(obs, kind=random_walk, amplitude=0.1, phase=30deg, seed=1)",
};
