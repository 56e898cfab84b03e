/* Sums for rows with every phase evaluated: few channels, or channels that are not equally
 * spaced. */
#ifndef GROVE_KERNELS_PREDICT_ROWS_DIRECT_H
#define GROVE_KERNELS_PREDICT_ROWS_DIRECT_H

#include "predict_rows_phases.h"
#include "predict_sincs.h"

/* Of `count` sources, up to CHUNK, in a channel: turns of the phase, less whole ones, and of both
 * sincs. */
INLINE void find_direct_turns(const work *w, int64_t source, int count, int channel, int smear_time,
                              int wide, vec *turns, vec *x, vec *y)
{
    const grove_predict_job *job = w->job;
    double freq = job->freq[channel], width = wide ? job->width[channel] : 0;
    doubles delay[PARTS], change[PARTS];

    for (int i = 0; i < count; i++) {
        const double *direction = job->direction + 3 * (source + i);
        dot(w->uvw, direction, delay);
        turns[i] = fractional_turns(delay, -freq);
        if (wide)
            y[i] = narrow(delay) * (real)width;
        if (smear_time) {
            dot(w->change, direction, change);
            x[i] = narrow(change) * (real)freq;
        }
    }
    for (int i = 0; i < count && !(wide && smear_time); i++)
        *(wide ? &x[i] : &y[i]) = splat(0);
}

/* The phases of these sources, with shapes and smearing. Each kind is computed for all sources
 * before the next: operations that do not wait for each other keep the processor busy. */
static void direct_phases(const work *w, int64_t source, int count, int channel, vec (*z)[2])
{
    const grove_predict_job *job = w->job;
    double freq = job->freq[channel], width = job->width ? job->width[channel] : 0;
    int shaped = source + count > job->points;
    vec turns[CHUNK], factor[CHUNK], across[CHUNK];

    if (job->smear_time && job->width)
        find_direct_turns(w, source, count, channel, 1, 1, turns, factor, across);
    else if (job->smear_time)
        find_direct_turns(w, source, count, channel, 1, 0, turns, factor, across);
    else if (job->width)
        find_direct_turns(w, source, count, channel, 0, 1, turns, factor, across);
    else
        find_direct_turns(w, source, count, channel, 0, 0, turns, factor, across);
    for (int i = 0; i < count; i++)
        phasor(turns[i], &z[i][0], &z[i][1]);
    if (!job->smear_time && !job->width && !shaped && !(job->cutoff > 0))
        return;
    if (job->smear_time || job->width)
        sincs_of(factor, across, count);
    for (int i = 0; i < count && !job->smear_time && !job->width; i++)
        factor[i] = splat(1);
    for (int i = 0; i < count && shaped; i++)
        if (source + i >= job->points)
            factor[i] *= decay(extent(w->uvw, job->ellipse + 5 * (source + i - job->points), freq));
    for (int i = 0; i < count && job->cutoff > 0; i++)
        factor[i] = (vec)((integers)factor[i] & above_cutoff(w, source + i, freq, width));
    for (int i = 0; i < count; i++) {
        z[i][0] *= factor[i];
        z[i][1] *= factor[i];
    }
}

INLINE void put_sum(const work *w, int component, int channel, int imaginary, vec sum)
{
    double *to = w->sums + ((component * PREDICT_BLOCK + channel) * 2 + imaginary) * LANES;

    for (int lane = 0; lane < LANES; lane++)
        to[lane] += (double)sum[lane];
}

INLINE void sum_channel(const work *w, int64_t from, int64_t to, int channel, int components)
{
    const grove_predict_job *job = w->job;
    const real *weight =
        (const real *)job->weight + job->weight_source * from + job->weight_channel * channel;
    vec zero = splat(0), z[CHUNK][2];
    quad x = {zero, zero, zero, zero}, y = x; /* re, im of two components each */

    for (int64_t source = from; source < to; source += CHUNK) {
        int count = to - source < CHUNK ? (int)(to - source) : CHUNK;
        direct_phases(w, source, count, channel, z);
        for (int i = 0; i < count; i++, weight += job->weight_source) {
            x.a += z[i][0] * weight[0];
            x.b += z[i][1] * weight[0];
            if (components > 1) {
                x.c += z[i][0] * weight[1];
                x.d += z[i][1] * weight[1];
            }
            if (components > 2) {
                y.a += z[i][0] * weight[2];
                y.b += z[i][1] * weight[2];
            }
            if (components > 3) {
                y.c += z[i][0] * weight[3];
                y.d += z[i][1] * weight[3];
            }
        }
    }
    vec sums[8] = {x.a, x.b, x.c, x.d, y.a, y.b, y.c, y.d};
    for (int e = 0; e < 2 * components; e++)
        put_sum(w, e / 2, channel, e % 2, sums[e]);
}

/* A call for each number of sums, which is a constant where sum_channel is inlined. */
static void sum_direct(const work *w, int64_t from, int64_t to, int channel)
{
    switch (w->job->components) {
    case 1:
        sum_channel(w, from, to, channel, 1);
        break;
    case 2:
        sum_channel(w, from, to, channel, 2);
        break;
    case 3:
        sum_channel(w, from, to, channel, 3);
        break;
    default:
        sum_channel(w, from, to, channel, 4);
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
