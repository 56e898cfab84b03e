/* The normal equations of a solution domain, summed over the cells of a tile: for each row (a
 * baseline) and each box in which no parm changes its interval the complex ones of its columns, of
 * samples or of sums. */
#include "nodes/fit/solve_samples.h"

#include "../../kernels/fit/fit_normal.h"

#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- views ---- */

static void set_view(solve_view *view, const solve_tile *tile, const grove_array *in)
{
    int64_t stride = 1;

    *view = (solve_view){.data = in->data,
                         .flags = in->flags,
                         .elements = in->elements,
                         .complex_ = in->form && in->form->complex_,
                         .double_ = in->form && in->form->precision == GROVE_PRECISION_DOUBLE};
    for (int d = in->axes - 1; d >= 0; d--) {
        for (int k = 0; k < tile->axes; k++)
            if (tile->range[k].axis == in->range[d].axis)
                view->stride[k] = stride;
        if (in->range[d].axis->kind == GROVE_AXIS_STATION)
            view->station_stride = stride;
        stride *= in->range[d].count;
    }
}

void solve_tile_begin(solve_tile *tile, const solve *s, solve_compressed *sums,
                      const grove_array *const *inputs, int count)
{
    *tile = (solve_tile){.solve = s,
                         .sums = sums,
                         .inputs = inputs,
                         .count = count,
                         .axes = inputs[SOLVE_MODEL]->axes,
                         .range = inputs[SOLVE_MODEL]->range,
                         .cut = {-1, -1},
                         .baseline = -1,
                         .rows = 1};
    for (int d = 0; d < tile->axes; d++) {
        const grove_axis *axis = tile->range[d].axis;
        bool cut = false;
        for (int c = 0; c < SOLVE_CUTS; c++)
            if (axis == s->cut[c].axis) {
                tile->cut[c] = d;
                cut = true;
            }
        if (axis->kind == GROVE_AXIS_BASELINE)
            tile->baseline = d;
        tile->rows *= cut ? 1 : tile->range[d].count;
    }
    tile->views = grove_alloc((size_t)count * sizeof(*tile->views));
    for (int k = 0; k < count; k++)
        set_view(&tile->views[k], tile, inputs[k]);
}

int solve_tile_fetch(const grove_call *call, const solve_tile *tile, int k)
{
    int code = grove_call_fetch_input(call, k);

    set_view(&tile->views[k], tile, tile->inputs[k]);
    return code;
}

void solve_tile_end(solve_tile *tile)
{
    free(tile->views);
    tile->views = NULL;
}

double complex solve_number(const solve_view *view, int64_t cell, int element)
{
    int64_t at = cell * view->elements + (view->elements > 1 ? element : 0);

    if (view->double_) {
        const double *x = (const double *)(const void *)view->data;
        return view->complex_ ? CMPLX(x[2 * at], x[2 * at + 1]) : x[at];
    }
    const float *x = (const float *)(const void *)view->data;
    return view->complex_ ? CMPLX(x[2 * at], x[2 * at + 1]) : (double)x[at];
}

bool solve_is_flagged(const solve_view *view, int64_t cell, int element)
{
    return view->flags && view->flags[cell] >> (view->elements > 1 ? element : 0) & 1;
}

bool solve_clip(const solve_tile *tile, int cut, int64_t range[2])
{
    if (tile->cut[cut] >= 0) {
        const grove_range *cells = &tile->range[tile->cut[cut]];
        range[0] = range[0] > cells->first ? range[0] : cells->first;
        range[1] = range[1] < cells->first + cells->count ? range[1] : cells->first + cells->count;
    }
    return range[0] < range[1];
}

bool solve_find_box(const solve_tile *tile, const solve_domain *d, int64_t (*box)[2])
{
    bool any = true;

    for (int cut = 0; cut < SOLVE_CUTS; cut++) {
        const int64_t *first = &tile->solve->cut[cut].first[d->number[cut]];
        memcpy(box[cut], first, 2 * sizeof(*first));
        any = solve_clip(tile, cut, box[cut]) && any;
    }
    return any;
}

/* ---- rows ---- */

void solve_find_row(const solve_tile *tile, int64_t row, int64_t index[GROVE_MAX_AXES])
{
    for (int d = tile->axes - 1; d >= 0; d--) {
        index[d] = 0;
        if (d == tile->cut[SOLVE_TIME] || d == tile->cut[SOLVE_FREQ])
            continue;
        index[d] = row % tile->range[d].count;
        row /= tile->range[d].count;
    }
}

