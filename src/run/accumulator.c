#include "run/accumulator.h"

#include "base/memory.h"
#include "run/launch.h"
#include "run/partial_sums.h"

#include <stdlib.h>

static const int level_kinds[GROVE_CUTS] = {GROVE_AXIS_FREQ, GROVE_AXIS_BASELINE, GROVE_AXIS_TIME};
static const int level_cuts[GROVE_CUTS] = {GROVE_CUT_FREQ, GROVE_CUT_BASELINE, GROVE_CUT_TIME};

/* How long partial results are gathered until they go to the next level. */
typedef enum { ONE_TILE, ALL_BASELINES, ALL_BUT_TIME, WHOLE_RUN } lifetime;

typedef struct {
    const grove_axis *axis; /* NULL: nothing is reduced but what comes first */
    lifetime life;
    grove_sums *sums;
} level;

struct grove_accumulator {
    grove_session *session;
    const grove_node *node;
    grove_block block;
    unsigned divided;
    bool counted;
    level levels[2 * GROVE_MAX_AXES];
    int count;
    grove_sums *chunks;
};

static int find_levels(const grove_node *node, unsigned divided, level *levels)
{
    bool freq = false, baseline = false;
    int n = 0;

    for (int i = 0; i < GROVE_CUTS; i++)
        for (int k = 0; k < node->consumed_count; k++) {
            if (node->consumed[k]->kind != level_kinds[i])
                continue;
            bool cut = divided >> level_cuts[i] & 1;
            freq = freq || (cut && level_cuts[i] == GROVE_CUT_FREQ);
            baseline = baseline || (cut && level_cuts[i] == GROVE_CUT_BASELINE);
            levels[n++] = (level){node->consumed[k],
                                  freq       ? ALL_BUT_TIME
                                  : baseline ? ALL_BASELINES
                                             : ONE_TILE,
                                  NULL};
        }
    if (!n)
        levels[n++] = (level){NULL, ONE_TILE, NULL};
    levels[n - 1].life = WHOLE_RUN;
    return n;
}

grove_accumulator *grove_accumulator_new(grove_session *session, const grove_node *node,
                                         const grove_block *block, unsigned divided, bool counted)
{
    grove_accumulator *fold = grove_alloc(sizeof(*fold));

    fold->session = session;
    fold->node = node;
    fold->block = *block;
    fold->divided = divided;
    fold->counted = counted;
    fold->count = find_levels(node, divided, fold->levels);
    return fold;
}

void grove_accumulator_free(grove_accumulator *fold)
{
    if (!fold)
        return;
    for (int i = 0; i < fold->count; i++)
        grove_sums_free(fold->levels[i].sums);
    grove_sums_free(fold->chunks);
    free(fold);
}

/* From the tile's range to what is gathered in that life. */
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

/* Ranges after level `last` (-1: after what comes first). */
static int ranges_after(const grove_node *node, const level *levels, int count, int last,
                        const grove_block *block, const grove_range *space, int axes,
                        grove_range *range)
{
    int n = 0;

    for (int d = 0; d < axes; d++) {
        bool stays = !is_reduced(node, space[d].axis);
        for (int i = last + 1; i < count; i++)
            stays = stays || levels[i].axis == space[d].axis;
        if (stays)
            range[n++] = widen(block, space[d], last < 0 ? ONE_TILE : levels[last].life);
    }
    return n;
}

static grove_sums *new_sums(const grove_accumulator *fold, int last, const grove_range *space,
                            int axes, grove_error *error)
{
    const grove_form *form = &fold->node->form;
    grove_range range[GROVE_MAX_AXES];
    int n =
        ranges_after(fold->node, fold->levels, fold->count, last, &fold->block, space, axes, range);

    return grove_sums_new(fold->session->host, fold->node->class_->reduce, range, n,
                          grove_form_elements(form), form->complex_ ? 2 : 1, fold->counted, error);
}

static bool at_end(const grove_accumulator *fold, const grove_block *tile, int cut)
{
    return !fold->block.axis[cut] ||
           tile->first[cut] + tile->count[cut] >= fold->block.first[cut] + fold->block.count[cut];
}

static bool is_complete(const grove_accumulator *fold, const grove_block *tile, lifetime life)
{
    bool baselines = at_end(fold, tile, GROVE_CUT_BASELINE);

    return life == ONE_TILE || (life == ALL_BASELINES && baselines) ||
           (life == ALL_BUT_TIME && baselines && at_end(fold, tile, GROVE_CUT_FREQ));
}

static bool is_there(const grove_accumulator *fold, const grove_sums *sums)
{
    const grove_session *session = fold->session;

    return grove_devices_in_use(session) && grove_buffer_is_on(sums->storage[0], session->device) &&
           !grove_buffer_is_on(sums->storage[0], NULL);
}

static int add_sums(const grove_accumulator *fold, grove_sums *to, grove_sums *from,
                    grove_error *error)
{
    bool done = false;
    int code = is_there(fold, from) ? grove_sums_add_there(fold->session, to, from, &done) : 0;

    return code || done ? code : grove_sums_add(to, from, fold->session->host->threads, error);
}

