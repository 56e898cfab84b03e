/* Sums of baselines to the normal equations of domains on OpenCL devices: a thread adds a row of a
 * matrix, of its list of baselines in their order. */
#ifndef GROVE_FIT_GATHER_OPENCL
#define GROVE_FIT_GATHER_OPENCL
#include "fit_solve.h"

/* i times the column, -i times it, or the column: the derivative by an unknown. */
typedef struct {
    int64_t unknown;
    double turn;
} gather_derivative;

GROVE_FN gather_derivative gather_derivative_of(const grove_gather_state *s, int column,
                                                int unknown, int part)
{
    const int kind = s->part[column];
    gather_derivative d;

    d.unknown = unknown + (kind == GROVE_GATHER_IMAGINARY || part ? 1 : 0);
    d.turn = part ? (kind == GROVE_GATHER_BOTH ? 1.0 : -1.0) : 0;
    return d;
}

/* Re(conj(a) b), of derivatives of columns whose product is h. */
GROVE_FN double gather_real_part(gather_derivative a, gather_derivative b, double re, double im)
{
    if (a.turn == 0)
        return b.turn == 0 ? re : -b.turn * im;
    return b.turn == 0 ? a.turn * im : a.turn * b.turn * re;
}

/* Adds an item to the row of the unknown of its column a. */
GROVE_FN void gather_add_item(const grove_gather_state *s, const double *from,
                              const int32_t *unknowns, int a, gather_derivative of, double *row,
                              double *gradient)
{
    const int n = s->columns;
    const double *sums = from + GROVE_NORMAL_SUMS, *g = sums + 2 * (a * (n + 1) + n);

    for (int b = 0; b < n; b++) {
        const double *h = sums + 2 * (a <= b ? a * (n + 1) + b : b * (n + 1) + a);
        for (int part = 0; part < (s->part[b] > GROVE_GATHER_IMAGINARY ? 2 : 1); part++) {
            const gather_derivative by = gather_derivative_of(s, b, unknowns[b], part);
            row[by.unknown] += gather_real_part(of, by, h[0], a <= b ? h[1] : -h[1]);
        }
    }
    *gradient += of.turn == 0 ? g[0] : of.turn * g[1];
}

GROVE_FN const double *gather_from(const grove_args *args, const grove_gather_state *s,
                                   const grove_gather_domain *d, int item)
{
    const int32_t *places = (const int32_t *)args->in[2].data + d->lists;

    return (const double *)args->in[0].data +
           (d->row + places[item]) * grove_normal_size(s->columns);
}

/* Number j of the domain's unknowns. */
GROVE_FN void gather_add_row(const grove_args *args, const grove_gather_state *s,
                             const grove_gather_domain *d, int j, double *point)
{
    const int32_t *places = (const int32_t *)args->in[2].data + d->lists,
                  *unknowns = places + d->items, *lists = unknowns + (int64_t)d->items * s->columns;
    const int n = d->unknowns;
    double *gradient = point + GROVE_POINT_SUMS + j,
           *row = point + grove_point_head(n) + (int64_t)j * n;

    for (int k = 0; k < n; k++)
        row[k] = 0;
    *gradient = 0;
    for (int32_t at = lists[j]; at < lists[j + 1]; at++) {
        const int32_t entry = lists[n + 1 + at];
        const int a = entry % s->columns,
                  first = unknowns[entry] + (s->part[a] == GROVE_GATHER_IMAGINARY);
        const double *from = gather_from(args, s, d, entry / s->columns);
        if (from[GROVE_NORMAL_USED] > 0)
            gather_add_item(s, from, unknowns + entry - a, a,
                            gather_derivative_of(s, a, unknowns[entry], j != first), row, gradient);
    }
    point[GROVE_POINT_SUMS + n + j] = row[j];
}

GROVE_FN void gather_add_sums(const grove_args *args, const grove_gather_state *s,
                              const grove_gather_domain *d, double *point)
{
    for (int k = 0; k < GROVE_POINT_SUMS; k++)
        point[k] = 0;
    for (int item = 0; item < d->items; item++) {
        const double *from = gather_from(args, s, d, item);
        const bool used = from[GROVE_NORMAL_USED] > 0;
        point[GROVE_POINT_CHI2] += used ? from[GROVE_NORMAL_CHI2] : 0;
        point[GROVE_POINT_POWER] += used ? from[GROVE_NORMAL_POWER] : 0;
        point[GROVE_POINT_VALUES] += used ? from[GROVE_NORMAL_VALUES] : 0;
        point[GROVE_POINT_USED] += from[GROVE_NORMAL_USED];
        point[GROVE_POINT_ALL] += from[GROVE_NORMAL_ALL];
    }
}

/* Copies heads of points for the host, one after the other, to the result. */
GROVE_FN void gather_copy_head(const grove_gather_domain *d, int j, const double *point,
                               double *result)
{
    const int n = d->unknowns;

    for (int k = 0; j == n && k < GROVE_POINT_SUMS; k++)
        result[k] = point[k];
    for (int k = GROVE_POINT_SUMS + j; j < n && k < GROVE_POINT_SUMS + 2 * n; k += n)
        result[k] = point[k];
}

GROVE_FN void gather_all(const grove_args *args)
{
    const grove_gather_state *s = (const grove_gather_state *)(const void *)args->state.bytes;
    const int64_t rows = (int64_t)s->domains * (s->unknowns + 1);

    for (int64_t at = get_global_id(0); at < rows; at += get_global_size(0)) {
        const grove_gather_domain *d =
            (const grove_gather_domain *)args->in[3].data + at / (s->unknowns + 1);
        const int j = (int)(at % (s->unknowns + 1));
        double *point = (double *)args->in[1].data + d->point;
        if (j > d->unknowns)
            continue;
        if (j < d->unknowns)
            gather_add_row(args, s, d, j, point);
        else
            gather_add_sums(args, s, d, point);
        gather_copy_head(d, j, point, (double *)args->out.data + d->result);
    }
}

__kernel void fit_gather_double(__global const grove_args *given)
{
    gather_all(GROVE_GENERIC(const grove_args, given));
}

__kernel void fit_keep_double(__global const grove_args *given)
{
    const grove_args *args = GROVE_GENERIC(const grove_args, given);

    for (int64_t at = get_global_id(0); at < args->size[0]; at += get_global_size(0))
        ((int64_t *)args->out.data)[at] = ((const int64_t *)args->in[0].data)[at];
}
#endif
