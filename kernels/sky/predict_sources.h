/* Sums with Jones terms of source and station, a source in each lane: as predict_channels.h, but
 * for one channel, or a few with diagonal Jones terms, where channels are too few to fill a vector.
 *
 * A panel keeps the factors of stations for some vectors of sources: 64 vectors of AVX-512 for a
 * station and side at most, half a MiB for 64 stations. A source-visibility takes 24 multiply-adds
 * and 8 sums for the product (32 where registers are too few), 8 for the real factor. Diagonal
 * Jones terms, or none, take 6 for each element; scalars of several elements 6, and then 2 for a
 * real element of the brightness, 4 for another. Smearing in time, or over the width, takes 4 for
 * its argument and a polynomial of 2 to 8 steps, by the largest argument of these sources in the
 * row; channels of equal widths share the latter. Lanes are added once for a row, channel and
 * batch, of eight numbers together: 21 operations of AVX-512 in double precision. */
#ifndef GROVE_KERNELS_PREDICT_SOURCES_H
#define GROVE_KERNELS_PREDICT_SOURCES_H

#include "predict_channels.h"
#include "predict_sincs.h"

#include <stddef.h>

enum {
    BATCH = PREDICT_BATCH(SPAN, 1),   /* vectors of sources at once, at most */
    PLACES = 4 * SPAN,                /* channels times vectors, at most */
    TOGETHER = LANES < 8 ? LANES : 8, /* vectors whose lanes are added together */
    MOST_SUMS = 8 * BATCH + TOGETHER  /* numbers of a matrix in all channels */
};

