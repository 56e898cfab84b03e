/* Samples of a tile, prepared and sorted by the cell in which their kernels begin: samples of one
 * cell meet in registers. Included by gridder_isa.h. */
#ifndef GROVE_KERNELS_GRIDDER_CHUNK_ISA_H
#define GROVE_KERNELS_GRIDDER_CHUNK_ISA_H

enum { CHUNK = GROVE_GRIDDER_CHUNK };

typedef int32_t ints __attribute__((vector_size(LANES * 4)));

/* Where the next samples of a job come from. */
typedef struct {
    int64_t entry;
    int32_t channel; /* the next one of this entry, counted from its first */
} cursor;

/* In the memory of a job. The cell is (w TILE + v) TILE + u, of the buffer; -1: nothing to spread.
 */
typedef struct {
    int64_t count, sorted;
    real *s[3];          /* [sample] how far from the kernel's edge, s = 2 f - 1 */
    real *cosine, *sine; /* [sample] of the phase of the image's centre and middle_n */
    real *data;          /* [polarisation][sample][2] */
    int32_t *cell;       /* [sample] */
    int32_t *order;      /* [sorted] samples by cell */
    int32_t *begin;      /* [cell] */
    int64_t cells;
} chunk;

INLINE chunk open_chunk(const grove_gridder_job *job)
{
    chunk c = {.cells = job->planes * TILE * TILE};
    real *at = job->work;

    for (int d = 0; d < 3; d++, at += CHUNK)
        c.s[d] = at;
    c.cosine = at;
    c.sine = at + CHUNK;
    c.data = at + 2 * (int64_t)CHUNK;
    c.cell = (int32_t *)(c.data + 2 * (int64_t)job->polarisations * CHUNK);
    c.order = c.cell + CHUNK;
    c.begin = c.order + CHUNK;
    return c;
}

/* Positions along one axis: `origin` is the first cell of the buffer, kernels begin in cells 0 to
 * `last`; rounding may lead one cell beyond. */
INLINE integers place(const doubles wavenumber[PARTS], double scale, double origin, int width,
                      double last, real *s)
{
    doubles first[PARTS], rest[PARTS];
    const doubles zero = {0}, limit = last - zero;

    for (int i = 0; i < PARTS; i++) {
        doubles position = wavenumber[i] * scale - origin;
        first[i] = ((position + (0.5 - 0.5 * width)) + ROUND_DOUBLE) - ROUND_DOUBLE;
        first[i] = choose(first[i] < zero, zero, first[i]);
        first[i] = choose(first[i] > limit, limit, first[i]);
        rest[i] = 2 * (first[i] - position) + (width - 1.0);
    }
    store(s, narrow(rest));
    return __builtin_convertvector(narrow(first), integers);
}

/* The first cell of the buffer in the coordinate of this row, which the grid may wrap. */
INLINE double origin_of(const grove_gridder_job *job, int d, double position)
{
    double tile = (double)job->tile[d];

    if (job->wraps[d]) {
        double tiles = (double)job->tiles[d];
        double turns =
            (grove_gridder_first(position, job->taps->width) / TILE - 0.5 - tile) / tiles;
        tile += ((turns + ROUND_DOUBLE) - ROUND_DOUBLE) * tiles;
    }
    return tile * TILE;
}

/* Prefetches the inputs of the next entries. */
INLINE void prefetch(const grove_gridder_job *job, int64_t entry, int pols)
{
    enum { UVW_AHEAD = 16, DATA_AHEAD = 8 };
    const grove_gridder_samples *samples = job->samples;

    if (entry + UVW_AHEAD < job->count)
        __builtin_prefetch(samples->uvw + 3 * (int64_t)job->entries[entry + UVW_AHEAD].row);
    if (entry + DATA_AHEAD < job->count) {
        const grove_gridder_entry *next = &job->entries[entry + DATA_AHEAD];
        int64_t at = (int64_t)next->row * samples->channels + next->first;
        const char *data = (const char *)((const real *)samples->data + 2 * pols * at);
        int64_t bytes = (next->last - next->first) * 2 * pols * (int64_t)sizeof(real);
        for (int64_t k = 0; k < bytes + 63 && k < 512; k += 64)
            __builtin_prefetch(data + k);
        if (samples->weight)
            __builtin_prefetch((const real *)samples->weight + at);
    }
}

/* Places and phases of up to LANES channels of a row, from `first` on. */
INLINE void prepare(const grove_gridder_job *job, int64_t row, int first, int width, chunk *c)
{
    const double *uvw = job->samples->uvw + 3 * row;
    const double sign = uvw[2] < 0 ? -1 : 1, start = job->wavenumber[first];
    const int64_t at = c->count;
    double scale[3], turns = 0;
    doubles wavenumber[PARTS];
    vec cosine = splat(1), sine = splat(0);

    memcpy(wavenumber, job->wavenumber + first, sizeof(wavenumber));
    for (int d = 0; d < 3; d++) {
        scale[d] = sign * uvw[d] * job->scale[d];
        turns += sign * uvw[d] * job->turn[d];
    }
    integers u = place(wavenumber, scale[0], origin_of(job, 0, start * scale[0]), width, TILE - 1,
                       c->s[0] + at);
    integers v = place(wavenumber, scale[1], origin_of(job, 1, start * scale[1]), width, TILE - 1,
                       c->s[1] + at);
    integers plane = {0};
    if (job->taps->width_w > 1) /* else there is one plane, and its taps are 1 */
        plane = place(wavenumber, scale[2], job->first_w + (double)job->plane, job->taps->width_w,
                      (double)(job->planes - 1), c->s[2] + at);
    ints cell = __builtin_convertvector((plane * TILE + v) * TILE + u, ints);
    memcpy(c->cell + at, &cell, sizeof(cell));
    /* exp(2 pi i (u l0 + v m0 + w middle_n)) */
    if (turns != 0)
        phasor(fractional_turns(wavenumber, turns), &cosine, &sine);
    store(c->cosine + at, cosine);
    store(c->sine + at, sine);
}

