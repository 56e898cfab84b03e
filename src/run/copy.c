#include "run/copy.h"

#include "device/array.h"

#include <string.h>

int grove_copy_numbers(grove_session *session, const grove_value *from, char side, int element,
                       const grove_range *space, int axes, const grove_value *rows,
                       grove_placement placement, grove_value *to)
{
    grove_launch launch;
    int64_t first = element;

    grove_launch_begin(&launch, session, &grove_array_cast, placement, space, axes, 1);
    memcpy(launch.args.state.bytes, &first, sizeof(first));
    int code = grove_launch_input(&launch, 0, from, side, session->error);
    if (!code)
        code = grove_launch_output(&launch, to, session->error);
    if (!code && rows)
        code = grove_launch_leave_rows(&launch, rows, session->error);
    return code ? code : grove_launch_run(session, &launch);
}

int grove_copy_flags(grove_session *session, const grove_value *from, char side,
                     const grove_range *space, int axes, grove_value *to)
{
    grove_launch launch;
    int64_t first = 0;

    grove_launch_begin(&launch, session, &grove_array_cast, GROVE_LAUNCH_ON_HOST, space, axes, 1);
    memcpy(launch.args.state.bytes, &first, sizeof(first));
    int code = grove_launch_input_flags(&launch, 0, from, side, session->error);
    if (!code)
        code = grove_launch_output_flags(&launch, to, session->error);
    return code ? code : grove_launch_run(session, &launch);
}

int grove_copy_dense(grove_session *session, const grove_value *from, char side,
                     const grove_range *space, int axes, grove_placement placement,
                     const grove_value *rows, grove_gaps gaps, grove_value **to)
{
    grove_value *copy =
        grove_value_bare(space, axes, from->shape, from->elements, from->complex_, from->double_);

    copy->unit = from->unit;
    copy->gaps = gaps;
    int code = grove_copy_numbers(session, from, side, 0, space, axes, rows, placement, copy);
    if (!code && from->flags) {
        copy->flag_axes = (1u << axes) - 1;
        code = grove_copy_flags(session, from, side, space, axes, copy);
    }
    if (code)
        grove_value_unref(copy);
    *to = code ? NULL : copy;
    return code;
}

/* A value with the same numbers, and flags along all axes. */
static int spread_flags(grove_session *session, grove_value *from, grove_value **to)
{
    grove_value *all = grove_value_bare(from->range, from->axes, from->shape, from->elements,
                                        from->complex_, from->double_);

    all->unit = from->unit;
    all->data = grove_buffer_ref(from->data);
    all->flag_axes = (1u << from->axes) - 1;
    int code = grove_copy_flags(session, from, 0, from->range, from->axes, all);
    if (code)
        grove_value_unref(all);
    *to = code ? NULL : all;
    return code;
}

int grove_copy_as_dense(grove_session *session, grove_value *from, char side,
                        const grove_range *space, int axes, const grove_value *rows,
                        grove_gaps gaps, grove_value **to)
{
    bool same = from->axes == axes;

    for (int d = 0; d < axes && same; d++)
        same = from->range[d].axis == space[d].axis && from->range[d].first == space[d].first &&
               from->range[d].count == space[d].count;
    if (!same)
        return grove_copy_dense(session, from, side, space, axes, GROVE_LAUNCH_ON_HOST, rows, gaps,
                                to);
    if (from->flags && from->flag_axes != (1u << axes) - 1)
        return spread_flags(session, from, to);
    *to = grove_value_ref(from);
    return 0;
}

int grove_copy_into(grove_session *session, const grove_value *from, grove_value *to)
{
    int code = grove_copy_numbers(session, from, 0, 0, from->range, from->axes, NULL,
                                  GROVE_LAUNCH_ON_HOST, to);

    if (!code && from->flags && to->flags)
        code = grove_copy_flags(session, from, 0, from->range, from->axes, to);
    return code;
}
