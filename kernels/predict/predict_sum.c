#include "../simd/isa.h"
#include "../visibility.h"
#include "predict_private.h"
#include "predict_skip.h"

#include <stdlib.h>
#include <string.h>

const grove_predict_kernels *grove_predict_kernels_of(int isa, int bytes)
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

static const double *doubles_at(const grove_predict_sum *p, int input, int64_t source)
{
    return (const double *)(const void *)at_source(p, input, source);
}

/* ---- packing ---- */

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

    p->order = calloc(sources, sizeof(*p->order));
    p->direction = calloc(sources, 3 * sizeof(double));
    p->ellipse = calloc(sources, 4 * sizeof(double));
    p->freqs = calloc(channels, sizeof(double));
    p->widths = calloc(channels, sizeof(double));
    if (!p->order || !p->direction || !p->ellipse || !p->freqs || !p->widths)
        return 0;
    if (!grove_predict_order_sources(p))
        return 0;
    pack_geometry(p);
    pack_channels(p);
    return !p->jones || grove_predict_jones_pack(p);
}

/* What sums for baselines weight sources by. 0: no memory. */
static int pack_sums(grove_predict_sum *p, const int *from)
{
    size_t sources = (size_t)p->sources + 1, channels = (size_t)p->blocks * PREDICT_BLOCK;

    if (p->jones || (p->plan.way == GROVE_PREDICT_STATION && !p->stray_count))
        return 1;
    p->weight = calloc(sources * (p->plan.flat ? 1 : channels),
                       ((size_t)p->components + 1) * sizeof(double));
    if (p->weight)
        pack_weights(p, from);
    return p->weight != NULL;
}

static void set_job(grove_predict_sum *p)
{
    grove_predict_job *job = &p->job;

    job->direction = p->direction;
    job->ellipse = p->ellipse;
    job->weight_channel = p->plan.flat ? 0 : p->components;
    job->weight_source = p->components * (p->plan.flat ? 1 : p->blocks * (int64_t)PREDICT_BLOCK);
    job->regular = p->plan.channels.regular && p->plan.count >= GROVE_PREDICT_FEW;
    job->start = p->plan.channels.first;
    job->step = p->plan.channels.step;
    job->equal_width = p->plan.equal_width;
    job->smear_time = p->plan.smear_time;
    job->reference = p->plan.reference;
    job->cutoff = p->plan.cutoff;
}

/* left B right of all sources takes the place of B. 0: no memory. */
static int fold_jones(grove_predict_sum *p)
{
    static const int inputs[] = {GROVE_PREDICT_LEFT, GROVE_PREDICT_BRIGHTNESS, GROVE_PREDICT_RIGHT};
    const grove_args *args = p->args;
    int64_t channels = p->plan.flat ? 1 : p->channels;
    int elements = args->out.elements;
    double *to = calloc((size_t)(p->sources * channels) + 1, 8 * sizeof(double));
    grove_view *view = &p->apparent_args.in[GROVE_PREDICT_BRIGHTNESS];

    p->apparent = to;
    if (!to)
        return 0;
    for (int64_t i = 0; i < p->sources * channels; i++, to += 8) {
        grove_cplx64 m[3][4], part[4], all[4];
        for (int k = 0; k < 3; k++) {
            const char *at = at_source(p, inputs[k], i / channels);
            matrix_at(&args->in[inputs[k]],
                      at ? at + stride_of(&args->in[inputs[k]], p->freq) * (i % channels) : NULL,
                      m[k]);
        }
        product(part, m[0], m[1]);
        product(all, part, m[2]);
        all[1] = elements == 2 ? all[3] : all[1];
        memcpy(to, all, sizeof(all));
    }
    p->apparent_args = *args;
    *view = args->out;
    view->data = p->apparent;
    view->bytes = 8;
    memset(view->stride, 0, sizeof(view->stride));
    if (p->source >= 0)
        view->stride[p->source] = channels * 8 * (int64_t)sizeof(double);
    if (p->freq >= 0 && !p->plan.flat)
        view->stride[p->freq] = 8 * (int64_t)sizeof(double);
    p->apparent_args.in[GROVE_PREDICT_LEFT].data = NULL;
    p->apparent_args.in[GROVE_PREDICT_RIGHT].data = NULL;
    p->args = &p->apparent_args;
    return 1;
}

