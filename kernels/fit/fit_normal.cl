/* Normal equations on OpenCL devices: a thread adds all cells of a stretch of a baseline, in their
 * order, for one column and a piece of the others. */
#ifndef GROVE_FIT_NORMAL_OPENCL
#define GROVE_FIT_NORMAL_OPENCL
#include "fit_normal.h"
#include "fit_opencl.h"

/* The products that a thread adds: of column a with `first` and its followers. */
typedef struct {
    int64_t a, first;
    double power, values, used, all;
    grove_cplx64 pair[GROVE_FIT_PIECE];
} normal_share;

/* Element e of a cell's numbers; a scalar has the same for all. */
GROVE_FN grove_cplx64 normal_element(const fit_box *box, int input, const fit_cell *cell, int e)
{
    const grove_view *view = &box->args->in[input];
    const char *at = fit_find(box, input, cell);
    const int k = view->elements > 1 ? e : 0;
    grove_cplx64 x = {0, 0};

    x.re = fit_number(view, at, view->complex_ ? 2 * k : k);
    x.im = view->complex_ ? fit_number(view, at, 2 * k + 1) : 0;
    return x;
}

/* The flags follow the numbers. */
GROVE_FN bool normal_is_flagged(const fit_box *box, int input, const fit_cell *cell, int e)
{
    const char *flags = fit_find(box, input + 1, cell);

    return flags &&
           *(const unsigned char *)flags >> (box->args->in[input].elements > 1 ? e : 0) & 1;
}

/* Number a of an element: a derivative; after the last one the residual. */
GROVE_FN grove_cplx64 normal_column(const fit_box *box, const grove_normal_state *s,
                                    const fit_cell *cell, int e, int64_t a)
{
    if (a < s->columns)
        return normal_element(box, GROVE_NORMAL_SLOTS + (int)a, cell, s->of_model[e]);
    const grove_cplx64 d = normal_element(box, GROVE_NORMAL_DATA, cell, s->of_data[e]),
                       v = normal_element(box, GROVE_NORMAL_MODEL, cell, s->of_model[e]);
    grove_cplx64 x = {d.re - v.re, d.im - v.im};
    return x;
}

/* 0: it does not count. */
GROVE_FN double normal_weight(const fit_box *box, const grove_normal_state *s, const fit_cell *cell,
                              int e)
{
    double weight = 1;

    if (box->args->in[GROVE_NORMAL_WEIGHTS].data)
        weight = normal_element(box, GROVE_NORMAL_WEIGHTS, cell, s->of_data[e]).re;
    if (!(weight > 0) || weight - weight != 0 ||
        normal_is_flagged(box, GROVE_NORMAL_DATA, cell, s->of_data[e]) ||
        normal_is_flagged(box, GROVE_NORMAL_MODEL, cell, s->of_model[e]) ||
        normal_is_flagged(box, GROVE_NORMAL_WEIGHTS, cell, s->of_data[e]))
        return 0;
    for (int64_t a = 0; a <= s->columns; a++)
        if (!fit_is_finite(normal_column(box, s, cell, e, a)))
            return 0;
    return weight;
}

GROVE_FN void normal_add(const fit_box *box, const grove_normal_state *s, const fit_cell *cell,
                         int e, normal_share *to)
{
    const double w = normal_weight(box, s, cell, e);

    to->all += 2;
    if (!(w > 0))
        return;
    const grove_cplx64 x = normal_column(box, s, cell, e, to->a);
    to->used += 2;
    if (to->a == s->columns) {
        const grove_cplx64 d = normal_element(box, GROVE_NORMAL_DATA, cell, s->of_data[e]),
                           v = normal_element(box, GROVE_NORMAL_MODEL, cell, s->of_model[e]);
        to->power += w * (d.re * d.re + d.im * d.im);
        to->values += w * (v.re * v.re + v.im * v.im);
    }
    for (int k = 0; k < GROVE_FIT_PIECE && to->first + k <= s->columns; k++) {
        const grove_cplx64 y = normal_column(box, s, cell, e, to->first + k),
                           wy = {w * y.re, w * y.im};
        to->pair[k].re += x.re * wy.re + x.im * wy.im;
        to->pair[k].im += x.re * wy.im - x.im * wy.re;
    }
}

GROVE_FN void normal_put(const normal_share *from, int64_t columns, double *out)
{
    for (int k = 0; k < GROVE_FIT_PIECE; k++) {
        const int64_t a = from->a, b = from->first + k;
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

GROVE_FN void normal_add_stretches(const grove_args *args)
{
    const grove_normal_state *s = (const grove_normal_state *)(const void *)args->state.bytes;
    const int64_t pieces = (s->columns + GROVE_FIT_PIECE) / GROVE_FIT_PIECE,
                  items = grove_normal_items(s), all = items * grove_fit_rows(&s->tile);

    for (int64_t at = get_global_id(0); at < all; at += get_global_size(0)) {
        const int64_t item = at % items, row = at / items;
        const fit_box box = fit_find_box(args, &s->tile, row);
        normal_share share = {item / pieces, item % pieces * GROVE_FIT_PIECE};
        fit_cell cell;
        if (share.first + GROVE_FIT_PIECE <= share.a)
            continue; /* the other half has it */
        for (cell.time = box.first[0]; cell.time < box.end[0]; cell.time++)
            for (cell.channel = box.first[1]; cell.channel < box.end[1]; cell.channel++)
                for (int e = 0; e < s->elements && fit_is_in_range(&box, &cell); e++)
                    normal_add(&box, s, &cell, e, &share);
        normal_put(&share, s->columns,
                   (double *)args->out.data + row * grove_normal_size(s->columns));
    }
}

__kernel void fit_normal_double(__global const grove_args *given)
{
    normal_add_stretches(GROVE_GENERIC(const grove_args, given));
}
#endif
