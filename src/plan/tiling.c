/* Chooses tiles: as many times as fit the memory, then channels, then baselines; or baselines only.
 */
#include "plan/domain.h"
#include "plan/schedule.h"
#include "plan/tile.h"

#include "graph/skip.h"

#include <math.h>
#include <string.h>

#define MIB ((uint64_t)1 << 20)

typedef struct {
    const grove_schedule *schedule;
    grove_pass *pass;
    uint64_t budget, chunk, most_bytes; /* `most_bytes`: of a tile's largest value */
} chooser;

static bool fits(chooser *c, const int64_t tile[GROVE_CUTS])
{
    c->pass->peak = grove_pass_footprint(c->schedule, c->pass, tile, c->chunk, &c->pass->largest);
    return c->pass->peak <= c->budget;
}

/* Whether the pass may be cut along the axis. */
static bool can_cut(const chooser *c, int cut)
{
    const grove_program *p = c->pass->program;

    return p->block.axis[cut] && p->cuttable >> cut & 1;
}

/* An action that has a tile evaluated again gets a domain at a time: others would be evaluated in
 * vain. */
static int64_t most_cells(const grove_program *p, int cut)
{
    return p->depends && p->domains[cut].count && p->cuttable >> cut & 1
               ? grove_domain_longest(p, cut)
               : p->block.count[cut];
}

/* The largest number of cells along an axis that fits and, along the first that may be cut, keeps
 * values within `most_bytes`, or within the smallest tile's: values that are in all tiles, such as
 * the planes of a grid, are read and written in each of them. 0 if not even one cell fits. */
