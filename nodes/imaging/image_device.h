/* The default gridder on a device: the work of a class in its calls there. Functions return 0, or
 * the code of the first grove_call_... that failed, or GROVE_MISSING: the host is to compute it. */
#ifndef GROVE_NODES_IMAGE_DEVICE_H
#define GROVE_NODES_IMAGE_DEVICE_H

#include "../../kernels/imaging/gridder/gridder_device.h"
#include "nodes/imaging/image_stokes.h"
#include "unstable/keep.h"

/* Kept on the device from call to call; zero before the first. A copy with other planes is another
 * image of the same plan. */
typedef struct {
    grove_gridder_device *gridder;
    void *planes;
    void *grid, *image; /* for images; NULL: only planes are needed */
    void *slots;
    double *totals; /* [GROVE_GRIDDER_TOTALS] */
    bool open;
} image_device;

/* Inputs of the call by number, -1: there is none; `flags`: of the first input's flags. */
typedef struct {
    int data, weights, uvw, flags;
    const grove_axis *freq; /* all channels */
    const double *centres;  /* of the channels of the call; NULL: of the axis */
    const double *longest;  /* |u|, |v| and |w| beyond do not count, wavelengths; NULL: all do */
    /* Of the call's channels, `channels` from this one on; 0: all. */
    int64_t first_channel, channels;
    const image_stokes *stokes;
    bool as_ones;
} image_device_inputs;

/* Takes memory, and clears the planes; `images`: for transforms, too. Nothing if it is open. */
int image_device_open(const grove_call *call, const grove_gridder_plan *plan, bool images,
                      image_device *d);
/* Bytes of it, and of its planes alone. */
uint64_t image_device_memory(const grove_gridder_plan *plan, bool images);
uint64_t image_device_planes_memory(const grove_gridder_plan *plan);
/* Takes the planes of one more image, unless *planes is not NULL. */
int image_device_take_planes(const grove_call *call, const image_device *d, void **planes);
/* If it was made for another plan, it is to be opened again; its memory stays until the run
 * ends.
 */
void image_device_renew(image_device *d, const grove_gridder_plan *plan);
void image_device_free(image_device *d);
/* The class's state for device k, in an array of `count` states of `bytes` bytes; new ones are
 * zero. It is to be freed by free. */
void *image_device_of(void **array, int *count, int k, size_t bytes);

/* Makes totals of zero if there are none (NULL). */
int image_device_begin_totals(const grove_call *call, double **totals);
/* After `code`, where some of the call's visibilities are added: they must not be again, here or by
 * the host. */
int image_device_fail(const grove_call *call, int code);
/* Spreads the visibilities of the call, and adds to the totals. */
int image_device_add(const grove_call *call, const image_device *d, const image_device_inputs *in);
/* Adds to the totals alone, which are made if there are none (NULL). */
int image_device_weigh(const grove_call *call, const image_device_inputs *in, double **totals);
/* Adds the image of one polarisation, made from the planes, to the host's, and the planes
 * themselves to the host's planes, `kept`: grove_gridder_device_give. */
int image_device_add_image(const grove_call *call, const image_device *d, int polarisation,
                           void *image);
int image_device_add_planes(const grove_call *call, const image_device *d, void *kept);

/* The planes of one polarisation from the pixels at a view of the call, or from planes of the whole
 * grid, with u and v 0 at cell grid / 2; `step`: bytes along l and m, or u, v and w. */
int image_device_from_pixels(const grove_call *call, const image_device *d, int polarisation,
                             const void *pixels, const int64_t step[2]);
int image_device_from_planes(const grove_call *call, const image_device *d, const void *planes,
                             const int64_t step[3]);
/* And back: dense planes [plane][v][u] of the whole grid, of the first polarisation. */
int image_device_give_planes(const grove_call *call, const image_device *d, void *planes);
/* A transform of the plane at d->grid, in place. */
int image_device_transform(const grove_call *call, const image_device *d, int sign);

/* Planes of one image, and how much of it each channel of the call has; NULL: all of it. */
typedef struct {
    void *planes;
    const double *share;
} image_device_part;

/* The visibilities of the sum of all parts to call->args->out, of all parts' Stokes parameters.
 * Visibilities beyond the limits are 0, and counted in *outside. */
int image_device_predict(const grove_call *call, const image_device *d,
                         const image_device_inputs *in, const image_device_part *parts, int count,
                         int64_t *outside);

#endif
