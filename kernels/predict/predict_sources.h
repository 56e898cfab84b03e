/* Sums with Jones terms of source and station, a source in each lane: what predict_channels.h does,
 * but for one channel, where channels are too few to fill a vector.
 *
 * A panel keeps the factors of stations for some vectors of sources: 512 bytes for a vector,
 * station and side, half a MiB for 64 stations. A source-visibility takes 32 multiply-adds for the
 * product, 8 for the real factor and 10 for each kind of smearing, its delay included. Diagonal
 * Jones terms, or none, take 6 for each element instead of 40. Sums over the lanes are computed
 * once for a row and BATCH vectors, some 40 operations. */
#ifndef GROVE_KERNELS_PREDICT_SOURCES_H
#define GROVE_KERNELS_PREDICT_SOURCES_H

#include "predict_channels.h"
#include "predict_sincs.h"

enum { BATCH = SPAN /* vectors of sources at once */ };

typedef struct {
    const grove_predict_channels_job *job;
    int vectors;
    _Alignas(64) double direction[3][BATCH * LANES], ellipse[4][BATCH * LANES];
    _Alignas(64) real narrow[3][BATCH * LANES]; /* direction */
    double largest[3];                          /* of the directions */
    int gaussians[BATCH];                       /* are there any in the vector? */
    jones brightness[BATCH];
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
    static const real nothing[8] = {0};
    grove_predict_jones_side cells = {.numbers = 8, .bytes = sizeof(real)};

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
    for (int v = 0; v < g->vectors; v++) {
        g->unpolarised[v] = 1;
        for (int i = 0; i < LANES; i++) {
            int s = v * LANES + i;
            const real *b =
                s < job->sources ? (const real *)job->weight + job->weight_source * s : nothing;
            cells.at[i] = (const char *)b;
            g->unpolarised[v] = g->unpolarised[v] && is_unpolarised(b);
        }
        load_cells(&cells, 0, &g->brightness[v]);
    }
}

/* Jones terms of a station for vector v; lanes beyond the last source repeat it. */
static void load_station_sources(const grove_predict_channels_job *job, int which, int station,
                                 int v, jones *to)
{
    const grove_predict_channels_side *from = &job->side[which];
    grove_predict_jones_side side = {.numbers = from->numbers, .bytes = from->bytes};

    for (int i = 0; i < LANES && from->numbers; i++) {
        int s = v * LANES + i < job->sources ? v * LANES + i : job->sources - 1;
        side.at[i] = from->at[station] + from->source * job->order[s];
        if (station + PREFETCH_AHEAD < job->stations && from->wanted[station + PREFETCH_AHEAD])
            __builtin_prefetch(from->at[station + PREFETCH_AHEAD] + from->source * job->order[s] +
                               from->channel * job->offset);
    }
    load_cells(&side, from->channel * job->offset, to);
}

static void fill_station_sources(const source_batch *g, int which, int station, int v, jones *to)
{
    const grove_predict_channels_job *job = g->job;
    doubles turns[PARTS];
    jones terms;
    vec c, s;

    dot_sources(g, job->side[which].uvw + 3 * station, v, turns);
    phasor(fractional_turns(turns, which ? job->freq[0] : -job->freq[0]), &c, &s);
    if (!job->side[which].numbers && (which || g->unpolarised[v])) {
        vec b = which ? splat(1) : g->brightness[v].at[0];
        *to = (jones){{c * b, s * b, splat(0), splat(0), splat(0), splat(0), c * b, s * b}};
        return;
    }
    load_station_sources(job, which, station, v, &terms);
    if (which)
        *to = terms;
    else
        multiply_brightness(job, &terms, &g->brightness[v], g->unpolarised[v], to);
    multiply_elements(to, 8, c, s);
}

/* ---- rows ---- */

/* The sum of the lanes, halves first. */
INLINE double sum_lanes(vec x)
{
#if GROVE_REAL_SINGLE && VECTOR_BYTES == 64
    x += __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
    x += __builtin_shufflevector(x, x, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7);
    return (double)((x[0] + x[2]) + (x[1] + x[3]));
#elif (GROVE_REAL_SINGLE && VECTOR_BYTES == 32) || VECTOR_BYTES == 64
    x += __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3);
    return (double)((x[0] + x[2]) + (x[1] + x[3]));
#elif GROVE_REAL_SINGLE || VECTOR_BYTES == 32
    return (double)((x[0] + x[2]) + (x[1] + x[3]));
#else
    return x[0] + x[1];
#endif
}