/* 0: no memory. */
static int take_wanted(grove_predict_sum *p)
{
    p->row_count = p->rows;
    if (!p->args->in[GROVE_PREDICT_SKIP].data)
        return 1;
    p->row_list = calloc((size_t)p->rows + 1, sizeof(*p->row_list));
    if (p->row_list)
        p->row_count = grove_predict_wanted(p->args, p->row_list);
    return p->row_list != NULL;
}

grove_predict_sum *grove_predict_sum_new(const grove_args *args)
{
    grove_predict_sum *p = calloc(1, sizeof(*p));
    int from[MOST_COEFFICIENTS];

    if (!p)
        return NULL;
    p->args = args;
    memcpy(&p->plan, args->state.bytes, sizeof(p->plan));
    p->kernels = grove_predict_kernels_of(p->plan.isa, args->out.bytes);
    p->source = grove_args_axis(args, GROVE_AXIS_SOURCE);
    p->freq = grove_args_axis(args, GROVE_AXIS_FREQ);
    p->sources = size_of(args, p->source);
    p->rows = grove_predict_rows(args);
    p->origin = p->freq < 0 ? 0 : args->origin[p->freq];
    p->channels = size_of(args, p->freq);
    p->first_block = p->origin / PREDICT_BLOCK;
    p->blocks = (p->origin + p->channels + PREDICT_BLOCK - 1) / PREDICT_BLOCK - p->first_block;
    p->jones = p->plan.jones == GROVE_PREDICT_WITHIN;
    if (p->plan.jones == GROVE_PREDICT_FOLDED && !fold_jones(p)) {
        grove_predict_sum_free(p);
        return NULL;
    }
    p->elements = p->args->in[GROVE_PREDICT_BRIGHTNESS].elements;
    if (!pack(p) || !take_wanted(p)) {
        grove_predict_sum_free(p);
        return NULL;
    }
    if (!p->jones)
        find_components(p, from);
    set_job(p);
    if (p->plan.way == GROVE_PREDICT_STATION && !grove_predict_station_fits(p))
        p->plan.way = GROVE_PREDICT_BASELINE;
    if (p->plan.way == GROVE_PREDICT_BASELINE)
        grove_predict_channels_choose(p);
    if (p->plan.way == GROVE_PREDICT_BASELINE && p->lanes_hold == BY_ROWS && p->plan.cutoff > 0 &&
        !grove_predict_order_rows(p)) {
        grove_predict_sum_free(p);
        return NULL;
    }
    if ((p->lanes_hold != BY_ROWS && !grove_predict_channels_pack(p)) ||
        (p->plan.way == GROVE_PREDICT_STATION && !grove_predict_station_pack(p)) ||
        !pack_sums(p, from)) {
        grove_predict_sum_free(p);
        return NULL;
    }
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
    free(p->apparent);
    free(p->row_list);
    free(p->unwanted);
    grove_predict_station_free(p);
    free(p);
}

void grove_predict_sum_cut(grove_predict_sum *p, int threads)
{
    if (p->lanes_hold == BY_ROWS && p->plan.way == GROVE_PREDICT_STATION)
        grove_predict_station_cut(p, threads);
}

int64_t grove_predict_sum_pieces(const grove_predict_sum *p)
{
    int64_t lanes = p->kernels->lanes;

    if (p->lanes_hold != BY_ROWS)
        return grove_predict_channels_pieces(p);
    if (p->plan.way == GROVE_PREDICT_STATION)
        return grove_predict_station_pieces(p) + (p->stray_count + lanes - 1) / lanes;
    return (p->row_count + lanes - 1) / lanes;
}

/* ---- rows ---- */

