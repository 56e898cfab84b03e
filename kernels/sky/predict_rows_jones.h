/* Sums for rows with Jones terms of source and station inside, a row in each lane: for each element
 * e of the output sum_s M_e phase * shape * smearing, M = left B right.
 *
 * Where M does not vary with frequency it is made once for a source and row, in 64 multiply-adds
 * (with diagonal Jones terms 4 for an element), and multiplies the phases of the groups' centres.
 * From there on a complex element costs as much as a real sum without Jones terms: two
 * multiply-adds for a source and channel, four with smearing in time, so 8 and 16 for matrices.
 * Where shapes, widths or a real spectrum that all elements share give each channel a real factor,
 * the phase takes about 6 and the elements 4 each: 22. Where M varies with frequency it is made for
 * each channel, and the Jones terms are collected from their rows, which costs more than the
 * rest. */
#ifndef GROVE_KERNELS_PREDICT_ROWS_JONES_H
#define GROVE_KERNELS_PREDICT_ROWS_JONES_H

#include "predict_jones.h"
#include "predict_rows_direct.h"
#include "predict_rows_flat.h"
#include "predict_rows_spectra.h"

enum { MATRIX_BATCH = 64 /* sources whose matrices are made before their phases are evaluated */ };

INLINE const grove_predict_jones *jones_of(const work *w)
{
    return (const grove_predict_jones *)(const void *)w->job;
}

INLINE const real *brightness_at(const work *w, int64_t source, int channel)
{
    const grove_predict_job *job = w->job;

    return (const real *)job->weight + job->weight_source * source + job->weight_channel * channel;
}

static void load_jones(const work *w, int which, int64_t source, int channel, jones *to)
{
    const grove_predict_jones *job = jones_of(w);
    const grove_predict_jones_side *side = &job->side[which];

    load_cells(side,
               side->source * job->order[source] + side->channel * (job->offset + (int64_t)channel),
               to);
}

/* apply_matrices for diagonal Jones terms, only the requested elements. Without b: unity, elements
 * off the diagonal are zero. */
static void apply_diagonals(const work *w, const jones *left, const real *b, const jones *right,
                            jones *to)
{
    const grove_predict_jones *job = jones_of(w);

    for (int k = 0; k < job->sum.components; k++) {
        int e = 2 * job->element[k], i = e & 4 ? 6 : 0, j = e & 2 ? 6 : 0;
        vec x[2] = {splat(0), splat(0)}, y[2] = {splat(0), splat(0)};
        if (b || i == j)
            add_times(x, left->at + i, right->at[j], right->at[j + 1]);
        if (b) {
            add_times(y, x, splat(b[e]), splat(b[e + 1]));
            memcpy(x, y, sizeof(x));
        }
        to->at[e] = x[0];
        to->at[e + 1] = x[1];
    }
}

static void apply_jones(const work *w, const jones *left, const real *b, const jones *right,
                        jones *to)
{
    if (jones_of(w)->diagonal)
        apply_diagonals(w, left, b, right, to);
    else
        apply_matrices(left, b, right, to);
}

/* left * b * right of a source in a channel. */
static void make_matrix(const work *w, int64_t source, int channel, const real *b, jones *to)
{
    jones left, right;

    load_jones(w, 0, source, channel, &left);
    load_jones(w, 1, source, channel, &right);
    apply_jones(w, &left, b, &right, to);
}

/* Prefetches the Jones terms of a source. Neighbouring rows often share an address. */
INLINE void prefetch_jones(const grove_predict_jones *job, int64_t source)
{
    for (int side = 0; side < 2; side++) {
        const grove_predict_jones_side *from = &job->side[side];
        int64_t offset = from->source * job->order[source];
        if (!from->numbers)
            continue;
        __builtin_prefetch(from->at[0] + offset);
        for (int i = 1; i < LANES; i++)
            if (from->at[i] != from->at[i - 1])
                __builtin_prefetch(from->at[i] + offset);
    }
}

/* The matrices of some sources with Jones terms that do not vary with frequency. Where the
 * brightness does, it is left out. */
static void make_matrices(const work *w, int64_t source, int count, jones *to)
{
    int64_t sources = w->job->points + w->job->gaussians;

    for (int i = 0; i < count; i++) {
        if (source + i + PREFETCH_AHEAD < sources)
            prefetch_jones(jones_of(w), source + i + PREFETCH_AHEAD);
        make_matrix(w, source + i, w->job->from,
                    w->job->weight_channel ? NULL : brightness_at(w, source + i, 0), to + i);
    }
}

static void fill_phases(const work *w, int64_t source, int count, panels *p)
{
    if (w->job->smear_time)
        for (int i = 0; i < count; i++)
            fill_source(w, source + i, 1, 1, p->centre + 4 * i, p->side + 4 * i);
    else
        for (int i = 0; i < count; i++)
            fill_source(w, source + i, 1, 0, p->centre + 2 * i, p->side + 2 * i);
}

