/* Sums with Jones terms of source and station inside, with a channel or a source in each lane. A
 * piece is one time, one vector of channels, or one channel or those of diagonal terms with a
 * source in each lane, and a block of rows. */
#include "predict_private.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROWS = 8192,  /* of a piece, at most */
    FLUSHED = 256 /* sources after which sums go to double */
};

static const int jones_inputs[2] = {GROVE_PREDICT_LEFT, GROVE_PREDICT_RIGHT};
static const int uvw_inputs[2] = {GROVE_PREDICT_UVW_LEFT, GROVE_PREDICT_UVW_RIGHT};

/* Whether a view's cells are those of stations; `table` gets the station of each baseline, or stays
 * as it is where all baselines share one. */
static int is_of_stations(const grove_view *view, int baseline, const int32_t **table)
{
    if (!view->data || !(view->gather || stride_of(view, baseline)))
        return 1;
    *table = view->gather;
    return view->gather && view->gather_axis == baseline;
}

static const int32_t *stations_of(const grove_predict_sum *p, int side, int *fits)
{
    const int32_t *own = NULL, *other = NULL;

    *fits = is_of_stations(input_of(p, jones_inputs[side]), p->baseline, &own) &&
            is_of_stations(input_of(p, uvw_inputs[side]), p->baseline, &other) &&
            (!own || !other || !memcmp(own, other, sizeof(*own) * (size_t)p->baselines));
    return own ? own : other;
}

/* Whether rows are times and pairs of stations. */
static int has_stations(const grove_predict_sum *p)
{
    int fits[2] = {0, 0};

    if (p->baseline < 0 || p->baselines * p->times != p->rows)
        return 0;
    stations_of(p, 0, &fits[0]);
    stations_of(p, 1, &fits[1]);
    return fits[0] && fits[1];
}

int grove_predict_channels_bare(const grove_predict_sum *p)
{
    return p->plan.factors && p->plan.way == GROVE_PREDICT_BASELINE && !(p->plan.cutoff > 0) &&
           p->plan.jones == GROVE_PREDICT_AROUND && !input_of(p, GROVE_PREDICT_LEFT)->data &&
           !input_of(p, GROVE_PREDICT_RIGHT)->data && input_of(p, GROVE_PREDICT_UVW_LEFT)->data &&
           input_of(p, GROVE_PREDICT_UVW_RIGHT)->data && p->plan.count < GROVE_PREDICT_FEW &&
           has_stations(p) && p->sources >= p->kernels->lanes;
}

int grove_predict_channels_form(const grove_predict_sum *p)
{
    int few = p->plan.count < GROVE_PREDICT_FEW;

    if (!p->jones || !has_stations(p))
        return BY_ROWS;
    if (few)
        return p->sources >= p->kernels->lanes ? BY_SOURCES : BY_ROWS;
    return p->terms.varies || !p->plan.channels.regular ? BY_CHANNELS : BY_ROWS;
}

/* The channel of the whole axis from which on a source is in each lane. That takes less time for
 * the last ones, where these fill few of a vector's lanes; sums of diagonals have no room for more
 * than half of them. */
static int64_t first_by_sources(const grove_predict_sum *p)
{
    int64_t lanes = p->kernels->lanes, count = p->plan.count;
    int64_t most = p->terms.diagonal ? lanes / 2 : lanes * 5 / 8;

    if (p->form == BY_SOURCES)
        return 0;
    return p->sources >= lanes && count % lanes <= most ? count - count % lanes : count;
}

/* Channels of a piece with a source in each lane, at most. */
static int64_t width_by_sources(const grove_predict_sum *p)
{
    return p->terms.diagonal ? p->plan.count - first_by_sources(p) : 1;
}

int grove_predict_channels_pack(grove_predict_sum *p)
{
    int fits;

    p->stations = 1;
    for (int side = 0; side < 2; side++) {
        p->station_of[side] = stations_of(p, side, &fits);
        for (int64_t b = 0; b < p->baselines && p->station_of[side]; b++)
            if (p->station_of[side][b] >= p->stations)
                p->stations = p->station_of[side][b] + 1;
    }
    p->unwanted = calloc((size_t)p->rows + 1, 1);
    if (!p->unwanted)
        return 0;
    if (p->row_list) {
        memset(p->unwanted, 1, (size_t)p->rows);
        for (int64_t i = 0; i < p->row_count; i++)
            p->unwanted[p->row_list[i]] = 0;
    }
    return 1;
}

/* Vectors of so many channels that [from, to) lie in, of those that begin at `first`. */
static int64_t vectors_in(int64_t from, int64_t to, int64_t first, int64_t channels)
{
    from = from > first ? from : first;
    return to > from ? (to - first + channels - 1) / channels - (from - first) / channels : 0;
}

/* Vectors of channels of the tile, and pieces of channels with a source in each lane after them. */
static int64_t vectors_of(const grove_predict_sum *p)
{
    int64_t end = p->origin + p->channels, last = first_by_sources(p);

    return vectors_in(p->origin, end < last ? end : last, 0, p->kernels->lanes);
}

