/* Normal equations on OpenCL devices: a thread adds all cells of a stretch of a baseline, in their
 * order, for one column and a piece of the others. */
#ifndef GROVE_FIT_NORMAL_OPENCL
#define GROVE_FIT_NORMAL_OPENCL
#include "fit_cell.h"
#include "fit_normal.h"

/* The products that a thread adds: of column a with `first` and its followers. */
typedef struct {
    int64_t a, first;
    grove_normal_sums sums;
} normal_share;

GROVE_FN const grove_normal_state *normal_state(const grove_args *args)
{
    return (const grove_normal_state *)(const void *)args->state.bytes;
}

/* Element e of a cell's numbers; a scalar has the same for all. */
GROVE_FN grove_cplx64 normal_element(const grove_args *args, int input, const place *p, int e)
{
    const grove_view *view = &args->in[input];
    const char *at = find(args, &normal_state(args)->tile, input, p);
    const int k = view->elements > 1 ? e : 0;
    grove_cplx64 x = {0, 0};

    x.re = number(view, at, view->complex_ ? 2 * k : k);
    x.im = view->complex_ ? number(view, at, 2 * k + 1) : 0;
    return x;
}

/* The flags follow the numbers. */
GROVE_FN bool normal_is_flagged(const grove_args *args, int input, const place *p, int e)
{
    const char *flags = find(args, &normal_state(args)->tile, input + 1, p);

    return flags && *(const unsigned char *)flags >> (args->in[input].elements > 1 ? e : 0) & 1;
}

/* Number a of an element: a derivative; after the last one the residual. */
GROVE_FN grove_cplx64 normal_column(const grove_args *args, const grove_normal_state *s,
                                    const place *p, int e, int64_t a)
{
    if (a < s->columns)
        return normal_element(args, GROVE_NORMAL_SLOTS + (int)a, p, s->of_model[e]);
    const grove_cplx64 d = normal_element(args, GROVE_NORMAL_DATA, p, s->of_data[e]),
                       v = normal_element(args, GROVE_NORMAL_MODEL, p, s->of_model[e]);
    grove_cplx64 x = {d.re - v.re, d.im - v.im};
    return x;
}

/* 0: it does not count. */
GROVE_FN double normal_weight(const grove_args *args, const grove_normal_state *s, const place *p,
                              int e)
{
    double weight = 1;

    if (args->in[GROVE_NORMAL_WEIGHTS].data)
        weight = normal_element(args, GROVE_NORMAL_WEIGHTS, p, s->of_data[e]).re;
    if (!(weight > 0) || weight - weight != 0 ||
        normal_is_flagged(args, GROVE_NORMAL_DATA, p, s->of_data[e]) ||
        normal_is_flagged(args, GROVE_NORMAL_MODEL, p, s->of_model[e]) ||
        normal_is_flagged(args, GROVE_NORMAL_WEIGHTS, p, s->of_data[e]))
        return 0;
    for (int64_t a = 0; a <= s->columns; a++)
        if (!is_finite(normal_column(args, s, p, e, a)))
            return 0;
    return weight;
}

GROVE_FN void normal_add(const grove_args *args, const grove_normal_state *s, const place *p, int e,
                         normal_share *to)
{
    const double w = normal_weight(args, s, p, e);

    to->sums.all += 2;
    if (!(w > 0))
        return;
    const grove_cplx64 x = normal_column(args, s, p, e, to->a);
    to->sums.used += 2;
    if (to->a == s->columns) {
        const grove_cplx64 d = normal_element(args, GROVE_NORMAL_DATA, p, s->of_data[e]),
                           v = normal_element(args, GROVE_NORMAL_MODEL, p, s->of_model[e]);
        to->sums.power += w * (d.re * d.re + d.im * d.im);
        to->sums.values += w * (v.re * v.re + v.im * v.im);
    }
    for (int k = 0; k < GROVE_FIT_PIECE && to->first + k <= s->columns; k++) {
        const grove_cplx64 y = normal_column(args, s, p, e, to->first + k),
                           wy = {w * y.re, w * y.im};
        to->sums.pair[k].re += x.re * wy.re + x.im * wy.im;
        to->sums.pair[k].im += x.re * wy.im - x.im * wy.re;
    }
}

GROVE_FN void normal_add_stretches(const grove_args *args)
{
    const grove_normal_state *s = (const grove_normal_state *)(const void *)args->state.bytes;
    const int64_t pieces = (s->columns + GROVE_FIT_PIECE) / GROVE_FIT_PIECE,
                  items = grove_normal_items(s), all = items * grove_fit_rows(&s->tile);

    for (int64_t at = get_global_id(0); at < all; at += get_global_size(0)) {
        const int64_t item = at % items, row = at / items;
        const box cells = find_box(args, &s->tile, row);
        normal_share share = {item / pieces, item % pieces * GROVE_FIT_PIECE};
        place p = {{0, cells.baseline, 0}};
        if (share.first + GROVE_FIT_PIECE <= share.a)
            continue; /* the other half has it */
        for (p.at[0] = cells.first[0]; p.at[0] < cells.end[0]; p.at[0]++)
            for (p.at[2] = cells.first[1]; p.at[2] < cells.end[1]; p.at[2]++)
                for (int e = 0; e < s->elements && is_in_range(args, &s->tile, &p); e++)
                    normal_add(args, s, &p, e, &share);
        grove_normal_put((double *)args->out.data + row * grove_normal_size(s->columns), s->columns,
                         share.a, share.first, &share.sums);
    }
}

__kernel void fit_normal_double(__global const grove_args *given)
{
    normal_add_stretches(GROVE_GENERIC(const grove_args, given));
}
#endif
