/* The sum over sources for baselines, a row (baseline and time) in each lane.
 *
 * The phase of channel k of a group about its centre c is z_c exp(-+ i k d): the sums over sources
 * of Re z_c cos kd, Im z_c cos kd, Re z_c sin kd, Im z_c sin kd give the channels k on both sides,
 * and cos kd, sin kd serve all groups: two multiply-adds for a source and channel, as a product of
 * matrices in each lane. The mean over an integration is sin(theta) / theta, theta = nu g, so with
 * theta_c and k h = theta - theta_c it is (reference / nu) [sin theta_c cos kh +- cos theta_c sin
 * kh] / g': the same with four factors for two, exact for arguments of any size. */
#ifndef GROVE_KERNELS_PREDICT_BASELINE_H
#define GROVE_KERNELS_PREDICT_BASELINE_H

#include "../simd/vector.h"
#include "predict_job.h"

#include <math.h>

enum {
    GROUPS = PREDICT_BLOCK / PREDICT_GROUP,
    SIDE = PREDICT_GROUP / 2,
    CHUNK = 16,                       /* sources in the panels at once */
    FLUSH = 256,                      /* sources after which sums go to double */
    TALL = VECTOR_BYTES == 64 ? 2 : 1 /* groups in the registers at once */
};

#define TWO_PI R(6.283185307179586477)

/* Sums of a group at distance k + 1/2 from its centre: even and odd part (re, im each), or the
 * channels above and below. */
typedef struct {
    vec a, b, c, d;
} quad;
typedef quad quads[PREDICT_COMPONENTS][GROUPS][SIDE];

/* Factors of a source: two, with smearing in time four. */
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
} work;

/* uvw . direction in double. */
FORCE void dot(const double *uvw, const double *direction, half to[PARTS])
{
    const loose *u = (const loose *)uvw, *v = (const loose *)(uvw + LANES);
    const loose *w = (const loose *)(uvw + 2 * LANES);

    for (int i = 0; i < PARTS; i++)
        to[i] = u[i] * direction[0] + v[i] * direction[1] + w[i] * direction[2];
}

/* to = from (c, s) */
FORCE void turn_by(vec to[2], const vec from[2], vec c, vec s)
{
    to[0] = from[0] * c - from[1] * s;
    to[1] = from[0] * s + from[1] * c;
}

/* (c, s)^2 */
FORCE void square(vec *c, vec *s)
{
    vec x = *c * *c - *s * *s;

    *s = R(2.0) * *c * *s;
    *c = x;
}

/* z[i] = (c, s) (c2, s2)^i, i < count, which is 4 or 8: by doubling, which takes few steps one
 * after the other. */
FORCE void powers(vec (*z)[2], int count, vec c, vec s, vec c2, vec s2)
{
    z[0][0] = c;
    z[0][1] = s;
    turn_by(z[1], z[0], c2, s2);
    square(&c2, &s2);
    turn_by(z[2], z[0], c2, s2);
    turn_by(z[3], z[1], c2, s2);
    if (count < 8)
        return;
    square(&c2, &s2);
    turn_by(z[4], z[0], c2, s2);
    turn_by(z[5], z[1], c2, s2);
    turn_by(z[6], z[2], c2, s2);
    turn_by(z[7], z[3], c2, s2);
}

/* The factors of smearing in time: theta = pi nu G for a change of delay G over the integration. */
FORCE void smear_in_time(const grove_predict_job *job, vec change, const vec (*centres)[2],
                         const vec (*sides)[2], vec *centre, vec *side)
{
    double middle = job->start + job->step * ((double)job->first + (PREDICT_GROUP - 1) / 2.0);
    vec g = guard(change * (real)(job->reference * 0.5)); /* turns of theta at the reference */
    vec scale = R(1.0) / (g * TWO_PI), y, c, s, c2, s2, theta[GROUPS][2], kh[SIDE][2];

    y = g * (real)(middle / job->reference);
    turn(y - nearest(y), &c, &s);
    y = g * (real)(job->step * PREDICT_GROUP / job->reference);
    turn(y - nearest(y), &c2, &s2);
    powers(theta, GROUPS, c, s, c2, s2);
    for (int j = 0; j < GROUPS; j++, centre += CHUNK * 4) {
        vec over = theta[j][1] * scale;
        centre[0] = centres[j][0] * over;
        centre[1] = centres[j][1] * over;
        centre[2] = centres[j][0] * theta[j][0];
        centre[3] = centres[j][1] * theta[j][0];
    }
    y = g * (real)(job->step * 0.5 / job->reference);
    turn(y - nearest(y), &c, &s);
    c2 = c;
    s2 = s;
    square(&c2, &s2);
    powers(kh, SIDE, c, s, c2, s2);
    for (int k = 0; k < SIDE; k++, side += CHUNK * 4) {
        vec over = kh[k][1] * scale;
        side[0] = sides[k][0] * kh[k][0];
        side[1] = sides[k][1] * kh[k][0];
        side[2] = sides[k][0] * over;
        side[3] = sides[k][1] * over;
    }
}

