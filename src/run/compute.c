/* The values of single steps: constants, data of leaves, casts, selections, classes. */
#include "run/launch.h"
#include "run/step.h"

#include "device/array.h"

#include <stdlib.h>
#include <string.h>

static grove_value *input(const grove_run *run, const grove_step *step, int k)
{
    return step->input[k] < 0 ? NULL : run->program->steps[step->input[k]].value;
}

/* ---- constants and data ---- */

int grove_compute_constant(grove_run *run, grove_step *step)
{
    const grove_literal *literal = step->node->constant;

    step->value = grove_step_bare_value(run, step);
    if ((step->value->data = grove_launch_kept(run->session, step->node)))
        return 0;
    if (grove_step_store(run, step, step->value))
        return GROVE_NO_MEMORY;
    grove_launch_keep(run->session, step->node, step->value->data);
    void *data = grove_buffer_host(step->value->data, run->session->error);
    int parts = step->value->complex_ ? 2 : 1;
    for (int e = 0; e < step->value->elements; e++) {
        const grove_literal *item =
            literal->kind == GROVE_LITERAL_LIST ? &literal->items[e] : literal;
        for (int k = 0; k < parts; k++) {
            double x = k ? item->imaginary : item->number;
            if (step->double_)
                ((double *)data)[e * parts + k] = x;
            else
                ((float *)data)[e * parts + k] = (float)x;
        }
    }
    return 0;
}

int grove_compute_data(grove_run *run, grove_step *step)
{
    const grove_node *node = step->node;
    const char *data = node->leaf->members[node->member].data;
    grove_range range[GROVE_MAX_AXES];
    bool whole = true;

    grove_step_ranges(run->program, step, range);
    for (int d = 0; d < step->axes; d++)
        whole = whole && range[d].count == range[d].axis->size;
    step->value =
        grove_value_bare(range, step->axes, node->form.shape, grove_form_elements(&node->form),
                         node->form.complex_, step->double_);
    memcpy(&step->value->unit, &node->form.unit, sizeof(step->value->unit));
    size_t bytes = (size_t)grove_value_cells(step->value) * grove_value_cell_bytes(step->value);
    step->value->data = whole ? grove_launch_kept(run->session, node) : NULL;
    if (step->value->data)
        return 0;
    if (!whole) /* along the slowest axis, of which so much comes before */
        data += bytes / (size_t)(range[0].count > 0 ? range[0].count : 1) * (size_t)range[0].first;
    step->value->data = grove_buffer_borrow(run->session->host, data, bytes);
    if (whole)
        grove_launch_keep(run->session, node, step->value->data);
    return 0;
}

/* ---- casts ---- */

typedef struct {
    const void *from;
    void *to;
    bool from_double, to_double, widen; /* widen: real to complex */
} cast_state;

#define CAST(source, target)                                                                       \
    for (int64_t i = first; i < last; i++) {                                                       \
        if (cast->widen) {                                                                         \
            ((target *)cast->to)[2 * i] = (target)((const source *)cast->from)[i];                 \
            ((target *)cast->to)[2 * i + 1] = 0;                                                   \
        } else {                                                                                   \
            ((target *)cast->to)[i] = (target)((const source *)cast->from)[i];                     \
        }                                                                                          \
    }

static void cast_numbers(void *context, int64_t first, int64_t last)
{
    const cast_state *cast = context;

    if (cast->from_double && cast->to_double)
        CAST(double, double)
    else if (cast->from_double)
        CAST(double, float)
    else if (cast->to_double)
        CAST(float, double)
    else
        CAST(float, float)
}

static void share_flags(grove_value *to, grove_value *from)
{
    to->flags = grove_buffer_ref(from->flags);
    to->flag_axes = from->flag_axes;
}

/* The part `range` of `from`, which may be larger: as it is if equal, else a copy. */
static int part_of(grove_run *run, grove_value *from, const grove_range *range, int axes,
                   grove_value **part)
{
    bool equal = from->axes == axes;

    for (int d = 0; d < axes && equal; d++)
        equal = from->range[d].first == range[d].first && from->range[d].count == range[d].count;
    if (!equal)
        return grove_copy_dense(run->session, from, 0, range, axes,
                                grove_launch_is_there(run->session, from), part);
    *part = grove_value_ref(from);
    return 0;
}

