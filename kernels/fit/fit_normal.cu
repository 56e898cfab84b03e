// Normal equations: a thread adds all cells of a stretch of a baseline, in their order, for one
// column and some others. Threads of a baseline find weights of samples together, one of each.
#include "fit_cuda.h"
#include "fit_normal.h"

namespace
{
// Element e of a cell's numbers; a scalar has the same for all.
__device__ __forceinline__ complex element(const grove_view *view, const char *at, int e)
{
    int k = view->elements > 1 ? e : 0;

    if (!view->complex_)
        return {number(view, at, k), 0};
    return {number(view, at, 2 * k), number(view, at, 2 * k + 1)};
}

__device__ __forceinline__ complex load(const grove_args *args, const grove_normal_state *s, int k,
                                        const place *p, int e)
{
    return element(&args->in[k], find(args, &s->tile, k, p), e);
}

// The flags follow the numbers.
__device__ __forceinline__ bool is_flagged(const grove_args *args, const grove_normal_state *s,
                                           int k, const place *p, int e)
{
    const char *flags = find(args, &s->tile, k + 1, p);

    return flags && *(const unsigned char *)flags >> (args->in[k].elements > 1 ? e : 0) & 1;
}

// Number a of an element: a derivative; after the last one the residual.
__device__ complex column(const grove_args *args, const grove_normal_state *s, const place *p,
                          int e, int64_t a)
{
    if (a < s->columns)
        return load(args, s, GROVE_NORMAL_SLOTS + (int)a, p, s->of_model[e]);
    complex d = load(args, s, GROVE_NORMAL_DATA, p, s->of_data[e]);
    complex v = load(args, s, GROVE_NORMAL_MODEL, p, s->of_model[e]);
    return {d.re - v.re, d.im - v.im};
}

// 0: it does not count.
__device__ double weight_of(const grove_args *args, const grove_normal_state *s, const place *p,
                            int e)
{
    double weight = 1;

    if (args->in[GROVE_NORMAL_WEIGHTS].data)
        weight = load(args, s, GROVE_NORMAL_WEIGHTS, p, s->of_data[e]).re;
    if (!(weight > 0) || weight - weight != 0 ||
        is_flagged(args, s, GROVE_NORMAL_DATA, p, s->of_data[e]) ||
        is_flagged(args, s, GROVE_NORMAL_MODEL, p, s->of_model[e]) ||
        is_flagged(args, s, GROVE_NORMAL_WEIGHTS, p, s->of_data[e]))
        return 0;
    for (int64_t a = 0; a <= s->columns; a++)
        if (!is_finite(column(args, s, p, e, a)))
            return 0;
    return weight;
}

typedef grove_normal_sums sums;

// The products that a thread adds: of column a with the piece of others from `first` on that bits
// of `partners` select.
struct share {
    int a, first;
    unsigned partners;
};

// A sample: of weight -1, if it is not within the requested range, or there is none.
__device__ double sample_of(const grove_args *args, const grove_normal_state *s, const box *cells,
                            int64_t cell, int e)
{
    const unsigned channels = (unsigned)(cells->end[1] - cells->first[1]);
    const unsigned times = (unsigned)(cells->end[0] - cells->first[0]);
    const unsigned t = (unsigned)cell / channels;
    const place p = {
        {cells->first[0] + t, cells->baseline, cells->first[1] + (unsigned)cell % channels}};

    if (t >= times || !is_in_range(args, &s->tile, &p))
        return -1;
    return weight_of(args, s, &p, e);
}

// An input in a cell, and how its numbers lie there.
struct reader {
    const char *at;
    int64_t step; // bytes to the next channel
    int shift;    // log2 of the bytes of an element
    bool scalar, complex_, double_;
};

__device__ __forceinline__ reader read_input(const grove_args *args, const grove_normal_state *s,
                                             int k, const place *p)
{
    const grove_view *view = &args->in[k];
    const bool double_ = view->bytes == 8;

    const int axis = s->tile.axis[2];

    return {find(args, &s->tile, k, p),
            axis >= 0 ? view->stride[axis] : 0,
            (double_ ? 3 : 2) + (view->complex_ ? 1 : 0),
            view->elements <= 1,
            view->complex_ != 0,
            double_};
}

// `bytes`: of each number, where all are complex matrices; or 0.
template <int bytes> __device__ __forceinline__ complex read(const reader *from, int e)
{
    if (bytes == 8) {
        const double2 z = ((const double2 *)(const void *)from->at)[e];
        return {z.x, z.y};
    }
    if (bytes == 4) {
        const float2 z = ((const float2 *)(const void *)from->at)[e];
        return {(double)z.x, (double)z.y};
    }
    const char *at = from->at + ((from->scalar ? 0 : e) << from->shift);

    if (from->double_) {
        const double *x = (const double *)(const void *)at;
        return {x[0], from->complex_ ? x[1] : 0};
    }
    const float *x = (const float *)(const void *)at;
    return {(double)x[0], from->complex_ ? (double)x[1] : 0};
}

// The numbers of a cell that a thread adds: of the residual, which follows the columns, the data.
struct numbers {
    reader left, right[GROVE_FIT_PIECE], model;
};

__device__ __forceinline__ reader read_column(const grove_args *args, const grove_normal_state *s,
                                              int a, const place *p)
{
    return read_input(args, s, a < s->columns ? GROVE_NORMAL_SLOTS + a : GROVE_NORMAL_DATA, p);
}

__device__ numbers find_numbers(const grove_args *args, const grove_normal_state *s, const place *p,
                                const share *own)
{
    numbers n;

    n.left = read_column(args, s, own->a, p);
    n.model = read_input(args, s, GROVE_NORMAL_MODEL, p);
#pragma unroll
    for (int k = 0; k < GROVE_FIT_PIECE; k++)
        n.right[k] = read_column(args, s, own->partners >> k & 1 ? own->first + k : own->a, p);
    return n;
}

// To the next channel.
__device__ __forceinline__ void step_numbers(numbers *n)
{
    n->left.at += n->left.step;
    n->model.at += n->model.step;
#pragma unroll
    for (int k = 0; k < GROVE_FIT_PIECE; k++)
        n->right[k].at += n->right[k].step;
}

// Bytes of a number, where model, data and derivatives are complex matrices of one precision whose
// elements are compared each with its own; or 0.
__device__ int matrix_bytes(const grove_args *args, const grove_normal_state *s)
{
    const int bytes = args->in[GROVE_NORMAL_MODEL].bytes;
    bool same = s->elements == 4;

    for (int e = 0; e < 4; e++)
        same = same && s->of_model[e] == e && s->of_data[e] == e;
    for (int a = -2; a < s->columns; a++) {
        const grove_view *view = &args->in[a < -1  ? GROVE_NORMAL_MODEL
                                           : a < 0 ? GROVE_NORMAL_DATA
                                                   : GROVE_NORMAL_SLOTS + a];
        same = same && view->elements == 4 && view->complex_ && view->bytes == bytes;
    }
    return same ? bytes : 0;
}

template <int bytes>
__device__ __forceinline__ void add_element(const grove_normal_state *s, const numbers *n, int e,
                                            double w, const share *own, sums *to)
{
    const int of_model = bytes ? e : s->of_model[e], of_data = bytes ? e : s->of_data[e],
              columns = s->columns;
    const bool residual = own->a == columns, last = own->first + GROVE_FIT_PIECE > columns;
    complex v = {0, 0}, x = read<bytes>(&n->left, residual ? of_data : of_model);

    if (last)
        v = read<bytes>(&n->model, of_model);
    to->used += 2;
    if (residual) {
        to->power += w * (x.re * x.re + x.im * x.im);
        to->values += w * (v.re * v.re + v.im * v.im);
        x = {x.re - v.re, x.im - v.im};
    }
#pragma unroll
    for (int k = 0; k < GROVE_FIT_PIECE; k++)
        if (bytes || own->partners >> k & 1) { // others are not written
            const bool of_residual = own->first + k == columns;
            complex y = read<bytes>(&n->right[k], of_residual ? of_data : of_model);
            if (of_residual)
                y = {y.re - v.re, y.im - v.im};
            complex wy = {w * y.re, w * y.im};
            to->pair[k].re += x.re * wy.re + x.im * wy.im;
            to->pair[k].im += x.re * wy.im - x.im * wy.re;
        }
}

// All elements of a cell, whose weights the group has from lane `lane` on.
template <int bytes>
__device__ __forceinline__ void add_cell(const grove_normal_state *s, const numbers *n,
                                         const share *own, double weight, int lane, int group,
                                         sums *to)
{
    const int elements = bytes ? 4 : s->elements;

#pragma unroll(bytes ? 4 : 1)
    for (int e = 0; e < elements; e++) {
        const double w = group_weight(weight, lane + e, group);
        to->all += w >= 0 ? 2 : 0;
        if (own->partners && w > 0)
            add_element<bytes>(s, n, e, w, own, to);
    }
}

// Nothing, where the other half has it, or threads fill a group.
__device__ share share_of(const grove_normal_state *s, int64_t item)
{
    const int pieces = (s->columns + GROVE_FIT_PIECE) / GROVE_FIT_PIECE;
    const int a = (int)item / pieces;
    share own = {a <= s->columns ? a : 0, (int)item % pieces * GROVE_FIT_PIECE, 0};

    for (int k = 0; k < GROVE_FIT_PIECE; k++)
        if (own.first + k >= a && own.first + k <= s->columns)
            own.partners |= 1u << k;
    return own;
}

__device__ void add_stretch(const grove_args *args, int64_t at)
{
    const grove_normal_state *s = (const grove_normal_state *)(const void *)args->state.bytes;
    const grove_fit_share all = grove_fit_share_of(grove_normal_items(s));
    const int64_t item = at % all.threads, row = at / all.threads;
    const int lane = (int)(item % all.group), each = all.group / s->elements;
    const int bytes = matrix_bytes(args, s);
    const share own = share_of(s, item);
    sums sum = {};

    box cells = find_box(args, &s->tile, row);
    place p = {{cells.first[0], cells.baseline, cells.first[1]}};
    numbers n = find_numbers(args, s, &p, &own);
    for (int64_t cell = 0; p.at[0] < cells.end[0] && p.at[2] < cells.end[1]; cell += each) {
        double weight =
            lane / s->elements < each
                ? sample_of(args, s, &cells, cell + lane / s->elements, lane % s->elements)
                : -1;
        for (int k = 0; k < each && p.at[0] < cells.end[0]; k++) {
            if (bytes == 8)
                add_cell<8>(s, &n, &own, weight, k * 4, all.group, &sum);
            else if (bytes == 4)
                add_cell<4>(s, &n, &own, weight, k * 4, all.group, &sum);
            else
                add_cell<0>(s, &n, &own, weight, k * s->elements, all.group, &sum);
            step_numbers(&n);
            if (++p.at[2] == cells.end[1]) {
                p.at[2] = cells.first[1];
                p.at[0]++;
                n = find_numbers(args, s, &p, &own);
            }
        }
    }
    if (own.partners)
        grove_normal_put((double *)args->out.data + row * grove_normal_size(s->columns), s->columns,
                         own.a, own.first, &sum);
}
} // namespace

// The precision of numbers is in their views.
extern "C" __global__ void fit_normal_double(const __grid_constant__ grove_args args)
{
    int64_t threads = grove_fit_normal_threads(&args);

    for (int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; at < threads;
         at += (int64_t)gridDim.x * blockDim.x)
        add_stretch(&args, at);
}
GROVE_CUDA_EXPORT(fit_normal_double)
