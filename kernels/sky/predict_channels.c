/* Sums with Jones terms of source and station inside, with a channel or a source in each lane. A
 * piece is one time, one vector of channels, or (with a source in each lane) one channel, and a
 * block of rows. */
#include "predict_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS = 8192,   /* of a piece, at most */
    AT_ONCE = 64,  /* rows that are stored together: their sums stay in a cache */
    FLUSHED = 256, /* sources after which sums go to double */
};

static const int jones_inputs[2] = {GROVE_PREDICT_LEFT, GROVE_PREDICT_RIGHT};
static const int uvw_inputs[2] = {GROVE_PREDICT_UVW_LEFT, GROVE_PREDICT_UVW_RIGHT};

/* Whether a view's cells are per station; `table` gets the station of each baseline, or is
 * unchanged where all baselines share one. */
static int is_of_stations(const grove_view *view, int baseline, const int32_t **table)
{
    if (!view->data || !(view->gather || stride_of(view, baseline)))
        return 1;
    *table = view->gather;
    return view->gather != NULL;
}

static const int32_t *stations_of(const grove_predict_sum *p, int side, int *fits)
{
    const int32_t *own = NULL, *other = NULL;

    *fits = is_of_stations(input_of(p, jones_inputs[side]), p->baseline, &own) &&
            is_of_stations(input_of(p, uvw_inputs[side]), p->baseline, &other) &&
            (!own || !other || !memcmp(own, other, sizeof(*own) * (size_t)p->baselines));
    return own ? own : other;
}

int grove_predict_channels_bare(const grove_predict_sum *p)
{
    int fits[2];

    stations_of(p, 0, &fits[0]);
    stations_of(p, 1, &fits[1]);
    return p->plan.factors && p->plan.way == GROVE_PREDICT_BASELINE && !(p->plan.cutoff > 0) &&
           p->plan.jones == GROVE_PREDICT_AROUND && !input_of(p, GROVE_PREDICT_LEFT)->data &&
           !input_of(p, GROVE_PREDICT_RIGHT)->data && input_of(p, GROVE_PREDICT_UVW_LEFT)->data &&
           input_of(p, GROVE_PREDICT_UVW_RIGHT)->data &&
           p->plan.count < GROVE_PREDICT_RECURRED_BLOCK && fits[0] && fits[1] &&
           p->sources >= p->kernels->lanes;
}

int grove_predict_shares_matrices(const grove_predict_sum *p)
{
    const grove_predict_plan *plan = &p->plan;

    return plan->jones == GROVE_PREDICT_WITHIN && plan->flat &&
           !stride_of(input_of(p, GROVE_PREDICT_LEFT), p->freq) &&
           !stride_of(input_of(p, GROVE_PREDICT_RIGHT), p->freq) && plan->channels.regular &&
           plan->count >= GROVE_PREDICT_SHARED && (!plan->smear_freq || plan->equal_width);
}

/* `count` and the idle lanes of its last vector, in parts of it. */
static double filled(const grove_predict_sum *p, int64_t count)
{
    const int64_t lanes = p->kernels->lanes;

    return count > 0 ? (double)((count + lanes - 1) / lanes * lanes) / (double)count : 1;
}

int grove_predict_channels_form(const grove_predict_sum *p)
{
    /* as long: they add lanes, and load terms of channels that lie apart */
    const double sources_take = p->terms.varies ? 1.8 : 1.5;

    if (!p->jones || (grove_predict_shares_matrices(p) && !p->job.gaussians))
        return BY_ROWS;
    return filled(p, p->plan.count) > sources_take * filled(p, p->sources) ? BY_SOURCES
                                                                           : BY_CHANNELS;
}

