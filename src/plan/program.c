#include "plan/domain.h"
#include "plan/rows.h"

#include "base/memory.h"
#include "base/text.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const int cut_kinds[GROVE_CUTS] = {GROVE_AXIS_TIME, GROVE_AXIS_FREQ, GROVE_AXIS_BASELINE};

static int new_loop(grove_program *p, const grove_axis *axis)
{
    grove_grow((void **)&p->loops, &p->loop_capacity, (size_t)p->loop_count, sizeof(grove_loop));
    p->loops[p->loop_count] =
        (grove_loop){.owner = -1, .axis = axis, .chunk = axis ? axis->size : 0};
    return p->loop_count++;
}

grove_program *grove_program_new(const grove_facts *facts, grove_error *error,
                                 const grove_block *block, unsigned cuttable)
{
    grove_program *p = grove_alloc(sizeof(*p));

    p->facts = facts;
    p->error = error;
    p->block = *block;
    memcpy(p->tile, block->count, sizeof(p->tile));
    p->cuttable = cuttable;
    p->hoist = UINT64_MAX;
    new_loop(p, NULL);
    return p;
}

void grove_program_free(grove_program *p)
{
    if (!p)
        return;
    for (int s = 0; s < p->step_count; s++)
        free(p->steps[s].release);
    for (int l = 0; l < p->loop_count; l++)
        free(p->loops[l].steps);
    free(p->depends);
    free(p->steps);
    free(p->loops);
    free(p);
}

/* ---- spans ---- */

static grove_span whole(const grove_axis *axis)
{
    return (grove_span){GROVE_SPAN_FIXED, 0, 0, axis->size};
}

static grove_span over_block(const grove_program *p, const grove_axis *axis)
{
    for (int k = 0; k < GROVE_CUTS; k++)
        if (p->block.axis[k] == axis) {
            if (p->cuttable >> k & 1 && axis->kind == cut_kinds[k])
                return (grove_span){GROVE_SPAN_TILE, k, 0, 0};
            return (grove_span){GROVE_SPAN_FIXED, 0, p->block.first[k], p->block.count[k]};
        }
    return whole(axis);
}

static bool same_span(const grove_span *a, const grove_span *b)
{
    if (a->kind != b->kind)
        return false;
    return a->kind == GROVE_SPAN_FIXED ? a->first == b->first && a->count == b->count
                                       : a->which == b->which;
}

static int find_step(const grove_program *p, const grove_node *node, const grove_span *span)
{
    for (int s = p->step_count - 1; s >= 0; s--) {
        const grove_step *step = &p->steps[s];
        int d = 0;
        if (step->node != node || step->kind == GROVE_STEP_ROOT)
            continue;
        while (d < step->axes && same_span(&step->span[d], &span[d]))
            d++;
        if (d == step->axes)
            return s;
    }
    return -1;
}

static uint64_t whole_bytes(const grove_program *p, const grove_node *node)
{
    double bytes = (double)grove_form_bytes(&node->form, p->facts[node->id].double_);

    for (int d = 0; d < node->axis_count; d++)
        bytes *= (double)node->axes[d]->size;
    return bytes < 9e18 ? (uint64_t)bytes : UINT64_MAX;
}

/* A value that does not depend on the tile is made whole once, rather than in chunks for every
 * tile. */
static void hoist(const grove_program *p, const grove_node *node, grove_span *span)
{
    for (int d = 0; d < node->axis_count; d++)
        if (span[d].kind == GROVE_SPAN_TILE)
            return;
    if (!p->cuttable || whole_bytes(p, node) > p->hoist)
        return;
    for (int d = 0; d < node->axis_count; d++)
        if (span[d].kind == GROVE_SPAN_CHUNK)
            span[d] = whole(node->axes[d]);
}

static grove_step_kind kind_of(const grove_program *p, const grove_node *node)
{
    if (p->staged && p->staged[node->id])
        return GROVE_STEP_GIVEN;
    switch (node->kind) {
    case GROVE_NODE_MEMBER:
        return node->leaf->members[node->member].data ? GROVE_STEP_DATA : GROVE_STEP_READ;
    case GROVE_NODE_CONSTANT:
        return GROVE_STEP_CONSTANT;
    case GROVE_NODE_CAST:
        return GROVE_STEP_CAST;
    default:
        if (node->class_->kind == GROVE_CLASS_REDUCTION)
            return GROVE_STEP_REDUCE;
        if (node->class_->kind == GROVE_CLASS_SELECTION)
            return GROVE_STEP_SELECT;
        return grove_class_takes_arrays(node->class_) ? GROVE_STEP_EVAL : GROVE_STEP_KERNEL;
    }
}