int64_t solve_cell_of(const solve_tile *tile, const solve_view *view,
                      const int64_t index[GROVE_MAX_AXES], const int64_t cell[SOLVE_CUTS])
{
    int64_t at = 0;

    for (int d = 0; d < tile->axes; d++)
        at += view->stride[d] * index[d];
    for (int cut = 0; cut < SOLVE_CUTS; cut++)
        if (tile->cut[cut] >= 0)
            at += view->stride[tile->cut[cut]] * (cell[cut] - solve_origin(tile, cut));
    return at;
}

int64_t solve_baseline_of(const solve_tile *tile, const int64_t index[GROVE_MAX_AXES])
{
    return tile->baseline < 0 ? 0 : tile->range[tile->baseline].first + index[tile->baseline];
}

bool solve_baseline_counts(const solve_tile *tile, int64_t baseline)
{
    if (tile->baseline < 0 || tile->solve->autocorrelations)
        return true;
    const grove_axis *axis = tile->range[tile->baseline].axis;
    return axis->left[baseline] != axis->right[baseline];
}

bool solve_is_in_range(const solve_tile *tile, int64_t uvw_cell, int64_t channel)
{
    const solve *s = tile->solve;
    const solve_view *view = &tile->views[s->uvw];
    double length =
        hypot(creal(solve_number(view, uvw_cell, 0)), creal(solve_number(view, uvw_cell, 1)));
    const grove_axis *freq = s->cut[SOLVE_FREQ].axis;
    double waves = freq && freq->centre ? length * freq->centre[channel] / 299792458.0 : length;

    return (s->min_in_wavelengths ? waves : length) >= s->min_baseline &&
           (s->max_in_wavelengths ? waves : length) <= s->max_baseline;
}

/* ---- the domain ---- */

/* Where normal equations come from: the data, the model and its derivatives in the tile; sums of
 * these that a device made; compressed sums. */
typedef enum { SAMPLES, DEVICE, COMPRESSED } origin;

/* Items are rows in runs of stretches along time and frequency: in which no parm changes its
 * interval. */
struct solve_source {
    origin from;
    const solve_tile *tile;
    const solve_domain *d;
    const struct grove_stefcal_kernels *kernels;
    int64_t *run[SOLVE_CUTS], runs[SOLVE_CUTS]; /* [runs + 1] the first stretch of each */
};

typedef struct {
    int64_t index[GROVE_MAX_AXES], row; /* index: along the axes of the tile */
    const int64_t *times, *freqs;       /* its stretches: first, end */
    int64_t cell[SOLVE_CUTS];           /* one of its cells */
} place;

/* Of a thread: samples; derivatives of a stretch; normal equations of a stretch that is not the
 * first of its run. */
typedef struct {
    solve_samples samples;
    grove_compression_column *columns;
    solve_columns more;
} scratch;

int64_t solve_count_items(const solve_tile *tile, const solve_domain *d)
{
    int64_t t[2], f[2];

    solve_tile_stretches(tile, d, SOLVE_TIME, t);
    solve_tile_stretches(tile, d, SOLVE_FREQ, f);
    return tile->rows * (t[1] - t[0]) * (f[1] - f[0]);
}

/* Stretches of the tile that are in one segment follow each other as a run. */
static void find_runs(solve_source *w, int cut)
{
    const solve *s = w->tile->solve;
    const solve_cut *along = &s->cut[cut];
    int64_t range[2], segment = along->segments ? along->segments[w->d->number[cut]] : 0;

    solve_tile_stretches(w->tile, w->d, cut, range);
    w->run[cut] = grove_alloc(((size_t)(range[1] - range[0]) + 1) * sizeof(*w->run[cut]));
    for (int64_t i = range[0]; i < range[1]; i++) {
        bool first = i == range[0] || !s->each[cut];
        while (s->each[cut] && along->edge[segment + 1] <= i) {
            segment++;
            first = true;
        }
        if (first)
            w->run[cut][w->runs[cut]++] = i;
    }
    w->run[cut][w->runs[cut]] = range[1];
}

