/* Sums for rows, as many at once as a vector has lanes, with Jones terms around the sum or
 * inside. */
#include "predict_private.h"

#include <string.h>

/* Loads rows first, first + 1, ... of all rows or, if it is given, of `list`. */
static void find_rows(const grove_predict_sum *p, const int64_t *list, int64_t count, int64_t first,
                      grove_predict_batch *b)
{
    int lanes = p->kernels->lanes;
    row_place place = {.inner = -1};

    memset(b->uvw, 0, sizeof(b->uvw));
    memset(b->change, 0, sizeof(b->change));
    b->count = count - first < lanes ? (int)(count - first) : lanes;
    for (int i = 0; i < b->count; i++) {
        row *r = &b->rows[i];
        find_next_row(p->args, list ? list[first + i] : first + i, &place, r - (i > 0), r);
        const double *uvw = (const double *)(const void *)r->in[GROVE_PREDICT_UVW];
        const double *rate = (const double *)(const void *)r->in[GROVE_PREDICT_RATE];
        const double *interval = (const double *)(const void *)r->in[GROVE_PREDICT_INTERVAL];
        for (int k = 0; k < 3; k++) {
            b->uvw[k * lanes + i] = uvw[k];
            if (p->plan.smear_time)
                b->change[k * lanes + i] = rate[k] * *interval;
        }
    }
}

/* A coefficient's sum over sources along the channels: real parts at `at`, imaginary parts at
 * `imaginary`. */
typedef struct {
    const double *at, *imaginary;
    int step;
    double sign;
} series;

static series series_of(const grove_predict_sum *p, const grove_predict_batch *b, int k, int lane,
                        int from)
{
    static const double zero;
    const part_of *part = &p->coefficients[k];
    int lanes = p->kernels->lanes;
    series s = {&zero, &zero, 0, 1};

    if (part->component >= 0) {
        s.at = b->sums + ((part->component * PREDICT_BLOCK + from) * 2) * lanes + lane;
        s.imaginary = s.at + lanes;
        s.step = 2 * lanes;
        s.sign = part->negative ? -1 : 1;
    }
    return s;
}

/* An element: (sum of real coefficients) + i (sum of imaginary ones). */
static inline grove_cplx64 element_of(const series *re, const series *im)
{
    grove_cplx64 z = {re->sign * *re->at - im->sign * *im->imaginary,
                      re->sign * *re->imaginary + im->sign * *im->at};

    return z;
}

static inline void advance(series *s)
{
    s->at += s->step;
    s->imaginary += s->step;
}

static inline void next_lane(series *s)
{
    const int steps = s->step != 0;

    s->at += steps;
    s->imaginary += steps;
}

/* An element in `count` channels, `step` bytes apart, as numbers of `bytes` bytes; `adds`: added to
 * the output. */
static inline __attribute__((always_inline)) void
store_channels(char *at, int64_t step, int count, series re, series im, int bytes, int adds)
{
    for (int k = 0; k < count; k++, at += step) {
        grove_cplx64 z = element_of(&re, &im);
        if (adds) {
            z.re += number_at(at, 0, bytes);
            z.im += number_at(at, 1, bytes);
        }
        put_complex(at, 0, bytes, z.re, z.im);
        advance(&re);
        advance(&im);
    }
}

/* Without Jones terms around the sum. */
static void store_bare(const grove_predict_sum *p, const grove_predict_batch *b, int64_t channel,
                       int from, int to)
{
    const grove_view *out = &p->args->out;
    int64_t stride = stride_of(out, p->freq);

    for (int e = 0; e < p->elements; e++) {
        const int64_t offset = stride * channel + 2 * e * out->bytes;
        series re = series_of(p, b, 2 * e, 0, from), im = series_of(p, b, 2 * e + 1, 0, from);
        for (int i = 0; i < b->count; i++, next_lane(&re), next_lane(&im))
            if (out->bytes == 4)
                store_channels(b->rows[i].out + offset, stride, to - from, re, im, 4, p->adds);
            else
                store_channels(b->rows[i].out + offset, stride, to - from, re, im, 8, p->adds);
    }
}

static void store_block(const grove_predict_sum *p, const grove_predict_batch *b, int64_t block,
                        int from, int to)
{
    const grove_view *out = &p->args->out;
    int around = p->args->in[GROVE_PREDICT_LEFT].data || p->args->in[GROVE_PREDICT_RIGHT].data;

    if (!around && out->elements == p->elements) {
        store_bare(p, b, (p->first_block + block) * PREDICT_BLOCK + from - p->origin, from, to);
        return;
    }
    for (int i = 0; i < b->count; i++)
        for (int k = from; k < to; k++) {
            int64_t channel = (p->first_block + block) * PREDICT_BLOCK + k - p->origin;
            char *at = b->rows[i].out + stride_of(out, p->freq) * channel;
            grove_cplx64 v[4] = {{0, 0}};
            for (int e = 0; e < p->elements; e++) {
                series re = series_of(p, b, 2 * e, i, k), im = series_of(p, b, 2 * e + 1, i, k);
                v[e] = element_of(&re, &im);
            }
            if (around)
                grove_predict_jones_around(p, &b->rows[i], channel, v);
            for (int e = 0; e < out->elements; e++)
                deliver(p, at, e, v[e].re, v[e].im);
        }
}

