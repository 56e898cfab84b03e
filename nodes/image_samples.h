/* Visibilities of a part of a tile as samples of the gridder: Stokes parameters with one weight for
 * each time, baseline and channel. */
#ifndef GROVE_NODES_IMAGE_SAMPLES_H
#define GROVE_NODES_IMAGE_SAMPLES_H

#include "../kernels/gridder/gridder.h"
#include "plugin.h"

enum { IMAGE_MAX_STOKES = 4 };

/* Stokes parameters as sums over the elements of a visibility: XX, XY, YX, YY or RR, RL, LR, LL; of
 * a diagonal the first and the last; a scalar counts as Stokes I. */
typedef struct {
    int count, elements;
    double factor[IMAGE_MAX_STOKES][4][2]; /* of each element, real and imaginary part */
    int used;                              /* bit k: element k is used */
} image_stokes;

/* Reads the option "stokes" for data of a form; circular: receptors. 0, or a code with a message.
 */
int image_stokes_read(const grove_node *node, const grove_form *form, bool circular,
                      image_stokes *stokes);

/* The arrays of a part. `data` and `weights` may be NULL: 1. */
typedef struct {
    const grove_array *data, *weights, *uvw;
    const grove_axis *freq;
    image_stokes stokes;
    bool as_ones; /* of the data only the flags count, for the point-spread function */
} image_part;

/* Rows and channels of the part: rows are times and baselines. */
typedef struct {
    int64_t times, baselines, first_channel, channels;
} image_extent;

image_extent image_part_extent(const image_part *part);

/* Samples of times [first, first + count) of the part, with numbers of that precision. */
typedef struct {
    grove_gridder_samples samples;
    double *uvw;
    void *data, *weight;
    double weight_sum;
    int64_t used, not_finite; /* samples with weight; samples without flags that are no numbers */
} image_samples;

/* 0, or -1 without memory. Computes on the threads of the call. */
int image_samples_make(const grove_call *call, const image_part *part, int64_t first, int64_t count,
                       bool double_precision, image_samples *samples);
void image_samples_free(image_samples *samples);

#endif
