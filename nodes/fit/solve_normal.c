/* The normal equations of a solution domain, summed over the cells of a tile: for each row (a
 * baseline) and each box in which no parm changes its interval first the complex ones of its
 * columns, then into the equations of the domain's real unknowns. */
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

void solve_tile_begin(solve_tile *tile, const solve *s, const grove_array *const *inputs, int count)
{
    *tile = (solve_tile){.solve = s,
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
    solve_compressed_end(&tile->local);
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

/* ---- rows ---- */

/* The index of the row along each axis but time and frequency. */
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

bool solve_is_wanted(const solve_tile *tile, int64_t baseline)
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

/* Segments of the domain along time and frequency; their rows are items. */
static int64_t segments_of(const solve *s, const solve_domain *d, int cut)
{
    const int64_t *segments = s->cut[cut].segments + d->number[cut];

    return segments[1] - segments[0];
}

int64_t solve_count_items(const solve_tile *tile, const solve_domain *d)
{
    return tile->rows * segments_of(tile->solve, d, SOLVE_TIME) *
           segments_of(tile->solve, d, SOLVE_FREQ);
}

typedef struct {
    const solve_tile *tile;
    const solve_domain *d;
} adding;

static void add_item(const adding *w, int64_t item, solve_samples *samples, solve_local *to)
{
    const solve_tile *tile = w->tile;
    const solve_cut *time = &tile->solve->cut[SOLVE_TIME], *freq = &tile->solve->cut[SOLVE_FREQ];
    int64_t freqs = segments_of(tile->solve, w->d, SOLVE_FREQ), index[GROVE_MAX_AXES],
            times = segments_of(tile->solve, w->d, SOLVE_TIME);
    int64_t i = time->segments[w->d->number[SOLVE_TIME]] + item / freqs % times,
            j = freq->segments[w->d->number[SOLVE_FREQ]] + item % freqs;
    int64_t box[SOLVE_CUTS][2] = {{time->edge[i], time->edge[i + 1]},
                                  {freq->edge[j], freq->edge[j + 1]}};
    const int64_t cell[SOLVE_CUTS] = {time->edge[i], freq->edge[j]};

    if (!solve_clip(tile, SOLVE_TIME, box[SOLVE_TIME]) ||
        !solve_clip(tile, SOLVE_FREQ, box[SOLVE_FREQ]))
        return;
    solve_find_row(tile, item / freqs / times, index);
    if (!solve_is_wanted(tile, tile->baseline < 0
                                   ? 0
                                   : tile->range[tile->baseline].first + index[tile->baseline]))
        return;
    solve_samples_add(samples, index, box);
    if (solve_samples_take(samples, &to->columns))
        solve_find_unknowns(tile, w->d, index, cell, &to->columns);
}

static void find_items(void *context, int64_t first, int64_t last, solve_local *locals)
{
    const adding *w = context;
    solve_samples samples;

    solve_samples_begin(&samples, w->tile);
    for (int64_t item = first; item < last; item++, locals++) {
        samples.chi2 = samples.power = samples.values = locals->change = 0;
        samples.data = samples.all = 0;
        add_item(w, item, &samples, locals);
        locals->chi2 = samples.chi2;
        locals->power = samples.power;
        locals->values = samples.values;
        locals->data = samples.data;
        locals->all = samples.all;
    }
    solve_samples_end(&samples);
}

/* The sums of a row and a box from a device. */
static void take_box(const double *from, solve_columns *local)
{
    int n = local->count;

    for (int a = 0; a < n; a++) {
        const double *row = from + GROVE_NORMAL_SUMS + (ptrdiff_t)2 * a * (n + 1);
        for (int b = a; b < n; b++) {
            local->hermitian[a * n + b] = CMPLX(row[2 * b], row[2 * b + 1]);
            local->hermitian[b * n + a] = conj(local->hermitian[a * n + b]);
        }
        local->gradient[a] = CMPLX(row[2 * n], row[2 * n + 1]);
    }
}

static void take_item(const adding *w, int64_t item, solve_local *to)
{
    const solve_tile *tile = w->tile;
    const solve_cut *time = &tile->solve->cut[SOLVE_TIME], *freq = &tile->solve->cut[SOLVE_FREQ];
    int64_t t[2], f[2], index[GROVE_MAX_AXES];

    solve_tile_stretches(tile, w->d, SOLVE_TIME, t);
    solve_tile_stretches(tile, w->d, SOLVE_FREQ, f);
    int64_t freqs = f[1] - f[0], times = t[1] - t[0];
    int64_t i = t[0] + item / freqs % times, j = f[0] + item % freqs;
    const int64_t first[SOLVE_CUTS] = {time->edge[i], freq->edge[j]};
    solve_find_row(tile, item / freqs / times, index);
    int64_t b = tile->baseline < 0 ? 0 : index[tile->baseline];
    if (tile->baseline >= 0 && !solve_is_wanted(tile, tile->range[tile->baseline].first + b))
        return;
    const double *from = solve_sums_at(&tile->local, i, j, b);
    to->all = (int64_t)from[GROVE_NORMAL_ALL] * tile->solve->parts / 2;
    if (!(from[GROVE_NORMAL_USED] > 0))
        return;
    to->chi2 = from[GROVE_NORMAL_CHI2];
    to->power = from[GROVE_NORMAL_POWER];
    to->values = from[GROVE_NORMAL_VALUES];
    to->data = (int64_t)from[GROVE_NORMAL_USED] * tile->solve->parts / 2;
    solve_find_unknowns(tile, w->d, index, first, &to->columns);
    take_box(from, &to->columns);
}

static void take_items(void *context, int64_t first, int64_t last, solve_local *locals)
{
    for (int64_t item = first; item < last; item++, locals++) {
        locals->chi2 = locals->change = locals->power = locals->values = 0;
        locals->data = locals->all = 0;
        take_item(context, item, locals);
    }
}

void solve_normal(const grove_call *call, const solve_tile *tile, solve_domain *d, double *matrix,
                  double *gradient)
{
    adding w = {tile, d};
    int64_t t[2], f[2], items = solve_count_items(tile, d);

    if (tile->local.sums) {
        solve_tile_stretches(tile, d, SOLVE_TIME, t);
        solve_tile_stretches(tile, d, SOLVE_FREQ, f);
        items = tile->rows * (t[1] - t[0]) * (f[1] - f[0]);
    }
    solve_add_locals(call, tile->solve, d, items, tile->local.sums ? take_items : find_items, &w,
                     matrix, gradient);
}