/* ---- steps ---- */

static int add_step(grove_program *p, grove_node *node, const grove_span *span, int *number);

static int index_of(const grove_axis *const *axes, int count, const grove_axis *axis)
{
    for (int d = 0; d < count; d++)
        if (axes[d] == axis)
            return d;
    return -1;
}

/* The span of an input along one of its axes. */
static int input_span(const grove_program *p, const grove_step *step, int k, const grove_axis *axis,
                      grove_span *span)
{
    const grove_node *node = step->node;
    int d = index_of(step->axis, step->axes, axis);

    if (d >= 0)
        *span = step->span[d];
    else if (step->body && p->loops[step->body].axis == axis)
        *span = (grove_span){GROVE_SPAN_CHUNK, step->body, 0, 0};
    else if (node->select_axis == axis)
        *span = (grove_span){GROVE_SPAN_FIXED, 0, node->select_first, node->select_count};
    else if ((axis->kind == GROVE_AXIS_STATION && node->inputs[k].side) ||
             index_of(node->consumed, node->consumed_count, axis) >= 0)
        *span = whole(axis);
    else
        return grove_fail(p->error, GROVE_INTERNAL, "'%s' varies along %s, its user '%s' does not",
                          node->inputs[k].node->name, axis->name, node->name);
    return 0;
}

/* The flags of rows that are not read: one of the node's inputs, or one more. */
static int add_rows(grove_program *p, grove_step *step)
{
    const grove_node *node = step->node;
    bool reduces = node->class_ && node->class_->kind == GROVE_CLASS_REDUCTION;
    grove_span span[GROVE_MAX_AXES] = {0};
    int code = 0;

    for (int k = 0; k < node->input_count && step->kind == GROVE_STEP_EVAL; k++)
        if (node->inputs[k].node == node->rows && node->handing[k] == GROVE_AS_FLAGS)
            step->rows = k;
    bool copies = (step->kind == GROVE_STEP_CAST || step->kind == GROVE_STEP_SELECT) &&
                  node->rows && grove_step_has_long_rows(step);
    if (!node->rows || !(step->kind == GROVE_STEP_KERNEL || copies || reduces))
        return 0;
    for (int d = 0; d < node->rows->axis_count && !code; d++)
        code = input_span(p, step, 0, node->rows->axes[d], &span[d]);
    step->rows = step->inputs++;
    return code ? code : add_step(p, node->rows, span, &step->input[step->rows]);
}

static int add_inputs(grove_program *p, grove_step *step)
{
    const grove_node *node = step->node;

    step->rows = -1;
    step->inputs = node->input_count;
    for (int k = 0; k < node->input_count; k++) {
        grove_node *in = node->inputs[k].node;
        grove_span span[GROVE_MAX_AXES] = {0};
        int code = 0;
        step->input[k] = -1;
        step->side[k] = node->inputs[k].side;
        if (!in)
            continue;
        for (int d = 0; d < in->axis_count && !code; d++)
            code = input_span(p, step, k, in->axes[d], &span[d]);
        if (!code)
            code = add_step(p, in, span, &step->input[k]);
        if (code)
            return code;
    }
    return add_rows(p, step);
}

/* A reduction or accumulator over a source axis takes its inputs in chunks; a class that sums over
 * sources does so in sections. */
static const grove_axis *chunk_axis(const grove_program *p, const grove_node *node)
{
    if (node->class_->kind == GROVE_CLASS_VALUE) {
        for (int k = 0; k < node->consumed_count; k++)
            if (node->consumed[k]->kind == GROVE_AXIS_SOURCE &&
                node->consumed[k]->size > p->section)
                return node->consumed[k];
        return NULL;
    }
    for (int k = 0; k < node->input_count; k++) {
        const grove_node *in = node->inputs[k].node;
        grove_step_kind kind = in ? kind_of(p, in) : GROVE_STEP_DATA;
        if (kind == GROVE_STEP_DATA || kind == GROVE_STEP_GIVEN)
            continue;
        for (int d = 0; d < in->axis_count; d++)
            if (in->axes[d]->kind == GROVE_AXIS_SOURCE && in->axes[d]->size > 1 &&
                index_of(node->consumed, node->consumed_count, in->axes[d]) >= 0)
                return in->axes[d];
    }
    return NULL;
}

