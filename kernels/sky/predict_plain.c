/* The plain way, for any inputs: in double, one source, row and block of channels after the
 * other. */
#include "predict.h"

#include "../common/visibility.h"
#include "predict_view.h"

#include <string.h>

/* Recurrences start at absolute multiples of BLOCK channels. A batch of ROWS rows shares the
 * brightness of SOURCES sources, unpacked once: 32 KiB for the brightness, 32 KiB for the sums. */
enum { BLOCK = 32, ROWS = 16, SOURCES = 16 };

typedef struct {
    double re[BLOCK], im[BLOCK];
} lanes;

typedef struct {
    lanes element[4];
} cells;

/* The axes, and which channels of the tile lie in the block. */
typedef struct {
    const grove_args *args;
    const grove_predict_channels *channels;
    int source, freq; /* axes, -1: none */
    int64_t sources, block;
    int first, last; /* channels of the block that are computed, of BLOCK */
    int64_t offset;  /* of the block's channel 0 in the tile; negative when it begins before */
    int elements;
    int jones; /* left or right is a diagonal or a matrix */
    double freqs[BLOCK], widths[BLOCK];
} work;

void grove_predict_channels_of(const double *freq, int64_t count, grove_predict_channels *channels)
{
    memset(channels, 0, sizeof(*channels));
    if (count < 1)
        return;
    channels->first = freq[0];
    channels->step = count > 1 ? (freq[count - 1] - freq[0]) / (double)(count - 1) : 0;
    channels->regular = 1;
    for (int64_t k = 0; k < count; k++) {
        double distance = fabs(channels->first + channels->step * (double)k - freq[k]);
        if (!(distance <= 1e-15 * fabs(freq[k])))
            channels->regular = 0;
        if (!(distance <= channels->deviation))
            channels->deviation = distance;
    }
    if (channels->regular || !(channels->deviation <= 0.01 * fabs(channels->step)))
        channels->deviation = 0;
}

static const double *doubles(const work *p, const row *r, int input, int64_t source)
{
    if (!r->in[input])
        return NULL;
    return (const double *)(const void *)(r->in[input] +
                                          stride_of(&p->args->in[input], p->source) * source);
}

int64_t grove_predict_rows(const grove_args *args)
{
    int64_t rows = 1;

    for (int d = 0; d < args->axes; d++)
        if (args->axis[d] != GROVE_AXIS_SOURCE && args->axis[d] != GROVE_AXIS_FREQ)
            rows *= args->size[d];
    return rows;
}

/* ---- the phase of a source in a block of channels ---- */

/* z[k] = start * exp(2 pi i step k), by doubling: the error does not grow along the block. */
static void recur(grove_cplx64 start, grove_cplx64 step, lanes *z)
{
    z->re[0] = start.re;
    z->im[0] = start.im;
    for (int have = 1; have < BLOCK; have *= 2) {
        for (int k = 0; k < have; k++) {
            z->re[have + k] = z->re[k] * step.re - z->im[k] * step.im;
            z->im[have + k] = z->re[k] * step.im + z->im[k] * step.re;
        }
        grove_cplx64 square = {step.re * step.re - step.im * step.im, 2 * step.re * step.im};
        step = square;
    }
}

static void phases(const work *p, double delay, lanes *z)
{
    const grove_predict_channels *channels = p->channels;

    if (channels->regular) {
        double start = channels->first + channels->step * (double)p->block;
        recur(grove_phasor(-start * delay), grove_phasor(-channels->step * delay), z);
        return;
    }
    for (int k = p->first; k < p->last; k++) {
        grove_cplx64 phasor = grove_phasor(-p->freqs[k] * delay);
        z->re[k] = phasor.re;
        z->im[k] = phasor.im;
    }
}

/* weight[k] *= sinc(pi turns[k]). Which form of the sinc is used depends on its argument alone. */
static void smear(const work *p, const double *turns, double *weight)
{
    int far = 0;

    for (int k = 0; k < BLOCK; k++)
        far |= !grove_sinc_is_near(GROVE_PI * turns[k]);
    if (far) {
        for (int k = p->first; k < p->last; k++)
            weight[k] *= grove_smear(turns[k]);
        return;
    }
    for (int k = 0; k < BLOCK; k++)
        weight[k] *= grove_sinc_near(GROVE_PI * turns[k]);
}

