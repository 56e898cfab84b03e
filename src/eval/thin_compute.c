/* Values of single nodes: class nodes with their kernels, members, constants, casts, selections. */
#include "eval/thin_state.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* ---- class nodes ---- */

/* The iteration space: the node's axes and the consumed ones, in order of storage. */
static int make_space(const grove_node *node, const grove_block *block, grove_range *space)
{
    int n = 0;

    for (int i = 0; i < node->axis_count; i++)
        space[n++] = grove_block_range(block, node->axes[i]);
    for (int i = 0; i < node->consumed_count && n < GROVE_MAX_AXES; i++) {
        int at = n++;
        while (at > 0 && space[at - 1].axis->kind > node->consumed[i]->kind) {
            space[at] = space[at - 1];
            at--;
        }
        space[at] = grove_block_range(block, node->consumed[i]);
    }
    return n;
}

static int fill_args(grove_session *session, const grove_node *node, grove_value *const *inputs,
                     const grove_range *space, int axes, grove_value *out, grove_args *args)
{
    int code = grove_value_view(out, space, axes, 0, session->device, &args->out, session->error);

    args->axes = axes;
    args->inputs = node->input_count;
    for (int d = 0; d < axes; d++) {
        args->size[d] = space[d].count;
        args->origin[d] = space[d].first;
        args->axis[d] = space[d].axis->kind;
    }
    for (int k = 0; k < node->input_count && !code; k++)
        if (inputs[k])
            code = grove_value_view(inputs[k], space, axes, node->inputs[k].side, session->device,
                                    &args->in[k], session->error);
    memcpy(args->state.bytes, node->state, node->state_bytes);
    return code;
}

void grove_call_parallel(const grove_call *call, int64_t count,
                         void (*fn)(void *context, int64_t first, int64_t last), void *context)
{
    grove_parallel(call->threads, count, 0, fn, context);
}

static int run_kernel(grove_session *session, const grove_node *node, grove_value *const *inputs,
                      const grove_range *space, int axes, grove_value *out)
{
    grove_args *args = grove_alloc(sizeof(*args));
    bool double_ = out->double_;
    int code = fill_args(session, node, inputs, space, axes, out, args);
    double began = grove_now();

    if (!code && node->class_->eval && !node->kernel) {
        grove_call call = {node, args, double_, session->device->threads};
        /* out may not tell the precision: a class may make doubles, or nothing of the run's
         * precision */
        if (node->form.precision == GROVE_PRECISION_RUN)
            call.double_precision = session->options.double_precision;
        code = node->class_->eval(&call);
        if (code && !grove_error_count(session->error))
            grove_node_fail(node, code, "the plugin's evaluation failed without a message");
    } else if (!code) {
        code =
            session->device->launch(session->device, node->kernel, args, double_, session->error);
    }
    session->counters.kernel_seconds += grove_now() - began;
    free(args);
    return code;
}

static int evaluate_inputs(grove_session *session, const grove_node *node, const grove_block *block,
                           grove_value **inputs)
{
    int code = 0;

    memset(inputs, 0, GROVE_MAX_INPUTS * sizeof(*inputs));
    for (int k = 0; k < node->input_count && !code; k++)
        if (node->inputs[k].node)
            code = grove_evaluate(session, node->inputs[k].node, block, &inputs[k]);
    return code;
}

static void drop_inputs(grove_value **inputs)
{
    for (int k = 0; k < GROVE_MAX_INPUTS; k++)
        grove_value_unref(inputs[k]);
}

int grove_compute_class(grove_session *session, grove_node *node, const grove_block *block,
                        grove_value **value)
{
    grove_value *inputs[GROVE_MAX_INPUTS];
    grove_range space[GROVE_MAX_AXES];
    int axes = make_space(node, block, space);
    int code = evaluate_inputs(session, node, block, inputs);

    *value = NULL;
    if (!code) {
        *value = grove_value_for(session, node, block, false);
        code = *value ? 0 : GROVE_NO_MEMORY;
    }
    if (!code && grove_value_cells(*value) > 0)
        code = run_kernel(session, node, inputs, space, axes, *value);
    if (!code)
        code = grove_combine_flags(session, node, inputs, space, axes, *value);
    if (code) {
        if (session->options.stop_on_error && code != GROVE_INTERRUPTED)
            grove_dump_inputs(session, node, inputs);
        grove_value_unref(*value);
        *value = NULL;
    }
    drop_inputs(inputs);
    return code;
}