int grove_predict_channels_pack(grove_predict_sum *p)
{
    int fits[2];

    p->stations = 1;
    p->station_of[0] = stations_of(p, 0, &fits[0]);
    p->station_of[1] = stations_of(p, 1, &fits[1]);
    p->own_stations = !fits[0] || !fits[1];
    if (p->own_stations)
        p->stations = (int)(p->baselines < ROWS ? p->baselines : ROWS);
    for (int side = 0; side < 2 && !p->own_stations; side++) {
        for (int64_t b = 0; b < p->baselines && p->station_of[side]; b++)
            if (p->station_of[side][b] >= p->stations)
                p->stations = p->station_of[side][b] + 1;
    }
    p->skipped = calloc((size_t)p->rows + 1, 1);
    if (!p->skipped)
        return 0;
    if (p->row_list) {
        memset(p->skipped, 1, (size_t)p->rows);
        for (int64_t i = 0; i < p->row_count; i++)
            p->skipped[p->row_list[i]] = 0;
    }
    return 1;
}

/* Channels of a piece. */
static int64_t width_of(const grove_predict_sum *p)
{
    return p->form == BY_SOURCES ? 1 : p->kernels->lanes;
}

/* Pieces that the channels of the tile are in, which start at absolute multiples of their width. */
static int64_t steps_of(const grove_predict_sum *p)
{
    const int64_t width = width_of(p);

    return (p->origin + p->channels + width - 1) / width - p->origin / width;
}

static int64_t row_blocks(const grove_predict_sum *p)
{
    return (p->baselines + ROWS - 1) / ROWS;
}

int64_t grove_predict_channels_pieces(const grove_predict_sum *p)
{
    return p->times * steps_of(p) * row_blocks(p);
}

/* ---- one time, vector of channels or single channel, and block of rows ---- */

typedef struct {
    grove_predict_channels_job job;
    int64_t time, first, from, to; /* first: channel of lane 0 in the whole axis; baselines */
    int by_sources, width;         /* width: number of channels: of lanes, or 1 */
    int at_once;                   /* rows */
    const char **at[2];            /* memory of the job */
    double *station_uvw[2], *uvw, *change, *rest;
    unsigned char *needed[2], *stray;
    int32_t *station[2];
    char **out;    /* [row] */
    double *total; /* [row][8][lane]: has_totals */
    char *memory;
} piece;

static size_t reserve(size_t *at, size_t count, size_t size)
{
    size_t start = *at;

    *at += (count * size + 63) / 64 * 64;
    return start;
}

static int any_needed(const grove_predict_sum *p, const piece *c)
{
    const unsigned char *skipped = p->skipped + c->time * p->baselines + c->from;

    return memchr(skipped, 0, (size_t)(c->to - c->from)) != NULL;
}

/* Rows whose sums there is memory for, with a channel in each lane. Where one batch has all
 * sources, that is for a few, which are stored before the next; else for all of them, so that
 * panels are filled once. */
static size_t rows_at_once(const grove_predict_sum *p, size_t rows)
{
    return p->sources <= p->kernels->span && rows > AT_ONCE ? AT_ONCE : rows;
}

/* Whether sums of some sources after the other are added in double, of all rows; else they are
 * converted a few rows at a time. */
static int has_totals(const grove_predict_sum *p)
{
    return p->sources > FLUSHED;
}

/* Memory of a piece and where its parts are. Pieces of any channels and rows have equal sizes, so
 * that they reuse memory of earlier ones. */