static int append(grove_program *p, const grove_step *step)
{
    grove_loop *loop = &p->loops[step->loop];

    grove_grow((void **)&p->steps, &p->step_capacity, (size_t)p->step_count, sizeof(grove_step));
    p->steps[p->step_count] = *step;
    grove_grow((void **)&loop->steps, &loop->capacity, (size_t)loop->step_count, sizeof(int));
    loop->steps[loop->step_count++] = p->step_count;
    return p->step_count++;
}

/* Removes its loop if no step is left in it. */
static int append_reduction(grove_program *p, grove_step *step)
{
    bool any = false;

    for (int k = 0; k < step->inputs; k++)
        any = any || (step->input[k] >= 0 && p->steps[step->input[k]].loop == step->body);
    if (!any)
        step->body = 0;
    int number = append(p, step);
    if (step->body)
        p->loops[step->body].owner = number;
    return number;
}

static int add_step(grove_program *p, grove_node *node, const grove_span *span, int *number)
{
    const grove_facts *facts = &p->facts[node->id];
    grove_step step = {.kind = kind_of(p, node), .node = node, .axes = node->axis_count};

    memcpy(step.axis, node->axes, sizeof(step.axis));
    memcpy(step.span, span, sizeof(step.span));
    /* a part along the slowest axis is contiguous in a member's data */
    bool members_by_tile = p->members_by_tile && step.kind == GROVE_STEP_DATA;
    if (step.kind == GROVE_STEP_DATA || step.kind == GROVE_STEP_GIVEN)
        for (int d = 0; d < step.axes; d++)
            if (d || !members_by_tile || step.span[d].kind == GROVE_SPAN_FIXED)
                step.span[d] = whole(step.axis[d]);
    hoist(p, node, step.span);
    if ((*number = find_step(p, node, step.span)) >= 0)
        return 0;
    for (int d = 0; d < step.axes; d++) {
        if (step.span[d].kind == GROVE_SPAN_TILE)
            step.cut |= 1u << step.span[d].which;
        if (step.span[d].kind == GROVE_SPAN_CHUNK && step.span[d].which > step.loop)
            step.loop = step.span[d].which;
    }
    step.flagged = facts->flagged;
    step.double_ = facts->double_;
    if (step.kind == GROVE_STEP_SELECT && node->select_axis && !node->select_drop)
        return grove_fail_at(p->error, &node->place, GROVE_INTERNAL,
                             "'%s' selects more than one cell along %s", node->name,
                             node->select_axis->name);
    bool sums = p->section && step.kind >= GROVE_STEP_KERNEL && node->class_ && node->class_->sum;
    const grove_axis *axis = sums || step.kind == GROVE_STEP_REDUCE ? chunk_axis(p, node) : NULL;
    if (axis)
        step.body = new_loop(p, axis);
    int code = step.kind == GROVE_STEP_GIVEN ? 0 : add_inputs(p, &step);
    if (code)
        return code;
    *number = append_reduction(p, &step);
    return 0;
}

int grove_program_add(grove_program *p, grove_node *node, const grove_range *range, int ranges)
{
    grove_span span[GROVE_MAX_AXES] = {0};
    int number, code;

    for (int d = 0; d < node->axis_count; d++) {
        span[d] = over_block(p, node->axes[d]);
        for (int r = 0; r < ranges; r++)
            if (range[r].axis == node->axes[d] && span[d].kind == GROVE_SPAN_FIXED)
                span[d] = (grove_span){GROVE_SPAN_FIXED, 0, range[r].first, range[r].count};
    }
    code = add_step(p, node, span, &number);
    return code ? code : number;
}

int grove_program_add_root(grove_program *p, int root, grove_node *node, const int *inputs,
                           int count)
{
    grove_step step = {
        .kind = GROVE_STEP_ROOT, .node = node, .root = root, .inputs = count, .rows = -1};

    memcpy(step.input, inputs, (size_t)count * sizeof(int));
    step.cut = (1u << GROVE_CUTS) - 1;
    return append(p, &step);
}

