/* Phases, shapes and smearing of sources with a row (baseline and time) in each lane, for blocks of
 * equally spaced channels.
 *
 * The two channels at distance k from the centre c of a group have the phases z_c exp(-+ i k d).
 * The sums over sources of Re z_c cos kd, Im z_c cos kd, Re z_c sin kd and Im z_c sin kd give both,
 * and cos kd, sin kd serve all groups: two multiply-adds for a source and channel, as a product of
 * matrices in each lane. The mean over an integration is sin(theta) / theta, theta = nu g. With k h
 * = theta - theta_c it is (reference / nu) [sin theta_c cos kh +- cos theta_c sin kh] / g': the
 * same with four factors instead of two, exact for arguments of any size. */
#ifndef GROVE_KERNELS_PREDICT_ROWS_PHASES_H
#define GROVE_KERNELS_PREDICT_ROWS_PHASES_H

#include "../simd/vector.h"
#include "predict_jones.h"

#include <math.h>

enum {
    GROUPS = PREDICT_BLOCK / PREDICT_GROUP,
    SIDE = PREDICT_GROUP / 2,
    CHUNK = 16,                                 /* sources in the panels at once */
    FLUSH = 256,                                /* sources after which sums go to double */
    GROUPS_AT_ONCE = VECTOR_BYTES == 64 ? 2 : 1 /* groups in the registers at once */
};

#define TWO_PI R(6.283185307179586477)

/* Sums of a group at distance k + 1/2 from its centre: even and odd part (re, im each), or the
 * channels above and below. */
typedef struct {
    vec a, b, c, d;
} quad;
typedef quad quads[PREDICT_COMPONENTS][GROUPS][SIDE];

/* Factors of a source: two, or four with smearing in time. */
typedef struct {
    /* [group][source]: z_c; with smearing in time z_c sin theta_c / g and z_c cos theta_c */
    vec centre[GROUPS * CHUNK * 4], weighted[GROUPS * CHUNK * 4];
    /* [k][source]: cos kd, sin kd; with smearing in time cos kh and sin kh / g times both */
    vec side[SIDE * CHUNK * 4];
    vec factor[SIDE][CHUNK][GROUPS][2]; /* of the channels above and below: shapes and the like */
    quads parts, channels;
} panels;

typedef struct {
    const grove_predict_job *job;
    const double *uvw, *change;
    double *sums;
    int from, to; /* groups */
    int side;     /* half of a group's channels */
} work;

/* uvw . direction in double. */
INLINE void dot(const double *uvw, const double *direction, doubles to[PARTS])
{
    const unaligned *u = (const unaligned *)uvw, *v = (const unaligned *)(uvw + LANES);
    const unaligned *w = (const unaligned *)(uvw + 2 * LANES);

    for (int i = 0; i < PARTS; i++)
        to[i] = u[i] * direction[0] + v[i] * direction[1] + w[i] * direction[2];
}

/* (c, s)^2 */
INLINE void square(vec *c, vec *s)
{
    vec x = *c * *c - *s * *s;

    *s = R(2.0) * *c * *s;
    *c = x;
}

/* z[i] = (c, s) (c2, s2)^i, i < count, which is 1, 2, 4 or 8. By doubling: few steps wait for
 * others. */
INLINE void powers(vec (*z)[2], int count, vec c, vec s, vec c2, vec s2)
{
    z[0][0] = c;
    z[0][1] = s;
    if (count < 2)
        return;
    rotate(z[1], z[0], c2, s2);
    if (count < 4)
        return;
    square(&c2, &s2);
    rotate(z[2], z[0], c2, s2);
    rotate(z[3], z[1], c2, s2);
    if (count < 8)
        return;
    square(&c2, &s2);
    rotate(z[4], z[0], c2, s2);
    rotate(z[5], z[1], c2, s2);
    rotate(z[6], z[2], c2, s2);
    rotate(z[7], z[3], c2, s2);
}

