#include "plan/tile.h"

#include "plan/domain.h"

static int64_t min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static bool is_shared(const grove_program *p)
{
    return p->devices > 1 && p->divided >> GROVE_CUT_TIME & 1;
}

int grove_tile_device(const grove_program *p, int64_t time, int64_t *end)
{
    int64_t begin = p->block.first[GROVE_CUT_TIME], size = p->block.count[GROVE_CUT_TIME];

    *end = size;
    if (!is_shared(p))
        return 0;
    int64_t first = begin / p->edge, count = (begin + size - 1) / p->edge - first + 1;
    int64_t device = ((begin + time) / p->edge - first) * p->devices / count;
    int64_t next = ((device + 1) * count + p->devices - 1) / p->devices;
    *end = min(size, (first + next) * p->edge - begin);
    return (int)device;
}

/* Cells of the tile that begins there. */
static int64_t count_from(const grove_program *p, int cut, int64_t first)
{
    int64_t end = p->block.count[cut];

    if (cut == GROVE_CUT_TIME)
        grove_tile_device(p, first, &end);
    end = min(first + p->tile[cut], end);
    if (grove_domain_is_divided(p, cut))
        return min(end, grove_domain_end(p, cut, first, 1)) - first;
    return grove_domain_end(p, cut, first, end - first) - first;
}

/* From axis `from` on everything starts again. */
static void start(const grove_program *p, grove_tile *tile, int from)
{
    for (int k = from; k < GROVE_CUTS; k++) {
        tile->first[k] = 0;
        tile->count[k] = count_from(p, k, 0);
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
        tile->count[k] = count_from(p, k, tile->first[k]);
        start(p, tile, k + 1);
        return true;
    }
    return false;
}

grove_tile grove_tile_at(const grove_program *p, const int64_t first[GROVE_CUTS])
{
    grove_tile tile;

    for (int k = 0; k < GROVE_CUTS; k++) {
        tile.first[k] = first[k];
        tile.count[k] = count_from(p, k, first[k]);
    }
    return tile;
}

bool grove_tile_ends_domain(const grove_program *p, const grove_tile *tile)
{
    int64_t first = tile->first[GROVE_CUT_TIME], end = first + tile->count[GROVE_CUT_TIME];

    return grove_domain_end(p, GROVE_CUT_TIME, first, 1) == end;
}

int64_t grove_tile_parts(const grove_program *p)
{
    int64_t most = 0, parts = 0;

    for (int64_t first = 0; first < p->block.count[GROVE_CUT_TIME];) {
        int64_t end = first + count_from(p, GROVE_CUT_TIME, first);
        parts++;
        most = parts > most ? parts : most;
        if (grove_domain_end(p, GROVE_CUT_TIME, first, 1) == end)
            parts = 0;
        first = end;
    }
    return most;
}

int64_t grove_tile_count(const grove_program *p)
{
    int64_t count = 1;

    for (int k = 0; k < GROVE_CUTS; k++) {
        int64_t along = 0;
        if (!(p->divided >> k & 1))
            continue;
        for (int64_t first = 0; first < p->block.count[k]; along++)
            first += count_from(p, k, first);
        count *= along;
    }
    return count;
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
        int64_t half = (tile->count[k] + 1) / 2;
        if (!p->block.axis[k] || tile->count[k] < 2 || !begins || !divides ||
            (half < grove_domain_longest(p, k) && !grove_domain_is_divided(p, k)))
            continue;
        tile->count[k] = p->tile[k] = half;
        if (!(p->divided >> k & 1))
            grove_program_settle(p, p->tile, budget);
        tile->count[k] = count_from(p, k, tile->first[k]);
        return true;
    }
    return false;
}
