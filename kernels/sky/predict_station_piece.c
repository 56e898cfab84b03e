/* Computes sums for stations piece by piece: a part of the cells of the products at one time, in
 * neighbouring channels of the output. */
#include "predict_private.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of a row of a real panel that are multiplied before sums over lanes: the rows of a tile fit
 * into the first-level cache, the panel of all columns into the second-level cache. */
enum { ROW_BYTES = 2048 };

/* Jones terms of a batch of sources, a line of the cache for each station, stay in the second-level
 * cache while all channels of a piece are summed, as many as have sums of SUMS_BYTES in all. */
enum { LINE_BYTES = 64, CACHED_BYTES = 1 << 19, SUMS_BYTES = 1 << 21 };

/* Returns an earlier element that is the same as element e of the brightness, e if there is none,
 * -1 if it is zero. */
static int find_equal_element(const grove_predict_sum *p, int e)
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

/* Which element of the brightness, numbered as in a matrix, element e of the output is a sum of, or
 * -1. */
static int summed_element(const grove_predict_sum *p, int e)
{
    if (p->jones && p->sides == 2)
        return p->args->out.elements == 2 ? 3 * e : e;
    if (p->jones) {
        int component = p->output_elements[e].component;
        return component < 0 ? -1 : p->terms.element[component];
    }
    int same = find_equal_element(p, e);
    return same < 0 ? -1 : p->elements == 2 ? 3 * same : same;
}

/* Finds the elements that need a product of their own; returns their number. */
static int find_products(const grove_predict_sum *p, int *element)
{
    int count = 0, elements = p->jones ? p->args->out.elements : p->elements;

    if (p->sides == 2)
        return 1;
    for (int e = 0; e < elements; e++) {
        int summed = summed_element(p, e), known = summed < 0;
        for (int k = 0; k < count && !known; k++)
            known = element[k] == summed;
        if (!known)
            element[count++] = summed;
    }
    return count;
}

/* ---- one piece ---- */

typedef struct {
    grove_predict_panel panel;
    int64_t time, channel, first; /* channel: the first; first: source in the panel */
    int channels;
    int64_t cell; /* the first of the part */
    int part;
    char *brightness;
    double *uvw;
    size_t sums_each; /* numbers of an element's sums of one kind */
    double *sums;     /* [summed channel][real, imaginary, both][cell] */
    int summed;       /* channels in which a batch of sources is summed before the next */
    char *results;    /* [channel][product][cell], complex, in the precision of the output */
    int products;     /* elements of the brightness that are summed separately, or 4 */
    void *memory;
} piece;

static void put_real(const grove_predict_sum *p, char *at, int64_t k, double x)
{
    if (p->args->out.bytes == 4)
        ((float *)(void *)at)[k] = (float)x;
    else
        ((double *)(void *)at)[k] = x;
}

