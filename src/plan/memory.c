/* The memory that a pass takes: its first tiles are gone through with sizes instead of numbers. */
#include "plan/schedule.h"
#include "run/devices.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define LARGE ((uint64_t)1 << 19)

/* As the device's pool does it: a large free block is taken if it is not more than twice as large.
 */
typedef struct {
    uint64_t *free_blocks;
    size_t free_count, free_capacity;
    uint64_t in_use, pooled, peak;
} block_pool;

typedef struct {
    uint64_t bytes;
    int users;
} block;

typedef struct {
    const grove_schedule *schedule;
    const grove_pass *pass;
    grove_program *p;
    block_pool pool;
    block *blocks; /* every allocation so far */
    size_t count, capacity;
    int *of, *kept, *ready, *next; /* by step: blocks of its values, or -1 */
    bool *needed;
    /* of the tiles being written */
    int held[GROVE_MAX_TILES_IN_FLIGHT][256], held_count[GROVE_MAX_TILES_IN_FLIGHT], flights;
    uint64_t largest;
} walk;

uint64_t grove_block_bytes(uint64_t bytes, bool cuda)
{
    uint64_t power = cuda ? 512 : 256, page = cuda ? 65536 : 4096;

    if (bytes >= (cuda ? 2 * LARGE : LARGE))
        return (bytes + page - 1) / page * page;
    while (power < bytes)
        power *= 2;
    return power;
}

static int take_block(walk *w, uint64_t bytes)
{
    block_pool *pool = &w->pool;
    size_t best = pool->free_count;

    bytes = grove_block_bytes(bytes, w->schedule->session->device_count > 0);
    uint64_t most = bytes < LARGE ? bytes : 2 * bytes;
    for (size_t i = 0; i < pool->free_count; i++)
        if (pool->free_blocks[i] >= bytes && pool->free_blocks[i] <= most &&
            (best == pool->free_count || pool->free_blocks[i] < pool->free_blocks[best]))
            best = i;
    if (best < pool->free_count) {
        bytes = pool->free_blocks[best];
        pool->pooled -= bytes;
        pool->free_blocks[best] = pool->free_blocks[--pool->free_count];
    }
    pool->in_use += bytes;
    if (pool->in_use + pool->pooled > pool->peak)
        pool->peak = pool->in_use + pool->pooled;
    grove_grow((void **)&w->blocks, &w->capacity, w->count, sizeof(block));
    w->blocks[w->count] = (block){bytes, 1};
    return (int)w->count++;
}

static void drop_block(walk *w, int number)
{
    block_pool *pool = &w->pool;

    if (number < 0 || --w->blocks[number].users)
        return;
    pool->in_use -= w->blocks[number].bytes;
    pool->pooled += w->blocks[number].bytes;
    grove_grow((void **)&pool->free_blocks, &pool->free_capacity, pool->free_count,
               sizeof(uint64_t));
    pool->free_blocks[pool->free_count++] = w->blocks[number].bytes;
}

/* ---- chunks ---- */

static bool is_within(const grove_program *p, int loop, int outer)
{
    while (loop && loop != outer)
        loop = p->steps[p->loops[loop].owner].loop;
    return loop == outer;
}

/* Whether its body goes over sections of a sum, which do not depend on the tile. */
static bool is_section(const grove_step *step)
{
    return step->kind >= GROVE_STEP_KERNEL && step->kind <= GROVE_STEP_EVAL;
}

/* Chunks of about `bytes` in all steps of a loop; inner loops first. */
static void choose_chunks(grove_program *p, uint64_t bytes)
{
    for (int l = 1; l < p->loop_count; l++)
        p->loops[l].count = 1;
    for (int l = p->loop_count - 1; l > 0; l--) {
        uint64_t each = 1;
        for (int s = 0; s < p->step_count && p->loops[l].owner >= 0; s++)
            if (p->steps[s].loop && is_within(p, p->steps[s].loop, l))
                each += grove_step_bytes(p, &p->steps[s]);
        uint64_t chunk = bytes / each, size = (uint64_t)p->loops[l].axis->size;
        if (p->loops[l].owner >= 0 && is_section(&p->steps[p->loops[l].owner]))
            chunk = (uint64_t)p->section;
        chunk = chunk < 1 ? 1 : chunk > size ? size : chunk;
        p->loops[l].count = p->loops[l].chunk = (int64_t)chunk;
    }
}

/* ---- going through a tile ---- */

static void mark(walk *w, bool first)
{
    const grove_program *p = w->p;

    for (int s = 0; s < p->step_count; s++)
        w->needed[s] = p->steps[s].kind == GROVE_STEP_ROOT;
    for (int s = p->step_count - 1; s >= 0; s--) {
        const grove_step *step = &p->steps[s];
        if (step->loop)
            w->needed[s] = w->needed[p->loops[step->loop].owner];
        if (!w->needed[s])
            continue;
        if (!first && !step->loop && w->kept[s] >= 0) {
            w->needed[s] = false;
            w->of[s] = w->kept[s];
            w->blocks[w->of[s]].users++;
            continue;
        }
        for (int k = 0; k < step->inputs; k++)
            if (step->input[k] >= 0)
                w->needed[step->input[k]] = true;
    }
}

