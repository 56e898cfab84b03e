#include "run/class_device.h"

#include "run/call.h"
#include "run/table.h"

#include "base/memory.h"

#include <stdlib.h>

struct grove_class_device {
    grove_session *session;
    const grove_node *node;
    void **own; /* states of the class, by device; NULL: none yet */
    int count;
};

grove_class_device *grove_class_device_new(grove_session *session, const grove_node *node)
{
    grove_class_device *made = grove_alloc(sizeof(*made));

    *made = (grove_class_device){session, node, NULL, session->device_count};
    made->own = grove_alloc((size_t)(made->count + 1) * sizeof(void *));
    return made;
}

/* The call of a function for device k. */
static grove_call call_of(const grove_class_call *scope, int k)
{
    grove_call call = scope->call;

    call.on_device = true;
    call.device = k;
    return call;
}

void grove_class_device_free(grove_class_device *d)
{
    if (!d)
        return;
    for (int k = 0; k < d->count; k++) {
        if (!d->own[k])
            continue;
        grove_class_call scope;
        grove_class_call_begin(&scope, d->session, d->node, false);
        d->node->class_->accumulator->free(d->node, d->own[k]);
        grove_class_call_end(&scope, 0, "");
    }
    if (d->count)
        grove_call_drop_kept(&d->session->kept[d->node->id]);
    free(d->own);
    free(d);
}

/* The state of the session's device, made if there is none. */
static int find_state(grove_class_device *d, void ***state)
{
    const int k = grove_devices_index(d->session, d->session->device);
    grove_class_call scope;

    *state = &d->own[k];
    if (d->own[k])
        return 0;
    grove_class_call_begin(&scope, d->session, d->node, false);
    grove_call call = call_of(&scope, k);
    int code = d->node->class_->accumulator->create(&call, &d->own[k]);
    return grove_class_call_end(&scope, code, "cannot begin to accumulate");
}

/* ---- adding ---- */

typedef struct {
    grove_compute_function function;
    void *state;
    int count;
} addition;

static int add(const grove_call *call, void *context)
{
    const addition *a = context;

    return call->node->class_->accumulator->device_add(call, a->state, a->count);
}

static int compute(grove_session *session, grove_launch *launch, grove_device *device)
{
    if (device == session->host)
        return GROVE_MISSING;
    return grove_compute_call(session, launch, device, launch->context);
}

/* All axes of the inputs, in order of storage; -1: they are too many. */
static int make_space(const grove_run *run, const grove_step *step, grove_range *space)
{
    int axes = 0;

    for (int k = 0; k < step->inputs; k++) {
        grove_range own[GROVE_MAX_AXES];
        int count = step->input[k] < 0
                        ? 0
                        : grove_step_taken_ranges(run->program, &run->walk->spot, step, k, own);
        for (int d = 0; d < count; d++) {
            bool known = false;
            for (int e = 0; e < axes; e++)
                known = known || space[e].axis == own[d].axis;
            if (known)
                continue;
            if (axes == GROVE_MAX_AXES)
                return -1;
            int at = axes++;
            while (at > 0 && space[at - 1].axis->kind > own[d].axis->kind) {
                space[at] = space[at - 1];
                at--;
            }
            space[at] = own[d];
        }
    }
    return axes;
}

static int set_inputs(const grove_run *run, const grove_step *step, grove_launch *launch)
{
    int code = 0;

    for (int k = 0; k < step->inputs && !code; k++) {
        grove_value *value = grove_run_value(run, step->input[k]);
        if (!value)
            continue;
        if (!(step->node->flags_only >> k & 1))
            code = grove_launch_input(launch, k, value, step->side[k], run->session->error);
        if (!code)
            code = grove_launch_input_flags(launch, step->inputs + k, value, step->side[k],
                                            run->session->error);
    }
    return code;
}

/* The launch's output is of no use: eight bytes. */
static int launch_it(grove_run *run, const grove_step *step, addition *a, const grove_range *space,
                     int axes)
{
    const grove_view out = {.elements = 1, .shape = GROVE_SCALAR, .bytes = 8};
    grove_session *session = run->session;
    grove_buffer *buffer = NULL;
    grove_launch launch;

    grove_launch_begin(&launch, session, NULL, GROVE_LAUNCH_ON_DEVICE, space, axes,
                       2 * step->inputs);
    launch.args.table = step->node->table;
    launch.table = grove_table_of(session, step->node);
    launch.compute = compute;
    launch.context = &a->function;
    grove_launch_output_buffer(&launch, &buffer, 8, &out, 0);
    int code = set_inputs(run, step, &launch);
    if (!code)
        code = grove_launch_run(session, &launch);
    grove_buffer_unref(buffer);
    return code;
}

