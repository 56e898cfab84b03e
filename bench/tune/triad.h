/* A = B + x C: bound by memory. Tunables: BLOCK; WIDTH, neighbouring elements; LENGTH, such groups
 * of an item, which neighbouring items of a block interleave. size: elements. */
#include "items.h"

#ifndef GROVE_BENCH_TUNE_TRIAD
#define GROVE_BENCH_TUNE_TRIAD
enum { TRIAD_BLOCK, TRIAD_WIDTH, TRIAD_LENGTH, TRIAD_FACTOR = 42 };

GROVE_FN int64_t triad_count(const grove_args *args)
{
    return args->size[0] /
           (GROVE_TUNED(args, TRIAD_WIDTH, WIDTH) * GROVE_TUNED(args, TRIAD_LENGTH, LENGTH));
}
#endif

GROVE_FN void GROVE_NAME(triad_wide)(const grove_args *args, int64_t item, const int width)
{
    const int length = GROVE_TUNED(args, TRIAD_LENGTH, LENGTH),
              block = GROVE_TUNED(args, TRIAD_BLOCK, BLOCK);
    const int64_t group = item / block * block;
    int64_t at = (group * length + item % block) * width;

    for (int k = 0; k < length; k++, at += (int64_t)block * width)
        for (int w = 0; w < width; w++)
            OUTPUT(args)[at + w] = INPUT(args, 0)[at + w] + TRIAD_FACTOR * INPUT(args, 1)[at + w];
}

GROVE_FN void GROVE_NAME(triad_item)(const grove_args *args, int64_t item)
{
    WITH_LENGTH(GROVE_NAME(triad_wide), args, item, TRIAD_WIDTH, WIDTH);
}

ITEMS(triad, triad_count)
