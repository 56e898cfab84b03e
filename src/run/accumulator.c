#include "run/accumulator.h"

#include "base/memory.h"
#include "run/block_sums.h"

#include <stdlib.h>
#include <string.h>

#include "../kernels/core/reduce.h"

static const int level_kinds[GROVE_CUTS] = {GROVE_AXIS_FREQ, GROVE_AXIS_BASELINE, GROVE_AXIS_TIME};
static const int level_cuts[GROVE_CUTS] = {GROVE_CUT_FREQ, GROVE_CUT_BASELINE, GROVE_CUT_TIME};

enum { LEVELS = 2 * GROVE_MAX_AXES };

/* Number of tiles over which the cells of a level's axis come. */
typedef enum { ONE_TILE, ALL_BASELINES, ALL_BUT_TIME, WHOLE_RUN } lifetime;

typedef struct {
    const grove_axis *axis; /* NULL: the first level, without an axis */
    lifetime life;          /* of its sums (which the next level receives), and of its nodes */
    bool cut;               /* its cells come in several tiles */
} level;

/* The partial sums of one device, for a contiguous range of times. */
typedef struct {
    grove_device *device;
    int64_t first, next; /* the times */
    grove_block_sums *sums[LEVELS];
    grove_block_sums *chunks;
} branch;

struct grove_accumulator {
    grove_session *session;
    const grove_node *node;
    grove_block block;
    unsigned divided;
    bool counted;
    level levels[LEVELS];
    int count;
    branch *branches; /* in order of times */
    int branch_count;
};

static int find_levels(const grove_node *node, unsigned divided, level *levels)
{
    lifetime life = ONE_TILE;
    int n = 0;

    for (int i = 0; i < GROVE_CUTS; i++)
        for (int k = 0; k < node->consumed_count; k++) {
            if (node->consumed[k]->kind != level_kinds[i])
                continue;
            bool cut = divided >> level_cuts[i] & 1;
            lifetime own = !cut                                  ? ONE_TILE
                           : level_cuts[i] == GROVE_CUT_FREQ     ? ALL_BUT_TIME
                           : level_cuts[i] == GROVE_CUT_BASELINE ? ALL_BASELINES
                                                                 : WHOLE_RUN;
            /* the lifetime of an earlier level may cover these tiles already */
            cut = own > life;
            life = cut ? own : life;
            levels[n++] = (level){node->consumed[k], life, cut};
        }
    if (!n)
        levels[n++] = (level){NULL, ONE_TILE, false};
    return n;
}

grove_accumulator *grove_accumulator_new(grove_session *session, const grove_node *node,
                                         const grove_block *block, unsigned divided, bool counted)
{
    grove_accumulator *a = grove_alloc(sizeof(*a));

    a->session = session;
    a->node = node;
    a->block = *block;
    a->divided = divided;
    a->counted = counted;
    a->count = find_levels(node, divided, a->levels);
    return a;
}

static void free_branch(branch *b)
{
    for (int i = 0; i < LEVELS; i++)
        grove_block_sums_free(b->sums[i]);
    grove_block_sums_free(b->chunks);
}

void grove_accumulator_free(grove_accumulator *a)
{
    if (!a)
        return;
    for (int i = 0; i < a->branch_count; i++)
        free_branch(&a->branches[i]);
    free(a->branches);
    free(a);
}

/* ---- ranges ---- */

/* The ranges of a level's sums, from the tile's. */
static grove_range widen(const grove_block *block, grove_range range, lifetime life)
{
    for (int k = 0; k < GROVE_CUTS; k++) {
        bool wide = life == WHOLE_RUN || (life == ALL_BUT_TIME && k != GROVE_CUT_TIME) ||
                    (life == ALL_BASELINES && k == GROVE_CUT_BASELINE);
        if (block->axis[k] == range.axis && wide) {
            range.first = block->first[k];
            range.count = block->count[k];
        }
    }
    return range;
}

static bool is_reduced(const grove_node *node, const grove_axis *axis)
{
    for (int k = 0; k < node->consumed_count; k++)
        if (node->consumed[k] == axis)
            return true;
    return false;
}

/* The ranges that remain after level `last` (-1: after the first axes). */
static int ranges_after(const grove_node *node, const level *levels, int count, int last,
                        lifetime life, const grove_block *block, const grove_range *space, int axes,
                        grove_range *range)
{
    int n = 0;

    for (int d = 0; d < axes; d++) {
        bool stays = !is_reduced(node, space[d].axis);
        for (int i = last + 1; i < count; i++)
            stays = stays || levels[i].axis == space[d].axis;
        if (stays)
            range[n++] = widen(block, space[d], life);
    }
    return n;
}

