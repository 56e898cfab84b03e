/* Images at several frequencies as models of channels: which planes of a cube a channel has. */
#ifndef GROVE_NODES_IMAGE_CUBE_H
#define GROVE_NODES_IMAGE_CUBE_H

#include "../kernels/gridder/gridder.h"
#include "plugin.h"

/* clang-format off */
#define IMAGE_INTERPOLATE_OPTION                                                                   \
    {"interpolate", GROVE_CHOICE, "nearest",                                                       \
     "along the frequency of a cube that has not the channels of obs; beyond its ends, its last "  \
     "plane",                                                                                      \
     .choices = "nearest linear"}
/* clang-format on */

typedef struct {
    const grove_axis *axis; /* frequencies of the planes; NULL: one image for all channels */
    bool same;              /* these are the channels of the observation */
    bool linear;            /* in between; else the nearest */
    int planes;             /* or 1 */
} image_cube;

/* How much of a plane each of `channels` channels from number `first` on has; false: none has any.
 */
bool image_cube_shares(const image_cube *cube, int plane, int64_t first, const double *freq,
                       int64_t channels, double *share);

/* Samples of the channels that have some of a plane; `data` are to be predicted. */
typedef struct {
    grove_gridder_samples samples;
    double *freq, *share;
    int64_t *channel; /* of all samples */
} image_cube_part;

/* `first`: number of the first channel of `all`, which have `numbers` real numbers each. 0, or -1
 * without memory. */
int image_cube_part_make(const image_cube *cube, int plane, int64_t first,
                         const grove_gridder_samples *all, int numbers, bool double_precision,
                         image_cube_part *part);
/* Adds its data, times their shares. */
void image_cube_part_add(const image_cube_part *part, const grove_gridder_samples *all, int numbers,
                         bool double_precision);
void image_cube_part_free(image_cube_part *part);

#endif