static uint64_t accumulator_bytes(const walk *w, const grove_step *step, unsigned divided)
{
    grove_range space[GROVE_MAX_AXES];
    const grove_node *in = step->node->inputs[0].node;

    grove_step_ranges(w->p, step, space);
    for (int d = 0, n = step->axes; d < in->axis_count && n < GROVE_MAX_AXES; d++) {
        bool has = false;
        for (int e = 0; e < step->axes; e++)
            has = has || step->axis[e] == in->axes[d];
        if (!has)
            space[n++] = (grove_range){in->axes[d], 0, in->axes[d]->size};
    }
    int axes = in->axis_count < GROVE_MAX_AXES ? in->axis_count : GROVE_MAX_AXES;
    return grove_accumulator_bytes(step->node, space, axes, divided ? &w->p->block : &w->p->tile,
                                   divided, step->flagged, step->body > 0);
}

static void walk_list(walk *w, const grove_loop *loop, int tile);

static void walk_body(walk *w, const grove_step *step, int tile)
{
    if (!step->body)
        return;
    for (int i = 0; i < 2; i++) {
        walk_list(w, &w->p->loops[step->body], tile);
        int part = is_section(step) ? take_block(w, grove_step_bytes(w->p, step)) : -1;
        for (int k = 0; k < step->inputs; k++)
            if (step->input[k] >= 0 && w->p->steps[step->input[k]].loop == step->body) {
                drop_block(w, w->of[step->input[k]]);
                w->of[step->input[k]] = -1;
            }
        drop_block(w, part);
    }
}

/* Of the sum over sections, in double. */
static uint64_t sum_bytes(const walk *w, const grove_step *step)
{
    return grove_step_bytes(w->p, step) * (step->double_ ? 1 : 2);
}

/* An action's inputs stay until they are written, during the next tile; what is not dense over the
 * action's axes is copied. */
static void hold_inputs(walk *w, const grove_step *step, int tile)
{
    int *held = w->held[tile % w->flights], *count = &w->held_count[tile % w->flights];

    for (int k = 0; k < step->inputs && *count < 256; k++) {
        if (step->input[k] < 0)
            continue;
        const grove_step *in = &w->p->steps[step->input[k]];
        int number = w->of[step->input[k]];
        if (number < 0 || (k == 0 && in->axes < step->node->axis_count)) {
            grove_step shape = *in;
            const grove_node *node = k == 0 ? step->node : in->node;
            shape.kind = GROVE_STEP_CAST;
            shape.axes = node->axis_count;
            for (int d = 0; d < shape.axes; d++) {
                shape.axis[d] = node->axes[d];
                shape.span[d] = (grove_span){GROVE_SPAN_FIXED, 0, 0, node->axes[d]->size};
                for (int c = 0; c < GROVE_CUTS; c++)
                    if (w->p->block.axis[c] == node->axes[d])
                        shape.span[d] = (grove_span){GROVE_SPAN_TILE, c, 0, 0};
            }
            held[(*count)++] = take_block(w, grove_step_bytes(w->p, &shape));
        } else {
            w->blocks[number].users++;
            held[(*count)++] = number;
        }
    }
}

static void walk_root(walk *w, const grove_step *step, int tile)
{
    const grove_root *root = &w->pass->roots[step->root];

    if (root->kind == GROVE_ROOT_COLLECT)
        walk_body(w, step, tile);
    else if (root->kind == GROVE_ROOT_ACTION)
        hold_inputs(w, step, tile);
}

/* A cast that changes nothing hands on the value it is given. */
static bool is_shared(const walk *w, const grove_step *step)
{
    const grove_step *in = step->kind == GROVE_STEP_CAST ? &w->p->steps[step->input[0]] : NULL;
    grove_range own[GROVE_MAX_AXES], given[GROVE_MAX_AXES];

    if (!in || w->of[step->input[0]] < 0 || in->double_ != step->double_ ||
        in->node->form.complex_ != step->node->form.complex_ || in->axes != step->axes)
        return false;
    grove_step_ranges(w->p, step, own);
    grove_step_ranges(w->p, in, given);
    for (int d = 0; d < step->axes; d++)
        if (own[d].first != given[d].first || own[d].count != given[d].count)
            return false;
    return true;
}

