/* The forecast of a run: tiles, memory, operations. */
#include "plan/schedule.h"
#include "plan/tile.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

static double product_of(const grove_axis *const *axes, int count)
{
    double cells = 1;

    for (int d = 0; d < count; d++)
        cells *= (double)axes[d]->size;
    return cells;
}

/* Sums over sources take each source for each cell. A class that consumes other axes, such as the
 * pixels of an image, goes once through its inputs and its result, and not through all inputs for
 * each cell of the result. */
static double cells_of(const grove_node *node)
{
    double cells = product_of(node->axes, node->axis_count);
    bool sources = false;

    for (int d = 0; d < node->consumed_count; d++)
        sources = sources || node->consumed[d]->kind == GROVE_AXIS_SOURCE;
    if (sources)
        return cells * product_of(node->consumed, node->consumed_count);
    for (int k = 0; k < node->input_count; k++) {
        const grove_axis *axes[GROVE_MAX_AXES];
        cells = fmax(cells, product_of(axes, grove_node_taken_axes(node, k, axes)));
    }
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

/* The last of the largest ones: a pass that writes an image has one of a single cell. */
static void keep_largest_tile(grove_plan *plan, const grove_program *p)
{
    const int64_t *tile = p->tile;
    const int64_t times = p->block.axis[GROVE_CUT_TIME] ? tile[GROVE_CUT_TIME] : 1,
                  channels = p->block.axis[GROVE_CUT_FREQ] ? tile[GROVE_CUT_FREQ] : 1,
                  baselines = p->block.axis[GROVE_CUT_BASELINE] ? tile[GROVE_CUT_BASELINE] : 1;

    if ((double)times * (double)channels * (double)baselines <
        (double)plan->tile_times * (double)plan->tile_channels * (double)plan->tile_baselines)
        return;
    plan->tile_times = times;
    plan->tile_channels = channels;
    plan->tile_baselines = baselines;
}

static double block_cells(const grove_block *block)
{
    double cells = 1;

    for (int k = 0; k < GROVE_CUTS; k++)
        cells *= block->axis[k] ? (double)block->count[k] : 1;
    return cells;
}

double grove_schedule_visibilities(const grove_schedule *schedule, int pass)
{
    const grove_block *block = &schedule->passes[pass].program->block;
    const grove_axis *baseline = block->axis[GROVE_CUT_BASELINE];
    double most = 0;

    for (int i = 0; i < pass; i++)
        if (schedule->passes[i].program->block.axis[GROVE_CUT_BASELINE] == baseline)
            most = fmax(most, block_cells(&schedule->passes[i].program->block));
    return baseline ? fmax(block_cells(block) - most, 0) : 0;
}

static void add_pass(grove_plan *plan, const grove_schedule *schedule, const grove_pass *pass,
                     bool *seen)
{
    const grove_program *p = pass->program;

    plan->tiles += pass->tiles * pass->walks;
    plan->walks += pass->walks;
    if (p->parts) {
        plan->in_parts = pass->roots[0].node->name;
        plan->parts = grove_tile_parts(p);
        plan->reads_once =
            pass->once || pass->roots[0].node->once_memory == pass->roots[0].node->part_memory;
    }
    if (pass->peak > plan->peak_bytes) /* tiles matter where memory is counted */
        plan->peak_bytes = pass->peak;
    plan->visibilities += grove_schedule_visibilities(schedule, (int)(pass - schedule->passes));
    for (int s = 0; s < p->step_count; s++) {
        const grove_step *step = &p->steps[s];
        add_section(plan, p, step);
        int groups = step->kind == GROVE_STEP_EVAL ? grove_schedule_walks(schedule, step->node) : 1;
        plan->groups = groups > plan->groups ? groups : plan->groups;
        if (step->kind < GROVE_STEP_CAST || step->kind == GROVE_STEP_ROOT || seen[step->node->id])
            continue;
        seen[step->node->id] = true;
        plan->operations += cells_of(step->node);
    }
    keep_largest_tile(plan, p);
}

/* Memory of classes besides values. Memory of drives, accumulators, and classes that can work with
 * less counts in their pass; memory of other actions from their pass on. */
static uint64_t memory_of(const grove_facts *facts, const grove_node *node, bool action)
{
    const grove_amounts *a = grove_facts_amounts(facts, node);
    bool acts = node->class_ && node->class_->kind == GROVE_CLASS_ACTION;

    return !node->used || acts != action || grove_node_drives(node) ||
                   grove_node_accumulates(node) || a->piece_count
               ? 0
               : a->memory;
}

static uint64_t memory_of_pass(const grove_facts *facts, const grove_pass *pass)
{
    uint64_t sum = 0;

    for (int i = 0; i < pass->root_count; i++)
        sum += memory_of(facts, pass->roots[i].node, true);
    return sum;
}

/* Between the blocks that a run uses, as measured. */
enum { UNUSED_HEAP = 3 << 20 };

void grove_schedule_forecast(const grove_schedule *schedule, grove_plan *plan)
{
    const grove_tree *tree = schedule->limits.tree;
    bool *seen = grove_alloc((tree->node_count + 1) * sizeof(bool));

    *plan = GROVE_PLAN(.passes = schedule->count,
                       .undivided_bytes = (uint64_t)((double)schedule->undivided / 0.9));
    uint64_t on_host = 0; /* of states that lie on the host, while values lie on devices */
    uint64_t actions = 0, most = 0;
    for (int i = 0; i < schedule->count; i++) {
        const grove_pass *pass = &schedule->passes[i];
        uint64_t states = grove_pass_states(schedule, pass);
        add_pass(plan, schedule, pass, seen);
        actions += memory_of_pass(schedule->limits.facts, pass);
        most = pass->peak + actions > most ? pass->peak + actions : most;
        on_host = schedule->limits.host && states > on_host ? states : on_host;
    }
    plan->process_bytes = grove_memory_resident() + UNUSED_HEAP + most + on_host;
    for (size_t i = 0; i < tree->node_count; i++)
        plan->process_bytes += memory_of(schedule->limits.facts, tree->nodes[i], false);
    free(seen);
}