static int start_piece(grove_predict_sum *p, piece *c)
{
    const size_t rows = (size_t)(p->baselines < ROWS ? p->baselines : ROWS);
    size_t stations = (size_t)p->stations, at = 0;
    size_t lanes = (size_t)p->kernels->lanes, bytes = (size_t)p->args->out.bytes;
    size_t panel = reserve(&at, stations * (size_t)p->kernels->span * 16 * lanes, bytes);
    size_t at_once = rows_at_once(p, rows), of_rows = at_once * 8 * lanes * bytes;
    size_t by_sources = rows * 8 * sizeof(double);
    size_t sums = reserve(&at, by_sources > of_rows ? by_sources : of_rows, 1);
    size_t total = reserve(&at, (has_totals(p) ? at_once : AT_ONCE) * 8 * lanes, 8);
    size_t out = reserve(&at, rows, sizeof(char *)), uvw = reserve(&at, 9 * rows, 8);
    size_t jones = reserve(&at, 2 * stations, sizeof(char *)),
           places = reserve(&at, 6 * stations, 8);
    size_t tables = reserve(&at, 2 * rows, 4), stray = reserve(&at, rows, 1);
    size_t needed = reserve(&at, 2 * stations, 1);
    char *memory = grove_predict_take_memory(p, at + 64);

    c->memory = memory;
    if (!memory)
        return 0;
    memset(memory + uvw, 0, at - uvw);
    c->at_once = (int)(c->by_sources ? rows : at_once);
    c->job.panel = memory + panel;
    c->job.sums = memory + sums;
    c->total = (double *)(void *)(memory + total);
    c->out = (char **)(void *)(memory + out);
    c->uvw = (double *)(void *)(memory + uvw);
    c->change = c->uvw + 3 * rows;
    c->rest = c->change + 3 * rows;
    c->stray = (unsigned char *)memory + stray;
    for (size_t side = 0; side < 2; side++) {
        c->at[side] = (const char **)(void *)(memory + jones) + side * stations;
        c->station_uvw[side] = (double *)(void *)(memory + places) + 3 * side * stations;
        c->station[side] = (int32_t *)(void *)(memory + tables) + side * rows;
        c->needed[side] = (unsigned char *)memory + needed + side * stations;
    }
    return 1;
}

/* The number of a baseline's station in the piece. */
static int station_at(const grove_predict_sum *p, const piece *c, int side, int64_t baseline)
{
    return p->own_stations       ? (int)(baseline - c->from)
           : p->station_of[side] ? p->station_of[side][baseline]
                                 : 0;
}

/* Where an input has the cell of such a station. */
static const char *of_station(const grove_predict_sum *p, const piece *c, int input, int64_t number)
{
    const grove_view *view = input_of(p, input);

    if (p->own_stations)
        number = view->gather ? view->gather[c->from + number] : c->from + number;
    return (const char *)view->data + stride_of(view, p->time) * c->time +
           stride_of(view, p->baseline) * number;
}

static void load_stations(const grove_predict_sum *p, piece *c)
{
    for (int side = 0; side < 2; side++)
        for (int k = 0; k < p->stations; k++) {
            if (!c->needed[side][k])
                continue;
            if (input_of(p, jones_inputs[side])->data)
                c->at[side][k] = of_station(p, c, jones_inputs[side], k);
            if (input_of(p, uvw_inputs[side])->data)
                memcpy(c->station_uvw[side] + 3 * k, of_station(p, c, uvw_inputs[side], k),
                       3 * sizeof(double));
        }
}

static void load_rows(const grove_predict_sum *p, piece *c)
{
    row_place place = {.inner = -1};
    int count = 0;
    row found[2];

    for (int64_t b = c->from; b < c->to; b++) {
        if (p->skipped[c->time * p->baselines + b])
            continue;
        row *r = &found[count % 2];
        find_next_row(p->args, c->time * p->baselines + b, &place, &found[(count + 1) % 2], r);
        c->out[count] = r->out;
        const double *rate = (const double *)(const void *)r->in[GROVE_PREDICT_RATE];
        const double *interval = (const double *)(const void *)r->in[GROVE_PREDICT_INTERVAL];
        memcpy(c->uvw + 3 * count, r->in[GROVE_PREDICT_UVW], 3 * sizeof(double));
        for (int k = 0; k < 3 && p->plan.smear_time; k++)
            c->change[3 * count + k] = rate[k] * *interval;
        for (int side = 0; side < 2; side++) {
            c->station[side][count] = station_at(p, c, side, b);
            c->needed[side][c->station[side][count]] = 1;
        }
        count++;
    }
    c->job.rows = count;
    load_stations(p, c);
    for (int i = 0; i < count; i++)
        c->stray[i] = is_stray(p, c->uvw + 3 * i, c->station_uvw[0] + 3 * c->station[0][i],
                               c->station_uvw[1] + 3 * c->station[1][i], c->rest + 3 * i);
}

