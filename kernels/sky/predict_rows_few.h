/* Phases of a source in a few equally spaced channels: all, or the last ones of an axis. They turn
 * both ways about the middle of these channels, so that there is one group, of no more channels
 * than needed: two phasors, or four with smearing in time, and for each pair of channels 4
 * operations for the powers, or 12. */
#ifndef GROVE_KERNELS_PREDICT_ROWS_FEW_H
#define GROVE_KERNELS_PREDICT_ROWS_FEW_H

#include "predict_rows_phases.h"

/* z[k] = (c, s)^(2 k + 1), k < count. */
INLINE void odd_powers(vec (*z)[2], int count, vec c, vec s)
{
    vec c2 = c, s2 = s;

    square(&c2, &s2);
    powers(z, count, c, s, c2, s2);
}

/* Of the sources of the panels; each kind is computed for all of them before the next, since
 * operations that do not wait for each other keep the processor busy. */
typedef struct {
    /* Turns, less whole ones, and their phasors: of the middle, of half a step; with smearing in
     * time of theta in the middle and its change in half a step. */
    vec turns[4][CHUNK], phasor[4][CHUNK][2];
    vec growth[CHUNK], width[CHUNK]; /* turns of theta at the reference; turns in a width */
    vec scale[CHUNK];
} few_phases;

INLINE void find_few_turns(const work *w, int64_t source, int count, int smear_time, few_phases *f)
{
    const grove_predict_job *job = w->job;
    double middle = job->start + job->step * ((double)job->first + w->side - 0.5);
    real theta = (real)(middle / job->reference), kh = (real)(job->step * 0.5 / job->reference);
    real width = (real)(job->width ? job->width[0] : 0), half = (real)(job->reference * 0.5);
    doubles delay[PARTS], change[PARTS];

    for (int i = 0; i < count; i++) {
        const double *direction = job->direction + 3 * (source + i);
        dot(w->uvw, direction, delay);
        f->turns[0][i] = fractional_turns(delay, -middle);
        f->turns[1][i] = fractional_turns(delay, -0.5 * job->step);
        f->width[i] = narrow(delay) * width;
        if (!smear_time)
            continue;
        dot(w->change, direction, change);
        vec g = avoid_zero(narrow(change) * half), y = g * theta;
        f->growth[i] = g;
        f->turns[2][i] = y - nearest(y);
        y = g * kh;
        f->turns[3][i] = y - nearest(y);
    }
}

/* Smearing over the channel's width, and its factor that is constant in time, with one division. */
INLINE void find_few_scales(const work *w, int64_t source, int count, const real *amplitude,
                            int smear_time, few_phases *f)
{
    const grove_predict_job *job = w->job;

    for (int i = 0; i < count; i++) {
        vec sine = splat(1), angle = sine;
        if (job->width)
            sinc_parts(f->width[i], &sine, &angle);
        if (smear_time)
            angle *= f->growth[i] * TWO_PI;
        f->scale[i] = job->width || smear_time ? sine / angle : sine;
        if (amplitude)
            f->scale[i] *= amplitude[job->weight_source * i];
        if (job->cutoff > 0)
            f->scale[i] = (vec)((integers)f->scale[i] & block_above_cutoff(w, source + i));
    }
}

/* side: half of the group's channels. */
INLINE void multiply_few(const few_phases *f, int count, int side, int smear_time, panels *p)
{
    const int factors = smear_time ? 4 : 2;
    vec sides[SIDE][2], kh[SIDE][2];

    for (int i = 0; i < count; i++) {
        const vec(*z)[CHUNK][2] = f->phasor;
        vec *centre = p->centre + factors * i, *to = p->side + factors * i;
        vec re = z[0][i][0] * f->scale[i], im = z[0][i][1] * f->scale[i];
        odd_powers(sides, side, z[1][i][0], z[1][i][1]);
        if (smear_time)
            odd_powers(kh, side, z[3][i][0], z[3][i][1]);
        centre[0] = smear_time ? re * z[2][i][1] : re;
        centre[1] = smear_time ? im * z[2][i][1] : im;
        if (smear_time) {
            centre[2] = re * z[2][i][0];
            centre[3] = im * z[2][i][0];
        }
        for (int k = 0; k < side; k++, to += CHUNK * factors)
            for (int e = 0; e < factors; e++)
                to[e] = smear_time ? sides[k][e % 2] * kh[k][e / 2] : sides[k][e];
    }
}

/* Half of a group's channels. */
static int side_of(const grove_predict_job *job)
{
    return !job->few || job->few > PREDICT_GROUP / 2 ? SIDE : job->few > PREDICT_GROUP / 4 ? 4 : 2;
}

INLINE void fill_few(const work *w, panels *p, int64_t source, int count, const real *amplitude,
                     int smear_time)
{
    few_phases f;

    find_few_turns(w, source, count, smear_time, &f);
    find_few_scales(w, source, count, amplitude, smear_time, &f);
    for (int k = 0; k < (smear_time ? 4 : 2); k++)
        for (int i = 0; i < count; i++)
            phasor(f.turns[k][i], &f.phasor[k][i][0], &f.phasor[k][i][1]);
    if (w->side == 2)
        multiply_few(&f, count, 2, smear_time, p);
    else if (w->side == 4)
        multiply_few(&f, count, 4, smear_time, p);
    else
        multiply_few(&f, count, SIDE, smear_time, p);
}

static void fill_few_plain(const work *w, panels *p, int64_t source, int count,
                           const real *amplitude)
{
    fill_few(w, p, source, count, amplitude, 0);
}

static void fill_few_smeared(const work *w, panels *p, int64_t source, int count,
                             const real *amplitude)
{
    fill_few(w, p, source, count, amplitude, 1);
}

/* Phases of `count` sources, times their amplitudes (one in weight_source numbers; NULL: 1). */
INLINE void fill_panels(const work *w, panels *p, int64_t source, int count, const real *amplitude,
                        int smear_time)
{
    const int factors = smear_time ? 4 : 2;

    if (w->job->few && smear_time)
        fill_few_smeared(w, p, source, count, amplitude);
    else if (w->job->few)
        fill_few_plain(w, p, source, count, amplitude);
    else
        for (int i = 0; i < count; i++)
            fill_source(w, source + i, amplitude ? amplitude[w->job->weight_source * i] : 1,
                        smear_time, p->centre + factors * i, p->side + factors * i);
}

#endif
