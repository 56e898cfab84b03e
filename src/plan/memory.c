/* Peak memory of a pass, by walking its first tiles with sizes in place of values. */
#include "plan/schedule.h"
#include "plan/walk.h"

#include "base/memory.h"
#include "graph/skip.h"
#include "plan/rows.h"

#include <stdlib.h>

/* A value, or memory used besides values. */
typedef struct {
    grove_extent extent;
    int users;
} block;

/* A device's pool, in sizes only. */
typedef struct {
    block *free_blocks;
    size_t free_count, free_capacity;
    grove_budget budget;
} block_pool;

typedef struct {
    const grove_plan_limits *limits;
    const grove_pass *pass;
    block_pool pool;
    uint64_t largest; /* of the values of a tile */
} sizes;

/* As the pool of the host does, see device/cpu.c. */
static block *take_extent(sizes *z, grove_extent extent)
{
    block_pool *pool = &z->pool;
    block *best = NULL, *new = grove_alloc(sizeof(*new));
    bool fills = false;

    extent.bytes = grove_block_bytes(&pool->budget.rule, extent.bytes);
    for (size_t i = 0; i < pool->free_count; i++)
        if (grove_extent_is_better(&pool->budget.rule, &extent, &pool->free_blocks[i].extent,
                                   best ? &best->extent : NULL))
            best = &pool->free_blocks[i];
    if (best) {
        const grove_extent had = best->extent;
        *best = pool->free_blocks[--pool->free_count];
        fills = grove_extent_fills(&extent, &had);
        if (fills)
            extent = had;
        else
            grove_budget_drop(&pool->budget, grove_extent_memory(&had));
    }
    if (fills)
        grove_budget_reuse(&pool->budget, grove_extent_memory(&extent));
    else
        grove_budget_take(&pool->budget, grove_extent_memory(&extent));
    *new = (block){extent, 1};
    return new;
}

static block *take_block(sizes *z, uint64_t bytes)
{
    return take_extent(z, (grove_extent){.bytes = bytes});
}

static void drop_block(sizes *z, block *old)
{
    block_pool *pool = &z->pool;

    if (--old->users)
        return;
    grove_budget_release(&pool->budget, grove_extent_memory(&old->extent));
    grove_grow((void **)&pool->free_blocks, &pool->free_capacity, pool->free_count, sizeof(block));
    pool->free_blocks[pool->free_count++] = *old;
    free(old);
}

static void *ref(grove_walk *walk, void *value)
{
    (void)walk;
    ((block *)value)->users++;
    return value;
}

static void unref(grove_walk *walk, void *value)
{
    drop_block(walk->context, value);
}

/* ---- steps ---- */

/* Whether it is computed in sections of a sum, which do not depend on the tile. */
static bool is_section(const grove_step *step)
{
    return step->kind >= GROVE_STEP_KERNEL && step->kind <= GROVE_STEP_EVAL;
}

static uint64_t bytes_of(const grove_walk *walk, const grove_step *step)
{
    return grove_step_bytes(walk->program, &walk->spot, step);
}

/* A value of that shape: its numbers, perhaps with gaps, and its flags. */
static block *take_numbers(const grove_walk *walk, const grove_step *shape, grove_gaps gaps)
{
    const uint64_t each = grove_form_bytes(&shape->node->form, shape->double_);
    const grove_extent extent = {bytes_of(walk, shape), gaps};

    if (gaps.written)
        gaps.written += extent.bytes / (each + shape->flagged) * shape->flagged;
    return take_extent(walk->context, (grove_extent){extent.bytes, gaps});
}

static block *take_value(const grove_walk *walk, const grove_step *step)
{
    return take_numbers(walk, step, grove_step_gaps(walk->program, &walk->spot, step));
}

