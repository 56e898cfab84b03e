/* The pixels of an image: the options size, cell and centre that classes of images share, and the
 * axes m and l. The centre is at pixel size / 2 along m and (size - 1) / 2 along l, counted from 0,
 * which is pixel size / 2 + 1 of both axes of a FITS file, where l falls. */
#ifndef GROVE_NODES_IMAGE_PLANE_H
#define GROVE_NODES_IMAGE_PLANE_H

#include "../../kernels/imaging/gridder/gridder.h"
#include "plugin.h"
#include "unstable/hash.h"

#include <math.h>

/* clang-format off */
#define IMAGE_PLANE_OPTIONS                                                                        \
    {"size", GROVE_NUMBER_LIST,                                                                    \
     "pixels along each side, or [along l, along m]"},                                             \
    {"cell", GROVE_NUMBER_LIST,                                                                    \
     "angle of a pixel at the centre, rad, or [along l, along m]; none: a quarter of the "         \
     "narrowest fringe of the longest baseline at the highest frequency",                          \
     .initial = "none"}
#define IMAGE_CENTRE_OPTION                                                                        \
    {"centre", GROVE_DIRECTION, "direction of the middle; none: the phase centre", .initial = "none"}
/* clang-format on */

/* Reads the options, `centre` if `has_centre`. `longest`: the longest baseline, in wavelengths; 0:
 * not known. 0, or GROVE_INVALID with a message. */
int image_plane_read(const grove_node *node, const grove_node *obs, double longest, bool has_centre,
                     grove_gridder_image *image);
/* Warns where pixels are too large for the longest |u| and |v|, in wavelengths. */
void image_plane_check_cells(const grove_node *node, double max_u, double max_v,
                             const grove_gridder_image *image);
/* Only in check: the axes m and l of the result, whose coordinates are direction cosines. */
int image_plane_add_axes(grove_node *node, const grove_gridder_image *image);
/* Of images, or visibilities, with an error of at most epsilon: single precision is enough for
 * 1e-5.
 */
static inline grove_precision image_precision(double epsilon)
{
    return epsilon < 1e-5 * (1 - 1e-9) ? GROVE_PRECISION_DOUBLE : GROVE_PRECISION_RUN;
}

/* The plane of an input's axes m and l. 0, or GROVE_SHAPE with a message. */
int image_plane_of_input(const grove_node *node, int input, grove_gridder_image *image);
/* Which input has the largest |u|, |v| and |w|: max_uvw, which has to be one value for all
 * visibilities; where only uvw is written a further one, of this. 0, or a code with a message. */
int image_plane_find_longest(grove_node *node, int *max_uvw);

/* The longest baseline of an observation, from its antennas' positions, at its highest frequency,
 * in wavelengths, and a thousandth more; 0: it has none. */
double image_longest_baseline(const grove_node *obs);
/* Whether |u|, |v| and |w| of a baseline, m, are at most these, in wavelengths, at a frequency;
 * false for NaN. */
static inline bool image_is_within(const double uvw[3], double freq, const double longest[3])
{
    for (int k = 0; k < 3; k++)
        if (!(fabs(uvw[k]) * freq <= longest[k] * GROVE_SPEED_OF_LIGHT))
            return false;
    return true;
}

/* A hash of the numbers of an input's pixels, `count` each; the host has the first at `from`. */
grove_hash image_plane_hash(const grove_call *call, int input, const void *from,
                            const grove_gridder_image *image, int count);

/* Makes predicted visibilities 0, of `bytes` each, that are not within; returns how many. Bytes 0:
 * counts them. */
int64_t image_leave_out(const grove_gridder_samples *samples, const double longest[3],
                        size_t bytes);

/* Of visibilities that are computed: cells along an axis (1: it has none), bytes from one to the
 * next in a view (0); baselines as rows [time][baseline][3] and frequencies of all channels, to be
 * freed; NULL: no memory. */
int64_t image_axis_size(const grove_args *args, int kind);
int64_t image_axis_step(const grove_args *args, const grove_view *view, int kind);
double *image_copy_uvw(const grove_args *args, const grove_view *view);
double *image_copy_freq(const grove_args *args, const void *from, int64_t step);

#endif