/* Elements from `first` on of each cell, in the numbers of `to`: by the device, which has them.
 * *done is false when it cannot. */
static int convert_there(grove_run *run, grove_value *from, const grove_range *space, int axes,
                         int64_t first, grove_value *to, bool *done)
{
    grove_session *session = run->session;
    grove_args args = {.axes = axes, .inputs = 1};
    grove_launch launch = {&grove_array_cast, &args, to->double_, to, {from}};
    int code = grove_value_layout(from, space, axes, 0, &args.in[0], session->error);

    *done = false;
    if (!code)
        code = grove_value_layout(to, space, axes, 0, &args.out, session->error);
    for (int d = 0; d < axes; d++) {
        args.size[d] = space[d].count;
        args.axis[d] = space[d].axis->kind;
    }
    memcpy(args.state.bytes, &first, sizeof(first));
    if (code || !grove_value_cells(to) || !grove_launch_has(session, launch.kernel, to->double_))
        return code;
    double began = grove_now();
    code = grove_launch_run(session, &launch, done);
    session->counters.kernel_seconds += grove_now() - began;
    return code;
}

static int cast_here(grove_run *run, grove_value *from, grove_value *to)
{
    grove_session *session = run->session;
    int64_t numbers = grove_value_cells(from) * from->elements * (from->complex_ ? 2 : 1);
    size_t bytes = (size_t)grove_value_cells(from) * grove_value_cell_bytes(to);
    int code = grove_launch_fetch(session, from);

    if (code)
        return code;
    to->data = grove_buffer_new(session->host, bytes, session->error);
    if (!to->data)
        return GROVE_NO_MEMORY;
    cast_state cast = {grove_buffer_host(from->data, session->error),
                       grove_buffer_host(to->data, session->error), from->double_, to->double_,
                       to->complex_ && !from->complex_};
    double began = grove_now();
    grove_parallel(session->host->threads, numbers, 65536, cast_numbers, &cast);
    session->counters.kernel_seconds += grove_now() - began;
    return 0;
}

int grove_compute_cast(grove_run *run, grove_step *step)
{
    grove_session *session = run->session;
    const grove_form *form = &step->node->form;
    grove_range range[GROVE_MAX_AXES];
    grove_value *from = NULL;

    grove_step_ranges(run->program, step, range);
    int code = part_of(run, input(run, step, 0), range, step->axes, &from);
    if (code)
        return code;
    if (from->double_ == step->double_ && from->complex_ == form->complex_) {
        step->value = from;
        return 0;
    }
    step->value = grove_value_bare(range, step->axes, from->shape, from->elements, form->complex_,
                                   step->double_);
    step->value->unit = from->unit;
    bool done = false;
    if (grove_launch_is_there(session, from))
        code = convert_there(run, from, range, step->axes, 0, step->value, &done);
    if (!code && !done)
        code = cast_here(run, from, step->value);
    if (code) {
        grove_value_unref(step->value);
        step->value = NULL;
    } else {
        share_flags(step->value, from);
    }
    grove_value_unref(from);
    return code;
}

/* ---- selections ---- */

/* One element of each cell. */
static void pick(const grove_value *from, int element, const char *source, char *to)
{
    size_t bytes = grove_value_cell_bytes(from), one = bytes / (size_t)from->elements;
    int64_t cells = grove_value_cells(from);

    for (int64_t i = 0; i < cells; i++)
        memcpy(to + (size_t)i * one, source + (size_t)i * bytes + (size_t)element * one, one);
}

