#include "run/block_sums.h"
#include "run/launch.h"

#include "base/memory.h"
#include "device/array.h"

#include <stdlib.h>
#include <string.h>

#include "../kernels/core/reduce.h"

/* Whether any order of additions gives the same bits: then there are no blocks. */
static bool is_exact(const grove_block_sums *sums)
{
    return sums->how == GROVE_REDUCE_MIN || sums->how == GROVE_REDUCE_MAX;
}

grove_block_sums *grove_block_sums_new(grove_reduce how, const grove_range *range, int axes,
                                       int elements, int parts, bool counted,
                                       const grove_axis *axis, int64_t begin)
{
    grove_block_sums *sums = grove_alloc(sizeof(*sums));

    sums->how = how;
    sums->axes = axes;
    sums->elements = elements;
    sums->parts = parts;
    sums->counted = counted;
    sums->axis = axis;
    sums->begin = begin;
    memcpy(sums->range, range, (size_t)axes * sizeof(*range));
    return sums;
}

void grove_block_sums_free(grove_block_sums *sums)
{
    if (!sums)
        return;
    grove_buffer_unref(sums->sum);
    grove_buffer_unref(sums->count);
    grove_buffer_unref(sums->nodes);
    free(sums);
}

void grove_block_sums_keep_nodes(grove_block_sums *sums, const grove_range *range, int axes)
{
    if (!sums->axis || is_exact(sums))
        return;
    sums->levels = grove_reduce_levels(sums->axis->size);
    sums->node_axes = axes;
    memcpy(sums->node_range, range, (size_t)axes * sizeof(*range));
}

void grove_block_sums_drop_nodes(grove_block_sums *sums)
{
    grove_buffer_unref(sums->nodes);
    sums->nodes = NULL;
    sums->levels = 0;
}

/* ---- storage ---- */

static uint64_t cells_of(const grove_range *range, int axes)
{
    uint64_t cells = 1;

    for (int d = 0; d < axes; d++)
        cells *= (uint64_t)range[d].count;
    return cells;
}

static int64_t number_bytes(const grove_block_sums *sums)
{
    return (int64_t)sums->elements * sums->parts * (int64_t)sizeof(double);
}

static int64_t count_bytes(const grove_block_sums *sums)
{
    return (int64_t)sums->elements * (int64_t)sizeof(int64_t);
}

/* Bytes from one node to the next, and the maximum number of nodes. */
static size_t node_bytes(const grove_block_sums *sums)
{
    return cells_of(sums->node_range, sums->node_axes) * (size_t)number_bytes(sums);
}

static size_t node_count(const grove_block_sums *sums)
{
    return (size_t)sums->levels * (sums->begin ? 2 : 1);
}

uint64_t grove_block_sums_bytes(int elements, int parts, bool counted, uint64_t cells, int levels,
                                uint64_t node_cells)
{
    uint64_t numbers = (uint64_t)elements, bytes = numbers * (uint64_t)parts * sizeof(double);

    return cells * (bytes + (counted ? numbers * sizeof(int64_t) : 0)) +
           node_cells * (uint64_t)levels * bytes;
}

static int make_buffer(grove_session *session, bool on_device, size_t bytes, grove_buffer **buffer)
{
    if (*buffer || !bytes)
        return 0;
    if (on_device) {
        grove_error_clear(session->attempt);
        *buffer = grove_buffer_new(session->device, bytes, session->attempt);
    }
    if (!*buffer)
        *buffer = grove_buffer_new(session->host, bytes, session->error);
    return *buffer ? 0 : GROVE_NO_MEMORY;
}

static int make_storage(grove_session *session, grove_block_sums *sums, bool on_device)
{
    uint64_t cells = cells_of(sums->range, sums->axes);
    int code = 0;

    if (sums->counted)
        code = make_buffer(session, on_device, cells * (uint64_t)count_bytes(sums), &sums->count);
    if (!code && sums->levels)
        code = make_buffer(session, on_device, node_count(sums) * node_bytes(sums), &sums->nodes);
    return code;
}

/* ---- adding ---- */

/* A dense operand with cells of `bytes` over some ranges, as seen from the launch's space. */
static grove_view view_of(const grove_range *own, int own_axes, int64_t bytes,
                          const grove_launch *launch, int64_t *offset)
{
    grove_view view = {.bytes = 8};
    int64_t step = bytes;

    *offset = 0;
    for (int e = own_axes - 1; e >= 0; e--) {
        for (int d = 0; d < launch->args.axes; d++)
            if (launch->space[d].axis == own[e].axis) {
                view.stride[d] = step;
                *offset += (launch->space[d].first - own[e].first) * step;
            }
        step *= own[e].count;
    }
    return view;
}

