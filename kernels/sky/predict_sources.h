/* Sums with Jones terms of source and station, a source in each lane: as predict_channels.h, but
 * for one channel, where channels are too few to fill a vector.
 *
 * A panel keeps the factors of stations for SPAN vectors of sources: half a MiB for 64 stations. A
 * source-visibility takes 24 multiply-adds and 8 sums for the product (32 where registers are too
 * few), 8 for the real factor. Diagonal Jones terms, or none, take 6 for each element. Smearing in
 * time, or over the width, takes 4 for its argument and a polynomial of 2 to 8 steps, by the
 * largest argument of these sources in the row. Lanes are added once for a row and batch, of eight
 * numbers together: 21 operations of AVX-512 in double precision. */
#ifndef GROVE_KERNELS_PREDICT_SOURCES_H
#define GROVE_KERNELS_PREDICT_SOURCES_H

#include "predict_channels.h"
#include "predict_sincs.h"

#include <stddef.h>

typedef struct {
    const grove_predict_channels_job *job;
    int vectors;
    _Alignas(64) double direction[3][SPAN * LANES], ellipse[5][SPAN * LANES];
    _Alignas(64) real narrow[3][SPAN * LANES]; /* direction */
    double largest[3];                         /* of the directions */
    int gaussians[SPAN];                       /* are there any in the vector? */
    jones brightness[SPAN];
    int unpolarised[SPAN];
} source_batch;

/* uvw . direction of vector v. */
INLINE void dot_sources(const source_batch *g, const double *u, int v, doubles to[PARTS])
{
    for (int i = 0; i < PARTS; i++) {
        int at = v * LANES + i * PART;
        to[i] = *(const unaligned *)&g->direction[0][at] * u[0] +
                *(const unaligned *)&g->direction[1][at] * u[1] +
                *(const unaligned *)&g->direction[2][at] * u[2];
    }
}

/* ---- factors of stations ---- */

static void start_source_batch(source_batch *g, const grove_predict_channels_job *job)
{
    memset(g, 0, offsetof(source_batch, brightness));
    g->job = job;
    g->vectors = (job->sources + LANES - 1) / LANES;
    for (int s = 0; s < job->sources; s++) {
        for (int d = 0; d < 3; d++) {
            g->direction[d][s] = job->direction[3 * s + d];
            g->narrow[d][s] = (real)job->direction[3 * s + d];
            g->largest[d] = fmax(g->largest[d], fabs(job->direction[3 * s + d]));
        }
        for (int d = 0; d < 5 && s >= job->points; d++)
            g->ellipse[d][s] = job->ellipse[5 * (s - job->points) + d];
        g->gaussians[s / LANES] |= s >= job->points;
    }
}

static void load_source_brightness(source_batch *g, int v)
{
    static const real nothing[8] = {0};
    const grove_predict_channels_job *job = g->job;
    grove_predict_jones_side cells = {.numbers = 8, .bytes = sizeof(real)};

    for (int i = 0; i < LANES; i++) {
        int s = v * LANES + i;
        const real *b =
            s < job->sources ? (const real *)job->weight + job->weight_source * s : nothing;
        cells.at[i] = (const char *)b;
    }
    load_cells(&cells, 0, &g->brightness[v]);
    g->unpolarised[v] = are_unpolarised(&g->brightness[v]);
}

/* Jones terms of a station for vector v; lanes beyond the last source repeat it. */
static void load_station_sources(const grove_predict_channels_job *job, int which, int station,
                                 int v, jones *to)
{
    const grove_predict_channels_side *from = &job->side[which];
    const int64_t offset = from->channel * job->offset;
    grove_predict_jones_side side = {.numbers = from->numbers, .bytes = from->bytes};

    for (int i = 0; i < LANES && from->numbers; i++) {
        int s = v * LANES + i < job->sources ? v * LANES + i : job->sources - 1;
        side.at[i] = from->at[station] + from->source * job->order[s];
        if (station + PREFETCH_AHEAD < job->stations && from->needed[station + PREFETCH_AHEAD])
            __builtin_prefetch(from->at[station + PREFETCH_AHEAD] + from->source * job->order[s] +
                               offset);
    }
    load_cells(&side, offset, to);
}