/* Rows first, first + 1, ... of all, or of `list`. */
static void find_rows(const grove_predict_sum *p, const int64_t *list, int64_t count, int64_t first,
                      grove_predict_batch *b)
{
    int lanes = p->kernels->lanes;

    memset(b->uvw, 0, sizeof(b->uvw));
    memset(b->change, 0, sizeof(b->change));
    b->count = count - first < lanes ? (int)(count - first) : lanes;
    for (int i = 0; i < b->count; i++) {
        row *r = &b->rows[i];
        find_row(p->args, list ? list[first + i] : first + i, r);
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

static grove_cplx64 part_at(const grove_predict_sum *p, const grove_predict_batch *b, int k,
                            int channel, int lane)
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

void grove_predict_surround(const grove_predict_sum *p, const row *r, int64_t channel,
                            grove_cplx64 v[4])
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

/* A coefficient's sum over sources along the channels: real parts at `at`, imaginary ones at
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

/* One element of `count` channels, `step` numbers apart: (sum of real coefficients) + i (sum of
 * imaginary ones). */
#define DEFINE_STORE(name, number_type)                                                            \
    static void name(char *at, int64_t step, int count, series re, series im)                      \
    {                                                                                              \
        number_type *to = (number_type *)(void *)at;                                               \
        for (int k = 0; k < count; k++, to += step) {                                              \
            to[0] = (number_type)(re.sign * *re.at - im.sign * *im.imaginary);                     \
            to[1] = (number_type)(re.sign * *re.imaginary + im.sign * *im.at);                     \
            re.at += re.step;                                                                      \
            re.imaginary += re.step;                                                               \
            im.at += im.step;                                                                      \
            im.imaginary += im.step;                                                               \
        }                                                                                          \
    }
DEFINE_STORE(store_singles, float)
DEFINE_STORE(store_doubles, double)

/* Without Jones terms around the sum. */
static void store_bare(const grove_predict_sum *p, const grove_predict_batch *b, int64_t channel,
                       int from, int to)
{
    const grove_view *out = &p->args->out;
    int64_t stride = stride_of(out, p->freq);

    for (int i = 0; i < b->count; i++)
        for (int e = 0; e < p->elements; e++) {
            char *at = b->rows[i].out + stride * channel + 2 * e * out->bytes;
            series re = series_of(p, b, 2 * e, i, from), im = series_of(p, b, 2 * e + 1, i, from);
            if (out->bytes == 4)
                store_singles(at, stride / 4, to - from, re, im);
            else
                store_doubles(at, stride / 8, to - from, re, im);
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
                grove_cplx64 re = part_at(p, b, 2 * e, k, i), im = part_at(p, b, 2 * e + 1, k, i);
                v[e].re = re.re - im.im;
                v[e].im = re.im + im.re;
            }
            if (around)
                grove_predict_surround(p, &b->rows[i], channel, v);
            for (int e = 0; e < out->elements; e++)
                put_number(out, at, e, v[e].re, v[e].im);
        }
}

static void run_block(const grove_predict_sum *p, grove_predict_batch *b, int64_t block)
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
    if (p->jones) {
        grove_predict_jones_run(p, b, &job);
        return;
    }
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

static void run_batch(const grove_predict_sum *p, const int64_t *list, int64_t count, int64_t first)
{
    grove_predict_batch b;

    find_rows(p, list, count, first, &b);
    for (int64_t block = 0; block < p->blocks; block++)
        run_block(p, &b, block);
}

void grove_predict_sum_run(grove_predict_sum *p, int64_t first, int64_t last)
{
    int64_t pieces = grove_predict_station_pieces(p);

    for (int64_t piece = first; piece < last; piece++)
        if (p->lanes_hold != BY_ROWS)
            grove_predict_channels_run(p, piece);
        else if (p->plan.way == GROVE_PREDICT_BASELINE)
            run_batch(p, p->row_list, p->row_count, piece * p->kernels->lanes);
        else if (piece < pieces)
            grove_predict_station_run(p, piece);
        else
            run_batch(p, p->stray, p->stray_count, (piece - pieces) * p->kernels->lanes);
}

int grove_predict_sum_failed(const grove_predict_sum *p)
{
    return p->failed;
}
