#include "run/class_state.h"

#include "run/call.h"
#include "run/class_device.h"
#include "run/copy.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

struct grove_class_state {
    grove_session *session;
    const grove_node *node;
    void **own; /* states of the class, [max] */
    int count, max;
    grove_class_device *devices; /* its states there */
    bool added;                  /* the host was given tiles */
    grove_value *value;          /* the result, from the first walk's end on; NULL: not yet */
};

/* Makes states of the class until there are `count`. */
static int make(grove_class_state *state, int count)
{
    int code = 0;

    while (state->count < count && !code) {
        grove_class_call scope;
        grove_class_call_begin(&scope, state->session, state->node, false);
        code = state->node->class_->accumulator->create(&scope.call, &state->own[state->count]);
        code = grove_class_call_end(&scope, code, "cannot begin to accumulate");
        state->count += !code;
    }
    return code;
}

/* Frees states until there are `count`. */
static void drop(grove_class_state *state, int count)
{
    while (state->count > count) {
        grove_class_call scope;
        grove_class_call_begin(&scope, state->session, state->node, false);
        state->node->class_->accumulator->free(state->node, state->own[--state->count]);
        grove_class_call_end(&scope, 0, "");
    }
}

int grove_class_state_new(grove_session *session, const grove_node *node, int max,
                          grove_class_state **state)
{
    grove_class_state *made = grove_alloc(sizeof(*made));

    *made = (grove_class_state){.session = session, .node = node, .max = max};
    made->own = grove_alloc((size_t)max * sizeof(void *));
    made->devices = grove_class_device_new(session, node);
    int code = make(made, 1);
    if (!code)
        *state = made;
    else
        grove_class_state_free(made);
    return code;
}

void grove_class_state_free(grove_class_state *state)
{
    if (!state)
        return;
    drop(state, 0);
    grove_class_device_free(state->devices);
    grove_value_unref(state->value);
    free(state->own);
    /* values of that size are no part of the heap */
    if (state->node->amounts[1].memory + state->node->amounts[1].scratch >= 32 << 20)
        grove_memory_trim();
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
    int code = grove_copy_as_dense(run->session, value, step->side[k], space, axes, NULL,
                                   (grove_gaps){.written = 0}, &p->values[k]);

    if (code)
        return code;
    p->forms[k] = step->node->inputs[k].node->form;
    describe(p->values[k], &p->forms[k], &p->arrays[k]);
    return p->arrays[k].cells ? find_addresses(run->session, p->values[k], &p->arrays[k]) : 0;
}

static bool may_be_cut(const grove_node *node, const grove_axis *axis)
{
    bool consumed = false;

    for (int k = 0; k < node->consumed_count; k++)
        consumed = consumed || node->consumed[k] == axis;
    return axis->kind == GROVE_AXIS_TIME || axis->kind == GROVE_AXIS_BASELINE ||
           axis->kind == GROVE_AXIS_FREQ || (axis->kind == GROVE_AXIS_SOURCE && consumed);
}

/* The slowest dimension with several cells; -1: none. */
static int slowest(const grove_array *array)
{
    for (int d = 0; d < array->axes; d++)
        if (array->range[d].count > 1)
            return d;
    return -1;
}

/* The axis along which pieces of all inputs are dense, NULL: there is none. */
static const grove_axis *find_cut(const grove_node *node, const part *p, int inputs)
{
    int first = p->arrays[0].data ? slowest(&p->arrays[0]) : -1;
    const grove_axis *axis = first < 0 ? NULL : p->arrays[0].range[first].axis;

    if (!axis || !may_be_cut(node, axis))
        return NULL;
    for (int k = 1; k < inputs; k++)
        for (int d = 0; d < p->arrays[k].axes; d++)
            if (p->arrays[k].range[d].axis == axis && slowest(&p->arrays[k]) != d)
                return NULL;
    return axis;
}

/* Cells [first, last) of an input along the axis, if it has that. */
static void cut(const grove_array *whole, const grove_axis *axis, int64_t first, int64_t last,
                grove_array *piece)
{
    *piece = *whole;
    for (int d = 0; d < whole->axes && whole->data; d++) {
        if (whole->range[d].axis != axis)
            continue;
        int64_t cells = whole->cells / whole->range[d].count;
        size_t bytes =
            grove_form_bytes(whole->form, whole->form->precision == GROVE_PRECISION_DOUBLE);
        piece->range[d].first += first;
        piece->range[d].count = last - first;
        piece->cells = cells * (last - first);
        piece->data = (char *)whole->data + (size_t)(first * cells) * bytes;
        piece->flags = whole->flags ? whole->flags + first * cells : NULL;
    }
}

/* Pieces of one part, one or none for each state. */
typedef struct {
    const grove_class_state *state;
    const grove_call *call;
    const part *whole;
    const grove_axis *axis;
    int64_t cells;
    int inputs, pieces, codes[];
} division;

static void add_pieces(void *context, int64_t begin, int64_t end)
{
    division *d = context;
    grove_call call = *d->call;

    call.threads = d->pieces > 1 ? NULL : call.threads;
    for (int64_t i = begin; i < end; i++) {
        grove_array pieces[GROVE_MAX_INPUTS];
        const grove_array *inputs[GROVE_MAX_INPUTS];
        for (int k = 0; k < d->inputs; k++) {
            cut(&d->whole->arrays[k], d->axis, d->cells * i / d->pieces,
                d->cells * (i + 1) / d->pieces, &pieces[k]);
            inputs[k] = &pieces[k];
        }
        d->codes[i] =
            d->state->node->class_->accumulator->add(&call, d->state->own[i], inputs, d->inputs);
    }
}

