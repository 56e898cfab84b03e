/* The sum over sources for baselines, a row (baseline and time) in each lane.
 *
 * The phase of channel k of a group about its centre c is z_c exp(-+ i k d): the sums over sources
 * of Re z_c cos kd, Im z_c cos kd, Re z_c sin kd, Im z_c sin kd give the channels k on both sides,
 * and cos kd, sin kd serve all groups: two multiply-adds for a source and channel, as a product of
 * matrices in each lane. The mean over an integration is sin(theta) / theta, theta = nu g, so with
 * theta_c and k h = theta - theta_c it is (reference / nu) [sin theta_c cos kh +- cos theta_c sin
 * kh] / g': the same with four factors for two, exact for arguments of any size. */
#include "predict_job.h"
#include "vector.h"

enum {
    GROUPS = PREDICT_BLOCK / PREDICT_GROUP,
    SIDE = PREDICT_GROUP / 2,
    CHUNK = 8,  /* sources in the panels at once */
    FLUSH = 256 /* sources after which sums go to double */
};

#define TWO_PI R(6.283185307179586477)

/* Sums of a group at distance k + 1/2 from its centre: even and odd part (re, im each), or the
 * channels above and below. */
typedef vec quad[4];
typedef quad quads[PREDICT_COMPONENTS][GROUPS][SIDE];

typedef struct {
    /* [source][group]: z_c; with smearing in time z_c sin theta_c / g and z_c cos theta_c */
    vec centre[CHUNK][GROUPS][4], weighted[CHUNK][GROUPS][4];
    /* [source][k]: cos kd, sin kd; with smearing in time cos kh and sin kh / g times both */
    vec side[CHUNK][SIDE][4];
    vec factor[CHUNK][GROUPS][SIDE][2]; /* of the channels above and below: shapes and the like */
    quads parts, channels;
} panels;

typedef struct {
    const grove_predict_job *job;
    const double *uvw, *change;
    double *sums;
    int from, to; /* groups */
} work;

/* u . direction in double, for one part of the lanes. */
FORCE half dot(const double *uvw, int at, const double *direction)
{
    half u, v, w;

    memcpy(&u, uvw + at * PART, sizeof(u));
    memcpy(&v, uvw + LANES + at * PART, sizeof(v));
    memcpy(&w, uvw + 2 * LANES + at * PART, sizeof(w));
    return u * direction[0] + v * direction[1] + w * direction[2];
}

FORCE void put_real(vec *to, int at, half x)
{
#if GROVE_REAL_SINGLE
    part narrow = __builtin_convertvector(x, part);
    memcpy((char *)to + at * (int)sizeof(part), &narrow, sizeof(narrow));
#else
    (void)at;
    *to = x;
#endif
}

/* (a, b) *= (c, s) */
FORCE void rotate(vec *a, vec *b, vec c, vec s)
{
    vec x = *a * c - *b * s;

    *b = *a * s + *b * c;
    *a = x;
}

/* The factors of smearing in time: theta = pi nu G for a change of delay G over the integration. */
FORCE void smear_in_time(const work *w, vec change, vec (*centre)[4], vec (*side)[4])
{
    const grove_predict_job *job = w->job;
    double middle = job->start + job->step * ((double)job->first + (PREDICT_GROUP - 1) / 2.0);
    vec g = guard(change * (real)(job->reference * 0.5)); /* turns of theta at the reference */
    vec scale = R(1.0) / (g * TWO_PI);
    vec y = g * (real)(middle / job->reference), cosine, sine, c, s, c2, s2;

    turn(y - nearest(y), &cosine, &sine);
    y = g * (real)(job->step * PREDICT_GROUP / job->reference);
    turn(y - nearest(y), &c, &s);
    for (int j = 0; j < GROUPS; j++) {
        vec re = centre[j][0], im = centre[j][1], over = sine * scale;
        centre[j][0] = re * over;
        centre[j][1] = im * over;
        centre[j][2] = re * cosine;
        centre[j][3] = im * cosine;
        rotate(&cosine, &sine, c, s);
    }
    y = g * (real)(job->step * 0.5 / job->reference);
    turn(y - nearest(y), &c, &s);
    c2 = c * c - s * s;
    s2 = R(2.0) * c * s;
    for (int k = 0; k < SIDE; k++) {
        vec re = side[k][0], im = side[k][1], over = s * scale;
        side[k][0] = re * c;
        side[k][1] = im * c;
        side[k][2] = re * over;
        side[k][3] = im * over;
        rotate(&c, &s, c2, s2);
    }
}

