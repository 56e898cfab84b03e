// Normal equations: a thread adds all cells of a stretch of a baseline, in their order, for one
// column and some others.
#include "fit_cuda.h"
#include "fit_normal.h"

namespace
{
// Element e of a cell's numbers; a scalar stands for all of them.
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

struct sums {
    double power, values, used, all;
    complex pair[GROVE_FIT_PIECE];
};

// first: of the piece of partners of column a.
__device__ void add_element(const grove_args *args, const grove_normal_state *s, const place *p,
                            int e, int64_t a, int64_t first, sums *to)
{
    double w = weight_of(args, s, p, e);

    to->all += 2;
    if (!(w > 0))
        return;
    complex d = load(args, s, GROVE_NORMAL_DATA, p, s->of_data[e]);
    complex x = column(args, s, p, e, a);
    complex v = load(args, s, GROVE_NORMAL_MODEL, p, s->of_model[e]);
    to->used += 2;
    to->power += w * (d.re * d.re + d.im * d.im);
    to->values += w * (v.re * v.re + v.im * v.im);
#pragma unroll
    for (int k = 0; k < GROVE_FIT_PIECE; k++)
        if (first + k >= a && first + k <= s->columns) {
            complex y = column(args, s, p, e, first + k), wy = {w * y.re, w * y.im};
            to->pair[k].re += x.re * wy.re + x.im * wy.im;
            to->pair[k].im += x.re * wy.im - x.im * wy.re;
        }
}

__device__ void write_sums(double *out, int64_t columns, int64_t a, int64_t first, const sums *from)
{
#pragma unroll
    for (int k = 0; k < GROVE_FIT_PIECE; k++) {
        int64_t b = first + k;
        if (b < a || b > columns)
            continue;
        if (a == columns) {
            out[GROVE_NORMAL_CHI2] = from->pair[k].re;
            out[GROVE_NORMAL_POWER] = from->power;
            out[GROVE_NORMAL_VALUES] = from->values;
            out[GROVE_NORMAL_USED] = from->used;
            out[GROVE_NORMAL_ALL] = from->all;
        } else {
            double *to = out + GROVE_NORMAL_SUMS + 2 * (a * (columns + 1) + b);
            to[0] = from->pair[k].re;
            to[1] = from->pair[k].im;
        }
    }
}

__device__ void add_stretch(const grove_args *args, int64_t at)
{
    const grove_normal_state *s = (const grove_normal_state *)(const void *)args->state.bytes;
    const int64_t pieces = (s->columns + GROVE_FIT_PIECE) / GROVE_FIT_PIECE;
    const int64_t items = grove_normal_items(s), item = at % items, row = at / items;
    const int64_t a = item / pieces, first = item % pieces * GROVE_FIT_PIECE;
    sums sum = {};

    if (first + GROVE_FIT_PIECE <= a)
        return; // the other half
    box cells = find_box(args, &s->tile, row);
    place p = {{0, cells.baseline, 0}};
    for (p.at[0] = cells.first[0]; p.at[0] < cells.end[0]; p.at[0]++)
        for (p.at[2] = cells.first[1]; p.at[2] < cells.end[1]; p.at[2]++)
            for (int e = 0; e < s->elements && is_in_range(args, &s->tile, &p); e++)
                add_element(args, s, &p, e, a, first, &sum);
    write_sums((double *)args->out.data + row * grove_normal_size(s->columns), s->columns, a, first,
               &sum);
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
