/* Sorted samples and the cells of the buffer that their kernels touch. Included by gridder_isa.h.
 */
#ifndef GROVE_KERNELS_GRIDDER_CELLS_ISA_H
#define GROVE_KERNELS_GRIDDER_CELLS_ISA_H

#include "gridder_chunk_isa.h"

/* Vectors of sums that stay in registers. */
#if defined(__AVX512F__)
enum { BATCH = 32, MAX_SUMS = 24 };
#else
enum { BATCH = 32, MAX_SUMS = 12 };
#endif
enum { ROW = 2 * FACTORS / LANES, SUMS = MAX_SUMS > ROW ? MAX_SUMS : ROW };

/* Samples that follow each other in the order of cells. Unused ones hold anything. */
typedef struct {
    int count;
    int32_t cell[BATCH + 1];
    real s[3][BATCH];
    real data[2 * BATCH];
    vec along_u[BATCH * ROW]; /* [sample][vector] taps, each twice */
    vec value[BATCH * ROW];   /* times the sample */
} batch;

/* A pair (re, im) in all lanes. */
INLINE vec splat_pair(const real *pair)
{
#if GROVE_REAL_SINGLE
    double both;
    memcpy(&both, pair, sizeof(both));
    doubles x = both - (doubles){0};
    return (vec)x;
#else
    vec x = {0};
    for (int i = 0; i < LANES; i++)
        x[i] = pair[i % 2];
    return x;
#endif
}

/* A polynomial for each lane, or one polynomial at many places. */
INLINE vec taps_at(const real *coefficient, int stride, int degree, vec s)
{
    vec sum = load(coefficient + degree * stride);

    UNROLL for (int d = degree - 1; d >= 0; d--) sum = sum * s + load(coefficient + d * stride);
    return sum;
}

INLINE vec tap_at(const real *coefficient, int stride, int degree, vec s)
{
    vec sum = splat(coefficient[degree * stride]);

    UNROLL for (int d = degree - 1; d >= 0; d--) sum = sum * s + splat(coefficient[d * stride]);
    return sum;
}

/* factor[p][y][sample]: taps along w times taps along v. */
INLINE void find_factors(const grove_gridder_taps *taps, const batch *b, int width, real *factor)
{
    const real *of_v = taps->taps, *of_w = taps->taps_w;

    for (int i = 0; i < b->count; i += LANES) {
        const vec sv = load(b->s[1] + i), sw = load(b->s[2] + i);
        vec along_v[GROVE_GRIDDER_MAX_WIDTH];
        UNROLL for (int y = 0; y < width; y++)
        {
            along_v[y] = tap_at(of_v + y, FACTORS, width + 1, sv);
            store(factor + y * BATCH + i, along_v[y]);
        }
        for (int p = 0; taps->width_w > 1 && p < taps->width_w; p++) {
            vec along_w = tap_at(of_w + p, FACTORS, width + 1, sw);
            UNROLL for (int y = 0; y < width; y++)
                store(factor + (p * width + y) * BATCH + i, along_w * along_v[y]);
        }
    }
}

/* The next samples in the order of cells, and their kernels. */
INLINE void take_batch(const grove_gridder_job *job, const chunk *c, int64_t first, int width,
                       batch *b, real *factor)
{
    const int vectors = (2 * width + LANES - 1) / LANES;
    const int64_t left = c->sorted - first;
    const real *pairs = job->taps->pairs;

    b->count = left < BATCH ? (int)left : BATCH;
    for (int k = 0; k < b->count; k++) {
        int64_t at = c->order[first + k];
        b->cell[k] = c->cell[at];
        for (int d = 0; d < 3; d++)
            b->s[d][k] = c->s[d][at];
    }
    b->cell[b->count] = -1;
    find_factors(job->taps, b, width, factor);
    for (int k = 0; k < b->count; k++)
        for (int i = 0; i < vectors; i++)
            b->along_u[k * vectors + i] =
                taps_at(pairs + i * LANES, 2 * FACTORS, width + 1, splat(b->s[0][k]));
}