/* z[k] = (c, s)^(2 k + 1), k < count. */
INLINE void odd_powers(vec (*z)[2], int count, vec c, vec s)
{
    vec c2 = c, s2 = s;

    square(&c2, &s2);
    powers(z, count, c, s, c2, s2);
}

/* The factors of smearing in time: theta = pi nu G for a change of delay G over the integration. */
INLINE void smear_in_time(const grove_predict_job *job, vec change, int groups, int half,
                          const vec (*centres)[2], const vec (*sides)[2], vec *centre, vec *side)
{
    double middle = job->start + job->step * ((double)job->first + half - 0.5);
    vec g = avoid_zero(change * (real)(job->reference * 0.5)); /* turns of theta at the reference */
    vec scale = R(1.0) / (g * TWO_PI), y, c, s, c2 = g, s2 = g, theta[GROUPS][2], kh[SIDE][2];

    y = g * (real)(middle / job->reference);
    phasor(y - nearest(y), &c, &s);
    if (groups > 1) {
        y = g * (real)(job->step * PREDICT_GROUP / job->reference);
        phasor(y - nearest(y), &c2, &s2);
    }
    powers(theta, groups, c, s, c2, s2);
    for (int j = 0; j < groups; j++, centre += CHUNK * 4) {
        vec over = theta[j][1] * scale;
        centre[0] = centres[j][0] * over;
        centre[1] = centres[j][1] * over;
        centre[2] = centres[j][0] * theta[j][0];
        centre[3] = centres[j][1] * theta[j][0];
    }
    y = g * (real)(job->step * 0.5 / job->reference);
    phasor(y - nearest(y), &c, &s);
    odd_powers(kh, half, c, s);
    for (int k = 0; k < half; k++, side += CHUNK * 4) {
        vec over = kh[k][1] * scale;
        side[0] = sides[k][0] * kh[k][0];
        side[1] = sides[k][1] * kh[k][0];
        side[2] = sides[k][0] * over;
        side[3] = sides[k][1] * over;
    }
}

/* The exponent of a Gaussian's decay at a frequency. */
INLINE vec extent(const double *uvw, const double ellipse[5], double freq)
{
    const unaligned *u = (const unaligned *)uvw, *v = (const unaligned *)(uvw + LANES),
                    *w = (const unaligned *)(uvw + 2 * LANES);
    doubles to[PARTS];

    for (int i = 0; i < PARTS; i++) {
        doubles x = u[i] * ellipse[0] + v[i] * ellipse[1],
                y = u[i] * ellipse[2] + v[i] * ellipse[3] + w[i] * ellipse[4];
        to[i] = (x * x + y * y) * (freq * freq);
    }
    return narrow(to);
}

/* min(1, 1 / |x|), which |sin x / x| does not exceed. */
INLINE vec sinc_bound(vec x)
{
    vec size = (vec)((integers)x & (integers)(x > 0)) - (vec)((integers)x & (integers)(x < 0));
    integers large = size > R(1.0);
    vec safe = (vec)(((integers)size & large) | ((integers)splat(1) & ~large));

    return R(1.0) / safe;
}

/* The rows in which upper bounds of shape and smearing do not fall below job->cutoff, at
 * frequencies of `freq` and above: all bits set. A row's bound depends on that row alone. */
static integers above_cutoff(const work *w, int64_t source, double freq, double width)
{
    const grove_predict_job *job = w->job;
    const double *direction = job->direction + 3 * source;
    doubles delay[PARTS], change[PARTS];
    vec bound = splat(1);

    if (job->width) {
        dot(w->uvw, direction, delay);
        bound = sinc_bound(narrow(delay) * (real)(width * 3.14159265358979324));
    }
    if (job->smear_time) {
        dot(w->change, direction, change);
        bound *= sinc_bound(narrow(change) * (real)(freq * 3.14159265358979324));
    }
    if (source >= job->points)
        bound *= decay(extent(w->uvw, job->ellipse + 5 * (source - job->points), freq));
    return bound >= (real)job->cutoff;
}

