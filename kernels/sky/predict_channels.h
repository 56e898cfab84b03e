/* Sums with Jones terms of source, station and channel, a channel in each lane: V_pq = sum_s
 * (left_p B K_p) (right_q conj K_q) * shape * smearing.
 *
 * A panel keeps the factors in brackets for a few sources, all stations and one vector of channels:
 * 512 bytes for a source, station and side, half a MiB for 64 stations, which stays in the
 * second-level cache while all rows use it. A source-visibility takes 24 multiply-adds for the
 * product, and 8 sums besides (32 multiply-adds where registers are too few), 8 for the real factor
 * and 4 to 10 for sinc(nu G), where G is the change of the delay in an integration: a polynomial of
 * the degree that some rows need, or 14 for a sine where no polynomial holds. G^2, or 1 / G, and
 * smearing over equal widths are computed once for a source and row. Of the 16 loads 8 are of the
 * row's station p, which many rows share. Diagonal Jones terms take 6 multiply-adds for each
 * element. A row whose coordinates are not the difference of its stations' coordinates also takes
 * the phase of the rest, some 40 more. */
#ifndef GROVE_KERNELS_PREDICT_CHANNELS_H
#define GROVE_KERNELS_PREDICT_CHANNELS_H

#include "../common/visibility.h"
#include "predict_jones.h"
#include "predict_sincs.h"

#include <math.h>

enum {
    SPAN = 512 / VECTOR_BYTES, /* sources at once */
    ROW_BATCH = 8,             /* rows whose factors are made at once */
    STATIONS_AHEAD = 16        /* number of stations for which Jones terms are prefetched */
};

/* Factors of SPAN sources in ROW_BATCH rows. growth: change of the delay in an integration, in
 * turns at the reference frequency, squared where a polynomial of the row's level gives its sinc.
 */
typedef struct {
    _Alignas(64) real amplitude[ROW_BATCH * SPAN], growth[ROW_BATCH * SPAN],
        delay[ROW_BATCH * SPAN];
    _Alignas(64) real extent[ROW_BATCH * SPAN];
    double rest[ROW_BATCH * SPAN];
    int level[ROW_BATCH],
        small[ROW_BATCH]; /* small: |rest| is within SMALL_TURNS in all channels */
} row_factors;

typedef struct {
    const grove_predict_channels_job *job;
    doubles freq[PARTS];
    vec ratio, inverse, square, width; /* of the reference */
    double direction[3][SPAN], largest[3];
    jones brightness[SPAN];
    int unpolarised[SPAN]; /* a real number times unity in all lanes */
    row_factors factors;
} channel_batch;

/* ---- factors of stations ---- */

/* Cells of eight numbers, one after the other, to eight vectors. */
static void load_consecutive(const real *from, jones *to)
{
    vec x[8];

    memcpy(x, from, sizeof(x));
    transpose_cells(x, to);
}

/* The same of cells of two or four numbers: scalars or diagonals. */
static void load_consecutive_diagonals(const real *from, int numbers, jones *to)
{
    vec x[4], even[2], odd[2];

    for (int e = 2; e < 6; e++)
        to->at[e] = splat(0);
    memcpy(x, from, 2 * sizeof(vec));
    if (numbers == 2) {
        unzip(x[0], x[1], &to->at[0], &to->at[1]);
        memcpy(to->at + 6, to->at, 2 * sizeof(vec));
        return;
    }
    memcpy(x + 2, (const char *)from + 2 * sizeof(vec), 2 * sizeof(vec));
    for (int k = 0; k < 2; k++)
        unzip(x[2 * k], x[2 * k + 1], &even[k], &odd[k]);
    unzip(even[0], even[1], &to->at[0], &to->at[6]);
    unzip(odd[0], odd[1], &to->at[1], &to->at[7]);
}

