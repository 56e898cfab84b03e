#include "nodes/common/form.h"

#define GROVE_KERNEL_SOURCE "../../kernels/jones/rotation.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(rotation);

static const grove_port inputs[] = {
    {"angle", GROVE_VALUE_ANGLE, "angle, rad", GROVE_AS_DOUBLE},
    {0},
};

/* The axes say whose angles these are: an observation's, with its feeds. */
static int check(grove_node *node)
{
    const grove_axis *axes[GROVE_MAX_AXES];
    int count = grove_node_input_axes(node, 0, axes);

    for (int i = 0; i < count; i++) {
        const double *feed = axes[i]->owner ? grove_node_member_data(axes[i]->owner, "feed") : NULL;
        if (!feed || *feed == 0)
            continue;
        grove_node_warn(
            node, "it turns linear feeds, but the feeds of '%s' are circular, which turn in phase",
            grove_node_name(axes[i]->owner));
        break;
    }
    return 0;
}

GROVE_CLASS(rotation) = {
    GROVE_CLASS_HEAD(rotation),
    .doc = "The real Jones matrix [[cos, -sin], [sin, cos]] of an angle (Smirnov 2011).\n"
           "For a feed rotated the other way use -angle. For linear feeds; in circular ones "
           "rotation changes phases.",
    .output_doc = "a real matrix without unit",
    .group = "Jones terms",
    .inputs = inputs,
    .output = GROVE_FORM(.shape = GROVE_MATRIX),
    .flag_rule = GROVE_FLAGS_MIX,
    .kernel = &kernel,
    .check = check,
    .tangent = "angle: value * constant([0, -1, 1, 0], shape=matrix) * dangle",
    .example = "P[p] = rotation(obs.parallactic)",
};