int grove_class_device_add(grove_class_device *d, grove_run *run, const grove_step *step)
{
    const grove_session *session = d->session;
    grove_range space[GROVE_MAX_AXES];
    void **state = NULL;

    if (session->grants[d->node->id] < grove_facts_amounts(session->facts, d->node)->memory ||
        !d->node->class_->accumulator->device_add || !grove_devices_in_use(session) ||
        session->unsupported[d->node->id].reason || !grove_devices_can_keep(session, d->node) ||
        2 * step->inputs > GROVE_MAX_INPUTS)
        return GROVE_MISSING;
    int axes = make_space(run, step, space), code = 0;
    for (int e = 0; e < axes; e++)
        if (!space[e].count)
            return 0;
    if (axes < 0)
        return GROVE_MISSING;
    if ((code = find_state(d, &state)))
        return code;
    addition a = {.state = *state, .count = step->inputs};
    a.function = (grove_compute_function){d->node, session->facts[d->node->id].double_, add, &a};
    return launch_it(run, step, &a, space, axes);
}

/* ---- the value ---- */

static int finish(const grove_call *call, void *context)
{
    return call->node->class_->accumulator->device_finish(call, context);
}

/* The device that alone has a state; -1: none, or several. */
static int sole(const grove_class_device *d)
{
    int found = -1, count = 0;

    for (int k = 0; k < d->count; k++)
        if (d->own[k]) {
            found = k;
            count++;
        }
    return count == 1 ? found : -1;
}

static int finish_on_device(const grove_class_device *d, void *state, grove_value *value)
{
    const grove_compute_function function = {d->node, value->double_, finish, state};
    grove_launch launch;

    grove_launch_begin(&launch, d->session, NULL, GROVE_LAUNCH_ON_DEVICE, value->range, value->axes,
                       0);
    launch.args.table = d->node->table;
    launch.table = grove_table_of(d->session, d->node);
    launch.compute = compute;
    launch.context = &function;
    int code = grove_launch_output(&launch, value, d->session->error);
    return code ? code : grove_launch_run(d->session, &launch);
}

int grove_class_device_finish(grove_class_device *d, const grove_range *range, grove_value **value)
{
    grove_session *session = d->session;
    const grove_node *node = d->node;
    const grove_facts *facts = &session->facts[node->id];
    const int k = sole(d);
    grove_device *now = session->device;
    const bool may_yield = session->may_yield;

    if (k < 0 || !node->class_->accumulator->device_finish || facts->flagged ||
        session->unsupported[node->id].reason)
        return GROVE_MISSING;
    session->device = session->devices[k];
    session->may_yield = false;
    *value =
        grove_value_bare(range, node->axis_count, node->form.shape,
                         grove_form_elements(&node->form), node->form.complex_, facts->double_);
    int code = finish_on_device(d, d->own[k], *value);
    if (code == GROVE_MISSING) { /* nothing was missing before: additions continue on the device */
        free(session->unsupported[node->id].reason);
        session->unsupported[node->id] = (grove_unsupported){0};
    }
    session->device = now;
    session->may_yield = may_yield;
    if (code) {
        grove_value_unref(*value);
        *value = NULL;
    }
    return code;
}

/* ---- merging ---- */

static int merge_one(const grove_class_device *d, int k, void *state)
{
    grove_session *session = d->session;
    grove_error *fault = grove_error_new();
    grove_call_work work;
    grove_class_call scope;

    grove_call_begin(&work, session->devices[k], NULL, 0, fault);
    work.session = session;
    work.kept = &session->kept[d->node->id];
    grove_class_call_begin(&scope, session, d->node, false);
    grove_call call = call_of(&scope, k);
    call.work = &work;
    int code =
        grove_call_end(&call, d->node->class_->accumulator->device_merge(&call, state, d->own[k]));
    bool of_device = code && code == work.code && grove_error_count(fault);
    int ended = grove_class_call_end(&scope, of_device ? 0 : code, "merging failed");
    if (of_device)
        ended = grove_devices_fail(session, code, fault);
    grove_error_free(fault);
    return ended;
}

int grove_class_device_merge(grove_class_device *d, void *state)
{
    int code = 0;

    for (int k = 0; k < d->count && !code; k++)
        if (d->own[k])
            code = merge_one(d, k, state);
    return code;
}