static void store_jones(const grove_predict_sum *p, const grove_predict_batch *b,
                        const grove_predict_job *job)
{
    const grove_view *out = &p->args->out;
    const int64_t offset = job->first - p->origin;
    int lanes = p->kernels->lanes;

    for (int i = 0; i < b->count; i++)
        for (int k = job->from; k < job->to; k++) {
            char *at = b->rows[i].out + stride_of(out, p->freq) * (offset + k);
            for (int e = 0; e < out->elements; e++) {
                int from = p->output_elements[e].component;
                const double *x =
                    b->sums + ((from < 0 ? 0 : from) * PREDICT_BLOCK + k) * 2 * lanes + i;
                deliver(p, at, e, from < 0 ? 0 : x[0], from < 0 ? 0 : x[lanes]);
            }
        }
}

/* With Jones terms inside the sum that all channels share. */
static void run_jones_block(const grove_predict_sum *p, grove_predict_batch *b,
                            const grove_predict_job *block)
{
    grove_predict_jones job = p->terms;
    int last = b->count > 0 ? b->count - 1 : 0;

    job.sum = *block;
    job.sum.components = p->terms.sum.components;
    job.sum.weight = p->weight;
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < PREDICT_MAX_LANES; i++) {
            const row *r = &b->rows[i < last ? i : last];
            job.side[side].at[i] = r->in[side ? GROVE_PREDICT_RIGHT : GROVE_PREDICT_LEFT];
        }
    if (job.sum.components)
        p->kernels->jones(&job, b->uvw, b->change, b->sums);
    store_jones(p, b, &job.sum);
}

/* Whether the exponents of Gaussians count as equally spaced in a block: a deviation of the
 * channels moves none by a relevant amount, and no frequency is zero, from which they would grow
 * both ways. */
static int has_even_shapes(const grove_predict_sum *p, int64_t first)
{
    const grove_predict_channels *channels = &p->plan.channels;
    double from = channels->first + channels->step * (double)first;
    double to = from + channels->step * (PREDICT_BLOCK - 1);

    return from * to > 0 && (channels->regular ||
                             channels->deviation <= tolerance_of(p) * fmin(fabs(from), fabs(to)));
}

/* The sums of the channels of a block in [from, to) that are in the tile. */
static void sum_channels(const grove_predict_sum *p, grove_predict_batch *b,
                         const grove_predict_job *block, int from, int to)
{
    grove_predict_job job = *block;
    const size_t bytes = p->args->out.bytes == 4 ? sizeof(float) : sizeof(double);
    const int64_t channel = job.first - p->first_block * PREDICT_BLOCK;

    job.from = job.from > from ? job.from : from;
    job.to = job.to < to ? job.to : to;
    for (int c = 0; c < p->components && job.from < job.to; c += PREDICT_COMPONENTS) {
        job.components =
            p->components - c < PREDICT_COMPONENTS ? p->components - c : PREDICT_COMPONENTS;
        job.weight = (const char *)p->weight + bytes * (size_t)(c + channel * job.weight_channel);
        p->kernels->baseline(&job, b->uvw, b->change,
                             b->sums + c * PREDICT_BLOCK * 2 * p->kernels->lanes);
    }
}

static void run_block(const grove_predict_sum *p, grove_predict_batch *b, int64_t block,
                      int regular)
{
    grove_predict_job job = p->job;
    const int64_t first = (p->first_block + block) * PREDICT_BLOCK, left = p->plan.count - first;
    const int whole = (int)(left < PREDICT_BLOCK ? left : PREDICT_BLOCK) -
                      (few_recur(p) ? grove_predict_channels_after(left) : 0);

    job.regular = regular && (p->jones || left >= recurred(p));
    if (job.regular && few_recur(p) && whole <= PREDICT_GROUP)
        job.few = whole;
    job.even_shapes = has_even_shapes(p, first);
    job.first = first;
    job.from = first < p->origin ? (int)(p->origin - first) : 0;
    job.to = p->origin + p->channels - first < PREDICT_BLOCK
                 ? (int)(p->origin + p->channels - first)
                 : PREDICT_BLOCK;
    job.freq = p->freqs + block * PREDICT_BLOCK;
    job.width = p->plan.smear_freq ? p->widths + block * PREDICT_BLOCK : NULL;
    if (p->jones) {
        run_jones_block(p, b, &job);
        return;
    }
    sum_channels(p, b, &job, 0, job.regular ? whole : PREDICT_BLOCK);
    job.few = 0;
    if (job.regular) {
        job.regular = 0;
        sum_channels(p, b, &job, whole, PREDICT_BLOCK);
    }
    store_block(p, b, block, job.from, job.to);
}

void grove_predict_rows_run(const grove_predict_sum *p, const int64_t *list, int64_t count,
                            int64_t first, int regular)
{
    grove_predict_batch b;

    find_rows(p, list, count, first, &b);
    for (int64_t block = 0; block < p->blocks; block++)
        run_block(p, &b, block, regular);
}
