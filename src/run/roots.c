/* The roots of a pass: actions write, reductions add, values are stored. */
#include "run/copy.h"
#include "run/pipeline.h"
#include "run/usage.h"

#include "base/memory.h"
#include "plan/rows.h"

#include <string.h>

/* An array without its addresses. */
static void to_array(grove_value *value, const grove_node *node, grove_array *array,
                     grove_form *form)
{
    array->axes = value->axes;
    memcpy(array->range, value->range, sizeof(array->range));
    array->cells = grove_value_cells(value);
    array->elements = value->elements;
    *form = node->form;
    form->precision = value->double_ ? GROVE_PRECISION_DOUBLE : GROVE_PRECISION_SINGLE;
}

static grove_range range_of(const grove_pipeline *line, const grove_axis *axis)
{
    const grove_block *tile = &line->run.walk->spot.tile;

    for (int k = 0; k < GROVE_CUTS; k++)
        if (tile->axis[k] == axis)
            return (grove_range){axis, tile->first[k], tile->count[k]};
    return (grove_range){axis, 0, axis->size};
}

/* The ranges of an action's input: the first one over all axes of the action, the others over their
 * own. Returns how many. */
static int input_ranges(const grove_pipeline *line, const grove_step *root, int k,
                        grove_range space[GROVE_MAX_AXES])
{
    const grove_node *node = root->node, *in = node->inputs[k].node;
    int axes = 0;

    if (k == 0 || node->inputs[k].side) {
        for (int d = 0; d < node->axis_count; d++) {
            bool own = k == 0 || grove_node_has_axis(in, node->axes[d]) ||
                       node->axes[d]->kind == GROVE_AXIS_BASELINE;
            if (own)
                space[axes++] = range_of(line, node->axes[d]);
        }
    } else {
        for (int d = 0; d < in->axis_count; d++)
            space[axes++] = range_of(line, in->axes[d]);
    }
    return axes;
}

/* An action's input, dense over the tile: the value itself if it is dense already. */
static int dense_input(const grove_pipeline *line, const grove_step *root, int k,
                       grove_value **dense)
{
    grove_value *value = grove_run_value(&line->run, root->input[k]);
    grove_range space[GROVE_MAX_AXES];
    int axes = input_ranges(line, root, k, space);
    const int rows = grove_session_shows_all(line->run.session)
                         ? -1
                         : grove_root_rows(line->run.program, root, k, space, axes);
    const grove_value *left_out = rows < 0 ? NULL : grove_run_value(&line->run, root->input[rows]);

    return grove_copy_as_dense(
        line->run.session, value, root->node->inputs[k].side, space, axes, left_out,
        left_out ? grove_rows_gaps(root->node->rows, space, axes, grove_value_cell_bytes(value))
                 : (grove_gaps){.written = 0},
        dense);
}

/* Whether the root has seen this tile already: it does not have an axis along which the tile is not
 * the first. */
static bool seen(const grove_pipeline *line, const grove_root *root)
{
    for (int k = 0; k < GROVE_CUTS; k++)
        if (!(root->follows >> k & 1) && line->at.first[k] > 0)
            return true;
    return false;
}

static int take_action(grove_pipeline *line, const grove_step *step)
{
    grove_session *session = line->run.session;
    grove_writing *w = grove_pipeline_writing(line);
    int code = 0;

    grove_grow((void **)&w->calls, &w->capacity, (size_t)w->count, sizeof(grove_write_call));
    grove_write_call *call = &w->calls[w->count++];
    memset(call, 0, sizeof(*call));
    call->action = step->node;
    call->count = step->inputs;
    call->left_out = line->run.program->parts ? line->run.walk->left_out : NULL;
    call->once = line->pass->once;
    for (int k = 0; k < step->inputs && !code; k++) {
        if (step->input[k] < 0)
            continue;
        if (call->left_out && call->left_out[k]) {
            call->arrays[k].axes = input_ranges(line, step, k, call->arrays[k].range);
            continue;
        }
        code = dense_input(line, step, k, &call->values[k]);
        if (code)
            break;
        grove_walk_hold(line->run.walk, call->values[k]);
        to_array(call->values[k], step->node->inputs[k].node, &call->arrays[k], &call->forms[k]);
        if (!step->node->leaves_inputs && !grove_buffer_is_on(call->values[k]->data, NULL))
            grove_devices_make_host_room(session, grove_buffer_bytes(call->values[k]->data));
    }
    if (!code && call->values[0] && call->arrays[0].cells == 0)
        w->count--;
    return code;
}