/* ---- members ---- */

static void fill_array(grove_value *value, grove_array *array, const grove_form *form)
{
    memset(array, 0, sizeof(*array));
    array->data = grove_buffer_host(value->data, NULL);
    array->flags = value->flags ? grove_buffer_host(value->flags, NULL) : NULL;
    array->axes = value->axes;
    memcpy(array->range, value->range, sizeof(array->range));
    array->cells = grove_value_cells(value);
    array->elements = value->elements;
    array->form = *form;
}

/* The block of a constant member: copied row by row from the member's whole array. */
static void copy_block(const grove_member *member, const grove_value *value, char *to)
{
    size_t cell = grove_value_cell_bytes(value);
    int64_t cells = grove_value_cells(value);
    int64_t run = value->axes ? value->range[value->axes - 1].count : 1;

    for (int64_t done = 0; done < cells; done += run) {
        int64_t rest = done, offset = 0, step = 1;
        for (int d = value->axes - 1; d >= 0; d--) {
            offset += (value->range[d].first + rest % value->range[d].count) * step;
            rest /= value->range[d].count;
            step *= value->range[d].axis->size;
        }
        memcpy(to + (size_t)done * cell, (const char *)member->data + (size_t)offset * cell,
               (size_t)run * cell);
    }
}

int grove_compute_member(grove_session *session, grove_node *node, const grove_block *block,
                         grove_value **value)
{
    const grove_member *member = &node->leaf->members[node->member];
    const grove_class *class_ = node->leaf->class_;
    grove_array array;
    int code = 0;

    *value = grove_value_for(session, node, block, member->form.flags);
    if (!*value)
        return GROVE_NO_MEMORY;
    fill_array(*value, &array, &node->form);
    if (member->data) {
        copy_block(member, *value, array.data);
        return 0;
    }
    array.form.precision = (*value)->double_ ? GROVE_PRECISION_DOUBLE : GROVE_PRECISION_SINGLE;
    if (class_->flags & GROVE_CLASS_SERIAL_IO)
        pthread_mutex_lock(&session->io_lock);
    if (!class_->read)
        code = grove_node_fail(node->leaf, GROVE_INTERNAL,
                               "the plugin's member '%s' has neither data nor read", member->name);
    else
        code = class_->read(node->leaf, member->name, &array);
    if (class_->flags & GROVE_CLASS_SERIAL_IO)
        pthread_mutex_unlock(&session->io_lock);
    if (code) {
        grove_value_unref(*value);
        *value = NULL;
    }
    return code;
}

/* ---- constants ---- */

static void put(grove_value *value, void *data, int element, double re, double im)
{
    int at = value->complex_ ? 2 * element : element;

    if (value->double_) {
        ((double *)data)[at] = re;
        if (value->complex_)
            ((double *)data)[at + 1] = im;
    } else {
        ((float *)data)[at] = (float)re;
        if (value->complex_)
            ((float *)data)[at + 1] = (float)im;
    }
}

int grove_compute_constant(grove_session *session, grove_node *node, grove_value **value)
{
    const grove_literal *literal = node->constant;
    grove_block whole = {0};

    *value = grove_value_for(session, node, &whole, false);
    if (!*value)
        return GROVE_NO_MEMORY;
    void *data = grove_buffer_host((*value)->data, session->error);
    if (literal->kind == GROVE_LITERAL_LIST)
        for (int i = 0; i < literal->count; i++)
            put(*value, data, i, literal->items[i].number, literal->items[i].imaginary);
    else
        put(*value, data, 0, literal->number, literal->imaginary);
    return 0;
}

/* ---- casts ---- */

typedef struct {
    const grove_value *from, *to;
    const void *in;
    void *out;
} cast_context;