/* Rows of compressed sums follow each other, as they do in memory; of others, runs. */
static place find_place(const solve_source *w, int64_t item)
{
    const int64_t rows = w->tile->rows, times = w->runs[SOLVE_TIME], freqs = w->runs[SOLVE_FREQ];
    place at = {.row = w->from == COMPRESSED ? item % rows : item / freqs / times};

    item = w->from == COMPRESSED ? item / rows : item % (times * freqs);
    at.times = w->run[SOLVE_TIME] + item / freqs;
    at.freqs = w->run[SOLVE_FREQ] + item % freqs;
    at.cell[SOLVE_TIME] = solve_first_cell(w->tile, SOLVE_TIME, at.times[0]);
    at.cell[SOLVE_FREQ] = solve_first_cell(w->tile, SOLVE_FREQ, at.freqs[0]);
    if (w->from == COMPRESSED)
        at.index[w->tile->baseline] = at.row;
    else
        solve_find_row(w->tile, at.row, at.index);
    return at;
}

static bool add_samples(const solve_source *w, const place *at, solve_samples *samples,
                        solve_local *to)
{
    const solve *s = w->tile->solve;
    int64_t box[SOLVE_CUTS][2] = {{at->cell[SOLVE_TIME], s->cut[SOLVE_TIME].edge[at->times[1]]},
                                  {at->cell[SOLVE_FREQ], s->cut[SOLVE_FREQ].edge[at->freqs[1]]}};

    solve_clip(w->tile, SOLVE_TIME, box[SOLVE_TIME]);
    solve_clip(w->tile, SOLVE_FREQ, box[SOLVE_FREQ]);
    solve_samples_add(samples, at->index, box);
    return solve_samples_take(samples, to);
}

/* The sums of a row and a box from a device. */
static bool take_box(const solve_source *w, const place *at, solve_local *to)
{
    const solve *s = w->tile->solve;
    const double *from = solve_sums_at(w->tile->sums, at->times[0], at->freqs[0], at->row);
    int n = to->columns.count;

    to->all = (int64_t)from[GROVE_NORMAL_ALL] * s->parts / 2;
    if (!(from[GROVE_NORMAL_USED] > 0))
        return false;
    to->sums.chi2 = from[GROVE_NORMAL_CHI2];
    to->sums.power = from[GROVE_NORMAL_POWER];
    to->sums.values = from[GROVE_NORMAL_VALUES];
    to->sums.data = (int64_t)from[GROVE_NORMAL_USED] * s->parts / 2;
    for (int a = 0; a < n; a++) {
        const double *row = from + GROVE_NORMAL_SUMS + (ptrdiff_t)2 * a * (n + 1);
        for (int b = a; b < n; b++) {
            to->columns.hermitian[a * n + b] = CMPLX(row[2 * b], row[2 * b + 1]);
            to->columns.hermitian[b * n + a] = conj(to->columns.hermitian[a * n + b]);
        }
        to->columns.gradient[a] = CMPLX(row[2 * n], row[2 * n + 1]);
    }
    return true;
}

/* ---- from compressed sums ---- */

static void fill_columns(const solve_source *w, const int64_t cell[SOLVE_CUTS],
                         const int64_t station[2], grove_compression_column *columns)
{
    const solve *s = w->tile->solve;
    double basis[GROVE_PARM_TERMS * GROVE_PARM_TERMS];

    basis[0] = 1;
    for (int k = 0; k < s->slot_count; k++) {
        const solve_slot *slot = &s->slots[k];
        double complex matrix[4];
        solve_load(w->tile, slot->input, cell, station[slot->side == 'q'], matrix);
        if (slot->terms > 1)
            solve_find_basis(s->parms[slot->parm].parm, cell, basis);
        for (int t = 0; t < slot->terms; t++) {
            grove_compression_column *column = &columns[slot->first + t];
            column->group = slot->group;
            column->side = slot->side;
            for (int e = 0; e < 4; e++)
                column->matrix[e] = basis[t] * matrix[e];
        }
        basis[0] = 1;
    }
}

static bool are_finite(const double complex *jones, int groups)
{
    double zero = 0;

    for (int i = 0; i < 4 * groups; i++)
        zero += 0 * creal(jones[i]) + 0 * cimag(jones[i]);
    return zero == 0;
}

/* Adds a stretch, number `stretch` in the domain, to the equations of its run, which has `any`
 * already; whether it has some then. */