static int divide(grove_class_state *state, const part *p, int inputs)
{
    grove_session *session = state->session;
    const grove_axis *axis = state->max > 1 ? find_cut(state->node, p, inputs) : NULL;
    int64_t cells = axis ? p->arrays[0].range[slowest(&p->arrays[0])].count : 1;
    int pieces = cells < state->max ? (int)cells : state->max;
    int code = make(state, pieces);
    grove_class_call scope;

    if (code)
        return code;
    division *d = grove_alloc(sizeof(*d) + (size_t)pieces * sizeof(int));
    *d = (division){state, &scope.call, p, axis, cells, inputs, pieces};
    grove_class_call_begin(&scope, session, state->node, false);
    grove_parallel(pieces > 1 ? session->host->threads : NULL, pieces, 1, add_pieces, d);
    for (int i = 0; i < pieces && !code; i++)
        code = d->codes[i];
    free(d);
    return grove_class_call_end(&scope, code, "adding failed");
}

/* Parts without cells are not handed over. */
static int add_part(grove_run *run, const grove_step *step, void *context)
{
    grove_class_state *state = context;
    part p = {0};
    bool empty = false;
    int code = grove_class_device_add(state->devices, run, step);

    if (code != GROVE_MISSING)
        return code;
    code = 0;
    state->added = true;
    for (int k = 0; k < step->inputs && !code; k++) {
        if (step->input[k] < 0)
            continue;
        code = take_input(run, step, k, &p);
        empty = empty || p.arrays[k].cells == 0;
    }
    if (!code && !empty)
        code = divide(state, &p, step->inputs);
    for (int k = 0; k < step->inputs; k++)
        grove_value_unref(p.values[k]);
    return code;
}

int grove_class_state_add(grove_run *run, const grove_step *step, grove_class_state *state)
{
    return grove_run_chunks(run, step, add_part, state);
}

/* ---- the result ---- */

/* All into the first. */
static int merge(grove_class_state *state)
{
    int code = 0;

    for (int i = 1; i < state->count && !code; i++) {
        grove_class_call scope;
        grove_class_call_begin(&scope, state->session, state->node, false);
        code = state->node->class_->accumulator->merge(&scope.call, state->own[0], state->own[i]);
        code = grove_class_call_end(&scope, code, "merging failed");
    }
    drop(state, 1);
    return code;
}

/* The value's storage, of zeros. */
static int make_value(grove_class_state *state, const grove_range *range)
{
    grove_session *session = state->session;
    const grove_node *node = state->node;
    const grove_facts *facts = &session->facts[node->id];
    grove_array out = {0};

    if (state->value)
        return 0;
    state->value = grove_value_new(session->host, range, node->axis_count, node->form.shape,
                                   grove_form_elements(&node->form), node->form.complex_,
                                   facts->double_, facts->flagged, session->error);
    if (!state->value)
        return GROVE_NO_MEMORY;
    int code = find_addresses(session, state->value, &out);
    if (!code && out.data)
        memset(out.data, 0, grove_buffer_bytes(state->value->data));
    return code;
}

typedef int filler(const grove_call *call, void *state, grove_array *out, bool *again);

static int fill(grove_class_state *state, filler *fn, bool *again)
{
    grove_session *session = state->session;
    grove_form form = state->node->form;
    grove_array out = {0};
    grove_call_work work;
    grove_class_call scope;

    describe(state->value, &form, &out);
    if (!out.cells)
        return 0;
    int code = find_addresses(session, state->value, &out);
    if (code)
        return code;
    grove_error *fault = grove_error_new();
    grove_call_begin(&work, session->host, NULL, 0, fault);
    grove_class_call_begin(&scope, session, state->node, false);
    grove_call call = scope.call;
    call.work = &work;
    code = grove_call_end(&call, fn(&call, state->own[0], &out, again));
    code = grove_class_call_end(&scope, code, "cannot finish");
    grove_error_free(fault);
    return code;
}

static int walked(const grove_call *call, void *state, grove_array *out, bool *again)
{
    return call->node->class_->accumulator->walk(call, state, out, again);
}

static int finished(const grove_call *call, void *state, grove_array *out, bool *again)
{
    (void)again;
    return call->node->class_->accumulator->finish(call, state, out);
}

int grove_class_state_walk(grove_class_state *state, const grove_range *range, bool *again)
{
    *again = false;
    if (!state->node->class_->accumulator->walk)
        return 0;
    int code = make_value(state, range);
    return code ? code : fill(state, walked, again);
}

int grove_class_state_finish(grove_class_state *state, const grove_range *range,
                             grove_value **value)
{
    *value = NULL;
    int code =
        state->added ? GROVE_MISSING : grove_class_device_finish(state->devices, range, value);
    if (code != GROVE_MISSING)
        return code;
    code = make_value(state, range);
    if (!code)
        code = merge(state);
    if (!code)
        code = grove_class_device_merge(state->devices, state->own[0]);
    if (!code)
        code = fill(state, finished, NULL);
    if (code)
        return code;
    *value = state->value;
    state->value = NULL;
    return 0;
}
