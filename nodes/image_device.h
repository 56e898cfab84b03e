/* The default gridder on a device: what a class does in its calls there. Functions return 0, or the
 * code of the first grove_call_... that failed, or GROVE_MISSING: the host is to compute it. */
#ifndef GROVE_NODES_IMAGE_DEVICE_H
#define GROVE_NODES_IMAGE_DEVICE_H

#include "../kernels/gridder/gridder_device.h"
#include "keep.h"
#include "nodes/image_stokes.h"

/* Kept on the device from call to call; zero before the first. */
typedef struct {
    grove_gridder_device *gridder;
    void *planes, *grid, *image, *slots;
    double *totals; /* sum of weights, samples that are no numbers */
    bool open;
} image_device;

/* Inputs of the call by number, -1: there is none; `flags`: of the first input's flags. */
typedef struct {
    int data, weights, uvw, flags;
    const grove_axis *freq; /* all channels */
    const double *centres;  /* of the channels of the call; NULL: of the axis */
    /* Of the call's channels, so many from this one on; 0: all. */
    int64_t first_channel, channels;
    const image_stokes *stokes;
    bool as_ones;
} image_device_inputs;

/* Takes memory, and clears the planes. Nothing if it is open. */
int image_device_open(const grove_call *call, const grove_gridder_plan *plan, image_device *d);
/* If it was made for another plan, it is to be opened again; what it kept stays until the run ends.
 */
void image_device_renew(image_device *d, const grove_gridder_plan *plan);
void image_device_free(image_device *d);

/* Spreads the visibilities of the call; those beyond the bounds are counted in *outside. */
int image_device_add(const grove_call *call, const image_device *d, const image_device_inputs *in,
                     int64_t *outside);
/* The image of one polarisation from the planes, to the host. */
int image_device_to_host(const grove_call *call, const image_device *d, int polarisation,
                         void *image);

/* The planes of one polarisation from the pixels at a view of the call. */
int image_device_from_pixels(const grove_call *call, const image_device *d, int polarisation,
                             const void *pixels, const int64_t step[2]);
/* The visibilities of the planes to call->args->out: matrices, of so many Stokes parameters. */
int image_device_predict(const grove_call *call, const image_device *d,
                         const image_device_inputs *in, int64_t *outside);

#endif
