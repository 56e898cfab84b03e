#include "predict_private.h"

#include "../visibility.h"

#include <stdlib.h>
#include <string.h>

/* Sources at a time: their panels fit into the second cache. */
enum { SOURCES_AT_ONCE = 512 };

static const grove_view *input(const grove_predict_sum *p, int k)
{
    return &p->args->in[k];
}

static int same_stations(const grove_predict_sum *p, int jones, int uvw)
{
    const grove_view *a = input(p, jones), *b = input(p, uvw);

    if (!a->data || (!a->gather && !stride_of(a, p->baseline)))
        return 1;
    return a->gather && a->gather_axis == p->baseline &&
           !memcmp(a->gather, b->gather, sizeof(*a->gather) * (size_t)p->baselines);
}

int grove_predict_station_fits(const grove_predict_sum *p)
{
    const grove_view *left = input(p, GROVE_PREDICT_UVW_LEFT);
    const grove_view *right = input(p, GROVE_PREDICT_UVW_RIGHT);
    const grove_args *args = p->args;
    int baseline = grove_args_axis(args, GROVE_AXIS_BASELINE);
    int time = grove_args_axis(args, GROVE_AXIS_TIME);
    int64_t rows = size_of(args, baseline) * size_of(args, time);
    grove_predict_sum q = *p;

    q.baseline = baseline;
    q.baselines = size_of(args, baseline);
    return baseline >= 0 && rows == p->rows && left->data && right->data && left->gather &&
           right->gather && left->gather_axis == baseline && right->gather_axis == baseline &&
           !p->job.gaussians && !p->plan.smear_time && !p->plan.smear_freq &&
           same_stations(&q, GROVE_PREDICT_LEFT, GROVE_PREDICT_UVW_LEFT) &&
           same_stations(&q, GROVE_PREDICT_RIGHT, GROVE_PREDICT_UVW_RIGHT);
}

static const double *station_uvw(const grove_predict_sum *p, int k, int64_t time, int64_t station)
{
    const grove_view *view = input(p, k);

    return (const double *)(const void *)((const char *)view->data +
                                          stride_of(view, p->time) * time +
                                          view->stride[p->baseline] * station);
}

/* Rows whose coordinates differ from those of the stations by a phase that matters. */
static void find_strays(grove_predict_sum *p)
{
    const int32_t *left = input(p, GROVE_PREDICT_UVW_LEFT)->gather;
    const int32_t *right = input(p, GROVE_PREDICT_UVW_RIGHT)->gather;
    double far = 0, most = p->args->out.bytes == 4 ? 1e-7 : 3e-13;
    row r;

    for (int64_t i = 0; i < p->sources; i++)
        for (int k = 0; k < 3; k++)
            far = fmax(far, fabs(p->direction[3 * i + k]));
    if (p->row_list)
        memset(p->strays, 1, (size_t)p->rows);
    for (int64_t i = 0; i < p->row_count; i++) {
        int64_t at = p->row_list ? p->row_list[i] : i;
        int64_t t = at / p->baselines, b = at % p->baselines;
        const double *u = station_uvw(p, GROVE_PREDICT_UVW_LEFT, t, left[b]);
        const double *v = station_uvw(p, GROVE_PREDICT_UVW_RIGHT, t, right[b]);
        double difference = 0, size = 0;
        find_row(p->args, at, &r);
        const double *uvw = (const double *)(const void *)r.in[GROVE_PREDICT_UVW];
        for (int k = 0; k < 3; k++) {
            difference += fabs(uvw[k] - (u[k] - v[k]));
            size += fabs(u[k]) + fabs(v[k]);
        }
        /* The last bits of coordinates are rounding, however large the phase. */
        p->strays[at] =
            !(difference * far * p->plan.reference * 2 <= most || difference <= 4e-16 * size);
        if (p->strays[at])
            p->stray[p->stray_count++] = at;
        else
            p->wanted[left[b] * p->stations + right[b]] = 1;
    }
}

