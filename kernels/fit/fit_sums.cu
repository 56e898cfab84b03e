// Compressed sums: a thread adds all cells of a stretch of a baseline, in their order, for one
// correlation. Threads of a baseline find weights of samples together, one of each.
#include "fit_cuda.h"
#include "fit_sums.h"

namespace
{
// Element e of a matrix: one means that number times the identity, two a diagonal.
__device__ __forceinline__ complex element(const grove_view *view, const char *at, int e)
{
    int k = view->elements == 4 ? e : view->elements == 2 && e == 3;

    if (view->elements != 4 && (e == 1 || e == 2))
        return {0, 0};
    return {number(view, at, 2 * k), number(view, at, 2 * k + 1)};
}

// Bits of the four correlations from bits of an array's elements.
__device__ __forceinline__ unsigned spread(unsigned bits, int elements)
{
    if (elements == 4)
        return bits & 15;
    if (elements == 1)
        return bits & 1 ? 15 : 0;
    return (bits & 1) | (bits & 2) << 2 | (bits & 3 ? 6 : 0);
}

__device__ __forceinline__ bool is_flagged(const grove_args *args, const grove_fit_state *s,
                                           int numbers, const place *p, int c, bool all)
{
    const char *flags = find(args, &s->tile, numbers + 1, p);
    unsigned bits = flags ? spread(*(const unsigned char *)flags, args->in[numbers].elements) : 0;

    return all ? bits != 0 : bits >> c & 1;
}

// 0: the correlation does not count here.
__device__ double weight_of(const grove_args *args, const grove_fit_state *s, const place *p, int c)
{
    const grove_view *view = &args->in[GROVE_FIT_WEIGHTS];
    const char *at = find(args, &s->tile, GROVE_FIT_WEIGHTS, p);
    double weight = 1;

    if (at)
        weight = number(view, at, view->elements == 4 ? c : view->elements == 2 ? c >> 1 : 0);
    if (!(weight > 0) || weight - weight != 0 || s->left_out >> c & 1 ||
        is_flagged(args, s, GROVE_FIT_DATA, p, c, false) || !is_in_range(args, &s->tile, p))
        return 0;
    for (int g = 0; g < s->groups; g++) {
        int k = GROVE_FIT_MODELS + 2 * g;
        const char *model = find(args, &s->tile, k, p);
        bool good = !is_flagged(args, s, k, p, c, s->full);
        for (int e = s->full ? 0 : c; good && e <= (s->full ? 3 : c); e++)
            good = is_finite(element(&args->in[k], model, e));
        if (!good)
            return 0;
    }
    return weight;
}

typedef grove_fit_sums sums;

__device__ complex data_of(const grove_args *args, const grove_fit_state *s, const place *p, int c)
{
    return element(&args->in[GROVE_FIT_DATA], find(args, &s->tile, GROVE_FIT_DATA, p), c);
}

// Of a cell of a box; 0 behind its last one.
__device__ double sample_of(const grove_args *args, const grove_fit_state *s, const box *cells,
                            int64_t cell, int c)
{
    const unsigned channels = (unsigned)(cells->end[1] - cells->first[1]);
    const unsigned t = (unsigned)cell / channels;
    const place p = {
        {cells->first[0] + t, cells->baseline, cells->first[1] + (unsigned)cell % channels}};

    if (p.at[0] >= cells->end[0] || !is_finite(data_of(args, s, &p, c)))
        return 0;
    return weight_of(args, s, &p, c);
}

// The products that a thread adds: of number j with numbers from `first` on, of the n.
struct share {
    int c;
    int64_t j, first, n;
};

// An input in a cell.
struct reader {
    const char *at;
    int64_t step; // bytes to the next channel
    int k, e;     // input and element
};

// The numbers of a cell that a thread adds.
struct numbers {
    reader data, left, right[GROVE_FIT_PIECE];
};

__device__ __forceinline__ reader read_input(const grove_args *args, const grove_fit_state *s,
                                             int k, int e, const place *p)
{
    const int axis = s->tile.axis[2];

    return {find(args, &s->tile, k, p), axis >= 0 ? args->in[k].stride[axis] : 0, k, e};
}

// Of number j of the models.
__device__ __forceinline__ reader read_model(const grove_args *args, const grove_fit_state *s,
                                             int c, int64_t j, const place *p)
{
    const int k = GROVE_FIT_MODELS + 2 * (int)(s->full ? j / 4 : j);

    return read_input(args, s, k, s->full ? (int)(j % 4) : c, p);
}

// A piece with fewer numbers repeats the left one.
__device__ __forceinline__ numbers find_numbers(const grove_args *args, const grove_fit_state *s,
                                                const share *own, const place *p)
{
    numbers n;

    n.data = read_input(args, s, GROVE_FIT_DATA, own->c, p);
    n.left = read_model(args, s, own->c, own->j, p);
#pragma unroll
    for (int k = 0; k < GROVE_FIT_PIECE; k++)
        n.right[k] =
            read_model(args, s, own->c, own->first + k < own->n ? own->first + k : own->j, p);
    return n;
}

__device__ __forceinline__ void step_numbers(numbers *n)
{
    n->data.at += n->data.step;
    n->left.at += n->left.step;
#pragma unroll
    for (int k = 0; k < GROVE_FIT_PIECE; k++)
        n->right[k].at += n->right[k].step;
}

// Bytes of a number, where data and models are complex matrices of one precision; or 0.
__device__ int matrix_bytes(const grove_args *args, const grove_fit_state *s)
{
    const int bytes = args->in[GROVE_FIT_DATA].bytes;
    bool same = args->in[GROVE_FIT_DATA].elements == 4;

    for (int g = 0; g < s->groups; g++) {
        const grove_view *view = &args->in[GROVE_FIT_MODELS + 2 * g];
        same = same && view->elements == 4 && view->bytes == bytes;
    }
    return same ? bytes : 0;
}

template <int bytes>
__device__ __forceinline__ complex read(const grove_args *args, const reader *from)
{
    if (bytes == 8) {
        const double2 z = ((const double2 *)(const void *)from->at)[from->e];
        return {z.x, z.y};
    }
    if (bytes == 4) {
        const float2 z = ((const float2 *)(const void *)from->at)[from->e];
        return {(double)z.x, (double)z.y};
    }
    return element(&args->in[from->k], from->at, from->e);
}

// Sums of repeated numbers are not written.
template <int bytes>
__device__ __forceinline__ void add_cell(const grove_args *args, const numbers *n, double w,
                                         sums *to)
{
    const complex d = read<bytes>(args, &n->data), x = read<bytes>(args, &n->left),
                  wd = {w * d.re, w * d.im}, wx = {w * x.re, w * x.im};

    to->count += 2;
    to->power += wd.re * d.re + wd.im * d.im;
    to->data.re += wd.re * x.re + wd.im * x.im;
    to->data.im += wd.re * x.im - wd.im * x.re;
#pragma unroll
    for (int k = 0; k < GROVE_FIT_PIECE; k++) {
        const complex y = read<bytes>(args, &n->right[k]);
        to->pair[k].re += wx.re * y.re + wx.im * y.im;
        to->pair[k].im += wx.im * y.re - wx.re * y.im;
    }
}

__device__ void add_stretch(const grove_args *args, int64_t at)
{
    const grove_fit_state *s = (const grove_fit_state *)(const void *)args->state.bytes;
    const int64_t n = grove_fit_numbers(s), pieces = (n + GROVE_FIT_PIECE - 1) / GROVE_FIT_PIECE;
    const grove_fit_share all = grove_fit_share_of(grove_fit_items(s));
    const int64_t item = at % all.threads, row = at / all.threads;
    const int64_t j = item / 4 / pieces, first = item / 4 % pieces * GROVE_FIT_PIECE;
    const int c = (int)(at % 4), lane = (int)(item % all.group), each = all.group / 4;
    const bool own = j < n && first + GROVE_FIT_PIECE > j; // else the other half has it
    const share adds = {c, own ? j : 0, own ? first : 0, n};
    const int bytes = matrix_bytes(args, s);
    sums sum = {};

    box cells = find_box(args, &s->tile, row);
    place p = {{cells.first[0], cells.baseline, cells.first[1]}};
    numbers here = find_numbers(args, s, &adds, &p);
    for (int64_t cell = 0; p.at[0] < cells.end[0] && p.at[2] < cells.end[1]; cell += each) {
        double weight = sample_of(args, s, &cells, cell + lane / 4, c);
        for (int k = 0; k < each && p.at[0] < cells.end[0]; k++) {
            double w = group_weight(weight, 4 * k + c, all.group);
            if (own && w > 0) {
                if (bytes == 8)
                    add_cell<8>(args, &here, w, &sum);
                else if (bytes == 4)
                    add_cell<4>(args, &here, w, &sum);
                else
                    add_cell<0>(args, &here, w, &sum);
            }
            step_numbers(&here);
            if (++p.at[2] == cells.end[1]) {
                p.at[2] = cells.first[1];
                p.at[0]++;
                here = find_numbers(args, s, &adds, &p);
            }
        }
    }
    if (own)
        grove_fit_sums_put((double *)args->out.data + row * GROVE_SUMS_SIZE(n), n, c, j, first,
                           &sum);
}
} // namespace

// The precision of numbers is in their views.
extern "C" __global__ void fit_sums_double(const __grid_constant__ grove_args args)
{
    int64_t threads = grove_fit_sums_threads(&args);

    for (int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; at < threads;
         at += (int64_t)gridDim.x * blockDim.x)
        add_stretch(&args, at);
}
GROVE_CUDA_EXPORT(fit_sums_double)
