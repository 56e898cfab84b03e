/* Common to kernels of fits: the stretches of a tile, boxes of times and channels, with sums for
 * each stretch and baseline; and the limits of baselines' lengths. */
#ifndef GROVE_KERNELS_FIT_TILE_H
#define GROVE_KERNELS_FIT_TILE_H

#include "cell.h"

/* The table of the kernels: int64_t edges of all stretches along time, then of those along
 * frequency, cells of the whole axes; then the centres of all channels, doubles. */
typedef struct {
    int32_t axis[3]; /* time, baseline, frequency in the iteration space; -1: none */
    int32_t uvw;     /* the input that has it; 0: none */
    int32_t centred; /* the table has centres */
    int32_t in_wavelengths[2], spare;
    double limits[2]; /* min, max of the projected baseline's length: m, or wavelengths */
    int64_t stretches[2], baselines;
    int64_t edges[2]; /* in the table: the first edge of the tile's stretches */
    int64_t centres;  /* in the table: of the whole axis' first channel */
} grove_fit_tile;

/* The number of others with which a thread multiplies one number, at most. */
enum { GROVE_FIT_PIECE = 4 };

/* Threads for the items of a row; `group` neighbours of one warp find the weights of as many
 * samples together: an element of a cell each. */
typedef struct {
    int64_t threads;
    int32_t group; /* a power of two, at least 4 */
} grove_fit_share;
GROVE_FN grove_fit_share grove_fit_share_of(int64_t items)
{
    int32_t group = 4;

    while (group < 32 && group < items)
        group *= 2;
    grove_fit_share share = {(items + group - 1) / group * group, group};
    return share;
}

/* Baselines of all stretches. */
GROVE_FN int64_t grove_fit_rows(const grove_fit_tile *tile)
{
    return tile->stretches[0] * tile->stretches[1] * tile->baselines;
}

#endif