static void walk_step(walk *w, int s, int tile)
{
    const grove_step *step = &w->p->steps[s];
    uint64_t bytes = grove_step_bytes(w->p, step);

    if (step->kind == GROVE_STEP_ROOT) {
        walk_root(w, step, tile);
        return;
    }
    if (step->kind == GROVE_STEP_REDUCE || step->body) {
        int partial = take_block(w, step->kind == GROVE_STEP_REDUCE ? accumulator_bytes(w, step, 0)
                                                                    : sum_bytes(w, step));
        walk_body(w, step, tile);
        w->of[s] = take_block(w, bytes);
        drop_block(w, partial);
    } else if (step->ahead && w->ready[s] >= 0) {
        w->of[s] = w->ready[s];
        w->ready[s] = -1;
    } else if (is_shared(w, step)) {
        w->of[s] = w->of[step->input[0]];
        w->blocks[w->of[s]].users++;
    } else if (bytes) {
        w->of[s] = take_block(w, bytes);
    }
    if (!step->loop && !step->body && bytes > w->largest && step->keep != GROVE_KEEP_SLOT)
        w->largest = bytes;
    if (step->keep == GROVE_KEEP_SLOT && w->kept[s] < 0 && w->of[s] >= 0) {
        w->kept[s] = w->of[s];
        w->blocks[w->of[s]].users++;
    }
}

static void walk_list(walk *w, const grove_loop *loop, int tile)
{
    for (int i = 0; i < loop->step_count; i++) {
        int s = loop->steps[i];
        const grove_step *step = &w->p->steps[s];
        if (w->needed[s])
            walk_step(w, s, tile);
        for (int r = 0; r < step->release_count; r++) {
            drop_block(w, w->of[step->release[r]]);
            w->of[step->release[r]] = -1;
        }
    }
}

/* The values of the next tile are there while the present one is computed. */
static void read_ahead(walk *w)
{
    for (int s = 0; s < w->p->step_count; s++)
        if (w->p->steps[s].ahead && w->next[s] < 0)
            w->next[s] = take_block(w, grove_step_bytes(w->p, &w->p->steps[s]));
}

static void walk_tile(walk *w, int tile, bool last)
{
    bool serial = w->schedule->session->options.serial;
    int *count = &w->held_count[tile % w->flights], *ready = w->next;

    mark(w, tile == 0);
    if (!serial && tile == 0)
        read_ahead(w);
    w->next = w->ready;
    w->ready = ready;
    for (int s = 0; s < w->p->step_count; s++)
        w->next[s] = -1;
    if (!serial && !last)
        read_ahead(w);
    /* what was written so many tiles ago is free */
    for (int i = 0; i < *count; i++)
        drop_block(w, w->held[tile % w->flights][i]);
    *count = 0;
    walk_list(w, &w->p->loops[0], tile);
    for (int i = 0; i < *count && serial; i++)
        drop_block(w, w->held[tile % w->flights][i]);
    *count = serial ? 0 : *count;
}

/* What lasts for the whole pass: sums so far, stored values, earlier results. */
static uint64_t lasting_bytes(const walk *w)
{
    uint64_t sum = w->schedule->result_bytes;

    for (int s = 0; s < w->p->step_count; s++) {
        const grove_step *step = &w->p->steps[s];
        if (step->kind != GROVE_STEP_ROOT)
            continue;
        if (step->collects)
            sum += accumulator_bytes(w, step, w->p->divided);
        else if (w->pass->roots[step->root].kind == GROVE_ROOT_STORE && w->p->divided) {
            const grove_step *in = &w->p->steps[step->input[0]];
            grove_block tile = w->p->tile;
            w->p->tile = w->p->block;
            sum += grove_step_bytes(w->p, in);
            w->p->tile = tile;
        }
    }
    return sum;
}

uint64_t grove_pass_footprint(const grove_schedule *schedule, const grove_pass *pass,
                              const int64_t tile[GROVE_CUTS], uint64_t chunk_bytes,
                              uint64_t *largest)
{
    grove_program *p = pass->program;
    walk w = {.schedule = schedule,
              .pass = pass,
              .p = p,
              .flights = grove_devices_tiles_in_flight(schedule->session)};
    size_t n = (size_t)p->step_count + 1;
    int64_t tiles = 1;

    grove_program_settle(p, tile, schedule->session->budget / 4);
    choose_chunks(p, chunk_bytes);
    for (int k = 0; k < GROVE_CUTS; k++)
        if (p->divided >> k & 1)
            tiles *= (p->block.count[k] + tile[k] - 1) / tile[k];
    w.of = grove_alloc(n * sizeof(int));
    w.kept = grove_alloc(n * sizeof(int));
    w.ready = grove_alloc(n * sizeof(int));
    w.next = grove_alloc(n * sizeof(int));
    w.needed = grove_alloc(n * sizeof(bool));
    for (size_t s = 0; s < n; s++)
        w.of[s] = w.kept[s] = w.ready[s] = w.next[s] = -1;
    for (int i = 0; i < w.flights + 2 && i < tiles; i++)
        walk_tile(&w, i, i + 1 == tiles);
    uint64_t peak = w.pool.peak + lasting_bytes(&w);
    *largest = w.largest;
    free(w.of);
    free(w.kept);
    free(w.ready);
    free(w.next);
    free(w.needed);
    free(w.blocks);
    free(w.pool.free_blocks);
    return peak;
}