/* The end of the samples of one cell. */
INLINE int end_of_cell(const batch *b, int first)
{
    int last = first + 1;

    while (b->cell[last] == b->cell[first])
        last++;
    return last;
}

INLINE int64_t offset_of(const grove_gridder_job *job, int32_t cell)
{
    return cell / (TILE * TILE) * job->plane_stride + cell / TILE % TILE * job->row_stride +
           2 * (cell % TILE);
}

/* ---- spreading ---- */

/* Numbers are added; with `exact` products are rounded to whole quanta, which are added as
 * integers: the bits of a product plus job->round less the bits of job->round alone. */
INLINE vec begin_sum(const grove_gridder_job *job, const real *at, int count, bool exact)
{
    uint64_t bits = 0;

    if (exact)
        memcpy(&bits, &job->round, sizeof(bits));
    return exact ? (vec)((counts)load(at) - (uint64_t)count * bits) : load(at);
}

INLINE vec add_product(vec sum, vec value, vec factor, vec round, bool exact)
{
    return exact ? (vec)((counts)sum + (counts)(value * factor + round)) : sum + value * factor;
}

/* Adds samples [first, last) of one cell to some rows of some planes; factor[p][y] are theirs. */
INLINE void add_rows(const grove_gridder_job *job, real *at, const vec *value, const real *factor,
                     int first, int last, int width, int planes, int rows, int vectors, bool exact)
{
    const vec round = splat((real)job->round);
    vec sum[SUMS];

    UNROLL for (int p = 0; p < planes; p++) UNROLL for (int y = 0; y < rows; y++)
        UNROLL for (int i = 0; i < vectors; i++) sum[(p * rows + y) * vectors + i] = begin_sum(
            job, at + p * job->plane_stride + y * job->row_stride + i * LANES, last - first, exact);
    for (int k = first; k < last; k++)
        UNROLL for (int p = 0; p < planes; p++) UNROLL for (int y = 0; y < rows; y++)
        {
            const vec f = splat(factor[(p * width + y) * BATCH + k]);
            UNROLL for (int i = 0; i < vectors; i++) sum[(p * rows + y) * vectors + i] =
                add_product(sum[(p * rows + y) * vectors + i], value[k * vectors + i], f, round,
                            exact);
        }
    UNROLL for (int p = 0; p < planes; p++) UNROLL for (int y = 0; y < rows; y++)
        UNROLL for (int i = 0; i < vectors; i++)
            store(at + p * job->plane_stride + y * job->row_stride + i * LANES,
                  sum[(p * rows + y) * vectors + i]);
}

/* The same to all of some planes, as many rows at once as registers hold. */
INLINE void add_planes(const grove_gridder_job *job, real *at, const vec *value, const real *factor,
                       int first, int last, int width, int planes, int vectors, bool exact)
{
    const int room = SUMS / (vectors * planes), most = room < width ? room : width;

    for (int y = 0; y + most <= width; y += most)
        add_rows(job, at + y * job->row_stride, value, factor + y * BATCH, first, last, width,
                 planes, most, vectors, exact);
    if (width % most)
        add_rows(job, at + width / most * most * job->row_stride, value,
                 factor + width / most * most * BATCH, first, last, width, planes, width % most,
                 vectors, exact);
}

INLINE void add_cell(const grove_gridder_job *job, real *at, const vec *value, const real *factor,
                     int first, int last, int width, int vectors, bool exact)
{
    int left = job->taps->width_w;

    for (int planes; left; left -= planes) {
        if (3 * width * vectors <= MAX_SUMS && left >= 3 && left != 4) {
            planes = 3;
            add_planes(job, at, value, factor, first, last, width, 3, vectors, exact);
        } else if (2 * width * vectors <= MAX_SUMS && left >= 2) {
            planes = 2;
            add_planes(job, at, value, factor, first, last, width, 2, vectors, exact);
        } else {
            planes = 1;
            add_planes(job, at, value, factor, first, last, width, 1, vectors, exact);
        }
        at += planes * job->plane_stride;
        factor += planes * width * BATCH;
    }
}