/* Jones terms of a station in the channels of the tile, zero in others. */
static void load_station_channels(const grove_predict_channels_job *job, int which, int station,
                                  int source, jones *to)
{
    const grove_predict_channels_side *side = &job->side[which];
    const char *at = side->at[station];
    int64_t from = side->source * job->order[source] + side->channel * job->offset;
    vec numbers[8];
    real(*scalars)[LANES] = (real(*)[LANES])numbers;

    if (side->numbers && side->bytes == (int)sizeof(real) &&
        side->channel == side->numbers * (int64_t)sizeof(real)) {
        const real *cells = (const real *)(const void *)(at + from);
        if (job->from > 0 || job->to < LANES) {
            memset(numbers, 0, (size_t)side->numbers * sizeof(vec));
            memcpy((char *)numbers + job->from * side->channel,
                   at + from + job->from * side->channel,
                   (size_t)((job->to - job->from) * side->channel));
            cells = (const real *)(const void *)numbers;
        }
        if (side->numbers == 8)
            load_consecutive(cells, to);
        else
            load_consecutive_diagonals(cells, side->numbers, to);
        return;
    }
    memset(to, 0, sizeof(*to));
    if (!side->numbers) {
        to->at[0] = to->at[6] = splat(1);
        return;
    }
    memset(numbers, 0, sizeof(numbers));
    for (int k = 0; k < side->numbers; k++) {
        if (!side->channel)
            numbers[k] = splat(real_at(at + from, side->bytes, k));
        for (int i = job->from; i < job->to && side->channel; i++)
            scalars[k][i] = real_at(at + from + side->channel * i, side->bytes, k);
    }
    memcpy(to->at, numbers, (size_t)(side->numbers == 8 ? 8 : 2) * sizeof(vec));
    if (side->numbers != 8)
        memcpy(to->at + 6, numbers + side->numbers - 2, 2 * sizeof(vec));
}

/* Prefetches the Jones terms of a station, counted on into the next sources, whose Jones terms lie
 * far away. */
INLINE void prefetch_station(const grove_predict_channels_job *job, int which, int station,
                             int source)
{
    for (; station >= job->stations; source++)
        station -= job->stations;
    if (source >= job->sources + job->following)
        return;
    const grove_predict_channels_side *side = &job->side[which];
    int64_t from = side->source * job->order[source] + side->channel * job->offset;
    const int64_t bytes = (job->to - job->from) * side->channel;

    if (!side->numbers || !side->needed[station] || !bytes)
        return;
    const char *first = side->at[station] + from + job->from * side->channel;
    for (int64_t k = 0; k < bytes; k += 64)
        __builtin_prefetch(first + k, 0, 2); /* into the second cache */
    __builtin_prefetch(first + bytes - 1, 0, 2);
}

/* Terms times c + i s, on the left with the brightness; diagonal ones in the requested elements. */
INLINE void multiply_terms(const grove_predict_channels_job *job, int which, const jones *terms,
                           const jones *b, int unpolarised, vec c, vec s, jones *to)
{
    const vec zero = splat(0);

    if (!job->diagonal) {
        if (which)
            *to = *terms;
        else
            multiply_brightness(terms, b, unpolarised, to);
        multiply_elements(to, 8, c, s);
        return;
    }
    for (int k = 0; k < (which ? 2 : job->elements); k++) {
        const int e = which ? 6 * k : 2 * job->element[k];
        const vec *l = terms->at + (e & 4 ? 6 : 0);
        vec x[2] = {zero, zero};
        if (which) {
            memcpy(x, l, sizeof(x));
        } else if (!unpolarised) {
            add_times(x, l, b->at[e], b->at[e + 1]);
        } else if (e == 0 || e == 6) {
            x[0] = l[0] * b->at[0];
            x[1] = l[1] * b->at[0];
        }
        rotate(&to->at[e], x, c, s);
    }
}

/* The phases of a station on the left; those on the right are their conjugates. */
INLINE void station_phase(const channel_batch *g, const double *u, int source, vec *c, vec *s)
{
    double delay = u[0] * g->direction[0][source] + u[1] * g->direction[1][source] +
                   u[2] * g->direction[2][source];
    doubles turns[PARTS];

    for (int i = 0; i < PARTS; i++)
        turns[i] = g->freq[i] * -delay;
    phasor(fractional_turns(turns, 1.0), c, s);
}

static void fill_station(const channel_batch *g, int which, int station, int source, vec c, vec s,
                         jones *to)
{
    const grove_predict_channels_job *job = g->job;
    jones terms;

    load_station_channels(job, which, station, source, &terms);
    multiply_terms(job, which, &terms, &g->brightness[source], g->unpolarised[source], c, s, to);
}

/* Whether a brightness is a real number times unity in all lanes. */
INLINE int are_unpolarised(const jones *b)
{
    integers other = b->at[0] != b->at[6];

    for (int e = 1; e < 8; e++)
        if (e != 6)
            other |= b->at[e] != splat(0);
    return !any_of(other);
}