/* The ranges of a level's sums: the last level's cover the whole run. */
static lifetime life_of(const level *levels, int count, int i)
{
    return i < 0 ? ONE_TILE : i + 1 == count ? WHOLE_RUN : levels[i].life;
}

/* Begins the sums of a level (-1: of chunks), and their nodes, which the next tile may need again.
 */
static grove_block_sums *sums_for(const grove_accumulator *a, int i, const grove_range *space,
                                  int axes, grove_block_sums **sums)
{
    const grove_form *form = &a->node->form;
    const level *l = i < 0 ? NULL : &a->levels[i];
    grove_range range[GROVE_MAX_AXES];
    int64_t begin = 0;

    for (int d = 0; l && d < axes; d++)
        if (space[d].axis == l->axis)
            begin = space[d].first;
    if (!*sums) {
        int n = ranges_after(a->node, a->levels, a->count, i, life_of(a->levels, a->count, i),
                             &a->block, space, axes, range);
        *sums = grove_block_sums_new(a->node->class_->reduce, range, n, grove_form_elements(form),
                                     form->complex_ ? 2 : 1, a->counted, l ? l->axis : NULL, begin);
    }
    if (l && l->cut && !(*sums)->levels) {
        int n =
            ranges_after(a->node, a->levels, a->count, i, l->life, &a->block, space, axes, range);
        grove_block_sums_keep_nodes(*sums, range, n);
    }
    return *sums;
}

/* ---- adding ---- */

static bool at_end(const grove_accumulator *a, const grove_block *tile, int cut)
{
    return !a->block.axis[cut] ||
           tile->first[cut] + tile->count[cut] >= a->block.first[cut] + a->block.count[cut];
}

static bool is_complete(const grove_accumulator *a, const grove_block *tile, lifetime life)
{
    bool baselines = at_end(a, tile, GROVE_CUT_BASELINE);

    return life == ONE_TILE || (life == ALL_BASELINES && baselines) ||
           (life == ALL_BUT_TIME && baselines && at_end(a, tile, GROVE_CUT_FREQ));
}

static bool reduces_time(const grove_accumulator *a)
{
    const grove_axis *axis = a->levels[a->count - 1].axis;

    return axis && axis->kind == GROVE_AXIS_TIME;
}

/* The sums that this tile continues: of its device, for times before it. */
static branch *branch_for(grove_accumulator *a, const grove_block *tile)
{
    branch *last = a->branch_count ? &a->branches[a->branch_count - 1] : NULL;
    int64_t first = tile->first[GROVE_CUT_TIME];
    bool cut = a->divided >> GROVE_CUT_TIME & 1;

    if (!last || (cut && last->device != a->session->device && first == last->next)) {
        if (cut && reduces_time(a) && first % GROVE_ACCUMULATOR_BLOCK) {
            grove_fail(
                a->session->error, GROVE_INVALID,
                "'%s': sums over time begin at cell %lld; they must begin at multiples of %d",
                a->node->name, (long long)first, GROVE_ACCUMULATOR_BLOCK);
            return NULL;
        }
        a->branches = grove_realloc(a->branches, (size_t)(a->branch_count + 1) * sizeof(branch));
        last = &a->branches[a->branch_count++];
        *last = (branch){.device = a->session->device, .first = first};
    }
    last->next = first + tile->count[GROVE_CUT_TIME];
    return last;
}

/* Whether these are the first cells along all reduced axes. */
static bool is_fresh(const grove_block_sums *to, const grove_range *space, int axes)
{
    bool fresh = true;

    for (int d = 0; d < axes; d++) {
        bool kept = false;
        for (int e = 0; e < to->axes; e++)
            kept = kept || to->range[e].axis == space[d].axis;
        fresh = fresh && (kept || space[d].first == (space[d].axis == to->axis ? to->begin : 0));
    }
    return fresh;
}

static int add_sums(const grove_accumulator *a, branch *b, int i, grove_block_sums *from)
{
    grove_block_sums *to = sums_for(a, i, from->range, from->axes, &b->sums[i]);

    return grove_block_sums_add(a->session, to, from, from->range, from->axes,
                                is_fresh(to, from->range, from->axes));
}