/* No channel of the whole axis is above it, whichever of them the tile has. */
static double highest_channel(const grove_predict_sum *p)
{
    const grove_predict_channels *channels = &p->plan.channels;
    const double last = channels->first + channels->step * (double)(p->plan.count - 1);

    if (!channels->regular && !(channels->deviation > 0))
        return INFINITY;
    return fmax(fabs(channels->first), fabs(last)) + channels->deviation;
}

static void set_job(const grove_predict_sum *p, piece *c)
{
    grove_predict_channels_job *job = &c->job;
    int lanes = c->width;
    int64_t in_blocks = c->first - p->first_block * PREDICT_BLOCK;

    job->stations = p->stations;
    job->diagonal = p->terms.diagonal;
    job->elements = p->terms.sum.components;
    memcpy(job->element, p->terms.element, sizeof(job->element));
    job->offset = c->first - p->origin;
    job->from = job->offset < 0 ? (int)-job->offset : 0;
    job->to = p->channels - job->offset < lanes ? (int)(p->channels - job->offset) : lanes;
    job->freq = p->freqs + in_blocks;
    job->width = p->plan.smear_freq ? p->widths + in_blocks : NULL;
    job->equal_width = p->plan.equal_width;
    job->smear_time = p->plan.smear_time;
    job->reference = p->plan.reference;
    job->highest = highest_channel(p);
    job->weight_source = p->job.weight_source;
    job->weight_channel = p->job.weight_channel;
    job->weight = (const char *)p->weight +
                  in_blocks * p->job.weight_channel * (p->args->out.bytes == 4 ? 4 : 8);
    for (int side = 0; side < 2; side++) {
        grove_predict_channels_side *to = &job->side[side];
        const grove_predict_jones_side *from = &p->terms.side[side];
        to->numbers = from->numbers;
        to->bytes = from->bytes;
        to->source = from->source;
        to->channel = from->channel;
        to->at = c->at[side];
        to->uvw = c->station_uvw[side];
        to->needed = c->needed[side];
        to->station = c->station[side];
    }
    job->uvw = c->uvw;
    job->change = c->change;
    job->rest = c->rest;
    job->stray = c->stray;
}

/* Numbers of the sums of `rows` rows. */
static int64_t numbers_of(const piece *c, int rows)
{
    return (int64_t)rows * 8 * c->width;
}

/* Adds sums of `rows` rows from `from` on to totals, and sets them to zero. */
static void flush(const grove_predict_sum *p, const piece *c, int from, int rows, double *to)
{
    const int64_t count = numbers_of(c, rows), first = numbers_of(c, from);
    float *singles = (float *)c->job.sums + first;
    double *doubles = (double *)c->job.sums + first;

    if (p->args->out.bytes == 4) {
        for (int64_t i = 0; i < count; i++)
            to[i] += (double)singles[i];
        memset(singles, 0, (size_t)count * sizeof(*singles));
    } else {
        for (int64_t i = 0; i < count; i++)
            to[i] += doubles[i];
        memset(doubles, 0, (size_t)count * sizeof(*doubles));
    }
}

static void add_sources(const grove_predict_sum *p, piece *c)
{
    grove_predict_channels_job job = c->job;
    int by_sources = c->by_sources;
    int span = p->kernels->span * (by_sources ? p->kernels->lanes : 1);
    const char *weight = job.weight;
    int64_t step = job.weight_source * (p->args->out.bytes == 4 ? 4 : 8);

    for (int64_t s = 0; s < p->sources; s += span) {
        int64_t gaussian = s < p->job.points ? 0 : s - p->job.points;
        job.sources = p->sources - s < span ? (int)(p->sources - s) : span;
        job.points = p->job.points - s < 0             ? 0
                     : p->job.points - s < job.sources ? (int)(p->job.points - s)
                                                       : job.sources;
        job.following = p->sources - s - job.sources;
        job.order = p->order + s;
        job.direction = p->direction + 3 * s;
        job.ellipse = p->ellipse + 5 * gaussian;
        job.weight = weight + step * s;
        if (by_sources) {
            p->kernels->sources(&job);
            continue;
        }
        p->kernels->channels(&job);
        if (has_totals(p) && (s % FLUSHED == FLUSHED - span || s + span >= p->sources))
            flush(p, c, 0, job.end_row - job.first_row, c->total);
    }
}

