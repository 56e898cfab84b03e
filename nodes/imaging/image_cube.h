/* Images at several frequencies as models of channels: which planes of a cube a channel has. */
#ifndef GROVE_NODES_IMAGE_CUBE_H
#define GROVE_NODES_IMAGE_CUBE_H

#include "../../kernels/imaging/gridder/gridder.h"
#include "plugin.h"

/* clang-format off */
#define IMAGE_INTERPOLATE_OPTION                                                                   \
    {"interpolate", GROVE_CHOICE,                                                                  \
     "along the frequency of a cube that does not have the channels of obs; beyond its ends, its last plane",\
     .initial = "nearest",                                                                         \
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

/* Channels in a row that have some of a plane. Where planes share channels there are several
 * passes: in each a channel has one plane at most. */
typedef struct {
    int64_t first, channels;
    int plane, pass;
} image_cube_run;

typedef struct {
    image_cube_run *run; /* runs of a plane follow each other */
    double *share;       /* [pass][channel] */
    int64_t count;
    int passes;
    bool whole; /* all shares are 1, in a single pass */
} image_cube_division;

/* Of `channels` channels from number `first` on; without an axis all of them have plane 0. 0, or -1
 * without memory; to be freed in any case. */
int image_cube_divide(const image_cube *cube, int64_t first, const double *freq, int64_t channels,
                      image_cube_division *division);
void image_cube_division_free(image_cube_division *division);

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