/* Keeps a number from being fused with a sum, or its loop from being done in vectors and a rest:
 * with `exact` a sample has the same bits at any position. */
INLINE real product(real a, real b, bool exact)
{
    real x = a * b;

    if (exact)
        KEEP(x);
    return x;
}

/* Weighted samples, conjugate where w < 0, turned to the image's centre. */
INLINE void take(const grove_gridder_job *job, int64_t row, int first, int count, int pols,
                 bool exact, chunk *c)
{
    const grove_gridder_samples *samples = job->samples;
    const int64_t at = row * samples->channels + first;
    const real *data = (const real *)samples->data + 2 * pols * at;
    const real *weight = samples->weight ? (const real *)samples->weight + at : NULL;
    const real sign = samples->uvw[3 * row + 2] < 0 ? -1 : 1;

    for (int k = 0; weight && k < count; k++)
        c->cell[c->count + k] = weight[k] != 0 ? c->cell[c->count + k] : -1;
    for (int pol = 0; pol < pols; pol++) {
        real *to = c->data + 2 * (pol * (int64_t)CHUNK + c->count);
        for (int k = 0; k < count; k++) {
            real factor = weight ? weight[k] : R(1.0), re = data[2 * (pols * k + pol)] * factor,
                 im = data[2 * (pols * k + pol) + 1] * factor * sign;
            real cosine = c->cosine[c->count + k], sine = c->sine[c->count + k];
            to[2 * k] = product(re, cosine, exact) - product(im, sine, exact);
            to[2 * k + 1] = product(re, sine, exact) + product(im, cosine, exact);
        }
    }
}

INLINE void give_parts(const grove_gridder_job *job, int64_t row, int first, int count, int pols,
                       const chunk *c, int64_t at, bool exact)
{
    const grove_gridder_samples *samples = job->samples;
    real *data = (real *)samples->data + 2 * pols * (row * samples->channels + first);
    const real sign = samples->uvw[3 * row + 2] < 0 ? -1 : 1;

    for (int pol = 0; pol < pols; pol++) {
        const real *from = c->data + 2 * (pol * (int64_t)CHUNK + at);
        for (int k = 0; k < count; k++) {
            real re = from[2 * k], im = from[2 * k + 1], cosine = c->cosine[at + k],
                 sine = c->sine[at + k];
            data[2 * (pols * k + pol)] += product(re, cosine, exact) + product(im, sine, exact);
            data[2 * (pols * k + pol) + 1] +=
                (product(im, cosine, exact) - product(re, sine, exact)) * sign;
        }
    }
}

/* Adds the planes' contributions to samples, from number `at` of the chunk on. */
INLINE void give(const grove_gridder_job *job, int64_t row, int first, int count, int pols,
                 const chunk *c, int64_t at)
{
    if (!GROVE_REAL_SINGLE && job->round > 0)
        give_parts(job, row, first, count, pols, c, at, true);
    else
        give_parts(job, row, first, count, pols, c, at, false);
}

/* Takes up to LANES channels from the cursor on: 0 at the end of the job. */
INLINE int next_channels(const grove_gridder_job *job, cursor *at, int64_t *row, int *first)
{
    if (at->entry == job->count)
        return 0;
    const grove_gridder_entry *entry = &job->entries[at->entry];
    int left = entry->last - entry->first - at->channel, count = left < LANES ? left : LANES;

    *row = entry->row;
    *first = entry->first + at->channel;
    at->channel += count;
    if (count == left)
        *at = (cursor){at->entry + 1, 0};
    return count;
}

INLINE void fill(const grove_gridder_job *job, int width, int pols, bool with_data, bool exact,
                 cursor *at, chunk *c)
{
    int64_t row = 0;
    int first = 0;

    for (c->count = 0; c->count + LANES <= CHUNK;) {
        if (at->channel == 0)
            prefetch(job, at->entry, pols);
        int count = next_channels(job, at, &row, &first);
        if (!count)
            break;
        prepare(job, row, first, width, c);
        if (with_data)
            take(job, row, first, count, pols, exact, c);
        c->count += count;
    }
}

/* The same samples as fill() took. */
INLINE void empty(const grove_gridder_job *job, int pols, cursor *at, const chunk *c)
{
    int64_t row = 0, done = 0;
    int first = 0;

    while (done < c->count) {
        int count = next_channels(job, at, &row, &first);
        give(job, row, first, count, pols, c, done);
        done += count;
    }
}

/* A stable counting sort, unless samples are few. */
static void sort(chunk *c)
{
    int64_t sum = 0;

    c->sorted = 0;
    if (c->count < 64) {
        for (int64_t k = 0; k < c->count; k++)
            if (c->cell[k] >= 0)
                c->order[c->sorted++] = (int32_t)k;
        return;
    }
    memset(c->begin, 0, (size_t)c->cells * sizeof(*c->begin));
    for (int64_t k = 0; k < c->count; k++)
        if (c->cell[k] >= 0)
            c->begin[c->cell[k]]++;
    for (int64_t k = 0; k < c->cells; k++) {
        int64_t count = c->begin[k];
        c->begin[k] = (int32_t)sum;
        sum += count;
    }
    for (int64_t k = 0; k < c->count; k++)
        if (c->cell[k] >= 0)
            c->order[c->begin[c->cell[k]]++] = (int32_t)k;
    c->sorted = sum;
}

#endif
