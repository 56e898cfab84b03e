/* Jones terms of directions on the pixels of subgrids, for image-domain gridding: numbers,
 * diagonals or matrices, of all stations or of each, in blocks of times and channels. */
#ifndef GROVE_NODES_IMAGE_TERMS_H
#define GROVE_NODES_IMAGE_TERMS_H

#include "../../kernels/imaging/idg/idg.h"
#include "../../kernels/imaging/idg/idg_cuda.h"
#include "nodes/imaging/image_bands.h"
#include "plugin.h"

typedef struct {
    int input;                         /* -1: none */
    int elements;                      /* 1, 2, 4; 0: none */
    const grove_axis *raster[2];       /* l, m of the input; NULL: the same for all directions */
    const grove_axis *baseline;        /* of the observation */
    int64_t stations, times, channels; /* stations it varies with, or 1; cells of a block */
} image_terms;

extern const char *const image_terms_axes[5]; /* l, m, station: whole; time, freq */

/* Only in check: whether option jones, where it is given, is of directions that cover the image,
 * and maybe of stations, times and channels. 0, or a code with a message. */
int image_terms_check(const grove_node *node, const grove_gridder_image *image, image_terms *terms);
/* Bytes of the terms of `times` times, and `channels` channels of `bands` bands, at most. */
uint64_t image_terms_bytes(const image_terms *terms, const grove_idg_plan *plan, int64_t times,
                           int64_t channels, int64_t bands);
/* On a device, with all that it makes them from but the raster. */
uint64_t image_terms_device_bytes(const image_terms *terms, const grove_idg_plan *plan,
                                  int64_t times, int64_t channels, int64_t bands);

/* Cells of a tile, by their numbers in the observation. */
typedef struct {
    int64_t first_time, times, first_baseline, baselines, first_channel, channels;
    const image_bands *bands; /* at whose ends blocks of channels end, too; NULL: nowhere */
} image_terms_part;

/* Where the numbers of a tile are: complex ones, cells `step` bytes apart, elements one after the
 * other; along l, m, station, time, freq. Times and channels are counted from the first cell's. */
typedef struct {
    const char *at;
    const unsigned char *flags; /* one byte where there is a cell of `at`; NULL: none */
    int64_t step[5], flag_step[5];
    bool double_precision;
} image_terms_numbers;

/* The numbers of a part. */
image_terms_numbers image_terms_of_array(const grove_array *array, const image_terms_part *part);
image_terms_numbers image_terms_of_view(const grove_args *args, int input, bool double_precision);

/* On the pixels of a plan, whose precision they have, in blocks of times and channels. To be freed
 * by image_terms_free, in any case. */
typedef struct {
    grove_idg_terms terms;
    void *numbers;
    uint64_t bytes; /* of them */
    int32_t *time_block, *channel_block, *left, *right;
    int64_t time_blocks;
    int64_t *time, *channel; /* [block] the middle cell, from the first one of the part */
} image_terms_made;

/* Without numbers. 0, or GROVE_NO_MEMORY with a message. */
int image_terms_divide(const grove_call *call, const image_terms *terms, const grove_idg_plan *plan,
                       const image_terms_part *part, image_terms_made *made);
/* 0, or a code with a message where numbers are not finite. */
int image_terms_make(const grove_call *call, const image_terms *terms, const grove_idg_plan *plan,
                     const image_terms_numbers *from, const image_terms_part *part,
                     image_terms_made *made);
/* How much each pixel has of the directions of the raster, [l, m][pixel]. */
void image_terms_taps(const image_terms *terms, const grove_idg_plan *plan, grove_idg_taps *taps);

/* The numbers of divided terms, made by the device of the call until the call ends, from numbers
 * that lie there. 0, the code of a grove_call_..., or GROVE_MISSING: the host is to compute it, or
 * to report numbers that are not finite. */
int image_terms_make_on_device(const grove_call *call, const image_terms *terms,
                               const grove_idg_plan *plan, const image_terms_numbers *from,
                               const image_terms_made *made, const void **at);
void image_terms_free(image_terms_made *made);

#endif
