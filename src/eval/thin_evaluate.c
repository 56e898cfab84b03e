/* A node's value for a block: found in the table, or computed from its inputs. */
#include "eval/thin_state.h"

#include <string.h>

bool grove_node_is_double(const grove_session *session, const grove_node *node)
{
    switch (node->form.precision) {
    case GROVE_PRECISION_DOUBLE:
        return true;
    case GROVE_PRECISION_SINGLE:
        return false;
    default:
        return session->options.double_precision;
    }
}

grove_hash grove_value_key(const grove_session *session, const grove_node *node,
                           const grove_block *block)
{
    grove_hash key = grove_hash_integer(node->key, node->id);
    const grove_node_state *state = &session->nodes[node->id];

    for (int i = 0; i < block->count; i++) {
        const grove_range *range = &block->range[i];
        bool whole = range->first == 0 && range->count == range->axis->size;
        for (int d = 0; !whole && d < state->depend_count; d++)
            if (state->depends[d] == range->axis) {
                int64_t words[3] = {(int64_t)(intptr_t)range->axis, range->first, range->count};
                key = grove_hash_add(key, words, sizeof(words));
            }
    }
    return key;
}

int grove_node_ranges(const grove_node *node, const grove_block *block, grove_range *ranges)
{
    for (int d = 0; d < node->axis_count; d++)
        ranges[d] = grove_block_range(block, node->axes[d]);
    return node->axis_count;
}

grove_value *grove_value_for(grove_session *session, const grove_node *node,
                             const grove_block *block, bool flags)
{
    grove_range ranges[GROVE_MAX_AXES];
    int axes = grove_node_ranges(node, block, ranges);
    int elements = node->form.shape == GROVE_VECTOR ? node->form.vector : node->form.shape;
    grove_value *value = grove_value_new(session->device, ranges, axes, node->form.shape, elements,
                                         node->form.complex_, grove_node_is_double(session, node),
                                         flags, session->error);

    if (value)
        memcpy(&value->unit, &node->form.unit, sizeof(value->unit));
    return value;
}

static int compute(grove_session *session, grove_node *node, const grove_block *block,
                   grove_value **value)
{
    switch (node->kind) {
    case GROVE_NODE_MEMBER:
        return grove_compute_member(session, node, block, value);
    case GROVE_NODE_CONSTANT:
        return grove_compute_constant(session, node, value);
    case GROVE_NODE_CAST:
        return grove_compute_cast(session, node, block, value);
    default:
        break;
    }
    if (node->class_->flags & GROVE_CLASS_SELECT)
        return grove_compute_select(session, node, block, value);
    if (node->class_->flags & GROVE_CLASS_REDUCE)
        return grove_compute_reduction(session, node, block, value);
    return grove_compute_class(session, node, block, value);
}

/* Another tile can use it if it does not depend on all that is cut; a chunk of sources is used
 * once. */
static bool is_kept(const grove_session *session, const grove_node *node, const grove_block *block)
{
    bool cut = false, all = true;

    if (session->options.cache_off)
        return false;
    for (int i = 0; i < block->count; i++) {
        const grove_range *range = &block->range[i];
        if (range->count == range->axis->size)
            continue;
        bool depends = grove_node_depends(session, node, range->axis);
        if (depends && range->axis->kind == GROVE_AXIS_SOURCE)
            return false;
        cut = true;
        all = all && depends;
    }
    return !cut || !all;
}

static void account(grove_session *session, const grove_node *node, const grove_block *block,
                    const grove_value *value, double began)
{
    grove_node_state *state = &session->nodes[node->id];
    double seconds = grove_now() - began;

    state->misses++;
    state->calls++;
    state->seconds += seconds;
    state->bytes += grove_value_bytes(value);
    session->counters.misses++;
    session->counters.evaluations++;
    session->counters.node_tiles++;
    if (session->tracer || session->options.trace_lines)
        grove_trace(session, "run", node, block, began, seconds, grove_value_bytes(value));
}

static void add_context(grove_session *session, const grove_node *node, size_t errors)
{
    if (node->place.line && grove_error_count(session->error) > errors)
        grove_error_context(session->error, errors, &node->place, NULL);
}

int grove_evaluate(grove_session *session, grove_node *node, const grove_block *block,
                   grove_value **value)
{
    grove_node_state *state = &session->nodes[node->id];

    if (state->finished) {
        *value = grove_value_ref(state->finished);
        return 0;
    }
    grove_hash key = grove_value_key(session, node, block);
    *value = grove_table_find(session->table, key);
    if (*value) {
        state->hits++;
        session->counters.hits++;
        if (session->options.trace_lines)
            grove_trace(session, "hit", node, block, grove_now(), 0, 0);
        return 0;
    }
    size_t errors = grove_error_count(session->error);
    double began = grove_now();
    int code = compute(session, node, block, value);
    if (code) {
        add_context(session, node, errors);
        return code;
    }
    account(session, node, block, *value, began);
    bool kept = is_kept(session, node, block);
    /* a reader inside a loop over chunks comes back: such values stay to the end of the tile */
    int reads = session->chunk_depth ? 0 : state->readers - 1;
    if (kept || state->readers > 1 || session->chunk_depth)
        grove_table_add(session->table, key, *value, kept, reads > 0 ? reads : 0,
                        grove_now() - began);
    return 0;
}