/* Phases of a source in a block of equally spaced channels. */
FORCE void fill_source(const work *w, int64_t source, real amplitude, int smear_time,
                       vec (*centre)[4], vec (*side)[4])
{
    const grove_predict_job *job = w->job;
    const double *direction = job->direction + 3 * source;
    double middle = job->start + job->step * ((double)job->first + (PREDICT_GROUP - 1) / 2.0);
    double group = job->step * PREDICT_GROUP;
    vec turns[3], delay, change, c, s, c2, s2;

    for (int at = 0; at < PARTS; at++) {
        half x = -dot(w->uvw, at, direction);
        put_turns(&turns[0], at, x * middle);
        put_turns(&turns[1], at, x * group);
        put_turns(&turns[2], at, x * (0.5 * job->step));
        put_real(&delay, at, x);
        if (smear_time)
            put_real(&change, at, dot(w->change, at, direction));
    }
    turn(turns[0], &c, &s);
    vec scale = splat(amplitude);
    if (job->width && job->equal_width)
        scale *= sinc_turns(delay * (real)job->width[0]);
    c *= scale;
    s *= scale;
    turn(turns[1], &c2, &s2);
    for (int j = 0; j < GROUPS; j++) {
        centre[j][0] = c;
        centre[j][1] = s;
        rotate(&c, &s, c2, s2);
    }
    turn(turns[2], &c, &s);
    c2 = c * c - s * s;
    s2 = R(2.0) * c * s;
    for (int k = 0; k < SIDE; k++) {
        side[k][0] = c;
        side[k][1] = s;
        rotate(&c, &s, c2, s2);
    }
    if (smear_time)
        smear_in_time(w, change, centre, side);
}

/* ---- flat spectra of points: products of matrices ---- */

FORCE void tile(const panels *p, vec (*centre)[GROUPS][4], int count, int j, int k, int smear_time,
                quad *first, quad *second)
{
    vec a0 = (*first)[0], a1 = (*first)[1], a2 = (*first)[2], a3 = (*first)[3];
    vec b0 = (*second)[0], b1 = (*second)[1], b2 = (*second)[2], b3 = (*second)[3];

    for (int i = 0; i < count; i++) {
        const vec *z = centre[i][j], *x = p->side[i][k], *y = p->side[i][k + 1];
        a0 += z[0] * x[0];
        a1 += z[1] * x[0];
        a2 -= z[1] * x[1];
        a3 += z[0] * x[1];
        b0 += z[0] * y[0];
        b1 += z[1] * y[0];
        b2 -= z[1] * y[1];
        b3 += z[0] * y[1];
        if (!smear_time)
            continue;
        a0 -= z[3] * x[3];
        a1 += z[2] * x[3];
        a2 += z[2] * x[2];
        a3 += z[3] * x[2];
        b0 -= z[3] * y[3];
        b1 += z[2] * y[3];
        b2 += z[2] * y[2];
        b3 += z[3] * y[2];
    }
    (*first)[0] = a0, (*first)[1] = a1, (*first)[2] = a2, (*first)[3] = a3;
    (*second)[0] = b0, (*second)[1] = b1, (*second)[2] = b2, (*second)[3] = b3;
}

FORCE void add_flat(const work *w, panels *p, int64_t source, int count, int smear_time)
{
    const grove_predict_job *job = w->job;
    const real *weight = (const real *)job->weight + job->weight_source * source;
    int alone = job->components == 1;

    for (int i = 0; i < count; i++)
        fill_source(w, source + i, alone ? weight[job->weight_source * i] : 1, smear_time,
                    p->centre[i], p->side[i]);
    for (int c = 0; c < job->components; c++) {
        for (int i = 0; i < count && !alone; i++)
            for (int j = 0; j < GROUPS; j++)
                for (int e = 0; e < (smear_time ? 4 : 2); e++)
                    p->weighted[i][j][e] = p->centre[i][j][e] * weight[job->weight_source * i + c];
        for (int j = w->from; j < w->to; j++)
            for (int k = 0; k < SIDE; k += 2)
                tile(p, alone ? p->centre : p->weighted, count, j, k, smear_time,
                     &p->parts[c][j][k], &p->parts[c][j][k + 1]);
    }
}

/* ---- a weight for each channel ---- */