int grove_predict_station_pack(grove_predict_sum *p)
{
    const int32_t *left = input(p, GROVE_PREDICT_UVW_LEFT)->gather;
    const int32_t *right = input(p, GROVE_PREDICT_UVW_RIGHT)->gather;
    int lanes = p->kernels->lanes;
    size_t rows = (size_t)p->rows + 1;

    p->baseline = grove_args_axis(p->args, GROVE_AXIS_BASELINE);
    p->time = grove_args_axis(p->args, GROVE_AXIS_TIME);
    p->baselines = size_of(p->args, p->baseline);
    p->times = size_of(p->args, p->time);
    p->sides = p->jones ? 2 : 1;
    for (int64_t b = 0; b < p->baselines; b++) {
        p->stations = left[b] >= p->stations ? left[b] + 1 : p->stations;
        p->stations = right[b] >= p->stations ? right[b] + 1 : p->stations;
    }
    p->padded = (p->sources + lanes - 1) / lanes * lanes;
    p->spread = calloc((size_t)p->padded + 1, 3 * sizeof(double));
    p->wanted = calloc((size_t)p->stations * (size_t)p->stations + 1, 1);
    p->strays = calloc(rows, 1);
    p->stray = calloc(rows, sizeof(*p->stray));
    if (!p->spread || !p->wanted || !p->strays || !p->stray)
        return 0;
    for (int64_t i = 0; i < p->sources; i++)
        for (int k = 0; k < 3; k++)
            p->spread[k * p->padded + i] = p->direction[3 * i + k];
    find_strays(p);
    return 1;
}

void grove_predict_station_free(grove_predict_sum *p)
{
    free(p->spread);
    free(p->wanted);
    free(p->strays);
    free(p->stray);
}

int64_t grove_predict_station_pieces(const grove_predict_sum *p)
{
    return p->plan.way == GROVE_PREDICT_STATION ? p->times * p->channels : 0;
}

/* ---- one time and channel ---- */

typedef struct {
    grove_predict_panel panel;
    int64_t time, channel, first, count; /* sources in the panel */
    char *brightness, *left, *right;
    double *uvw, *sums; /* sums [row][column][re, im] */
    void *memory;
} piece;

static void put_real(const grove_predict_sum *p, char *at, int64_t k, double x)
{
    if (p->args->out.bytes == 4)
        ((float *)(void *)at)[k] = (float)x;
    else
        ((double *)(void *)at)[k] = x;
}

static int start_piece(const grove_predict_sum *p, int64_t number, piece *c)
{
    size_t lanes = (size_t)p->kernels->lanes, bytes = lanes * (p->args->out.bytes == 4 ? 4 : 8);
    size_t vectors = (SOURCES_AT_ONCE + lanes - 1) / lanes, stations = (size_t)p->stations;
    size_t sides = (size_t)p->sides, rows = stations * sides;
    size_t work = (4 * sides * sides * stations + 2) * vectors * bytes;
    size_t jones = p->jones ? stations * vectors * 8 * bytes : 0, flux = vectors * 8 * bytes;
    size_t uvw = (stations * 3 * sizeof(double) + 63) / 64 * 64;
    size_t sums = (rows * rows * 2 * sizeof(double) + 63) / 64 * 64;
    char *at;

    memset(c, 0, sizeof(*c));
    c->time = number / p->channels;
    c->channel = number % p->channels;
    c->memory = at = aligned_alloc(64, work + 2 * jones + flux + uvw + sums);
    if (!at)
        return 0;
    c->panel.work = at;
    c->left = at + work;
    c->right = c->left + jones;
    c->brightness = c->right + jones;
    c->uvw = (double *)(void *)(c->brightness + flux);
    c->sums = (double *)(void *)((char *)c->uvw + uvw);
    c->panel.stations = p->stations;
    c->panel.sides = p->sides;
    c->panel.wanted = p->wanted;
    c->panel.uvw = c->uvw;
    c->panel.sums = c->sums;
    c->panel.brightness = c->brightness;
    c->panel.left = c->left;
    c->panel.right = c->right;
    c->panel.stride = p->padded;
    c->panel.freq = p->freqs[p->origin - p->first_block * PREDICT_BLOCK + c->channel];
    return 1;
}

/* Coordinates of stations that are left or right of some baseline. */
static void take_uvw(const grove_predict_sum *p, piece *c)
{
    static const int inputs[] = {GROVE_PREDICT_UVW_LEFT, GROVE_PREDICT_UVW_RIGHT};

    memset(c->uvw, 0, sizeof(double) * 3 * (size_t)p->stations);
    for (int side = 0; side < 2; side++)
        for (int64_t b = 0; b < p->baselines; b++) {
            int station = input(p, inputs[side])->gather[b];
            memcpy(c->uvw + 3 * station, station_uvw(p, inputs[side], c->time, station),
                   3 * sizeof(double));
        }
}