INLINE vec extent_of(const source_batch *g, const double *u, int v)
{
    double square = g->job->freq[0] * g->job->freq[0];
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

/* uvw . direction * scale: turns that need no more than single precision. */
INLINE void smeared_turns(const source_batch *g, const double *uvw, double scale, vec *to)
{
    const vec *l = (const vec *)(const void *)g->narrow[0], *m = l + BATCH, *n = m + BATCH;
    real u = (real)(uvw[0] * scale), v = (real)(uvw[1] * scale), w = (real)(uvw[2] * scale);

    for (int i = 0; i < g->vectors; i++)
        to[i] = l[i] * u + m[i] * v + n[i] * w;
}

/* No source has more of these turns. */
INLINE double most_turns(const source_batch *g, const double *uvw, double scale)
{
    return (fabs(uvw[0]) * g->largest[0] + fabs(uvw[1]) * g->largest[1] +
            fabs(uvw[2]) * g->largest[2]) *
           fabs(scale);
}

/* Shapes and smearing of all sources in a row. */
INLINE void source_factors(const source_batch *g, int row, vec *factor)
{
    const grove_predict_channels_job *job = g->job;
    vec across[BATCH];
    double most = 0;

    for (int v = 0; v < g->vectors; v++)
        factor[v] = across[v] = splat(0);
    if (job->smear_time) {
        smeared_turns(g, job->change + 3 * row, job->freq[0], factor);
        most = most_turns(g, job->change + 3 * row, job->freq[0]);
    }
    if (job->width) {
        smeared_turns(g, job->uvw + 3 * row, job->width[0], across);
        most = fmax(most, most_turns(g, job->uvw + 3 * row, job->width[0]));
    }
    if ((job->width || job->smear_time) && most < 0.49)
        sincs_of(factor, across, g->vectors, 1);
    else if (job->width || job->smear_time)
        sincs_of(factor, across, g->vectors, 0);
    for (int v = 0; v < g->vectors && !job->width && !job->smear_time; v++)
        factor[v] = splat(1);
    for (int v = 0; v < g->vectors; v++)
        if (g->gaussians[v])
            factor[v] *= decay(extent_of(g, job->uvw + 3 * row, v));
}

INLINE void multiply_by_rest_phases(const source_batch *g, int row, int v, jones *a)
{
    doubles turns[PARTS];
    vec c, s;

    dot_sources(g, g->job->rest + 3 * row, v, turns);
    phasor(fractional_turns(turns, -g->job->freq[0]), &c, &s);
    multiply_elements(a, 8, c, s);
}

INLINE void add_sources(const source_batch *g, int row, int stray, const jones *a, const jones *b)
{
    const vec zero = splat(0);
    double *to = (double *)g->job->sums + (int64_t)row * 8;
    vec x0[2] = {zero, zero}, x1[2] = {zero, zero}, x2[2] = {zero, zero}, x3[2] = {zero, zero};
    vec factor[BATCH];

    source_factors(g, row, factor);
    for (int v = 0; v < g->vectors; v++, a++, b++) {
        const vec *m = a->at;
        jones rotated;
        if (stray) {
            rotated = *a;
            multiply_by_rest_phases(g, row, v, &rotated);
            m = rotated.at;
        }
        add_terms(factor[v], m, b->at, x0, x1, x2, x3);
    }
    for (int k = 0; k < 2; k++) {
        to[k] += sum_lanes(x0[k]);
        to[2 + k] += sum_lanes(x1[k]);
        to[4 + k] += sum_lanes(x2[k]);
        to[6 + k] += sum_lanes(x3[k]);
    }
}

/* Factors of all sources in a row, with the phases of its rest. */
INLINE void rest_factors(const source_batch *g, int row, vec (*z)[2])
{
    vec turns[BATCH], factor[BATCH];
    doubles rest[PARTS];

    source_factors(g, row, factor);
    for (int v = 0; v < g->vectors; v++) {
        dot_sources(g, g->job->rest + 3 * row, v, rest);
        turns[v] = fractional_turns(rest, -g->job->freq[0]);
    }
    for (int v = 0; v < g->vectors; v++) {
        phasor(turns[v], &z[v][0], &z[v][1]);
        z[v][0] *= factor[v];
        z[v][1] *= factor[v];
    }
}

/* Element e / 2 of diagonal terms. */
INLINE void add_source_element(const source_batch *g, int row, int e, const vec *factor,
                               const vec (*z)[2], const jones *a, const jones *b)
{
    double *to = (double *)g->job->sums + (int64_t)row * 8 + e;
    vec x[2] = {splat(0), splat(0)};

    for (int v = 0; v < g->vectors; v++) {
        const vec *m = a[v].at + e;
        vec re, im;
        if (z) {
            re = m[0] * z[v][0];
            im = m[0] * z[v][1];
            re -= m[1] * z[v][1];
            im += m[1] * z[v][0];
        } else {
            re = m[0] * factor[v];
            im = m[1] * factor[v];
        }
        KEEP(re);
        KEEP(im);
        add_product_of(x, re, im, b[v].at + (e & 2 ? 6 : 0));
    }
    to[0] += sum_lanes(x[0]);
    to[1] += sum_lanes(x[1]);
}

static void add_source_diagonals(const source_batch *g, int row, const jones *a, const jones *b)
{
    const grove_predict_channels_job *job = g->job;
    vec factor[BATCH], z[BATCH][2];

    if (job->stray[row])
        rest_factors(g, row, z);
    else
        source_factors(g, row, factor);
    for (int k = 0; k < job->elements; k++)
        if (job->stray[row])
            add_source_element(g, row, 2 * job->element[k], NULL, (const vec(*)[2])z, a, b);
        else
            add_source_element(g, row, 2 * job->element[k], factor, NULL, a, b);
}

static void source_sums(const grove_predict_channels_job *job)
{
    jones *left = job->panel, *right = left + (int64_t)job->stations * BATCH;
    source_batch g;

    start_source_batch(&g, job);
    for (int v = 0; v < g.vectors; v++)
        for (int p = 0; p < job->stations; p++)
            for (int side = 0; side < 2; side++)
                if (job->side[side].wanted[p])
                    fill_station_sources(&g, side, p, v, (side ? right : left) + p * BATCH + v);
    for (int row = 0; row < job->rows; row++) {
        const jones *a = left + job->side[0].station[row] * BATCH;
        const jones *b = right + job->side[1].station[row] * BATCH;
        if (job->diagonal)
            add_source_diagonals(&g, row, a, b);
        else if (job->stray[row])
            add_sources(&g, row, 1, a, b);
        else
            add_sources(&g, row, 0, a, b);
    }
}

#endif
