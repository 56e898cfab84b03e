/* Sums for rows of sources with flat spectra and without shapes. In each lane they are a product of
 * matrices: the phases of the groups' centres by the phases of the distances from them. */
#ifndef GROVE_KERNELS_PREDICT_ROWS_FLAT_H
#define GROVE_KERNELS_PREDICT_ROWS_FLAT_H

#include "predict_rows_phases.h"

INLINE quad add_product(quad s, const vec *z, const vec *x, int smear_time)
{
    s.a += z[0] * x[0];
    s.b += z[1] * x[0];
    s.c -= z[1] * x[1];
    s.d += z[0] * x[1];
    if (smear_time) {
        s.a -= z[3] * x[3];
        s.b += z[2] * x[3];
        s.c += z[2] * x[2];
        s.d += z[3] * x[2];
    }
    return s;
}

/* One group or two by two distances. */
INLINE void tile(const vec *z, const vec *x, int count, int groups, int smear_time, quad *to)
{
    const int factors = smear_time ? 4 : 2, next = CHUNK * factors;
    quad p = to[0], q = to[1], r = p, s = p;

    if (groups == 2) {
        r = to[SIDE];
        s = to[SIDE + 1];
    }
    for (int i = 0; i < count; i++, z += factors, x += factors) {
        p = add_product(p, z, x, smear_time);
        q = add_product(q, z, x + next, smear_time);
        if (groups == 2) {
            r = add_product(r, z + next, x, smear_time);
            s = add_product(s, z + next, x + next, smear_time);
        }
    }
    to[0] = p;
    to[1] = q;
    if (groups == 2) {
        to[SIDE] = r;
        to[SIDE + 1] = s;
    }
}

/* All groups by two distances, as many at a time as the registers hold. */
INLINE void tile_groups(const work *w, const vec *centre, const vec *side, int count,
                        int smear_time, quad *to)
{
    const int next = CHUNK * (smear_time ? 4 : 2);
    int j = w->from;

    for (; j + GROUPS_AT_ONCE <= w->to; j += GROUPS_AT_ONCE)
        tile(centre + j * next, side, count, GROUPS_AT_ONCE, smear_time, to + j * SIDE);
    if (j < w->to)
        tile(centre + j * next, side, count, 1, smear_time, to + j * SIDE);
}

INLINE void weight_centres(const grove_predict_job *job, panels *p, const real *weight, int count,
                           int factors)
{
    for (int j = 0; j < (job->few ? 1 : GROUPS); j++)
        for (int i = 0; i < count; i++)
            for (int e = 0; e < factors; e++) {
                int at = (j * CHUNK + i) * factors + e;
                p->weighted[at] = p->centre[at] * weight[job->weight_source * i];
            }
}

INLINE void add_flat(const work *w, panels *p, int64_t source, int count, int smear_time)
{
    const grove_predict_job *job = w->job;
    const real *weight = (const real *)job->weight + job->weight_source * source;
    const int factors = smear_time ? 4 : 2, next = CHUNK * factors;
    int alone = job->components == 1;
    const vec *centre = alone ? p->centre : p->weighted;

    fill_panels(w, p, source, count, alone ? weight : NULL, smear_time);
    for (int c = 0; c < job->components; c++) {
        if (!alone)
            weight_centres(job, p, weight + c, count, factors);
        for (int k = 0; k < w->side && job->few; k += 2)
            tile(centre, p->side + k * next, count, 1, smear_time, &p->parts[c][0][k]);
        for (int k = 0; k < SIDE && !job->few; k += 2)
            tile_groups(w, centre, p->side + k * next, count, smear_time, &p->parts[c][0][k]);
    }
}

#endif
