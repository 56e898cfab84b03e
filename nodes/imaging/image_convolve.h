/* Gridding by convolution functions on a device: the work of grid and degrid in their calls there.
 * Functions return 0, or the code of the first grove_call_... that failed, or GROVE_MISSING: the
 * host is to compute it; or a code with a message, where numbers of a call are wrong. */
#ifndef GROVE_NODES_IMAGE_CONVOLVE_H
#define GROVE_NODES_IMAGE_CONVOLVE_H

#include "../../kernels/imaging/gridder/gridder_convolve_cuda.h"
#include "nodes/imaging/image_bands.h"
#include "nodes/imaging/image_device.h"
#include "nodes/imaging/image_functions.h"

/* Kept on the device from call to call; zero before the first. */
typedef struct {
    void *functions; /* in the order in which the kernels read them */
    uint64_t serial; /* grove_call_serial of them; 0: not known */
    void *norms;     /* of them; NULL: not needed */
    void *grids;     /* [band][image][v][u] */
    double *totals;  /* [band][GROVE_CONVOLVE_TOTALS] */
    bool open;
} image_convolve;

/* The functions of a call: inputs by number. `index`: as of image_mueller_index, which is also the
 * node's table; NULL: none. */
typedef struct {
    grove_convolution_plan plan; /* of the call's precision */
    const image_bands *bands;    /* which channels are added to which grids; NULL: none are */
    const image_mueller *mueller;
    const int32_t *index;
    int functions;
    bool normalises; /* norms are needed */
} image_convolving;

/* Bytes that it keeps there. */
uint64_t image_convolve_memory(const grove_convolution_plan *plan, bool normalises);
/* Bytes of a node's table of index sets for data of `elements` elements. */
size_t image_convolve_index_bytes(const image_mueller *mueller, int elements);
/* Takes memory, and clears grids and totals. Nothing if it is open. */
int image_convolve_open(const grove_call *call, const image_convolving *by, image_convolve *d);
/* Puts the call's functions in order, unless they are. */
int image_convolve_arrange(const grove_call *call, const image_convolving *by, image_convolve *d);

/* Spreads the visibilities of the call, each band to its grids, and adds to its totals. */
int image_convolve_add(const grove_call *call, const image_convolving *by, const image_convolve *d,
                       const image_device_inputs *in);
/* Cells of Stokes parameters, `step` bytes apart along u and v, and the share of them that each
 * channel of the call has; NULL: all of them. */
typedef struct {
    const void *cells;
    int64_t step[2];
    const double *share;
} image_convolve_part;

/* The grids from a part's cells. */
int image_convolve_take(const grove_call *call, const image_convolving *by, const image_convolve *d,
                        const image_convolve_part *part);
/* The visibilities of the sum of all parts to call->args->out; a channel has at least one. Those
 * beyond the limits are 0, and counted in *outside; those whose functions leave the grid, too, in
 * *left_out. */
int image_convolve_predict(const grove_call *call, const image_convolving *by,
                           const image_convolve *d, const image_device_inputs *in,
                           const image_convolve_part *parts, int count, int64_t *outside,
                           grove_gridder_outside *left_out);

/* Samples whose functions leave the grid. */
int64_t image_convolve_outside(const grove_convolution_plan *plan, const grove_gridder_samples *s);

/* From the grids of a band to dense cells [v][u][parameter], times a factor of each image. */
int image_convolve_give(const grove_call *call, const image_convolving *by, const image_convolve *d,
                        int band, const double factor[4], void *to);
/* Adds grids to the host's, and copies the totals there. */
int image_convolve_fetch(const grove_call *call, const image_convolving *by,
                         const image_convolve *d, void *grids);
int image_convolve_totals(const grove_call *call, const image_convolve *d, int band,
                          double totals[GROVE_CONVOLVE_TOTALS]);

#endif
