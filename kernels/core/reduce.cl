/* Reductions in a fixed order on OpenCL devices: a thread adds the samples of its number. */
#ifndef GROVE_REDUCE_OPENCL
#define GROVE_REDUCE_OPENCL
#include "reduce.h"

/* A number, whose second part is zero if it is real, and its good samples. */
typedef struct {
    double part[2];
    int64_t count;
} reduce_number;

/* Where a sample is. */
typedef struct {
    const char *numbers, *flags, *counts;
} reduce_place;

/* A number of the output. `inner`: axes that are reduced besides the one in blocks, slowest first.
 */
typedef struct {
    const grove_args *args;
    const grove_reduce_state *state;
    int inner[GROVE_MAX_AXES], inner_count;
    int element, parts;
    reduce_place at;
    double *sum, *nodes;
    int64_t *count;
} reduce_work;

GROVE_FN reduce_number reduce_nothing(int how)
{
    reduce_number x;

    x.part[0] = x.part[1] = grove_reduce_zero(how);
    x.count = 0;
    return x;
}

GROVE_FN void reduce_join(int how, reduce_number *to, const reduce_number *next)
{
    to->part[0] = grove_reduce_add(how, to->part[0], next->part[0]);
    to->part[1] = grove_reduce_add(how, to->part[1], next->part[1]);
    to->count += next->count;
}

GROVE_FN reduce_place reduce_moved(const grove_args *args, reduce_place at, int axis, int64_t by)
{
    at.numbers += by * args->in[GROVE_REDUCE_NUMBERS].stride[axis];
    at.flags += by * args->in[GROVE_REDUCE_FLAGS].stride[axis];
    at.counts += by * args->in[GROVE_REDUCE_COUNTS].stride[axis];
    return at;
}

GROVE_FN void reduce_add_sample(const reduce_work *w, const reduce_place *at, reduce_number *to)
{
    const int bit = w->element < 7 ? w->element : 7;
    reduce_number x = {{0, 0}, 1};

    if (w->args->in[GROVE_REDUCE_COUNTS].data)
        x.count = *(const int64_t *)at->counts;
    else if (w->args->in[GROVE_REDUCE_FLAGS].data)
        x.count = !(*(const unsigned char *)at->flags >> bit & 1);
    for (int k = 0; k < w->parts; k++)
        x.part[k] = w->args->in[GROVE_REDUCE_NUMBERS].bytes == 8
                        ? ((const double *)at->numbers)[k]
                        : (double)((const float *)at->numbers)[k];
    if (x.count)
        reduce_join(w->state->how, to, &x);
}

/* Adds the samples of all axes besides the one in blocks. */
GROVE_FN void reduce_add_inner(const reduce_work *w, reduce_place at, reduce_number *to)
{
    int64_t index[GROVE_MAX_AXES];
    int k = w->inner_count;

    for (int i = 0; i < w->inner_count; i++) {
        index[i] = 0;
        if (w->args->size[w->inner[i]] < 1)
            return;
    }
    while (k >= 0) {
        reduce_add_sample(w, &at, to);
        for (k = w->inner_count - 1; k >= 0; k--) {
            at = reduce_moved(w->args, at, w->inner[k], 1);
            if (++index[k] < w->args->size[w->inner[k]])
                break;
            at = reduce_moved(w->args, at, w->inner[k], -w->args->size[w->inner[k]]);
            index[k] = 0;
        }
    }
}

/* Adds cells [from, until) of the axis in blocks; with inner axes first to a number of each. */
GROVE_FN void reduce_add_cells(const reduce_work *w, int64_t from, int64_t until, reduce_number *to)
{
    const int axis = w->state->axis;
    reduce_place at = reduce_moved(w->args, w->at, axis, from - w->args->origin[axis]);

    for (int64_t i = from; i < until; i++) {
        if (w->inner_count) {
            reduce_number inner = reduce_nothing(w->state->how);
            reduce_add_inner(w, at, &inner);
            reduce_join(w->state->how, to, &inner);
        } else {
            reduce_add_sample(w, &at, to);
        }
        at = reduce_moved(w->args, at, axis, 1);
    }
}

/* Adds blocks in their order; whole ones are put into the tree. */
GROVE_FN void reduce_add_blocks(const reduce_work *w, reduce_number *to)
{
    const int64_t start = w->args->origin[w->state->axis],
                  end = start + w->args->size[w->state->axis],
                  last = (end - 1) / GROVE_REDUCE_BLOCK;
    double own[GROVE_REDUCE_LEVELS * 2], *nodes = w->nodes ? w->nodes : own;
    grove_reduce_state state = *w->state;

    if (!w->nodes)
        state.distance = 2;
    for (int64_t from = start; from < end;) {
        const int64_t block = from / GROVE_REDUCE_BLOCK,
                      until = from + grove_reduce_within(from, end - from);
        if (from != start)
            to->part[0] = to->part[1] = grove_reduce_zero(state.how);
        reduce_add_cells(w, from, until, to);
        if (until % GROVE_REDUCE_BLOCK == 0 && until != state.end) {
            grove_reduce_push(&state, nodes, to->part, w->parts, 0, block);
            to->part[0] = to->part[1] = grove_reduce_zero(state.how);
        }
        from = until;
    }
    if (end == state.end && !state.begin)
        grove_reduce_close(&state, nodes, to->part, w->parts, last);
}

