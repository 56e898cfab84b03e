#include "run/block_sums.h"
#include "run/launch.h"

#include "base/memory.h"
#include "device/array.h"

#include <stdlib.h>
#include <string.h>

#include "../kernels/reduce/reduce.h"

grove_block_sums *grove_block_sums_new(grove_reduce how, const grove_range *range, int axes,
                                       int elements, int parts, bool counted,
                                       const grove_axis *axis, int64_t begin)
{
    grove_block_sums *sums = grove_alloc(sizeof(*sums));
    bool exact = how == GROVE_REDUCE_MIN || how == GROVE_REDUCE_MAX;

    sums->how = how;
    sums->axes = axes;
    sums->elements = elements;
    sums->parts = parts;
    sums->counted = counted;
    sums->axis = exact ? NULL : axis;
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
    if (!sums->axis)
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

/* Bytes from one node to the next, and how many nodes there may be. */
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
    int code = make_buffer(session, on_device, cells * (uint64_t)number_bytes(sums), &sums->sum);

    if (!code && sums->counted)
        code = make_buffer(session, on_device, cells * (uint64_t)count_bytes(sums), &sums->count);
    if (!code && sums->levels)
        code = make_buffer(session, on_device, node_count(sums) * node_bytes(sums), &sums->nodes);
    return code;
}

/* ---- adding ---- */

/* Dense numbers of `bytes` a cell over some ranges, seen from a space. `self` stands for the
 * buffer. */
static grove_view view_of(const grove_range *own, int own_axes, grove_value *self, int64_t bytes,
                          const grove_range *space, int axes)
{
    grove_view view = {.data = self, .bytes = 8};
    int64_t step = bytes;

    for (int e = own_axes - 1; e >= 0; e--) {
        for (int d = 0; d < axes; d++)
            if (space[d].axis == own[e].axis) {
                view.stride[d] = step;
                view.data = (char *)view.data + (space[d].first - own[e].first) * step;
            }
        step *= own[e].count;
    }
    return view;
}

static int store(grove_session *session, grove_value *value)
{
    size_t bytes;

    if (!grove_value_size(value, &bytes))
        return grove_fail(session->error, GROVE_NO_MEMORY, "a value is larger than any memory");
    value->data = grove_buffer_new(session->host, bytes, session->error);
    return value->data ? 0 : GROVE_NO_MEMORY;
}

/* On the session's device if the input is there, else on the host. */
static int run(grove_session *session, const grove_launch *launch, bool on_device)
{
    grove_args args = *launch->args;
    bool done = false;
    int code = 0;

    if (on_device && grove_launch_has(session, launch->kernel, false))
        code = grove_launch_run(session, launch, &done);
    if (code || done)
        return code;
    for (int k = 0; k < args.inputs && !code; k++) {
        if (!launch->in[k])
            continue;
        code = grove_launch_fetch(session, launch->in[k]);
        if (!code)
            code = grove_value_settle(launch->in[k], NULL, &args.in[k], session->error);
        if (!code && launch->kernel->writes >> k & 1)
            grove_buffer_write(launch->in[k]->data, NULL, session->error);
    }
    if (!code)
        code = launch->out->data ? grove_launch_fetch(session, launch->out)
                                 : store(session, launch->out);
    if (!code)
        code = grove_value_settle(launch->out, NULL, &args.out, session->error);
    if (code)
        return code;
    grove_buffer_write(launch->out->data, NULL, session->error);
    return session->host->launch(session->host, launch->kernel, &args, false, session->error);
}

/* Values that stand for buffers. */
typedef struct {
    grove_value sum, count, nodes, numbers, counts, flags;
} buffers;