static int select_element(grove_run *run, grove_step *step, grove_value *from)
{
    grove_error *error = run->session->error;
    int element = step->node->select_element, code = 0;
    bool done = false;

    step->value = grove_step_bare_value(run, step);
    if (grove_launch_is_there(run->session, from))
        code = convert_there(run, from, from->range, from->axes, element, step->value, &done);
    if (!code && !done)
        code = grove_launch_fetch(run->session, from);
    if (!code && !done)
        code = grove_step_store(run, step, step->value);
    else if (!code && step->flagged)
        code = grove_step_store_flags(run, step, step->value);
    if (code)
        return code;
    if (!done)
        pick(from, element, grove_buffer_host(from->data, error),
             grove_buffer_host(step->value->data, error));
    if (!from->flags || !step->value->flags)
        return 0;
    const unsigned char *source = grove_buffer_host(from->flags, error);
    if (!source)
        return GROVE_DEVICE;
    unsigned char *to = grove_buffer_host(step->value->flags, error);
    size_t count = grove_buffer_bytes(step->value->flags);
    for (size_t i = 0; i < count; i++)
        to[i] = source[i] >> (element < 7 ? element : 7) & 1;
    return 0;
}

/* Where the axis that goes was: its range with one cell. */
int grove_compute_select(grove_run *run, grove_step *step)
{
    const grove_node *node = step->node, *in = node->inputs[0].node;
    grove_range own[GROVE_MAX_AXES], space[GROVE_MAX_AXES];
    grove_value *from = NULL;

    grove_step_ranges(run->program, step, own);
    for (int d = 0; d < in->axis_count; d++) {
        space[d] = (grove_range){in->axes[d], node->select_first, 1};
        for (int e = 0; e < step->axes; e++)
            if (own[e].axis == in->axes[d])
                space[d] = own[e];
    }
    /* a copy of its own, with flags along all axes, that may lose an axis */
    int code = grove_copy_dense(run->session, input(run, step, 0), 0, space, in->axis_count,
                                grove_launch_is_there(run->session, input(run, step, 0)), &from);
    if (code)
        return code;
    from->axes = step->axes;
    memcpy(from->range, own, sizeof(from->range));
    if (from->flags)
        from->flag_axes = (1u << step->axes) - 1;
    if (node->select_element < 0) {
        step->value = from;
        return 0;
    }
    code = select_element(run, step, from);
    grove_value_unref(from);
    return code;
}

/* ---- classes ---- */

/* The step's ranges and what the class consumes, in order of storage: all of it, or a section. */
static int make_space(const grove_run *run, const grove_step *step, grove_range *space)
{
    const grove_node *node = step->node;
    int n = step->axes;

    grove_step_ranges(run->program, step, space);
    for (int i = 0; i < node->consumed_count && n < GROVE_MAX_AXES; i++) {
        const grove_axis *axis = node->consumed[i];
        int at = n++;
        while (at > 0 && space[at - 1].axis->kind > axis->kind) {
            space[at] = space[at - 1];
            at--;
        }
        const grove_loop *loop = &run->program->loops[step->body];
        bool section = step->body && loop->axis == axis;
        space[at] =
            (grove_range){axis, section ? loop->first : 0, section ? loop->count : axis->size};
    }
    return n;
}

/* Addresses only say where within the values; flags that an input is taken for are the host's. */
static int fill_args(grove_run *run, const grove_step *step, const grove_range *space, int axes,
                     grove_args *args)
{
    grove_session *session = run->session;
    const grove_node *node = step->node;

    args->axes = axes;
    args->inputs = step->inputs;
    for (int d = 0; d < axes; d++) {
        args->size[d] = space[d].count;
        args->origin[d] = space[d].first;
        args->axis[d] = space[d].axis->kind;
    }
    int code = grove_value_layout(step->value, space, axes, 0, &args->out, session->error);
    for (int k = 0; k < step->inputs && !code; k++) {
        grove_value *from = input(run, step, k);
        if (from && node->handing[k] != GROVE_AS_FLAGS)
            code =
                grove_value_layout(from, space, axes, step->side[k], &args->in[k], session->error);
        else
            memset(&args->in[k], 0, sizeof(args->in[k]));
    }
    memcpy(args->state.bytes, node->state, sizeof(args->state.bytes));
    return code;
}

static int run_class(grove_run *run, const grove_step *step, const grove_args *args)
{
    grove_session *session = run->session;
    const grove_node *node = step->node;
    size_t before = grove_error_count(session->error);
    int code = 0;

    if (step->kind == GROVE_STEP_KERNEL) {
        code =
            session->host->launch(session->host, node->kernel, args, step->double_, session->error);
    } else {
        grove_call call = {node, args, step->double_, session->host->threads,
                           session->runs[node->id]};
        code = grove_node_verdict(node, session->error, before, node->class_->eval(&call),
                                  "evaluation failed");
    }
    return code;
}

