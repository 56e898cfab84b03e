/* The compressed form of a fit: sums of data and models over stretches of cells, made once for a
 * tile, and the Jones terms needed there. */
#include "nodes/fit/solve.h"

#include "util.h"

#include <stdlib.h>
#include <string.h>

/* ---- stretches ---- */

int64_t solve_stretch_edge(const solve *s, int cut, int64_t stretch)
{
    return s->each[cut] ? stretch : s->cut[cut].edge[stretch];
}

void solve_stretches(const solve *s, const solve_domain *d, int cut, int64_t range[2])
{
    const solve_cut *own = &s->cut[cut];

    for (int k = 0; k < 2; k++) {
        int64_t domain = d->number[cut] + k;
        range[k] = s->each[cut] ? own->first[domain] : own->segments[domain];
    }
}

/* The stretch of a cell. */
static int64_t stretch_at(const solve *s, int cut, int64_t cell)
{
    int64_t at = 0;

    if (s->each[cut])
        return cell;
    while (s->cut[cut].edge[at + 1] <= cell)
        at++;
    return at;
}

void solve_find_all_stretches(const solve_tile *tile, solve_compressed *c)
{
    for (int cut = 0; cut < SOLVE_CUTS; cut++) {
        int64_t first = solve_origin(tile, cut);
        int64_t end = first + (tile->cut[cut] >= 0 ? tile->range[tile->cut[cut]].count : 1);
        c->first[cut] = stretch_at(tile->solve, cut, first);
        c->count[cut] = stretch_at(tile->solve, cut, end - 1) + 1 - c->first[cut];
    }
}

/* The cells of a stretch that are in the tile. */
static void cells_of(const solve_tile *tile, int cut, int64_t stretch, int64_t cells[2])
{
    cells[0] = solve_stretch_edge(tile->solve, cut, stretch);
    cells[1] = solve_stretch_edge(tile->solve, cut, stretch + 1);
    if (!solve_clip(tile, cut, cells))
        cells[1] = cells[0];
}

int64_t solve_first_cell(const solve_tile *tile, int cut, int64_t stretch)
{
    int64_t cells[2];

    cells_of(tile, cut, stretch, cells);
    return cells[0];
}

static bool counts(const solve_tile *tile, int cut, int64_t stretch)
{
    int64_t cells[2];

    cells_of(tile, cut, stretch, cells);
    return cells[1] > cells[0] &&
           (!tile->keeps || cells[0] == solve_stretch_edge(tile->solve, cut, stretch));
}

void solve_tile_stretches(const solve_tile *tile, const solve_domain *d, int cut, int64_t range[2])
{
    solve_stretches(tile->solve, d, cut, range);
    while (range[0] < range[1] && !counts(tile, cut, range[0]))
        range[0]++;
    while (range[0] < range[1] && !counts(tile, cut, range[1] - 1))
        range[1]--;
}

bool solve_divides_stretches(const solve_tile *tile)
{
    const solve *s = tile->solve;

    for (int cut = 0; cut < SOLVE_CUTS; cut++) {
        const grove_range *range = tile->cut[cut] >= 0 ? &tile->range[tile->cut[cut]] : NULL;
        for (int side = 0; range && side < 2; side++) {
            int64_t cell = range->first + side * range->count;
            if (cell < s->cut[cut].axis->size &&
                solve_stretch_edge(s, cut, stretch_at(s, cut, cell)) != cell)
                return true;
        }
    }
    return false;
}

/* ---- sums ---- */

static void set_array(const solve_tile *tile, const solve_view *view, int bytes, int parts,
                      grove_compression_array *to)
{
    const int axis[3] = {tile->cut[SOLVE_TIME], tile->baseline, tile->cut[SOLVE_FREQ]};

    *to = (grove_compression_array){
        .data = view->data, .flags = view->flags, .elements = view->elements, .bytes = bytes};
    for (int k = 0; k < 3; k++) {
        int64_t cells = axis[k] >= 0 ? view->stride[axis[k]] : 0;
        to->stride[k] = cells * view->elements * parts * bytes;
        to->flag_stride[k] = cells;
    }
}

/* Flags of all cells of the tile: the data's own, of baselines that are too short or too long, and
 * of elements that are not compared. */