/* Element e of the brightness, or all four of it as a matrix. */
static void take_brightness(const grove_predict_sum *p, piece *c, int e)
{
    const grove_view *view = input(p, GROVE_PREDICT_BRIGHTNESS);
    int lanes = p->kernels->lanes, elements = p->sides == 2 ? 4 : 1;
    int64_t padded = (int64_t)c->panel.vectors * lanes;

    memset(c->brightness, 0, (size_t)(padded * 2 * elements) * (p->args->out.bytes == 4 ? 4 : 8));
    for (int64_t i = 0; i < c->count; i++) {
        int64_t at = i / lanes * 2 * elements * lanes + i % lanes;
        const char *from = at_source(p, GROVE_PREDICT_BRIGHTNESS, p->order[c->first + i]) +
                           stride_of(view, p->freq) * (p->plan.flat ? 0 : c->channel);
        grove_cplx64 m[4] = {{0, 0}};
        if (p->sides == 2) {
            matrix_at(view, from, m);
        } else {
            m[0].re = number(view, from, 2 * e);
            m[0].im = number(view, from, 2 * e + 1);
        }
        for (int k = 0; k < elements; k++) {
            put_real(p, c->brightness, at + 2 * k * lanes, m[k].re);
            put_real(p, c->brightness, at + (2 * k + 1) * lanes, m[k].im);
        }
    }
}

/* Matrices of the kernel's precision, the common case: eight numbers from each source, `stride`
 * bytes apart, to eight vectors of sources. */
#define DEFINE_SPREAD(name, number_type)                                                           \
    static void name(const char *from, int64_t stride, const int64_t *order, int64_t count,        \
                     int lanes, number_type *to)                                                   \
    {                                                                                              \
        for (int64_t i = 0; i < count; i++) {                                                      \
            const number_type *cell =                                                              \
                (const number_type *)(const void *)(from + stride * order[i]);                     \
            number_type *at = to + i / lanes * 8 * lanes + i % lanes;                              \
            for (int k = 0; k < 8; k++)                                                            \
                at[k * lanes] = cell[k];                                                           \
        }                                                                                          \
    }
DEFINE_SPREAD(spread_single, float)
DEFINE_SPREAD(spread_double, double)

/* The same for cells of any kind, and for none. */
static void spread_cells(const grove_predict_sum *p, const grove_view *view, const char *from,
                         const int64_t *order, int64_t count, char *to)
{
    int lanes = p->kernels->lanes;

    for (int64_t i = 0; i < count; i++) {
        int64_t at = i / lanes * 8 * lanes + i % lanes;
        grove_cplx64 m[4];
        matrix_at(view, from ? from + stride_of(view, p->source) * order[i] : NULL, m);
        for (int k = 0; k < 4; k++) {
            put_real(p, to, at + 2 * k * lanes, m[k].re);
            put_real(p, to, at + (2 * k + 1) * lanes, m[k].im);
        }
    }
}

/* Jones terms of all stations and the panel's sources. */
static void take_jones(const grove_predict_sum *p, piece *c, int which, char *to)
{
    const grove_view *view = input(p, which);
    int lanes = p->kernels->lanes;
    size_t bytes = p->args->out.bytes == 4 ? 4 : 8;
    int64_t each = (int64_t)c->panel.vectors * lanes * 8;
    const int64_t *order = p->order + c->first;

    memset(to, 0, (size_t)(each * p->stations) * bytes);
    for (int64_t station = 0; station < p->stations; station++) {
        char *at = to + (size_t)(station * each) * bytes;
        const char *from = view->data;
        if (from)
            from += stride_of(view, p->time) * c->time +
                    view->stride[p->baseline] * (view->gather ? station : 0) +
                    stride_of(view, p->freq) * c->channel;
        if (!from || view->shape != GROVE_MATRIX || view->bytes != p->args->out.bytes)
            spread_cells(p, view, from, order, c->count, at);
        else if (bytes == 4)
            spread_single(from, stride_of(view, p->source), order, c->count, lanes,
                          (float *)(void *)at);
        else
            spread_double(from, stride_of(view, p->source), order, c->count, lanes,
                          (double *)(void *)at);
    }
}