typedef struct {
    const grove_predict_channels_job *job;
    int vectors;
    _Alignas(64) double direction[3][BATCH * LANES], ellipse[5][BATCH * LANES];
    _Alignas(64) real narrow[3][BATCH * LANES]; /* direction */
    double largest[3];                          /* of the directions */
    int gaussians[BATCH];                       /* are there any in the vector? */
    int complex_element[4]; /* 1: of the brightnesses that rows multiply by some are not real */
    /* of all vectors in a channel; with diagonal terms of a vector in all channels; with scalars of
     * both: [vector][channel, if it varies] */
    jones brightness[PLACES];
    int unpolarised[PLACES];
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

/* The brightness of the sources of vector v in channel c, to `place`. */
static void load_source_brightness(source_batch *g, int v, int c, int place)
{
    static const real nothing[8] = {0};
    const grove_predict_channels_job *job = g->job;
    const real *weight = (const real *)job->weight + job->weight_channel * c;
    grove_predict_jones_side cells = {.numbers = 8, .bytes = sizeof(real)};

    for (int i = 0; i < LANES; i++) {
        int s = v * LANES + i;
        const real *b = s < job->sources ? weight + job->weight_source * s : nothing;
        cells.at[i] = (const char *)b;
    }
    load_cells(&cells, 0, &g->brightness[place]);
    g->unpolarised[place] = are_unpolarised(&g->brightness[place]);
}

/* Jones terms of a station for vector v; lanes beyond the last source repeat it. */
static void load_station_sources(const grove_predict_channels_job *job, int which, int station,
                                 int v, int c, jones *to)
{
    const grove_predict_channels_side *from = &job->side[which];
    grove_predict_jones_side side = {.numbers = from->numbers, .bytes = from->bytes};

    for (int i = 0; i < LANES && from->numbers; i++) {
        int s = v * LANES + i < job->sources ? v * LANES + i : job->sources - 1;
        side.at[i] = from->at[station] + from->source * job->order[s];
        if (station + PREFETCH_AHEAD < job->stations && from->wanted[station + PREFETCH_AHEAD])
            __builtin_prefetch(from->at[station + PREFETCH_AHEAD] + from->source * job->order[s] +
                               from->channel * (job->offset + c));
    }
    load_cells(&side, from->channel * (job->offset + c), to);
}

/* uvw . direction of a station. */
INLINE void turns_of_station(const source_batch *g, int which, int station, int v,
                             doubles turns[PARTS])
{
    dot_sources(g, g->job->side[which].uvw + 3 * station, v, turns);
}

/* Phases of a station in channel c. */
INLINE void phases_in_channel(const source_batch *g, int which, const doubles turns[PARTS], int c,
                              vec z[2])
{
    phasor(fractional_turns(turns, which ? g->job->freq[c] : -g->job->freq[c]), &z[0], &z[1]);
}

static void fill_station_sources(const source_batch *g, int which, int station, int v, int c,
                                 jones *to)
{
    doubles turns[PARTS];
    vec z[2];
    jones terms;

    turns_of_station(g, which, station, v, turns);
    phases_in_channel(g, which, turns, c, z);
    load_station_sources(g->job, which, station, v, c, which ? to : &terms);
    if (!which)
        multiply_brightness(g->job, &terms, &g->brightness[v], g->unpolarised[v], to);
    multiply_elements(to, 8, z[0], z[1]);
}

/* Where the panel has an element of diagonal terms: [station][channel][element][vector][re, im]. On
 * the right side elements are the diagonal's, or the only requested one. */
INLINE vec *diagonals_at(const source_batch *g, vec *panel, int station, int c, int element)
{
    const grove_predict_channels_job *job = g->job;
    int elements = job->panel_elements;

    if (panel != job->panel)
        element = elements > 1 ? job->element[element] & 1 : 0;
    return panel + 2 * (int64_t)g->vectors * ((station * job->at_once + c) * elements + element);
}

/* Whether rows multiply products of scalars by the brightness. */
INLINE int multiplies_rows(const grove_predict_channels_job *job)
{
    return job->elements > job->panel_elements;
}

/* The elements of a station's diagonal terms in all channels, on the left times the brightness
 * where rows do not multiply by it, with their phases. Terms that channels share are loaded once.
 */
static void fill_diagonals(const source_batch *g, vec *panel, int which, int station, int v)
{
    const grove_predict_channels_job *job = g->job;
    const int scalars = multiplies_rows(job);
    doubles turns[PARTS];
    jones terms, m;

    turns_of_station(g, which, station, v, turns);
    for (int c = job->from; c < job->to; c++) {
        const int first = c == job->from, b = job->weight_channel ? c - job->from : 0;
        const int loads = first || job->side[which].channel;
        vec z[2];
        phases_in_channel(g, which, turns, c, z);
        if (loads)
            load_station_sources(job, which, station, v, c, which || scalars ? &m : &terms);
        if (!which && !scalars && (loads || job->weight_channel))
            multiply_brightness(job, &terms, &g->brightness[b], g->unpolarised[b], &m);
        for (int k = 0; k < job->panel_elements; k++) {
            int e = scalars ? 0 : which ? 6 * (job->element[k] & 1) : 2 * job->element[k];
            rotate(diagonals_at(g, panel, station, c, k) + 2 * v, &m.at[e], z[0], z[1]);
        }
    }
}

/* ---- rows ---- */

/* The sums over the lanes of TOGETHER vectors, neighbours first. */
INLINE vec sums_of_lanes(const vec *x)
{
    vec y[TOGETHER], even, odd;

    memcpy(y, x, sizeof(y));
    for (int n = TOGETHER / 2; n > 0; n /= 2)
        for (int i = 0; i < n; i++) {
            unzip(y[2 * i], y[2 * i + 1], &even, &odd);
            y[i] = even + odd;
        }
    for (int n = LANES / TOGETHER; n > 1; n /= 2) {
        unzip(y[0], y[0], &even, &odd);
        y[0] = even + odd;
    }
    return y[0];
}

/* The sums over the lanes of `count` vectors, in steps of TOGETHER. */
INLINE void sum_lanes(const vec *x, int count, double *to)
{
    for (int k = 0; k < count; k += TOGETHER) {
        const vec sums = sums_of_lanes(x + k);
        for (int i = 0; i < TOGETHER; i++)
            to[k + i] = (double)sums[i];
    }
}

/* The exponent of a Gaussian's decay at the reference frequency. */
INLINE vec extent_of(const source_batch *g, const double *u, int v)
{
    double square = g->job->reference * g->job->reference;
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
    const vec *l = (const vec *)(const void *)g->narrow[0], *m = l + BATCH, *n = m + BATCH;
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

/* Smearing of all sources in a row over a channel's width. */
INLINE void smear_across(const source_batch *g, int row, int c, vec *to)
{
    const grove_predict_channels_job *job = g->job;

    for (int v = 0; v < g->vectors && !job->width; v++)
        to[v] = splat(1);
    if (job->width)
        sincs_along(g, job->uvw + 3 * row, job->width[c], NULL, to);
}

/* Exponents of the shapes of the row, which all channels share. */
INLINE void find_extents(const source_batch *g, int row, vec *to)
{
    for (int v = 0; v < g->vectors; v++)
        if (g->gaussians[v])
            to[v] = extent_of(g, g->job->uvw + 3 * row, v);
}

/* Smearing over the width times that in time and shapes. */
INLINE void smear_along(const source_batch *g, int row, int c, const vec *across,
                        const vec *extents, vec *to)
{
    const grove_predict_channels_job *job = g->job;
    double ratio = job->freq[c] / job->reference;

    if (job->smear_time)
        sincs_along(g, job->change + 3 * row, job->freq[c], across, to);
    else
        memcpy(to, across, sizeof(*to) * (size_t)g->vectors);
    for (int v = 0; v < g->vectors; v++)
        if (g->gaussians[v])
            to[v] *= decay(extents[v] * (real)(ratio * ratio));
}

/* Phases of the row's rest of all sources in channel c. */
INLINE void rest_phases(const source_batch *g, int row, int c, vec (*z)[2])
{
    const double *rest = g->job->rest + 3 * row, scale = -g->job->freq[c];
    const int small = most_turns(g, rest, scale) <= SMALL_TURNS;
    const vec *l = (const vec *)(const void *)g->narrow[0], *m = l + BATCH, *n = m + BATCH;
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

INLINE void add_sources(const source_batch *g, int row, int stray, const jones *a, const jones *b)
{
    double *to = (double *)g->job->sums + (int64_t)row * 8, whole[8];
    vec across[BATCH], extents[BATCH], factor[BATCH], z[BATCH][2], sums[8];
    matrix_sums x = {0};

    smear_across(g, row, 0, across);
    find_extents(g, row, extents);
    smear_along(g, row, 0, across, extents, factor);
    if (stray)
        rest_phases(g, row, 0, z);
    for (int v = 0; v < g->vectors; v++, a++, b++) {
        const vec *m = a->at;
        jones rotated;
        if (stray) {
            rotated = *a;
            multiply_elements(&rotated, 8, z[v][0], z[v][1]);
            m = rotated.at;
        }
        add_terms(factor[v], m, b->at, &x);
    }
    finish_sums(&x, sums);
    sum_lanes(sums, 8, whole);
    for (int e = 0; e < 8; e++)
        to[e] += whole[e];
}

/* An element of diagonal terms times the factors, which z has with the phases of the rest; factors
 * and z NULL: 1. */
INLINE void sum_element(const source_batch *g, const vec *factor, const vec (*z)[2], const vec *a,
                        const vec *b, vec to[2])
{
    vec x[2] = {splat(0), splat(0)}, y[2] = {splat(0), splat(0)};

    for (int v = 0; v < g->vectors; v++, a += 2, b += 2) {
        vec re = a[0], im = a[1];
        if (z) {
            re = a[0] * z[v][0];
            im = a[0] * z[v][1];
            re -= a[1] * z[v][1];
            im += a[1] * z[v][0];
        } else if (factor) {
            re *= factor[v];
            im *= factor[v];
        }
        KEEP(re);
        KEEP(im);
        x[0] += re * b[0];
        x[1] += re * b[1];
        y[0] -= im * b[1];
        y[1] += im * b[0];
    }
    to[0] = x[0] + y[0];
    to[1] = x[1] + y[1];
}

/* z becomes the product of scalars of both sides, the factors and, of strays, itself. */
INLINE void multiply_scalars(const source_batch *g, const vec *factor, int stray, const vec *a,
                             const vec *b, vec (*z)[2])
{
    for (int v = 0; v < g->vectors; v++, a += 2, b += 2) {
        vec x[2] = {splat(0), splat(0)}, y[2] = {splat(0), splat(0)};
        add_times(x, a, b[0], b[1]);
        if (stray) {
            add_times(y, x, z[v][0], z[v][1]);
            memcpy(x, y, sizeof(x));
        }
        z[v][0] = !stray && factor ? x[0] * factor[v] : x[0];
        z[v][1] = !stray && factor ? x[1] * factor[v] : x[1];
    }
}

/* The sum of z times an element of the brightnesses. */
INLINE void sum_brightness(const source_batch *g, int c, int k, const vec (*z)[2], vec to[2])
{
    const grove_predict_channels_job *job = g->job;
    const int apart = job->weight_channel ? job->to - job->from : 1;
    const jones *b = g->brightness + (job->weight_channel ? c - job->from : 0);
    const int e = 2 * job->element[k];
    vec x[2] = {splat(0), splat(0)}, y[2] = {splat(0), splat(0)};

    for (int v = 0; v < g->vectors; v++, b += apart) {
        x[0] += z[v][0] * b->at[e];
        x[1] += z[v][1] * b->at[e];
        if (g->complex_element[k]) {
            y[0] -= z[v][1] * b->at[e + 1];
            y[1] += z[v][0] * b->at[e + 1];
        }
    }
    to[0] = x[0] + y[0];
    to[1] = x[1] + y[1];
}

/* Sums of a row in a channel, the lanes not added yet: to[element][re, im], `apart` vectors apart.
 */
INLINE void sums_in_channel(const source_batch *g, int row, int c, const vec *factor, int stray,
                            vec *left, vec *right, vec *to, int apart)
{
    const grove_predict_channels_job *job = g->job;
    const int p = job->side[0].station[row], q = job->side[1].station[row];
    const int scalars = multiplies_rows(job);
    vec z[BATCH][2];

    if (stray)
        rest_phases(g, row, c, z);
    for (int v = 0; v < g->vectors && stray && factor; v++) {
        z[v][0] *= factor[v];
        z[v][1] *= factor[v];
    }
    if (scalars)
        multiply_scalars(g, factor, stray, diagonals_at(g, left, p, c, 0),
                         diagonals_at(g, right, q, c, 0), z);
    for (int k = 0; k < job->elements; k++) {
        vec x[2];
        if (scalars)
            sum_brightness(g, c, k, (const vec(*)[2])z, x);
        else
            sum_element(g, factor, stray ? (const vec(*)[2])z : NULL,
                        diagonals_at(g, left, p, c, k), diagonals_at(g, right, q, c, k), x);
        to[2 * k * apart] = x[0];
        to[(2 * k + 1) * apart] = x[1];
    }
}

INLINE void add_row(const source_batch *g, int row, int stray, vec *left, vec *right)
{
    const grove_predict_channels_job *job = g->job;
    const int channels = job->to - job->from, count = 2 * job->elements * channels;
    const int has_factors = job->width || job->smear_time || job->points < job->sources;
    double *to = (double *)job->sums + (int64_t)row * 8 * job->at_once + job->from;
    vec across[BATCH], extents[BATCH], factor[BATCH], sums[MOST_SUMS];
    double whole[MOST_SUMS];

    find_extents(g, row, extents);
    for (int c = job->from; c < job->to; c++) {
        if (has_factors && (c == job->from || (job->width && job->width[c] != job->width[c - 1])))
            smear_across(g, row, c, across);
        if (has_factors)
            smear_along(g, row, c, across, extents, factor);
        sums_in_channel(g, row, c, has_factors ? factor : NULL, stray, left, right,
                        sums + (c - job->from), channels);
    }
    for (int i = count; i % TOGETHER; i++)
        sums[i] = splat(0);
    sum_lanes(sums, count, whole);
    for (int k = 0; k < 2 * job->elements; k++)
        for (int c = 0; c < channels; c++)
            to[(2 * job->element[k / 2] + k % 2) * job->at_once + c] += whole[k * channels + c];
}

/* Sums with diagonal terms in all channels. */
static void diagonal_sums(source_batch *g)
{
    const grove_predict_channels_job *job = g->job;
    const int scalars = multiplies_rows(job),
              channels = job->weight_channel ? job->to - job->from : 1;
    vec *left = job->panel, *right = left + 8 * (int64_t)SPAN * job->stations;

    for (int v = 0; v < g->vectors; v++) {
        for (int i = 0; i < channels; i++)
            load_source_brightness(g, v, job->from + i, scalars ? v * channels + i : i);
        for (int i = 0; i < channels && scalars; i++)
            for (int k = 0; k < job->elements; k++)
                g->complex_element[k] |=
                    any_of(g->brightness[v * channels + i].at[2 * job->element[k] + 1] != splat(0));
        for (int p = 0; p < job->stations; p++)
            for (int side = 0; side < 2; side++)
                if (job->side[side].wanted[p])
                    fill_diagonals(g, side ? right : left, side, p, v);
    }
    for (int row = 0; row < job->rows; row++)
        if (job->stray[row])
            add_row(g, row, 1, left, right);
        else
            add_row(g, row, 0, left, right);
}

static void source_sums(const grove_predict_channels_job *job)
{
    jones *left = job->panel, *right = left + (int64_t)job->stations * SPAN;
    source_batch g;

    start_source_batch(&g, job);
    if (job->diagonal) {
        diagonal_sums(&g);
        return;
    }
    for (int v = 0; v < g.vectors; v++)
        load_source_brightness(&g, v, 0, v);
    for (int v = 0; v < g.vectors; v++)
        for (int p = 0; p < job->stations; p++)
            for (int side = 0; side < 2; side++)
                if (job->side[side].wanted[p])
                    fill_station_sources(&g, side, p, v, 0, (side ? right : left) + p * SPAN + v);
    for (int row = 0; row < job->rows; row++) {
        const jones *a = left + job->side[0].station[row] * SPAN;
        const jones *b = right + job->side[1].station[row] * SPAN;
        if (job->stray[row])
            add_sources(&g, row, 1, a, b);
        else
            add_sources(&g, row, 0, a, b);
    }
}

#endif
