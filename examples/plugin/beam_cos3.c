/* A node class: what it is called, what it takes, what it gives. The arithmetic is in beam_cos3.h.
 */
#include <grove/plugin.h>

#define GROVE_KERNEL_SOURCE "beam_cos3.h"
#include <grove/kernel.h>

static const grove_kernel kernel = GROVE_KERNEL(beam_cos3);

/* Objects: the numbers that are needed of them are the defaults of options below. */
static const grove_port inputs[] = {
    {"sky", GROVE_OBJECT, "the sources whose directions are meant", .object = "sky"},
    {"obs", GROVE_OBJECT, "pointing and frequencies", .object = "observation"},
    {0},
};

/* Constant options, then value options, which reach the kernel in this order from 0 on. */
static const grove_port options[] = {
    {"scale", GROVE_NUMBER, "c in cos^3(c nu r), per GHz and radian", .initial = "65"},
    {"lmn", GROVE_VALUE, "direction cosines l, m and n - 1", .initial = "lmn(sky, obs)",
     .handing = GROVE_AS_DOUBLE, .shapes = GROVE_VECTOR, .vector = 3},
    {"freq", GROVE_VALUE_FREQUENCY, "frequencies, Hz", .initial = "obs.freq",
     .handing = GROVE_AS_DOUBLE},
    {0},
};

/* Called once, when a tree is built: what is wrong with the options, what the kernel is told. */
static int check(grove_node *node)
{
    double scale = grove_node_number(node, "scale");

    if (!(scale > 0))
        return grove_node_fail_option(node, "scale", "%g is not positive", scale);
    grove_node_set_state(node, &scale, sizeof(scale));
    return 0;
}

GROVE_CLASS(beam_cos3) = {
    GROVE_CLASS_HEAD(beam_cos3),
    .doc = "Voltage pattern of a WSRT dish: cos^3(c nu r).",
    .output_doc = "a real number per source and channel, 1 at the pointing centre",
    .group = "Jones terms",
    .inputs = inputs,
    .options = options,
    .kernel = &kernel,
    .check = check,
    .example = "E[s,p] = beam_cos3(S, obs)",
};
