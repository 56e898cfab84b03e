/* Sums with Jones terms of source and station, a source in each lane: what predict_channels.h does,
 * but for one channel, or a few with diagonal Jones terms, where channels are too few to fill a
 * vector.
 *
 * A panel keeps the factors of stations for some vectors of sources: 64 vectors of AVX-512 for a
 * station and side at most, half a MiB for 64 stations. A source-visibility takes 24 multiply-adds
 * and 8 sums for the product (32 where registers are too few), 8 for the real factor. Diagonal
 * Jones terms, or none, take 6 for each element. Smearing in time, or over the width, takes 4 for
 * its argument and a polynomial of 2 to 8 steps, by the largest argument of these sources in the
 * row; channels of equal widths share the latter. Sums over the lanes are computed once for a row,
 * channel and batch, some 15 operations. */
#ifndef GROVE_KERNELS_PREDICT_SOURCES_H
#define GROVE_KERNELS_PREDICT_SOURCES_H

#include "predict_channels.h"
#include "predict_sincs.h"

enum { BATCH = PREDICT_BATCH(SPAN, 1) /* vectors of sources at once, at most */ };

typedef struct {
    const grove_predict_channels_job *job;
    int vectors;
    _Alignas(64) double direction[3][BATCH * LANES], ellipse[4][BATCH * LANES];
    _Alignas(64) real narrow[3][BATCH * LANES]; /* direction */
    double largest[3];                          /* of the directions */
    int gaussians[BATCH];                       /* are there any in the vector? */
    jones brightness[BATCH]; /* of all vectors in a channel, or with diagonal terms of a vector in
                                all channels */
    int unpolarised[BATCH];
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
    memset(g, 0, sizeof(*g));
    g->job = job;
    g->vectors = (job->sources + LANES - 1) / LANES;
    for (int s = 0; s < job->sources; s++) {
        for (int d = 0; d < 3; d++) {
            g->direction[d][s] = job->direction[3 * s + d];
            g->narrow[d][s] = (real)job->direction[3 * s + d];
            g->largest[d] = fmax(g->largest[d], fabs(job->direction[3 * s + d]));
        }
        for (int d = 0; d < 4 && s >= job->points; d++)
            g->ellipse[d][s] = job->ellipse[4 * (s - job->points) + d];
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

    g->unpolarised[place] = 1;
    for (int i = 0; i < LANES; i++) {
        int s = v * LANES + i;
        const real *b = s < job->sources ? weight + job->weight_source * s : nothing;
        cells.at[i] = (const char *)b;
        g->unpolarised[place] = g->unpolarised[place] && is_unpolarised(b);
    }
    load_cells(&cells, 0, &g->brightness[place]);
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

/* Where the panel has an element of diagonal terms: [station][channel][element][vector][re, im].
 * On the right side elements are those of the diagonal, or the only one that is wanted. */
INLINE vec *diagonals_at(const source_batch *g, vec *panel, int station, int c, int element)
{
    const grove_predict_channels_job *job = g->job;
    int elements = job->elements;

    if (panel != job->panel)
        element = elements > 1 ? job->element[element] & 1 : 0;
    return panel + 2 * (int64_t)g->vectors * ((station * job->at_once + c) * elements + element);
}

/* The elements of a station's diagonal terms in all channels, on the left times the brightness,
 * with their phases. Terms that channels share are loaded once. */
static void fill_diagonals(const source_batch *g, vec *panel, int which, int station, int v)
{
    const grove_predict_channels_job *job = g->job;
    doubles turns[PARTS];
    jones terms, m;

    turns_of_station(g, which, station, v, turns);
    for (int c = job->from; c < job->to; c++) {
        const int first = c == job->from, b = job->weight_channel ? c : job->from;
        const int loads = first || job->side[which].channel;
        vec z[2];
        phases_in_channel(g, which, turns, c, z);
        if (loads)
            load_station_sources(job, which, station, v, c, which ? &m : &terms);
        if (!which && (loads || job->weight_channel))
            multiply_brightness(job, &terms, &g->brightness[b], g->unpolarised[b], &m);
        for (int k = 0; k < job->elements; k++) {
            int e = which ? 6 * (job->element[k] & 1) : 2 * job->element[k];
            rotate(diagonals_at(g, panel, station, c, k) + 2 * v, &m.at[e], z[0], z[1]);
        }
    }
}

/* ---- rows ---- */

#if GROVE_REAL_SINGLE
#define SUMMED_BYTES 4
#else
#define SUMMED_BYTES 8
#endif

/* Adds the sums of the lanes, halves first. */
INLINE void sum_lanes(vec x, vec y, double *sum, double *other)
{
#if VECTOR_BYTES / SUMMED_BYTES == 16
    x = __builtin_shufflevector(x, y, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23) +
        __builtin_shufflevector(x, y, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
    x += __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
    *sum += (double)((x[0] + x[2]) + (x[1] + x[3]));
    *other += (double)((x[8] + x[10]) + (x[9] + x[11]));
#elif VECTOR_BYTES / SUMMED_BYTES == 8
    x = __builtin_shufflevector(x, y, 0, 1, 2, 3, 8, 9, 10, 11) +
        __builtin_shufflevector(x, y, 4, 5, 6, 7, 12, 13, 14, 15);
    *sum += (double)((x[0] + x[2]) + (x[1] + x[3]));
    *other += (double)((x[4] + x[6]) + (x[5] + x[7]));
#elif VECTOR_BYTES / SUMMED_BYTES == 4
    *sum += (double)((x[0] + x[2]) + (x[1] + x[3]));
    *other += (double)((y[0] + y[2]) + (y[1] + y[3]));
#else
    *sum += (double)(x[0] + x[1]);
    *other += (double)(y[0] + y[1]);
#endif
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
                    *(const unaligned *)&g->ellipse[3][at] * u[1];
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
    double *to = (double *)g->job->sums + (int64_t)row * 8;
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
    for (int e = 0; e < 8; e += 2)
        sum_lanes(sums[e], sums[e + 1], to + e, to + e + 1);
}

/* An element of diagonal terms times the factors, which z has with the phases of the rest. */
INLINE void add_source_element(const source_batch *g, double *to, const vec *factor,
                               const vec (*z)[2], const vec *a, const vec *b)
{
    vec x[2] = {splat(0), splat(0)}, y[2] = {splat(0), splat(0)};

    for (int v = 0; v < g->vectors; v++, a += 2, b += 2) {
        vec re, im;
        if (z) {
            re = a[0] * z[v][0];
            im = a[0] * z[v][1];
            re -= a[1] * z[v][1];
            im += a[1] * z[v][0];
        } else {
            re = a[0] * factor[v];
            im = a[1] * factor[v];
        }
        KEEP(re);
        KEEP(im);
        x[0] += re * b[0];
        x[1] += re * b[1];
        y[0] -= im * b[1];
        y[1] += im * b[0];
    }
    sum_lanes(x[0] + y[0], x[1] + y[1], to, to + g->job->at_once);
}

INLINE void add_source_diagonals(const source_batch *g, int row, int stray, vec *left, vec *right)
{
    const grove_predict_channels_job *job = g->job;
    vec across[BATCH], extents[BATCH], factor[BATCH], z[BATCH][2];

    find_extents(g, row, extents);
    for (int c = job->from; c < job->to; c++) {
        if (c == job->from || (job->width && job->width[c] != job->width[c - 1]))
            smear_across(g, row, c, across);
        smear_along(g, row, c, across, extents, factor);
        if (stray)
            rest_phases(g, row, c, z);
        for (int v = 0; v < g->vectors && stray; v++) {
            z[v][0] *= factor[v];
            z[v][1] *= factor[v];
        }
        for (int k = 0; k < job->elements; k++)
            add_source_element(g,
                               (double *)job->sums +
                                   ((int64_t)row * 8 + 2 * job->element[k]) * job->at_once + c,
                               factor, stray ? (const vec(*)[2])z : NULL,
                               diagonals_at(g, left, job->side[0].station[row], c, k),
                               diagonals_at(g, right, job->side[1].station[row], c, k));
    }
}

/* Sums with diagonal terms in all channels. */
static void diagonal_sums(source_batch *g)
{
    const grove_predict_channels_job *job = g->job;
    vec *left = job->panel, *right = left + 8 * (int64_t)SPAN * job->stations;

    for (int v = 0; v < g->vectors; v++) {
        for (int c = job->from; c < (job->weight_channel ? job->to : job->from + 1); c++)
            load_source_brightness(g, v, c, c);
        for (int p = 0; p < job->stations; p++)
            for (int side = 0; side < 2; side++)
                if (job->side[side].wanted[p])
                    fill_diagonals(g, side ? right : left, side, p, v);
    }
    for (int row = 0; row < job->rows; row++)
        if (job->stray[row])
            add_source_diagonals(g, row, 1, left, right);
        else
            add_source_diagonals(g, row, 0, left, right);
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
