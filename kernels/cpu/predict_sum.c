#include "../visibility.h"
#include "isa.h"
#include "predict_job.h"
#include "predict_view.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_COEFFICIENTS = 8 };

/* Where a part of an element comes from: one of the real sums, or its negative, or nothing. */
typedef struct {
    int component; /* -1: zero */
    int negative;
} part_of;

struct grove_predict_sum {
    const grove_args *args;
    grove_predict_plan plan;
    const grove_predict_kernels *kernels;
    int source, freq; /* axes, -1: none */
    int64_t sources, rows, origin, channels, first_block, blocks;
    int elements, components;                /* of the brightness; real sums */
    part_of coefficients[MOST_COEFFICIENTS]; /* re, im of each element */
    grove_predict_job job;
    int64_t *order; /* sources: points first */
    double *direction, *ellipse, *freqs, *widths;
    void *weight; /* [source][channel][component] */
};

static const grove_predict_kernels *kernels_of(int isa, int bytes)
{
#if defined(__x86_64__)
    if (isa == GROVE_ISA_AVX512)
        return bytes == 8 ? &grove_predict_double_avx512 : &grove_predict_single_avx512;
    if (isa == GROVE_ISA_AVX2)
        return bytes == 8 ? &grove_predict_double_avx2 : &grove_predict_single_avx2;
#endif
    (void)isa;
    return bytes == 8 ? &grove_predict_double_portable : &grove_predict_single_portable;
}

static const char *at_source(const grove_predict_sum *p, int input, int64_t source)
{
    const grove_view *view = &p->args->in[input];

    return view->data ? (const char *)view->data + stride_of(view, p->source) * source : NULL;
}

static const double *doubles_at(const grove_predict_sum *p, int input, int64_t source)
{
    return (const double *)(const void *)at_source(p, input, source);
}

/* ---- packing ---- */

static int is_gaussian(const grove_predict_sum *p, int64_t source)
{
    const double *shape = doubles_at(p, GROVE_PREDICT_SHAPE, source);

    return shape && grove_is_gaussian(shape);
}

static void order_sources(grove_predict_sum *p)
{
    int64_t at = 0;

    for (int gaussian = 0; gaussian < 2; gaussian++) {
        for (int64_t s = 0; s < p->sources; s++)
            if (is_gaussian(p, s) == gaussian)
                p->order[at++] = s;
        if (!gaussian)
            p->job.points = at;
    }
    p->job.gaussians = at - p->job.points;
}

static void pack_geometry(grove_predict_sum *p)
{
    const double scale = GROVE_PI / (2 * 0.83255461115769775635 * GROVE_SPEED_OF_LIGHT);

    for (int64_t i = 0; i < p->sources; i++) {
        const double *lmn = doubles_at(p, GROVE_PREDICT_LMN, p->order[i]);
        for (int k = 0; k < 3; k++)
            p->direction[3 * i + k] = lmn[k] / GROVE_SPEED_OF_LIGHT;
    }
    for (int64_t i = 0; i < p->job.gaussians; i++) {
        const double *shape = doubles_at(p, GROVE_PREDICT_SHAPE, p->order[p->job.points + i]);
        double sine = sin(shape[2]), cosine = cos(shape[2]), *to = p->ellipse + 4 * i;
        to[0] = scale * shape[0] * sine;
        to[1] = scale * shape[0] * cosine;
        to[2] = scale * shape[1] * cosine;
        to[3] = -scale * shape[1] * sine;
    }
}

/* Channels of the tile at their place in its blocks; those outside it as the tile's last. */
static void pack_channels(grove_predict_sum *p)
{
    const grove_view *freq = &p->args->in[GROVE_PREDICT_FREQ];
    const grove_view *width = &p->args->in[GROVE_PREDICT_WIDTH];

    for (int64_t k = 0; k < p->blocks * PREDICT_BLOCK; k++) {
        int64_t at = p->first_block * PREDICT_BLOCK + k - p->origin;
        at = at < 0 || at >= p->channels ? p->channels - 1 : at;
        memcpy(&p->freqs[k], (const char *)freq->data + stride_of(freq, p->freq) * at, 8);
        if (width->data)
            memcpy(&p->widths[k], (const char *)width->data + stride_of(width, p->freq) * at, 8);
    }
}

static double coefficient(const grove_predict_sum *p, int64_t source, int64_t channel, int k)
{
    const grove_view *view = &p->args->in[GROVE_PREDICT_BRIGHTNESS];

    return number(
        view, at_source(p, GROVE_PREDICT_BRIGHTNESS, source) + stride_of(view, p->freq) * channel,
        k);
}

/* Is coefficient b equal to a everywhere (1), its negative (-1), neither (0)? */
static int compare(const grove_predict_sum *p, int a, int b)
{
    int equal = 1, negative = 1;
    int64_t channels = p->plan.flat ? 1 : p->channels;

    for (int64_t s = 0; s < p->sources && (equal || negative); s++)
        for (int64_t k = 0; k < channels; k++) {
            double x = a < 0 ? 0 : coefficient(p, s, k, a), y = coefficient(p, s, k, b);
            equal = equal && x == y;
            negative = negative && x == -y;
        }
    return equal ? 1 : negative ? -1 : 0;
}

