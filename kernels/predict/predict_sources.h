/* The sum over sources for baselines, of Jones terms of source and station, a source in each lane:
 * what predict_channels.h does, for one channel, where there are too few to fill a vector.
 *
 * The factors of stations are made for some vectors of sources: 512 bytes for a vector, station and
 * side, half a MiB for 64 stations. A source-visibility then takes 32 multiply-adds of the product,
 * 8 of the real factor and 18 for each kind of smearing, the delay with it; sums over the lanes
 * come once for a row and WIDE vectors, some 40. */
#ifndef GROVE_KERNELS_PREDICT_SOURCES_H
#define GROVE_KERNELS_PREDICT_SOURCES_H

#include "predict_channels.h"

enum { WIDE = SPAN /* vectors of sources at once */ };

typedef struct {
    const grove_predict_channels_job *job;
    int vectors;
    _Alignas(64) double direction[3][WIDE * LANES], ellipse[4][WIDE * LANES];
    int gaussians[WIDE]; /* are there any in the vector? */
    jones brightness[WIDE];
    int plain[WIDE];
} crowd;

/* uvw . direction of vector v. */
FORCE void dot_crowd(const crowd *g, const double *u, int v, half to[PARTS])
{
    for (int i = 0; i < PARTS; i++) {
        int at = v * LANES + i * PART;
        to[i] = *(const loose *)&g->direction[0][at] * u[0] +
                *(const loose *)&g->direction[1][at] * u[1] +
                *(const loose *)&g->direction[2][at] * u[2];
    }
}

/* ---- factors of stations ---- */

/* Numbers so small become 1e-10, which changes no sinc, and the product of two can be divided by.
 */
FORCE vec keep_away(vec x)
{
    wholes tiny = (x < R(1e-10)) & (x > -R(1e-10));

    return (vec)((tiny & (wholes)splat(R(1e-10))) | (~tiny & (wholes)x));
}

static void start_crowd(crowd *g, const grove_predict_channels_job *job)
{
    static const real nothing[8] = {0};
    grove_predict_jones_side cells = {.numbers = 8, .bytes = sizeof(real)};

    memset(g, 0, sizeof(*g));
    g->job = job;
    g->vectors = (job->sources + LANES - 1) / LANES;
    for (int s = 0; s < job->sources; s++) {
        for (int d = 0; d < 3; d++)
            g->direction[d][s] = job->direction[3 * s + d];
        for (int d = 0; d < 4 && s >= job->points; d++)
            g->ellipse[d][s] = job->ellipse[4 * (s - job->points) + d];
        g->gaussians[s / LANES] |= s >= job->points;
    }
    for (int v = 0; v < g->vectors; v++) {
        g->plain[v] = 1;
        for (int i = 0; i < LANES; i++) {
            int s = v * LANES + i;
            const real *b =
                s < job->sources ? (const real *)job->weight + job->weight_source * s : nothing;
            cells.at[i] = (const char *)b;
            g->plain[v] = g->plain[v] && is_plain(b);
        }
        take_side(&cells, 0, &g->brightness[v]);
    }
}

/* Jones terms of a station for vector v; sources beyond the last as that. */
static void take_sources(const grove_predict_channels_job *job, int which, int station, int v,
                         jones *to)
{
    const grove_predict_channels_side *from = &job->side[which];
    grove_predict_jones_side side = {.numbers = from->numbers, .bytes = from->bytes};

    for (int i = 0; i < LANES && from->numbers; i++) {
        int s = v * LANES + i < job->sources ? v * LANES + i : job->sources - 1;
        side.at[i] = from->at[station] + from->source * job->order[s];
        if (station + AHEAD < job->stations && from->wanted[station + AHEAD])
            __builtin_prefetch(from->at[station + AHEAD] + from->source * job->order[s] +
                               from->channel * job->offset);
    }
    take_side(&side, from->channel * job->offset, to);
}

static void fill_crowd(const crowd *g, int which, int station, int v, jones *to)
{
    const grove_predict_channels_job *job = g->job;
    half turns[PARTS];
    jones terms;
    vec c, s;

    dot_crowd(g, job->side[which].uvw + 3 * station, v, turns);
    turn(turns_of(turns, which ? job->freq[0] : -job->freq[0]), &c, &s);
    take_sources(job, which, station, v, &terms);
    if (which)
        *to = terms;
    else
        multiply_brightness(job, &terms, &g->brightness[v], g->plain[v], to);
    turn_elements(to, 8, c, s);
}

/* ---- rows ---- */

/* The sum of the lanes, halves first. */
FORCE double total(vec x)
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

