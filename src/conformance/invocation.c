#include "conformance/invocation.h"

#include "base/text.h"
#include "plan/facts.h"
#include "run/call.h"
#include "run/session.h"
#include "value/value.h"

#include <stdlib.h>
#include <string.h>

grove_invocation_array grove_invocation_array_of(const grove_node *node, bool double_precision)
{
    grove_invocation_array a = {.axis_count = node->axis_count, .cells = 1};
    const grove_form *form = &node->form;

    for (int d = 0; d < node->axis_count; d++) {
        a.axes[d] = node->axes[d];
        a.cells *= node->axes[d]->size;
    }
    a.shape = form->shape;
    a.elements = grove_form_elements(form);
    a.parts = form->complex_ ? 2 : 1;
    a.bytes = form->precision == GROVE_PRECISION_DOUBLE ||
                      (form->precision == GROVE_PRECISION_RUN && double_precision)
                  ? 8
                  : 4;
    return a;
}

static size_t bytes_of(const grove_invocation_array *a)
{
    return (size_t)(a->cells * a->elements * a->parts) * (size_t)a->bytes;
}

size_t grove_invocation_cell_bytes(const grove_invocation *call)
{
    return (size_t)(call->out.elements * call->out.parts) * (size_t)call->out.bytes;
}

size_t grove_invocation_bytes(const grove_invocation *call)
{
    return bytes_of(&call->out);
}

grove_view grove_invocation_view(const grove_invocation_array *a, const grove_args *args,
                                 const grove_axis *const *space, char side, bool flags)
{
    grove_view view = {.data = a->data,
                       .elements = a->elements,
                       .shape = a->shape,
                       .complex_ = a->parts == 2,
                       .bytes = a->bytes};
    int64_t step = flags ? 1 : (int64_t)a->elements * a->parts * a->bytes;

    for (int i = a->axis_count - 1; i >= 0; i--) {
        const grove_axis *axis = a->axes[i];
        for (int d = 0; d < args->axes; d++) {
            bool gathered =
                side && axis->kind == GROVE_AXIS_STATION && space[d]->kind == GROVE_AXIS_BASELINE;
            if (space[d] != axis && !gathered)
                continue;
            view.stride[d] = step;
            if (gathered) {
                view.gather = side == 'p' ? space[d]->left : space[d]->right;
                view.gather_axis = d;
            }
        }
        step *= axis->size;
    }
    return view;
}

int grove_invocation_space(const grove_node *node, const grove_axis **space)
{
    int n = 0;

    for (int i = 0; i < node->axis_count; i++)
        space[n++] = node->axes[i];
    for (int i = 0; i < node->consumed_count && n < GROVE_MAX_AXES; i++) {
        int at = n++;
        for (; at > 0 && space[at - 1]->kind > node->consumed[i]->kind; at--)
            space[at] = space[at - 1];
        space[at] = node->consumed[i];
    }
    return n;
}

/* Flags of a value, a byte per cell; NULL where nothing is flagged. */
static int copy_flags(grove_value *value, grove_invocation_array *a, grove_error *error)
{
    if (!value->flags)
        return 0;
    unsigned char *flagged = grove_value_flagged(value, error);
    if (!flagged)
        return grove_error_code(error);
    unsigned char *bits = grove_alloc((size_t)a->cells + 1);
    for (int64_t i = 0; i < a->cells * a->elements; i++) {
        int e = (int)(i % a->elements);
        bits[i / a->elements] |= (unsigned char)(flagged[i] << (e < 7 ? e : 7));
    }
    free(flagged);
    a->data = bits;
    a->parts = a->bytes = 1;
    return 0;
}

/* Copies the value of an input into memory that a check may change. */
static int copy_input(grove_fixture *fixture, grove_session *session, grove_invocation *call, int k)
{
    grove_node *from = call->node->inputs[k].node;
    grove_invocation_array *a = &call->in[k];
    bool flags = call->node->handing[k] == GROVE_AS_FLAGS;

    *a = grove_invocation_array_of(from, call->double_);
    grove_value *value = grove_fixture_value(session, from);
    if (!value)
        return grove_error_code(fixture->error);
    int code = flags ? copy_flags(value, a, fixture->error) : 0;
    const void *data = flags ? NULL : grove_buffer_host(value->data, fixture->error);
    if (data) {
        a->data = grove_alloc(bytes_of(a) + 1);
        memcpy(a->data, data, bytes_of(a));
    } else if (!flags) {
        code = grove_error_code(fixture->error);
    }
    grove_value_unref(value);
    if (!code)
        call->args.in[k] =
            grove_invocation_view(a, &call->args, call->space, call->node->inputs[k].side, flags);
    return code;
}

bool grove_invocation_is_possible(const grove_node *node)
{
    if (node->kind != GROVE_NODE_CLASS || !grove_class_computes(node->class_))
        return false;
    return grove_class_takes_arrays(node->class_) ||
           (node->kernel && node->kernel->single_precision && node->kernel->double_precision);
}