static void load_brightness(channel_batch *g)
{
    const grove_predict_channels_job *job = g->job;

    for (int i = 0; i < job->sources; i++) {
        const real *b = (const real *)job->weight + job->weight_source * i;
        if (job->weight_channel)
            load_consecutive(b, &g->brightness[i]);
        else
            for (int k = 0; k < 8; k++)
                g->brightness[i].at[k] = splat(b[k]);
        g->unpolarised[i] = are_unpolarised(&g->brightness[i]);
    }
}

/* ---- factors of rows ---- */

INLINE double along(const double *u, const channel_batch *g, int s)
{
    return u[0] * g->direction[0][s] + u[1] * g->direction[1][s] + u[2] * g->direction[2][s];
}

static void fill_extents(channel_batch *g, int row, int count)
{
    const grove_predict_channels_job *job = g->job;

    for (int r = 0; r < count; r++) {
        const double *u = job->uvw + 3 * (row + r);
        for (int s = job->points; s < job->sources; s++) {
            double extent = grove_find_extent(u, job->ellipse + 5 * (s - job->points));
            g->factors.extent[r * SPAN + s] = (real)(extent * (job->reference * job->reference));
        }
    }
}

/* No source has more turns along u in any channel. */
INLINE double most_along(const double *u, const channel_batch *g)
{
    return (fabs(u[0]) * g->largest[0] + fabs(u[1]) * g->largest[1] + fabs(u[2]) * g->largest[2]) *
           g->job->highest;
}

/* Level of the sincs of growth in a row, and their argument in place of the growth. It depends on
 * the row and the whole axis alone. */
static void find_level(channel_batch *g, int row, int r)
{
    const grove_predict_channels_job *job = g->job;
    const double *v = job->change + 3 * (row + r);
    real *growth = g->factors.growth + r * SPAN, *amplitude = g->factors.amplitude + r * SPAN;
    int level = sinc_level(most_along(v, g));

    g->factors.level[r] = level;
    for (int s = 0; s < SPAN && level < SINC_FAR; s++)
        growth[s] *= growth[s];
    for (int s = 0; s < SPAN && level == SINC_FAR; s++) {
        growth[s] = growth[s] < R(1e-20) && growth[s] > R(-1e-20) ? R(1e-20) : growth[s];
        amplitude[s] /= growth[s] * R(3.14159265358979323846);
    }
}

static void fill_rows(channel_batch *g, int row, int count)
{
    const grove_predict_channels_job *job = g->job;
    row_factors *f = &g->factors;

    for (int r = 0; r < count; r++) {
        const double *u = job->uvw + 3 * (row + r), *v = job->change + 3 * (row + r);
        for (int s = 0; s < SPAN; s++) {
            f->delay[r * SPAN + s] = (real)along(u, g, s);
            f->growth[r * SPAN + s] = (real)(along(v, g, s) * job->reference);
        }
        f->small[r] = most_along(job->rest + 3 * (row + r), g) <= SMALL_TURNS;
        for (int s = 0; s < SPAN && job->stray[row + r]; s++)
            f->rest[r * SPAN + s] = -along(job->rest + 3 * (row + r), g, s);
    }
    for (int i = 0; i < count * SPAN; i += LANES) {
        vec amplitude = splat(1);
        if (job->width && job->equal_width)
            amplitude = sinc_turns(*(const vec *)(const void *)(f->delay + i) *
                                   (real)job->width[job->from]);
        *(vec *)(void *)(f->amplitude + i) = amplitude;
    }
    for (int r = 0; r < count && job->smear_time; r++)
        find_level(g, row, r);
    fill_extents(g, row, count);
}

/* Smearing of the sources of the row that begins `at`, by a level that is a constant. */
INLINE void smear_within(const channel_batch *g, int at, int level, vec factor[SPAN])
{
    static const int degree[] = {SINC_DEGREES};
    const row_factors *f = &g->factors;

    for (int s = 0; s < SPAN; s++)
        if (level < SINC_FAR)
            factor[s] =
                sinc_of_powers(g->square * f->growth[at + s], sinc_powers[level], degree[level]) *
                f->amplitude[at + s];
        else
            factor[s] = sine_of_half_turns(g->ratio * f->growth[at + s]) *
                        (g->inverse * f->amplitude[at + s]);
}

