/* Which convolution functions join the correlations of a visibility with the images, where stations
 * have Jones terms: V_j = sum over images r of M_jr S_r, M the Mueller matrix of both stations of a
 * baseline, one function for each element that is not 0. */
#ifndef GROVE_NODES_IMAGE_MUELLER_H
#define GROVE_NODES_IMAGE_MUELLER_H

#include "../../kernels/imaging/convolution/convolution.h"
#include "nodes/imaging/image_stokes.h"

/* Functions are numbered by blocks of times, pairs of groups of stations (of p, then of q), blocks
 * of channels, elements: the last is fastest. */
typedef struct {
    int shape;               /* elements of the Jones terms: 1, 2 or 4 */
    char stokes[5];          /* of the images, with a shape of 2 or 4 */
    bool circular;           /* receptors */
    int64_t times, channels; /* cells of the observation that share functions; 0: all of them */
    int64_t time_blocks, channel_blocks;
    int groups;     /* of stations with equal terms */
    int32_t *group; /* [station]; NULL: they are one group */
    int64_t stations;
    int visibilities, images; /* polarisations: 1 or 4; as the functions have them */
    /* image r is the sum over Stokes parameters s of basis[r][s], or a correlation */
    double basis[4][4][2];
    bool of_correlations; /* images are correlations of the sky; else Stokes parameters */
    int correlation[4];   /* of image r, where they are */
    int element[4][4];    /* [visibility][image] its number among the nonzero ones; -1 */
    int elements;
    bool given; /* by a value: shape is 1, and images are not combined */
} image_mueller;

/* Finishes one that has shape, stokes, circular, times, channels, groups: blocks by the axes of an
 * observation, images and elements with the fewest functions for a visibility. */
void image_mueller_make(image_mueller *mueller, const grove_node *obs);
void image_mueller_free(image_mueller *mueller);
int64_t image_mueller_functions(const image_mueller *mueller);

/* M_jr of element [j][r] from the terms of stations p and q at `count` places, complex numbers
 * [place][shape]. */
void image_mueller_element(const image_mueller *mueller, int j, int r, const double (*p)[2],
                           const double (*q)[2], int64_t count, double (*element)[2]);

/* As the label of an axis, to be freed; and back: false where it is none. */
char *image_mueller_label(const image_mueller *mueller);
bool image_mueller_read(const char *label, const grove_node *obs, image_mueller *mueller);

/* Index sets as of grove_convolution_mueller for data of `elements` elements, 1, 2 or 4, to be
 * freed; NULL where there is a single function, or sets are given: [time block][p][q][channel
 * block][way][element][image]. */
int32_t *image_mueller_index(const image_mueller *mueller, int elements);

/* Part of an observation: rows are times and baselines. */
typedef struct {
    int64_t first_time, times, first_baseline, baselines, first_channel, channels;
} image_mueller_part;

/* The sets of a part's rows and channels, with such an index. use.row and use.channel are to be
 * freed by image_mueller_end. False: no memory. */
bool image_mueller_begin(const image_mueller *mueller, const grove_node *obs, const int32_t *index,
                         const image_mueller_part *part, grove_convolution_mueller *use);
void image_mueller_end(grove_convolution_mueller *use);

/* Numbers of complex grids, of the precision: from the functions' images to Stokes parameters, half
 * the adjoint of the other way, so that terms of 1 leave I = (XX + YY) / 2. Images are [image]
 * [count], Stokes parameters [count][parameter]. */
void image_mueller_to_stokes(const image_mueller *mueller, const void *from, void *to,
                             int64_t count, bool double_precision);
void image_mueller_from_stokes(const image_mueller *mueller, const void *from, void *to,
                               int64_t count, bool double_precision);
int image_mueller_parameters(const image_mueller *mueller); /* how many there are; 1 at least */

#endif