/* Passes complete levels on to the next. */
static int pass_on(grove_accumulator *a, branch *b, const grove_block *tile)
{
    int i = 0;

    for (; i + 1 < a->count && is_complete(a, tile, a->levels[i].life); i++) {
        grove_block_sums *from = b->sums[i];
        int code = add_sums(a, b, i + 1, from);
        if (code)
            return code;
        grove_block_sums_free(from);
        b->sums[i] = NULL;
    }
    if (i + 1 == a->count && is_complete(a, tile, a->levels[i].life))
        grove_block_sums_drop_nodes(b->sums[i]);
    return 0;
}

int grove_accumulator_add(grove_accumulator *a, const grove_block *tile, grove_value *input,
                          const grove_value *rows, const grove_range *space, int axes, bool chunk)
{
    branch *b = branch_for(a, tile);

    if (!b)
        return GROVE_INVALID;
    grove_block_sums *to = sums_for(a, chunk ? -1 : 0, space, axes, chunk ? &b->chunks : b->sums);
    int code = grove_block_sums_add_value(a->session, to, input, rows, space, axes,
                                          is_fresh(to, space, axes));
    return code || chunk ? code : pass_on(a, b, tile);
}

int grove_accumulator_end_chunks(grove_accumulator *a, const grove_block *tile)
{
    branch *b = a->branch_count ? &a->branches[a->branch_count - 1] : NULL;

    if (!b || !b->chunks)
        return 0;
    int code = add_sums(a, b, 0, b->chunks);
    if (code)
        return code;
    grove_block_sums_free(b->chunks);
    b->chunks = NULL;
    return pass_on(a, b, tile);
}

/* ---- merging ---- */

/* Merges `b`, whose times follow the times of `a`, into `a`, and frees `b`. */
static int merge_branch(const grove_accumulator *acc, branch *a, branch *b)
{
    grove_block_sums *to = a->sums[acc->count - 1], *from = b->sums[acc->count - 1];
    grove_range space[GROVE_MAX_AXES];
    int code;

    if (a->next != b->first)
        return grove_fail(acc->session->error, GROVE_INVALID,
                          "'%s': sums over times %lld to %lld cannot follow sums that end at %lld",
                          acc->node->name, (long long)b->first, (long long)b->next,
                          (long long)a->next);
    if (to->axis && to->axis->kind == GROVE_AXIS_TIME) {
        code = grove_block_sums_merge(acc->session, to, from, b->next);
    } else { /* the cells along time that it covers */
        memcpy(space, from->range, sizeof(space));
        for (int d = 0; d < from->axes; d++)
            if (space[d].axis == acc->block.axis[GROVE_CUT_TIME]) {
                space[d].first = b->first;
                space[d].count = b->next - b->first;
            }
        code = grove_block_sums_fetch(acc->session, from);
        if (!code)
            code = grove_block_sums_add(acc->session, to, from, space, from->axes, true);
    }
    a->next = b->next;
    free_branch(b);
    memset(b, 0, sizeof(*b));
    return code;
}

/* Merges the sums of all devices into the first. */
static int join(grove_accumulator *a)
{
    int code = 0;

    for (int i = 1; i < a->branch_count && !code; i++)
        code = merge_branch(a, &a->branches[0], &a->branches[i]);
    for (int i = 1; i < a->branch_count; i++)
        free_branch(&a->branches[i]);
    a->branch_count = a->branch_count ? 1 : 0;
    return code;
}

int grove_accumulator_merge(grove_accumulator *to, grove_accumulator *from)
{
    int code = join(to);

    if (!code)
        code = join(from);
    if (code || !from->branch_count || !to->branch_count)
        return code;
    code = merge_branch(to, to->branches, from->branches);
    from->branch_count = 0;
    return code;
}

/* ---- results ---- */

int grove_accumulator_finish(grove_accumulator *a, const grove_range *space, bool double_,
                             bool flagged, grove_value **value)
{
    const grove_node *node = a->node;
    const grove_form *form = &node->form;
    int elements = grove_form_elements(form), code = join(a);
    int64_t samples = 1;

    *value = NULL;
    if (code)
        return code;
    for (int k = 0; k < node->consumed_count; k++)
        samples *= node->consumed[k]->size;
    grove_block_sums *empty = NULL; /* nothing was added: an axis has size zero */
    if (!a->branch_count || !a->branches[0].sums[a->count - 1])
        empty = grove_block_sums_new(node->class_->reduce, space, node->axis_count, elements,
                                     form->complex_ ? 2 : 1, a->counted, NULL, 0);
    *value =
        grove_value_bare(space, node->axis_count, form->shape, elements, form->complex_, double_);
    code = grove_block_sums_finish(a->session, empty ? empty : a->branches[0].sums[a->count - 1],
                                   samples, *value, flagged);
    grove_block_sums_free(empty);
    if (code) {
        grove_value_unref(*value);
        *value = NULL;
    }
    return code;
}

