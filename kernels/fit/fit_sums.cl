/* Compressed sums on OpenCL devices: a thread adds all cells of a stretch of a baseline, in their
 * order, for one correlation and a piece of the products of one number. */
#ifndef GROVE_FIT_SUMS_OPENCL
#define GROVE_FIT_SUMS_OPENCL
#include "fit_cell.h"
#include "fit_sums.h"

/* The products that a thread adds: for correlation c, of number j with `first` and its followers,
 * of n numbers. */
typedef struct {
    int c;
    int64_t j, first, n;
    grove_fit_sums sums;
} fit_share;

GROVE_FN const grove_fit_state *fit_state(const grove_args *args)
{
    return (const grove_fit_state *)(const void *)args->state.bytes;
}

/* Element e of a matrix: one means that number times the identity, two a diagonal. */
GROVE_FN grove_cplx64 fit_element(const grove_args *args, int input, const place *p, int e)
{
    const grove_view *view = &args->in[input];
    const char *at = find(args, &fit_state(args)->tile, input, p);
    const int k = view->elements == 4 ? e : view->elements == 2 && e == 3;
    grove_cplx64 x = {0, 0};

    if (view->elements == 4 || e == 0 || e == 3) {
        x.re = number(view, at, 2 * k);
        x.im = number(view, at, 2 * k + 1);
    }
    return x;
}

/* Number j of the models, for correlation c. */
GROVE_FN grove_cplx64 fit_model(const grove_args *args, const place *p, int c, int64_t j)
{
    const int full = fit_state(args)->full;

    return fit_element(args, GROVE_FIT_MODELS + 2 * (int)(full ? j / 4 : j), p,
                       full ? (int)(j % 4) : c);
}

/* Whether correlation c, or any of them, is flagged. */
GROVE_FN bool fit_is_flagged(const grove_args *args, int input, const place *p, int c, bool any)
{
    const char *flags = find(args, &fit_state(args)->tile, input + 1, p);
    const int elements = args->in[input].elements;
    unsigned bits = flags ? *(const unsigned char *)flags : 0;

    if (elements == 1)
        bits = bits & 1 ? 15 : 0;
    else if (elements == 2)
        bits = (bits & 1) | (bits & 2) << 2 | (bits & 3 ? 6 : 0);
    return any ? (bits & 15) != 0 : bits >> c & 1;
}

/* 0: the correlation does not count here. */
GROVE_FN double fit_weight(const grove_args *args, const place *p, int c)
{
    const grove_fit_state *s = fit_state(args);
    const grove_view *view = &args->in[GROVE_FIT_WEIGHTS];
    const char *at = find(args, &fit_state(args)->tile, GROVE_FIT_WEIGHTS, p);
    double weight = 1;

    if (at)
        weight = number(view, at, view->elements == 4 ? c : view->elements == 2 ? c >> 1 : 0);
    if (!(weight > 0) || weight - weight != 0 || s->left_out >> c & 1 ||
        !is_finite(fit_element(args, GROVE_FIT_DATA, p, c)) ||
        fit_is_flagged(args, GROVE_FIT_DATA, p, c, false) ||
        !is_in_range(args, &fit_state(args)->tile, p))
        return 0;
    for (int g = 0; g < s->groups; g++) {
        const int input = GROVE_FIT_MODELS + 2 * g;
        bool good = !fit_is_flagged(args, input, p, c, s->full);
        for (int e = s->full ? 0 : c; good && e <= (s->full ? 3 : c); e++)
            good = is_finite(fit_element(args, input, p, e));
        if (!good)
            return 0;
    }
    return weight;
}

GROVE_FN void fit_add(const grove_args *args, const place *p, double w, fit_share *to)
{
    const grove_cplx64 d = fit_element(args, GROVE_FIT_DATA, p, to->c),
                       x = fit_model(args, p, to->c, to->j), wd = {w * d.re, w * d.im},
                       wx = {w * x.re, w * x.im};

    to->sums.count += 2;
    to->sums.power += wd.re * d.re + wd.im * d.im;
    to->sums.data.re += wd.re * x.re + wd.im * x.im;
    to->sums.data.im += wd.re * x.im - wd.im * x.re;
    for (int k = 0; k < GROVE_FIT_PIECE && to->first + k < to->n; k++) {
        const grove_cplx64 y = fit_model(args, p, to->c, to->first + k);
        to->sums.pair[k].re += wx.re * y.re + wx.im * y.im;
        to->sums.pair[k].im += wx.im * y.re - wx.re * y.im;
    }
}

GROVE_FN void fit_add_stretches(const grove_args *args)
{
    const grove_fit_state *s = (const grove_fit_state *)(const void *)args->state.bytes;
    const int64_t n = grove_fit_numbers(s), pieces = (n + GROVE_FIT_PIECE - 1) / GROVE_FIT_PIECE,
                  items = grove_fit_items(s), all = items * grove_fit_rows(&s->tile);

    for (int64_t at = get_global_id(0); at < all; at += get_global_size(0)) {
        const int64_t item = at % items, row = at / items;
        const box cells = find_box(args, &s->tile, row);
        fit_share share = {(int)(item % 4), item / 4 / pieces, item / 4 % pieces * GROVE_FIT_PIECE,
                           n};
        place p = {{0, cells.baseline, 0}};
        if (share.first + GROVE_FIT_PIECE <= share.j)
            continue; /* the other half has it */
        for (p.at[0] = cells.first[0]; p.at[0] < cells.end[0]; p.at[0]++)
            for (p.at[2] = cells.first[1]; p.at[2] < cells.end[1]; p.at[2]++) {
                const double w = fit_weight(args, &p, share.c);
                if (w > 0)
                    fit_add(args, &p, w, &share);
            }
        grove_fit_sums_put((double *)args->out.data + row * GROVE_SUMS_SIZE(n), n, share.c, share.j,
                           share.first, &share.sums);
    }
}

__kernel void fit_sums_double(__global const grove_args *given)
{
    fit_add_stretches(GROVE_GENERIC(const grove_args, given));
}
#endif