/* ---- the same matrix in all channels: products of matrices ---- */

/* weighted = matrix * centre: pairs re, im. */
INLINE void multiply_by_element(panels *p, const jones *m, int e, int count, int factors)
{
    for (int j = 0; j < GROUPS; j++)
        for (int i = 0; i < count; i++)
            for (int f = 0; f < factors; f += 2) {
                int at = (j * CHUNK + i) * factors + f;
                vec x[2] = {splat(0), splat(0)};
                add_times(x, p->centre + at, m[i].at[2 * e], m[i].at[2 * e + 1]);
                p->weighted[at] = x[0];
                p->weighted[at + 1] = x[1];
            }
}

INLINE void multiply_centres(const work *w, panels *p, const jones *m, int count, int smear_time)
{
    const grove_predict_jones *job = jones_of(w);
    const int factors = smear_time ? 4 : 2;

    for (int c = 0; c < job->sum.components; c++) {
        multiply_by_element(p, m, job->element[c], count, factors);
        for (int k = 0; k < SIDE; k += 2)
            tile_groups(w, p->weighted, p->side + k * CHUNK * factors, count, smear_time,
                        &p->parts[c][0][k]);
    }
}

static void add_jones_flat(const work *w, panels *p, int64_t source, int count)
{
    jones m[CHUNK];

    make_matrices(w, source, count, m);
    fill_phases(w, source, count, p);
    if (w->job->smear_time)
        multiply_centres(w, p, m, count, 1);
    else
        multiply_centres(w, p, m, count, 0);
}

/* ---- a real factor in each channel ---- */

/* Both channels of group j at distance k: phases with smearing and the other factors. */
INLINE quad pair_with_factors(const panels *p, int i, int j, int k, int smear_time)
{
    const int many = smear_time ? 4 : 2;
    const vec *z = p->centre + (j * CHUNK + i) * many, *x = p->side + (k * CHUNK + i) * many;

    return multiply_pair(pair_phases(z, x, smear_time), p->factor[k][i][j]);
}

INLINE quad add_times_pair(quad sum, const quad *v, vec re, vec im)
{
    sum.a += v->a * re;
    sum.b += v->b * re;
    sum.c += v->c * re;
    sum.d += v->d * re;
    sum.a -= v->b * im;
    sum.b += v->a * im;
    sum.c -= v->d * im;
    sum.d += v->c * im;
    return sum;
}

/* One or two elements of a pair of channels. */
INLINE void add_elements(const quad *v, const jones *m, int count, const int *element, int many,
                         quad *to, quad *also)
{
    quad x = *to, y = *also;
    int e = 2 * element[0], f = 2 * element[many - 1];

    for (int i = 0; i < count; i++) {
        x = add_times_pair(x, &v[i], m[i].at[e], m[i].at[e + 1]);
        if (many == 2)
            y = add_times_pair(y, &v[i], m[i].at[f], m[i].at[f + 1]);
    }
    *to = x;
    if (many == 2)
        *also = y;
}

static void add_factored_pairs(const work *w, panels *p, const jones *m, int count)
{
    const grove_predict_jones *job = jones_of(w);
    int components = job->sum.components;
    quad v[CHUNK];

    for (int k = 0; k < SIDE; k++)
        for (int j = w->from; j < w->to; j++) {
            if (job->sum.smear_time)
                for (int i = 0; i < count; i++)
                    v[i] = pair_with_factors(p, i, j, k, 1);
            else
                for (int i = 0; i < count; i++)
                    v[i] = pair_with_factors(p, i, j, k, 0);
            for (int c = 0; c + 1 < components; c += 2)
                add_elements(v, m, count, job->element + c, 2, &p->channels[c][j][k],
                             &p->channels[c + 1][j][k]);
            if (components % 2)
                add_elements(v, m, count, job->element + components - 1, 1,
                             &p->channels[components - 1][j][k],
                             &p->channels[components - 1][j][k]);
        }
}

/* ---- a matrix for each channel ---- */

INLINE int above(int j, int k)
{
    return PREDICT_GROUP * j + SIDE + k;
}

INLINE int below(int j, int k)
{
    return PREDICT_GROUP * j + SIDE - 1 - k;
}

static void add_cell(const work *w, panels *p, int j, int k, int down, vec re, vec im,
                     const jones *m)
{
    const grove_predict_jones *job = jones_of(w);

    for (int c = 0; c < job->sum.components; c++) {
        vec *to = (vec *)&p->channels[c][j][k] + (down ? 2 : 0);
        const vec *x = &m->at[2 * job->element[c]];
        to[0] += re * x[0];
        to[1] += im * x[0];
        to[0] -= im * x[1];
        to[1] += re * x[1];
    }
}