GROVE_FN void reduce_find(reduce_work *w, int64_t number)
{
    const grove_args *args = w->args;
    int64_t index[GROVE_MAX_AXES], rest = number / args->out.elements;
    const grove_view *in = args->in;

    w->element = (int)(number % args->out.elements);
    for (int d = args->axes - 1; d >= 0; d--) {
        index[d] = args->out.stride[d] ? rest % args->size[d] : 0;
        rest = args->out.stride[d] ? rest / args->size[d] : rest;
    }
    w->at.numbers = grove_view_at(&in[GROVE_REDUCE_NUMBERS], index, args->axes) +
                    w->element * w->parts * in[GROVE_REDUCE_NUMBERS].bytes;
    w->at.flags = grove_view_at(&in[GROVE_REDUCE_FLAGS], index, args->axes);
    w->at.counts = grove_view_at(&in[GROVE_REDUCE_COUNTS], index, args->axes);
    w->at.counts += w->at.counts ? w->element * (int)sizeof(int64_t) : 0;
    w->sum = (double *)grove_view_at(&args->out, index, args->axes) + w->element * w->parts;
    w->count = (int64_t *)grove_view_at(&in[GROVE_REDUCE_COUNT], index, args->axes);
    w->count += w->count ? w->element : 0;
    w->nodes = (double *)grove_view_at(&in[GROVE_REDUCE_NODES], index, args->axes);
    w->nodes += w->nodes ? w->element * w->parts : 0;
}

GROVE_FN void reduce_take(reduce_work *w)
{
    const bool fresh = w->state->fresh != 0;
    reduce_number to = reduce_nothing(w->state->how);

    for (int k = 0; !fresh && k < w->parts; k++)
        to.part[k] = w->sum[k];
    if (w->state->axis < 0)
        reduce_add_inner(w, w->at, &to);
    else
        reduce_add_blocks(w, &to);
    for (int k = 0; k < w->parts; k++)
        w->sum[k] = to.part[k];
    if (w->count)
        *w->count = to.count + (fresh ? 0 : *w->count);
}

/* The precision of numbers is in their views. */
GROVE_FN void reduce_numbers(const grove_args *args)
{
    const int64_t numbers = grove_reduce_numbers(args);
    reduce_work w;

    w.args = args;
    w.state = (const grove_reduce_state *)(const void *)args->state.bytes;
    w.parts = args->out.complex_ ? 2 : 1;
    w.inner_count = 0;
    for (int d = 0; d < args->axes; d++)
        if (args->out.stride[d] == 0 && d != w.state->axis)
            w.inner[w.inner_count++] = d;
    for (int64_t n = get_global_id(0); n < numbers; n += get_global_size(0)) {
        reduce_find(&w, n);
        reduce_take(&w);
    }
}

GROVE_FN void reduce_finish_cell(const grove_args *args, int64_t number)
{
    const grove_reduce_state *state = (const grove_reduce_state *)(const void *)args->state.bytes;
    const int parts = args->out.complex_ ? 2 : 1;
    int64_t index[GROVE_MAX_AXES];
    unsigned flags = 0;

    for (int d = args->axes - 1; d >= 0; d--) {
        index[d] = number % args->size[d];
        number /= args->size[d];
    }
    char *to = grove_view_at(&args->out, index, args->axes);
    const double *sums =
        (const double *)grove_view_at(&args->in[GROVE_FINISH_SUMS], index, args->axes);
    const int64_t *counts =
        (const int64_t *)grove_view_at(&args->in[GROVE_FINISH_COUNTS], index, args->axes);
    for (int e = 0; e < args->out.elements; e++) {
        const int64_t count = counts ? counts[e] : state->samples;
        for (int k = e * parts; k < (e + 1) * parts; k++) {
            double x = count ? sums[k] : 0;
            if (count && state->how == GROVE_HOW_MEAN)
                x /= (double)count;
            if (args->out.bytes == 8)
                ((double *)to)[k] = x;
            else
                ((float *)to)[k] = (float)x;
        }
        if (!count && (counts || state->how != GROVE_HOW_SUM))
            flags |= 1u << (e < 7 ? e : 7);
    }
    char *flag = grove_view_at(&args->in[GROVE_FINISH_FLAGS], index, args->axes);
    if (flag)
        *(unsigned char *)flag = (unsigned char)flags;
}

GROVE_FN void reduce_finish_cells(const grove_args *args)
{
    for (int64_t at = get_global_id(0); at < args->walk.cells; at += get_global_size(0))
        reduce_finish_cell(args, at);
}
#endif

GROVE_OPENCL_KERNEL(reduce, reduce_numbers)
GROVE_OPENCL_KERNEL(reduce_finish, reduce_finish_cells)
