/* The bands of a cube: channels in order, divided into groups that each have an image. */
#ifndef GROVE_NODES_IMAGE_BANDS_H
#define GROVE_NODES_IMAGE_BANDS_H

#include "plugin.h"

/* clang-format off */
#define IMAGE_BANDS_OPTION                                                                         \
    {"bands", GROVE_INTEGER,                                                                       \
     "number of bands, each with an image, along an axis freq: all have the same number of channels, or one more; the number of channels makes an image of each channel; none: one image of all",\
     .initial = "none"}
/* clang-format on */

typedef struct {
    const grove_axis *freq; /* the channels */
    int count;
    bool axis; /* the result has an axis of bands; without one, a single band has all channels */
} image_bands;

/* Reads the option. 0, or GROVE_INVALID with a message. */
int image_bands_read(const grove_node *node, const grove_axis *freq, image_bands *bands);
/* The first channel of a band; for band `count`, the end. */
int64_t image_bands_first(const image_bands *bands, int band);
/* Which of `count` channels from number `origin` on a band has: `channels` from *first, counted
 * from there. False: none. */
bool image_bands_find(const image_bands *bands, int band, int64_t origin, int64_t count,
                      int64_t *first, int64_t *channels);
/* The highest frequency of its channels, Hz. */
double image_bands_highest(const image_bands *bands, int band);
/* Only in check: the axis of bands, each from the lower edge of its channels to the upper one. */
int image_bands_add_axis(grove_node *node, const image_bands *bands);

#endif