/* A source whose matrix differs from channel to channel. Where the Jones terms do not vary, only
 * the polarised cells of its spectrum: the others are a real factor (weight_unpolarised). */
static void add_varied_source(const work *w, panels *p, int64_t source, int i)
{
    const grove_predict_jones *job = jones_of(w);
    jones left, right, m;

    if (!job->varies) {
        load_jones(w, 0, source, w->job->from, &left);
        load_jones(w, 1, source, w->job->from, &right);
    }
    for (int k = 0; k < SIDE; k++)
        for (int j = w->from; j < w->to; j++) {
            quad v = job->sum.smear_time ? pair_with_factors(p, i, j, k, 1)
                                         : pair_with_factors(p, i, j, k, 0);
            for (int down = 0; down < 2; down++) {
                int channel = down ? below(j, k) : above(j, k);
                const real *b = brightness_at(w, source, channel);
                if (channel < job->sum.from || channel >= job->sum.to)
                    continue;
                if (job->varies)
                    make_matrix(w, source, channel, b, &m);
                else if (!is_unpolarised(b))
                    apply_jones(w, &left, b, &right, &m);
                else
                    continue;
                add_cell(w, p, j, k, down, down ? v.c : v.a, down ? v.d : v.b, &m);
            }
        }
}

/* Multiplies the factors of the unpolarised cells of a spectrum by their brightness and sets the
 * factors of the others to zero; returns whether there are others. */
static int weight_unpolarised(const work *w, int64_t source, factor_panel *factor)
{
    int others = 0;

    for (int k = 0; k < SIDE; k++)
        for (int j = w->from; j < w->to; j++)
            for (int down = 0; down < 2; down++) {
                const real *b = brightness_at(w, source, down ? below(j, k) : above(j, k));
                int unpolarised = is_unpolarised(b);
                factor[k][0][j][down] *= unpolarised ? b[0] : 0;
                others |= !unpolarised;
            }
    return others;
}

static void add_jones_channels(const work *w, panels *p, int64_t source, int count)
{
    const grove_predict_jones *job = jones_of(w);
    int others[CHUNK] = {0};
    jones m[CHUNK];

    fill_phases(w, source, count, p);
    for (int i = 0; i < count; i++)
        fill_factors(w, source + i, (factor_panel *)p->factor[0][i]);
    if (!job->varies) {
        make_matrices(w, source, count, m);
        for (int i = 0; i < count && w->job->weight_channel; i++)
            others[i] = weight_unpolarised(w, source + i, (factor_panel *)p->factor[0][i]);
        add_factored_pairs(w, p, m, count);
    }
    for (int i = 0; i < count; i++) {
        if (others[i])
            fill_factors(w, source + i, (factor_panel *)p->factor[0][i]);
        if (others[i] || job->varies)
            add_varied_source(w, p, source + i, i);
    }
}

/* ---- every phase evaluated ---- */

static void add_jones_direct(const work *w, int64_t from, int64_t to, int channel,
                             const jones *matrices)
{
    const grove_predict_jones *job = jones_of(w);
    int components = job->sum.components;
    vec sums[8], z[CHUNK][2];

    for (int k = 0; k < 8; k++)
        sums[k] = splat(0);
    for (int64_t s = from; s < to; s++) {
        const real *b = brightness_at(w, s, channel);
        const jones *m = matrices + (s - from);
        jones own;
        int at = (int)((s - from) % CHUNK);
        if (at == 0)
            direct_phases(w, s, to - s < CHUNK ? (int)(to - s) : CHUNK, channel, z);
        vec c = z[at][0], n = z[at][1];
        if (job->varies || (w->job->weight_channel && !is_unpolarised(b))) {
            make_matrix(w, s, channel, b, &own);
            m = &own;
        } else if (w->job->weight_channel) {
            c *= b[0];
            n *= b[0];
        }
        KEEP(c);
        KEEP(n);
        for (int k = 0; k < components; k++) {
            const vec *x = &m->at[2 * job->element[k]];
            sums[2 * k] += c * x[0];
            sums[2 * k + 1] += n * x[0];
            sums[2 * k] -= n * x[1];
            sums[2 * k + 1] += c * x[1];
        }
    }
    for (int k = 0; k < 2 * components; k++)
        put_sum(w, k / 2, channel, k % 2, sums[k]);
}

static void add_jones_all_direct(const work *w)
{
    int64_t sources = w->job->points + w->job->gaussians;
    jones m[MATRIX_BATCH];

    for (int64_t from = 0; from < sources; from += MATRIX_BATCH) {
        int64_t to = from + MATRIX_BATCH < sources ? from + MATRIX_BATCH : sources;
        if (!jones_of(w)->varies)
            make_matrices(w, from, (int)(to - from), m);
        for (int k = w->job->from; k < w->job->to; k++)
            add_jones_direct(w, from, to, k, m);
    }
}

#endif