INLINE void smear_along_time(const channel_batch *g, int r, vec factor[SPAN])
{
    const int at = r * SPAN;

    switch (g->factors.level[r]) {
    case 0:
        smear_within(g, at, 0, factor);
        break;
    case 1:
        smear_within(g, at, 1, factor);
        break;
    case 2:
        smear_within(g, at, 2, factor);
        break;
    case 3:
        smear_within(g, at, 3, factor);
        break;
    case 4:
        smear_within(g, at, 4, factor);
        break;
    default:
        smear_within(g, at, SINC_FAR, factor);
    }
}

/* Shape and smearing of the sources in row r of the batch. Each kind is computed for all sources
 * before the next kind: operations that do not depend on each other keep the processor busy. */
INLINE void factors_at(const channel_batch *g, int r, vec factor[SPAN])
{
    const grove_predict_channels_job *job = g->job;
    const row_factors *f = &g->factors;
    int at = r * SPAN;

    if (job->smear_time)
        smear_along_time(g, r, factor);
    else
        for (int s = 0; s < SPAN; s++)
            factor[s] = splat(f->amplitude[at + s]);
    for (int s = job->points; s < job->sources; s++)
        factor[s] *= decay(g->square * f->extent[at + s]);
    if (job->width && !job->equal_width)
        for (int s = 0; s < job->sources; s++)
            factor[s] *= sinc_turns(g->width * f->delay[at + s]);
}

/* ---- sums ---- */

INLINE void add_product_of(vec to[2], vec re, vec im, const vec *b)
{
    to[0] += re * b[0];
    to[1] += re * b[1];
    to[0] -= im * b[1];
    to[1] += im * b[0];
}

/* Sums of products of matrices, for each element. With as many registers as the widest vectors
 * have, a complex product takes three real ones: of the real parts, of the imaginary parts, and of
 * the sums of both. */
typedef struct {
#if VECTOR_BYTES == 64
    vec real_parts[4], imaginary_parts[4], both[4];
#else
    vec at[4][2]; /* re, im */
#endif
} matrix_sums;

/* x += a f b */
INLINE void add_terms(vec f, const vec *a, const vec *b, matrix_sums *x)
{
    for (int k = 0; k < 2; k++, b += 4) {
#if VECTOR_BYTES == 64
        const vec both[2] = {b[0] + b[1], b[2] + b[3]};
#endif
        for (int i = 0; i < 2; i++) {
            vec re = a[4 * i + 2 * k] * f, im = a[4 * i + 2 * k + 1] * f;
#if VECTOR_BYTES == 64
            KEEP(re);
            KEEP(im);
            vec sum = re + im;
            for (int j = 0; j < 2; j++) {
                x->real_parts[2 * i + j] += re * b[2 * j];
                x->imaginary_parts[2 * i + j] += im * b[2 * j + 1];
                x->both[2 * i + j] += sum * both[j];
            }
#else
            for (int j = 0; j < 2; j++)
                add_product_of(x->at[2 * i + j], re, im, b + 2 * j);
#endif
        }
    }
}

/* Elements, re and im. */
INLINE void finish_sums(const matrix_sums *x, vec to[8])
{
    for (int e = 0; e < 4; e++) {
#if VECTOR_BYTES == 64
        to[2 * e] = x->real_parts[e] - x->imaginary_parts[e];
        to[2 * e + 1] = x->both[e] - x->real_parts[e] - x->imaginary_parts[e];
#else
        to[2 * e] = x->at[e][0];
        to[2 * e + 1] = x->at[e][1];
#endif
    }
}

/* The phase of the row's rest: its coordinates less the difference of its stations' coordinates. */
INLINE void rest_phase(const channel_batch *g, int r, int s, vec *c, vec *n)
{
    const double rest = g->factors.rest[r * SPAN + s];
    doubles turns[PARTS];

    if (g->factors.small[r]) {
        small_phasor(g->ratio * (real)(rest * g->job->reference), c, n);
        return;
    }
    for (int i = 0; i < PARTS; i++)
        turns[i] = g->freq[i] * rest;
    phasor(fractional_turns(turns, 1.0), c, n);
}

