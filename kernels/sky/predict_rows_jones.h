/* Sums for rows with Jones terms of source and station inside, a row in each lane: for each element
 * e of the output sum_s M_e phase * smearing, M = left B right, where no channel differs from
 * another in M. It is made once for a source and row, in 64 multiply-adds (with diagonal Jones
 * terms 4 for an element), and multiplies the phases of the groups' centres. From there on a
 * complex element costs as much as a real sum without Jones terms: two multiply-adds for a source
 * and channel, four with smearing in time, so 8 and 16 for matrices. */
#ifndef GROVE_KERNELS_PREDICT_ROWS_JONES_H
#define GROVE_KERNELS_PREDICT_ROWS_JONES_H

#include "predict_jones.h"
#include "predict_rows_flat.h"

INLINE const grove_predict_jones *jones_of(const work *w)
{
    return (const grove_predict_jones *)(const void *)w->job;
}

static void load_jones(const work *w, int which, int64_t source, jones *to)
{
    const grove_predict_jones *job = jones_of(w);
    const grove_predict_jones_side *side = &job->side[which];

    load_cells(side, side->source * job->order[source], to);
}

/* apply_matrices for diagonal Jones terms, only the requested elements. */
static void apply_diagonals(const work *w, const jones *left, const real *b, const jones *right,
                            jones *to)
{
    const grove_predict_jones *job = jones_of(w);

    for (int k = 0; k < job->sum.components; k++) {
        int e = 2 * job->element[k];
        vec x[2] = {splat(0), splat(0)}, y[2] = {splat(0), splat(0)};
        const vec *r = right->at + (e & 2 ? 6 : 0);
        add_times(x, left->at + (e & 4 ? 6 : 0), r[0], r[1]);
        add_times(y, x, splat(b[e]), splat(b[e + 1]));
        memcpy(to->at + e, y, sizeof(y));
    }
}

/* left * brightness * right of a source. */
static void make_matrix(const work *w, int64_t source, jones *to)
{
    const grove_predict_job *job = w->job;
    const real *b = (const real *)job->weight + job->weight_source * source;
    jones left, right;

    load_jones(w, 0, source, &left);
    load_jones(w, 1, source, &right);
    if (jones_of(w)->diagonal)
        apply_diagonals(w, &left, b, &right, to);
    else
        apply_matrices(&left, b, &right, to);
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

static void make_matrices(const work *w, int64_t source, int count, jones *to)
{
    int64_t sources = w->job->points;

    for (int i = 0; i < count; i++) {
        if (source + i + PREFETCH_AHEAD < sources)
            prefetch_jones(jones_of(w), source + i + PREFETCH_AHEAD);
        make_matrix(w, source + i, to + i);
    }
}

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
    if (w->job->smear_time) {
        fill_panels(w, p, source, count, NULL, 1);
        multiply_centres(w, p, m, count, 1);
    } else {
        fill_panels(w, p, source, count, NULL, 0);
        multiply_centres(w, p, m, count, 0);
    }
}

#endif
