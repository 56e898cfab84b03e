#include "nodes/sky/phase_rate.h"
#include "nodes/sky/smear.h"

#include "../../kernels/sky/point_simd.h"

static const grove_kernel kernel = {
    "point", grove_point_single, grove_point_double, "../../kernels/sky/point.h", 0, 0, 0};

static const grove_port inputs[] = {
    {"sky", GROVE_OBJECT, "the sources", .object = "sky"},
    {"obs", GROVE_OBJECT, "coordinates, times and frequencies", .object = "observation"},
    {0},
};

static const grove_port options[] = {
    SMEAR_OPTIONS,
    {0},
};

static int check(grove_node *node)
{
    grove_form form = {.shape = grove_node_input_form(node, 0)->shape,
                       .complex_ = true,
                       .unit = grove_node_input_form(node, 0)->unit};

    int code = smear_check(node);
    if (code)
        return code;
    if (grove_node_choice(node, "smear")) /* which depends on directions, too */
        grove_node_set_tangent(node, DIRECTION_STEP);
    grove_node_set_output(node, &form);
    return 0;
}

GROVE_CLASS(point) = {
    GROVE_CLASS_HEAD(point),
    .doc = "Visibilities of each point or Gaussian source on each baseline, without Jones "
           "terms.\nB exp(-2 pi i nu/c (u l + v m + w (n - 1))), times the Fourier transform of a "
           "Gaussian's shape, times the mean over the integration time and the channel of a phase "
           "that changes linearly (Baxter, appendix B.4). Phases are computed in double precision. "
           "A sum over it is computed by predict, which is much faster.",
    .output_doc = "a complex matrix per source, time, baseline and channel, Jy",
    .group = "sky",
    .role = GROVE_ROLE_SOURCE,
    .fused = "predict",
    .inputs = inputs,
    .options = options,
    .kernel = &kernel,
    .check = check,
    .tangent = "lmn: " PHASE_RATE " * freq * " VECTOR_PRODUCT("uvw", "dlmn") " * value",
    .example = "V[p,q] = sum[s](E[s,p] * point(S, obs, smear=both) * E[s,q]^H)",
};
