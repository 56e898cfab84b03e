/* The tiles of a pass, one after the other: time slowest, then freq, then baseline. From a tile on
 * they may be smaller than was chosen. */
#ifndef GROVE_EVAL_GRID_H
#define GROVE_EVAL_GRID_H

#include "eval/schedule.h"

/* A tile: its first cells, counted from the begin of the pass's block, and how many. */
typedef struct {
    int64_t first[GROVE_CUTS], count[GROVE_CUTS];
} grove_spot;

grove_spot grove_grid_begin(const grove_pass *pass);
/* To the next tile; false after the last. */
bool grove_grid_advance(const grove_pass *pass, grove_spot *spot);
/* Makes it the program's tile. */
void grove_grid_set(const grove_pass *pass, const grove_spot *spot);
/* Half as many cells along one axis, here and from now on: false when that cannot be, since there
 * is one cell or the order of tiles would change. What the program kept of larger tiles is let go.
 */
bool grove_grid_halve(grove_pass *pass, grove_spot *spot, uint64_t budget);

#endif
