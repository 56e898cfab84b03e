/* Sums for rows of sources whose weight differs from channel to channel: spectra, shapes, smearing
 * over channels of unequal widths. */
#ifndef GROVE_KERNELS_PREDICT_ROWS_SPECTRA_H
#define GROVE_KERNELS_PREDICT_ROWS_SPECTRA_H

#include "predict_rows_phases.h"

/* The phases of both channels of a source, smeared in time. */
INLINE quad pair_phases(const vec *z, const vec *x, int smear_time)
{
    vec re = z[0] * x[0], im = z[1] * x[0];
    quad v;

    KEEP(re);
    KEEP(im);
    if (smear_time) {
        vec odd_re = z[2] * x[2], odd_im = z[3] * x[2];
        KEEP(odd_re);
        KEEP(odd_im);
        odd_re -= z[1] * x[1];
        odd_im += z[0] * x[1];
        re -= z[3] * x[3];
        im += z[2] * x[3];
        v.a = re + odd_re;
        v.b = im + odd_im;
        v.c = re - odd_re;
        v.d = im - odd_im;
    } else {
        v.a = re - z[1] * x[1];
        v.b = im + z[0] * x[1];
        v.c = re + z[1] * x[1];
        v.d = im - z[0] * x[1];
    }
    return v;
}

/* Both channels times a real factor each. */
INLINE quad multiply_pair(quad v, const vec factor[2])
{
    v.a *= factor[0];
    v.b *= factor[0];
    v.c *= factor[1];
    v.d *= factor[1];
    KEEP(v.a);
    KEEP(v.b);
    KEEP(v.c);
    KEEP(v.d);
    return v;
}

INLINE quad add_weighted_pair(quad sum, quad v, real up, real down)
{
    sum.a += v.a * up;
    sum.b += v.b * up;
    sum.c += v.c * down;
    sum.d += v.d * down;
    return sum;
}

/* All sources of the panels for the channels of group j at distance k. */
INLINE void sum_pair(const work *w, panels *p, const real *weight, int count, int j, int k,
                     int components, int smear_time, int factors)
{
    const grove_predict_job *job = w->job;
    const int many = smear_time ? 4 : 2;
    const vec *z = p->centre + j * CHUNK * many, *x = p->side + k * CHUNK * many;
    const real *up = weight + job->weight_channel * (PREDICT_GROUP * j + SIDE + k);
    const real *down = weight + job->weight_channel * (PREDICT_GROUP * j + SIDE - 1 - k);
    quad s0 = p->channels[0][j][k], s1 = p->channels[1][j][k];
    quad s2 = p->channels[2][j][k], s3 = p->channels[3][j][k];

    for (int i = 0; i < count; i++, z += many, x += many) {
        quad v = pair_phases(z, x, smear_time);
        if (factors)
            v = multiply_pair(v, p->factor[k][i][j]);
        s0 = add_weighted_pair(s0, v, up[0], down[0]);
        if (components > 1)
            s1 = add_weighted_pair(s1, v, up[1], down[1]);
        if (components > 2)
            s2 = add_weighted_pair(s2, v, up[2], down[2]);
        if (components > 3)
            s3 = add_weighted_pair(s3, v, up[3], down[3]);
        up += job->weight_source;
        down += job->weight_source;
    }
    p->channels[0][j][k] = s0;
    p->channels[1][j][k] = s1;
    p->channels[2][j][k] = s2;
    p->channels[3][j][k] = s3;
}

/* Shapes of Gaussians and smearing over channels of unequal widths, as factors of the channels. */
static void fill_factors(const work *w, int64_t source, vec (*factor)[CHUNK][GROUPS][2])
{
    const grove_predict_job *job = w->job;
    int gaussian = source >= job->points;
    const double *a = job->ellipse + (gaussian ? 4 * (source - job->points) : 0);
    vec exponent = gaussian ? extent(w->uvw, a, job->reference) : splat(0), delay;
    doubles delays[PARTS];

    dot(w->uvw, job->direction + 3 * source, delays);
    delay = narrow(delays);
    for (int k = PREDICT_GROUP * w->from; k < PREDICT_GROUP * w->to; k++) {
        int r = k % PREDICT_GROUP;
        double ratio = job->freq[k] / job->reference;
        vec f = gaussian ? decay(exponent * (real)(ratio * ratio)) : splat(1);
        if (job->width && !job->equal_width)
            f *= sinc_turns(delay * (real)job->width[k]);
        factor[r < SIDE ? SIDE - 1 - r : r - SIDE][0][k / PREDICT_GROUP][r < SIDE] = f;
    }
}

INLINE void add_weighted(const work *w, panels *p, int64_t source, int count, int components,
                         int smear_time, int factors)
{
    const grove_predict_job *job = w->job;
    const real *weight = (const real *)job->weight + job->weight_source * source;

    for (int i = 0; i < count; i++)
        fill_source(w, source + i, 1, smear_time, p->centre + (smear_time ? 4 : 2) * i,
                    p->side + (smear_time ? 4 : 2) * i);
    for (int i = 0; i < count && factors; i++)
        fill_factors(w, source + i, (vec(*)[CHUNK][GROUPS][2])p->factor[0][i]);
    for (int k = 0; k < SIDE; k++)
        for (int j = w->from; j < w->to; j++)
            sum_pair(w, p, weight, count, j, k, components, smear_time, factors);
}

#endif
