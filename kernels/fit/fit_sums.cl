/* Compressed sums on OpenCL devices: a thread adds all cells of a stretch of a baseline, in their
 * order, for one correlation and a piece of the products of one number. */
#ifndef GROVE_FIT_SUMS_OPENCL
#define GROVE_FIT_SUMS_OPENCL
#include "fit_opencl.h"
#include "fit_sums.h"

#include "compression_sums.h"

/* The products that a thread adds: for correlation c, of number j with `first` and its followers,
 * of n numbers. */
typedef struct {
    int c;
    int64_t j, first, n;
    double count, power;
    grove_cplx64 data, pair[GROVE_FIT_PIECE];
} fit_share;

GROVE_FN const grove_fit_state *fit_state(const fit_box *box)
{
    return (const grove_fit_state *)(const void *)box->args->state.bytes;
}

/* Element e of a matrix: one means that number times the identity, two a diagonal. */
GROVE_FN grove_cplx64 fit_element(const fit_box *box, int input, const fit_cell *cell, int e)
{
    const grove_view *view = &box->args->in[input];
    const char *at = fit_find(box, input, cell);
    const int k = view->elements == 4 ? e : view->elements == 2 && e == 3;
    grove_cplx64 x = {0, 0};

    if (view->elements == 4 || e == 0 || e == 3) {
        x.re = fit_number(view, at, 2 * k);
        x.im = fit_number(view, at, 2 * k + 1);
    }
    return x;
}

/* Number j of the models, for correlation c. */
GROVE_FN grove_cplx64 fit_model(const fit_box *box, const fit_cell *cell, int c, int64_t j)
{
    const int full = fit_state(box)->full;

    return fit_element(box, GROVE_FIT_MODELS + 2 * (int)(full ? j / 4 : j), cell,
                       full ? (int)(j % 4) : c);
}

/* Whether correlation c, or any of them, is flagged. */
GROVE_FN bool fit_is_flagged(const fit_box *box, int input, const fit_cell *cell, int c, bool any)
{
    const char *flags = fit_find(box, input + 1, cell);
    const int elements = box->args->in[input].elements;
    unsigned bits = flags ? *(const unsigned char *)flags : 0;

    if (elements == 1)
        bits = bits & 1 ? 15 : 0;
    else if (elements == 2)
        bits = (bits & 1) | (bits & 2) << 2 | (bits & 3 ? 6 : 0);
    return any ? (bits & 15) != 0 : bits >> c & 1;
}

/* 0: the correlation does not count here. */
GROVE_FN double fit_weight(const fit_box *box, const fit_cell *cell, int c)
{
    const grove_fit_state *s = fit_state(box);
    const grove_view *view = &box->args->in[GROVE_FIT_WEIGHTS];
    const char *at = fit_find(box, GROVE_FIT_WEIGHTS, cell);
    double weight = 1;

    if (at)
        weight = fit_number(view, at, view->elements == 4 ? c : view->elements == 2 ? c >> 1 : 0);
    if (!(weight > 0) || weight - weight != 0 || s->left_out >> c & 1 ||
        !fit_is_finite(fit_element(box, GROVE_FIT_DATA, cell, c)) ||
        fit_is_flagged(box, GROVE_FIT_DATA, cell, c, false) || !fit_is_in_range(box, cell))
        return 0;
    for (int g = 0; g < s->groups; g++) {
        const int input = GROVE_FIT_MODELS + 2 * g;
        bool good = !fit_is_flagged(box, input, cell, c, s->full);
        for (int e = s->full ? 0 : c; good && e <= (s->full ? 3 : c); e++)
            good = fit_is_finite(fit_element(box, input, cell, e));
        if (!good)
            return 0;
    }
    return weight;
}

GROVE_FN void fit_add(const fit_box *box, const fit_cell *cell, double w, fit_share *to)
{
    const grove_cplx64 d = fit_element(box, GROVE_FIT_DATA, cell, to->c),
                       x = fit_model(box, cell, to->c, to->j), wd = {w * d.re, w * d.im},
                       wx = {w * x.re, w * x.im};

    to->count += 2;
    to->power += wd.re * d.re + wd.im * d.im;
    to->data.re += wd.re * x.re + wd.im * x.im;
    to->data.im += wd.re * x.im - wd.im * x.re;
    for (int k = 0; k < GROVE_FIT_PIECE && to->first + k < to->n; k++) {
        const grove_cplx64 y = fit_model(box, cell, to->c, to->first + k);
        to->pair[k].re += wx.re * y.re + wx.im * y.im;
        to->pair[k].im += wx.im * y.re - wx.re * y.im;
    }
}

GROVE_FN void fit_put(const fit_share *from, double *out)
{
    const int c = from->c;
    const int64_t n = from->n, j = from->j;

    if (j == 0 && from->first == 0) {
        out[GROVE_SUMS_NUMBERS + c] = from->count;
        out[GROVE_SUMS_POWER + c] = from->power;
    }
    for (int k = 0; k < GROVE_FIT_PIECE; k++) {
        const int64_t other = from->first + k;
        if (other == j) {
            out[GROVE_SUMS_DATA(j) + c] = from->data.re;
            out[GROVE_SUMS_DATA(j) + 4 + c] = from->data.im;
            out[GROVE_SUMS_SQUARE(n, j) + c] = from->pair[k].re;
        } else if (other > j && other < n) {
            out[GROVE_SUMS_PAIR(n, j, other) + c] = from->pair[k].re;
            out[GROVE_SUMS_PAIR(n, j, other) + 4 + c] = from->pair[k].im;
        }
    }
}

GROVE_FN void fit_add_stretches(const grove_args *args)
{
    const grove_fit_state *s = (const grove_fit_state *)(const void *)args->state.bytes;
    const int64_t n = grove_fit_numbers(s), pieces = (n + GROVE_FIT_PIECE - 1) / GROVE_FIT_PIECE,
                  items = grove_fit_items(s), all = items * grove_fit_rows(&s->tile);

    for (int64_t at = get_global_id(0); at < all; at += get_global_size(0)) {
        const int64_t item = at % items, row = at / items;
        const fit_box box = fit_find_box(args, &s->tile, row);
        fit_share share = {(int)(item % 4), item / 4 / pieces, item / 4 % pieces * GROVE_FIT_PIECE,
                           n};
        fit_cell cell;
        if (share.first + GROVE_FIT_PIECE <= share.j)
            continue; /* the other half has it */
        for (cell.time = box.first[0]; cell.time < box.end[0]; cell.time++)
            for (cell.channel = box.first[1]; cell.channel < box.end[1]; cell.channel++) {
                const double w = fit_weight(&box, &cell, share.c);
                if (w > 0)
                    fit_add(&box, &cell, w, &share);
            }
        fit_put(&share, (double *)args->out.data + row * GROVE_SUMS_SIZE(n));
    }
}

__kernel void fit_sums_double(__global const grove_args *given)
{
    fit_add_stretches(GROVE_GENERIC(const grove_args, given));
}
#endif
