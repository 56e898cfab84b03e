/* Computes sums for stations piece by piece: a part of the cells of the products at one time and
 * channel. */
#include "predict_private.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of a row of a real panel that are multiplied before sums over lanes: the rows of a tile fit
 * into the first-level cache, the panel of all columns into the second-level cache. */
enum { ROW_BYTES = 2048 };

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
        int of = summed_element(p, e), known = of < 0;
        for (int k = 0; k < count && !known; k++)
            known = element[k] == of;
        if (!known)
            element[count++] = of;
    }
    return count;
}

/* ---- one piece ---- */

typedef struct {
    grove_predict_panel panel;
    int64_t time, channel, first; /* first: source in the panel */
    int64_t cell;                 /* the first of the part */
    int part;
    char *brightness;
    double *uvw;
    size_t sums_each; /* numbers of an element's sums of one kind */
    int products;     /* elements of the brightness that are summed by themselves, or 4 */
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

/* Memory of an earlier piece, or new memory. */
static void *get_memory(grove_predict_sum *p, size_t bytes)
{
    for (int i = 0; i < PREDICT_SPARES; i++) {
        void *spare = atomic_exchange(&p->spares[i], NULL);
        if (spare)
            return spare;
    }
    return aligned_alloc(64, bytes);
}

static void return_memory(grove_predict_sum *p, void *memory)
{
    for (int i = 0; i < PREDICT_SPARES && memory; i++)
        memory = atomic_exchange(&p->spares[i], memory);
    free(memory);
}

/* Memory of a piece and where its parts are. */
static int allocate_piece(grove_predict_sum *p, piece *c)
{
    const grove_predict_grid *g = p->grid;
    size_t lanes = (size_t)p->kernels->lanes, bytes = lanes * (p->args->out.bytes == 4 ? 4 : 8);
    size_t capacity = ROW_BYTES / (size_t)p->sides / bytes, sides = (size_t)p->sides;
    size_t rows = (size_t)g->tile_rows + sides * (size_t)g->rows[1];
    size_t work = capacity * (3 * sides * rows + 2 * (size_t)p->stations) * bytes;
    size_t flux = capacity * 8 * bytes,
           uvw = round_to_lines((size_t)p->stations * 3 * sizeof(double));

    size_t cells = (size_t)g->tile_rows * (size_t)g->tile_columns;
    size_t sums = round_to_lines((size_t)g->most_tiles * cells * 3 * (size_t)c->panel.elements *
                                 sizeof(double));
    c->sums_each = (size_t)c->panel.tile_count * cells;
    c->memory = get_memory(p, work + flux + uvw + sums);
    if (!c->memory)
        return 0;
    c->panel.capacity = (int)capacity;
    c->panel.work = c->memory;
    c->brightness = (char *)c->memory + work;
    c->uvw = (double *)(void *)(c->brightness + flux);
    c->panel.sums = (double *)(void *)((char *)c->uvw + uvw);
    c->panel.brightness = c->brightness;
    c->panel.uvw = c->uvw;
    memset(c->panel.sums, 0, sums);
    return 1;
}

/* Jones terms of a side at the piece's time and channel. */
static void set_side(const grove_predict_sum *p, piece *c, int side)
{
    const grove_view *view = input_of(p, side ? GROVE_PREDICT_RIGHT : GROVE_PREDICT_LEFT);
    grove_predict_panel_side *to = &c->panel.side[side];

    if (!view->data || !p->jones)
        return;
    to->at = (const char *)view->data + stride_of(view, p->time) * c->time +
             stride_of(view, p->freq) * c->channel;
    to->numbers = 2 * view->elements;
    to->bytes = view->bytes;
    to->source = stride_of(view, p->source);
    to->station = view->gather ? view->stride[p->baseline] : 0;
}

static int start_piece(grove_predict_sum *p, int64_t number, piece *c)
{
    const grove_predict_grid *g = p->grid;
    grove_predict_panel *panel = &c->panel;

    memset(c, 0, sizeof(*c));
    c->part = (int)(number % g->part_count);
    c->time = number / g->part_count / p->channels;
    c->channel = number / g->part_count % p->channels;
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
    panel->freq = p->freqs[p->origin - p->first_block * PREDICT_BLOCK + c->channel];
    set_side(p, c, 0);
    set_side(p, c, 1);
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

/* The elements of the brightness that are summed by themselves, or the whole matrix. */
static void load_brightness(const grove_predict_sum *p, piece *c)
{
    const grove_view *view = input_of(p, GROVE_PREDICT_BRIGHTNESS);
    int lanes = p->kernels->lanes, elements = c->products;
    int64_t padded = (int64_t)c->panel.vectors * lanes;

    memset(c->brightness, 0, (size_t)(padded * 2 * elements) * (p->args->out.bytes == 4 ? 4 : 8));
    for (int64_t i = 0; i < c->panel.count; i++) {
        int64_t at = i / lanes * 2 * elements * lanes + i % lanes;
        const char *from = at_source(p, GROVE_PREDICT_BRIGHTNESS, p->order[c->first + i]) +
                           stride_of(view, p->freq) * (p->plan.flat ? 0 : c->channel);
        grove_cplx64 m[4];
        matrix_at(view, from, m);
        for (int k = 0; k < elements; k++) {
            const grove_cplx64 *b = &m[p->sides == 2 ? k : c->panel.element[k]];
            put_real(p, c->brightness, at + 2 * k * lanes, b->re);
            put_real(p, c->brightness, at + (2 * k + 1) * lanes, b->im);
        }
    }
}

static void sum_sources(const grove_predict_sum *p, piece *c)
{
    int lanes = p->kernels->lanes;
    int64_t max_count = (int64_t)c->panel.capacity * lanes;

    for (c->first = 0; c->first < p->sources; c->first += max_count) {
        int64_t rest = p->sources - c->first;
        c->panel.count = (int)(rest < max_count ? rest : max_count);
        c->panel.vectors = (c->panel.count + lanes - 1) / lanes;
        c->panel.direction = p->padded_direction + c->first;
        c->panel.order = p->order + c->first;
        load_brightness(p, c);
        p->kernels->station(&c->panel);
    }
}

/* Where the sums of element e of a baseline are, in the first product; NULL: in another part. */
static const double *cell_at(const grove_predict_sum *p, const piece *c, int64_t b, int e)
{
    const grove_predict_grid *g = p->grid;
    int64_t line = g->sides * g->place[0][input_of(p, GROVE_PREDICT_UVW_LEFT)->gather[b]];
    int64_t column = g->sides * g->place[1][input_of(p, GROVE_PREDICT_UVW_RIGHT)->gather[b]];

    if (g->sides == 2) {
        line += e / 2;
        column += e % 2;
    }
    int64_t at = g->cells[line * g->sides * g->rows[1] + column] - c->cell;
    return at >= 0 && at < (int64_t)c->sums_each ? c->panel.sums + at : NULL;
}

/* Element e of a baseline's sum, as a matrix's, from its cell. */
static grove_cplx64 element_at(const grove_predict_sum *p, const piece *c, const double *at, int e)
{
    int k = 0;

    while (p->sides == 1 && c->panel.element[k] != e)
        k++;
    at += 3 * c->sums_each * (size_t)k;
    double re = at[0], im = at[c->sums_each], both = at[2 * c->sums_each];
    grove_cplx64 z = {re - im, both - re - im};
    return z;
}

/* Stores those elements of a matrix that lie in the part. */
static void store_matrix(const grove_predict_sum *p, const piece *c, int64_t b, const int from[4],
                         char *to)
{
    const grove_view *out = &p->args->out;

    for (int e = 0; e < out->elements; e++) {
        const double *at = cell_at(p, c, b, from[e]);
        if (at) {
            grove_cplx64 z = element_at(p, c, at, from[e]);
            deliver(p, to, e, z.re, z.im);
        }
    }
}

/* Stores the sums of the baselines: elements that share a sum get it, and Jones terms around the
 * sum are applied. */
static void store(const grove_predict_sum *p, const piece *c)
{
    const grove_view *out = &p->args->out;
    int around = !p->jones &&
                 (input_of(p, GROVE_PREDICT_LEFT)->data || input_of(p, GROVE_PREDICT_RIGHT)->data);
    int elements = p->jones ? out->elements : p->elements, from[4] = {0};
    row r;

    for (int e = 0; e < elements; e++)
        from[e] = summed_element(p, e);
    find_row(p->args, c->time * p->baselines, &r);
    for (int64_t b = 0; b < p->baselines; b++) {
        grove_cplx64 v[4] = {{0, 0}};
        char *at = r.out + stride_of(out, p->baseline) * b + stride_of(out, p->freq) * c->channel;
        if (p->is_stray[c->time * p->baselines + b])
            continue;
        if (p->sides == 2) {
            store_matrix(p, c, b, from, at);
            continue;
        }
        const double *cell = cell_at(p, c, b, 0);
        if (!cell)
            continue;
        for (int e = 0; e < elements; e++)
            if (from[e] >= 0)
                v[e] = element_at(p, c, cell, from[e]);
        if (around) {
            find_row(p->args, c->time * p->baselines + b, &r);
            grove_predict_jones_around(p, &r, c->channel, v);
            find_row(p->args, c->time * p->baselines, &r);
        }
        for (int e = 0; e < out->elements; e++)
            deliver(p, at, e, v[e].re, v[e].im);
    }
}

/* Whether any row at this time is computed by stations. */
static int any_wanted(const grove_predict_sum *p, int64_t time)
{
    const unsigned char *strays = p->is_stray + time * p->baselines;

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
        return_memory(p, c.memory);
        return;
    }
    load_uvw(p, &c);
    sum_sources(p, &c);
    store(p, &c);
    return_memory(p, c.memory);
}