static unsigned char *make_mask(const solve_tile *tile, const grove_compression_array *data)
{
    const solve *s = tile->solve;
    int64_t size[3] = {1, 1, 1}, n = 0;
    const int axis[3] = {tile->cut[SOLVE_TIME], tile->baseline, tile->cut[SOLVE_FREQ]};
    bool parts = s->elements == 2 && data->elements == 4;

    const solve_view *weights = &tile->views[s->weights];
    grove_compression_array of_weights;

    if (s->uvw < 0 && !parts && !weights->flags)
        return NULL;
    set_array(tile, weights, 4, 1, &of_weights);
    for (int k = 0; k < 3; k++)
        size[k] = axis[k] >= 0 ? tile->range[axis[k]].count : 1;
    const int64_t channel = solve_origin(tile, SOLVE_FREQ), time = solve_origin(tile, SOLVE_TIME);
    unsigned char *mask = grove_alloc((size_t)(size[0] * size[1] * size[2]) + 1);
    for (int64_t t = 0; t < size[0]; t++)
        for (int64_t b = 0; b < size[1]; b++)
            for (int64_t f = 0; f < size[2]; f++, n++) {
                const int64_t *flag = data->flag_stride;
                if (solve_is_missing(tile, time + t, b)) {
                    mask[n] = 15;
                    continue;
                }
                mask[n] = data->flags ? data->flags[t * flag[0] + b * flag[1] + f * flag[2]] : 0;
                flag = of_weights.flag_stride;
                if (weights->flags) {
                    int flags = weights->flags[t * flag[0] + b * flag[1] + f * flag[2]];
                    mask[n] |= (unsigned char)(weights->elements == 1 && flags & 1 ? 15 : flags);
                }
                mask[n] |= parts ? 6 : 0;
                if (s->uvw >= 0 &&
                    !solve_is_in_range(tile, solve_row_cell(tile, s->uvw, time + t, b),
                                       channel + f))
                    mask[n] |= 15;
            }
    return mask;
}

static void use_mask(const solve_tile *tile, const unsigned char *mask,
                     grove_compression_array *data)
{
    const int axis[3] = {tile->cut[SOLVE_TIME], tile->baseline, tile->cut[SOLVE_FREQ]};
    int64_t stride = 1;

    data->flags = mask;
    for (int k = 2; k >= 0; k--) {
        data->flag_stride[k] = axis[k] >= 0 ? stride : 0;
        stride *= axis[k] >= 0 ? tile->range[axis[k]].count : 1;
    }
}

typedef struct {
    const solve_tile *tile;
    solve_compressed *c;
    grove_compression_input input;
    int code;
} compressing;

/* The input of the sums. */
static grove_compression_input input_of(const solve_tile *tile, const solve_compressed *c)
{
    const solve *s = tile->solve;
    grove_compression_input input = {
        .form = s->form, .groups = s->group_count, .scalar_is_both = s->elements == 2};
    const solve_view *data = &tile->views[SOLVE_DATA], *weights = &tile->views[s->weights];

    set_array(tile, data, data->double_ ? 8 : 4, 2, &input.data);
    if (tile->robust) {
        const solve_view robust = solve_robust_view(tile);
        set_array(tile, &robust, 4, 1, &input.weights);
        input.weights.elements = data->elements;
    } else if (weights->data) {
        set_array(tile, weights, weights->double_ ? 8 : 4, 1, &input.weights);
    }
    for (int g = 0; g < s->group_count; g++) {
        const solve_view *model = &tile->views[s->groups[g].middle];
        set_array(tile, model, model->double_ ? 8 : 4, 2, &input.model[g]);
    }
    if (c->mask)
        use_mask(tile, c->mask, &input.data);
    if (s->missing >= 0) {
        const solve_view *missing = &tile->views[s->missing];
        input.missing = missing->flags;
        input.missing_stride[0] =
            tile->cut[SOLVE_TIME] >= 0 ? missing->stride[tile->cut[SOLVE_TIME]] : 0;
        input.missing_stride[1] = missing->stride[tile->baseline];
    }
    return input;
}

/* Items: stretches times blocks of baselines. */
enum { BLOCK = 64 };

static int64_t blocks_of(const solve_compressed *c)
{
    return (c->baselines + BLOCK - 1) / BLOCK;
}

static void compress(void *context, int64_t first, int64_t last)
{
    compressing *w = context;
    solve_compressed *c = w->c;

    for (int64_t i = first; i < last; i++) {
        int64_t stretch = i / blocks_of(c), block = i % blocks_of(c) * BLOCK;
        int64_t t = c->first[SOLVE_TIME] + stretch / c->count[SOLVE_FREQ],
                f = c->first[SOLVE_FREQ] + stretch % c->count[SOLVE_FREQ];
        int64_t end = block + BLOCK < c->baselines ? block + BLOCK : c->baselines;
        int64_t time = solve_origin(w->tile, SOLVE_TIME), freq = solve_origin(w->tile, SOLVE_FREQ);
        grove_compression_stretch cells;
        cells_of(w->tile, SOLVE_TIME, t, cells.time);
        cells_of(w->tile, SOLVE_FREQ, f, cells.freq);
        for (int k = 0; k < 2; k++) {
            cells.time[k] -= time;
            cells.freq[k] -= freq;
        }
        int code = grove_compression_sum(&w->input, &cells, block, end,
                                         c->sums + (stretch * c->baselines + block) * c->size);
        if (code)
            __atomic_store_n(&w->code, code, __ATOMIC_RELAXED);
    }
}