/* Sets sums, or counts, as input k. */
static void set_input(grove_launch *launch, int k, const grove_block_sums *sums, bool counts)
{
    int64_t offset, bytes = counts ? count_bytes(sums) : number_bytes(sums);
    grove_view view = view_of(sums->range, sums->axes, bytes, launch, &offset);
    grove_buffer *buffer = counts ? sums->count : sums->sum;

    view.complex_ = !counts && sums->parts == 2;
    if (buffer)
        grove_launch_input_buffer(launch, k, buffer, &view, offset);
}

/* Whether the policy leads to the device for this input. */
static bool is_on_device(const grove_session *session, grove_buffer *buffer)
{
    return grove_buffer_is_on(buffer, session->device) && !grove_buffer_is_on(buffer, NULL);
}

/* Sets up everything except the numbers, which `numbers` has; false: there are none. */
static int begin(grove_session *session, grove_launch *launch, grove_block_sums *to,
                 grove_buffer *numbers, const grove_range *space, int axes, bool fresh, bool *any)
{
    grove_reduce_state state = {.how = (int32_t)to->how,
                                .axis = -1,
                                .fresh = fresh,
                                .levels = to->levels,
                                .begin = to->begin / GROVE_REDUCE_BLOCK,
                                .distance = (int64_t)(node_bytes(to) / sizeof(double))};
    int64_t offset;

    *any = true;
    grove_launch_begin(launch, session, &grove_array_reduce, GROVE_LAUNCH_BY_INPUT, space, axes,
                       GROVE_REDUCE_ROWS + 1);
    for (int d = 0; d < axes; d++) {
        *any = *any && space[d].count > 0;
        if (space[d].axis == to->axis && !is_exact(to)) {
            state.axis = d;
            state.end = to->axis->size;
        }
    }
    memcpy(launch->args.state.bytes, &state, sizeof(state));
    int code = *any ? make_storage(session, to, is_on_device(session, numbers)) : 0;
    grove_view view = view_of(to->range, to->axes, number_bytes(to), launch, &offset);
    view.elements = to->elements;
    view.complex_ = to->parts == 2;
    grove_launch_output_buffer(
        launch, &to->sum, cells_of(to->range, to->axes) * (size_t)number_bytes(to), &view, offset);
    set_input(launch, GROVE_REDUCE_COUNT, to, true);
    if (to->nodes) {
        view = view_of(to->node_range, to->node_axes, number_bytes(to), launch, &offset);
        grove_launch_input_buffer(launch, GROVE_REDUCE_NODES, to->nodes, &view, offset);
    }
    return code;
}

int grove_block_sums_add_value(grove_session *session, grove_block_sums *to,
                               const grove_value *value, const grove_value *rows,
                               const grove_range *space, int axes, bool fresh)
{
    grove_launch launch;
    bool any;
    int code = begin(session, &launch, to, value->data, space, axes, fresh, &any);

    if (!code)
        code = grove_launch_input(&launch, GROVE_REDUCE_NUMBERS, value, 0, session->error);
    if (!code && to->counted)
        code = grove_launch_input_flags(&launch, GROVE_REDUCE_FLAGS, value, 0, session->error);
    if (!code && to->counted && rows)
        code = grove_launch_input_flags(&launch, GROVE_REDUCE_ROWS, rows, 0, session->error);
    return code || !any ? code : grove_launch_run(session, &launch);
}

int grove_block_sums_add(grove_session *session, grove_block_sums *to, grove_block_sums *from,
                         const grove_range *space, int axes, bool fresh)
{
    grove_launch launch;
    bool any;

    if (!from->sum) /* nothing was added to it */
        return 0;
    int code = begin(session, &launch, to, from->sum, space, axes, fresh, &any);
    set_input(&launch, GROVE_REDUCE_NUMBERS, from, false);
    set_input(&launch, GROVE_REDUCE_COUNTS, from, true);
    return code || !any ? code : grove_launch_run(session, &launch);
}

/* ---- merging ---- */

int grove_block_sums_fetch(grove_session *session, grove_block_sums *sums)
{
    grove_buffer *all[] = {sums->sum, sums->count, sums->nodes};
    void *at;
    int code = 0;

    for (int i = 0; i < 3 && !code; i++) {
        if (!all[i])
            continue;
        code = grove_launch_host_address(session, all[i], &at);
        if (!code)
            grove_buffer_write(all[i], NULL, session->error);
    }
    return code;
}

static double *numbers_of(grove_buffer *buffer)
{
    return buffer ? grove_buffer_host(buffer, NULL) : NULL;
}