static int add_value(const grove_accumulator *fold, grove_sums *to, grove_value *input,
                     const grove_range *space, int axes, const grove_axis *outer,
                     grove_error *error)
{
    grove_session *session = fold->session;
    bool done = false;
    int code = 0;

    if (grove_buffer_is_on(input->data, session->device) && !grove_buffer_is_on(input->data, NULL))
        code = grove_sums_add_value_there(session, to, input, space, axes, outer, &done);
    if (!code && !done)
        code = grove_launch_to_host(session, input->data);
    if (code || done)
        return code;
    return grove_sums_add_value(to, input, space, axes, outer, session->host->threads, error);
}

/* Hands complete levels on to the next. */
static int pass_on(grove_accumulator *fold, const grove_block *tile, grove_error *error)
{
    for (int i = 0; i + 1 < fold->count && is_complete(fold, tile, fold->levels[i].life); i++) {
        grove_sums *from = fold->levels[i].sums;
        level *next = &fold->levels[i + 1];
        if (!next->sums)
            next->sums = new_sums(fold, i + 1, from->range, from->axes, error);
        if (!next->sums)
            return GROVE_NO_MEMORY;
        int code = add_sums(fold, next->sums, from, error);
        if (code)
            return code;
        grove_sums_free(from);
        fold->levels[i].sums = NULL;
    }
    return 0;
}

int grove_accumulator_add(grove_accumulator *fold, const grove_block *tile, grove_value *input,
                          const grove_range *space, int axes, bool chunk, grove_error *error)
{
    grove_sums **to = chunk ? &fold->chunks : &fold->levels[0].sums;

    if (!*to)
        *to = new_sums(fold, chunk ? -1 : 0, space, axes, error);
    if (!*to)
        return GROVE_NO_MEMORY;
    int code = add_value(fold, *to, input, space, axes, chunk ? NULL : fold->levels[0].axis, error);
    return code || chunk ? code : pass_on(fold, tile, error);
}

int grove_accumulator_end_chunks(grove_accumulator *fold, const grove_block *tile,
                                 grove_error *error)
{
    grove_sums *from = fold->chunks;
    level *first = &fold->levels[0];

    if (!from)
        return 0;
    if (!first->sums)
        first->sums = new_sums(fold, 0, from->range, from->axes, error);
    if (!first->sums)
        return GROVE_NO_MEMORY;
    int code = add_sums(fold, first->sums, from, error);
    if (code)
        return code;
    grove_sums_free(from);
    fold->chunks = NULL;
    return pass_on(fold, tile, error);
}

static int finish(const grove_accumulator *fold, grove_sums *sums, int64_t samples,
                  const grove_range *space, bool double_, bool flagged, grove_value **value,
                  grove_error *error)
{
    const grove_node *node = fold->node;
    const grove_form *form = &node->form;
    int elements = grove_form_elements(form), code = 0;
    bool done = false;

    if (is_there(fold, sums)) {
        *value = grove_value_bare(space, node->axis_count, form->shape, elements, form->complex_,
                                  double_);
        code = grove_sums_finish_there(fold->session, sums, samples, *value, flagged, &done);
        if (!done)
            grove_value_unref(*value);
    }
    if (!code && !done) {
        *value = grove_value_new(fold->session->host, space, node->axis_count, form->shape,
                                 elements, form->complex_, double_, flagged, error);
        code = *value ? grove_sums_finish(sums, samples, *value, error) : GROVE_NO_MEMORY;
        if (code)
            grove_value_unref(*value);
    }
    if (code)
        *value = NULL;
    return code;
}

int grove_accumulator_value(grove_accumulator *fold, const grove_range *space, bool double_,
                            bool flagged, grove_value **value, grove_error *error)
{
    const grove_node *node = fold->node;
    grove_sums **sums = &fold->levels[fold->count - 1].sums;
    int elements = grove_form_elements(&node->form);
    int64_t samples = 1;

    for (int k = 0; k < node->consumed_count; k++)
        samples *= node->consumed[k]->size;
    if (!*sums) /* nothing came: an axis of size zero */
        *sums = grove_sums_new(fold->session->host, node->class_->reduce, space, node->axis_count,
                               elements, node->form.complex_ ? 2 : 1, fold->counted, error);
    return *sums ? finish(fold, *sums, samples, space, double_, flagged, value, error)
                 : GROVE_NO_MEMORY;
}

uint64_t grove_accumulator_bytes(const grove_node *node, const grove_range *space, int axes,
                                 const grove_block *block, unsigned divided, bool counted,
                                 bool chunks)
{
    level levels[2 * GROVE_MAX_AXES];
    int count = find_levels(node, divided, levels);
    uint64_t each = (uint64_t)grove_form_elements(&node->form) *
                    ((node->form.complex_ ? 16u : 8u) + (counted ? 8u : 0u));
    uint64_t sum = 0;

    for (int i = chunks ? -1 : 0; i < count; i++) {
        grove_range range[GROVE_MAX_AXES];
        uint64_t cells = 1;
        int n = ranges_after(node, levels, count, i, block, space, axes, range);
        for (int d = 0; d < n; d++)
            cells *= (uint64_t)range[d].count;
        sum += cells * each;
    }
    return sum;
}
