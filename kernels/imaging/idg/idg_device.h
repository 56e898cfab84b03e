/* Preparations by the host for image-domain gridding on a device: the memory, the table of a plan,
 * and the subgrids and their tiles of the grid. It knows no device.
 */
#ifndef GROVE_KERNELS_IDG_DEVICE_H
#define GROVE_KERNELS_IDG_DEVICE_H

#include "idg.h"
#include "idg_cuda.h"

/* Kernels of idg_pixels.cu, a thread for each pixel, cell or visibility, of terms a block for the
 * pixels of one x of an element; kernels of idg.cu for subgrids of `side` pixels a side, a block
 * for each number of a visibility and subgrid. */
extern const grove_kernel grove_idg_weigh, grove_idg_split, grove_idg_gather, grove_idg_clear,
    grove_idg_terms_kernel;
const grove_kernel *grove_idg_sum_kernel(int side), *grove_idg_predict_kernel(int side);
/* Threads of a launch of these for `subgrids` subgrids; `predicts`: of the latter. */
int64_t grove_idg_threads(const grove_idg_plan *plan, int64_t subgrids, bool predicts);

/* Bytes: of planes of all bands, [image][band][plane][v][u], of the pixels of numbers and of images
 * of `subgrids` subgrids, of the table. Of w-tiles, the device has `slots` at a time,
 * [image][slot][v][u]. */
typedef struct {
    uint64_t planes, numbers, images, table;
    int32_t subgrids; /* of a launch */
    int32_t slots;
} grove_idg_device_sizes;
grove_idg_device_sizes grove_idg_device_find_sizes(const grove_idg_plan *plan);
int64_t grove_idg_device_tiles(const grove_idg_plan *plan); /* w-tiles that a band may have */

/* To be freed. NULL: no memory. */
double *grove_idg_device_table(const grove_idg_plan *plan);

/* The w-tile of each slot: its number, plus the number of its band times the number of w-tiles. */
typedef struct {
    int64_t *tile; /* [slot] */
    int32_t used;
} grove_idg_slots;

/* Channels of the samples, in a row, that a band has. */
typedef struct {
    int64_t first, channels;
    int band;
} grove_idg_part;

/* Launch k does subgrids [first[k], first[k + 1]), and adds tiles [begin[k], begin[k + 1]). Before
 * launch k with flush[k].tile, slots are to be brought to the host, which are those, and cleared.
 */
typedef struct {
    grove_idg_subgrid *subgrid;
    grove_idg_tile *tile;
    int32_t *list, *begin, *first;
    grove_idg_slots *flush; /* [launch] */
    grove_idg_slots slots;  /* after all */
    double *wavenumber;     /* [channel], and then frequencies, Hz */
    int64_t subgrids, tiles, entries;
    int32_t launches;
    bool even;
} grove_idg_work;

/* The input of a division: samples without weights, all count; the parts of their channels, which
 * share no subgrid, one after the other; `adds`: with tiles of the planes, or of the slots, whose
 * present content is in `slots` (w-tiles only). */
typedef struct {
    const grove_gridder_samples *samples;
    int64_t baselines;
    const grove_idg_terms *terms; /* of all channels; NULL: 1 */
    const grove_idg_part *parts;
    int count; /* of parts */
    bool adds;
    const grove_idg_slots *slots;
} grove_idg_dividing;

/* 0, or -1: no memory, or more than 32 bits can count. `work` is to be freed by
 * grove_idg_work_free in any case. */
int grove_idg_device_divide(const grove_idg_plan *plan, const grove_idg_dividing *what,
                            grove_idg_work *work);
void grove_idg_work_free(grove_idg_work *work);
void grove_idg_work_count(const grove_idg_work *work, grove_idg_counts *counts); /* adds */

/* The state of kernels, by the plan. */
grove_idg_state grove_idg_device_state(const grove_idg_plan *plan);

#endif
