/* What each node depends on, and in which pass it can be evaluated. */
#include "eval/thin_state.h"

#include <string.h>

grove_range grove_block_range(const grove_block *block, const grove_axis *axis)
{
    for (int i = 0; i < block->count; i++)
        if (block->range[i].axis == axis)
            return block->range[i];
    return (grove_range){axis, 0, axis->size};
}

bool grove_block_restrict(grove_block *block, grove_range range)
{
    for (int i = 0; i < block->count; i++)
        if (block->range[i].axis == range.axis) {
            block->range[i] = range;
            return true;
        }
    if (block->count == GROVE_MAX_CUTS)
        return false;
    block->range[block->count++] = range;
    return true;
}

bool grove_node_depends(const grove_session *session, const grove_node *node,
                        const grove_axis *axis)
{
    const grove_node_state *state = &session->nodes[node->id];

    for (int i = 0; i < state->depend_count; i++)
        if (state->depends[i] == axis)
            return true;
    return false;
}

static bool listed(const grove_axis *const *list, int count, const grove_axis *axis)
{
    for (int i = 0; i < count; i++)
        if (list[i] == axis)
            return true;
    return false;
}

static bool consumes(const grove_node *node, const grove_axis *axis)
{
    return listed(node->consumed, node->consumed_count, axis);
}

static bool is_cut_kind(int kind)
{
    return kind == GROVE_AXIS_TIME || kind == GROVE_AXIS_FREQ || kind == GROVE_AXIS_BASELINE;
}

/* A value depends on its own axes and on those that its inputs depend on, but for the ones it takes
 * whole: reduced or selected axes, and the station axis where it is gathered to baselines. */
static void analyse_node(grove_session *session, grove_node *node)
{
    const grove_axis *list[256];
    grove_node_state *state = &session->nodes[node->id];
    int count = 0;

    for (int i = 0; i < node->axis_count; i++)
        list[count++] = node->axes[i];
    for (int k = 0; k < node->input_count; k++) {
        const grove_node *in = node->inputs[k].node;
        if (!in)
            continue;
        const grove_node_state *below = &session->nodes[in->id];
        for (int i = 0; i < below->depend_count && count < 256; i++)
            if (!listed(list, count, below->depends[i]) && !consumes(node, below->depends[i]))
                list[count++] = below->depends[i];
        if (below->stage > state->stage)
            state->stage = below->stage;
    }
    for (int i = 0; i < node->consumed_count; i++)
        if (node->class_ && node->class_->flags & GROVE_CLASS_REDUCE &&
            is_cut_kind(node->consumed[i]->kind))
            state->whole_run = true;
    state->stage += state->whole_run;
    state->depend_count = state->whole_run ? 0 : count;
    state->depends = grove_copy(list, (size_t)count * sizeof(*list));
}

void grove_session_analyse(grove_session *session)
{
    session->nodes = grove_alloc((session->tree->node_count + 1) * sizeof(grove_node_state));
    for (size_t i = 0; i < session->tree->node_count; i++)
        analyse_node(session, session->tree->nodes[i]);
}

static void mark(grove_session *session, grove_node *node)
{
    grove_node_state *state = &session->nodes[node->id];

    if (state->in_pass || state->finished)
        return;
    state->in_pass = true;
    for (int k = 0; k < node->input_count; k++)
        if (node->inputs[k].node) {
            mark(session, node->inputs[k].node);
            session->nodes[node->inputs[k].node->id].readers++;
        }
}

void grove_session_mark_pass(grove_session *session, grove_node *const *roots, size_t count)
{
    for (size_t i = 0; i < session->tree->node_count; i++) {
        session->nodes[i].readers = 0;
        session->nodes[i].in_pass = false;
    }
    for (size_t i = 0; i < count; i++)
        mark(session, roots[i]);
}