static int compress_on_host(const grove_call *call, const solve_tile *tile, solve_compressed *c)
{
    compressing w = {.tile = tile, .c = c};
    grove_compression_array data;

    set_array(tile, &tile->views[SOLVE_DATA], 4, 2, &data);
    c->mask = make_mask(tile, &data);
    w.input = input_of(tile, c);
    grove_call_parallel(call, c->count[SOLVE_TIME] * c->count[SOLVE_FREQ] * blocks_of(c), compress,
                        &w);
    return w.code;
}

int solve_compress_again(const solve_tile *tile, const solve_domain *d)
{
    solve_compressed *c = tile->sums;
    compressing w = {.tile = tile, .c = c, .input = input_of(tile, c)};
    int64_t t[2], f[2];

    solve_stretches(tile->solve, d, SOLVE_TIME, t);
    solve_stretches(tile->solve, d, SOLVE_FREQ, f);
    for (int64_t i = t[0]; i < t[1]; i++)
        for (int64_t j = f[0]; j < f[1]; j++) {
            int64_t stretch =
                (i - c->first[SOLVE_TIME]) * c->count[SOLVE_FREQ] + j - c->first[SOLVE_FREQ];
            compress(&w, stretch * blocks_of(c), (stretch + 1) * blocks_of(c));
        }
    return w.code;
}

static int make_room(const solve_tile *tile, solve_compressed *c)
{
    c->baselines = tile->range[tile->baseline].count;
    c->size = grove_compression_size(tile->solve->form, tile->solve->group_count);
    size_t count = (size_t)(c->count[SOLVE_TIME] * c->count[SOLVE_FREQ] * c->baselines * c->size);
    c->sums = grove_try_alloc(count + 1, sizeof(double));
    return c->sums ? 0 : GROVE_NO_MEMORY;
}

int solve_compress(const grove_call *call, const solve_tile *tile, solve_compressed *c)
{
    solve_find_all_stretches(tile, c);
    int code = make_room(tile, c);
    if (code)
        return code;
    code = solve_compress_on_device(call, tile, c);
    if (code != GROVE_MISSING)
        return code;
    code = 0;
    for (int k = 0; k < tile->count && !code; k++)
        code = solve_tile_fetch(call, tile, k);
    return code ? code : compress_on_host(call, tile, c);
}

int solve_compress_begin(const solve_tile *tile, const solve_domain *domains, int64_t count,
                         solve_compressed *c)
{
    for (int cut = 0; cut < SOLVE_CUTS; cut++) {
        int64_t first[2], last[2];
        solve_stretches(tile->solve, &domains[0], cut, first);
        solve_stretches(tile->solve, &domains[count - 1], cut, last);
        c->first[cut] = first[0];
        c->count[cut] = last[1] - first[0];
    }
    return make_room(tile, c);
}

int solve_compress_part(const grove_call *call, const solve_tile *tile, solve_compressed *c)
{
    solve_compressed part = {0};
    int code = solve_compress(call, tile, &part);
    int64_t t = part.first[SOLVE_TIME], f = part.first[SOLVE_FREQ];

    for (int64_t i = t; i < t + part.count[SOLVE_TIME] && !code; i++)
        for (int64_t j = f; j < f + part.count[SOLVE_FREQ]; j++)
            grove_compression_add((double *)(uintptr_t)solve_sums_at(c, i, j, 0),
                                  solve_sums_at(&part, i, j, 0), c->baselines * c->size);
    solve_compressed_end(&part);
    return code;
}

void solve_compressed_end(solve_compressed *c)
{
    free(c->sums);
    free(c->mask);
    *c = (solve_compressed){0};
}

/* ---- Jones terms ---- */

/* Cells of a baseline of the tile in a box of the whole axes that are within the requested
 * range. */
static int64_t count_cells(const solve_tile *tile, int64_t baseline, int64_t (*box)[2])
{
    const int64_t *times = box[SOLVE_TIME], *freqs = box[SOLVE_FREQ];
    const int uvw = tile->solve->uvw;
    int64_t count = 0;

    if (uvw < 0 || tile->solve->quota == 0 || !tile->views[uvw].data)
        return (times[1] - times[0]) * (freqs[1] - freqs[0]);
    for (int64_t t = times[0]; t < times[1]; t++)
        for (int64_t f = freqs[0]; f < freqs[1]; f++)
            count += solve_is_in_range(tile, solve_row_cell(tile, uvw, t, baseline), f);
    return count;
}

