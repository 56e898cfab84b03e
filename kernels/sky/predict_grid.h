/* The cells of a product of matrices of stations that baselines need, in tiles. Parts of these each
 * need few rows and columns. */
#ifndef GROVE_KERNELS_PREDICT_GRID_H
#define GROVE_KERNELS_PREDICT_GRID_H

#include "predict_job.h"

typedef struct grove_predict_grid {
    const struct grove_predict_grid *all; /* whose places it has; NULL: its own */
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
    int64_t pairs;  /* of stations that are needed */
    int64_t marked; /* stations right of those in a line of tiles, of all lines */
    int part_count, most_tiles; /* most_tiles: of a part */
    int32_t *part;              /* [part_count + 1] its first tile */
    int32_t *part_place[2];     /* [part][station] as `place`, of the stations that it needs */
} grove_predict_grid;

/* From `wanted`[left station][right station]. NULL: no memory. */
grove_predict_grid *grove_predict_grid_new(int stations, int sides, const unsigned char *wanted,
                                           int tile_rows, int tile_columns);
/* Lines of tiles; marks, one for each of them and station on the right; the mark of a baseline, or
 * the one after them, where a station is not on that side. */
static inline int64_t grove_predict_grid_lines(const grove_predict_grid *grid)
{
    return ((int64_t)grid->sides * grid->rows[0] + grid->tile_rows - 1) / grid->tile_rows;
}

static inline int64_t grove_predict_grid_marks(const grove_predict_grid *grid)
{
    return grove_predict_grid_lines(grid) * grid->rows[1];
}

static inline int64_t grove_predict_grid_mark(const grove_predict_grid *grid, int32_t left,
                                              int32_t right)
{
    const uint32_t line = (uint32_t)(grid->sides * grid->place[0][left]);

    if (grid->place[0][left] < 0 || grid->place[1][right] < 0)
        return grove_predict_grid_marks(grid);
    return (int64_t)(line / (uint32_t)grid->tile_rows) * grid->rows[1] + grid->place[1][right];
}

/* A grid of the cells of another one for which marks[grove_predict_grid_mark(...)] is set, in as
 * many parts, if there are as many tiles. NULL: no memory. It uses the other one. */
grove_predict_grid *grove_predict_grid_within(const grove_predict_grid *all,
                                              const unsigned char *marks);
/* Cuts the tiles into `parts` parts of about as many each, at most as many as there are tiles; a
 * new grid has one part. 0: no memory, and nothing changes. */
int grove_predict_grid_cut(grove_predict_grid *grid, int parts);
void grove_predict_grid_free(grove_predict_grid *grid);

#endif
