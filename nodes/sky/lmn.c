#include "plugin.h"

#define GROVE_KERNEL_SOURCE "../../kernels/common/coordinates.h"
#include "kernel.h"

#include <math.h>

static const grove_kernel kernel = GROVE_KERNEL(lmn);

static const grove_port inputs[] = {
    {"sky", GROVE_OBJECT, "the sources", .object = "sky"},
    {"obs", GROVE_OBJECT, "the phase centre", .object = "observation"},
    {0},
};

static const grove_port options[] = {
    {"radec", GROVE_VALUE_ANGLE, "J2000 right ascensions and declinations, rad",
     .initial = "sky.radec", .handing = GROVE_AS_DOUBLE, .shapes = GROVE_VECTOR, .vector = 2},
    {"phase_centre", GROVE_VALUE_ANGLE,
     "J2000 right ascension and declination of the tangent point, rad",
     .initial = "obs.phase_centre", .handing = GROVE_AS_DOUBLE, .shapes = GROVE_VECTOR,
     .vector = 2},
    {0},
};

static double distance(const double *a, const double *b)
{
    double haversine =
        pow(sin((a[1] - b[1]) / 2), 2) + cos(a[1]) * cos(b[1]) * pow(sin((a[0] - b[0]) / 2), 2);

    return 2 * asin(sqrt(fmin(haversine, 1)));
}

/* Sources that are computed right, but hardly ever meant. */
static int check(grove_node *node)
{
    const double degree = acos(-1) / 180, far = 10 * degree;
    int64_t numbers = 0, one = 0, behind = 0;
    const double *radec = grove_node_input_data(node, 0, &numbers);
    const double *centre = grove_node_input_data(node, 1, &one);
    double nearest = 10;

    for (int64_t i = 0; radec && centre && i < numbers; i += 2) {
        double away = distance(radec + i, centre);
        nearest = fmin(nearest, away);
        behind += away > 90 * degree;
    }
    if (nearest < 10 && nearest > far)
        grove_node_warn(
            node,
            "the nearest of %lld sources is %.1f degrees from the phase centre; is that "
            "the field of this sky?",
            (long long)(numbers / 2), nearest / degree);
    else if (behind)
        grove_node_warn(node, "%lld of %lld sources are more than 90 degrees from the phase centre",
                        (long long)behind, (long long)(numbers / 2));
    return 0;
}

GROVE_CLASS(lmn) = {
    GROVE_CLASS_HEAD(lmn),
    .doc = "Direction cosines of sources about the phase centre.\n"
           "Orthographic projection (SIN): l to the east, m to the north (Thompson, Moran & "
           "Swenson, eq. 3.1). The third number is n - 1, computed without cancellation; below -1 "
           "the source is more than 90 degrees away.",
    .output_doc = "vectors l, m, n - 1 per source, without unit",
    .group = "coordinates",
    .inputs = inputs,
    .options = options,
    .output = GROVE_FORM(.shape = GROVE_VECTOR, .vector = 3, .precision = GROVE_PRECISION_DOUBLE),
    .kernel = &kernel,
    .check = check,
    .example = "E[s,p] = beam_airy(S, obs, lmn=lmn(S, obs))",
};
