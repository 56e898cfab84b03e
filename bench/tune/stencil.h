/* Weighted sums of 3 x 3 pixels of an image with a border of one pixel. An item computes a tile of
 * ITEMS_Y rows of ITEMS_X pixels, which lie WIDE apart on devices, so that neighbouring items read
 * neighbouring pixels. Tunables: BLOCK; WIDE, items of a block beside each other; ITEMS_X, ITEMS_Y.
 * size: rows, columns; input: (rows + 2) x (columns + 2). */
#include "items.h"

#ifndef GROVE_BENCH_TUNE_STENCIL
#define GROVE_BENCH_TUNE_STENCIL
enum { STENCIL_BLOCK, STENCIL_WIDE, STENCIL_X, STENCIL_Y };

GROVE_FN int64_t stencil_count(const grove_args *args)
{
    return args->size[0] / GROVE_TUNED(args, STENCIL_Y, ITEMS_Y) *
           (args->size[1] / GROVE_TUNED(args, STENCIL_X, ITEMS_X));
}
#endif

GROVE_FN real GROVE_NAME(stencil_sum)(const real *at, int64_t row)
{
    const real centre = (real)0.25, edge = (real)0.15, corner = (real)0.05;

    return centre * at[row + 1] + edge * (at[1] + at[row] + at[row + 2] + at[2 * row + 1]) +
           corner * (at[0] + at[2] + at[2 * row] + at[2 * row + 2]);
}

GROVE_FN void GROVE_NAME(stencil_wide)(const grove_args *args, int64_t item, const int across)
{
    const int block = GROVE_TUNED(args, STENCIL_BLOCK, BLOCK),
              wide = GROVE_TUNED(args, STENCIL_WIDE, WIDE),
              down = GROVE_TUNED(args, STENCIL_Y, ITEMS_Y), high = block / wide;
    const int64_t columns = args->size[1], row = columns + 2,
                  blocks = columns / ((int64_t)across * wide), number = item / block;
    const int at = (int)(item % block);
    const int64_t x = number % blocks * across * wide + at % wide,
                  y = (number / blocks * high + at / wide) * down;

    for (int j = 0; j < down; j++)
        for (int i = 0; i < across; i++)
            OUTPUT(args)
    [(y + j) * columns + x + (int64_t)i * wide] =
        GROVE_NAME(stencil_sum)(INPUT(args, 0) + (y + j) * row + x + (int64_t)i * wide, row);
}

GROVE_FN void GROVE_NAME(stencil_item)(const grove_args *args, int64_t item)
{
    WITH_LENGTH(GROVE_NAME(stencil_wide), args, item, STENCIL_X, ITEMS_X);
}

ITEMS(stencil, stencil_count)