/* The sums of element e (of matrices with Jones terms: of all). */
static void sum_element(const grove_predict_sum *p, piece *c, int e)
{
    int lanes = p->kernels->lanes, rows = p->stations * p->sides;

    memset(c->sums, 0, sizeof(double) * 2 * (size_t)rows * (size_t)rows);
    for (c->first = 0; c->first < p->sources; c->first += SOURCES_AT_ONCE) {
        c->count =
            p->sources - c->first < SOURCES_AT_ONCE ? p->sources - c->first : SOURCES_AT_ONCE;
        c->panel.vectors = (int)((c->count + lanes - 1) / lanes);
        c->panel.direction = p->spread + c->first;
        take_brightness(p, c, e);
        if (p->jones) {
            take_jones(p, c, GROVE_PREDICT_LEFT, c->left);
            take_jones(p, c, GROVE_PREDICT_RIGHT, c->right);
        }
        p->kernels->station(&c->panel);
    }
}

static grove_cplx64 sum_at(const grove_predict_sum *p, const piece *c, int64_t row_, int64_t column)
{
    const double *at = c->sums + 2 * (row_ * p->stations * p->sides + column);
    grove_cplx64 z = {at[0], at[1]};

    return z;
}

static char *out_at(const grove_predict_sum *p, const piece *c, int64_t b, row *r)
{
    find_row(p->args, c->time * p->baselines + b, r);
    return r->out + stride_of(&p->args->out, p->freq) * c->channel;
}

/* Writes the sums of element e, or of all four, to the baselines. */
static void store(const grove_predict_sum *p, const piece *c, int e)
{
    const int32_t *left = input(p, GROVE_PREDICT_UVW_LEFT)->gather;
    const int32_t *right = input(p, GROVE_PREDICT_UVW_RIGHT)->gather;
    const grove_view *out = &p->args->out;
    row r;

    for (int64_t b = 0; b < p->baselines; b++) {
        if (p->strays[c->time * p->baselines + b])
            continue;
        char *at = out_at(p, c, b, &r);
        for (int k = 0; k < (p->jones ? out->elements : 1); k++) {
            int m = p->jones ? (out->elements == 2 ? 3 * k : k) : 0;
            grove_cplx64 z = sum_at(p, c, left[b] * p->sides + m / 2, right[b] * p->sides + m % 2);
            put_number(out, at, p->jones ? k : e, z.re, z.im);
        }
    }
}

/* Is element e of the brightness the same as an earlier one (returned), zero (-1) or neither (e)?
 */
static int twin(const grove_predict_sum *p, int e)
{
    const part_of *a = &p->coefficients[2 * e];

    if (a[0].component < 0 && a[1].component < 0)
        return -1;
    for (int k = 0; k < e; k++) {
        const part_of *b = &p->coefficients[2 * k];
        if (a[0].component == b[0].component && a[1].component == b[1].component &&
            (a[0].component < 0 || a[0].negative == b[0].negative) &&
            (a[1].component < 0 || a[1].negative == b[1].negative))
            return k;
    }
    return e;
}

/* Elements that are zero or as another, then the Jones terms around the sum. */
static void finish(const grove_predict_sum *p, const piece *c)
{
    const grove_view *out = &p->args->out;
    int around = input(p, GROVE_PREDICT_LEFT)->data || input(p, GROVE_PREDICT_RIGHT)->data;
    row r;

    for (int64_t b = 0; b < p->baselines; b++) {
        grove_cplx64 v[4] = {{0, 0}};
        if (p->strays[c->time * p->baselines + b])
            continue;
        char *at = out_at(p, c, b, &r);
        for (int e = 0; e < p->elements; e++) {
            int from = twin(p, e);
            if (from >= 0) {
                v[e].re = number(out, at, 2 * from);
                v[e].im = number(out, at, 2 * from + 1);
            }
        }
        if (around)
            grove_predict_surround(p, &r, c->channel, v);
        for (int e = 0; e < out->elements; e++)
            put_number(out, at, e, v[e].re, v[e].im);
    }
}

/* Is there a row at this time that goes by stations? */
static int any_wanted(const grove_predict_sum *p, int64_t time)
{
    const unsigned char *strays = p->strays + time * p->baselines;

    return memchr(strays, 0, (size_t)p->baselines) != NULL;
}

void grove_predict_station_run(grove_predict_sum *p, int64_t number)
{
    piece c;

    if (!start_piece(p, number, &c)) {
        atomic_store(&p->failed, 1);
        return;
    }
    if (!any_wanted(p, c.time)) {
        free(c.memory);
        return;
    }
    take_uvw(p, &c);
    if (p->jones) {
        sum_element(p, &c, 0);
        store(p, &c, 0);
    } else {
        for (int e = 0; e < p->elements; e++)
            if (twin(p, e) == e) {
                sum_element(p, &c, e);
                store(p, &c, e);
            }
        finish(p, &c);
    }
    free(c.memory);
}
