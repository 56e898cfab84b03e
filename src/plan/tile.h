/* The tiles of a pass, one after the other: time slowest, then freq, then baseline. From a tile on
 * they may be smaller than was chosen. */
#ifndef GROVE_PLAN_TILE_H
#define GROVE_PLAN_TILE_H

#include "plan/schedule.h"

/* A tile: its first cells, counted from the begin of the pass's block, and how many. */
typedef struct {
    int64_t first[GROVE_CUTS], count[GROVE_CUTS];
} grove_tile;

grove_tile grove_tile_begin(const grove_pass *pass);
/* To the next tile; false after the last. */
bool grove_tile_advance(const grove_pass *pass, grove_tile *spot);
/* Makes it the program's tile. */
void grove_tile_set(const grove_pass *pass, const grove_tile *spot);
/* Which of the devices computes a tile, the last one having been computed by `device`. They take
 * turns by the tiles' numbers; where something is gathered over tiles each has contiguous times, of
 * which those of later devices begin with a block's first. */
int64_t grove_tile_device(const grove_pass *pass, const grove_tile *spot, int64_t number,
                          int64_t device, int devices);
/* Half as many cells along one axis, here and from now on: false when that cannot be, since there
 * is one cell or the order of tiles would change. What the program kept of larger tiles is let go.
 */
bool grove_tile_halve(grove_pass *pass, grove_tile *spot, uint64_t budget);

#endif
