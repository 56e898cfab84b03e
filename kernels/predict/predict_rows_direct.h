/* Sums for rows with every phase evaluated: few channels, or channels that are not equally
 * spaced. */
#ifndef GROVE_KERNELS_PREDICT_ROWS_DIRECT_H
#define GROVE_KERNELS_PREDICT_ROWS_DIRECT_H

#include "predict_rows_phases.h"
#include "predict_sincs.h"

/* The phase of a source in a channel, with its shape and smearing. */
INLINE void direct_phase(const work *w, int64_t source, double freq, double width, int smear_time,
                         vec *re, vec *im)
{
    const grove_predict_job *job = w->job;
    const double *direction = job->direction + 3 * source;
    doubles delay[PARTS], change[PARTS];

    dot(w->uvw, direction, delay);
    phasor(fractional_turns(delay, -freq), re, im);
    vec factor = splat(1);
    if (smear_time || job->width) {
        vec x = splat(0), y = splat(0);
        if (smear_time) {
            dot(w->change, direction, change);
            x = narrow(change) * (real)freq;
        }
        if (job->width)
            y = narrow(delay) * (real)width;
        factor = sincs(x, y);
    }
    if (source >= job->points)
        factor *= decay(extent(w->uvw, job->ellipse + 4 * (source - job->points), freq));
    if (job->cutoff > 0)
        factor = (vec)((integers)factor & above_cutoff(w, source, freq, width));
    *re *= factor;
    *im *= factor;
}

INLINE void put_sum(const work *w, int component, int channel, int imaginary, vec sum)
{
    double *to = w->sums + ((component * PREDICT_BLOCK + channel) * 2 + imaginary) * LANES;

    for (int lane = 0; lane < LANES; lane++)
        to[lane] += (double)sum[lane];
}

INLINE void sum_channel(const work *w, int64_t from, int64_t to, int channel, int components,
                        int smear_time)
{
    const grove_predict_job *job = w->job;
    const real *weight =
        (const real *)job->weight + job->weight_source * from + job->weight_channel * channel;
    double freq = job->freq[channel], width = job->width ? job->width[channel] : 0;
    vec zero = splat(0), c, s;
    quad x = {zero, zero, zero, zero}, y = x; /* re, im of two components each */

    for (int64_t i = from; i < to; i++, weight += job->weight_source) {
        direct_phase(w, i, freq, width, smear_time, &c, &s);
        KEEP(c);
        KEEP(s);
        x.a += c * weight[0];
        x.b += s * weight[0];
        if (components > 1) {
            x.c += c * weight[1];
            x.d += s * weight[1];
        }
        if (components > 2) {
            y.a += c * weight[2];
            y.b += s * weight[2];
        }
        if (components > 3) {
            y.c += c * weight[3];
            y.d += s * weight[3];
        }
    }
    vec sums[8] = {x.a, x.b, x.c, x.d, y.a, y.b, y.c, y.d};
    for (int e = 0; e < 2 * components; e++)
        put_sum(w, e / 2, channel, e % 2, sums[e]);
}

/* A call for each number of sums, which is a constant where sum_channel is inlined. */
static void sum_direct(const work *w, int64_t from, int64_t to, int channel)
{
    int smear_time = w->job->smear_time;

    switch (w->job->components) {
    case 1:
        if (smear_time)
            sum_channel(w, from, to, channel, 1, 1);
        else
            sum_channel(w, from, to, channel, 1, 0);
        break;
    case 2:
        sum_channel(w, from, to, channel, 2, smear_time);
        break;
    case 3:
        sum_channel(w, from, to, channel, 3, smear_time);
        break;
    default:
        sum_channel(w, from, to, channel, 4, smear_time);
    }
}

static void add_direct(const work *w)
{
    int64_t sources = w->job->points + w->job->gaussians;

    for (int k = w->job->from; k < w->job->to; k++)
        for (int64_t from = 0; from < sources; from += FLUSH)
            sum_direct(w, from, from + FLUSH < sources ? from + FLUSH : sources, k);
}

#endif