static int64_t steps_of(const grove_predict_sum *p)
{
    int64_t last = first_by_sources(p);

    if (last == p->plan.count)
        return vectors_of(p);
    return vectors_of(p) +
           vectors_in(p->origin, p->origin + p->channels, last, width_by_sources(p));
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
    int by_sources, width;         /* width: of so many channels, or lanes */
    const char **at[2];            /* memory of the job */
    double *station_uvw[2], *uvw, *change, *rest;
    unsigned char *wanted[2], *stray;
    int32_t *station[2];
    row *rows;
    double *total; /* [row][8][lane] */
    char *memory;
} piece;

static size_t reserve(size_t *at, size_t count, size_t size)
{
    size_t start = *at;

    *at += (count * size + 63) / 64 * 64;
    return start;
}

static size_t count_wanted(const grove_predict_sum *p, const piece *c)
{
    size_t count = 0;

    for (int64_t b = c->from; b < c->to; b++)
        count += !p->unwanted[c->time * p->baselines + b];
    return count;
}

/* Allocates the memory of a piece at once. */
static int start_piece(const grove_predict_sum *p, piece *c, size_t rows)
{
    size_t stations = (size_t)p->stations, at = 0;
    size_t lanes = (size_t)p->kernels->lanes, bytes = (size_t)p->args->out.bytes;
    size_t panel = reserve(&at, stations * (size_t)p->kernels->span * 16 * lanes, bytes);
    size_t width = (size_t)c->width;
    size_t sums = reserve(&at, rows * 8 * width, bytes), total = reserve(&at, rows * 8 * width, 8);
    size_t views = reserve(&at, rows, sizeof(row)), uvw = reserve(&at, 9 * rows, 8);
    size_t jones = reserve(&at, 2 * stations, sizeof(char *)),
           places = reserve(&at, 6 * stations, 8);
    size_t tables = reserve(&at, 2 * rows, 4), stray = reserve(&at, rows, 1);
    size_t wanted = reserve(&at, 2 * stations, 1);
    char *memory = aligned_alloc(64, at + 64);

    c->memory = memory;
    if (!memory)
        return 0;
    memset(memory + sums, 0, at - sums);
    c->job.panel = memory + panel;
    c->job.sums = memory + sums;
    c->total = (double *)(void *)(memory + total);
    c->rows = (row *)(void *)(memory + views);
    c->uvw = (double *)(void *)(memory + uvw);
    c->change = c->uvw + 3 * rows;
    c->rest = c->change + 3 * rows;
    c->stray = (unsigned char *)memory + stray;
    for (size_t side = 0; side < 2; side++) {
        c->at[side] = (const char **)(void *)(memory + jones) + side * stations;
        c->station_uvw[side] = (double *)(void *)(memory + places) + 3 * side * stations;
        c->station[side] = (int32_t *)(void *)(memory + tables) + side * rows;
        c->wanted[side] = (unsigned char *)memory + wanted + side * stations;
    }
    return 1;
}

static int station_at(const grove_predict_sum *p, int side, int64_t baseline)
{
    return p->station_of[side] ? p->station_of[side][baseline] : 0;
}

static void load_stations(const grove_predict_sum *p, piece *c)
{
    for (int side = 0; side < 2; side++)
        for (int k = 0; k < p->stations; k++) {
            const grove_view *terms = input_of(p, jones_inputs[side]);
            if (!c->wanted[side][k])
                continue;
            if (terms->data)
                c->at[side][k] = (const char *)terms->data + stride_of(terms, p->time) * c->time +
                                 (terms->gather ? terms->stride[p->baseline] * k : 0);
            if (input_of(p, uvw_inputs[side])->data)
                memcpy(c->station_uvw[side] + 3 * k, station_uvw(p, uvw_inputs[side], c->time, k),
                       3 * sizeof(double));
        }
}

static void load_rows(const grove_predict_sum *p, piece *c)
{
    row_place place = {.inner = -1};
    int count = 0;

    for (int64_t b = c->from; b < c->to; b++) {
        if (p->unwanted[c->time * p->baselines + b])
            continue;
        row *r = &c->rows[count];
        find_next_row(p->args, c->time * p->baselines + b, &place, r - (count > 0), r);
        const double *rate = (const double *)(const void *)r->in[GROVE_PREDICT_RATE];
        const double *interval = (const double *)(const void *)r->in[GROVE_PREDICT_INTERVAL];
        memcpy(c->uvw + 3 * count, r->in[GROVE_PREDICT_UVW], 3 * sizeof(double));
        for (int k = 0; k < 3 && p->plan.smear_time; k++)
            c->change[3 * count + k] = rate[k] * *interval;
        for (int side = 0; side < 2; side++) {
            c->station[side][count] = station_at(p, side, b);
            c->wanted[side][station_at(p, side, b)] = 1;
        }
        count++;
    }
    c->job.rows = count;
    load_stations(p, c);
    for (int i = 0; i < count; i++)
        c->stray[i] = is_stray(p, c->uvw + 3 * i, c->station_uvw[0] + 3 * c->station[0][i],
                               c->station_uvw[1] + 3 * c->station[1][i], c->rest + 3 * i);
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
    job->at_once = lanes;
    job->offset = c->first - p->origin;
    job->from = job->offset < 0 ? (int)-job->offset : 0;
    job->to = p->channels - job->offset < lanes ? (int)(p->channels - job->offset) : lanes;
    job->freq = p->freqs + in_blocks;
    job->width = p->plan.smear_freq ? p->widths + in_blocks : NULL;
    job->equal_width = p->plan.equal_width;
    job->smear_time = p->plan.smear_time;
    job->reference = p->plan.reference;
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
        to->wanted = c->wanted[side];
        to->station = c->station[side];
    }
    job->uvw = c->uvw;
    job->change = c->change;
    job->rest = c->rest;
    job->stray = c->stray;
}