void solve_count_all(const solve_tile *tile, solve_domain *d)
{
    const solve *s = tile->solve;
    const grove_range *range = &tile->range[tile->baseline];
    int64_t box[SOLVE_CUTS][2];
    const bool any = solve_find_box(tile, d, box);

    for (int64_t b = 0; b < range->count && any; b++)
        if (solve_baseline_counts(tile, range->first + b))
            d->all += s->parts * count_cells(tile, b, box) * s->elements;
}

void solve_matrix_at(const solve_view *view, int64_t at, double complex to[4])
{
    to[1] = to[2] = 0;
    for (int e = 0; e < view->elements; e++)
        to[view->elements == 2 ? 3 * e : e] = solve_number(view, at, e);
    if (view->elements == 1)
        to[3] = to[0];
}

void solve_load(const solve_tile *tile, int input, const int64_t cell[SOLVE_CUTS], int64_t station,
                double complex to[4])
{
    const solve_view *view = &tile->views[input];
    int64_t at = view->station_stride * station;

    for (int c = 0; c < SOLVE_CUTS; c++)
        if (tile->cut[c] >= 0)
            at += view->stride[tile->cut[c]] * (cell[c] - tile->range[tile->cut[c]].first);
    solve_matrix_at(view, at, to);
}

static void load_side(const solve_tile *tile, int input, const int64_t cell[SOLVE_CUTS],
                      int64_t station, double complex to[4])
{
    if (input >= 0) {
        solve_load(tile, input, cell, station, to);
        return;
    }
    to[0] = to[3] = 1;
    to[1] = to[2] = 0;
}

/* The Jones matrices of a domain are [stretch][station][side][group][4]. */
static int64_t jones_place(const solve *s, int64_t stretch, int64_t station, int side)
{
    return ((stretch * s->stations + station) * 2 + side) * s->group_count * 4;
}

static int64_t jones_count(const solve *s, const solve_domain *d)
{
    int64_t t[2], f[2];

    solve_stretches(s, d, SOLVE_TIME, t);
    solve_stretches(s, d, SOLVE_FREQ, f);
    return (t[1] - t[0]) * (f[1] - f[0]) * s->stations * 2 * s->group_count * 4;
}

int64_t solve_stretch_in(const solve *s, const solve_domain *d, int64_t time, int64_t freq)
{
    int64_t t[2], f[2];

    solve_stretches(s, d, SOLVE_TIME, t);
    solve_stretches(s, d, SOLVE_FREQ, f);
    return (time - t[0]) * (f[1] - f[0]) + freq - f[0];
}

void solve_load_jones(const solve_tile *tile, solve_domain *d)
{
    const solve *s = tile->solve;
    int64_t t[2], f[2], cell[SOLVE_CUTS];

    solve_tile_stretches(tile, d, SOLVE_TIME, t);
    solve_tile_stretches(tile, d, SOLVE_FREQ, f);
    if (!d->jones)
        d->jones = grove_alloc((size_t)jones_count(s, d) * sizeof(*d->jones));
    for (int64_t i = t[0]; i < t[1]; i++)
        for (int64_t j = f[0]; j < f[1]; j++) {
            int64_t stretch = solve_stretch_in(s, d, i, j);
            cell[SOLVE_TIME] = solve_first_cell(tile, SOLVE_TIME, i);
            cell[SOLVE_FREQ] = solve_first_cell(tile, SOLVE_FREQ, j);
            for (int64_t a = 0; a < s->stations; a++)
                for (int g = 0; g < s->group_count; g++) {
                    load_side(tile, s->groups[g].left, cell, a,
                              d->jones + jones_place(s, stretch, a, 0) + 4 * g);
                    load_side(tile, s->groups[g].right, cell, a,
                              d->jones + jones_place(s, stretch, a, 1) + 4 * g);
                }
        }
}

const double complex *solve_jones_at(const solve *s, const double complex *jones, int64_t stretch,
                                     int64_t station, int side)
{
    return jones + jones_place(s, stretch, station, side);
}

void solve_compressed_accept(const solve *s, solve_domain *d)
{
    size_t bytes = (size_t)jones_count(s, d) * sizeof(*d->jones);

    if (!d->best)
        d->best = grove_alloc(bytes);
    memcpy(d->best, d->jones, bytes);
}

const double *solve_sums_at(const solve_compressed *c, int64_t time, int64_t freq, int64_t baseline)
{
    int64_t stretch =
        (time - c->first[SOLVE_TIME]) * c->count[SOLVE_FREQ] + freq - c->first[SOLVE_FREQ];

    return c->sums + (stretch * c->baselines + baseline) * c->size;
}
