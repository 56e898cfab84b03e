/* Partial sums on a CUDA device, which has what is added: the same bits as run/partial_sums.c
 * makes. */
#include "run/launch.h"
#include "run/partial_sums.h"

#include "device/array.h"

#include <string.h>

#include "../kernels/reduce/reduce.h"

/* Which of `to`'s axes is one of a space; -1: it is reduced. */
static int find_axis(const grove_sums *to, const grove_axis *axis)
{
    for (int e = 0; e < to->axes; e++)
        if (to->range[e].axis == axis)
            return e;
    return -1;
}

/* Numbers of `bytes` a cell, dense over the sums' ranges, seen from a space. */
static grove_view view_of(const grove_sums *sums, int64_t bytes, const grove_range *space, int axes,
                          int64_t *offset)
{
    grove_view view = {.elements = sums->elements, .bytes = 8};
    int64_t steps[GROVE_MAX_AXES], step = bytes;

    *offset = 0;
    for (int e = sums->axes - 1; e >= 0; e--) {
        steps[e] = step;
        step *= sums->range[e].count;
    }
    for (int d = 0; d < axes; d++) {
        int e = find_axis(sums, space[d].axis);
        if (e < 0)
            continue;
        view.stride[d] = steps[e];
        *offset += (space[d].first - sums->range[e].first) * steps[e];
    }
    return view;
}

/* Buffer 0 of the sums, or 1, which counts, as input k. */
static void set_input(grove_launch *launch, int k, const grove_sums *sums, int buffer)
{
    int64_t offset, bytes = sums->elements * (buffer ? 1 : sums->parts) * (int64_t)sizeof(double);
    grove_view view = view_of(sums, bytes, launch->space, launch->args.axes, &offset);

    view.complex_ = !buffer && sums->parts == 2;
    if (sums->storage[buffer])
        grove_launch_input_buffer(launch, k, sums->storage[buffer], &view, offset);
}

/* The caller does it on the host. */
static int decline(grove_session *session, const grove_launch *launch)
{
    (void)session;
    *(bool *)launch->context = false;
    return 0;
}

/* The space, and where the sums are; the outer axis' place. false: there is nothing to add. */
static bool begin(grove_launch *launch, const grove_session *session, grove_sums *to,
                  const grove_range *space, int axes, const grove_axis *outer, bool *done)
{
    grove_fold_state state = {(int32_t)to->how, -1, 0};
    int64_t offset, bytes = to->elements * to->parts * (int64_t)sizeof(double);
    bool any = true;

    grove_launch_begin(launch, session, &grove_array_fold, GROVE_LAUNCH_BY_INPUT, space, axes,
                       GROVE_FOLD_COUNT + 1);
    launch->host = decline;
    launch->context = done;
    *done = true;
    for (int d = 0; d < axes; d++) {
        any = any && space[d].count > 0;
        if (space[d].axis == outer)
            state.outer = d;
    }
    memcpy(launch->args.state.bytes, &state, sizeof(state));
    grove_view view = view_of(to, bytes, space, axes, &offset);
    view.complex_ = to->parts == 2;
    grove_launch_output_buffer(launch, &to->storage[0], grove_buffer_bytes(to->storage[0]), &view,
                               offset);
    set_input(launch, GROVE_FOLD_COUNT, to, 1);
    return any;
}

int grove_sums_add_value_there(grove_session *session, grove_sums *to, grove_value *value,
                               const grove_range *space, int axes, const grove_axis *outer,
                               bool *done)
{
    double seconds = session->counters.kernel_seconds;
    grove_launch launch;

    if (!begin(&launch, session, to, space, axes, outer, done))
        return 0;
    int code = grove_launch_input(&launch, GROVE_FOLD_NUMBERS, value, 0, session->error);
    if (!code && to->storage[1])
        code = grove_launch_input_flags(&launch, GROVE_FOLD_FLAGS, value, 0, session->error);
    if (!code)
        code = grove_launch_run(session, &launch);
    session->counters.kernel_seconds = seconds; /* the caller counts them */
    *done = *done && !code;
    return code;
}

int grove_sums_add_there(grove_session *session, grove_sums *to, const grove_sums *from, bool *done)
{
    double seconds = session->counters.kernel_seconds;
    grove_launch launch;

    if (!begin(&launch, session, to, from->range, from->axes, NULL, done))
        return 0;
    set_input(&launch, GROVE_FOLD_NUMBERS, from, 0);
    set_input(&launch, GROVE_FOLD_COUNTS, from, 1);
    int code = grove_launch_run(session, &launch);
    session->counters.kernel_seconds = seconds;
    *done = *done && !code;
    return code;
}

int grove_sums_finish_there(grove_session *session, const grove_sums *sums, int64_t samples,
                            grove_value *value, bool flagged, bool *done)
{
    grove_fold_state state = {(int32_t)sums->how, -1, samples};
    grove_launch launch;

    grove_launch_begin(&launch, session, &grove_array_fold_finish, GROVE_LAUNCH_BY_INPUT,
                       value->range, value->axes, GROVE_FINISH_FLAGS + 1);
    launch.host = decline;
    launch.context = done;
    *done = true;
    memcpy(launch.args.state.bytes, &state, sizeof(state));
    int code = grove_launch_output(&launch, value, session->error);
    launch.double_precision = false; /* there is one */
    set_input(&launch, GROVE_FINISH_SUMS, sums, 0);
    set_input(&launch, GROVE_FINISH_COUNTS, sums, 1);
    if (!code && flagged)
        code = grove_value_add_flags(value, session->host, (1u << value->axes) - 1, session->error);
    if (!code)
        code = grove_launch_input_flags(&launch, GROVE_FINISH_FLAGS, value, 0, session->error);
    if (!code)
        code = grove_launch_run(session, &launch);
    *done = *done && !code;
    if (!*done) {
        grove_buffer_unref(value->data);
        grove_buffer_unref(value->flags);
        value->data = value->flags = NULL;
    }
    return code;
}