int grove_plan_states(const grove_plan_limits *limits, const grove_node *node)
{
    uint64_t room = (limits->host ? limits->host : limits->budget) / 8 /
                    grove_facts_amounts(limits->facts, node)->memory;
    uint64_t threads = limits->threads > 1 ? (uint64_t)limits->threads : 1;

    if (!node->class_->accumulator->merge || room < 2)
        return 1;
    return (int)(room < threads ? room : threads);
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static const grove_amounts *amounts_of(const grove_schedule *s, const grove_node *node)
{
    return grove_facts_amounts(s->limits.facts, node);
}

uint64_t grove_pass_states(const grove_schedule *schedule, const grove_pass *pass)
{
    const grove_tree *tree = schedule->limits.tree;
    uint64_t sum = 0, scratch = 0; /* of one accumulator after the other */

    for (int i = 0; i < pass->root_count; i++) {
        const grove_node *node = pass->roots[i].node;
        const grove_amounts *a = amounts_of(schedule, node);
        if (pass->roots[i].kind == GROVE_ROOT_COLLECT && grove_node_accumulates(node)) {
            sum += smaller(schedule->grants[node->id],
                           a->memory * (uint64_t)grove_plan_states(&schedule->limits, node));
            scratch = a->scratch > scratch ? a->scratch : scratch;
        } else if (pass->roots[i].kind == GROVE_ROOT_ACTION && grove_node_drives(node)) {
            sum += !pass->program->parts ? a->memory
                   : pass->once          ? node->once_memory
                                         : node->part_memory;
        }
    }
    for (size_t i = 0; i < tree->node_count; i++)
        if (tree->nodes[i]->used && amounts_of(schedule, tree->nodes[i])->piece_count &&
            !grove_node_accumulates(tree->nodes[i]))
            sum += smaller(schedule->grants[tree->nodes[i]->id],
                           amounts_of(schedule, tree->nodes[i])->memory);
    return sum + scratch;
}

/* Scratch memory of a class while it computes a value. */
static void pass_scratch(const grove_walk *walk, const grove_step *step)
{
    grove_range range[GROVE_MAX_AXES];

    if (step->kind != GROVE_STEP_EVAL)
        return;
    grove_step_ranges(&walk->spot, step, range);
    uint64_t bytes = grove_node_scratch_bytes(step->node, range, step->axes);
    if (bytes)
        drop_block(walk->context, take_block(walk->context, bytes));
}

static uint64_t sums_bytes(const grove_walk *walk, const grove_step *step, unsigned divided)
{
    const sizes *z = walk->context;
    grove_range space[GROVE_MAX_AXES];
    const grove_node *in = step->node->inputs[0].node;

    if (is_section(step)) /* sums are in double */
        return bytes_of(walk, step) * (step->double_ ? 1 : 2);
    grove_step_ranges(&walk->spot, step, space);
    for (int d = 0, n = step->axes; d < in->axis_count && n < GROVE_MAX_AXES; d++) {
        bool has = false;
        for (int e = 0; e < step->axes; e++)
            has = has || step->axis[e] == in->axes[d];
        if (!has)
            space[n++] = (grove_range){in->axes[d], 0, in->axes[d]->size};
    }
    int axes = in->axis_count < GROVE_MAX_AXES ? in->axis_count : GROVE_MAX_AXES;
    return z->limits->reduction_bytes(step->node, space, axes,
                                      divided ? &walk->program->block : &walk->spot.tile, divided,
                                      step->flagged, step->body > 0);
}

/* An accumulator needs its input dense over the tile; otherwise it is copied. */
static void copy_inputs(grove_walk *walk, const grove_step *step)
{
    const grove_program *p = walk->program;
    block *copies[GROVE_MAX_INPUTS] = {0};

    for (int k = 0; k < step->inputs; k++) {
        grove_range space[GROVE_MAX_AXES], given[GROVE_MAX_AXES];
        if (step->input[k] < 0)
            continue;
        grove_step shape = p->steps[step->input[k]];
        int axes = grove_step_taken_ranges(p, &walk->spot, step, k, space);
        bool same = axes == shape.axes;
        grove_step_ranges(&walk->spot, &shape, given);
        for (int d = 0; d < axes && same; d++)
            same = given[d].axis == space[d].axis && given[d].count == space[d].count;
        if (same)
            continue;
        shape.kind = GROVE_STEP_CAST;
        shape.axes = axes;
        for (int d = 0; d < axes; d++) {
            shape.axis[d] = space[d].axis;
            shape.span[d] = (grove_span){GROVE_SPAN_FIXED, 0, space[d].first, space[d].count};
        }
        copies[k] = take_block(walk->context, bytes_of(walk, &shape));
    }
    for (int k = 0; k < step->inputs; k++)
        if (copies[k])
            drop_block(walk->context, copies[k]);
}

/* Later chunks are no larger than the first ones. */
static int make_body(grove_walk *walk, int s)
{
    const grove_step *step = &walk->program->steps[s];
    const grove_loop *loop = &walk->program->loops[step->body];
    int code = 0;

    bool copies = step->collects && grove_node_accumulates(step->node);

    if (!step->body && copies)
        copy_inputs(walk, step);
    if (!step->body)
        return 0;
    for (int64_t first = 0; first < 2 * loop->chunk && first < loop->axis->size && !code;
         first += loop->chunk) {
        code = grove_walk_body(walk, s, first);
        block *part = is_section(step) ? take_block(walk->context, bytes_of(walk, step)) : NULL;
        pass_scratch(walk, step);
        if (copies)
            copy_inputs(walk, step);
        grove_walk_end_body(walk, s);
        if (part)
            drop_block(walk->context, part);
    }
    return code;
}

/* The node's values over the tile. */
static grove_step over_tile(const grove_program *p, const grove_step *like, const grove_node *node)
{
    grove_step shape = *like;

    shape.kind = GROVE_STEP_CAST;
    shape.axes = node->axis_count;
    for (int d = 0; d < shape.axes; d++) {
        shape.axis[d] = node->axes[d];
        shape.span[d] = (grove_span){GROVE_SPAN_FIXED, 0, 0, node->axes[d]->size};
        for (int c = 0; c < GROVE_CUTS; c++)
            if (p->block.axis[c] == node->axes[d])
                shape.span[d] = (grove_span){GROVE_SPAN_TILE, c, 0, 0};
    }
    return shape;
}

/* Memory for a drive's computation on a device. */
static void pass_drive(const grove_walk *walk, const grove_step *root)
{
    grove_range range[GROVE_MAX_AXES];
    grove_step shape = over_tile(walk->program, root, root->node);

    grove_step_ranges(&walk->spot, &shape, range);
    uint64_t bytes = grove_node_scratch_bytes(root->node, range, shape.axes);
    if (bytes)
        drop_block(walk->context, take_block(walk->context, bytes));
}

/* Whether it is the result of an earlier pass, and the tile has all of it. */
static bool is_whole(const grove_step *in, const grove_step *over_tile)
{
    bool whole = in->kind == GROVE_STEP_GIVEN;

    for (int d = 0; d < over_tile->axes; d++)
        whole = whole && over_tile->span[d].kind == GROVE_SPAN_FIXED;
    return whole;
}

/* A copy of an action's input, of this shape. */
static block *take_copy(const grove_walk *walk, const grove_step *root, int k,
                        const grove_step *shape)
{
    const grove_node *in = root->node->inputs[k].node;
    grove_range range[GROVE_MAX_AXES];

    grove_step_ranges(&walk->spot, shape, range);
    const bool leaves = grove_root_rows(walk->program, root, k, range, shape->axes) >= 0;
    return take_numbers(walk, shape,
                        leaves ? grove_rows_gaps(root->node->rows, range, shape->axes,
                                                 grove_form_bytes(&in->form, shape->double_))
                               : (grove_gaps){.written = 0});
}

/* An action's inputs are held until they are written. An input that is not dense over the action's
 * axes is copied. */
static void hold_inputs(grove_walk *walk, const grove_step *step)
{
    const grove_program *p = walk->program;

    for (int k = 0; k < step->inputs; k++) {
        if (step->input[k] < 0)
            continue;
        const grove_step *in = &p->steps[step->input[k]];
        block *value = walk->slots[step->input[k]].value;
        const bool dense = k > 0 || in->axes >= step->node->axis_count;
        if (value && dense) {
            grove_walk_hold(walk, ref(walk, value));
            continue;
        }
        grove_step shape = over_tile(p, in, k == 0 ? step->node : in->node);
        if (dense && is_whole(in, &shape))
            continue;
        grove_walk_hold(walk, take_copy(walk, step, k, &shape));
    }
}

/* A cast that changes nothing passes its input on. */
static bool is_shared(const grove_walk *walk, const grove_step *step)
{
    const grove_step *in =
        step->kind == GROVE_STEP_CAST ? &walk->program->steps[step->input[0]] : NULL;
    grove_range own[GROVE_MAX_AXES], given[GROVE_MAX_AXES];

    if (!in || !walk->slots[step->input[0]].value || in->double_ != step->double_ ||
        in->node->form.complex_ != step->node->form.complex_ || in->axes != step->axes)
        return false;
    grove_step_ranges(&walk->spot, step, own);
    grove_step_ranges(&walk->spot, in, given);
    for (int d = 0; d < step->axes; d++)
        if (own[d].first != given[d].first || own[d].count != given[d].count)
            return false;
    return true;
}

static int make(grove_walk *walk, int s, void **value)
{
    sizes *z = walk->context;
    const grove_step *step = &walk->program->steps[s];
    uint64_t bytes = bytes_of(walk, step);
    int code = 0;

    if (step->kind == GROVE_STEP_ROOT) {
        if (z->pass->roots[step->root].kind == GROVE_ROOT_ACTION) {
            hold_inputs(walk, step);
            pass_drive(walk, step);
        }
        return step->collects ? make_body(walk, s) : 0;
    }
    if (step->kind == GROVE_STEP_REDUCE || step->body) {
        block *sums = take_block(z, sums_bytes(walk, step, 0));
        code = make_body(walk, s);
        *value = take_value(walk, step);
        drop_block(z, sums);
    } else if (!(*value = grove_walk_take_ready(walk, s))) {
        if (is_shared(walk, step))
            *value = ref(walk, walk->slots[step->input[0]].value);
        else if (bytes)
            *value = take_value(walk, step);
        pass_scratch(walk, step);
    }
    if (!step->loop && !step->body && bytes > z->largest && step->keep != GROVE_KEEP_SLOT)
        z->largest = bytes;
    return code;
}

static int prepare(grove_walk *walk, int step, void **value)
{
    *value = take_value(walk, &walk->program->steps[step]);
    return 0;
}

static const grove_walk_work work = {.ref = ref, .unref = unref, .make = make, .prepare = prepare};

/* ---- chunks ---- */

static bool is_within(const grove_program *p, int loop, int outer)
{
    while (loop && loop != outer)
        loop = p->steps[p->loops[loop].owner].loop;
    return loop == outer;
}

/* Sets chunks of about `bytes` in all steps of a loop; inner loops first. */
static void choose_chunks(grove_program *p, grove_spot *spot, uint64_t bytes)
{
    for (int l = 1; l < p->loop_count; l++)
        spot->chunks[l].count = 1;
    for (int l = p->loop_count - 1; l > 0; l--) {
        uint64_t each = 1;
        for (int s = 0; s < p->step_count && p->loops[l].owner >= 0; s++)
            if (p->steps[s].loop && is_within(p, p->steps[s].loop, l))
                each += grove_step_bytes(p, spot, &p->steps[s]);
        uint64_t chunk = bytes / each, size = (uint64_t)p->loops[l].axis->size;
        if (p->loops[l].owner >= 0 && is_section(&p->steps[p->loops[l].owner]))
            chunk = (uint64_t)p->section;
        chunk = chunk < 1 ? 1 : chunk > size ? size : chunk;
        spot->chunks[l].count = p->loops[l].chunk = (int64_t)chunk;
    }
}

/* ---- the pass ---- */

/* Values that live as long as the pass: partial sums, stored values, earlier results. */
static uint64_t lasting_bytes(const grove_walk *walk, uint64_t sum)
{
    const sizes *z = walk->context;
    const grove_program *p = walk->program;

    for (int s = 0; s < p->step_count; s++) {
        const grove_step *step = &p->steps[s];
        if (step->kind != GROVE_STEP_ROOT)
            continue;
        if (step->collects && !grove_node_accumulates(step->node))
            sum += sums_bytes(walk, step, p->divided);
        else if (z->pass->roots[step->root].kind == GROVE_ROOT_STORE && p->divided) {
            grove_spot whole = {.tile = p->block, .chunks = walk->spot.chunks};
            sum += grove_step_bytes(p, &whole, &p->steps[step->input[0]]);
        }
    }
    return sum;
}

/* Walks the tiles under way at once, and two more. */
static void walk_tiles(grove_walk *walk)
{
    const grove_program *p = walk->program;
    const grove_pass *pass = ((const sizes *)walk->context)->pass;
    grove_tile tile = grove_tile_begin(p);
    bool more = true;
    int code = grove_walk_read_ahead(walk, &tile);

    for (int i = 0; i < walk->flight_count + 2 && more && !code; i++) {
        grove_tile next = tile;
        more = grove_tile_advance(p, &next);
        code = grove_walk_begin(walk, &tile, more ? &next : NULL);
        if (!code)
            code = grove_walk_evaluate(walk);
        if (!code && p->depends)
            code = grove_walk_again(walk);
        if (!code && p->depends && pass->root_count > 1)
            code = grove_walk_follow(walk);
        grove_walk_end(walk);
        tile = next;
    }
}

uint64_t grove_pass_footprint(const grove_schedule *schedule, const grove_pass *pass,
                              const int64_t tile[GROVE_CUTS], uint64_t chunk_bytes,
                              uint64_t *largest)
{
    const grove_plan_limits *limits = &schedule->limits;
    grove_program *p = pass->program;
    sizes z = {.limits = limits, .pass = pass, .pool.budget.rule = limits->block_rule};

    grove_program_settle(p, tile, limits->budget / 4);
    grove_walk *walk = grove_walk_new(p, &work, &z, limits->flights, limits->serial);
    grove_tile first = grove_tile_begin(p);
    walk->spot.tile = grove_tile_block(p, &first);
    choose_chunks(p, &walk->spot, chunk_bytes);
    walk_tiles(walk);
    walk->spot.tile = grove_tile_block(p, &first);
    uint64_t states = grove_pass_states(schedule, pass);
    uint64_t lasting = schedule->result_bytes + (states > limits->host ? states : 0);
    lasting = lasting_bytes(walk, lasting);
    grove_walk_free(walk);
    *largest = z.largest;
    free(z.pool.free_blocks);
    return z.pool.budget.peak + lasting;
}
