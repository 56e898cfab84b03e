/* One compilation of the vectorised sums: for one precision and instruction set. The file that
 * includes this defines GROVE_REAL_SINGLE; the compiler's flags define GROVE_ISA_SUFFIX. */
#include "predict_direct.h"

#include <math.h>

/* ---- panels, source by source ---- */

static void flush(const work *w, panels *p)
{
    for (int c = 0; c < w->job->components; c++)
        for (int j = w->from; j < w->to; j++)
            for (int k = 0; k < SIDE; k++) {
                vec *pair = p->parts[c][j][k], *sum = p->channels[c][j][k];
                int above = PREDICT_GROUP * j + SIDE + k, below = PREDICT_GROUP * j + SIDE - 1 - k;
                put_sum(w, c, above, 0, sum[0] + (pair[0] + pair[2]));
                put_sum(w, c, above, 1, sum[1] + (pair[1] + pair[3]));
                put_sum(w, c, below, 0, sum[2] + (pair[0] - pair[2]));
                put_sum(w, c, below, 1, sum[3] + (pair[1] - pair[3]));
                memset(pair, 0, sizeof(quad));
                memset(sum, 0, sizeof(quad));
            }
}

static void add_plain(const work *w, panels *p, int64_t source, int count)
{
    add_flat(w, p, source, count, 0);
}

static void add_smeared(const work *w, panels *p, int64_t source, int count)
{
    add_flat(w, p, source, count, 1);
}

static void add_spectra(const work *w, panels *p, int64_t source, int count)
{
    int smear_time = w->job->smear_time, components = w->job->components;

    if (components == 1 && !smear_time)
        add_weighted(w, p, source, count, 1, 0, 0);
    else if (components == 1)
        add_weighted(w, p, source, count, 1, 1, 0);
    else if (components == 4 && !smear_time)
        add_weighted(w, p, source, count, 4, 0, 0);
    else if (components == 4)
        add_weighted(w, p, source, count, 4, 1, 0);
    else
        add_weighted(w, p, source, count, components, smear_time, 0);
}

static void add_shapes(const work *w, panels *p, int64_t source, int count)
{
    if (w->job->components == 1)
        add_weighted(w, p, source, count, 1, w->job->smear_time, 1);
    else
        add_weighted(w, p, source, count, w->job->components, w->job->smear_time, 1);
}

/* Sources [from, to) by one of these ways. */
static void add_range(const work *w, panels *p, int64_t from, int64_t to,
                      void (*add)(const work *, panels *, int64_t, int))
{
    for (int64_t source = from; source < to; source += CHUNK) {
        add(w, p, source, to - source < CHUNK ? (int)(to - source) : CHUNK);
        if ((source - from) % FLUSH == FLUSH - CHUNK)
            flush(w, p);
    }
    flush(w, p);
}

static void add_regular(const work *w)
{
    const grove_predict_job *job = w->job;
    int factors = job->width && !job->equal_width;
    panels p;

    memset(&p.parts, 0, sizeof(p.parts));
    memset(&p.channels, 0, sizeof(p.channels));
    add_range(w, &p, 0, job->points,
              factors               ? add_shapes
              : job->weight_channel ? add_spectra
              : job->smear_time     ? add_smeared
                                    : add_plain);
    add_range(w, &p, job->points, job->points + job->gaussians, add_shapes);
}

/* Of smearing in time the factor that all sources share. */
static void scale_sums(const work *w)
{
    for (int c = 0; c < w->job->components; c++)
        for (int k = w->job->from; k < w->job->to; k++) {
            double factor = w->job->reference / w->job->freq[k];
            double *sum = w->sums + (c * PREDICT_BLOCK + k) * 2 * LANES;
            for (int i = 0; i < 2 * LANES; i++)
                sum[i] *= factor;
        }
}

static void baseline(const grove_predict_job *job, const double *uvw, const double *change,
                     double *sums)
{
    work w = {.job = job,
              .uvw = uvw,
              .change = change,
              .sums = sums,
              .from = job->from / PREDICT_GROUP,
              .to = (job->to + PREDICT_GROUP - 1) / PREDICT_GROUP};

    memset(sums, 0, sizeof(double) * 2 * LANES * PREDICT_BLOCK * (size_t)job->components);
    if (!job->regular) {
        add_direct(&w);
        return;
    }
    add_regular(&w);
    if (job->smear_time)
        scale_sums(&w);
}

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)
#if GROVE_REAL_SINGLE
#define KERNELS JOIN(grove_predict_single_, GROVE_ISA_SUFFIX)
#else
#define KERNELS JOIN(grove_predict_double_, GROVE_ISA_SUFFIX)
#endif

const grove_predict_kernels KERNELS = {.lanes = LANES, .baseline = baseline};