static void fill_station_sources(const source_batch *g, int which, int station, int v, jones *to)
{
    const double freq = g->job->freq[0];
    doubles turns[PARTS];
    vec c, s;
    jones terms;

    dot_sources(g, g->job->side[which].uvw + 3 * station, v, turns);
    phasor(fractional_turns(turns, which ? freq : -freq), &c, &s);
    load_station_sources(g->job, which, station, v, &terms);
    multiply_terms(g->job, which, &terms, &g->brightness[v], g->unpolarised[v], c, s, to);
}

/* ---- rows ---- */

/* The exponent of a Gaussian's decay. */
INLINE vec extent_of(const source_batch *g, const double *u, int v)
{
    double square = g->job->freq[0] * g->job->freq[0];
    doubles to[PARTS];

    for (int i = 0; i < PARTS; i++) {
        int at = v * LANES + i * PART;
        doubles x = *(const unaligned *)&g->ellipse[0][at] * u[0] +
                    *(const unaligned *)&g->ellipse[1][at] * u[1];
        doubles y = *(const unaligned *)&g->ellipse[2][at] * u[0] +
                    *(const unaligned *)&g->ellipse[3][at] * u[1] +
                    *(const unaligned *)&g->ellipse[4][at] * u[2];
        to[i] = (x * x + y * y) * square;
    }
    return narrow(to);
}

/* No source has more turns of uvw . direction * scale. */
INLINE double most_turns(const source_batch *g, const double *uvw, double scale)
{
    return (fabs(uvw[0]) * g->largest[0] + fabs(uvw[1]) * g->largest[1] +
            fabs(uvw[2]) * g->largest[2]) *
           fabs(scale);
}

INLINE void sincs_within(const source_batch *g, const double *uvw, double scale, int level,
                         const vec *from, vec *to)
{
    const vec *l = (const vec *)(const void *)g->narrow[0], *m = l + SPAN, *n = m + SPAN;
    real u = (real)(uvw[0] * scale), v = (real)(uvw[1] * scale), w = (real)(uvw[2] * scale);

    for (int i = 0; i < g->vectors; i++) {
        vec sinc = sinc_within(l[i] * u + m[i] * v + n[i] * w, level);
        to[i] = from ? from[i] * sinc : sinc;
    }
}

/* Sincs of uvw . direction * scale, turns that need no more than single precision, times `from`;
 * NULL: 1. */
INLINE void sincs_along(const source_batch *g, const double *uvw, double scale, const vec *from,
                        vec *to)
{
    switch (sinc_level(most_turns(g, uvw, scale))) {
    case 0:
        sincs_within(g, uvw, scale, 0, from, to);
        break;
    case 1:
        sincs_within(g, uvw, scale, 1, from, to);
        break;
    case 2:
        sincs_within(g, uvw, scale, 2, from, to);
        break;
    case 3:
        sincs_within(g, uvw, scale, 3, from, to);
        break;
    case 4:
        sincs_within(g, uvw, scale, 4, from, to);
        break;
    default:
        sincs_within(g, uvw, scale, SINC_FAR, from, to);
    }
}

/* Smearing and shapes of all sources in a row. */
INLINE void factors_in_row(const source_batch *g, int row, vec *to)
{
    const grove_predict_channels_job *job = g->job;
    const double *uvw = job->uvw + 3 * row;

    for (int v = 0; v < g->vectors && !job->width; v++)
        to[v] = splat(1);
    if (job->width)
        sincs_along(g, uvw, job->width[0], NULL, to);
    if (job->smear_time)
        sincs_along(g, job->change + 3 * row, job->freq[0], to, to);
    for (int v = 0; v < g->vectors; v++)
        if (g->gaussians[v])
            to[v] *= decay(extent_of(g, uvw, v));
}

