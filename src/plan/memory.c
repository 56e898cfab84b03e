/* Peak memory of a pass, by walking its first tiles with sizes in place of values. */
#include "plan/schedule.h"
#include "plan/walk.h"

#include "base/memory.h"
#include "graph/skip.h"
#include "plan/rows.h"

#include <math.h>
#include <stdlib.h>

/* A value, or memory used beside values. */
typedef struct {
    uint64_t bytes, resident; /* the latter without pages of gaps, in any of its uses */
    int users;
} block;

/* A device's pool, in sizes only. */
typedef struct {
    block *free_blocks;
    size_t free_count, free_capacity;
    grove_budget budget;
    uint64_t resident; /* of all blocks; the pool gives none back */
} block_pool;

typedef struct {
    const grove_plan_limits *limits;
    const grove_pass *pass;
    block_pool pool;
    uint64_t largest; /* of the values of a tile */
} sizes;

/* `resident`: of the `bytes`, those in pages that are written to. */
static block *take_pages(sizes *z, uint64_t bytes, uint64_t resident)
{
    block_pool *pool = &z->pool;
    size_t best = pool->free_count;
    uint64_t best_bytes = 0, had = 0;
    block *new = grove_alloc(sizeof(*new));

    bytes = grove_block_bytes(&pool->budget.rule, bytes);
    for (size_t i = 0; i < pool->free_count; i++)
        if (grove_block_is_better(&pool->budget.rule, bytes, pool->free_blocks[i].bytes,
                                  best_bytes))
            best_bytes = pool->free_blocks[best = i].bytes;
    if (best_bytes) {
        bytes = best_bytes;
        had = pool->free_blocks[best].resident;
        pool->free_blocks[best] = pool->free_blocks[--pool->free_count];
        grove_budget_reuse(&pool->budget, bytes);
    } else {
        grove_budget_take(&pool->budget, bytes);
    }
    *new = (block){bytes, resident > had ? resident : had, 1};
    pool->resident += new->resident - had;
    return new;
}

static block *take_block(sizes *z, uint64_t bytes)
{
    return take_pages(z, bytes, grove_block_bytes(&z->pool.budget.rule, bytes));
}

static void drop_block(sizes *z, block *old)
{
    block_pool *pool = &z->pool;

    if (--old->users)
        return;
    grove_budget_release(&pool->budget, old->bytes);
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

/* The step's value. Where it is mostly gaps, and large enough for small pages, a run of rows takes
 * a page more than its bytes, and flags have all of theirs. */
static block *take_value(const grove_walk *walk, const grove_step *step)
{
    enum { PAGE = 4096 };
    const grove_node *missing = step->node->rows;
    const uint64_t bytes = bytes_of(walk, step);
    const double share = step->rows_only ? grove_node_rows_share(missing) : 1;
    const uint64_t each = grove_form_bytes(&step->node->form, step->double_);
    const uint64_t data = bytes / (each + step->flagged) * each;

    if (share >= GROVE_FEW_ROWS || data <= GROVE_MUCH_OF_GAPS)
        return take_block(walk->context, bytes);
    grove_range range[GROVE_MAX_AXES];
    double rows = 1;
    grove_step_ranges(&walk->spot, step, range);
    for (int d = 0; d < step->axes; d++)
        if (grove_node_has_axis(missing, step->axis[d]))
            rows *= (double)range[d].count;
    double pages = share * (double)data + PAGE * rows * grove_node_runs_share(missing);
    return take_pages(walk->context, bytes, bytes - data + (uint64_t)fmin(pages, (double)data));
}

int grove_plan_states(const grove_plan_limits *limits, const grove_node *node)
{
    uint64_t room = (limits->host ? limits->host : limits->budget) / 8 /
                    grove_facts_amounts(limits->facts, node)->memory;
    uint64_t threads = limits->threads > 1 ? (uint64_t)limits->threads : 1;

    if (!node->class_->accumulate_merge || room < 2)
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

/* What a class may ask for while it computes a value. */
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

/* What a drive may have computed on a device. */
static void pass_drive(const grove_walk *walk, const grove_step *root)
{
    grove_range range[GROVE_MAX_AXES];
    grove_step shape = over_tile(walk->program, root, root->node);

    grove_step_ranges(&walk->spot, &shape, range);
    uint64_t bytes = grove_node_scratch_bytes(root->node, range, shape.axes);
    if (bytes)
        drop_block(walk->context, take_block(walk->context, bytes));
}

/* Whether it is the result of an earlier pass, of which the tile has all. */
static bool is_whole(const grove_step *in, const grove_step *over_tile)
{
    bool whole = in->kind == GROVE_STEP_GIVEN;

    for (int d = 0; d < over_tile->axes; d++)
        whole = whole && over_tile->span[d].kind == GROVE_SPAN_FIXED;
    return whole;
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
        grove_walk_hold(walk, take_block(walk->context, bytes_of(walk, &shape)));
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
                              uint64_t *largest, uint64_t *resident)
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
    *resident = z.pool.resident + lasting;
    grove_walk_free(walk);
    *largest = z.largest;
    free(z.pool.free_blocks);
    return z.pool.budget.peak + lasting;
}