static void apply_factors(const work *p, const row *r, int64_t source, const double *uvw,
                          double delay, lanes *z)
{
    const double *shape = doubles(p, r, GROVE_PREDICT_SHAPE, source);
    const double *rate = doubles(p, r, GROVE_PREDICT_RATE, source);
    const double *lmn = doubles(p, r, GROVE_PREDICT_LMN, source);
    int gaussian = shape && grove_is_gaussian(shape), wide = r->in[GROVE_PREDICT_WIDTH] != NULL;
    double weight[BLOCK], turns[BLOCK];

    if (!gaussian && !rate && !wide)
        return;
    for (int k = 0; k < BLOCK; k++)
        weight[k] = 1;
    if (gaussian) {
        double factor = -grove_gaussian(uvw, shape, p->args->in[GROVE_PREDICT_SHAPE].elements);
        for (int k = p->first; k < p->last; k++)
            weight[k] = exp(factor * p->freqs[k] * p->freqs[k]);
    }
    if (rate) {
        double growth = grove_delay(rate, lmn) * *doubles(p, r, GROVE_PREDICT_INTERVAL, source);
        for (int k = 0; k < BLOCK; k++)
            turns[k] = p->freqs[k] * growth;
        smear(p, turns, weight);
    }
    if (wide) {
        for (int k = 0; k < BLOCK; k++)
            turns[k] = p->widths[k] * delay;
        smear(p, turns, weight);
    }
    for (int k = 0; k < BLOCK; k++) {
        z->re[k] *= weight[k];
        z->im[k] *= weight[k];
    }
}

/* ---- brightness and Jones terms ---- */

static const char *channel_at(const work *p, int input, const char *at, int64_t source, int k)
{
    const grove_view *view = &p->args->in[input];

    return at + stride_of(view, p->source) * source + stride_of(view, p->freq) * (p->offset + k);
}

/* The brightness of a source, element by element. */
static void unpack(const work *p, const row *r, int64_t source, cells *to)
{
    const grove_view *view = &p->args->in[GROVE_PREDICT_BRIGHTNESS];

    for (int k = p->first; k < p->last; k++) {
        const char *at =
            channel_at(p, GROVE_PREDICT_BRIGHTNESS, r->in[GROVE_PREDICT_BRIGHTNESS], source, k);
        for (int e = 0; e < view->elements; e++) {
            to->element[e].re[k] = number(view, at, 2 * e);
            to->element[e].im[k] = number(view, at, 2 * e + 1);
        }
    }
}

static void load_matrix(const work *p, const row *r, int input, int64_t source, int k,
                        grove_cplx64 m[4])
{
    const char *at = r->in[input] ? channel_at(p, input, r->in[input], source, k) : NULL;

    matrix_at(&p->args->in[input], at, m);
}

/* left * brightness * right of a source, in the output's elements. */
static void apply_jones(const work *p, const row *r, int64_t source, cells *to)
{
    static const int full[4] = {0, 1, 2, 3}, diagonal[2] = {0, 3};
    const int *element = p->elements == 2 ? diagonal : full;
    grove_cplx64 left[4], middle[4], right[4], part[4], all[4];

    for (int k = p->first; k < p->last; k++) {
        load_matrix(p, r, GROVE_PREDICT_LEFT, source, k, left);
        load_matrix(p, r, GROVE_PREDICT_BRIGHTNESS, source, k, middle);
        load_matrix(p, r, GROVE_PREDICT_RIGHT, source, k, right);
        grove_mat_mul_double(part, left, middle);
        grove_mat_mul_double(all, part, right);
        for (int e = 0; e < p->elements; e++) {
            to->element[e].re[k] = all[element[e]].re;
            to->element[e].im[k] = all[element[e]].im;
        }
    }
}

/* z *= a scalar Jones term. */
static void scale(const work *p, const row *r, int input, int64_t source, lanes *z)
{
    const grove_view *view = &p->args->in[input];

    if (!r->in[input])
        return;
    for (int k = p->first; k < p->last; k++) {
        const char *at = channel_at(p, input, r->in[input], source, k);
        double re = number(view, at, 0), im = number(view, at, 1), old = z->re[k];
        z->re[k] = old * re - z->im[k] * im;
        z->im[k] = old * im + z->im[k] * re;
    }
}

/* ---- sums ---- */

static void accumulate(cells *sum, const lanes *z, const cells *b, int elements)
{
    for (int e = 0; e < elements; e++) {
        lanes *to = &sum->element[e];
        const lanes *from = &b->element[e];
        for (int k = 0; k < BLOCK; k++) {
            to->re[k] += z->re[k] * from->re[k] - z->im[k] * from->im[k];
            to->im[k] += z->re[k] * from->im[k] + z->im[k] * from->re[k];
        }
    }
}