INLINE void add_matrices(const channel_batch *g, int row, int r, int stray, const jones *a,
                         const jones *b)
{
    vec *to = (vec *)g->job->sums + (int64_t)(row - g->job->first_row) * 8;
    vec factor[SPAN], sums[8];
    matrix_sums x = {0};

    factors_at(g, r, factor);
    for (int s = 0; s < g->job->sources; s++, a++, b++) {
        const vec *m = a->at;
        jones rotated;
        if (stray) {
            vec c, n;
            rest_phase(g, r, s, &c, &n);
            rotated = *a;
            multiply_elements(&rotated, 8, c, n);
            m = rotated.at;
        }
        add_terms(factor[s], m, b->at, &x);
    }
    finish_sums(&x, sums);
    for (int e = 0; e < 8; e++)
        to[e] += sums[e];
}

INLINE void add_diagonals(const channel_batch *g, int row, int r, int stray, const jones *a,
                          const jones *b)
{
    const grove_predict_channels_job *job = g->job;
    vec *to = (vec *)job->sums + (int64_t)(row - job->first_row) * 8, factor[SPAN];

    factors_at(g, r, factor);
    for (int s = 0; s < job->sources; s++, a++, b++) {
        vec c = factor[s], n = splat(0);
        if (stray) {
            rest_phase(g, r, s, &c, &n);
            c *= factor[s];
            n *= factor[s];
        }
        for (int k = 0; k < job->elements; k++) {
            int e = 2 * job->element[k];
            vec re = a->at[e] * c, im = a->at[e + 1] * c;
            if (stray) {
                re -= a->at[e + 1] * n;
                im += a->at[e] * n;
            }
            KEEP(re);
            KEEP(im);
            add_product_of(to + e, re, im, b->at + (e & 2 ? 6 : 0));
        }
    }
}

static void start_channel_batch(channel_batch *g, const grove_predict_channels_job *job)
{
    doubles ratio[PARTS], square[PARTS], width[PARTS];

    memset(g, 0, sizeof(*g));
    g->job = job;
    for (int i = 0; i < PARTS; i++) {
        g->freq[i] = *(const unaligned *)(job->freq + i * PART);
        ratio[i] = g->freq[i] / job->reference;
        square[i] = ratio[i] * ratio[i];
        width[i] = (doubles){0};
        if (job->width)
            width[i] = *(const unaligned *)(job->width + i * PART);
    }
    g->ratio = avoid_zero(narrow(ratio));
    g->square = narrow(square);
    g->width = narrow(width);
    g->inverse = splat(1) / g->ratio;
    for (int s = 0; s < job->sources; s++)
        for (int d = 0; d < 3; d++) {
            g->direction[d][s] = job->direction[3 * s + d];
            g->largest[d] = fmax(g->largest[d], fabs(job->direction[3 * s + d]));
        }
}

/* Panels: [station][source]. */
static void fill_stations(channel_batch *g, jones *left, jones *right)
{
    const grove_predict_channels_job *job = g->job;

    load_brightness(g);
    for (int s = 0; s < job->sources; s++)
        for (int p = 0; p < job->stations; p++) {
            const double *known = NULL; /* coordinates whose phase is known */
            vec c, n;
            for (int side = 0; side < 2; side++) {
                const double *u = job->side[side].uvw + 3 * p;
                prefetch_station(job, side, p + STATIONS_AHEAD, s);
                if (!job->side[side].needed[p])
                    continue;
                if (!known || memcmp(u, known, 3 * sizeof(*u)))
                    station_phase(g, u, s, &c, &n);
                known = u;
                fill_station(g, side, p, s, c, side ? -n : n,
                             (side ? right : left) + p * job->sources + s);
            }
        }
}

static void channel_sums(const grove_predict_channels_job *job)
{
    jones *left = job->panel, *right = left + (int64_t)job->stations * job->sources;
    channel_batch g;

    start_channel_batch(&g, job);
    if (job->first_row == 0)
        fill_stations(&g, left, right);
    for (int row = job->first_row; row < job->end_row; row += ROW_BATCH) {
        int count = job->end_row - row < ROW_BATCH ? job->end_row - row : ROW_BATCH;
        fill_rows(&g, row, count);
        for (int r = 0; r < count; r++) {
            const jones *a = left + job->side[0].station[row + r] * job->sources;
            const jones *b = right + job->side[1].station[row + r] * job->sources;
            if (job->diagonal && job->stray[row + r])
                add_diagonals(&g, row + r, r, 1, a, b);
            else if (job->diagonal)
                add_diagonals(&g, row + r, r, 0, a, b);
            else if (job->stray[row + r])
                add_matrices(&g, row + r, r, 1, a, b);
            else
                add_matrices(&g, row + r, r, 0, a, b);
        }
    }
}

#endif