/* ---- serialisation ---- */

typedef struct {
    int64_t first, next, bytes[3]; /* times; numbers of sums, counts, nodes */
} header;

void *grove_accumulator_save(grove_accumulator *a, size_t *bytes)
{
    int code = join(a);
    branch *b = a->branch_count ? a->branches : NULL;
    grove_block_sums *sums = b ? b->sums[a->count - 1] : NULL;
    header head = {b ? b->first : 0, b ? b->next : 0, {0}};

    if (code || (sums && grove_block_sums_fetch(a->session, sums)))
        return NULL;
    grove_buffer *const parts[3] = {sums ? sums->sum : NULL, sums ? sums->count : NULL,
                                    sums ? sums->nodes : NULL};
    *bytes = sizeof(head);
    for (int i = 0; i < 3; i++) {
        head.bytes[i] = parts[i] ? (int64_t)grove_buffer_bytes(parts[i]) : 0;
        *bytes += (size_t)head.bytes[i];
    }
    char *to = grove_alloc(*bytes), *at = to + sizeof(head);
    memcpy(to, &head, sizeof(head));
    for (int i = 0; i < 3; i++) {
        if (parts[i])
            memcpy(at, grove_buffer_host(parts[i], NULL), (size_t)head.bytes[i]);
        at += head.bytes[i];
    }
    return to;
}

int grove_accumulator_load(grove_accumulator *a, const void *from, size_t bytes)
{
    const grove_node *in = a->node->inputs[0].node;
    grove_range space[GROVE_MAX_AXES];
    size_t offset = sizeof(header);
    header head;

    memcpy(&head, from, bytes < sizeof(head) ? bytes : sizeof(head));
    if (bytes == offset) /* nothing was added to it */
        return 0;
    for (int d = 0; d < in->axis_count; d++) {
        space[d] = (grove_range){in->axes[d], 0, in->axes[d]->size};
        if (in->axes[d] == a->block.axis[GROVE_CUT_TIME])
            space[d].first = head.first;
    }
    a->branches = grove_alloc(sizeof(branch));
    a->branch_count = 1;
    branch *b = a->branches;
    *b = (branch){.device = a->session->device, .first = head.first, .next = head.next};
    grove_block_sums **sums = &b->sums[a->count - 1];
    int code =
        grove_block_sums_store(a->session, sums_for(a, a->count - 1, space, in->axis_count, sums));
    if (code)
        return code;
    grove_buffer *const parts[3] = {(*sums)->sum, (*sums)->count, (*sums)->nodes};
    for (int i = 0; i < 3; i++) {
        size_t own = parts[i] ? grove_buffer_bytes(parts[i]) : 0;
        if (bytes < offset + own || head.bytes[i] != (int64_t)own)
            return grove_fail(a->session->error, GROVE_INVALID,
                              "'%s': these are not the bytes of its sums", a->node->name);
        if (parts[i])
            memcpy(grove_buffer_host(parts[i], NULL), (const char *)from + offset, own);
        offset += own;
    }
    return 0;
}

uint64_t grove_accumulator_bytes(const grove_node *node, const grove_range *space, int axes,
                                 const grove_block *block, unsigned divided, bool counted,
                                 bool chunks)
{
    level levels[LEVELS];
    int count = find_levels(node, divided, levels);
    bool exact =
        node->class_->reduce == GROVE_REDUCE_MIN || node->class_->reduce == GROVE_REDUCE_MAX;
    uint64_t sum = 0;

    for (int i = chunks ? -1 : 0; i < count; i++) {
        bool nodes = i >= 0 && levels[i].cut && !exact;
        lifetime life[2] = {life_of(levels, count, i), nodes ? levels[i].life : ONE_TILE};
        uint64_t cells[2] = {1, 1};
        for (int k = 0; k < 2; k++) {
            grove_range range[GROVE_MAX_AXES];
            int n = ranges_after(node, levels, count, i, life[k], block, space, axes, range);
            for (int d = 0; d < n; d++)
                cells[k] *= (uint64_t)range[d].count;
        }
        sum += grove_block_sums_bytes(
            grove_form_elements(&node->form), node->form.complex_ ? 2 : 1, counted, cells[0],
            nodes ? grove_reduce_levels(levels[i].axis->size) : 0, cells[1]);
    }
    return sum;
}