static bool add_stretch(const solve_source *w, const int64_t station[2], int64_t stretch,
                        const int64_t cell[SOLVE_CUTS], const double *sums, bool any, scratch *own,
                        solve_local *to)
{
    const solve *s = w->tile->solve;
    double count = grove_compression_count(sums);
    grove_compression_sides at = {solve_jones_at(s, w->d->jones, stretch, station[0], 0),
                                  solve_jones_at(s, w->d->jones, stretch, station[1], 1)};
    solve_columns *columns = any ? &own->more : &to->columns;

    if (!(count > 0) || !are_finite(at.left, s->group_count) ||
        !are_finite(at.right, s->group_count))
        return any;
    fill_columns(w, cell, station, own->columns);
    to->sums.chi2 +=
        grove_compression_normal(s->form, s->group_count, sums, at.left, at.right, own->columns,
                                 s->columns, columns->hermitian, columns->gradient);
    if (w->d->best) {
        grove_compression_sides from = {solve_jones_at(s, w->d->best, stretch, station[0], 0),
                                        solve_jones_at(s, w->d->best, stretch, station[1], 1)};
        to->sums.change +=
            grove_compression_change(w->kernels, s->form, s->group_count, sums, from, at);
    }
    to->sums.data += (int64_t)count * s->parts / 2;
    double power = grove_compression_power(sums);
    to->sums.power += power; /* nearly; nothing here is single */
    to->sums.values += power;
    for (int k = 0; any && k < s->columns * s->columns; k++)
        to->columns.hermitian[k] += columns->hermitian[k];
    for (int k = 0; any && k < s->columns; k++)
        to->columns.gradient[k] += columns->gradient[k];
    return true;
}

static bool add_run(const solve_source *w, const place *at, scratch *own, solve_local *to)
{
    const solve_tile *tile = w->tile;
    const grove_range *range = &tile->range[tile->baseline];
    const int64_t station[2] = {range->axis->left[range->first + at->row],
                                range->axis->right[range->first + at->row]};
    bool any = false;

    for (int64_t i = at->times[0]; i < at->times[1]; i++)
        for (int64_t j = at->freqs[0]; j < at->freqs[1]; j++) {
            const int64_t cell[SOLVE_CUTS] = {solve_first_cell(tile, SOLVE_TIME, i),
                                              solve_first_cell(tile, SOLVE_FREQ, j)};
            any = add_stretch(w, station, solve_stretch_in(tile->solve, w->d, i, j), cell,
                              solve_sums_at(tile->sums, i, j, at->row), any, own, to);
        }
    return any;
}

/* ---- of any origin ---- */

void solve_find_items(const solve_source *w, int64_t first, int64_t last, solve_local *locals)
{
    const solve_tile *tile = w->tile;
    scratch own = {.columns = NULL};

    if (w->from == SAMPLES)
        solve_samples_begin(&own.samples, tile);
    if (w->from == COMPRESSED) {
        own.columns = grove_alloc(((size_t)tile->solve->columns + 1) * sizeof(*own.columns));
        solve_columns_begin(&own.more, tile->solve);
    }
    for (int64_t item = first; item < last; item++, locals++) {
        const place at = find_place(w, item);
        locals->sums = (grove_least_squares_sums){0};
        locals->all = 0;
        if (solve_baseline_counts(tile, solve_baseline_of(tile, at.index)) &&
            (w->from == SAMPLES  ? add_samples(w, &at, &own.samples, locals)
             : w->from == DEVICE ? take_box(w, &at, locals)
                                 : add_run(w, &at, &own, locals)))
            solve_find_unknowns(tile, w->d, at.index, at.cell, &locals->columns);
    }
    if (w->from == SAMPLES)
        solve_samples_end(&own.samples);
    solve_columns_end(&own.more);
    free(own.columns);
}

void solve_normal(const grove_call *call, const solve_tile *tile, solve_domain *d)
{
    solve_source w = {tile->solve->group_count ? COMPRESSED
                      : tile->sums->sums       ? DEVICE
                                               : SAMPLES,
                      tile, d, grove_compression_kernels_now()};

    if (tile->begins) {
        d->sums = (grove_least_squares_sums){0};
        d->all = 0;
    }
    if (w.from == COMPRESSED) {
        if (!grove_least_squares_iterations(d->fit))
            solve_count_all(tile, d);
        solve_load_jones(tile, d);
        d->sums.has_change = d->best != NULL;
    }
    for (int cut = 0; cut < SOLVE_CUTS; cut++)
        find_runs(&w, cut);
    solve_add_items(call, tile->solve, d, &w, tile->rows * w.runs[SOLVE_TIME] * w.runs[SOLVE_FREQ]);
    free(w.run[SOLVE_TIME]);
    free(w.run[SOLVE_FREQ]);
}