int grove_program_add_collector(grove_program *p, int root, grove_node *node)
{
    grove_step step = {.kind = GROVE_STEP_ROOT, .node = node, .root = root, .collects = true};
    const grove_axis *taken[GROVE_MAX_AXES];
    int count = grove_node_all_taken_axes(node, taken);

    for (int d = 0; d < count; d++) {
        const grove_axis *axis = taken[d];
        bool cut = axis->kind == GROVE_AXIS_TIME || axis->kind == GROVE_AXIS_FREQ ||
                   axis->kind == GROVE_AXIS_BASELINE;
        if (!cut && index_of(node->consumed, node->consumed_count, axis) >= 0)
            continue;
        step.axis[step.axes] = axis;
        step.span[step.axes++] = over_block(p, axis);
    }
    step.cut = (1u << GROVE_CUTS) - 1;
    step.flagged = p->facts[node->id].flagged;
    step.double_ = p->facts[node->id].double_;
    const grove_axis *axis = chunk_axis(p, node);
    if (axis)
        step.body = new_loop(p, axis);
    int code = add_inputs(p, &step);
    return code ? code : append_reduction(p, &step);
}

bool grove_program_has(const grove_program *p, const grove_node *node)
{
    for (int s = 0; s < p->step_count; s++)
        if (p->steps[s].node == node && p->steps[s].kind != GROVE_STEP_ROOT)
            return true;
    return false;
}

/* ---- lifetimes ---- */

/* The step of loop `loop` that is under way when step `user` runs. */
static int lift(const grove_program *p, int user, int loop)
{
    while (user >= 0 && p->steps[user].loop != loop)
        user = p->loops[p->steps[user].loop].owner;
    return user;
}

/* Whether step `user` may run again for the same tile, or later, while its input `s` is
 * unchanged. */
static bool crosses(const grove_program *p, int s, int user)
{
    const grove_step *u = &p->steps[user];

    return p->depends && p->steps[s].early && p->depends[p->steps[s].node->id] < 0 &&
           (u->kind == GROVE_STEP_ROOT || p->depends[u->node->id] > 0 || !u->early);
}

static void find_early(grove_program *p)
{
    for (int s = p->step_count - 1; s >= 0; s--) {
        grove_step *step = &p->steps[s];
        step->early = step->early || (step->kind == GROVE_STEP_ROOT && !step->follows);
        for (int k = 0; k < step->inputs; k++)
            if (step->early && step->input[k] >= 0)
                p->steps[step->input[k]].early = true;
    }
}

void grove_program_finish(grove_program *p)
{
    int *last = grove_alloc(((size_t)p->step_count + 1) * sizeof(int));

    find_early(p);
    for (int s = 0; s < p->step_count; s++)
        last[s] = s;
    for (int u = 0; u < p->step_count; u++)
        for (int k = 0; k < p->steps[u].inputs; k++) {
            int s = p->steps[u].input[k];
            if (s < 0)
                continue;
            p->steps[s].needed_again = p->steps[s].needed_again || crosses(p, s, u);
            bool chunk = p->steps[u].body && p->steps[s].loop == p->steps[u].body;
            int at = chunk ? INT_MAX : lift(p, u, p->steps[s].loop);
            if (at > last[s])
                last[s] = at;
        }
    for (int s = 0; s < p->step_count; s++) {
        if (last[s] == INT_MAX)
            continue; /* a chunk: released by the reduction */
        grove_step *at = &p->steps[last[s]];
        at->release = grove_realloc(at->release, ((size_t)at->release_count + 1) * sizeof(int));
        at->release[at->release_count++] = s;
    }
    free(last);
}

/* ---- kept values ---- */

static bool useful(const grove_program *p, int s)
{
    for (int u = s + 1; u < p->step_count; u++)
        for (int k = 0; k < p->steps[u].inputs; k++)
            if (p->steps[u].input[k] == s &&
                (p->steps[u].cut & p->divided) != (p->steps[s].cut & p->divided))
                return true;
    return false;
}

/* Whether the tiles that share the cuts `own` are consecutive. */
static bool in_a_row(unsigned own, unsigned divided)
{
    return !(divided & ~own) || !(own & ~((divided & ~own & -(divided & ~own)) - 1));
}

static grove_keep keep_of(const grove_program *p, int s)
{
    const grove_step *step = &p->steps[s];
    unsigned own = step->cut & p->divided;

    if (step->loop || step->kind == GROVE_STEP_ROOT)
        return GROVE_KEEP_NOT;
    if (step->kind <= GROVE_STEP_CONSTANT)
        return GROVE_KEEP_SLOT;
    if (p->keep_none)
        return GROVE_KEEP_NOT;
    if ((p->keep_all && !own) || (p->again && p->again[step->node->id]))
        return GROVE_KEEP_CACHE;
    if (own == p->divided || !useful(p, s))
        return step->needed_again && (!p->parts || p->repeats) ? GROVE_KEEP_SLOT : GROVE_KEEP_NOT;
    return in_a_row(own, p->divided) ? GROVE_KEEP_SLOT : GROVE_KEEP_CACHE;
}

