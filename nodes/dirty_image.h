/* The inside of dirty_image and psf_image, shared with what they do on devices. */
#ifndef GROVE_NODES_DIRTY_IMAGE_H
#define GROVE_NODES_DIRTY_IMAGE_H

#include "nodes/image_bands.h"
#include "nodes/image_device.h"

/* What check found out. Inputs are -1 where there are none. */
typedef struct {
    int data, weights, uvw, max_uvw;
    bool psf, without_w;
    double epsilon;
    grove_gridder_image image;
    image_stokes stokes;
    image_bands bands;
    double samples;
} imager;

/* Of a band. */
typedef struct {
    grove_gridder_plan plan;
    grove_gridder *gridder; /* NULL until the first samples come */
    double weight_sum;
    int64_t not_finite, outside;
    image_device device; /* of a state on a device */
    void *from_devices;  /* [Stokes][m][l] sums of their images; NULL: none */
} image_state;

/* Chooses the plan of a band, by the largest |u|, |v| and |w| in metres. 0, or a code with a
 * message. */
int imager_plan(const grove_call *call, const imager *m, int band, const double *max_uvw,
                image_state *state);
int imager_no_memory(const grove_call *call); /* reports it; its code */

/* accumulate_device_add and accumulate_device_merge. Cubes are left to the host. */
int imager_add_on_device(const grove_call *call, void *state, int count);
int imager_merge_device(const grove_call *call, void *state, void *other);

#endif