/* The same for a block of equally spaced channels. Unequal widths are not considered: their bound
 * is 1. */
static integers block_above_cutoff(const work *w, int64_t source)
{
    const grove_predict_job *job = w->job;
    double first = fabs(job->start + job->step * (double)job->first);
    double last = fabs(job->start + job->step * (double)(job->first + PREDICT_BLOCK - 1));
    double width = job->width && job->equal_width ? job->width[0] : 0;

    return above_cutoff(w, source, first < last ? first : last, width);
}

static int any_above_cutoff(const work *w, int64_t source, int count)
{
    integers any = {0};

    for (int i = 0; i < count; i++)
        any |= block_above_cutoff(w, source + i);
    for (int lane = 0; lane < LANES; lane++)
        if (any[lane])
            return 1;
    return 0;
}

/* Phases of a source in equally spaced channels, `groups` groups of twice `half`. */
INLINE void fill_source(const work *w, int64_t source, real amplitude, int smear_time, int groups,
                        int half, vec *centre, vec *side)
{
    const grove_predict_job *job = w->job;
    const double *direction = job->direction + 3 * source;
    double middle = job->start + job->step * ((double)job->first + half - 0.5);
    vec c, s, c2 = splat(1), s2 = c2, centres[GROUPS][2], sides[SIDE][2], scale = splat(amplitude);
    doubles delay[PARTS], change[PARTS];

    dot(w->uvw, direction, delay);
    phasor(fractional_turns(delay, -middle), &c, &s);
    if (groups > 1)
        phasor(fractional_turns(delay, -job->step * PREDICT_GROUP), &c2, &s2);
    if (job->cutoff > 0)
        scale = (vec)((integers)scale & block_above_cutoff(w, source));
    if (job->width && job->equal_width)
        scale *= sinc_turns(narrow(delay) * (real)job->width[0]);
    powers(centres, groups, c * scale, s * scale, c2, s2);
    phasor(fractional_turns(delay, -0.5 * job->step), &c, &s);
    if (groups > 1) { /* more digits than the square has */
        phasor(fractional_turns(delay, -job->step), &c2, &s2);
        powers(sides, half, c, s, c2, s2);
    } else {
        odd_powers(sides, half, c, s);
    }
    if (smear_time) {
        dot(w->change, direction, change);
        smear_in_time(job, narrow(change), groups, half, (const vec(*)[2])centres,
                      (const vec(*)[2])sides, centre, side);
        return;
    }
    for (int j = 0; j < groups; j++, centre += CHUNK * 2) {
        centre[0] = centres[j][0];
        centre[1] = centres[j][1];
    }
    for (int k = 0; k < half; k++, side += CHUNK * 2) {
        side[0] = sides[k][0];
        side[1] = sides[k][1];
    }
}

/* Half of a group's channels: few channels are one group, of no more than needed. */
static int half_of(const grove_predict_job *job)
{
    return !job->few || job->few > PREDICT_GROUP / 2 ? SIDE : job->few > PREDICT_GROUP / 4 ? 4 : 2;
}

/* Phases of `count` sources, times their amplitudes (one in weight_source numbers; NULL: 1). */
INLINE void fill_panels(const work *w, panels *p, int64_t source, int count, const real *amplitude,
                        int smear_time)
{
    const int factors = smear_time ? 4 : 2;

    for (int i = 0; i < count; i++) {
        const real scale = amplitude ? amplitude[w->job->weight_source * i] : 1;
        vec *centre = p->centre + factors * i, *side = p->side + factors * i;
        if (!w->job->few)
            fill_source(w, source + i, scale, smear_time, GROUPS, SIDE, centre, side);
        else if (w->side == 2)
            fill_source(w, source + i, scale, smear_time, 1, 2, centre, side);
        else if (w->side == 4)
            fill_source(w, source + i, scale, smear_time, 1, 4, centre, side);
        else
            fill_source(w, source + i, scale, smear_time, 1, SIDE, centre, side);
    }
}

#endif