static void cast_cells(void *context, int64_t first, int64_t last)
{
    const cast_context *c = context;
    const grove_value *from = c->from, *to = c->to;
    int64_t elements = from->elements;

    for (int64_t i = first * elements; i < last * elements; i++) {
        int64_t at = from->complex_ ? 2 * i : i, put_at = to->complex_ ? 2 * i : i;
        for (int part = 0; part < (to->complex_ ? 2 : 1); part++) {
            double x = 0;
            if (part == 0 || from->complex_)
                x = from->double_ ? ((const double *)c->in)[at + part]
                                  : (double)((const float *)c->in)[at + part];
            if (to->double_)
                ((double *)c->out)[put_at + part] = x;
            else
                ((float *)c->out)[put_at + part] = (float)x;
        }
    }
}

int grove_compute_cast(grove_session *session, grove_node *node, const grove_block *block,
                       grove_value **value)
{
    grove_value *from;
    int code = grove_evaluate(session, node->inputs[0].node, block, &from);

    if (code)
        return code;
    if (from->double_ == grove_node_is_double(session, node) &&
        from->complex_ == node->form.complex_) {
        *value = from;
        return 0;
    }
    *value = grove_value_new(session->device, from->range, from->axes, from->shape, from->elements,
                             node->form.complex_, grove_node_is_double(session, node), false,
                             session->error);
    if (*value) {
        cast_context context = {from, *value, grove_buffer_host(from->data, session->error),
                                grove_buffer_host((*value)->data, session->error)};
        double began = grove_now();
        grove_parallel(session->device->threads, grove_value_cells(from), 8192, cast_cells,
                       &context);
        session->counters.kernel_seconds += grove_now() - began;
        (*value)->unit = from->unit;
        (*value)->flags = grove_buffer_ref(from->flags);
        (*value)->flag_axes = from->flag_axes;
    }
    grove_value_unref(from);
    return *value ? 0 : GROVE_NO_MEMORY;
}

/* ---- selections ---- */

/* Copies the chosen element of every cell (all when element is -1). */
static void copy_elements(const grove_value *from, grove_value *to, const char *in, char *out,
                          int element)
{
    size_t cell = grove_value_cell_bytes(from), part = grove_value_cell_bytes(to);
    size_t offset = element < 0 ? 0 : (size_t)element * part;
    int64_t cells = grove_value_cells(from);

    for (int64_t i = 0; i < cells; i++)
        memcpy(out + (size_t)i * part, in + (size_t)i * cell + offset, part);
}

static int copy_flags(grove_session *session, const grove_value *from, grove_value *to, int element)
{
    size_t bytes = grove_buffer_bytes(from->flags);
    int out_axis = 0;

    to->flags = grove_buffer_new(session->device, bytes, session->error);
    if (!to->flags)
        return GROVE_NO_MEMORY;
    const unsigned char *in = grove_buffer_host(from->flags, NULL);
    unsigned char *out = grove_buffer_host(to->flags, NULL);
    for (size_t i = 0; i < bytes; i++)
        out[i] = element < 0 ? in[i] : in[i] >> element & 1;
    for (int d = 0; d < from->axes; d++) {
        bool there = out_axis < to->axes && to->range[out_axis].axis == from->range[d].axis;
        if (there && from->flag_axes >> d & 1)
            to->flag_axes |= 1u << out_axis;
        out_axis += there;
    }
    return 0;
}

int grove_compute_select(grove_session *session, grove_node *node, const grove_block *block,
                         grove_value **value)
{
    grove_block part = *block;
    grove_value *from;

    if (node->select_axis)
        grove_block_restrict(&part, (grove_range){node->select_axis, node->select_first, 1});
    int code = grove_evaluate(session, node->inputs[0].node, &part, &from);
    if (code)
        return code;
    grove_block own = *block;
    *value = grove_value_for(session, node, &own, false);
    code = *value ? 0 : GROVE_NO_MEMORY;
    if (!code)
        copy_elements(from, *value, grove_buffer_host(from->data, session->error),
                      grove_buffer_host((*value)->data, session->error), node->select_element);
    if (!code && from->flags)
        code = copy_flags(session, from, *value, node->select_element);
    if (code) {
        grove_value_unref(*value);
        *value = NULL;
    }
    grove_value_unref(from);
    return code;
}