/* Pushes the nodes over blocks [low, high) of `from`, in the order of the axis. */
static void push_nodes(const grove_reduce_state *state, double *nodes, double *from, int64_t low,
                       int64_t high, int64_t count)
{
    int64_t right[GROVE_REDUCE_LEVELS];
    int l = 0;

    for (; low < high; l++, low >>= 1, high >>= 1) {
        right[l] = -1;
        if (low & 1) {
            grove_reduce_push(state, nodes, from + (state->levels + l) * state->distance, count, l,
                              low);
            low++;
        }
        if (high & 1)
            right[l] = --high;
    }
    while (l-- > 0)
        if (right[l] >= 0)
            grove_reduce_push(state, nodes, from + l * state->distance, count, l, right[l]);
}

int grove_block_sums_merge(grove_session *session, grove_block_sums *to, grove_block_sums *from,
                           int64_t end)
{
    int64_t count = (int64_t)cells_of(to->range, to->axes) * to->elements, size = to->axis->size;
    int64_t last = (size - 1) / GROVE_REDUCE_BLOCK; /* because it is not pushed */
    int64_t high = end < size ? end / GROVE_REDUCE_BLOCK : last;
    grove_reduce_state state = {.how = (int32_t)to->how,
                                .levels = to->levels,
                                .begin = to->begin / GROVE_REDUCE_BLOCK,
                                .distance = count * to->parts};
    if (!from->sum) /* nothing was added to either: an axis has size zero */
        return 0;
    int code = grove_block_sums_fetch(session, to);

    if (!code)
        code = grove_block_sums_fetch(session, from);
    if (code)
        return code;
    double *sum = numbers_of(to->sum), *nodes = numbers_of(to->nodes);
    double *more = numbers_of(from->sum);
    if (is_exact(to)) {
        for (int64_t i = 0; i < count * to->parts; i++)
            sum[i] = grove_reduce_add(state.how, sum[i], more[i]);
    } else {
        push_nodes(&state, nodes, numbers_of(from->nodes), from->begin / GROVE_REDUCE_BLOCK, high,
                   count * to->parts);
        memcpy(sum, more, (size_t)(count * to->parts) * sizeof(double));
        if (end == size && !to->begin)
            grove_reduce_close(&state, nodes, sum, count * to->parts, last);
    }
    if (to->count) {
        int64_t *good = grove_buffer_host(to->count, NULL);
        const int64_t *others = grove_buffer_host(from->count, NULL);
        for (int64_t i = 0; i < count; i++)
            good[i] += others[i];
    }
    return 0;
}

/* ---- results ---- */

int grove_block_sums_store(grove_session *session, grove_block_sums *sums)
{
    uint64_t bytes = cells_of(sums->range, sums->axes) * (uint64_t)number_bytes(sums);

    sums->sum = grove_buffer_new(session->host, bytes, session->error);
    return sums->sum ? make_storage(session, sums, false) : GROVE_NO_MEMORY;
}

/* Nothing was added: an axis has no cells. */
static int fill_empty(grove_session *session, grove_block_sums *sums)
{
    double zero = grove_reduce_zero((int)sums->how);
    size_t numbers = cells_of(sums->range, sums->axes) * (size_t)(sums->elements * sums->parts);

    int code = grove_block_sums_store(session, sums);
    double *sum = code ? NULL : grove_buffer_host(sums->sum, NULL);
    for (size_t i = 0; sum && i < numbers; i++)
        sum[i] = zero;
    if (!code && sums->count)
        memset(grove_buffer_host(sums->count, NULL), 0, grove_buffer_bytes(sums->count));
    return code;
}

int grove_block_sums_finish(grove_session *session, grove_block_sums *sums, int64_t samples,
                            grove_value *value, bool flagged)
{
    grove_reduce_state state = {.how = (int32_t)sums->how, .axis = -1, .samples = samples};
    grove_launch launch;
    int code = sums->sum ? 0 : fill_empty(session, sums);

    if (code)
        return code;
    grove_launch_begin(&launch, session, &grove_array_reduce_finish, GROVE_LAUNCH_BY_INPUT,
                       value->range, value->axes, GROVE_FINISH_FLAGS + 1);
    memcpy(launch.args.state.bytes, &state, sizeof(state));
    code = grove_launch_output(&launch, value, session->error);
    set_input(&launch, GROVE_FINISH_SUMS, sums, false);
    set_input(&launch, GROVE_FINISH_COUNTS, sums, true);
    if (!code && flagged)
        code = grove_value_add_flags(value, session->host, (1u << value->axes) - 1, session->error);
    if (!code && flagged)
        code = grove_launch_input_flags(&launch, GROVE_FINISH_FLAGS, value, 0, session->error);
    return code ? code : grove_launch_run(session, &launch);
}
