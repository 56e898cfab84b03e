/* w-tiles: tiles of the grid that have w-layers of their own. A block is a tile with half a subgrid
 * around it, of one layer, of all images; only blocks with subgrids exist. */
#ifndef GROVE_KERNELS_IDG_TILES_H
#define GROVE_KERNELS_IDG_TILES_H

#include "idg_hot.h"

typedef struct {
    const grove_idg_plan *plan;
    grove_idg_plan padded; /* with the padded tile as its subgrid, of one image */
    grove_idg_tables tables;
    const grove_idg_loops *loops;
    int64_t across[2];         /* tiles along u and v */
    size_t real, image, cells; /* bytes of a number, of a block's image, of a padded tile */
    void **block;              /* [row][column][layer][image][v][u]; NULL: none */
} grove_idg_tiles;

/* Cells along a side of a block. */
static inline int64_t grove_idg_block_side(const grove_idg_plan *plan)
{
    return plan->tile + plan->side;
}
uint64_t grove_idg_block_bytes(const grove_idg_plan *plan);
/* Additional bytes while tiles are brought onto the plane. */
uint64_t grove_idg_tiles_bytes(const grove_idg_plan *plan);
/* And while tiles of one band are brought onto the planes, or back. */
uint64_t grove_idg_fold_bytes(const grove_idg_plan *plan);

/* Of a plan, which stays with the caller, that has tiles. 0, or -1 without memory; to be freed in
 * any case. */
int grove_idg_tiles_make(grove_idg_tiles *tiles, const grove_idg_plan *plan,
                         const grove_idg_loops *loops);
void grove_idg_tiles_free(grove_idg_tiles *tiles);

/* How many tiles there are, of all layers; in which of them a subgrid lies, and the cell of its
 * block in which it begins. */
int64_t grove_idg_tiles_count(const grove_idg_plan *plan, int64_t across[2]);
int64_t grove_idg_tile_of(const grove_idg_plan *plan, const grove_idg_subgrid *subgrid,
                          int32_t start[2]);

/* Blocks of zeros for subgrids that lie in none yet. 0, or -1 without memory. */
int grove_idg_tiles_open(grove_idg_tiles *tiles, const grove_idg_subgrid *subgrid, int64_t count);
/* Blocks, of those tiles that have none yet, from planes [image][v][u]. 0, or -1 without memory. */
int grove_idg_tiles_split(grove_idg_tiles *tiles, const int64_t *tile, int64_t count,
                          const void *planes, const grove_gridder_threads *threads);
/* Adds an image [v][u] to a block, which is made if there is none. 0, or -1 without memory. */
int grove_idg_tiles_add(grove_idg_tiles *tiles, int64_t tile, int image, const void *numbers);
/* Adds all blocks to planes, and frees them; the same bits for any threads. 0, or -1 without
 * memory. */
int grove_idg_tiles_fold(grove_idg_tiles *tiles, void *planes,
                         const grove_gridder_threads *threads);
void grove_idg_tiles_clear(grove_idg_tiles *tiles);

#endif
