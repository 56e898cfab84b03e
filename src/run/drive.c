/* Functions for an action's drive: fetching inputs that were left on a device, and computing
 * there.
 */
#include "run/pipeline.h"

#include "run/call.h"
#include "run/launch.h"
#include "run/table.h"

#include <string.h>

int grove_drive_call(grove_session *session, grove_write_call *drive, bool *again)
{
    const grove_array *arrays[GROVE_MAX_ACTION_INPUTS];
    grove_node *action = drive->action;
    grove_class_call scope;

    for (int k = 0; k < drive->count; k++)
        arrays[k] = &drive->arrays[k];
    grove_class_call_begin(&scope, session, action, false);
    scope.drive = drive;
    scope.driver = pthread_self();
    int code = action->class_->action->drive(&scope.call, arrays, drive->count, again);
    if (!code && *again && !grove_node_renews_any(action))
        code = grove_node_fail(action, GROVE_INVALID,
                               "it asks for its inputs again, though it gives no object new "
                               "content (grove_node_renews)");
    return grove_class_call_end(&scope, code, "fitting failed");
}

/* The drive that this is the call of, in its thread, if input k is one of its own; else NULL after
 * a message. */
static grove_write_call *find_drive(const grove_call *call, const char *name, int k)
{
    grove_class_call *scope = call->scope;
    const bool own = scope && scope->drive && pthread_equal(scope->driver, pthread_self());
    grove_write_call *drive = own ? scope->drive : NULL;

    if (drive && k >= 0 && k < drive->count)
        return drive;
    if (drive)
        grove_node_fail(call->node, GROVE_INVALID, "the plugin calls %s for input %d of %d", name,
                        k, drive->count);
    else
        grove_node_fail(call->node, GROVE_INVALID, "the plugin calls %s, which is for drive", name);
    return NULL;
}

int grove_call_fetch_input(const grove_call *call, int k)
{
    grove_write_call *drive = find_drive(call, "grove_call_fetch_input", k);

    if (!drive)
        return GROVE_INVALID;
    if (drive->arrays[k].data || !drive->values[k])
        return 0;
    grove_session *session = call->scope->session;
    if (!grove_buffer_is_on(drive->values[k]->data, NULL))
        grove_devices_make_host_room(session, grove_buffer_bytes(drive->values[k]->data));
    int code = grove_pipeline_fetch(session, drive, k);
    return code ? grove_node_fail(call->node, code, "input %d cannot be copied to the host", k) : 0;
}

/* ---- domains in parts ---- */

bool grove_call_reads_once(const grove_call *call)
{
    const grove_write_call *drive = find_drive(call, "grove_call_reads_once", 0);

    return drive && drive->once;
}

void grove_call_leave_out(const grove_call *call, int k)
{
    const grove_write_call *drive = find_drive(call, "grove_call_leave_out", k);

    if (drive && drive->left_out)
        drive->left_out[k] = true;
}

void grove_call_repeat(const grove_call *call)
{
    grove_write_call *drive = find_drive(call, "grove_call_repeat", 0);

    if (drive)
        drive->repeats = drive->left_out != NULL;
}

/* ---- computing ---- */

static int compute(grove_session *session, grove_launch *launch, grove_device *device)
{
    if (device == session->host)
        return GROVE_MISSING; /* the drive does it */
    return grove_compute_call(session, launch, device, launch->context);
}

static int set_inputs(grove_launch *launch, const grove_call *call,
                      const grove_computation *computation)
{
    grove_error *error = call->scope->session->error;
    int code = 0;

    for (int i = 0; i < computation->count && !code; i++) {
        int input = computation->inputs[i], k = input < 0 ? ~input : input;
        const grove_write_call *drive = find_drive(call, "grove_call_compute", k);
        if (!drive)
            code = GROVE_INVALID;
        else if (drive->values[k])
            code = input < 0 ? grove_launch_input_flags(launch, i, drive->values[k], 0, error)
                             : grove_launch_input(launch, i, drive->values[k], 0, error);
    }
    return code;
}

/* The result's bytes. */
static int take_result(grove_session *session, grove_buffer *buffer,
                       const grove_computation *computation)
{
    void *at;
    int code = grove_launch_to_host(session, buffer);

    if (!code)
        code = grove_launch_host_address(session, buffer, &at);
    if (!code)
        memcpy(computation->result, at, computation->bytes);
    return code;
}

static int launch_it(const grove_call *call, const grove_computation *computation)
{
    const grove_node *node = call->node;
    grove_session *session = call->scope->session;
    const grove_array *space = &call->scope->drive->arrays[0];
    const grove_compute_function function = {node, session->facts[node->id].double_,
                                             computation->compute, computation->context};
    const grove_view out = {.elements = 1, .shape = GROVE_SCALAR, .bytes = 8};
    uint64_t scratch = grove_node_scratch_bytes(node, space->range, space->axes);
    grove_buffer *buffer = NULL;
    grove_launch launch;

    if (computation->count < 0 || computation->count > GROVE_MAX_INPUTS)
        return grove_node_fail(
            node, GROVE_INVALID,
            "the plugin computes a value of %d inputs, but at most %d are possible",
            computation->count, (int)GROVE_MAX_INPUTS);
    if (computation->bytes > scratch)
        return grove_node_fail(node, GROVE_INVALID,
                               "the plugin computes %llu bytes, more scratch memory than it has "
                               "declared (grove_node_set_scratch)",
                               (unsigned long long)computation->bytes);
    grove_launch_begin(&launch, session, NULL, GROVE_LAUNCH_ON_DEVICE, space->range, space->axes,
                       computation->count);
    launch.args.table = node->table;
    launch.table = grove_table_of(session, node);
    launch.compute = compute;
    launch.context = &function;
    launch.scratch_bytes = scratch - computation->bytes;
    grove_launch_output_buffer(&launch, &buffer, computation->bytes, &out, 0);
    int code = set_inputs(&launch, call, computation);
    if (!code)
        code = grove_launch_run(session, &launch);
    if (!code)
        code = take_result(session, buffer, computation);
    grove_buffer_unref(buffer);
    return code;
}

int grove_call_compute(const grove_call *call, const grove_computation *computation)
{
    const grove_node *node = call->node;

    if (!find_drive(call, "grove_call_compute", 0))
        return GROVE_INVALID;
    if (!computation->bytes)
        return 0;
    const grove_session *session = call->scope->session;
    if (!grove_devices_in_use(session) || session->unsupported[node->id].reason)
        return GROVE_MISSING;
    int code = launch_it(call, computation);
    return code && code != GROVE_MISSING ? grove_node_fail(node, code, "it cannot be computed")
                                         : code;
}
