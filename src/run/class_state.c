#include "run/class_state.h"

#include "run/copy.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

struct grove_class_state {
    grove_session *session;
    const grove_node *node;
    void *own; /* the class's */
};

static grove_call call_of(const grove_class_state *state)
{
    const grove_session *session = state->session;
    int id = state->node->id;

    return (grove_call){.node = state->node,
                        .double_precision = session->facts[id].double_,
                        .threads = session->host->threads,
                        .run = session->runs[id]};
}

int grove_class_state_new(grove_session *session, const grove_node *node, grove_class_state **state)
{
    grove_class_state made = {.session = session, .node = node};
    grove_call call = call_of(&made);
    grove_class_call scope;

    grove_class_call_begin(&scope, session, node, false);
    int code = grove_class_call_end(&scope, node->class_->accumulate_new(&call, &made.own),
                                    "cannot begin to accumulate");
    if (!code)
        *state = memcpy(grove_alloc(sizeof(made)), &made, sizeof(made));
    return code;
}

void grove_class_state_free(grove_class_state *state)
{
    grove_class_call scope;

    if (!state)
        return;
    grove_class_call_begin(&scope, state->session, state->node, false);
    state->node->class_->accumulate_free(state->node, state->own);
    grove_class_call_end(&scope, 0, "");
    free(state);
}

static void describe(const grove_value *value, grove_form *form, grove_array *array)
{
    form->precision = value->double_ ? GROVE_PRECISION_DOUBLE : GROVE_PRECISION_SINGLE;
    memcpy(array->range, value->range, sizeof(array->range));
    array->axes = value->axes;
    array->cells = grove_value_cells(value);
    array->elements = value->elements;
    array->form = form;
}

static int find_addresses(grove_session *session, const grove_value *value, grove_array *array)
{
    int code = grove_launch_to_host(session, value->data);
    void *at = NULL;

    if (!code)
        code = grove_launch_host_address(session, value->data, &array->data);
    if (!code && value->flags)
        code = grove_launch_to_host(session, value->flags);
    if (!code && value->flags)
        code = grove_launch_host_address(session, value->flags, &at);
    array->flags = at;
    return code;
}

/* ---- adding ---- */

typedef struct {
    grove_value *values[GROVE_MAX_INPUTS];
    grove_form forms[GROVE_MAX_INPUTS];
    grove_array arrays[GROVE_MAX_INPUTS];
} part;

static int take_input(grove_run *run, const grove_step *step, int k, part *p)
{
    grove_range space[GROVE_MAX_AXES];
    grove_value *value = grove_run_value(run, step->input[k]);
    int axes = grove_step_taken_ranges(run->program, &run->walk->spot, step, k, space);
    int code = grove_copy_as_dense(run->session, value, step->side[k], space, axes, &p->values[k]);

    if (code)
        return code;
    p->forms[k] = step->node->inputs[k].node->form;
    describe(p->values[k], &p->forms[k], &p->arrays[k]);
    return p->arrays[k].cells ? find_addresses(run->session, p->values[k], &p->arrays[k]) : 0;
}

/* A block without cells is not added. */
static int add_part(grove_run *run, const grove_step *step, void *context)
{
    grove_class_state *state = context;
    const grove_array *inputs[GROVE_MAX_INPUTS];
    part p = {0};
    bool empty = false;
    int code = 0;

    for (int k = 0; k < step->inputs && !code; k++) {
        inputs[k] = &p.arrays[k];
        if (step->input[k] < 0)
            continue;
        code = take_input(run, step, k, &p);
        empty = empty || p.arrays[k].cells == 0;
    }
    if (!code && !empty) {
        grove_call call = call_of(state);
        grove_class_call scope;
        grove_class_call_begin(&scope, run->session, state->node, false);
        code = state->node->class_->accumulate_add(&call, state->own, inputs, step->inputs);
        code = grove_class_call_end(&scope, code, "adding failed");
    }
    for (int k = 0; k < step->inputs; k++)
        grove_value_unref(p.values[k]);
    return code;
}

int grove_class_state_add(grove_run *run, const grove_step *step, grove_class_state *state)
{
    return grove_run_chunks(run, step, add_part, state);
}

/* ---- the result ---- */

static int fill(grove_class_state *state, grove_value *value)
{
    grove_session *session = state->session;
    grove_form form = state->node->form;
    grove_array out = {0};
    grove_call call = call_of(state);
    grove_class_call scope;

    describe(value, &form, &out);
    if (!out.cells)
        return 0;
    int code = find_addresses(session, value, &out);
    if (code)
        return code;
    memset(out.data, 0, grove_buffer_bytes(value->data));
    grove_class_call_begin(&scope, session, state->node, false);
    code = state->node->class_->accumulate_finish(&call, state->own, &out);
    return grove_class_call_end(&scope, code, "cannot finish");
}

int grove_class_state_finish(grove_class_state *state, const grove_range *range,
                             grove_value **value)
{
    grove_session *session = state->session;
    const grove_node *node = state->node;
    const grove_facts *facts = &session->facts[node->id];

    *value = grove_value_new(session->host, range, node->axis_count, node->form.shape,
                             grove_form_elements(&node->form), node->form.complex_, facts->double_,
                             facts->flagged, session->error);
    int code = *value ? fill(state, *value) : GROVE_NO_MEMORY;
    if (code) {
        grove_value_unref(*value);
        *value = NULL;
    }
    return code;
}