int grove_invocation_begin(grove_fixture *fixture, grove_node *node, bool double_precision,
                           int threads, grove_invocation *call)
{
    const grove_session_options options =
        GROVE_SESSION_OPTIONS(.device = "cpu", .threads = 1, .double_precision = double_precision);
    grove_args *args = &call->args;

    memset(call, 0, sizeof(*call));
    call->node = node;
    call->out = grove_invocation_array_of(node, double_precision);
    call->double_ = double_precision;
    args->axes = grove_invocation_space(node, call->space);
    args->inputs = node->input_count;
    for (int d = 0; d < args->axes; d++) {
        args->size[d] = call->space[d]->size;
        args->axis[d] = call->space[d]->kind;
    }
    grove_session *session = grove_fixture_session(fixture, &options);
    if (!session)
        return grove_error_code(fixture->error);
    int code = 0;
    for (int k = 0; k < node->input_count && !code; k++)
        if (node->inputs[k].node)
            code = copy_input(fixture, session, call, k);
    grove_session_free(session);
    call->out.data = grove_alloc(bytes_of(&call->out) + 1);
    args->out = grove_invocation_view(&call->out, args, call->space, 0, false);
    memcpy(args->state.bytes, node->state, sizeof(args->state.bytes));
    args->table = node->table;
    call->host = grove_device_cpu(threads);
    if (!code && node->class_->start)
        code = node->class_->start(node, &call->run);
    call->started = !code;
    return code;
}

void grove_invocation_end(grove_invocation *call)
{
    for (int k = 0; k < GROVE_MAX_INPUTS; k++)
        free(call->in[k].data);
    free(call->out.data);
    grove_device_free(call->host);
    if (call->started && call->node->class_->stop)
        call->node->class_->stop(call->node, call->run);
}

static uint64_t scratch_bytes(const grove_invocation *call, const grove_args *args)
{
    const grove_node *node = call->node;
    grove_range range[GROVE_MAX_AXES];
    int n = 0;

    for (int d = 0; d < args->axes; d++) {
        const grove_axis *axis = NULL; /* an axis that a check has inserted */
        bool consumed = false;
        for (int i = 0; i < node->consumed_count; i++)
            consumed = consumed || node->consumed[i]->kind == args->axis[d];
        for (int i = 0; i < node->axis_count; i++)
            if (node->axes[i]->kind == args->axis[d])
                axis = node->axes[i];
        if (!consumed)
            range[n++] = (grove_range){axis, args->origin[d], args->size[d]};
    }
    return grove_node_scratch_bytes(node, range, n);
}

/* As a session does, on the host; scratch memory is full of NaN. */
static int call_whole(const grove_invocation *call, const grove_args *args, bool double_)
{
    const grove_node *node = call->node;
    uint64_t bytes = scratch_bytes(call, args);
    void *scratch = NULL;
    grove_error *error = grove_error_new();
    grove_call_work work;
    grove_call whole = {.node = node,
                        .args = args,
                        .double_precision = double_,
                        .threads = call->host->threads,
                        .run = call->run,
                        .work = &work,
                        .memory = UINT64_MAX};
    int code = bytes ? grove_device_allocate(call->host, bytes, &scratch, error) : 0;

    if (code) {
        grove_node_fail(node, code, "%s", grove_error_message(error, 0));
    } else {
        if (bytes)
            memset(scratch, 255, bytes);
        grove_call_begin(&work, call->host, scratch, bytes, error);
        code = grove_call_run(&whole);
    }
    grove_device_release(call->host, scratch, bytes);
    grove_error_free(error);
    return code;
}

int grove_invocation_call(const grove_invocation *call, const grove_args *args)
{
    const grove_node *node = call->node;
    bool double_ = call->out.bytes == 8;

    if (grove_class_takes_arrays(node->class_))
        return call_whole(call, args, double_);
    grove_cells_fn cells =
        double_ ? node->kernel->double_precision : node->kernel->single_precision;
    cells(args, 0, grove_args_cells(args));
    return 0;
}

int grove_invocation_run(grove_invocation *call)
{
    call->args.out.data = call->out.data;
    return grove_invocation_call(call, &call->args);
}

double grove_invocation_number(const grove_invocation_array *array, int64_t i)
{
    return array->bytes == 8 ? ((const double *)array->data)[i]
                             : (double)((const float *)array->data)[i];
}

char *grove_invocation_place(const grove_invocation *call, const int64_t *index)
{
    grove_text text = {0};

    grove_text_add(&text, "%s", call->args.axes ? "" : "the one cell");
    for (int d = 0; d < call->args.axes; d++)
        grove_text_add(&text, "%s%s %lld", d ? ", " : "", call->space[d]->name,
                       (long long)index[d]);
    return text.at;
}

void grove_invocation_index(const grove_invocation *call, int64_t cell, int64_t *index)
{
    memset(index, 0, GROVE_MAX_AXES * sizeof(*index));
    for (int i = call->out.axis_count - 1; i >= 0; i--)
        for (int d = 0; d < call->args.axes; d++)
            if (call->space[d] == call->out.axes[i]) {
                index[d] = cell % call->space[d]->size;
                cell /= call->space[d]->size;
                break;
            }
}
