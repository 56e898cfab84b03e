#include "plan/tile.h"

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* From axis `from` on everything starts again. */
static void start(const grove_pass *pass, grove_tile *spot, int from)
{
    for (int k = from; k < GROVE_CUTS; k++) {
        spot->first[k] = 0;
        spot->count[k] = least(pass->tile[k], pass->program->block.count[k]);
    }
}

grove_tile grove_tile_begin(const grove_pass *pass)
{
    grove_tile spot;

    start(pass, &spot, 0);
    return spot;
}

bool grove_tile_advance(const grove_pass *pass, grove_tile *spot)
{
    const grove_program *p = pass->program;

    for (int k = GROVE_CUTS - 1; k >= 0; k--) {
        if (!(p->divided >> k & 1))
            continue;
        spot->first[k] += spot->count[k];
        if (spot->first[k] >= p->block.count[k])
            continue;
        spot->count[k] = least(pass->tile[k], p->block.count[k] - spot->first[k]);
        start(pass, spot, k + 1);
        return true;
    }
    return false;
}

void grove_tile_set(const grove_pass *pass, const grove_tile *spot)
{
    grove_program *p = pass->program;

    p->tile = p->block;
    for (int k = 0; k < GROVE_CUTS; k++) {
        if (!(p->divided >> k & 1))
            continue;
        p->tile.first[k] = p->block.first[k] + spot->first[k];
        p->tile.count[k] = spot->count[k];
    }
}

int64_t grove_tile_device(const grove_pass *pass, const grove_tile *spot, int64_t number,
                          int64_t device, int devices)
{
    int64_t time = spot->first[GROVE_CUT_TIME], times = pass->program->block.count[GROVE_CUT_TIME];
    bool collects = false;

    for (int i = 0; i < pass->root_count; i++)
        collects = collects || pass->roots[i].kind == GROVE_ROOT_COLLECT;
    if (!collects)
        return number;
    return times && time % GROVE_ACCUMULATOR_BLOCK == 0 ? time * devices / times : device;
}

/* Results that are gathered depend on which axes are cut. */
static bool may_divide(const grove_pass *pass, int cut)
{
    if (pass->program->divided >> cut & 1)
        return true;
    for (int i = 0; i < pass->root_count; i++)
        if (pass->roots[i].accumulator || pass->roots[i].stored)
            return false;
    return pass->program->cuttable >> cut & 1;
}

static void let_go(grove_program *p)
{
    for (int s = 0; s < p->step_count; s++) {
        grove_step *step = &p->steps[s];
        if (step->keep == GROVE_KEEP_SLOT && !(step->cut & p->divided))
            continue;
        grove_value_unref(step->kept);
        step->kept = NULL;
    }
}

bool grove_tile_halve(grove_pass *pass, grove_tile *spot, uint64_t budget)
{
    grove_program *p = pass->program;

    for (int k = 0; k < GROVE_CUTS; k++) {
        bool begins = true; /* no tile with these cells was done */
        for (int j = k + 1; j < GROVE_CUTS; j++)
            begins = begins && (!(p->divided >> j & 1) || spot->first[j] == 0);
        if (!p->block.axis[k] || spot->count[k] < 2 || !begins || !may_divide(pass, k))
            continue;
        spot->count[k] = pass->tile[k] = (spot->count[k] + 1) / 2;
        if (!(p->divided >> k & 1))
            grove_program_settle(p, pass->tile, budget);
        let_go(p);
        return true;
    }
    return false;
}
