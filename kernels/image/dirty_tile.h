/* The direct sum over one tile of an image, for each instruction set.
 *
 * In a tile about (l0, m0), n(l, m) - 1 = X(l) + Y(m) + B(l, m) with X = n(l, m0) - 1, Y = n(l0, m)
 * - n(l0, m0), and a small bend B. With B = 0, the sum is a product of matrices, [y][visibility]
 * times [visibility][x]: two multiply-adds for a pixel and a visibility. exp(2 pi i nu/c w B) is
 * expanded in powers of B: such a product for each. */
#ifndef GROVE_KERNELS_DIRTY_TILE_H
#define GROVE_KERNELS_DIRTY_TILE_H

#include "dirty_image.h"

enum { GROVE_DIRTY_SIDE = 32 }; /* pixels along each side of a tile, at most */

typedef struct {
    int columns, rows;
    double l[GROVE_DIRTY_SIDE], m[GROVE_DIRTY_SIDE];
    double n_of_l[GROVE_DIRTY_SIDE], n_of_m[GROVE_DIRTY_SIDE]; /* X and Y */
    float bend[GROVE_DIRTY_SIDE][GROVE_DIRTY_SIDE];            /* B / max_bend, at most 1 */
    float above_horizon[GROVE_DIRTY_SIDE][GROVE_DIRTY_SIDE];   /* 1 or 0 */
    double max_bend;
    int terms; /* of the expansion */
} grove_dirty_tile;

/* Adds all samples to sum, [rows][columns] with `stride` numbers from row to row. */
typedef void grove_dirty_tile_fn(const grove_dirty_samples *samples, const grove_dirty_tile *tile,
                                 double *sum, int64_t stride);
grove_dirty_tile_fn grove_dirty_tile_portable, grove_dirty_tile_avx2, grove_dirty_tile_avx512;

#endif