static void flush(const grove_predict_sum *p, piece *c)
{
    int64_t count = (int64_t)c->job.rows * 8 * p->kernels->lanes;
    float *singles = c->job.sums;
    double *doubles = c->job.sums;

    for (int64_t i = 0; i < count; i++)
        c->total[i] += p->args->out.bytes == 4 ? (double)singles[i] : doubles[i];
    memset(c->job.sums, 0, (size_t)(count * p->args->out.bytes));
}

static void add_sources(const grove_predict_sum *p, piece *c)
{
    grove_predict_channels_job job = c->job;
    int by_sources = c->by_sources;
    int elements = job.elements > 0 ? job.elements * job.at_once : 1;
    int vectors = job.diagonal ? PREDICT_BATCH(p->kernels->span, elements) : p->kernels->span;
    int span = by_sources ? vectors * p->kernels->lanes : p->kernels->span;
    const char *weight = job.weight;
    int64_t step = job.weight_source * (p->args->out.bytes == 4 ? 4 : 8);

    for (int64_t s = 0; s < p->sources; s += span) {
        int64_t gaussian = s < p->job.points ? 0 : s - p->job.points;
        job.sources = p->sources - s < span ? (int)(p->sources - s) : span;
        job.points = p->job.points - s < 0             ? 0
                     : p->job.points - s < job.sources ? (int)(p->job.points - s)
                                                       : job.sources;
        job.order = p->order + s;
        job.direction = p->direction + 3 * s;
        job.ellipse = p->ellipse + 4 * gaussian;
        job.weight = weight + step * s;
        if (by_sources) {
            p->kernels->sources(&job);
            continue;
        }
        p->kernels->channels(&job);
        if (s % FLUSHED == FLUSHED - span || s + span >= p->sources)
            flush(p, c);
    }
}

static void store(const grove_predict_sum *p, const piece *c)
{
    const grove_view *out = &p->args->out;
    const grove_predict_channels_job *job = &c->job;
    int lanes = c->width, scaled = job->smear_time && !c->by_sources;

    for (int i = 0; i < job->rows; i++)
        for (int k = job->from; k < job->to; k++) {
            char *at = c->rows[i].out + stride_of(out, p->freq) * (job->offset + k);
            double scale = scaled ? job->reference / job->freq[k] : 1;
            for (int e = 0; e < out->elements; e++) {
                int from = p->output_elements[e].component;
                const double *x = c->total + (int64_t)i * 8 * lanes + k;
                if (from >= 0)
                    x += 2 * job->element[from] * lanes;
                deliver(p, at, e, from < 0 ? 0 : x[0] * scale, from < 0 ? 0 : x[lanes] * scale);
            }
        }
}

/* Which channels are step `number` of the tile. */
static void set_channels(const grove_predict_sum *p, int64_t number, piece *c)
{
    int64_t vectors = vectors_of(p), lanes = p->kernels->lanes, last = first_by_sources(p);

    c->by_sources = number >= vectors;
    if (c->by_sources) {
        int64_t width = width_by_sources(p), from = p->origin > last ? p->origin - last : 0;
        c->width = (int)width;
        c->first = last + (from / width + number - vectors) * width;
    } else {
        c->width = (int)lanes;
        c->first = (p->origin / lanes + number) * lanes;
    }
}

void grove_predict_channels_run(grove_predict_sum *p, int64_t number)
{
    int64_t steps = steps_of(p), blocks = row_blocks(p), block = number / steps % blocks;
    piece c;

    memset(&c, 0, sizeof(c));
    set_channels(p, number % steps, &c);
    c.time = number / steps / blocks;
    c.from = block * ROWS;
    c.to = c.from + ROWS < p->baselines ? c.from + ROWS : p->baselines;
    const size_t rows = count_wanted(p, &c);
    if (!rows)
        return;
    if (!start_piece(p, &c, rows)) {
        atomic_store(&p->failed, 1);
        return;
    }
    load_rows(p, &c);
    set_job(p, &c);
    if (c.by_sources)
        c.job.sums = c.total;
    if (c.job.rows && c.job.elements)
        add_sources(p, &c);
    store(p, &c);
    free(c.memory);
}