/* Stores an element in `count` channels, `step` bytes apart, as numbers of `bytes` bytes; `adds`:
 * added to the output. NULL: zero. */
static inline __attribute__((always_inline)) void store_channels(char *at, int64_t step, int count,
                                                                 const double *re, const double *im,
                                                                 int bytes, int adds)
{
    for (int k = 0; k < count; k++, at += step) {
        double x = re ? re[k] : 0, y = im ? im[k] : 0;
        if (adds) {
            x += number_at(at, 0, bytes);
            y += number_at(at, 1, bytes);
        }
        put_complex(at, 0, bytes, x, y);
    }
}

static void store_row(const grove_predict_sum *p, const piece *c, const double *sums, char *to)
{
    const grove_view *out = &p->args->out;
    const grove_predict_channels_job *job = &c->job;
    const int64_t step = stride_of(out, p->freq);
    const int count = job->to - job->from;

    for (int e = 0; e < out->elements; e++) {
        const int from = p->output_elements[e].component;
        const double *re = from < 0 ? NULL : sums + 2 * job->element[from] * c->width + job->from;
        const double *im = re ? re + c->width : NULL;
        char *at = to + step * (job->offset + job->from) + 2 * e * out->bytes;
        if (out->bytes == 4)
            store_channels(at, step, count, re, im, 4, p->adds);
        else
            store_channels(at, step, count, re, im, 8, p->adds);
    }
}

/* The sums of some of the rows at once, in double. */
static double *finish_rows(const grove_predict_sum *p, const piece *c, int from, int rows)
{
    double *sums = c->by_sources   ? (double *)c->job.sums + numbers_of(c, from)
                   : has_totals(p) ? c->total + numbers_of(c, from)
                                   : c->total;

    if (!c->by_sources && !has_totals(p)) {
        memset(sums, 0, (size_t)numbers_of(c, rows) * sizeof(*sums));
        flush(p, c, from, rows, sums);
    }
    return sums;
}

/* Sums and stores rows [first, end). */
static void run_rows(const grove_predict_sum *p, piece *c, int first, int end)
{
    const size_t numbers = (size_t)numbers_of(c, end - first);

    c->job.first_row = first;
    c->job.end_row = end;
    memset(c->job.sums, 0, numbers * (c->by_sources ? 8 : (size_t)p->args->out.bytes));
    if (has_totals(p) && !c->by_sources)
        memset(c->total, 0, numbers * sizeof(*c->total));
    if (c->job.elements)
        add_sources(p, c);
    for (int from = first; from < end; from += AT_ONCE) {
        const int rows = end - from < AT_ONCE ? end - from : AT_ONCE;
        const double *sums = finish_rows(p, c, from - first, rows);
        for (int i = 0; i < rows; i++)
            store_row(p, c, sums + numbers_of(c, i), c->out[from + i]);
    }
}

void grove_predict_channels_run(grove_predict_sum *p, int64_t number)
{
    int64_t steps = steps_of(p), blocks = row_blocks(p), block = number / steps % blocks;
    piece c;

    memset(&c, 0, sizeof(c));
    c.by_sources = p->form == BY_SOURCES;
    c.width = (int)width_of(p);
    c.first = (p->origin / c.width + number % steps) * c.width;
    c.time = number / steps / blocks;
    c.from = block * ROWS;
    c.to = c.from + ROWS < p->baselines ? c.from + ROWS : p->baselines;
    if (!any_needed(p, &c))
        return;
    if (!start_piece(p, &c)) {
        atomic_store(&p->failed, 1);
        return;
    }
    load_rows(p, &c);
    set_job(p, &c);
    for (int first = 0; first < c.job.rows; first += c.at_once)
        run_rows(p, &c, first, first + c.at_once < c.job.rows ? first + c.at_once : c.job.rows);
    grove_predict_return_memory(p, c.memory);
}
