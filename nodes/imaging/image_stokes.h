/* Stokes parameters of images, from and to the elements of visibilities: XX, XY, YX, YY or RR, RL,
 * LR, LL. */
#ifndef GROVE_NODES_IMAGE_STOKES_H
#define GROVE_NODES_IMAGE_STOKES_H

#include "plugin.h"

enum { IMAGE_MAX_STOKES = 4 };

/* Parameters as sums over elements, or elements as sums over parameters; of a diagonal the first
 * and the last element; a scalar counts as Stokes I. */
typedef struct {
    int count, elements;
    double factor[IMAGE_MAX_STOKES][4][2]; /* of each element, real and imaginary part */
    int used;                              /* bit k: element k is used */
} image_stokes;

/* Reads the option "stokes", of the requested parameters of data of a form; circular: receptors. 0,
 * or a code with a message. */
int image_stokes_read(const grove_node *node, const grove_form *form, bool circular,
                      image_stokes *stokes);
/* One in place of several: the sum of all elements that they use, which has their weight. */
void image_stokes_join(image_stokes *stokes);
/* Whether a text is of letters of IQUV, each at most once. 0, or a code with a message. */
int image_stokes_check_letters(const grove_node *node, const char *text);
/* The elements of a matrix as combinations of these parameters, letters of IQUV. */
void image_stokes_elements(const char *parameters, bool circular, image_stokes *stokes);
/* Reads the option "stokes", of the parameters that an image of `count` numbers per pixel has, and
 * finds the elements of a matrix. */
int image_stokes_expand(const grove_node *node, int count, bool circular, image_stokes *stokes);

/* Writes the correlations of Stokes parameters as the result of a call, a matrix per time, baseline
 * and channel, the same for each cell of axes that only other inputs of the tree have. `data`:
 * [time][baseline][channel][stokes] complex numbers in the call's precision. */
void image_stokes_give(const grove_call *call, const image_stokes *stokes, const void *data);

#endif
