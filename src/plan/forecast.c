/* The forecast of a run: tiles, memory, operations. */
#include "plan/schedule.h"
#include "plan/tile.h"

#include "base/memory.h"

#include <stdlib.h>

static double cells_of(const grove_node *node)
{
    double cells = 1;

    for (int d = 0; d < node->axis_count; d++)
        cells *= (double)node->axes[d]->size;
    for (int d = 0; d < node->consumed_count; d++)
        cells *= (double)node->consumed[d]->size;
    return cells;
}

/* Sources per section, if a class sums in sections. */
static void add_section(grove_plan *plan, const grove_program *p, const grove_step *step)
{
    const grove_loop *loop = &p->loops[step->body];

    if (step->body && step->kind >= GROVE_STEP_KERNEL && step->kind <= GROVE_STEP_EVAL &&
        loop->chunk < loop->axis->size && (!plan->section || loop->chunk < plan->section))
        plan->section = loop->chunk;
}

static void add_pass(grove_plan *plan, const grove_pass *pass, bool *seen)
{
    const grove_program *p = pass->program;

    plan->tiles += pass->tiles;
    if (p->parts) {
        plan->in_parts = pass->roots[0].node->name;
        plan->parts = grove_tile_parts(p);
        plan->reads_once =
            pass->once || pass->roots[0].node->once_memory == pass->roots[0].node->part_memory;
    }
    if (pass->peak > plan->peak_bytes) /* tiles matter where memory is counted */
        plan->peak_bytes = pass->peak;
    for (int i = 0; i < pass->root_count; i++)
        if (pass->roots[i].kind == GROVE_ROOT_ACTION)
            plan->visibilities += cells_of(pass->roots[i].node);
    for (int s = 0; s < p->step_count; s++) {
        const grove_step *step = &p->steps[s];
        add_section(plan, p, step);
        if (step->kind < GROVE_STEP_CAST || step->kind == GROVE_STEP_ROOT || seen[step->node->id])
            continue;
        seen[step->node->id] = true;
        plan->operations += cells_of(step->node);
    }
    /* tiles of the writing pass, which is the last */
    const int64_t *tile = p->tile;
    plan->tile_times = p->block.axis[GROVE_CUT_TIME] ? tile[GROVE_CUT_TIME] : 1;
    plan->tile_channels = p->block.axis[GROVE_CUT_FREQ] ? tile[GROVE_CUT_FREQ] : 1;
    plan->tile_baselines = p->block.axis[GROVE_CUT_BASELINE] ? tile[GROVE_CUT_BASELINE] : 1;
}

void grove_schedule_forecast(const grove_schedule *schedule, grove_plan *plan)
{
    const grove_tree *tree = schedule->limits.tree;
    bool *seen = grove_alloc((tree->node_count + 1) * sizeof(bool));

    *plan = (grove_plan){.passes = schedule->count,
                         .undivided_bytes = (uint64_t)((double)schedule->undivided / 0.9)};
    uint64_t beside = 0; /* of states that lie on the host, while values lie on devices */
    for (int i = 0; i < schedule->count; i++) {
        uint64_t states = grove_pass_states(schedule, &schedule->passes[i]);
        add_pass(plan, &schedule->passes[i], seen);
        beside = schedule->limits.host && states > beside ? states : beside;
    }
    plan->process_bytes = grove_memory_resident() + plan->peak_bytes + beside;
    for (size_t i = 0; i < tree->node_count; i++)
        if (tree->nodes[i]->used && !grove_node_drives(tree->nodes[i]) &&
            !grove_node_accumulates(tree->nodes[i])) /* these are counted with their pass */
            plan->process_bytes += tree->nodes[i]->memory;
    free(seen);
}