/* Which real sums are needed: none twice. `from` gets the coefficient that each is of. */
static void find_components(grove_predict_sum *p, int from[MOST_COEFFICIENTS])
{
    p->components = 0;
    for (int b = 0; b < 2 * p->elements; b++) {
        part_of *to = &p->coefficients[b];
        to->component = -1;
        if (compare(p, -1, b))
            continue;
        for (int c = 0; c < p->components && to->component < 0; c++) {
            int same = compare(p, from[c], b);
            if (same) {
                to->component = c;
                to->negative = same < 0;
            }
        }
        if (to->component < 0) {
            to->negative = 0;
            to->component = p->components;
            from[p->components++] = b;
        }
    }
}

static void pack_weights(grove_predict_sum *p, const int from[MOST_COEFFICIENTS])
{
    int64_t channels = p->plan.flat ? 1 : p->blocks * PREDICT_BLOCK;
    float *singles = p->weight;
    double *doubles = p->weight;
    int single = p->args->out.bytes == 4;

    for (int64_t i = 0; i < p->sources; i++)
        for (int64_t k = 0; k < channels; k++) {
            int64_t at = p->plan.flat ? 0 : p->first_block * PREDICT_BLOCK + k - p->origin;
            for (int c = 0; c < p->components; c++) {
                double x =
                    at < 0 || at >= p->channels ? 0 : coefficient(p, p->order[i], at, from[c]);
                if (single)
                    *singles++ = (float)x;
                else
                    *doubles++ = x;
            }
        }
}

static int pack(grove_predict_sum *p)
{
    size_t sources = (size_t)p->sources + 1, channels = (size_t)p->blocks * PREDICT_BLOCK;
    int from[MOST_COEFFICIENTS];

    p->order = calloc(sources, sizeof(*p->order));
    p->direction = calloc(sources, 3 * sizeof(double));
    p->ellipse = calloc(sources, 4 * sizeof(double));
    p->freqs = calloc(channels, sizeof(double));
    p->widths = calloc(channels, sizeof(double));
    if (!p->order || !p->direction || !p->ellipse || !p->freqs || !p->widths)
        return 0;
    order_sources(p);
    pack_geometry(p);
    pack_channels(p);
    find_components(p, from);
    p->weight = calloc(sources * (p->plan.flat ? 1 : channels),
                       ((size_t)p->components + 1) * sizeof(double));
    if (!p->weight)
        return 0;
    pack_weights(p, from);
    return 1;
}

static void set_job(grove_predict_sum *p)
{
    grove_predict_job *job = &p->job;

    job->direction = p->direction;
    job->ellipse = p->ellipse;
    job->weight_channel = p->plan.flat ? 0 : p->components;
    job->weight_source = p->components * (p->plan.flat ? 1 : p->blocks * (int64_t)PREDICT_BLOCK);
    job->regular = p->plan.channels.regular && p->plan.count >= 4;
    job->start = p->plan.channels.first;
    job->step = p->plan.channels.step;
    job->equal_width = p->plan.equal_width;
    job->smear_time = p->plan.smear_time;
    job->reference = p->plan.reference;
}

grove_predict_sum *grove_predict_sum_new(const grove_args *args)
{
    grove_predict_sum *p = calloc(1, sizeof(*p));

    if (!p)
        return NULL;
    p->args = args;
    memcpy(&p->plan, args->state.bytes, sizeof(p->plan));
    p->kernels = kernels_of(p->plan.isa, args->out.bytes);
    p->source = grove_args_axis(args, GROVE_AXIS_SOURCE);
    p->freq = grove_args_axis(args, GROVE_AXIS_FREQ);
    p->sources = size_of(args, p->source);
    p->rows = grove_predict_rows(args);
    p->origin = p->freq < 0 ? 0 : args->origin[p->freq];
    p->channels = size_of(args, p->freq);
    p->first_block = p->origin / PREDICT_BLOCK;
    p->blocks = (p->origin + p->channels + PREDICT_BLOCK - 1) / PREDICT_BLOCK - p->first_block;
    p->elements = args->in[GROVE_PREDICT_BRIGHTNESS].elements;
    if (!pack(p)) {
        grove_predict_sum_free(p);
        return NULL;
    }
    set_job(p);
    return p;
}

void grove_predict_sum_free(grove_predict_sum *p)
{
    if (!p)
        return;
    free(p->order);
    free(p->direction);
    free(p->ellipse);
    free(p->freqs);
    free(p->widths);
    free(p->weight);
    free(p);
}

int64_t grove_predict_sum_pieces(const grove_predict_sum *p)
{
    return (p->rows + p->kernels->lanes - 1) / p->kernels->lanes;
}

/* ---- rows ---- */