static void add_source(const work *p, const row *r, int64_t source, const cells *brightness,
                       cells *sum)
{
    const double *uvw = doubles(p, r, GROVE_PREDICT_UVW, source);
    double delay = grove_delay(uvw, doubles(p, r, GROVE_PREDICT_LMN, source));
    lanes z = {{0}, {0}};
    cells applied;

    phases(p, delay, &z);
    apply_factors(p, r, source, uvw, delay, &z);
    if (p->jones) {
        memset(&applied, 0, sizeof(applied));
        apply_jones(p, r, source, &applied);
        accumulate(sum, &z, &applied, p->elements);
        return;
    }
    scale(p, r, GROVE_PREDICT_LEFT, source, &z);
    scale(p, r, GROVE_PREDICT_RIGHT, source, &z);
    accumulate(sum, &z, brightness, p->elements);
}

static void store(const work *p, const row *r, const cells *sum)
{
    const grove_view *view = &p->args->out;

    for (int k = p->first; k < p->last; k++) {
        char *at = r->out + stride_of(view, p->freq) * (p->offset + k);
        for (int e = 0; e < p->elements; e++)
            put_number(view, at, e, sum->element[e].re[k], sum->element[e].im[k]);
    }
}

/* Whether the brightness varies along an axis of the rows, so that rows cannot share it. */
static int varies_with_rows(const grove_args *args)
{
    const grove_view *view = &args->in[GROVE_PREDICT_BRIGHTNESS];

    for (int d = 0; d < args->axes; d++)
        if (args->axis[d] != GROVE_AXIS_SOURCE && args->axis[d] != GROVE_AXIS_FREQ &&
            view->stride[d])
            return 1;
    return 0;
}

/* All sources, in order, for one block of channels of some rows. */
static void add_sources(const work *p, const row *rows, int count, int shared, cells *sums)
{
    cells brightness[SOURCES];

    memset(brightness, 0, sizeof(brightness));
    for (int64_t from = 0; from < p->sources; from += SOURCES) {
        int chunk = p->sources - from < SOURCES ? (int)(p->sources - from) : SOURCES;
        for (int i = 0; i < count; i++) {
            for (int s = 0; s < chunk && !p->jones && (i == 0 || !shared); s++)
                unpack(p, &rows[i], from + s, &brightness[s]);
            for (int s = 0; s < chunk; s++)
                add_source(p, &rows[i], from + s, &brightness[s], &sums[i]);
        }
    }
}

static void load_frequencies(work *p, const row *r)
{
    memset(p->freqs, 0, sizeof(p->freqs));
    memset(p->widths, 0, sizeof(p->widths));
    for (int k = p->first; k < p->last; k++) {
        p->freqs[k] = *(const double *)(const void *)channel_at(p, GROVE_PREDICT_FREQ,
                                                                r->in[GROVE_PREDICT_FREQ], 0, k);
        if (r->in[GROVE_PREDICT_WIDTH])
            p->widths[k] = *(const double *)(const void *)channel_at(
                p, GROVE_PREDICT_WIDTH, r->in[GROVE_PREDICT_WIDTH], 0, k);
    }
}

static void predict_block(work *p, const row *rows, int count, int shared)
{
    cells sums[ROWS];

    memset(sums, 0, (size_t)count * sizeof(cells));
    load_frequencies(p, &rows[0]);
    add_sources(p, rows, count, shared, sums);
    for (int i = 0; i < count; i++)
        store(p, &rows[i], &sums[i]);
}

static int is_jones(const grove_view *view)
{
    return view->data && view->shape != GROVE_SCALAR;
}

void grove_predict_cells(const grove_args *args, int64_t first, int64_t last)
{
    work p = {.args = args,
              .channels = (const grove_predict_channels *)(const void *)args->state.bytes,
              .source = grove_args_axis(args, GROVE_AXIS_SOURCE),
              .freq = grove_args_axis(args, GROVE_AXIS_FREQ),
              .elements = args->out.elements,
              .jones = is_jones(&args->in[GROVE_PREDICT_LEFT]) ||
                       is_jones(&args->in[GROVE_PREDICT_RIGHT])};
    int shared = !varies_with_rows(args);
    int64_t origin = p.freq < 0 ? 0 : args->origin[p.freq], channels = size_of(args, p.freq);
    row rows[ROWS];

    p.sources = size_of(args, p.source);
    for (int64_t at = first; at < last; at += ROWS) {
        int count = last - at < ROWS ? (int)(last - at) : ROWS;
        row_place place = {.inner = -1};
        for (int i = 0; i < count; i++)
            find_next_row(args, at + i, &place, &rows[i > 0 ? i - 1 : 0], &rows[i]);
        for (p.block = origin / BLOCK * BLOCK; p.block < origin + channels; p.block += BLOCK) {
            p.offset = p.block - origin;
            p.first = p.offset < 0 ? (int)-p.offset : 0;
            p.last = channels - p.offset < BLOCK ? (int)(channels - p.offset) : BLOCK;
            predict_block(&p, rows, count, shared);
        }
    }
}