/* The exponent of a Gaussian's decay at a frequency. */
FORCE vec extent(const double *uvw, const double ellipse[4], double freq)
{
    const loose *u = (const loose *)uvw, *v = (const loose *)(uvw + LANES);
    half to[PARTS];

    for (int i = 0; i < PARTS; i++) {
        half x = u[i] * ellipse[0] + v[i] * ellipse[1], y = u[i] * ellipse[2] + v[i] * ellipse[3];
        to[i] = (x * x + y * y) * (freq * freq);
    }
    return narrow(to);
}

/* min(1, 1 / |x|), which |sin x / x| does not exceed. */
FORCE vec sinc_bound(vec x)
{
    vec size = (vec)((wholes)x & (wholes)(x > 0)) - (vec)((wholes)x & (wholes)(x < 0));
    wholes large = size > R(1.0);
    vec safe = (vec)(((wholes)size & large) | ((wholes)splat(1) & ~large));

    return R(1.0) / safe;
}

/* In which rows shape and smearing leave no less of a source than job->cutoff, at frequencies from
 * `freq` on: all bits set. Bounds of each row alone. */
static wholes alive(const work *w, int64_t source, double freq, double width)
{
    const grove_predict_job *job = w->job;
    const double *direction = job->direction + 3 * source;
    half delay[PARTS], change[PARTS];
    vec most = splat(1);

    if (job->width) {
        dot(w->uvw, direction, delay);
        most = sinc_bound(narrow(delay) * (real)(width * 3.14159265358979324));
    }
    if (job->smear_time) {
        dot(w->change, direction, change);
        most *= sinc_bound(narrow(change) * (real)(freq * 3.14159265358979324));
    }
    if (source >= job->points)
        most *= decay(extent(w->uvw, job->ellipse + 4 * (source - job->points), freq));
    return most >= (real)job->cutoff;
}

/* In a block of equally spaced channels; unequal widths leave all. */
static wholes alive_in_block(const work *w, int64_t source)
{
    const grove_predict_job *job = w->job;
    double first = fabs(job->start + job->step * (double)job->first);
    double last = fabs(job->start + job->step * (double)(job->first + PREDICT_BLOCK - 1));
    double width = job->width && job->equal_width ? job->width[0] : 0;

    return alive(w, source, first < last ? first : last, width);
}

static int any_alive(const work *w, int64_t source, int count)
{
    wholes any = {0};

    for (int i = 0; i < count; i++)
        any |= alive_in_block(w, source + i);
    for (int lane = 0; lane < LANES; lane++)
        if (any[lane])
            return 1;
    return 0;
}

/* Phases of a source in a block of equally spaced channels. */
FORCE void fill_source(const work *w, int64_t source, real amplitude, int smear_time, vec *centre,
                       vec *side)
{
    const grove_predict_job *job = w->job;
    const double *direction = job->direction + 3 * source;
    double middle = job->start + job->step * ((double)job->first + (PREDICT_GROUP - 1) / 2.0);
    vec c, s, c2, s2, centres[GROUPS][2], sides[SIDE][2], scale = splat(amplitude);
    half delay[PARTS], change[PARTS];

    dot(w->uvw, direction, delay);
    turn(turns_of(delay, -middle), &c, &s);
    turn(turns_of(delay, -job->step * PREDICT_GROUP), &c2, &s2);
    if (job->cutoff > 0)
        scale = (vec)((wholes)scale & alive_in_block(w, source));
    if (job->width && job->equal_width)
        scale *= sinc_turns(narrow(delay) * (real)job->width[0]);
    powers(centres, GROUPS, c * scale, s * scale, c2, s2);
    turn(turns_of(delay, -0.5 * job->step), &c, &s);
    turn(turns_of(delay, -job->step), &c2, &s2);
    powers(sides, SIDE, c, s, c2, s2);
    if (smear_time) {
        dot(w->change, direction, change);
        smear_in_time(job, narrow(change), (const vec(*)[2])centres, (const vec(*)[2])sides, centre,
                      side);
        return;
    }
    for (int j = 0; j < GROUPS; j++, centre += CHUNK * 2) {
        centre[0] = centres[j][0];
        centre[1] = centres[j][1];
    }
    for (int k = 0; k < SIDE; k++, side += CHUNK * 2) {
        side[0] = sides[k][0];
        side[1] = sides[k][1];
    }
}

/* ---- flat spectra of points: products of matrices ---- */

FORCE quad add_product(quad s, const vec *z, const vec *x, int smear_time)
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