/* Phases of the row's rest of all sources. */
INLINE void rest_phases(const source_batch *g, int row, vec (*z)[2])
{
    const double *rest = g->job->rest + 3 * row, scale = -g->job->freq[0];
    const int small = most_turns(g, rest, scale) <= SMALL_TURNS;
    const vec *l = (const vec *)(const void *)g->narrow[0], *m = l + SPAN, *n = m + SPAN;
    const real u = (real)(rest[0] * scale), v = (real)(rest[1] * scale),
               w = (real)(rest[2] * scale);
    doubles turns[PARTS];

    for (int i = 0; i < g->vectors; i++)
        if (small) {
            small_phasor(l[i] * u + m[i] * v + n[i] * w, &z[i][0], &z[i][1]);
        } else {
            dot_sources(g, rest, i, turns);
            phasor(fractional_turns(turns, scale), &z[i][0], &z[i][1]);
        }
}

/* An element, at number e of matrices, times the factors, and z if it is not NULL. */
INLINE void sum_element(const source_batch *g, const vec *factor, const vec (*z)[2], const jones *a,
                        const jones *b, int e, vec to[2])
{
    vec x[2] = {splat(0), splat(0)}, y[2] = {splat(0), splat(0)};

    for (int v = 0; v < g->vectors; v++) {
        const vec *right = b[v].at + (e & 2 ? 6 : 0);
        vec left[2] = {a[v].at[e], a[v].at[e + 1]};
        if (z)
            rotate(left, a[v].at + e, z[v][0], z[v][1]);
        vec re = left[0] * factor[v], im = left[1] * factor[v];
        KEEP(re);
        KEEP(im);
        x[0] += re * right[0];
        x[1] += re * right[1];
        y[0] -= im * right[1];
        y[1] += im * right[0];
    }
    to[0] = x[0] + y[0];
    to[1] = x[1] + y[1];
}

INLINE void sum_matrices(const source_batch *g, const vec *factor, const vec (*z)[2],
                         const jones *a, const jones *b, vec to[8])
{
    matrix_sums x = {0};

    for (int v = 0; v < g->vectors; v++, a++, b++) {
        const vec *m = a->at;
        jones rotated;
        if (z) {
            rotated = *a;
            multiply_elements(&rotated, 8, z[v][0], z[v][1]);
            m = rotated.at;
        }
        add_terms(factor[v], m, b->at, &x);
    }
    finish_sums(&x, to);
}

INLINE void add_row(const source_batch *g, int row, int diagonal, int stray, const jones *left,
                    const jones *right)
{
    const grove_predict_channels_job *job = g->job;
    const jones *a = left + job->side[0].station[row] * SPAN;
    const jones *b = right + job->side[1].station[row] * SPAN;
    vec factor[SPAN], z[SPAN][2], sums[8] = {0};

    factors_in_row(g, row, factor);
    if (stray)
        rest_phases(g, row, z);
    for (int k = 0; k < job->elements && diagonal; k++) {
        const int e = 2 * job->element[k];
        sum_element(g, factor, stray ? (const vec(*)[2])z : NULL, a, b, e, sums + e);
    }
    if (!diagonal)
        sum_matrices(g, factor, stray ? (const vec(*)[2])z : NULL, a, b, sums);
    add_lanes(sums, 8, (double *)job->sums + (int64_t)row * 8);
}

static void source_sums(const grove_predict_channels_job *job)
{
    jones *left = job->panel, *right = left + (int64_t)job->stations * SPAN;
    source_batch g;

    start_source_batch(&g, job);
    for (int v = 0; v < g.vectors; v++) {
        load_source_brightness(&g, v);
        for (int p = 0; p < job->stations; p++)
            for (int side = 0; side < 2; side++)
                if (job->side[side].needed[p])
                    fill_station_sources(&g, side, p, v, (side ? right : left) + p * SPAN + v);
    }
    for (int row = 0; row < job->rows; row++)
        if (job->diagonal && job->stray[row])
            add_row(&g, row, 1, 1, left, right);
        else if (job->diagonal)
            add_row(&g, row, 1, 0, left, right);
        else if (job->stray[row])
            add_row(&g, row, 0, 1, left, right);
        else
            add_row(&g, row, 0, 0, left, right);
}

#endif