/* The phases of both channels of a source, smeared in time. */
FORCE void both_of(const vec *z, const vec *x, int smear_time, vec to[4])
{
    vec re = z[0] * x[0], im = z[1] * x[0];

    if (smear_time) {
        vec odd_re = z[2] * x[2] - z[1] * x[1], odd_im = z[3] * x[2] + z[0] * x[1];
        re -= z[3] * x[3];
        im += z[2] * x[3];
        to[0] = re + odd_re;
        to[1] = im + odd_im;
        to[2] = re - odd_re;
        to[3] = im - odd_im;
    } else {
        to[0] = re - z[1] * x[1];
        to[1] = im + z[0] * x[1];
        to[2] = re + z[1] * x[1];
        to[3] = im - z[0] * x[1];
    }
}

FORCE void sum_pair(const panels *p, const real *weight, const grove_predict_job *job, int count,
                    int j, int k, int components, int smear_time, int factors, quad *const *to)
{
    int64_t above = job->weight_channel * (PREDICT_GROUP * j + SIDE + k);
    int64_t below = job->weight_channel * (PREDICT_GROUP * j + SIDE - 1 - k);
    quad sum[PREDICT_COMPONENTS], v;

    for (int c = 0; c < components; c++)
        memcpy(sum[c], to[c], sizeof(quad));
    for (int i = 0; i < count; i++, weight += job->weight_source) {
        both_of(p->centre[i][j], p->side[i][k], smear_time, v);
        if (factors) {
            v[0] *= p->factor[i][j][k][0];
            v[1] *= p->factor[i][j][k][0];
            v[2] *= p->factor[i][j][k][1];
            v[3] *= p->factor[i][j][k][1];
        }
#pragma GCC unroll 4
        for (int c = 0; c < components; c++) {
            real up = weight[above + c], down = weight[below + c];
            sum[c][0] += v[0] * up;
            sum[c][1] += v[1] * up;
            sum[c][2] += v[2] * down;
            sum[c][3] += v[3] * down;
        }
    }
    for (int c = 0; c < components; c++)
        memcpy(to[c], sum[c], sizeof(quad));
}

/* Shapes of Gaussians, and smearing over channels of unequal widths. */
static void fill_factors(const work *w, int64_t source, vec (*factor)[SIDE][2])
{
    const grove_predict_job *job = w->job;
    int gaussian = source >= job->points;
    const double *a = job->ellipse + (gaussian ? 4 * (source - job->points) : 0);
    vec spread = splat(0), delay = splat(0);

    for (int at = 0; at < PARTS; at++) {
        half u, v;
        memcpy(&u, w->uvw + at * PART, sizeof(u));
        memcpy(&v, w->uvw + LANES + at * PART, sizeof(v));
        half x = gaussian ? u * a[0] + v * a[1] : u * 0, y = gaussian ? u * a[2] + v * a[3] : x;
        put_real(&spread, at, (x * x + y * y) * (job->reference * job->reference));
        put_real(&delay, at, dot(w->uvw, at, job->direction + 3 * source));
    }
    for (int k = PREDICT_GROUP * w->from; k < PREDICT_GROUP * w->to; k++) {
        int r = k % PREDICT_GROUP;
        double ratio = job->freq[k] / job->reference;
        vec f = gaussian ? decay(spread * (real)(ratio * ratio)) : splat(1);
        if (job->width && !job->equal_width)
            f *= sinc_turns(delay * (real)job->width[k]);
        factor[k / PREDICT_GROUP][r < SIDE ? SIDE - 1 - r : r - SIDE][r < SIDE] = f;
    }
}

FORCE void add_weighted(const work *w, panels *p, int64_t source, int count, int components,
                        int smear_time, int factors)
{
    const grove_predict_job *job = w->job;
    const real *weight = (const real *)job->weight + job->weight_source * source;

    for (int i = 0; i < count; i++)
        fill_source(w, source + i, 1, smear_time, p->centre[i], p->side[i]);
    for (int i = 0; i < count && factors; i++)
        fill_factors(w, source + i, p->factor[i]);
    for (int j = w->from; j < w->to; j++)
        for (int k = 0; k < SIDE; k++) {
            quad *to[PREDICT_COMPONENTS];
            for (int c = 0; c < PREDICT_COMPONENTS; c++)
                to[c] = &p->channels[c][j][k];
            sum_pair(p, weight, job, count, j, k, components, smear_time, factors, to);
        }
}
