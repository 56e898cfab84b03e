/* An image's value as a FITS image: axes, order, coordinates. */
#ifndef GROVE_NODES_IMAGE_H
#define GROVE_NODES_IMAGE_H

#include "nodes/imaging/fits/image.h"
#include "plugin.h"

/* The axes of the value, in its order; number along `axis`, -1: it has none. */
typedef struct {
    int l, m, freq;
    bool l_falls, m_falls; /* against the index */
} image_layout;

/* Describes value input 0 of the action: everything of the image but beam and pixels. The node's
 * user data are three numbers, as of grove_node_input_span: the frequencies that a value without an
 * axis freq was made of; 0: not known. Free with image_release. 0, or a code after a message. */
int image_describe(const grove_node *node, image_layout *layout, grove_image *image);
void image_release(grove_image *image);

/* The part of an image that an array has, by rows of the file. */
typedef struct {
    const image_layout *layout;
    const grove_image *image;
    const grove_array *array;
    int64_t step_l, step_m, step_freq; /* cells */
    int64_t rows, columns;             /* rows of all planes; columns of each */
} image_block;

void image_block_begin(image_block *block, const image_layout *layout, const grove_image *image,
                       const grove_array *array);
/* The numbers of row k, [columns], flagged ones NaN; where in the file's pixels they begin. */
int64_t image_block_row(const image_block *block, int64_t k, double *row);

#endif
