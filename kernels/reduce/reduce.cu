// Reductions in a fixed order: each thread goes over all that its number is made of.
#include "reduce.h"

namespace
{
struct number {
    double part[2];
    int64_t count;
};

__device__ __forceinline__ number nothing(int how)
{
    double x = how == GROVE_FOLD_LEAST ? HUGE_VAL : how == GROVE_FOLD_GREATEST ? -HUGE_VAL : 0;

    return {{x, x}, 0};
}

__device__ __forceinline__ void add(int how, double *to, double x)
{
    if (how == GROVE_FOLD_LEAST)
        *to = x < *to ? x : *to;
    else if (how == GROVE_FOLD_GREATEST)
        *to = x > *to ? x : *to;
    else
        *to += x;
}

// The axes that are reduced, slowest first, and where each input is.
struct walk {
    int axes, axis[GROVE_MAX_AXES];
    int64_t index[GROVE_MAX_AXES];
    const char *at[GROVE_FOLD_COUNT];
};

__device__ void add_sample(const grove_args *args, const walk *w, int e, int how, number *to)
{
    const grove_view *in = &args->in[GROVE_FOLD_NUMBERS];
    int parts = in->complex_ ? 2 : 1;
    int64_t good = 1;

    if (w->at[GROVE_FOLD_COUNTS])
        good = ((const int64_t *)(const void *)w->at[GROVE_FOLD_COUNTS])[e];
    else if (w->at[GROVE_FOLD_FLAGS])
        good = !(*(const unsigned char *)w->at[GROVE_FOLD_FLAGS] >> (e < 7 ? e : 7) & 1);
    if (!good)
        return;
    to->count += good;
    for (int k = 0; k < parts; k++) {
        const char *at = w->at[GROVE_FOLD_NUMBERS];
        add(how, &to->part[k],
            in->bytes == 8 ? ((const double *)(const void *)at)[e * parts + k]
                           : (double)((const float *)(const void *)at)[e * parts + k]);
    }
}

__device__ __forceinline__ void step(const grove_args *args, walk *w, int axis, int64_t by)
{
    for (int k = 0; k < GROVE_FOLD_COUNT; k++)
        if (w->at[k])
            w->at[k] += by * args->in[k].stride[axis];
}

// Reduces axes [first, w->axes) of the walk.
__device__ void fold_axes(const grove_args *args, walk *w, int first, int e, int how, number *to)
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

__device__ void fold_number(const grove_args *args, int64_t at)
{
    const grove_fold_state *state = (const grove_fold_state *)(const void *)args->state.bytes;
    int e = (int)(at % args->out.elements), parts = args->in[GROVE_FOLD_NUMBERS].complex_ ? 2 : 1;
    int64_t index[GROVE_MAX_AXES], rest = at / args->out.elements;
    walk w;

    w.axes = 0;
    if (state->outer >= 0)
        w.axis[w.axes++] = state->outer;
    for (int d = 0; d < args->axes; d++)
        if (args->out.stride[d] == 0 && d != state->outer)
            w.axis[w.axes++] = d;
    for (int d = args->axes - 1; d >= 0; d--) {
        index[d] = args->out.stride[d] ? rest % args->size[d] : 0;
        rest /= args->out.stride[d] ? args->size[d] : 1;
    }
    for (int k = 0; k < GROVE_FOLD_COUNT; k++)
        w.at[k] = k < args->inputs ? grove_view_at(&args->in[k], index, args->axes) : nullptr;
    double *sum = (double *)(void *)grove_view_at(&args->out, index, args->axes) + e * parts;
    int64_t *count =
        (int64_t *)(void *)grove_view_at(&args->in[GROVE_FOLD_COUNT], index, args->axes);
    number to = nothing(state->how);
    for (int k = 0; k < parts; k++)
        to.part[k] = sum[k];
    if (state->outer < 0)
        fold_axes(args, &w, 0, e, state->how, &to);
    for (int64_t i = 0; state->outer >= 0 && i < args->size[state->outer]; i++) {
        number inner = nothing(state->how);
        fold_axes(args, &w, 1, e, state->how, &inner);
        for (int k = 0; k < parts; k++)
            add(state->how, &to.part[k], inner.part[k]);
        to.count += inner.count;
        step(args, &w, state->outer, 1);
    }
    for (int k = 0; k < parts; k++)
        sum[k] = to.part[k];
    if (count)
        count[e] += to.count;
}

__device__ void finish_cell(const grove_args *args, int64_t at)
{
    const grove_fold_state *state = (const grove_fold_state *)(const void *)args->state.bytes;
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
            if (count && state->how == GROVE_FOLD_MEAN)
                x /= (double)count;
            if (out->bytes == 8)
                ((double *)(void *)to)[k] = x;
            else
                ((float *)(void *)to)[k] = (float)x;
        }
        if (!count && (counts || state->how != GROVE_FOLD_SUM))
            flags |= 1u << (e < 7 ? e : 7);
    }
    char *flag = grove_view_at(&args->in[GROVE_FINISH_FLAGS], index, args->axes);
    if (flag)
        *(unsigned char *)flag = (unsigned char)flags;
}

__device__ __forceinline__ void fold_numbers(const grove_args *args)
{
    int64_t numbers = grove_fold_threads(args);

    for (int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; at < numbers;
         at += (int64_t)gridDim.x * blockDim.x)
        fold_number(args, at);
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
extern "C" __global__ void fold_single(const __grid_constant__ grove_args args)
{
    fold_numbers(&args);
}
GROVE_CUDA_EXPORT(fold_single)

extern "C" __global__ void fold_double(const __grid_constant__ grove_args args)
{
    fold_numbers(&args);
}
GROVE_CUDA_EXPORT(fold_double)

extern "C" __global__ void fold_finish_single(const __grid_constant__ grove_args args)
{
    finish_cells(&args);
}
GROVE_CUDA_EXPORT(fold_finish_single)

extern "C" __global__ void fold_finish_double(const __grid_constant__ grove_args args)
{
    finish_cells(&args);
}
GROVE_CUDA_EXPORT(fold_finish_double)
