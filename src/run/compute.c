/* Computes the values of single steps: constants, data of leaves, casts, selections, classes. */
#include "run/call.h"
#include "run/copy.h"
#include "run/flags.h"
#include "run/step.h"
#include "run/table.h"

#include "base/log.h"
#include "base/text.h"
#include "plan/rows.h"

#include <string.h>

static grove_value *input(const grove_run *run, const grove_step *step, int k)
{
    return grove_run_value(run, step->input[k]);
}

/* ---- constants and data ---- */

int grove_compute_constant(grove_run *run, const grove_step *step, grove_value **value)
{
    const grove_literal *literal = step->node->constant;

    *value = grove_step_bare_value(run, step);
    if (((*value)->data = grove_devices_resident(run->session, step->node)))
        return 0;
    if (grove_step_store(run, step, step->flagged, *value))
        return GROVE_NO_MEMORY;
    grove_devices_keep(run->session, step->node, (*value)->data);
    void *data = grove_buffer_host((*value)->data, run->session->error);
    int parts = (*value)->complex_ ? 2 : 1;
    for (int e = 0; e < (*value)->elements; e++) {
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

int grove_compute_data(grove_run *run, const grove_step *step, grove_value **value)
{
    const grove_node *node = step->node;
    const char *data = node->leaf->members[node->member].data;
    grove_range range[GROVE_MAX_AXES];
    bool whole = true;

    grove_run_ranges(run, step, range);
    for (int d = 0; d < step->axes; d++)
        whole = whole && range[d].count == range[d].axis->size;
    *value = grove_value_bare(range, step->axes, node->form.shape, grove_form_elements(&node->form),
                              node->form.complex_, step->double_);
    (*value)->unit = node->form.unit;
    size_t bytes = (size_t)grove_value_cells(*value) * grove_value_cell_bytes(*value);
    (*value)->data = whole ? grove_devices_resident(run->session, node) : NULL;
    if ((*value)->data)
        return 0;
    if (!whole) /* along the slowest axis, after the bytes of earlier cells */
        data += bytes / (size_t)(range[0].count > 0 ? range[0].count : 1) * (size_t)range[0].first;
    (*value)->data = grove_buffer_borrow(run->session->host, data, bytes);
    if (whole)
        grove_devices_keep(run->session, node, (*value)->data);
    return 0;
}

/* ---- casts ---- */

static bool covers(const grove_value *value, const grove_range *range, int axes)
{
    bool equal = value->axes == axes;

    for (int d = 0; d < axes && equal; d++)
        equal = value->range[d].first == range[d].first && value->range[d].count == range[d].count;
    return equal;
}

/* The block of the input that the step covers, in the step's type. */
int grove_compute_cast(grove_run *run, const grove_step *step, grove_value **value)
{
    grove_session *session = run->session;
    grove_value *from = input(run, step, 0);
    grove_range range[GROVE_MAX_AXES];

    grove_run_ranges(run, step, range);
    bool whole = covers(from, range, step->axes);
    if (whole && from->double_ == step->double_ && from->complex_ == step->node->form.complex_) {
        *value = grove_value_ref(from);
        return 0;
    }
    *value = grove_value_bare(range, step->axes, from->shape, from->elements,
                              step->node->form.complex_, step->double_);
    (*value)->unit = from->unit;
    (*value)->gaps = grove_step_gaps(run->program, &run->walk->spot, step);
    const grove_value *rows =
        grove_run_leaves_rows(run, step) ? input(run, step, step->rows) : NULL;
    int code = grove_copy_numbers(session, from, 0, 0, range, step->axes, rows,
                                  GROVE_LAUNCH_BY_INPUT, *value);
    if (whole) {
        (*value)->flags = grove_buffer_ref(from->flags);
        (*value)->flag_axes = from->flag_axes;
    } else if (!code && from->flags) {
        (*value)->flag_axes = (1u << step->axes) - 1;
        code = grove_copy_flags(session, from, 0, range, step->axes, *value);
    }
    return code;
}

/* ---- selections ---- */

/* One index of an axis, which is dropped; or one element of each cell. */
int grove_compute_select(grove_run *run, const grove_step *step, grove_value **value)
{
    grove_session *session = run->session;
    const grove_node *node = step->node, *in = node->inputs[0].node;
    grove_value *from = input(run, step, 0);
    grove_range own[GROVE_MAX_AXES], space[GROVE_MAX_AXES];
    bool element = node->select_element >= 0;

    grove_run_ranges(run, step, own);
    for (int d = 0; d < in->axis_count; d++) {
        space[d] = (grove_range){in->axes[d], node->select_first, 1};
        for (int e = 0; e < step->axes; e++)
            if (own[e].axis == in->axes[d])
                space[d] = own[e];
    }
    *value = grove_step_bare_value(run, step);
    const grove_value *rows =
        grove_run_leaves_rows(run, step) ? input(run, step, step->rows) : NULL;
    int code = grove_copy_numbers(session, from, 0, element ? node->select_element : 0, space,
                                  in->axis_count, rows, GROVE_LAUNCH_BY_INPUT, *value);
    if (code || !from->flags)
        return code;
    if (element)
        return grove_flags_select(session, from, node->select_element, rows, space, in->axis_count,
                                  *value);
    (*value)->flag_axes = (1u << step->axes) - 1;
    return grove_copy_flags(session, from, 0, space, in->axis_count, *value);
}

/* ---- classes ---- */

/* The step's ranges and the axes that the class consumes, in order of storage; the whole source
 * axis, or a section of it. */
static int make_space(const grove_run *run, const grove_step *step, grove_range *space)
{
    const grove_node *node = step->node;
    int n = step->axes;

    grove_run_ranges(run, step, space);
    for (int i = 0; i < node->consumed_count && n < GROVE_MAX_AXES; i++) {
        const grove_axis *axis = node->consumed[i];
        int at = n++;
        while (at > 0 && space[at - 1].axis->kind > axis->kind) {
            space[at] = space[at - 1];
            at--;
        }
        bool section = step->body && run->program->loops[step->body].axis == axis;
        grove_chunk all = {0, axis->size}, part = section ? grove_run_chunk(run, step) : all;
        space[at] = (grove_range){axis, part.first, part.count};
    }
    return n;
}

/* The class is not tried on a device again. */
static void note_unsupported(grove_session *session, const grove_node *node,
                             const grove_call_work *work)
{
    grove_unsupported *unsupported = &session->unsupported[node->id];
    bool explained = grove_error_count(session->attempt) > 0;
    const char *reason = explained ? grove_error_message(session->attempt, 0) : "";

    if (explained)
        grove_log(work->unsupported_code == GROVE_MISSING ? GROVE_LOG_NOTE : GROVE_LOG_WARNING,
                  "%s; the cpu computes it", reason);
    if (!unsupported->reason)
        *unsupported = (grove_unsupported){work->unsupported_kernel, grove_strdup(reason)};
}

int grove_compute_call(grove_session *session, grove_launch *launch, grove_device *device,
                       const grove_compute_function *function)
{
    const grove_node *node = function->node;
    bool on_device = device != session->host;
    grove_class_call scope;
    grove_call_work work;

    grove_error_clear(session->attempt);
    grove_call_begin(&work, device, launch->scratch, launch->scratch_bytes, session->attempt);
    work.session = session;
    work.launch = launch;
    work.kept = &session->kept[node->id];
    grove_class_call_begin(&scope, session, node, false);
    grove_call call = scope.call;
    call.args = &launch->args;
    call.double_precision = function->double_precision;
    call.work = &work;
    call.on_device = on_device;
    call.device = grove_devices_index(session, device);
    call.flagged_unread = function->flagged_unread;
    int code = grove_call_end(&call, function->compute(&call, function->context));
    if (on_device && !scope.scope.code && (code == GROVE_MISSING || (code && code == work.code))) {
        grove_class_call_end(&scope, 0, "");
        if (code == GROVE_MISSING)
            note_unsupported(session, node, &work);
        return code;
    }
    code = grove_class_call_end(&scope, code, "evaluation failed");
    launch->failed = code != 0;
    return code;
}

static int call_class(const grove_call *call, void *context)
{
    (void)context;
    return grove_call_run(call);
}

/* Computes by .eval or .device of a class. */
static int compute_step(grove_session *session, grove_launch *launch, grove_device *device)
{
    const grove_step *step = launch->context;

    return grove_compute_call(session, launch, device,
                              &(grove_compute_function){step->node, step->double_, call_class, NULL,
                                                        launch->rows_unread});
}

static int set_up(grove_run *run, const grove_step *step, const grove_range *space, int axes,
                  grove_value *value, grove_launch *launch)
{
    grove_session *session = run->session;
    const grove_node *node = step->node;

    grove_launch_begin(launch, session, NULL, GROVE_LAUNCH_ON_DEVICE, space, axes,
                       node->input_count);
    memcpy(launch->args.state.bytes, node->state, sizeof(launch->args.state.bytes));
    launch->args.table = node->table;
    launch->table = grove_table_of(session, node);
    int code = grove_launch_output(launch, value, session->error);
    for (int k = 0; k < node->input_count && !code; k++) {
        grove_value *from = input(run, step, k);
        if (!from)
            continue;
        if (node->handing[k] != GROVE_AS_FLAGS) {
            code = grove_launch_input(launch, k, from, step->side[k], session->error);
            continue;
        }
        code = grove_launch_input_flags(launch, k, from, step->side[k], session->error);
        launch->args.in[k].bytes = 1;
        launch->args.in[k].elements = from->elements;
        launch->args.in[k].shape = from->shape;
    }
    if (step->kind == GROVE_STEP_KERNEL) {
        launch->kernel = node->kernel;
        if (!code && grove_run_leaves_rows(run, step))
            code = grove_launch_leave_rows(launch, input(run, step, step->rows), session->error);
        return code;
    }
    launch->compute = compute_step;
    launch->context = step;
    launch->rows_unread = step->rows_only && !grove_session_shows_all(session);
    launch->scratch_bytes = grove_node_scratch_bytes(node, value->range, value->axes);
    if (!node->class_->device || session->unsupported[node->id].reason ||
        !grove_devices_can_keep(session, node))
        launch->placement = GROVE_LAUNCH_ON_HOST;
    return code;
}

static int combine_flags(const grove_run *run, const grove_step *step, const grove_range *space,
                         int axes, grove_value *value)
{
    grove_value *inputs[GROVE_MAX_INPUTS] = {0};

    for (int k = 0; k < step->node->input_count; k++)
        inputs[k] = step->rows_only && k == step->rows ? NULL : input(run, step, k);
    const grove_value *rows =
        grove_run_leaves_rows(run, step) ? input(run, step, step->rows) : NULL;
    return grove_flags_combine(run->session, step->node, inputs, step->side,
                               step->node->input_count, rows, space, axes, value);
}

int grove_compute_class(grove_run *run, const grove_step *step, grove_value **value)
{
    grove_session *session = run->session;
    size_t errors = grove_error_count(session->error);
    grove_range space[GROVE_MAX_AXES];
    grove_launch launch;
    int axes = make_space(run, step, space);

    *value = grove_step_bare_value(run, step);
    int code = set_up(run, step, space, axes, *value, &launch);
    if (!code)
        code = grove_launch_run(session, &launch);
    if (!code && (launch.ran_on != session->host || (launch.compute && !step->node->class_->eval)))
        code = grove_compute_blank(run, step, *value);
    if (!code && step->flagged)
        code = combine_flags(run, step, space, axes, *value);
    if (code == GROVE_NO_MEMORY)
        grove_error_context(session->error, errors, &step->node->place, step->node->name);
    return code;
}
