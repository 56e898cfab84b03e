/* Sums for rows of sources whose weight differs from channel to channel: spectra, shapes, smearing
 * over channels of unequal widths. */
#ifndef GROVE_KERNELS_PREDICT_ROWS_SPECTRA_H
#define GROVE_KERNELS_PREDICT_ROWS_SPECTRA_H

#include "predict_rows_phases.h"
#include "predict_sincs.h"

enum { FACTORS = 1, FACTORS_ALONE = 2 };

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

INLINE quad add_factored_pair(quad sum, quad v, const vec factor[2])
{
    KEEP(v.a);
    KEEP(v.b);
    KEEP(v.c);
    KEEP(v.d);
    sum.a += v.a * factor[0];
    sum.b += v.b * factor[0];
    sum.c += v.c * factor[1];
    sum.d += v.d * factor[1];
    return sum;
}

/* All sources of the panels for the channels of group j at distance k. factors: 0, FACTORS, or
 * FACTORS_ALONE where one weight for all channels is in the phases. */
INLINE void sum_pair(const work *w, panels *p, const real *weight, int count, int j, int k,
                     int components, int smear_time, int factors)
{
    const grove_predict_job *job = w->job;
    const int many = smear_time ? 4 : 2;
    const vec *z = p->centre + j * CHUNK * many, *x = p->side + k * CHUNK * many;
    const real *up = weight + job->weight_channel * (PREDICT_GROUP * j + w->side + k);
    const real *down = weight + job->weight_channel * (PREDICT_GROUP * j + w->side - 1 - k);
    quad s0 = p->channels[0][j][k], s1 = p->channels[1][j][k];
    quad s2 = p->channels[2][j][k], s3 = p->channels[3][j][k];

    for (int i = 0; i < count; i++, z += many, x += many) {
        quad v = pair_phases(z, x, smear_time);
        if (factors == FACTORS_ALONE) {
            s0 = add_factored_pair(s0, v, p->factor[k][i][j]);
            continue;
        }
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

/* The channel after the last one of the last group. */
INLINE int end_of(const work *w)
{
    return w->job->few ? 2 * w->side : PREDICT_GROUP * w->to;
}

typedef vec factor_panel[CHUNK][GROUPS][2]; /* of a source and those after it */

/* The factor of a channel. */
INLINE vec *factor_at(const work *w, factor_panel *factor, int channel)
{
    int r = channel % PREDICT_GROUP, side = w->side;

    return &factor[r < side ? side - 1 - r : r - side][0][channel / PREDICT_GROUP][r < side];
}

/* Channels of equal spacing have the exponents of a Gaussian at a quadratic: each is the one before
 * times a ratio, which changes by the same factor from channel to channel. A group begins at its
 * channel of the lowest frequency, so that no ratio is above 1. */
typedef struct {
    vec shape[GROUPS], ratio[GROUPS]; /* of the next channel, and of the one after it to that */
    vec change;                       /* of the ratio, in parts of it */
    int down;                         /* the last channel has the lowest frequency */
    int vanishes; /* in some lanes: small numbers, on which some processors are slow, become 0 */
} shape_factors;

/* Of the first `channels` of the block, in `groups` groups. */
INLINE void start_shapes(const work *w, vec exponent, int channels, int groups, shape_factors *to)
{
    const grove_predict_job *job = w->job;
    double first = fabs(job->start + job->step * (double)job->first) / job->reference;
    double step = fabs(job->step) / job->reference;
    double last =
        fabs(job->start + job->step * (double)(job->first + channels - 1)) / job->reference;
    double low = first < last ? first : last, high = first < last ? last : first;
    vec ratio = decay(exponent * (real)(step * (2 * low + step))), change = splat(0);

    if (groups > 1)
        change = decay_less_one(exponent * (real)(2 * PREDICT_GROUP * step * step));
    to->down = last < first;
    to->change = decay_less_one(exponent * (real)(2 * step * step));
    to->vanishes = any_of(exponent * (real)(high * high) > R(80.0));
    for (int n = 0; n < groups; n++) {
        double at = low + PREDICT_GROUP * step * n;
        int j = to->down ? groups - 1 - n : n;
        to->shape[j] = decay(exponent * (real)(at * at));
        to->ratio[j] = ratio;
        ratio += ratio * change;
    }
}

INLINE void keep_normal(shape_factors *s, int j)
{
    integers gone = s->shape[j] <= R(1e-35); /* NaN stays */

    s->shape[j] = (vec)((integers)s->shape[j] & ~gone);
    s->ratio[j] = (vec)((integers)s->ratio[j] & ~gone);
}

INLINE void next_shape(shape_factors *s, int j)
{
    s->shape[j] *= s->ratio[j];
    s->ratio[j] += s->ratio[j] * s->change;
}

INLINE void recur_shapes(const work *w, shape_factors *s, int groups, int vanishes,
                         factor_panel *factor)
{
    int channels = 2 * w->side;

    for (int n = 0; n < channels; n++) {
        vec *to = factor_at(w, factor, s->down ? channels - 1 - n : n);
        for (int j = 0; j < groups; j++) {
            if (vanishes)
                keep_normal(s, j);
            to[2 * j] = s->shape[j];
            next_shape(s, j);
        }
    }
}

static void fill_shapes(const work *w, int64_t source, factor_panel *factor)
{
    const grove_predict_job *job = w->job;
    vec exponent = extent(w->uvw, job->ellipse + 5 * (source - job->points), job->reference);
    shape_factors s;

    if (!job->even_shapes) {
        for (int k = PREDICT_GROUP * w->from; k < end_of(w); k++) {
            double ratio = job->freq[k] / job->reference;
            *factor_at(w, factor, k) = decay(exponent * (real)(ratio * ratio));
        }
    } else if (job->few) {
        start_shapes(w, exponent, 2 * w->side, 1, &s);
        recur_shapes(w, &s, 1, 1, factor);
    } else {
        start_shapes(w, exponent, PREDICT_BLOCK, GROUPS, &s);
        if (s.vanishes)
            recur_shapes(w, &s, GROUPS, 1, factor);
        else
            recur_shapes(w, &s, GROUPS, 0, factor);
    }
}

/* Shapes of Gaussians and smearing over channels of unequal widths, as factors of the channels. */
static void fill_factors(const work *w, int64_t source, factor_panel *factor)
{
    const grove_predict_job *job = w->job;
    int from = PREDICT_GROUP * w->from, to = end_of(w);
    doubles delays[PARTS];

    if (source >= job->points)
        fill_shapes(w, source, factor);
    else
        for (int k = from; k < to; k++)
            *factor_at(w, factor, k) = splat(1);
    if (!job->width || job->equal_width)
        return;
    dot(w->uvw, job->direction + 3 * source, delays);
    vec delay = narrow(delays);
    for (int k = from; k < to; k++)
        *factor_at(w, factor, k) *= sinc_turns(delay * (real)job->width[k]);
}

INLINE void add_weighted(const work *w, panels *p, int64_t source, int count, int components,
                         int smear_time, int factors)
{
    const grove_predict_job *job = w->job;
    const real *weight = (const real *)job->weight + job->weight_source * source;

    fill_panels(w, p, source, count, factors == FACTORS_ALONE ? weight : NULL, smear_time);
    for (int i = 0; i < count && factors; i++)
        fill_factors(w, source + i, (factor_panel *)p->factor[0][i]);
    for (int k = 0; k < w->side; k++)
        for (int j = w->from; j < w->to; j++)
            sum_pair(w, p, weight, count, j, k, components, smear_time, factors);
}

#endif