static int take_store(grove_pipeline *line, grove_gathered *gathered, const grove_step *step)
{
    grove_session *session = line->run.session;
    const grove_program *p = line->run.program;
    const grove_step *in = &p->steps[step->input[0]];
    grove_value *value = grove_run_value(&line->run, step->input[0]);
    grove_range range[GROVE_MAX_AXES];
    grove_spot whole = {.tile = p->block};

    if (!p->divided) {
        gathered->stored = grove_value_ref(value);
        return 0;
    }
    grove_step_ranges(&whole, in, range);
    if (!gathered->stored) {
        gathered->stored =
            grove_value_new(session->host, range, in->axes, value->shape, value->elements,
                            value->complex_, value->double_, value->flags != NULL, session->error);
        if (!gathered->stored)
            return GROVE_NO_MEMORY;
        gathered->stored->unit = value->unit;
    }
    /* with flags along all axes */
    return grove_copy_into(session, value, gathered->stored);
}

static int take_gather(grove_pipeline *line, grove_gathered *gathered, const grove_step *step)
{
    int code = 0;

    line->run.session->may_yield = false; /* a class's accumulator cannot be undone */
    if (!gathered->state)
        code = grove_class_state_new(
            line->run.session, step->node,
            grove_plan_states(&line->evaluation->schedule->limits, step->node), &gathered->state);
    return code ? code : grove_class_state_add(&line->run, step, gathered->state);
}

int grove_roots_take(grove_run *run, const grove_step *step)
{
    grove_pipeline *line = run->context;
    const grove_root *root = &line->pass->roots[step->root];

    if (seen(line, root))
        return 0;
    switch (root->kind) {
    case GROVE_ROOT_STORE:
        return take_store(line, &line->gathered[step->root], step);
    case GROVE_ROOT_COLLECT:
        return take_gather(line, &line->gathered[step->root], step);
    default:
        return take_action(line, step);
    }
}

grove_accumulator *grove_roots_sums(grove_run *run, const grove_step *step)
{
    grove_pipeline *line = run->context;
    grove_gathered *gathered = &line->gathered[step->root];
    const grove_root *root = &line->pass->roots[step->root];
    grove_block block = run->program->block;

    if (seen(line, root))
        return NULL;
    for (int k = 0; k < GROVE_CUTS; k++)
        if (!(root->follows >> k & 1))
            block.axis[k] = NULL;
    if (!gathered->sums)
        gathered->sums = grove_accumulator_new(run->session, step->node, &block,
                                               run->program->divided, step->flagged);
    return gathered->sums;
}

static void whole_range(const grove_node *node, grove_range range[GROVE_MAX_AXES])
{
    for (int d = 0; d < node->axis_count; d++)
        range[d] = (grove_range){node->axes[d], 0, node->axes[d]->size};
}

int grove_roots_walk(grove_pipeline *line, bool *again)
{
    grove_session *session = line->run.session;
    int code = 0;

    *again = false;
    for (int i = 0; i < line->pass->root_count && !code; i++) {
        const grove_root *root = &line->pass->roots[i];
        grove_range range[GROVE_MAX_AXES];
        bool more = false, open = line->gathered[i].state != NULL;
        whole_range(root->node, range);
        grove_usage_time_for(session, &session->nodes[root->node->id].busy);
        if (open && grove_walk_gives(line->run.walk, root->step))
            code = grove_class_state_walk(line->gathered[i].state, range, &more);
        grove_usage_time_for(session, NULL);
        grove_walk_give(line->run.walk, root->step, more);
        *again = *again || more;
    }
    return code;
}

static int take_result(grove_pipeline *line, const grove_node *node, grove_gathered *gathered)
{
    grove_session *session = line->run.session;
    const grove_facts *facts = &session->facts[node->id];
    grove_value **result = &line->evaluation->results[node->id];
    grove_range range[GROVE_MAX_AXES];

    whole_range(node, range);
    grove_value_unref(*result);
    *result = NULL;
    double began = grove_now();
    grove_usage_time_for(session, &session->nodes[node->id].busy);
    int code = gathered->state ? grove_class_state_finish(gathered->state, range, result)
                               : grove_accumulator_finish(gathered->sums, range, facts->double_,
                                                          facts->flagged, result);
    grove_usage_count_for(session, node);
    grove_usage_time_for(session, NULL);
    grove_accumulator_free(gathered->sums);
    gathered->sums = NULL;
    grove_class_state_free(gathered->state);
    gathered->state = NULL;
    grove_usage_seconds_for(session, node, "finish", began);
    if (code)
        return code;
    (*result)->unit = node->form.unit;
    line->evaluation->results_keys[node->id] = facts->key;
    return 0;
}

int grove_roots_finish(grove_pipeline *line)
{
    int code = 0;

    for (int i = 0; i < line->pass->root_count && !code; i++)
        if (line->pass->roots[i].kind == GROVE_ROOT_COLLECT)
            code = take_result(line, line->pass->roots[i].node, &line->gathered[i]);
    return code;
}