FORCE vec extent_of(const crowd *g, const double *u, int v)
{
    double square = g->job->freq[0] * g->job->freq[0];
    half to[PARTS];

    for (int i = 0; i < PARTS; i++) {
        int at = v * LANES + i * PART;
        half x =
            *(const loose *)&g->ellipse[0][at] * u[0] + *(const loose *)&g->ellipse[1][at] * u[1];
        half y =
            *(const loose *)&g->ellipse[2][at] * u[0] + *(const loose *)&g->ellipse[3][at] * u[1];
        to[i] = (x * x + y * y) * square;
    }
    return narrow(to);
}

/* Shape and smearing of vector v in a row. */
FORCE vec crowd_factor(const crowd *g, int row, int v)
{
    const grove_predict_channels_job *job = g->job;
    vec over = splat(1), under = splat(1);
    half x[PARTS];

    if (job->width) {
        dot_crowd(g, job->uvw + 3 * row, v, x);
        vec y = keep_away(narrow(x) * (real)job->width[0]);
        over = sine_of_half_turns(y);
        under = y * R(3.14159265358979323846);
    }
    if (job->smear_time) {
        dot_crowd(g, job->change + 3 * row, v, x);
        vec y = keep_away(narrow(x) * (real)job->freq[0]);
        over *= sine_of_half_turns(y);
        under *= y * R(3.14159265358979323846);
    }
    if (job->width || job->smear_time)
        over /= under;
    if (g->gaussians[v])
        over *= decay(extent_of(g, job->uvw + 3 * row, v));
    return over;
}

FORCE void turn_crowd(const crowd *g, int row, int v, jones *a)
{
    half turns[PARTS];
    vec c, s;

    dot_crowd(g, g->job->rest + 3 * row, v, turns);
    turn(turns_of(turns, -g->job->freq[0]), &c, &s);
    turn_elements(a, 8, c, s);
}

FORCE void add_crowd(const crowd *g, int row, int stray, const jones *a, const jones *b)
{
    const vec zero = splat(0);
    double *to = (double *)g->job->sums + (int64_t)row * 8;
    vec x0[2] = {zero, zero}, x1[2] = {zero, zero}, x2[2] = {zero, zero}, x3[2] = {zero, zero};
    vec factor[WIDE];

    for (int v = 0; v < g->vectors; v++)
        factor[v] = crowd_factor(g, row, v);
    for (int v = 0; v < g->vectors; v++, a++, b++) {
        const vec *m = a->at;
        jones turned;
        if (stray) {
            turned = *a;
            turn_crowd(g, row, v, &turned);
            m = turned.at;
        }
        add_terms(factor[v], m, b->at, x0, x1, x2, x3);
    }
    for (int k = 0; k < 2; k++) {
        to[k] += total(x0[k]);
        to[2 + k] += total(x1[k]);
        to[4 + k] += total(x2[k]);
        to[6 + k] += total(x3[k]);
    }
}

static void add_crowd_row(const crowd *g, int row, const jones *a, const jones *b)
{
    add_crowd(g, row, 0, a, b);
}

static void add_crowd_stray(const crowd *g, int row, const jones *a, const jones *b)
{
    add_crowd(g, row, 1, a, b);
}

static void add_crowd_diagonals(const crowd *g, int row, const jones *a, const jones *b)
{
    const grove_predict_channels_job *job = g->job;
    double *to = (double *)job->sums + (int64_t)row * 8;
    vec sums[8];

    for (int k = 0; k < 8; k++)
        sums[k] = splat(0);
    for (int v = 0; v < g->vectors; v++, a++, b++) {
        vec f = crowd_factor(g, row, v);
        jones turned = *a;
        if (job->stray[row])
            turn_crowd(g, row, v, &turned);
        for (int k = 0; k < job->elements; k++) {
            int e = 2 * job->element[k];
            vec re = turned.at[e] * f, im = turned.at[e + 1] * f;
            KEEP(re);
            KEEP(im);
            add_product_of(sums + e, re, im, b->at + (e & 2 ? 6 : 0));
        }
    }
    for (int k = 0; k < 8; k++)
        to[k] += total(sums[k]);
}

static void source_sums(const grove_predict_channels_job *job)
{
    jones *left = job->panel, *right = left + (int64_t)job->stations * WIDE;
    crowd g;

    start_crowd(&g, job);
    for (int v = 0; v < g.vectors; v++)
        for (int p = 0; p < job->stations; p++)
            for (int side = 0; side < 2; side++)
                if (job->side[side].wanted[p])
                    fill_crowd(&g, side, p, v, (side ? right : left) + p * WIDE + v);
    for (int row = 0; row < job->rows; row++) {
        const jones *a = left + job->side[0].station[row] * WIDE;
        const jones *b = right + job->side[1].station[row] * WIDE;
        if (job->diagonal)
            add_crowd_diagonals(&g, row, a, b);
        else if (job->stray[row])
            add_crowd_stray(&g, row, a, b);
        else
            add_crowd_row(&g, row, a, b);
    }
}

#endif
