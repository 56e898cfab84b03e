/* Functions for an action's drive: fetching inputs that were left on a device, and computing
 * there.
 */
#include "run/pipeline.h"

#include "run/call.h"
#include "run/launch.h"
#include "run/table.h"

#include <string.h>

/* The drive that this thread is in. */
static _Thread_local grove_session *session_now;
static _Thread_local grove_write_call *call_now;

int grove_drive_call(grove_session *session, grove_write_call *call, bool *again)
{
    session_now = session;
    call_now = call;
    int code = grove_io_drive(session, call->action, call->arrays, call->count, again);
    session_now = NULL;
    call_now = NULL;
    return code;
}

/* Whether this is the drive of that node, and input k one of its own. */
static int check_input(const grove_node *node, const char *name, int k)
{
    if (!call_now || call_now->action != node)
        return grove_node_fail(node, GROVE_INVALID, "the plugin calls %s, which is for drive",
                               name);
    if (k < 0 || k >= call_now->count)
        return grove_node_fail(node, GROVE_INVALID, "the plugin calls %s for input %d of %d", name,
                               k, call_now->count);
    return 0;
}

int grove_node_fetch(const grove_node *node, int k)
{
    int code = check_input(node, "grove_node_fetch", k);

    if (code || call_now->arrays[k].data || !call_now->values[k])
        return code;
    if (!grove_buffer_is_on(call_now->values[k]->data, NULL))
        grove_devices_make_host_room(session_now, grove_buffer_bytes(call_now->values[k]->data));
    code = grove_pipeline_fetch(session_now, call_now, k);
    return code ? grove_node_fail(node, code, "input %d cannot be copied to the host", k) : 0;
}

/* ---- domains in parts ---- */

bool grove_node_reads_once(const grove_node *node)
{
    return !check_input(node, "grove_node_reads_once", 0) && call_now->once;
}

void grove_node_leave_out(const grove_node *node, int k)
{
    if (!check_input(node, "grove_node_leave_out", k) && call_now->left_out)
        call_now->left_out[k] = true;
}

void grove_node_repeat(const grove_node *node)
{
    if (!check_input(node, "grove_node_repeat", 0))
        call_now->repeats = call_now->left_out != NULL;
}

/* ---- computing ---- */

static int compute(grove_session *session, grove_launch *launch, grove_device *device)
{
    if (device == session->host)
        return GROVE_MISSING; /* the drive does it */
    return grove_compute_call(session, launch, device, launch->context);
}

static int set_inputs(grove_launch *launch, const grove_computation *what)
{
    int code = 0;

    for (int i = 0; i < what->count && !code; i++) {
        int input = what->inputs[i], k = input < 0 ? ~input : input;
        code = check_input(call_now->action, "grove_node_compute", k);
        if (code || !call_now->values[k])
            continue;
        code = input < 0
                   ? grove_launch_input_flags(launch, i, call_now->values[k], 0, session_now->error)
                   : grove_launch_input(launch, i, call_now->values[k], 0, session_now->error);
    }
    return code;
}

/* The result's bytes. */
static int take_result(grove_buffer *buffer, const grove_computation *what)
{
    void *at;
    int code = grove_launch_to_host(session_now, buffer);

    if (!code)
        code = grove_launch_host_address(session_now, buffer, &at);
    if (!code)
        memcpy(what->result, at, what->bytes);
    return code;
}

static int launch_it(const grove_node *node, const grove_computation *what)
{
    const grove_array *space = &call_now->arrays[0];
    const grove_compute_function function = {node, session_now->facts[node->id].double_,
                                             what->compute, what->context};
    const grove_view out = {.elements = 1, .shape = GROVE_SCALAR, .bytes = 8};
    uint64_t scratch = grove_node_scratch_bytes(node, space->range, space->axes);
    grove_buffer *buffer = NULL;
    grove_launch launch;

    if (what->count < 0 || what->count > GROVE_MAX_INPUTS)
        return grove_node_fail(
            node, GROVE_INVALID,
            "the plugin computes a value of %d inputs, but at most %d are possible", what->count,
            (int)GROVE_MAX_INPUTS);
    if (what->bytes > scratch)
        return grove_node_fail(node, GROVE_INVALID,
                               "the plugin computes %llu bytes, more scratch memory than it has "
                               "declared (grove_node_set_scratch)",
                               (unsigned long long)what->bytes);
    grove_launch_begin(&launch, session_now, NULL, GROVE_LAUNCH_ON_DEVICE, space->range,
                       space->axes, what->count);
    launch.args.table = node->table;
    launch.table = grove_table_of(session_now, node);
    launch.compute = compute;
    launch.context = &function;
    launch.scratch_bytes = scratch - what->bytes;
    grove_launch_output_buffer(&launch, &buffer, what->bytes, &out, 0);
    int code = set_inputs(&launch, what);
    if (!code)
        code = grove_launch_run(session_now, &launch);
    if (!code)
        code = take_result(buffer, what);
    grove_buffer_unref(buffer);
    return code;
}

int grove_node_compute(const grove_node *node, const grove_computation *what)
{
    int code = check_input(node, "grove_node_compute", 0);

    if (code || !what->bytes)
        return code;
    if (!grove_devices_in_use(session_now) || session_now->lacks[node->id].reason)
        return GROVE_MISSING;
    code = launch_it(node, what);
    return code && code != GROVE_MISSING ? grove_node_fail(node, code, "it cannot be computed")
                                         : code;
}