static uint64_t kept_bytes(const grove_program *p, const grove_spot *spot, int *largest)
{
    uint64_t sum = 0, max = 0;

    for (int s = 0; s < p->step_count; s++) {
        const grove_step *step = &p->steps[s];
        uint64_t bytes = step->keep == GROVE_KEEP_SLOT && !step->needed_again
                             ? grove_step_bytes(p, spot, step)
                             : 0;
        sum += bytes;
        if (bytes > max) {
            max = bytes;
            *largest = s;
        }
    }
    return sum;
}

void grove_program_settle(grove_program *p, const int64_t tile[GROVE_CUTS], uint64_t budget)
{
    grove_spot spot = {.tile = p->block}; /* kept values are outside loops */
    int largest = -1;

    p->divided = 0;
    for (int k = 0; k < GROVE_CUTS; k++) {
        int64_t longest = grove_domain_is_divided(p, k) ? 1 : grove_domain_longest(p, k);
        p->tile[k] = tile[k] > longest ? tile[k] : longest;
        if (p->block.axis[k] && p->tile[k] < p->block.count[k]) {
            p->divided |= 1u << k;
            spot.tile.count[k] = p->tile[k];
        }
    }
    for (int s = 0; s < p->step_count; s++)
        p->steps[s].keep = keep_of(p, s);
    while (kept_bytes(p, &spot, &largest) > budget)
        p->steps[largest].keep = GROVE_KEEP_NOT;
    grove_program_find_rows(p);
    for (int s = 0; s < p->step_count; s++) {
        grove_step *step = &p->steps[s];
        step->ahead = step->kind == GROVE_STEP_READ && !step->loop && p->divided &&
                      (step->cut & p->divided) == p->divided && step->keep != GROVE_KEEP_CACHE &&
                      !(p->depends && p->depends[step->node->id] > 0);
    }
}

void grove_step_ranges(const grove_spot *spot, const grove_step *step,
                       grove_range range[GROVE_MAX_AXES])
{
    for (int d = 0; d < step->axes; d++) {
        const grove_span *span = &step->span[d];
        range[d].axis = step->axis[d];
        if (span->kind == GROVE_SPAN_TILE) {
            range[d].first = spot->tile.first[span->which];
            range[d].count = spot->tile.count[span->which];
        } else if (span->kind == GROVE_SPAN_CHUNK) {
            range[d].first = spot->chunks[span->which].first;
            range[d].count = spot->chunks[span->which].count;
        } else {
            range[d].first = span->first;
            range[d].count = span->count;
        }
    }
}

int grove_step_taken_ranges(const grove_program *p, const grove_spot *spot, const grove_step *step,
                            int k, grove_range range[GROVE_MAX_AXES])
{
    const grove_axis *axes[GROVE_MAX_AXES];
    grove_range own[GROVE_MAX_AXES];
    int count = grove_node_taken_axes(step->node, k, axes);

    grove_step_ranges(spot, step, own);
    for (int d = 0; d < count; d++) {
        int e = index_of(step->axis, step->axes, axes[d]);
        range[d] = e >= 0 ? own[e] : (grove_range){axes[d], 0, axes[d]->size};
        if (step->body && p->loops[step->body].axis == axes[d]) {
            grove_chunk chunk = spot->chunks[step->body];
            range[d] = (grove_range){axes[d], chunk.first, chunk.count};
        }
    }
    return count;
}

uint64_t grove_step_bytes(const grove_program *p, const grove_spot *spot, const grove_step *step)
{
    grove_range range[GROVE_MAX_AXES];
    uint64_t cells = 1;

    if ((step->kind == GROVE_STEP_DATA && !p->members_by_tile) || step->kind == GROVE_STEP_GIVEN ||
        step->kind == GROVE_STEP_ROOT)
        return 0;
    grove_step_ranges(spot, step, range);
    for (int d = 0; d < step->axes; d++)
        if (__builtin_mul_overflow(cells, (uint64_t)range[d].count, &cells))
            return UINT64_MAX / 1024;
    uint64_t each = grove_form_bytes(&step->node->form, step->double_) + step->flagged;
    return cells > UINT64_MAX / 1024 / (each + 1) ? UINT64_MAX / 1024 : cells * each;
}
