/* sky_grid: the directions of the pixels of an image, as a sky. */
#include "nodes/imaging/image_plane.h"

#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const grove_port inputs[] = {
    {"obs", GROVE_OBJECT, "the observation: its phase centre", .object = "observation"},
    {0},
};
static const grove_port options[] = {IMAGE_PLANE_OPTIONS, IMAGE_CENTRE_OPTION, {0}};

typedef struct {
    grove_gridder_image image;
    double centre[2]; /* the phase centre, J2000, rad */
} raster;

static double cosine_of(const raster *r, int d, int64_t k)
{
    return r->image.centre[d] + (double)(k - r->image.size[d] / 2) * r->image.cell[d];
}

/* ---- opening ---- */

/* The corner that is farthest from the phase centre is above the horizon. */
static int check_horizon(const grove_node *node, const raster *r)
{
    double far[2];

    for (int d = 0; d < 2; d++)
        far[d] = fmax(fabs(cosine_of(r, d, 0)), fabs(cosine_of(r, d, r->image.size[d] - 1)));
    if (far[0] * far[0] + far[1] * far[1] < 1)
        return 0;
    return grove_node_fail_option(
        node, "size",
        "the corners of %lld x %lld pixels of %.4g x %.4g rad are beyond the horizon of the phase "
        "centre (l^2 + m^2 = %.4g); use fewer or smaller pixels",
        (long long)r->image.size[0], (long long)r->image.size[1], r->image.cell[0],
        r->image.cell[1], far[0] * far[0] + far[1] * far[1]);
}

static int add_axis(grove_node *node, const raster *r, int d, const char *name)
{
    const int64_t size = r->image.size[d];
    double *centre = grove_alloc((size_t)size * sizeof(*centre)),
           *width = grove_alloc((size_t)size * sizeof(*width));

    for (int64_t k = 0; k < size; k++) {
        centre[k] = cosine_of(r, d, k);
        width[k] = r->image.cell[d];
    }
    int code = grove_node_add_axis(
        node, &(grove_axis){.name = name, .size = size, .centre = centre, .width = width});
    free(centre);
    free(width);
    return code;
}

static int open_raster(grove_node *node)
{
    const grove_form angles = {.shape = GROVE_VECTOR,
                               .vector = 2,
                               .precision = GROVE_PRECISION_DOUBLE,
                               .unit = {.rad = 1}};
    const grove_node *obs = grove_node_object(node, "obs");
    const double *centre = grove_node_member_data(obs, "phase_centre");
    raster *r = grove_alloc(sizeof(*r));

    grove_node_set_user(node, r);
    if (!centre)
        return grove_node_fail_option(node, "obs", "'%s' has no phase centre",
                                      grove_node_name(obs));
    memcpy(r->centre, centre, sizeof(r->centre));
    int code = image_plane_read(node, obs, image_longest_baseline(obs), true, &r->image);
    code = code ? code : check_horizon(node, r);
    code = code ? code : add_axis(node, r, 1, "m");
    code = code ? code : add_axis(node, r, 0, "l");
    return code ? code
                : grove_node_add_member(node, "radec", "m l", &angles, NULL,
                                        "J2000 right ascension and declination of the pixels' "
                                        "centres, rad");
}

static void close_raster(grove_node *node)
{
    free(grove_node_user(node));
    grove_node_set_user(node, NULL);
}

/* ---- directions ---- */

/* The inverse of lmn (Greisen & Calabretta 2002, eqs. 5, 62), by arctangents, which are exact near
 * the poles, too. */
static void find_direction(const raster *r, double l, double m, double radec[2])
{
    const double n = sqrt(1 - l * l - m * m), sine = sin(r->centre[1]), cosine = cos(r->centre[1]);
    const double to_centre = n * cosine - m * sine;

    radec[0] = r->centre[0] + atan2(l, to_centre);
    radec[1] = atan2(m * cosine + n * sine, hypot(l, to_centre));
}

static int read_member(const grove_call *call, const char *member, grove_array *out)
{
    const raster *r = grove_node_user(call->node);
    double *to = out->data;

    (void)member;
    for (int64_t i = 0; i < out->cells; i++) {
        double cosine[2];
        int64_t rest = i;
        for (int d = out->axes - 1; d >= 0; d--) {
            const int along_m = !strcmp(out->range[d].axis->name, "m");
            cosine[along_m] =
                cosine_of(r, along_m, out->range[d].first + rest % out->range[d].count);
            rest /= out->range[d].count;
        }
        find_direction(r, cosine[0], cosine[1], to + 2 * i);
    }
    return 0;
}

GROVE_CLASS(sky_grid) = {
    GROVE_CLASS_HEAD(sky_grid),
    .doc = "The directions of an image's pixels, in place of a sky's sources.\nJones terms towards "
           "them are images: beam_airy(sky_grid(obs, size=256, cell=4arcsec), obs) varies with m "
           "and l, and can be multiplied by dirty images of the same size, cell and centre. Pixels "
           "are evenly spaced in direction cosines about the phase centre (SIN projection), and "
           "all of them are above its horizon.",
    .output_doc = "a sky of pixels: member radec",
    .group = "data",
    .inputs = inputs,
    .options = options,
    .kind = GROVE_CLASS_DATA,
    .object = "sky",
    .data = &(const grove_data_functions){.open = open_raster, .read = read_member},
    .close = close_raster,
    .example = "R = sky_grid(obs, size=256, cell=4arcsec)",
};
