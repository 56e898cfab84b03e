// Reductions in a fixed order: a thread adds all samples of its output number.
#include "reduce.h"

namespace
{
struct number {
    double part[2];
    int64_t count;
};

__device__ __forceinline__ number nothing(int how)
{
    double zero = grove_reduce_zero(how);

    return {{zero, zero}, 0};
}

// The axes that are reduced, slowest first, and where each input is.
struct walk {
    int axes, axis[GROVE_MAX_AXES];
    int64_t index[GROVE_MAX_AXES];
    const char *at[GROVE_REDUCE_COUNT];
};

__device__ void add_sample(const grove_args *args, const walk *w, int e, int how, number *to)
{
    const grove_view *in = &args->in[GROVE_REDUCE_NUMBERS];
    int parts = in->complex_ ? 2 : 1;
    int64_t good = 1;

    if (w->at[GROVE_REDUCE_COUNTS])
        good = ((const int64_t *)(const void *)w->at[GROVE_REDUCE_COUNTS])[e];
    else if (w->at[GROVE_REDUCE_FLAGS])
        good = !(*(const unsigned char *)w->at[GROVE_REDUCE_FLAGS] >> (e < 7 ? e : 7) & 1);
    if (!good)
        return;
    to->count += good;
    for (int k = 0; k < parts; k++) {
        const char *at = w->at[GROVE_REDUCE_NUMBERS];
        double x = in->bytes == 8 ? ((const double *)(const void *)at)[e * parts + k]
                                  : (double)((const float *)(const void *)at)[e * parts + k];
        to->part[k] = grove_reduce_add(how, to->part[k], x);
    }
}

__device__ __forceinline__ void step(const grove_args *args, walk *w, int axis, int64_t by)
{
    for (int k = 0; k < GROVE_REDUCE_COUNT; k++)
        if (w->at[k])
            w->at[k] += by * args->in[k].stride[axis];
}

// Reduces axes [first, w->axes) of the walk.
__device__ void add_axes(const grove_args *args, walk *w, int first, int e, int how, number *to)
{
    int64_t samples = 1;

    for (int k = first; k < w->axes; k++) {
        samples *= args->size[w->axis[k]];
        w->index[k] = 0;
    }
    for (int64_t n = 0; n < samples; n++) {
        add_sample(args, w, e, how, to);
        for (int k = w->axes - 1; k >= first; k--) {
            int axis = w->axis[k];
            step(args, w, axis, 1);
            if (++w->index[k] < args->size[axis])
                break;
            step(args, w, axis, -args->size[axis]);
            w->index[k] = 0;
        }
    }
}

// The cells of the axis that goes in blocks, which is the walk's first.
__device__ void add_blocks(const grove_args *args, const grove_reduce_state *state, walk *w, int e,
                           double *nodes, int parts, number *to)
{
    int64_t size = args->size[state->axis], index = args->origin[state->axis];

    for (int64_t i = 0; i < size; i++) {
        if (w->axes > 1) {
            number inner = nothing(state->how);
            add_axes(args, w, 1, e, state->how, &inner);
            for (int k = 0; k < parts; k++)
                to->part[k] = grove_reduce_add(state->how, to->part[k], inner.part[k]);
            to->count += inner.count;
        } else {
            add_sample(args, w, e, state->how, to);
        }
        step(args, w, state->axis, 1);
        index++;
        int64_t block = (index - 1) / GROVE_REDUCE_BLOCK;
        if (index == state->end) {
            if (!state->begin)
                grove_reduce_close(state, nodes, to->part, parts, block);
        } else if (index % GROVE_REDUCE_BLOCK == 0) {
            grove_reduce_push(state, nodes, to->part, parts, 0, block);
            for (int k = 0; k < parts; k++)
                to->part[k] = grove_reduce_zero(state->how);
        }
    }
}

__device__ void reduce_number(const grove_args *args, int64_t at)
{
    grove_reduce_state state = *(const grove_reduce_state *)(const void *)args->state.bytes;
    int e = (int)(at % args->out.elements), parts = args->out.complex_ ? 2 : 1;
    int64_t index[GROVE_MAX_AXES], rest = at / args->out.elements;
    double own[GROVE_REDUCE_LEVELS * 2]; // nodes that nobody keeps
    walk w;

    w.axes = 0;
    if (state.axis >= 0)
        w.axis[w.axes++] = state.axis;
    for (int d = 0; d < args->axes; d++)
        if (args->out.stride[d] == 0 && d != state.axis)
            w.axis[w.axes++] = d;
    for (int d = args->axes - 1; d >= 0; d--) {
        index[d] = args->out.stride[d] ? rest % args->size[d] : 0;
        rest /= args->out.stride[d] ? args->size[d] : 1;
    }
    for (int k = 0; k < GROVE_REDUCE_COUNT; k++)
        w.at[k] = k < args->inputs ? grove_view_at(&args->in[k], index, args->axes) : nullptr;
    double *sum = (double *)(void *)grove_view_at(&args->out, index, args->axes) + e * parts;
    double *nodes =
        (double *)(void *)grove_view_at(&args->in[GROVE_REDUCE_NODES], index, args->axes);
    int64_t *count =
        (int64_t *)(void *)grove_view_at(&args->in[GROVE_REDUCE_COUNT], index, args->axes);
    number to = nothing(state.how);
    for (int k = 0; k < parts && !state.fresh; k++)
        to.part[k] = sum[k];
    if (!nodes)
        state.distance = 2;
    if (state.axis >= 0)
        add_blocks(args, &state, &w, e, nodes ? nodes + e * parts : own, parts, &to);
    else
        add_axes(args, &w, 0, e, state.how, &to);
    for (int k = 0; k < parts; k++)
        sum[k] = to.part[k];
    if (count)
        count[e] = to.count + (state.fresh ? 0 : count[e]);
}

__device__ void finish_cell(const grove_args *args, int64_t at)
{
    const grove_reduce_state *state = (const grove_reduce_state *)(const void *)args->state.bytes;
    const grove_view *out = &args->out;
    int64_t index[GROVE_MAX_AXES], rest = at;
    unsigned flags = 0;

    for (int d = args->axes - 1; d >= 0; d--) {
        index[d] = rest % args->size[d];
        rest /= args->size[d];
    }
    char *to = grove_view_at(out, index, args->axes);
    const double *sums = (const double *)(const void *)grove_view_at(&args->in[GROVE_FINISH_SUMS],
                                                                     index, args->axes);
    const int64_t *counts = (const int64_t *)(const void *)grove_view_at(
        &args->in[GROVE_FINISH_COUNTS], index, args->axes);
    int parts = out->complex_ ? 2 : 1;
    for (int e = 0; e < out->elements; e++) {
        int64_t count = counts ? counts[e] : state->samples;
        for (int k = e * parts; k < (e + 1) * parts; k++) {
            double x = count ? sums[k] : 0;
            if (count && state->how == GROVE_HOW_MEAN)
                x /= (double)count;
            if (out->bytes == 8)
                ((double *)(void *)to)[k] = x;
            else
                ((float *)(void *)to)[k] = (float)x;
        }
        if (!count && (counts || state->how != GROVE_HOW_SUM))
            flags |= 1u << (e < 7 ? e : 7);
    }
    char *flag = grove_view_at(&args->in[GROVE_FINISH_FLAGS], index, args->axes);
    if (flag)
        *(unsigned char *)flag = (unsigned char)flags;
}

__device__ __forceinline__ void reduce_numbers(const grove_args *args)
{
    int64_t numbers = grove_reduce_numbers(args);

    for (int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; at < numbers;
         at += (int64_t)gridDim.x * blockDim.x)
        reduce_number(args, at);
}

__device__ __forceinline__ void finish_cells(const grove_args *args)
{
    int64_t cells = grove_args_cells(args);

    for (int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; at < cells;
         at += (int64_t)gridDim.x * blockDim.x)
        finish_cell(args, at);
}
} // namespace

// The precision of numbers is in their views.
extern "C" __global__ void reduce_single(const __grid_constant__ grove_args args)
{
    reduce_numbers(&args);
}
GROVE_CUDA_EXPORT(reduce_single)

extern "C" __global__ void reduce_double(const __grid_constant__ grove_args args)
{
    reduce_numbers(&args);
}
GROVE_CUDA_EXPORT(reduce_double)

extern "C" __global__ void reduce_finish_single(const __grid_constant__ grove_args args)
{
    finish_cells(&args);
}
GROVE_CUDA_EXPORT(reduce_finish_single)

extern "C" __global__ void reduce_finish_double(const __grid_constant__ grove_args args)
{
    finish_cells(&args);
}
GROVE_CUDA_EXPORT(reduce_finish_double)