/* All but the numbers that are added; false: there are none. */
static bool describe(const grove_block_sums *to, buffers *b, const grove_range *space, int axes,
                     bool fresh, grove_args *args, grove_launch *launch)
{
    grove_reduce_state state = {.how = (int32_t)to->how,
                                .axis = -1,
                                .fresh = fresh,
                                .levels = to->levels,
                                .begin = to->begin / GROVE_REDUCE_BLOCK,
                                .distance = (int64_t)(node_bytes(to) / sizeof(double))};
    bool any = true;

    args->axes = axes;
    args->inputs = GROVE_REDUCE_NODES + 1;
    for (int d = 0; d < axes; d++) {
        args->size[d] = space[d].count;
        args->origin[d] = space[d].first;
        args->axis[d] = space[d].axis->kind;
        any = any && space[d].count > 0;
        if (space[d].axis == to->axis) {
            state.axis = d;
            state.end = to->axis->size;
        }
    }
    memcpy(args->state.bytes, &state, sizeof(state));
    b->sum.data = to->sum;
    args->out = view_of(to->range, to->axes, &b->sum, number_bytes(to), space, axes);
    args->out.elements = to->elements;
    args->out.complex_ = to->parts == 2;
    launch->out = &b->sum;
    if (to->count) {
        b->count.data = to->count;
        args->in[GROVE_REDUCE_COUNT] =
            view_of(to->range, to->axes, &b->count, count_bytes(to), space, axes);
        launch->in[GROVE_REDUCE_COUNT] = &b->count;
    }
    if (to->nodes) {
        b->nodes.data = to->nodes;
        args->in[GROVE_REDUCE_NODES] =
            view_of(to->node_range, to->node_axes, &b->nodes, number_bytes(to), space, axes);
        launch->in[GROVE_REDUCE_NODES] = &b->nodes;
    }
    return any;
}

int grove_block_sums_add_value(grove_session *session, grove_block_sums *to, grove_value *value,
                               const grove_range *space, int axes, bool fresh)
{
    bool on_device = grove_launch_is_there(session, value);
    buffers b = {0};
    grove_args args = {0};
    grove_launch launch = {&grove_array_reduce, &args, false, NULL, {value}};
    int code = make_storage(session, to, on_device);

    if (code || !describe(to, &b, space, axes, fresh, &args, &launch))
        return code;
    code =
        grove_value_layout(value, space, axes, 0, &args.in[GROVE_REDUCE_NUMBERS], session->error);
    if (!code && to->counted && value->flags) {
        b.flags.data = value->flags;
        launch.in[GROVE_REDUCE_FLAGS] = &b.flags;
        code = grove_value_flag_layout(value, &b.flags, space, axes, 0,
                                       &args.in[GROVE_REDUCE_FLAGS], session->error);
    }
    return code ? code : run(session, &launch, on_device);
}

static bool is_on_device(const grove_session *session, const grove_block_sums *sums)
{
    return grove_launch_is_away(session) && grove_buffer_is_on(sums->sum, session->device) &&
           !grove_buffer_is_on(sums->sum, NULL);
}

int grove_block_sums_add(grove_session *session, grove_block_sums *to, grove_block_sums *from,
                         const grove_range *space, int axes, bool fresh)
{
    buffers b = {0};
    grove_args args = {0};
    grove_launch launch = {&grove_array_reduce, &args, false, NULL, {&b.numbers}};
    bool on_device = from->sum && is_on_device(session, from);
    int code = from->sum ? make_storage(session, to, on_device) : 0;

    if (code || !from->sum || !describe(to, &b, space, axes, fresh, &args, &launch))
        return code;
    b.numbers.data = from->sum;
    args.in[GROVE_REDUCE_NUMBERS] =
        view_of(from->range, from->axes, &b.numbers, number_bytes(from), space, axes);
    args.in[GROVE_REDUCE_NUMBERS].complex_ = from->parts == 2;
    if (from->count) {
        b.counts.data = from->count;
        args.in[GROVE_REDUCE_COUNTS] =
            view_of(from->range, from->axes, &b.counts, count_bytes(from), space, axes);
        launch.in[GROVE_REDUCE_COUNTS] = &b.counts;
    }
    return run(session, &launch, on_device);
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
        code = grove_launch_address(session, all[i], &at);
        if (!code)
            grove_buffer_write(all[i], NULL, session->error);
    }
    return code;
}