static size_t round_to_lines(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* Bytes of the Jones terms of a source and station that are loaded together. */
static size_t jones_line(const grove_predict_sum *p)
{
    const grove_predict_jones_side *side = p->terms.side;
    size_t cell = 0;

    for (int k = 0; k < 2; k++) {
        size_t bytes = (size_t)side[k].numbers * (size_t)side[k].bytes;
        cell = bytes > cell ? bytes : cell;
    }
    cell *= p->terms.varies ? (size_t)p->plan.count : 1;
    return cell < LINE_BYTES ? cell : LINE_BYTES;
}

/* Vectors of a batch of sources, the same for all tiles: sums of batches are added in turn. */
static size_t batch_of(const grove_predict_sum *p, size_t lanes, size_t bytes)
{
    enum { LEAST = 8 };
    const size_t most = ROW_BYTES / (size_t)p->sides / bytes;
    const size_t each = lanes * (size_t)p->plan.stations * (p->jones ? jones_line(p) : 0);

    if (!each)
        return most;
    const size_t cached = CACHED_BYTES / each;
    return cached >= most ? most : cached > LEAST ? cached : LEAST;
}

/* Memory of a piece and where its parts are. */
static int allocate_piece(grove_predict_sum *p, piece *c)
{
    const grove_predict_grid *g = p->grid;
    size_t lanes = (size_t)p->kernels->lanes, bytes = lanes * (p->args->out.bytes == 4 ? 4 : 8);
    size_t capacity = batch_of(p, lanes, bytes), sides = (size_t)p->sides;
    size_t rows = (size_t)g->tile_rows + sides * (size_t)g->rows[1];
    size_t work = capacity * (3 * sides * rows + 2 * (size_t)p->stations) * bytes;
    size_t flux = capacity * 8 * bytes,
           uvw = round_to_lines((size_t)p->stations * 3 * sizeof(double));

    size_t cells = (size_t)g->tile_rows * (size_t)g->tile_columns;
    c->sums_each = (size_t)c->panel.tile_count * cells;
    size_t most = (size_t)g->most_tiles * cells * (size_t)c->panel.elements;
    size_t each = 3 * most * sizeof(double), together = 1;
    if (p->jones && p->sources > (int64_t)(capacity * lanes) && each > 0 && each < SUMS_BYTES)
        together = SUMS_BYTES / each;
    c->summed = (size_t)p->at_once < together ? (int)p->at_once : (int)together;
    size_t sums = round_to_lines((size_t)c->summed * each);
    size_t results = (size_t)p->at_once * most * 2 * (size_t)p->args->out.bytes;
    c->memory = grove_predict_take_memory(p, work + flux + uvw + sums + round_to_lines(results));
    if (!c->memory)
        return 0;
    c->panel.capacity = (int)capacity;
    c->panel.work = c->memory;
    c->brightness = (char *)c->memory + work;
    c->uvw = (double *)(void *)(c->brightness + flux);
    c->sums = (double *)(void *)((char *)c->uvw + uvw);
    c->results = (char *)c->sums + sums;
    c->panel.brightness = c->brightness;
    c->panel.uvw = c->uvw;
    return 1;
}

/* Jones terms of a side at the piece's time and a channel. */
static void set_side(const grove_predict_sum *p, piece *c, int side, int64_t channel)
{
    const grove_view *view = input_of(p, side ? GROVE_PREDICT_RIGHT : GROVE_PREDICT_LEFT);
    grove_predict_panel_side *to = &c->panel.side[side];

    if (!view->data || !p->jones)
        return;
    to->at = (const char *)view->data + stride_of(view, p->time) * c->time +
             stride_of(view, p->freq) * channel;
    to->numbers = 2 * view->elements;
    to->bytes = view->bytes;
    to->source = stride_of(view, p->source);
    to->station = view->gather ? view->stride[p->baseline] : 0;
}

/* Whether this time has rows that are computed by stations. */
static int any_needed(const grove_predict_sum *p, int64_t time)
{
    return memchr(p->is_stray + time * p->baselines, 0, (size_t)p->baselines) != NULL;
}

/* Returns 0 without memory. A piece without tiles has no memory. */
static int start_piece(grove_predict_sum *p, int64_t number, piece *c)
{
    const int parts = p->grid->part_count;
    grove_predict_panel *panel = &c->panel;
    const int64_t at_once = p->at_once, groups = grove_predict_station_groups(p);

    memset(c, 0, sizeof(*c));
    c->part = (int)(number % parts);
    c->time = number / parts / groups;
    c->channel = number / parts % groups * at_once;
    c->channels = (int)(p->channels - c->channel < at_once ? p->channels - c->channel : at_once);
    if (!any_needed(p, c->time))
        return 1;
    const grove_predict_grid *g = p->grid;
    c->cell = (int64_t)g->part[c->part] * g->tile_rows * g->tile_columns;
    panel->tiles = g->tiles + g->part[c->part];
    panel->tile_count = g->part[c->part + 1] - g->part[c->part];
    panel->sides = p->sides;
    panel->elements = find_products(p, panel->element);
    c->products = p->sides == 2 ? 4 : panel->elements;
    if (!allocate_piece(p, c))
        return 0;
    panel->stations = p->stations;
    panel->rows[0] = g->rows[0];
    panel->rows[1] = g->rows[1];
    panel->place[0] = g->part_place[0] + (int64_t)c->part * g->stations;
    panel->place[1] = g->part_place[1] + (int64_t)c->part * g->stations;
    panel->row = g->row;
    panel->stride = p->padded;
    return 1;
}

/* Coordinates of stations that are left or right of some baseline. */
static void load_uvw(const grove_predict_sum *p, piece *c)
{
    static const int inputs[] = {GROVE_PREDICT_UVW_LEFT, GROVE_PREDICT_UVW_RIGHT};

    memset(c->uvw, 0, sizeof(double) * 3 * (size_t)p->stations);
    for (int side = 0; side < 2; side++)
        for (int64_t i = 0; i < p->stations; i++)
            if (c->panel.place[side][i] >= 0)
                memcpy(c->uvw + 3 * i, station_uvw(p, inputs[side], c->time, i),
                       3 * sizeof(double));
}

/* The elements of the brightness that are summed separately, or the whole matrix. */
static void load_brightness(const grove_predict_sum *p, piece *c, int64_t channel)
{
    const grove_view *view = input_of(p, GROVE_PREDICT_BRIGHTNESS);
    int lanes = p->kernels->lanes, elements = c->products;
    int64_t padded = (int64_t)c->panel.vectors * lanes;

    memset(c->brightness, 0, (size_t)(padded * 2 * elements) * (p->args->out.bytes == 4 ? 4 : 8));
    for (int64_t i = 0; i < c->panel.count; i++) {
        int64_t at = i / lanes * 2 * elements * lanes + i % lanes;
        const char *from = at_source(p, GROVE_PREDICT_BRIGHTNESS, p->order[c->first + i]) +
                           stride_of(view, p->freq) * (p->plan.flat ? 0 : channel);
        grove_cplx64 m[4];
        matrix_at(view, from, m);
        for (int k = 0; k < elements; k++) {
            const grove_cplx64 *b = &m[p->sides == 2 ? k : c->panel.element[k]];
            put_real(p, c->brightness, at + 2 * k * lanes, b->re);
            put_real(p, c->brightness, at + (2 * k + 1) * lanes, b->im);
        }
    }
}

/* Complex numbers from the three products' sums. */
static inline __attribute__((always_inline)) void collect(const double *restrict from, size_t count,
                                                          char *restrict to, int bytes)
{
    const double *im = from + count, *both = im + count;

    for (size_t i = 0; i < count; i++)
        put_complex(to + i * 2 * (size_t)bytes, 0, bytes, from[i] - im[i],
                    both[i] - from[i] - im[i]);
}

/* Where the results of a channel and product are. */
static inline char *results_at(const piece *c, int k, int product, int bytes)
{
    return c->results +
           (size_t)(k * c->panel.elements + product) * c->sums_each * 2 * (size_t)bytes;
}

/* Adds the batch of sources from c->first on to the sums of channel number k of the piece. */
static void add_batch(const grove_predict_sum *p, piece *c, int k, double *sums)
{
    const int64_t channel = c->channel + k;

    c->panel.sums = sums;
    c->panel.freq = p->freqs[p->origin - p->first_block * PREDICT_BLOCK + channel];
    set_side(p, c, 0, channel);
    set_side(p, c, 1, channel);
    load_brightness(p, c, channel);
    p->kernels->station(&c->panel);
}

/* The sums of `count` channels of the piece from number k on. */
static void sum_sources(const grove_predict_sum *p, piece *c, int k, int count)
{
    const int lanes = p->kernels->lanes, bytes = p->args->out.bytes;
    const int64_t max_count = (int64_t)c->panel.capacity * lanes;
    const size_t each = 3 * c->sums_each, all = each * (size_t)c->panel.elements;

    memset(c->sums, 0, (size_t)count * all * sizeof(double));
    for (c->first = 0; c->first < p->sources; c->first += max_count) {
        int64_t rest = p->sources - c->first;
        c->panel.count = (int)(rest < max_count ? rest : max_count);
        c->panel.vectors = (c->panel.count + lanes - 1) / lanes;
        c->panel.direction = p->padded_direction + c->first;
        c->panel.order = p->order + c->first;
        for (int i = 0; i < count; i++)
            add_batch(p, c, k + i, c->sums + all * (size_t)i);
    }
    for (int i = 0; i < count; i++)
        for (int e = 0; e < c->panel.elements; e++) {
            const double *from = c->sums + all * (size_t)i + each * (size_t)e;
            if (bytes == 4)
                collect(from, c->sums_each, results_at(c, k + i, e, 4), 4);
            else
                collect(from, c->sums_each, results_at(c, k + i, e, 8), 8);
        }
}

/* The elements of a cell that are stored, or that Jones terms around the sum take. */
typedef struct {
    int count;
    int element[4]; /* of the brightness, numbered as in a matrix; -1: zero */
    int line[4];    /* of its cell of a product, from the first element's */
    int column[4];
    const char *start[4]; /* the results of its product in the piece's first channel */
    ptrdiff_t next;       /* from there to the next channel's */
} elements;

static elements find_elements(const grove_predict_sum *p, const piece *c)
{
    const int summed = p->jones ? p->args->out.elements : p->elements, bytes = p->args->out.bytes;
    elements to = {.count = p->args->out.elements > summed ? p->args->out.elements : summed,
                   .next = results_at(c, 1, 0, bytes) - c->results};

    for (int e = 0; e < to.count; e++) {
        const int element = e < summed ? summed_element(p, e) : -1;
        int product = 0;
        while (p->sides == 1 && element >= 0 && c->panel.element[product] != element)
            product++;
        to.element[e] = element;
        to.line[e] = p->sides == 2 && element >= 0 ? element / 2 : 0;
        to.column[e] = p->sides == 2 && element >= 0 ? element % 2 : 0;
        to.start[e] = results_at(c, 0, product, bytes);
    }
    return to;
}

/* Where the results of a baseline's elements are in the piece's first channel; NULL: zero or in
 * another part. Returns whether any is in this part. */
static int find_cells(const grove_predict_sum *p, const piece *c, const elements *which, int64_t b,
                      const char *at[4])
{
    const grove_predict_grid *g = p->grid;
    const uint32_t line =
        (uint32_t)(g->sides * g->place[0][input_of(p, GROVE_PREDICT_UVW_LEFT)->gather[b]]);
    const uint32_t rows = (uint32_t)g->tile_rows, first = line % rows;
    int64_t column = g->sides * g->place[1][input_of(p, GROVE_PREDICT_UVW_RIGHT)->gather[b]];
    const int32_t *cells = g->cells + (int64_t)(line / rows) * g->sides * g->rows[1] + column;
    int any = 0;

    for (int e = 0; e < which->count; e++) {
        int64_t cell = cells[which->column[e]] - c->cell;
        int inside = cell >= 0 && cell < (int64_t)c->sums_each;
        cell += first + which->line[e];
        at[e] = inside && which->element[e] >= 0 ? which->start[e] + 2 * p->args->out.bytes * cell
                                                 : NULL;
        any |= inside;
    }
    return any;
}

/* Stores a baseline's elements; of matrices only elements in the part. */
static inline __attribute__((always_inline)) void store_bare(const piece *c, const elements *which,
                                                             const char *const at[4], char *to,
                                                             int64_t step, int bytes, int adds)
{
    const size_t size = 2 * (size_t)bytes;

    for (int e = 0; e < which->count; e++) {
        char *cell = to + 2 * bytes * e;
        const char *from = at[e];
        if (!from && (which->element[e] >= 0 || adds))
            continue;
        for (int k = 0; k < c->channels; k++, cell += step)
            if (!from)
                memset(cell, 0, size);
            else if (adds)
                put_complex(cell, 0, bytes,
                            number_at(cell, 0, bytes) + number_at(from + which->next * k, 0, bytes),
                            number_at(cell, 1, bytes) +
                                number_at(from + which->next * k, 1, bytes));
            else
                memcpy(cell, from + which->next * k, size);
    }
}

/* Stores the sums of a baseline with Jones terms around them. */
static void store_around(const grove_predict_sum *p, const piece *c, const elements *which,
                         const char *const at[4], int64_t b)
{
    const grove_view *out = &p->args->out;
    row r;

    find_row(p->args, c->time * p->baselines + b, &r);
    for (int k = 0; k < c->channels; k++) {
        char *to = r.out + stride_of(out, p->freq) * (c->channel + k);
        grove_cplx64 v[4] = {{0, 0}};
        for (int e = 0; e < which->count; e++)
            if (at[e]) {
                v[e].re = number_at(at[e] + which->next * k, 0, out->bytes);
                v[e].im = number_at(at[e] + which->next * k, 1, out->bytes);
            }
        grove_predict_jones_around(p, &r, c->channel + k, v);
        for (int e = 0; e < out->elements; e++)
            deliver(p, to, e, v[e].re, v[e].im);
    }
}

/* Stores the sums of the baselines: elements that share a sum get it, and Jones terms around the
 * sum are applied. */
static void store(const grove_predict_sum *p, const piece *c)
{
    const grove_view *out = &p->args->out;
    const elements which = find_elements(p, c);
    const int around = !p->jones && (input_of(p, GROVE_PREDICT_LEFT)->data ||
                                     input_of(p, GROVE_PREDICT_RIGHT)->data);
    const int64_t step = stride_of(out, p->freq), next = stride_of(out, p->baseline);
    const char *at[4] = {NULL};
    row r;

    find_row(p->args, c->time * p->baselines, &r);
    char *to = r.out + step * c->channel;
    for (int64_t b = 0; b < p->baselines; b++, to += next) {
        if (p->is_stray[c->time * p->baselines + b] || !find_cells(p, c, &which, b, at))
            continue;
        if (around)
            store_around(p, c, &which, at, b);
        else if (out->bytes == 4)
            store_bare(c, &which, at, to, step, 4, p->adds);
        else
            store_bare(c, &which, at, to, step, 8, p->adds);
    }
}

void grove_predict_station_run(grove_predict_sum *p, int64_t number)
{
    piece c;

    if (!start_piece(p, number, &c)) {
        atomic_store(&p->failed, 1);
    } else if (c.memory) {
        load_uvw(p, &c);
        for (int k = 0; k < c.channels; k += c.summed)
            sum_sources(p, &c, k, c.channels - k < c.summed ? c.channels - k : c.summed);
        store(p, &c);
        grove_predict_return_memory(p, c.memory);
    }
}