INLINE void spread_batch(const grove_gridder_job *job, const chunk *c, int64_t first, batch *b,
                         const real *factor, int width, int pols, bool exact)
{
    const int vectors = (2 * width + LANES - 1) / LANES;

    for (int pol = 0; pol < pols; pol++) {
        real *buffer = (real *)job->buffer + pol * job->polarisation_stride;
        const real *data = c->data + 2 * pol * (int64_t)CHUNK;
        for (int k = 0; k < b->count; k++) {
            const vec pair = splat_pair(data + 2 * (int64_t)c->order[first + k]);
            for (int i = 0; i < vectors; i++)
                b->value[k * vectors + i] = b->along_u[k * vectors + i] * pair;
        }
        for (int k = 0, end; k < b->count; k = end) {
            end = end_of_cell(b, k);
            add_cell(job, buffer + offset_of(job, b->cell[k]), b->value, factor, k, end, width,
                     vectors, exact);
        }
    }
}

FOR_EACH_WIDTH void spread_all(const grove_gridder_job *job, int width, int pols, bool exact)
{
    chunk c = open_chunk(job);
    cursor at = {0};
    batch b;
    real factor[GROVE_GRIDDER_MAX_WIDTH * GROVE_GRIDDER_MAX_WIDTH * BATCH];

    memset(&b, 0, sizeof(b));
    while (at.entry < job->count) {
        fill(job, width, pols, true, exact, &at, &c);
        sort(&c);
        for (int64_t first = 0; first < c.sorted; first += BATCH) {
            take_batch(job, &c, first, width, &b, factor);
            spread_batch(job, &c, first, &b, factor, width, pols, exact);
        }
    }
}

/* ---- collecting ---- */

/* The sum of all pairs of lanes: halves are added until one pair is left. */
INLINE void sum_pairs(vec x, real *pair)
{
#if VECTOR_BYTES == 64 && GROVE_REAL_SINGLE
    x += __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
    x += __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
    x += __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
#elif VECTOR_BYTES == 64 || (VECTOR_BYTES == 32 && GROVE_REAL_SINGLE)
    x += __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3);
    x += __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5);
#elif VECTOR_BYTES == 32 || GROVE_REAL_SINGLE
    x += __builtin_shufflevector(x, x, 2, 3, 0, 1);
#endif
    memcpy(pair, &x, 2 * sizeof(real));
}

/* The sums of `count` samples of one cell, from `first` on: rows are loaded once for all of
 * them. */
INLINE void sum_rows(const grove_gridder_job *job, const real *at, batch *b, const real *factor,
                     int first, int count, int width, int vectors)
{
    vec sum[2 * SUMS];

    UNROLL for (int i = 0; i < 2 * count * vectors; i++) sum[i] = splat(0);
    factor += first;
    for (int p = 0; p < job->taps->width_w; p++, at += job->plane_stride, factor += width * BATCH)
        UNROLL for (int y = 0; y < width; y++) UNROLL for (int i = 0; i < vectors; i++)
        {
            const vec row = load(at + y * job->row_stride + i * LANES);
            UNROLL for (int j = 0; j < count; j++) sum[(y % 2 * count + j) * vectors + i] +=
                row * splat(factor[y * BATCH + j]);
        }
    UNROLL for (int j = 0; j < count; j++)
    {
        vec product = splat(0);
        UNROLL for (int i = 0; i < vectors; i++) product +=
            (sum[j * vectors + i] + sum[(count + j) * vectors + i]) *
            b->along_u[(first + j) * vectors + i];
        sum_pairs(product, b->data + 2 * (first + j));
    }
}

