/* Image-domain gridding on a device: what grid and degrid do in their calls there. Functions return
 * 0, or the code of the first grove_call_... that failed, or GROVE_MISSING: the host is to compute
 * it. Plans have the precision of the call. */
#ifndef GROVE_NODES_IMAGE_SUBGRIDS_DEVICE_H
#define GROVE_NODES_IMAGE_SUBGRIDS_DEVICE_H

#include "../kernels/idg/idg_device.h"
#include "nodes/image_device.h"
#include "nodes/image_terms.h"

/* Kept on the device from call to call; zero before the first. */
typedef struct {
    void *planes; /* [image][plane][v][u], or of w-tiles [image][slot][v][u]; NULL: of degrid */
    void *numbers, *images, *table;
    double *totals; /* [GROVE_GRIDDER_TOTALS] */
    grove_idg_slots slots;
    grove_idg *host; /* w-tiles that had to leave their slots; NULL: none */
    bool open;
} image_subgrids_device;

void image_subgrids_device_free(image_subgrids_device *d);

/* Bytes of it, and of the terms of so many times and channels. */
uint64_t image_subgrids_device_memory(const grove_idg_plan *plan, const image_terms *terms,
                                      int64_t times, int64_t channels, bool planes);

/* Adds the visibilities of the call to the planes, and to the totals. */
int image_subgrids_device_add(const grove_call *call, const grove_idg_plan *plan,
                              const image_terms *terms, const image_device_inputs *in,
                              image_subgrids_device *d, grove_idg_counts *counts);
/* Adds the planes, or w-tiles, to the host's; gives the planes to call->args->out. */
int image_subgrids_device_fetch(const grove_call *call, const grove_idg_plan *plan,
                                const image_subgrids_device *d, grove_idg *to);
int image_subgrids_device_give(const grove_call *call, const grove_idg_plan *plan,
                               const image_subgrids_device *d);

/* The visibilities of planes, an input of the call with steps along u, v and w_plane, in bytes, or
 * of the w-tiles of `host`, which has the planes, to call->args->out. Those beyond the limits are
 * 0, and counted. */
int image_subgrids_device_predict(const grove_call *call, const grove_idg_plan *plan,
                                  const image_terms *terms, const image_device_inputs *in,
                                  const void *planes, const int64_t step[3], grove_idg *host,
                                  image_subgrids_device *d, grove_idg_counts *counts,
                                  int64_t *outside, int64_t *beyond);

#endif
