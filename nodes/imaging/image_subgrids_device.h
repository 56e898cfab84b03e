/* Image-domain gridding on a device: the work of grid and degrid in their calls there. Functions
 * return 0, or the code of the first grove_call_... that failed, or GROVE_MISSING: the host is to
 * compute it. Plans have the precision of the call. */
#ifndef GROVE_NODES_IMAGE_SUBGRIDS_DEVICE_H
#define GROVE_NODES_IMAGE_SUBGRIDS_DEVICE_H

#include "../../kernels/imaging/idg/idg_device.h"
#include "nodes/imaging/image_bands.h"
#include "nodes/imaging/image_cube.h"
#include "nodes/imaging/image_device.h"
#include "nodes/imaging/image_terms.h"

/* Kept on the device from call to call; zero before the first. */
typedef struct {
    /* [image][band][plane][v][u], or of w-tiles [image][slot][v][u], for degrid
     * [slot][v][u][image]; NULL: of degrid without w-tiles */
    void *planes;
    void *numbers, *images, *table;
    double *totals; /* [GROVE_GRIDDER_TOTALS] */
    grove_idg_slots slots;
    grove_idg *host; /* w-tiles that had to leave their slots; NULL: none */
    bool open;
} image_subgrids_device;

void image_subgrids_device_free(image_subgrids_device *d);

/* Bytes of it, including `terms` bytes of terms; `planes`: it has some. */
uint64_t image_subgrids_device_memory(const grove_idg_plan *plan, uint64_t terms, bool planes);

uint64_t image_subgrids_device_slot_bytes(const grove_idg_plan *plan);

/* Adds the visibilities of the call to the planes, each band to its own, and to the totals. */
int image_subgrids_device_add(const grove_call *call, const grove_idg_plan *plan,
                              const image_terms *terms, const image_bands *bands,
                              const image_device_inputs *in, image_subgrids_device *d,
                              grove_idg_counts *counts);
/* Adds the content of slots to the w-tiles of the host. */
int image_subgrids_device_fetch_slots(const grove_call *call, const grove_idg_plan *plan,
                                      const void *planes, const grove_idg_slots *slots,
                                      grove_idg *to);
/* Adds the planes, or w-tiles, to the host's; gives the planes to call->args->out. */
int image_subgrids_device_fetch(const grove_call *call, const grove_idg_plan *plan,
                                const image_subgrids_device *d, grove_idg *to);
int image_subgrids_device_give(const grove_call *call, const grove_idg_plan *plan,
                               const image_subgrids_device *d);

/* The planes for a prediction, an input of the call, with steps along u, v, w_plane and freq, in
 * bytes; for w-tiles `find` sets *host to the w-tiles of one of the cube's planes. */
typedef struct {
    const image_cube *cube;
    const void *at;
    int64_t step[4];
    int (*find)(const grove_call *call, void *context, int plane, grove_idg **host);
    void *context;
} image_subgrids_planes;

/* Its visibilities to call->args->out. Those beyond the limits are 0, and counted. */
int image_subgrids_device_predict(const grove_call *call, const grove_idg_plan *plan,
                                  const image_terms *terms, const image_device_inputs *in,
                                  const image_subgrids_planes *planes, image_subgrids_device *d,
                                  grove_idg_counts *counts, int64_t *outside, int64_t *beyond);
/* The w-tiles that slots are to have, made by the host, [slot][v][u][image]; to be freed, in any
 * case. */
int image_subgrids_device_make_slots(const grove_call *call, const grove_idg_plan *plan,
                                     const image_subgrids_planes *planes,
                                     const grove_idg_slots *slots, void **made);

#endif