INLINE void collect_batch(const grove_gridder_job *job, chunk *c, int64_t first, batch *b,
                          const real *factor, int width, int pols)
{
    const int vectors = (2 * width + LANES - 1) / LANES;

    for (int pol = 0; pol < pols; pol++) {
        const real *buffer = (const real *)job->buffer + pol * job->polarisation_stride;
        real *data = c->data + 2 * pol * (int64_t)CHUNK;
        for (int k = 0, end; k < b->count; k = end) {
            const real *at = buffer + offset_of(job, b->cell[k]);
            end = end_of_cell(b, k);
            int next = k;
            for (; 8 * vectors <= MAX_SUMS && next + 8 <= end; next += 8)
                sum_rows(job, at, b, factor, next, 8, width, vectors);
            for (; 4 * vectors <= MAX_SUMS && next + 4 <= end; next += 4)
                sum_rows(job, at, b, factor, next, 4, width, vectors);
            for (; 2 * vectors <= MAX_SUMS && next + 2 <= end; next += 2)
                sum_rows(job, at, b, factor, next, 2, width, vectors);
            for (; next < end; next++)
                sum_rows(job, at, b, factor, next, 1, width, vectors);
        }
        for (int k = 0; k < b->count; k++)
            memcpy(data + 2 * (int64_t)c->order[first + k], b->data + 2 * (int64_t)k,
                   2 * sizeof(real));
    }
}

FOR_EACH_WIDTH void collect_all(const grove_gridder_job *job, int width, int pols)
{
    chunk c = open_chunk(job);
    cursor at = {0}, done = {0};
    batch b;
    real factor[GROVE_GRIDDER_MAX_WIDTH * GROVE_GRIDDER_MAX_WIDTH * BATCH];

    memset(&b, 0, sizeof(b));
    while (at.entry < job->count) {
        fill(job, width, pols, false, false, &at, &c);
        sort(&c);
        for (int64_t first = 0; first < c.sorted; first += BATCH) {
            take_batch(job, &c, first, width, &b, factor);
            collect_batch(job, &c, first, &b, factor, width, pols);
        }
        empty(job, pols, &done, &c);
    }
}

/* A function for each width; in single precision one for a single polarisation, too. */
#define FUNCTIONS(width)                                                                           \
    static void spread_##width(const grove_gridder_job *job)                                       \
    {                                                                                              \
        if (GROVE_REAL_SINGLE && job->polarisations == 1)                                          \
            spread_all(job, width, 1, false);                                                      \
        else if (GROVE_REAL_SINGLE || job->round == 0)                                             \
            spread_all(job, width, job->polarisations, false);                                     \
        else                                                                                       \
            spread_all(job, width, job->polarisations, true);                                      \
    }                                                                                              \
    static void collect_##width(const grove_gridder_job *job)                                      \
    {                                                                                              \
        if (GROVE_REAL_SINGLE && job->polarisations == 1)                                          \
            collect_all(job, width, 1);                                                            \
        else                                                                                       \
            collect_all(job, width, job->polarisations);                                           \
    }

FUNCTIONS(2)
FUNCTIONS(3)
FUNCTIONS(4)
FUNCTIONS(5)
FUNCTIONS(6)
FUNCTIONS(7)
FUNCTIONS(8)
#if !GROVE_REAL_SINGLE
FUNCTIONS(10)
FUNCTIONS(12)
FUNCTIONS(14)
FUNCTIONS(16)
#define WIDER(what) , NULL, what##_10, NULL, what##_12, NULL, what##_14, NULL, what##_16
#else
#define WIDER(what)
#endif

typedef void loop(const grove_gridder_job *job);
static loop *const spread_functions[] = {
    spread_2, spread_3, spread_4, spread_5, spread_6, spread_7, spread_8 WIDER(spread)};
static loop *const collect_functions[] = {
    collect_2, collect_3, collect_4, collect_5, collect_6, collect_7, collect_8 WIDER(collect)};

static void spread(const grove_gridder_job *job)
{
    spread_functions[job->taps->width - GROVE_GRIDDER_MIN_WIDTH](job);
}

static void collect(const grove_gridder_job *job)
{
    collect_functions[job->taps->width - GROVE_GRIDDER_MIN_WIDTH](job);
}

#endif