static int64_t max_cells(chooser *c, int64_t tile[GROVE_CUTS], int cut)
{
    const bool first = c->pass->program->cuttable % (2u << cut) == 1u << cut;
    int64_t low = 0, high = most_cells(c->pass->program, cut);
    uint64_t most_bytes = c->most_bytes;

    tile[cut] = 1;
    if (first && high > 0 && fits(c, tile) && c->pass->largest > most_bytes)
        most_bytes = c->pass->largest;
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;
        tile[cut] = middle;
        bool good = fits(c, tile);
        if (good && (middle == 1 || !first || c->pass->largest <= most_bytes))
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Tiles of about one size: of the whole, or of a device's share of it. */
static int64_t even(const grove_program *p, int cut, int64_t tile)
{
    int64_t size = most_cells(p, cut);

    if (cut == GROVE_CUT_TIME && p->devices > 1 && tile < size) {
        int64_t edges = (size + p->edge - 1) / p->edge;
        size = (edges + p->devices - 1) / p->devices * p->edge;
        tile = tile < size ? tile : size;
    }
    int64_t count = (size + tile - 1) / tile;
    return (size + count - 1) / count;
}

static bool search(chooser *c, int64_t tile[GROVE_CUTS])
{
    const grove_block *block = &c->pass->program->block;
    bool any = false;

    for (int k = 0; k < GROVE_CUTS; k++) {
        if (!can_cut(c, k) || block->count[k] == 0)
            continue;
        int64_t found = max_cells(c, tile, k);
        if (found) {
            tile[k] = even(c->pass->program, k, found);
            return true;
        }
        tile[k] = 1;
        any = true;
    }
    return !any && fits(c, tile);
}

static bool force(chooser *c, int64_t tile[GROVE_CUTS])
{
    const int64_t *given = c->schedule->limits.tile;
    bool any = false;

    for (int k = 0; k < GROVE_CUTS; k++) {
        any = any || given[k];
        if (given[k] > 0 && given[k] < tile[k])
            tile[k] = given[k];
    }
    return any;
}

/* The largest power of two with which the smallest tile fits: it depends on the tree and the memory
 * only. */
static void choose_section(chooser *c)
{
    grove_program *p = c->pass->program;
    uint64_t chunk = c->chunk;
    int64_t tile[GROVE_CUTS];

    memcpy(tile, p->block.count, sizeof(tile));
    for (int k = 0; k < GROVE_CUTS; k++)
        if (can_cut(c, k) && tile[k] > 1)
            tile[k] = 1;
    p->section = 1;
    for (int l = 1; l < p->loop_count; l++)
        while (p->section < p->loops[l].axis->size)
            p->section *= 2;
    while (!fits(c, tile) && p->section > 1) {
        c->chunk = c->chunk > 4096 ? c->chunk / 16 : chunk;
        p->section /= c->chunk == chunk ? 2 : 1;
    }
    c->chunk = chunk;
}

/* Takes the tiles of the pass before, if both use the same values and the tiles fit. */
static bool take_tiles(chooser *c)
{
    const grove_schedule *s = c->schedule;
    const grove_program *before = c->pass > s->passes ? c->pass[-1].program : NULL;
    const grove_program *p = c->pass->program;

    for (int k = 0; before && k < GROVE_CUTS; k++)
        if (p->block.axis[k] != before->block.axis[k])
            before = NULL;
    return s->keeps_again && before && fits(c, before->tile);
}

static uint64_t within(uint64_t bytes, uint64_t min, uint64_t max)
{
    return bytes < min ? min : bytes > max ? max : bytes;
}

/* Whether a class makes its parts anew for each tile. */
static bool makes_parts(const chooser *c)
{
    const grove_program *p = c->pass->program;

    for (int s = 0; s < p->step_count; s++)
        if (p->steps[s].kind == GROVE_STEP_EVAL &&
            grove_schedule_walks(c->schedule, p->steps[s].node) > 1)
            return true;
    return false;
}

/* The smallest share of rows that are there of an accumulator's inputs. */
static double share_of_rows(const grove_program *p)
{
    double share = 1;

    for (int s = 0; s < p->step_count; s++) {
        const grove_step *step = &p->steps[s];
        if (step->collects && grove_node_accumulates(step->node) && step->node->rows)
            share = fmin(share, grove_node_rows_share(step->node->rows));
    }
    return share;
}

/* Several tiles, so that reading and writing overlap with computing. On the host the values of one
 * tile stay in the last-level cache, but are not so small that managing them costs a percent. Of a
 * set with few rows a gridder gets as many rows in a tile as of others, up to 64 MiB of cells: an
 * image of 16 offsets of time took 1.38 s in tiles of 2 times, 1.02 of 16 and 0.99 of 64.
 *
 * A device computes the blocks of a launch in waves, as many at once as it has room for, and half a
 * wave is idle at the end. One of an H100 is 132 multiprocessors x 3 blocks x 128 rows x 32
 * channels of predict, 50 MiB of matrices. Results go to pages of the host that are pinned first,
 * 0.13 ms for a MiB and each of two tiles: beyond 256 MiB, five waves, more is lost than gained (of
 * 5.5 GiB in 9 tiles 1,000 sources took 0.31 to 0.37 s, in 24 tiles 0.20 to 0.23; 10,000 sources
 * 0.54 to 0.56 and 0.49 to 0.51). */
static uint64_t choose_most_bytes(const chooser *c)
{
    uint64_t devices = (uint64_t)c->schedule->limits.devices, whole = c->pass->largest;

    if (makes_parts(c))
        return c->budget;
    if (!devices)
        return within((uint64_t)((double)within(whole / 8, 4 * MIB, 8 * MIB) /
                                 share_of_rows(c->pass->program)),
                      4 * MIB, 64 * MIB);
    return within(whole / (20 * devices), 32 * MIB, within(c->budget / 16, 64 * MIB, 256 * MIB));
}

static void begin(const grove_program *p, int64_t tile[GROVE_CUTS])
{
    for (int k = 0; k < GROVE_CUTS; k++)
        tile[k] = most_cells(p, k);
}

static bool choose(const grove_schedule *schedule, grove_pass *pass)
{
    uint64_t memory = schedule->limits.budget;
    chooser c = {schedule, pass, memory - memory / 10, memory / 8, 0};
    int64_t tile[GROVE_CUTS];
    bool found;

    if (c.chunk > 64 * MIB)
        c.chunk = 64 * MIB;
    if (pass->program->section)
        choose_section(&c);
    if (take_tiles(&c)) {
        pass->tiles = grove_tile_count(pass->program);
        return true;
    }
    begin(pass->program, tile);
    bool forced = force(&c, tile);
    found = fits(&c, tile);
    c.most_bytes = choose_most_bytes(&c);
    while (!forced && pass->program->cuttable) {
        begin(pass->program, tile);
        found = search(&c, tile);
        if (found || c.chunk <= 4096)
            break;
        c.chunk /= 16;
    }
    /* sets chunks and kept values for the chosen tiles */
    fits(&c, tile);
    pass->tiles = grove_tile_count(pass->program);
    return found;
}

bool grove_tiles_choose(const grove_schedule *schedule, grove_pass *pass)
{
    const grove_plan_limits *limits = &schedule->limits;

    pass->once = pass->program->parts && pass->roots[0].node->once_memory;
    if (pass->once && (!limits->host || grove_pass_states(schedule, pass) <= limits->host) &&
        choose(schedule, pass))
        return true;
    pass->once = false;
    return choose(schedule, pass);
}
