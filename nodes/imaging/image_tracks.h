/* The baselines of an observation as its antennas and times make them, before any data are read:
 * images estimate their memory from these. */
#ifndef GROVE_NODES_IMAGE_TRACKS_H
#define GROVE_NODES_IMAGE_TRACKS_H

#include "../../kernels/imaging/gridder/gridder.h"
#include "plugin.h"

/* All baselines at as many of the times as make some hundred thousand rows. */
typedef struct {
    double *uvw; /* [row][3] m; NULL: not known */
    int64_t rows;
    double largest[3]; /* of |u|, |v| and |w|, m */
} image_tracks;

/* Of a set whose antennas or phase centre are not known there are none. */
image_tracks image_tracks_of(const grove_node *obs);
void image_tracks_free(image_tracks *tracks);

/* The memory of each plane of a gridder, [planes] bytes: the blocks that the tracks touch at these
 * frequencies; without tracks, all that the bounds allow. */
void image_tracks_planes(const image_tracks *tracks, const grove_gridder_plan *plan,
                         const double *freq, int64_t channels, uint64_t *bytes);

#endif
