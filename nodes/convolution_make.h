/* Convolution functions of Jones terms on a raster of directions, for planes of w: what the class
 * convolution_functions makes. */
#ifndef GROVE_NODES_CONVOLUTION_MAKE_H
#define GROVE_NODES_CONVOLUTION_MAKE_H

#include "nodes/image_functions.h"
#include "nodes/image_mueller.h"

typedef struct {
    grove_gridder_plan plan; /* without w */
    grove_convolution_plan functions;
    image_mueller mueller;
    const grove_axis *raster[2]; /* l, m of the input; NULL: the same for all directions */
    double half_n;
    double error; /* of the nearest sample and plane, relative, root mean square */
} convolution_making;

/* Pixels of the raster along l or m that count, the first of them, and their direction cosines (at:
 * NULL, or room for them). */
int64_t convolution_pixels(const convolution_making *c, int d, int64_t *first, double *at);
/* Bytes that making takes. */
uint64_t convolution_work_bytes(const convolution_making *c);

/* Makes all functions: `jones` [time block][group][channel block][m][l][element] complex numbers of
 * the pixels that count. `out` is [function][plane][fine] of the call's precision. 0, or a code
 * with a message. */
int convolution_make(const grove_call *call, const convolution_making *c, const double *jones,
                     void *out);

#endif
