/* The cells of a product of matrices of stations that baselines need, in tiles. Parts of these each
 * need few rows and columns. */
#ifndef GROVE_KERNELS_PREDICT_GRID_H
#define GROVE_KERNELS_PREDICT_GRID_H

#include "predict_job.h"

typedef struct {
    int stations, sides;
    int tile_rows, tile_columns;
    int rows[2];       /* stations that some baseline has on its left, on its right */
    int32_t *place[2]; /* [station] its place among those, or -1 */
    int32_t *row;      /* [place] the station, of those on the left */
    int32_t *column;   /* [place] the station, of those on the right */
    grove_predict_tile *tiles;
    int tile_count;
    int32_t *cells; /* [line of tiles][column] the place in [tile][column][row] of the line's first
                       cell, or -1; columns: sides * rows */
    int part_count, most_tiles; /* most_tiles: of a part */
    int32_t *part;              /* [part_count + 1] its first tile */
    int32_t *part_place[2];     /* [part][station] as `place`, of the stations that it needs */
} grove_predict_grid;

/* From `needed`[left station][right station]. NULL: no memory. */
grove_predict_grid *grove_predict_grid_new(int stations, int sides, const unsigned char *needed,
                                           int tile_rows, int tile_columns);
/* Cuts the tiles into `parts` parts of about as many each, at most as many as there are tiles; a
 * new grid has one part. 0: no memory, and nothing changes. */
int grove_predict_grid_cut(grove_predict_grid *grid, int parts);
void grove_predict_grid_free(grove_predict_grid *grid);

#endif