typedef struct {
    _Alignas(64) double uvw[3 * PREDICT_MOST_LANES], change[3 * PREDICT_MOST_LANES];
    _Alignas(64) double sums[MOST_COEFFICIENTS * PREDICT_BLOCK * 2 * PREDICT_MOST_LANES];
    row rows[PREDICT_MOST_LANES];
    int count;
} batch;

static void find_rows(const grove_predict_sum *p, int64_t first, batch *b)
{
    int lanes = p->kernels->lanes;

    memset(b->uvw, 0, sizeof(b->uvw));
    memset(b->change, 0, sizeof(b->change));
    b->count = p->rows - first < lanes ? (int)(p->rows - first) : lanes;
    for (int i = 0; i < b->count; i++) {
        row *r = &b->rows[i];
        find_row(p->args, first + i, r);
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

static grove_cplx64 part_at(const grove_predict_sum *p, const batch *b, int k, int channel,
                            int lane)
{
    const part_of *part = &p->coefficients[k];
    int lanes = p->kernels->lanes;
    const double *at = b->sums + ((part->component * PREDICT_BLOCK + channel) * 2) * lanes + lane;
    grove_cplx64 z = {0, 0};

    if (part->component >= 0) {
        z.re = part->negative ? -at[0] : at[0];
        z.im = part->negative ? -at[lanes] : at[lanes];
    }
    return z;
}

/* left * v * right in the elements of the output. */
static void surround(const grove_predict_sum *p, const row *r, int64_t channel, grove_cplx64 v[4])
{
    const grove_view *left = &p->args->in[GROVE_PREDICT_LEFT];
    const grove_view *right = &p->args->in[GROVE_PREDICT_RIGHT];
    const char *at_left = r->in[GROVE_PREDICT_LEFT], *at_right = r->in[GROVE_PREDICT_RIGHT];
    grove_cplx64 l[4], m[4] = {v[0], {0, 0}, {0, 0}, v[p->elements - 1]}, x[4], y[4];

    if (p->elements == 4)
        memcpy(m, v, sizeof(m));
    matrix_at(left, at_left ? at_left + stride_of(left, p->freq) * channel : NULL, l);
    product(x, l, m);
    matrix_at(right, at_right ? at_right + stride_of(right, p->freq) * channel : NULL, l);
    product(y, x, l);
    memcpy(v, y, sizeof(y));
    if (p->args->out.elements == 2)
        v[1] = y[3];
}

static void store_block(const grove_predict_sum *p, const batch *b, int64_t block, int from, int to)
{
    const grove_view *out = &p->args->out;
    int jones = p->args->in[GROVE_PREDICT_LEFT].data || p->args->in[GROVE_PREDICT_RIGHT].data;

    for (int i = 0; i < b->count; i++)
        for (int k = from; k < to; k++) {
            int64_t channel = (p->first_block + block) * PREDICT_BLOCK + k - p->origin;
            char *at = b->rows[i].out + stride_of(out, p->freq) * channel;
            grove_cplx64 v[4] = {{0, 0}};
            for (int e = 0; e < p->elements; e++) {
                grove_cplx64 re = part_at(p, b, 2 * e, k, i), im = part_at(p, b, 2 * e + 1, k, i);
                v[e].re = re.re - im.im;
                v[e].im = re.im + im.re;
            }
            if (jones)
                surround(p, &b->rows[i], channel, v);
            for (int e = 0; e < out->elements; e++)
                put_number(out, at, e, v[e].re, v[e].im);
        }
}

static void run_block(const grove_predict_sum *p, batch *b, int64_t block)
{
    grove_predict_job job = p->job;
    int64_t first = (p->first_block + block) * PREDICT_BLOCK;
    size_t bytes = p->args->out.bytes == 4 ? sizeof(float) : sizeof(double);

    job.first = first;
    job.from = first < p->origin ? (int)(p->origin - first) : 0;
    job.to = p->origin + p->channels - first < PREDICT_BLOCK
                 ? (int)(p->origin + p->channels - first)
                 : PREDICT_BLOCK;
    job.freq = p->freqs + block * PREDICT_BLOCK;
    job.width = p->plan.smear_freq ? p->widths + block * PREDICT_BLOCK : NULL;
    for (int c = 0; c < p->components; c += PREDICT_COMPONENTS) {
        job.components =
            p->components - c < PREDICT_COMPONENTS ? p->components - c : PREDICT_COMPONENTS;
        job.weight = (const char *)p->weight +
                     bytes * (size_t)(c + block * PREDICT_BLOCK * job.weight_channel);
        p->kernels->baseline(&job, b->uvw, b->change,
                             b->sums + c * PREDICT_BLOCK * 2 * p->kernels->lanes);
    }
    store_block(p, b, block, job.from, job.to);
}

void grove_predict_sum_run(const grove_predict_sum *p, int64_t first, int64_t last)
{
    batch b;

    for (int64_t piece = first; piece < last; piece++) {
        find_rows(p, piece * p->kernels->lanes, &b);
        for (int64_t block = 0; block < p->blocks; block++)
            run_block(p, &b, block);
    }
}
