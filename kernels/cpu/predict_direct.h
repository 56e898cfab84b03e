/* The sum over sources with every phase evaluated: few channels, or channels that are not equally
 * spaced. */
#include "predict_baseline.h"

/* The phase of a source in a channel, with its shape and smearing. */
FORCE void direct_phase(const work *w, int64_t source, double freq, double width, int smear_time,
                        vec *re, vec *im)
{
    const grove_predict_job *job = w->job;
    const double *direction = job->direction + 3 * source;
    int gaussian = source >= job->points;
    const double *a = gaussian ? job->ellipse + 4 * (source - job->points) : NULL;
    vec turns, delay, change, spread;

    for (int at = 0; at < PARTS; at++) {
        half x = -dot(w->uvw, at, direction);
        put_turns(&turns, at, x * freq);
        if (job->width)
            put_real(&delay, at, x * width);
        if (smear_time)
            put_real(&change, at, dot(w->change, at, direction) * freq);
        if (gaussian) {
            half u, v;
            memcpy(&u, w->uvw + at * PART, sizeof(u));
            memcpy(&v, w->uvw + LANES + at * PART, sizeof(v));
            half p = u * a[0] + v * a[1], q = u * a[2] + v * a[3];
            put_real(&spread, at, (p * p + q * q) * (freq * freq));
        }
    }
    turn(turns, re, im);
    vec factor = splat(1);
    if (job->width)
        factor = sinc_turns(delay);
    if (smear_time)
        factor *= sinc_turns(change);
    if (gaussian)
        factor *= decay(spread);
    *re *= factor;
    *im *= factor;
}

FORCE void put_sum(const work *w, int component, int channel, int imaginary, vec sum)
{
    double *to = w->sums + ((component * PREDICT_BLOCK + channel) * 2 + imaginary) * LANES;

    for (int lane = 0; lane < LANES; lane++)
        to[lane] += (double)sum[lane];
}

FORCE void sum_channel(const work *w, int64_t from, int64_t to, int channel, int components,
                       int smear_time)
{
    const grove_predict_job *job = w->job;
    const real *weight =
        (const real *)job->weight + job->weight_source * from + job->weight_channel * channel;
    double freq = job->freq[channel], width = job->width ? job->width[channel] : 0;
    vec re[PREDICT_COMPONENTS], im[PREDICT_COMPONENTS], c, s;

    for (int e = 0; e < components; e++)
        re[e] = im[e] = splat(0);
    for (int64_t i = from; i < to; i++, weight += job->weight_source) {
        direct_phase(w, i, freq, width, smear_time, &c, &s);
#pragma GCC unroll 4
        for (int e = 0; e < components; e++) {
            re[e] += c * weight[e];
            im[e] += s * weight[e];
        }
    }
    for (int e = 0; e < components; e++) {
        put_sum(w, e, channel, 0, re[e]);
        put_sum(w, e, channel, 1, im[e]);
    }
}

/* The four kinds apart, so that what they have in common is inlined into each. */
static void sum_direct(const work *w, int64_t from, int64_t to, int channel)
{
    const grove_predict_job *job = w->job;

    if (job->components == 1 && !job->smear_time)
        sum_channel(w, from, to, channel, 1, 0);
    else if (job->components == 1)
        sum_channel(w, from, to, channel, 1, 1);
    else if (!job->smear_time)
        sum_channel(w, from, to, channel, job->components, 0);
    else
        sum_channel(w, from, to, channel, job->components, 1);
}

static void add_direct(const work *w)
{
    int64_t sources = w->job->points + w->job->gaussians;

    for (int k = w->job->from; k < w->job->to; k++)
        for (int64_t from = 0; from < sources; from += FLUSH)
            sum_direct(w, from, from + FLUSH < sources ? from + FLUSH : sources, k);
}
