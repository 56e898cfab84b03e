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

/* Numbers of `bytes` a cell, dense over the sums' ranges, seen from a space. `self` stands for the
 * buffer. */
static grove_view view_of(const grove_sums *sums, grove_value *self, int64_t bytes,
                          const grove_range *space, int axes)
{
    grove_view view = {.data = self, .elements = sums->elements, .bytes = 8};
    int64_t steps[GROVE_MAX_AXES], step = bytes;

    for (int e = sums->axes - 1; e >= 0; e--) {
        steps[e] = step;
        step *= sums->range[e].count;
    }
    for (int d = 0; d < axes; d++) {
        int e = find_axis(sums, space[d].axis);
        if (e < 0)
            continue;
        view.stride[d] = steps[e];
        view.data = (char *)view.data + (space[d].first - sums->range[e].first) * steps[e];
    }
    return view;
}

static int64_t number_bytes(const grove_sums *sums)
{
    return (int64_t)sums->elements * sums->parts * (int64_t)sizeof(double);
}

static int64_t count_bytes(const grove_sums *sums)
{
    return (int64_t)sums->elements * (int64_t)sizeof(int64_t);
}

/* The space, and where the sums are; the outer axis' place. false: there is nothing to add. */
static bool begin(grove_args *args, const grove_sums *to, const grove_range *space, int axes,
                  const grove_axis *outer, grove_value *sums, grove_value *counts)
{
    grove_fold_state state = {(int32_t)to->how, -1, 0};
    bool any = true;

    args->axes = axes;
    args->inputs = GROVE_FOLD_COUNT + 1;
    for (int d = 0; d < axes; d++) {
        args->size[d] = space[d].count;
        args->axis[d] = space[d].axis->kind;
        any = any && space[d].count > 0;
        if (space[d].axis == outer)
            state.outer = d;
    }
    memcpy(args->state.bytes, &state, sizeof(state));
    sums->data = to->storage[0];
    args->out = view_of(to, sums, number_bytes(to), space, axes);
    args->out.complex_ = to->parts == 2;
    counts->data = to->storage[1];
    if (counts->data)
        args->in[GROVE_FOLD_COUNT] = view_of(to, counts, count_bytes(to), space, axes);
    return any;
}

int grove_sums_add_value_there(grove_session *session, grove_sums *to, grove_value *value,
                               const grove_range *space, int axes, const grove_axis *outer,
                               bool *done)
{
    grove_value sums = {0}, counts = {0}, flags = {.data = value->flags};
    grove_args args = {0};
    grove_launch launch = {&grove_array_fold, &args, false, &sums, {value}};

    *done = false;
    if (!grove_launch_has(session, launch.kernel, false))
        return 0;
    if (!begin(&args, to, space, axes, outer, &sums, &counts)) {
        *done = true;
        return 0;
    }
    int code =
        grove_value_layout(value, space, axes, 0, &args.in[GROVE_FOLD_NUMBERS], session->error);
    if (code)
        return code;
    if (to->storage[1]) {
        launch.in[GROVE_FOLD_COUNT] = &counts;
        if (value->flags)
            code = grove_value_flag_layout(value, &flags, space, axes, 0,
                                           &args.in[GROVE_FOLD_FLAGS], session->error);
        if (value->flags)
            launch.in[GROVE_FOLD_FLAGS] = &flags;
    }
    return code ? code : grove_launch_run(session, &launch, done);
}

int grove_sums_add_there(grove_session *session, grove_sums *to, const grove_sums *from, bool *done)
{
    grove_value sums = {0}, counts = {0};
    grove_value from_sums = {.data = from->storage[0]}, from_counts = {.data = from->storage[1]};
    grove_args args = {0};
    grove_launch launch = {&grove_array_fold, &args, false, &sums, {&from_sums}};

    *done = false;
    if (!grove_launch_has(session, launch.kernel, false))
        return 0;
    if (!begin(&args, to, from->range, from->axes, NULL, &sums, &counts)) {
        *done = true;
        return 0;
    }
    args.in[GROVE_FOLD_NUMBERS] =
        view_of(from, &from_sums, number_bytes(from), from->range, from->axes);
    args.in[GROVE_FOLD_NUMBERS].complex_ = from->parts == 2;
    if (from->storage[1]) {
        args.in[GROVE_FOLD_COUNTS] =
            view_of(from, &from_counts, count_bytes(from), from->range, from->axes);
        launch.in[GROVE_FOLD_COUNTS] = &from_counts;
        launch.in[GROVE_FOLD_COUNT] = &counts;
    }
    return grove_launch_run(session, &launch, done);
}

int grove_sums_finish_there(grove_session *session, const grove_sums *sums, int64_t samples,
                            grove_value *value, bool flagged, bool *done)
{
    grove_value numbers = {.data = sums->storage[0]}, counts = {.data = sums->storage[1]};
    grove_value flags = {0};
    grove_fold_state state = {(int32_t)sums->how, -1, samples};
    grove_args args = {.axes = value->axes, .inputs = GROVE_FINISH_FLAGS + 1};
    grove_launch launch = {&grove_array_fold_finish, &args, false, value, {&numbers}};

    *done = false;
    if (!grove_value_cells(value) || !grove_launch_has(session, launch.kernel, false))
        return 0;
    memcpy(args.state.bytes, &state, sizeof(state));
    for (int d = 0; d < value->axes; d++) {
        args.size[d] = value->range[d].count;
        args.axis[d] = value->range[d].axis->kind;
    }
    int code = grove_value_layout(value, value->range, value->axes, 0, &args.out, session->error);
    if (code)
        return code;
    args.in[GROVE_FINISH_SUMS] =
        view_of(sums, &numbers, number_bytes(sums), value->range, value->axes);
    if (counts.data) {
        args.in[GROVE_FINISH_COUNTS] =
            view_of(sums, &counts, count_bytes(sums), value->range, value->axes);
        launch.in[GROVE_FINISH_COUNTS] = &counts;
    }
    if (flagged) {
        code = grove_value_add_flags(value, session->host, (1u << value->axes) - 1, session->error);
        flags.data = value->flags;
        if (!code)
            code = grove_value_flag_layout(value, &flags, value->range, value->axes, 0,
                                           &args.in[GROVE_FINISH_FLAGS], session->error);
        launch.in[GROVE_FINISH_FLAGS] = &flags;
    }
    if (!code)
        code = grove_launch_run(session, &launch, done);
    if (!*done) {
        grove_buffer_unref(value->flags);
        value->flags = NULL;
    }
    return code;
}
