#include "plan/tile.h"

static int64_t min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Restarts all axes from `from` on. */
static void start(const grove_program *p, grove_tile *tile, int from)
{
    for (int k = from; k < GROVE_CUTS; k++) {
        tile->first[k] = 0;
        tile->count[k] = min(p->tile[k], p->block.count[k]);
    }
}

grove_tile grove_tile_begin(const grove_program *p)
{
    grove_tile tile;

    start(p, &tile, 0);
    return tile;
}

bool grove_tile_advance(const grove_program *p, grove_tile *tile)
{
    for (int k = GROVE_CUTS - 1; k >= 0; k--) {
        if (!(p->divided >> k & 1))
            continue;
        tile->first[k] += tile->count[k];
        if (tile->first[k] >= p->block.count[k])
            continue;
        tile->count[k] = min(p->tile[k], p->block.count[k] - tile->first[k]);
        start(p, tile, k + 1);
        return true;
    }
    return false;
}

grove_block grove_tile_block(const grove_program *p, const grove_tile *tile)
{
    grove_block block = p->block;

    for (int k = 0; k < GROVE_CUTS; k++) {
        if (!(p->divided >> k & 1))
            continue;
        block.first[k] = p->block.first[k] + tile->first[k];
        block.count[k] = tile->count[k];
    }
    return block;
}

bool grove_tile_halve(grove_program *p, grove_tile *tile, bool gathers, uint64_t budget)
{
    for (int k = 0; k < GROVE_CUTS; k++) {
        bool begins = true; /* no tile of this size is complete */
        bool divides = p->divided >> k & 1 || (p->cuttable >> k & 1 && !gathers);
        for (int j = k + 1; j < GROVE_CUTS; j++)
            begins = begins && (!(p->divided >> j & 1) || tile->first[j] == 0);
        if (!p->block.axis[k] || tile->count[k] < 2 || !begins || !divides)
            continue;
        tile->count[k] = p->tile[k] = (tile->count[k] + 1) / 2;
        if (!(p->divided >> k & 1))
            grove_program_settle(p, p->tile, budget);
        return true;
    }
    return false;
}
