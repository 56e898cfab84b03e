/* Sums for rows, a row in each lane: all sources of a block of channels, in panels or directly. */
#ifndef GROVE_KERNELS_PREDICT_ROWS_H
#define GROVE_KERNELS_PREDICT_ROWS_H

#include "predict_rows_direct.h"
#include "predict_rows_flat.h"
#include "predict_rows_jones.h"
#include "predict_rows_spectra.h"

static void flush(const work *w, panels *p)
{
    for (int c = 0; c < w->job->components; c++)
        for (int j = w->from; j < w->to; j++)
            for (int k = 0; k < w->side; k++) {
                quad *x = &p->parts[c][j][k], *sum = &p->channels[c][j][k];
                int above = PREDICT_GROUP * j + w->side + k;
                int below = PREDICT_GROUP * j + w->side - 1 - k;
                put_sum(w, c, above, 0, sum->a + (x->a + x->c));
                put_sum(w, c, above, 1, sum->b + (x->b + x->d));
                put_sum(w, c, below, 0, sum->c + (x->a - x->c));
                put_sum(w, c, below, 1, sum->d + (x->b - x->d));
                memset(x, 0, sizeof(quad));
                memset(sum, 0, sizeof(quad));
            }
}

/* Gaussians with one weight for all channels. */
static void add_bare_shapes(const work *w, panels *p, int64_t source, int count)
{
    add_weighted(w, p, source, count, 1, 0, FACTORS_ALONE);
}

static void add_smeared_shapes(const work *w, panels *p, int64_t source, int count)
{
    add_weighted(w, p, source, count, 1, 1, FACTORS_ALONE);
}

/* One function for each number of sums and kind of smearing. The arithmetic of a sum is the same in
 * all of them. */
#define DEFINE_ADD(components, smear)                                                              \
    static void add_spectra_##components##smear(const work *w, panels *p, int64_t source,          \
                                                int count)                                         \
    {                                                                                              \
        add_weighted(w, p, source, count, components, smear, 0);                                   \
    }                                                                                              \
    static void add_shapes_##components##smear(const work *w, panels *p, int64_t source,           \
                                               int count)                                          \
    {                                                                                              \
        add_weighted(w, p, source, count, components, smear, FACTORS);                             \
    }
DEFINE_ADD(1, 0)
DEFINE_ADD(1, 1)
DEFINE_ADD(2, 0)
DEFINE_ADD(2, 1)
DEFINE_ADD(3, 0)
DEFINE_ADD(3, 1)
DEFINE_ADD(4, 0)
DEFINE_ADD(4, 1)

static void add_plain(const work *w, panels *p, int64_t source, int count)
{
    add_flat(w, p, source, count, 0);
}

static void add_smeared(const work *w, panels *p, int64_t source, int count)
{
    add_flat(w, p, source, count, 1);
}

typedef void add_fn(const work *w, panels *p, int64_t source, int count);

static add_fn *const add_flat_by[2] = {add_plain, add_smeared};
static add_fn *const add_spectra_by[PREDICT_COMPONENTS][2] = {
    {add_spectra_10, add_spectra_11},
    {add_spectra_20, add_spectra_21},
    {add_spectra_30, add_spectra_31},
    {add_spectra_40, add_spectra_41},
};
static add_fn *const add_shapes_by[PREDICT_COMPONENTS][2] = {
    {add_shapes_10, add_shapes_11},
    {add_shapes_20, add_shapes_21},
    {add_shapes_30, add_shapes_31},
    {add_shapes_40, add_shapes_41},
};

/* Adds sources [from, to) by one of these functions. */
static void add_range(const work *w, panels *p, int64_t from, int64_t to, add_fn *add)
{
    for (int64_t source = from; source < to; source += CHUNK) {
        int count = to - source < CHUNK ? (int)(to - source) : CHUNK;
        if (!(w->job->cutoff > 0) || any_above_cutoff(w, source, count))
            add(w, p, source, count);
        if ((source - from) % FLUSH == FLUSH - CHUNK)
            flush(w, p);
    }
    flush(w, p);
}

static void clear(panels *p)
{
    memset(&p->parts, 0, sizeof(p->parts));
    memset(&p->channels, 0, sizeof(p->channels));
}

/* Of flat spectra a product of matrices takes 2 operations for a sum and channel, 4 with smearing
 * in time. With smearing, phases of 6 operations that all sums share and 2 for each are fewer for
 * four sums. */
static add_fn *add_points_by(const grove_predict_job *job)
{
    if (job->weight_channel || (job->smear_time && job->components == 4))
        return add_spectra_by[job->components - 1][job->smear_time];
    return add_flat_by[job->smear_time];
}

static add_fn *add_shapes_of(const grove_predict_job *job)
{
    if (job->components == 1 && !job->weight_channel)
        return job->smear_time ? add_smeared_shapes : add_bare_shapes;
    return add_shapes_by[job->components - 1][job->smear_time];
}

static void add_regular(const work *w)
{
    const grove_predict_job *job = w->job;
    int factors = job->width && !job->equal_width;
    add_fn *shapes = add_shapes_of(job);
    panels p;

    clear(&p);
    add_range(w, &p, 0, job->points, factors ? shapes : add_points_by(job));
    add_range(w, &p, job->points, job->points + job->gaussians, shapes);
}

/* The factor reference / nu of smearing in time, which all sources share: at theta's equally spaced
 * frequencies, so that the sinc is sinc(theta). */
static void scale_sums(const work *w)
{
    for (int c = 0; c < w->job->components; c++)
        for (int k = w->job->from; k < w->job->to; k++) {
            double nu = w->job->start + w->job->step * (double)(w->job->first + k);
            double factor = w->job->reference / nu;
            double *sum = w->sums + (c * PREDICT_BLOCK + k) * 2 * LANES;
            for (int i = 0; i < 2 * LANES; i++)
                sum[i] *= factor;
        }
}

static work start_work(const grove_predict_job *job, const double *uvw, const double *change,
                       double *sums)
{
    work w = {.job = job,
              .uvw = uvw,
              .change = change,
              .sums = sums,
              .from = job->from / PREDICT_GROUP,
              .to = (job->to + PREDICT_GROUP - 1) / PREDICT_GROUP,
              .side = half_of(job)};

    const size_t channel = sizeof(double) * 2 * LANES;
    const int from = job->regular ? PREDICT_GROUP * w.from : job->from; /* whole groups */
    const int end = job->regular ? PREDICT_GROUP * w.to : job->to;

    for (int c = 0; c < job->components; c++)
        memset(sums + (c * PREDICT_BLOCK + from) * 2 * LANES, 0, channel * (size_t)(end - from));
    return w;
}

static void baseline(const grove_predict_job *job, const double *uvw, const double *change,
                     double *sums)
{
    work w = start_work(job, uvw, change, sums);

    if (!job->regular) {
        add_direct(&w);
        return;
    }
    add_regular(&w);
    if (job->smear_time)
        scale_sums(&w);
}

static void jones_sums(const grove_predict_jones *of, const double *uvw, const double *change,
                       double *sums)
{
    const grove_predict_job *job = &of->sum;
    work w = start_work(job, uvw, change, sums);
    panels p;

    clear(&p);
    add_range(&w, &p, 0, job->points, add_jones_flat);
    if (job->smear_time)
        scale_sums(&w);
}

#endif