static int compute_here(grove_run *run, const grove_step *step, const grove_range *space, int axes,
                        grove_args *args)
{
    grove_session *session = run->session;
    int code = 0;

    for (int k = 0; k < step->inputs && !code; k++) {
        grove_value *from = input(run, step, k);
        if (from && step->node->handing[k] == GROVE_AS_FLAGS) {
            code = grove_value_flag_view(from, space, axes, step->side[k], &args->in[k],
                                         session->error);
            args->in[k].elements = from->elements;
            args->in[k].shape = from->shape;
            continue;
        }
        code = grove_launch_fetch(session, from);
        if (!code && from)
            code = grove_value_settle(from, NULL, &args->in[k], session->error);
    }
    if (!code)
        code = grove_value_settle(step->value, NULL, &args->out, session->error);
    double began = grove_now();
    if (!code && grove_value_cells(step->value))
        code = run_class(run, step, args);
    session->counters.kernel_seconds += grove_now() - began;
    return code;
}

/* On the device, if it has code and memory for it. */
static int compute_there(grove_run *run, const grove_step *step, const grove_range *space,
                         grove_args *args, bool *done)
{
    grove_session *session = run->session;
    const grove_class *class_ = step->node->class_;
    grove_launch launch = {NULL, args, step->double_, step->value, {NULL}};
    grove_value flags[GROVE_MAX_INPUTS];
    int code = 0;

    *done = false;
    if (!grove_launch_is_away(session) || !grove_value_cells(step->value))
        return 0;
    launch.kernel = step->kind == GROVE_STEP_KERNEL ? step->node->kernel
                    : class_->device                ? class_->device(args)
                                                    : NULL;
    if (!grove_launch_has(session, launch.kernel, step->double_))
        return 0;
    for (int k = 0; k < step->inputs && !code; k++) {
        grove_value *from = launch.in[k] = input(run, step, k);
        if (!from || step->node->handing[k] != GROVE_AS_FLAGS)
            continue;
        launch.in[k] = from->flags ? &flags[k] : NULL;
        flags[k] = (grove_value){.data = from->flags};
        if (from->flags)
            code = grove_value_flag_layout(from, &flags[k], space, args->axes, step->side[k],
                                           &args->in[k], session->error);
        args->in[k].elements = from->elements;
        args->in[k].shape = from->shape;
    }
    double began = grove_now();
    if (!code)
        code = grove_launch_run(session, &launch, done);
    if (!code && *done)
        code = grove_compute_blank(run, step);
    session->counters.kernel_seconds += grove_now() - began;
    return code;
}

int grove_compute_class(grove_run *run, grove_step *step)
{
    grove_session *session = run->session;
    bool flagged = step->flagged, done;
    grove_range space[GROVE_MAX_AXES];
    grove_args args;
    int axes = make_space(run, step, space);

    if (grove_launch_is_away(session)) /* all of it goes to the device */
        memset(&args, 0, sizeof(args));
    step->value = grove_step_bare_value(run, step);
    int code = fill_args(run, step, space, axes, &args);
    if (!code)
        code = compute_there(run, step, space, &args, &done);
    if (!code && !done) {
        step->flagged = false; /* the flags are made apart */
        code = grove_step_store(run, step, step->value);
        step->flagged = flagged;
        if (!code)
            code = compute_here(run, step, space, axes, &args);
    }
    double began = grove_now();
    if (!code && flagged)
        code = grove_flags_combine(run, step, space, axes, step->value);
    session->counters.kernel_seconds += grove_now() - began;
    return code;
}

void grove_call_parallel(const grove_call *call, int64_t count,
                         void (*fn)(void *context, int64_t first, int64_t last), void *context)
{
    grove_parallel(call->threads, count, 0, fn, context);
}

int grove_call_threads(const grove_call *call)
{
    return grove_threads_count(call->threads);
}
