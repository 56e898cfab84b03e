/* What the host prepares for image-domain gridding on a device: how much memory that takes, the
 * table of a plan, and which subgrids there are and in which tiles of the grid. It knows no device.
 */
#ifndef GROVE_KERNELS_IDG_DEVICE_H
#define GROVE_KERNELS_IDG_DEVICE_H

#include "idg.h"
#include "idg_cuda.h"

/* Those of idg_pixels.cu, a thread for each pixel, cell or visibility, of terms a block for the
 * pixels of one x of an element; those of idg.cu for subgrids of so many pixels a side, a block for
 * each number of a visibility and subgrid. */
extern const grove_kernel grove_idg_weigh, grove_idg_split, grove_idg_gather, grove_idg_clear,
    grove_idg_terms_kernel;
const grove_kernel *grove_idg_sum_kernel(int side), *grove_idg_predict_kernel(int side);
/* Threads of a launch of these for so many subgrids; `predicts`: of the latter. */
int64_t grove_idg_threads(const grove_idg_plan *plan, int64_t subgrids, bool predicts);

/* Bytes: of planes of all bands, [image][band][plane][v][u], of the pixels of numbers and of images
 * of so many subgrids, of the table. Of w-tiles, the device has so many at a time,
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

/* Which w-tile each slot has: its number, and that of its band times how many there are. */
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

/* What is divided: samples without weights, all count; the parts of their channels, which share no
 * subgrid, one after the other; `adds`: with tiles of the planes, or of the slots, of which `slots`
 * says what they have before (w-tiles only). */
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

/* The state of kernels, of what the plan says. */
grove_idg_state grove_idg_device_state(const grove_idg_plan *plan);

#endif
