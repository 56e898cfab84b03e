/* Visibilities of a part of a tile as samples of the gridder: Stokes parameters with one weight for
 * each time, baseline and channel. */
#ifndef GROVE_NODES_IMAGE_SAMPLES_H
#define GROVE_NODES_IMAGE_SAMPLES_H

#include "../../kernels/imaging/gridder/gridder.h"
#include "nodes/imaging/image_stokes.h"
#include "nodes/imaging/image_sum.h"
#include "plugin.h"

/* The arrays of a part. `data` and `weights` may be NULL: 1. */
typedef struct {
    const grove_array *data, *weights, *uvw;
    /* Flags rows missing in the set, which are undefined in the other arrays: see
     * grove_node_add_rows_input. NULL: there are none. */
    const grove_array *missing;
    bool all_rows; /* samples are made of these, too, with weights and baselines of 0 */
    const grove_axis *freq;
    int64_t first_channel, channels; /* of these only */
    image_stokes stokes;
    double longest[3]; /* of |u|, |v|, |w|, wavelengths: samples beyond do not count; 0: all do */
    bool as_ones;      /* of the data only the flags count, for the point-spread function */
} image_part;

/* Rows and channels of the part: rows are times and baselines. 0 channels or fewer: none. */
typedef struct {
    int64_t times, baselines, first_channel, channels;
} image_extent;

image_extent image_part_extent(const image_part *part);
/* How many times from `first` on have samples of at most that number, but at least one. */
int64_t image_part_times(const image_part *part, const image_extent *extent, int64_t first,
                         int64_t samples);

/* Samples of times [first, first + count) of the part, with numbers of that precision: all rows of
 * its extent, except missing ones. */
typedef struct {
    grove_gridder_samples samples;
    double *uvw;
    void *data, *weight;
    double weight_sum;
    int64_t not_finite; /* samples without flags that are no numbers */
    int64_t outside;    /* that have no baselines, or longer ones than the part's `longest` */
    int64_t beyond;     /* of those, ones with u and v that are not */
    int64_t *list;      /* [row] which of the times and baselines it is; NULL: they are all there */
} image_samples;

/* 0, or -1 without memory. Computes on the threads of the call. */
int image_samples_make(const grove_call *call, const image_part *part, int64_t first, int64_t count,
                       bool double_precision, image_samples *samples);
void image_samples_free(image_samples *samples);

/* Sizes needed for sums over samples that are the same in any order: the exact sum of the weights;
 * of weight |V|, or of the weight where there are no data, the sum and the largest one. */
typedef struct {
    image_sum weight, size;
    double largest;
} image_sizes;

/* Adds samples of double precision, with `stokes` complex numbers each. */
void image_sizes_add(image_sizes *sizes, const image_samples *samples, int stokes);

/* ---- shared by the classes that make samples ---- */

/* Only in check: the input `missing` of a part with data of input k (-1: none); -1: there is none.
 */
int image_samples_find_missing(grove_node *node, int k);
/* Only in check: the input that has the weights: `weights` if it is given, else the weights of the
 * set that input `like` comes from, if they suit visibilities of `elements` elements; -1: there are
 * none. 0, or a code with a message. */
int image_samples_find_weights(grove_node *node, int like, int elements, int *weights);
/* Only in check: the result has none of the axes of the inputs. */
void image_samples_consume_axes(grove_node *node);
/* There are no samples that count: GROVE_INVALID. `outside`: the number of samples with baselines
 * longer than `limit`, such as "max_uvw". */
int image_samples_none(const grove_node *node, int64_t outside, const char *limit);
void image_samples_warn_not_finite(const grove_node *node, int64_t not_finite); /* 0 is fine */

#endif