/* TALL groups by two distances. */
FORCE void tile(const vec *z, const vec *x, int count, int smear_time, quad *to)
{
    const int factors = smear_time ? 4 : 2, next = CHUNK * factors;
    quad p = to[0], q = to[1], r = p, s = p;

    if (TALL == 2) {
        r = to[SIDE];
        s = to[SIDE + 1];
    }
    for (int i = 0; i < count; i++, z += factors, x += factors) {
        p = add_product(p, z, x, smear_time);
        q = add_product(q, z, x + next, smear_time);
        if (TALL == 2) {
            r = add_product(r, z + next, x, smear_time);
            s = add_product(s, z + next, x + next, smear_time);
        }
    }
    to[0] = p;
    to[1] = q;
    if (TALL == 2) {
        to[SIDE] = r;
        to[SIDE + 1] = s;
    }
}

FORCE void weigh_centres(const grove_predict_job *job, panels *p, const real *weight, int count,
                         int factors)
{
    for (int j = 0; j < GROUPS; j++)
        for (int i = 0; i < count; i++)
            for (int e = 0; e < factors; e++) {
                int at = (j * CHUNK + i) * factors + e;
                p->weighted[at] = p->centre[at] * weight[job->weight_source * i];
            }
}

FORCE void add_flat(const work *w, panels *p, int64_t source, int count, int smear_time)
{
    const grove_predict_job *job = w->job;
    const real *weight = (const real *)job->weight + job->weight_source * source;
    const int factors = smear_time ? 4 : 2, next = CHUNK * factors;
    int alone = job->components == 1;
    const vec *centre = alone ? p->centre : p->weighted;

    for (int i = 0; i < count; i++)
        fill_source(w, source + i, alone ? weight[job->weight_source * i] : 1, smear_time,
                    p->centre + factors * i, p->side + factors * i);
    for (int c = 0; c < job->components; c++) {
        if (!alone)
            weigh_centres(job, p, weight + c, count, factors);
        for (int k = 0; k < SIDE; k += 2)
            for (int j = w->from / TALL * TALL; j < w->to; j += TALL)
                tile(centre + j * next, p->side + k * next, count, smear_time, &p->parts[c][j][k]);
    }
}

/* ---- a weight for each channel ---- */

/* The phases of both channels of a source, smeared in time. */
FORCE quad both_of(const vec *z, const vec *x, int smear_time)
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

FORCE quad add_weighed(quad sum, quad v, real up, real down)
{
    sum.a += v.a * up;
    sum.b += v.b * up;
    sum.c += v.c * down;
    sum.d += v.d * down;
    return sum;
}

/* All sources of the panels for the channels of group j at distance k. */
FORCE void sum_pair(const work *w, panels *p, const real *weight, int count, int j, int k,
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
        quad v = both_of(z, x, smear_time);
        if (factors) {
            v.a *= p->factor[k][i][j][0];
            v.b *= p->factor[k][i][j][0];
            v.c *= p->factor[k][i][j][1];
            v.d *= p->factor[k][i][j][1];
            KEEP(v.a);
            KEEP(v.b);
            KEEP(v.c);
            KEEP(v.d);
        }
        s0 = add_weighed(s0, v, up[0], down[0]);
        if (components > 1)
            s1 = add_weighed(s1, v, up[1], down[1]);
        if (components > 2)
            s2 = add_weighed(s2, v, up[2], down[2]);
        if (components > 3)
            s3 = add_weighed(s3, v, up[3], down[3]);
        up += job->weight_source;
        down += job->weight_source;
    }
    p->channels[0][j][k] = s0;
    p->channels[1][j][k] = s1;
    p->channels[2][j][k] = s2;
    p->channels[3][j][k] = s3;
}

/* Shapes of Gaussians, and smearing over channels of unequal widths. */
static void fill_factors(const work *w, int64_t source, vec (*factor)[CHUNK][GROUPS][2])
{
    const grove_predict_job *job = w->job;
    int gaussian = source >= job->points;
    const double *a = job->ellipse + (gaussian ? 4 * (source - job->points) : 0);
    vec spread = gaussian ? extent(w->uvw, a, job->reference) : splat(0), delay;
    half delays[PARTS];

    dot(w->uvw, job->direction + 3 * source, delays);
    delay = narrow(delays);
    for (int k = PREDICT_GROUP * w->from; k < PREDICT_GROUP * w->to; k++) {
        int r = k % PREDICT_GROUP;
        double ratio = job->freq[k] / job->reference;
        vec f = gaussian ? decay(spread * (real)(ratio * ratio)) : splat(1);
        if (job->width && !job->equal_width)
            f *= sinc_turns(delay * (real)job->width[k]);
        factor[r < SIDE ? SIDE - 1 - r : r - SIDE][0][k / PREDICT_GROUP][r < SIDE] = f;
    }
}

FORCE void add_weighted(const work *w, panels *p, int64_t source, int count, int components,
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