static double *numbers_of(grove_buffer *buffer)
{
    return buffer ? grove_buffer_host(buffer, NULL) : NULL;
}

/* Pushes the nodes over blocks [low, high) of `from`, in the order of the axis, into the tree. */
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
    int64_t last = (size - 1) / GROVE_REDUCE_BLOCK; /* is not pushed */
    int64_t high = end < size ? end / GROVE_REDUCE_BLOCK : last;
    grove_reduce_state state = {.how = (int32_t)to->how,
                                .levels = to->levels,
                                .begin = to->begin / GROVE_REDUCE_BLOCK,
                                .distance = count * to->parts};
    int code = grove_block_sums_fetch(session, to);

    if (!code)
        code = grove_block_sums_fetch(session, from);
    if (code)
        return code;
    double *sum = numbers_of(to->sum), *nodes = numbers_of(to->nodes);
    push_nodes(&state, nodes, numbers_of(from->nodes), from->begin / GROVE_REDUCE_BLOCK, high,
               count * to->parts);
    memcpy(sum, numbers_of(from->sum), (size_t)(count * to->parts) * sizeof(double));
    if (end == size && !to->begin)
        grove_reduce_close(&state, nodes, sum, count * to->parts, last);
    if (to->count) {
        int64_t *good = grove_buffer_host(to->count, NULL);
        const int64_t *more = grove_buffer_host(from->count, NULL);
        for (int64_t i = 0; i < count; i++)
            good[i] += more[i];
    }
    return 0;
}

/* ---- results ---- */

/* Nothing was added: an axis without cells. */
static int fill_empty(grove_session *session, grove_block_sums *sums)
{
    int code = make_storage(session, sums, false);
    double *sum = numbers_of(sums->sum), zero = grove_reduce_zero((int)sums->how);

    for (size_t i = 0; sum && i < grove_buffer_bytes(sums->sum) / sizeof(double); i++)
        sum[i] = zero;
    if (!code && sums->count)
        memset(grove_buffer_host(sums->count, NULL), 0, grove_buffer_bytes(sums->count));
    return code;
}

int grove_block_sums_finish(grove_session *session, grove_block_sums *sums, int64_t samples,
                            grove_value *value, bool flagged)
{
    buffers b = {0};
    grove_reduce_state state = {.how = (int32_t)sums->how, .axis = -1, .samples = samples};
    grove_args args = {.axes = value->axes, .inputs = GROVE_FINISH_FLAGS + 1};
    grove_launch launch = {&grove_array_reduce_finish, &args, false, value, {&b.numbers}};
    int code = sums->sum ? 0 : fill_empty(session, sums);

    memcpy(args.state.bytes, &state, sizeof(state));
    for (int d = 0; d < value->axes; d++) {
        args.size[d] = value->range[d].count;
        args.axis[d] = value->range[d].axis->kind;
    }
    bool on_device = !code && sums->sum && is_on_device(session, sums);
    if (!code && flagged)
        code = grove_value_add_flags(value, session->host, (1u << value->axes) - 1, session->error);
    if (code || !sums->sum)
        return code;
    code = grove_value_layout(value, value->range, value->axes, 0, &args.out, session->error);
    b.numbers.data = sums->sum;
    args.in[GROVE_FINISH_SUMS] =
        view_of(sums->range, sums->axes, &b.numbers, number_bytes(sums), value->range, value->axes);
    if (sums->count) {
        b.counts.data = sums->count;
        args.in[GROVE_FINISH_COUNTS] = view_of(sums->range, sums->axes, &b.counts,
                                               count_bytes(sums), value->range, value->axes);
        launch.in[GROVE_FINISH_COUNTS] = &b.counts;
    }
    if (!code && flagged) {
        b.flags.data = value->flags;
        code = grove_value_flag_layout(value, &b.flags, value->range, value->axes, 0,
                                       &args.in[GROVE_FINISH_FLAGS], session->error);
        launch.in[GROVE_FINISH_FLAGS] = &b.flags;
    }
    return code ? code : run(session, &launch, on_device);
}
