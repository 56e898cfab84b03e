/* The normal equations of a solution domain, summed over the cells of a tile: for each row (a
 * baseline) and each box in which no parm changes its interval first the complex ones of its
 * columns, then into those of the domain's real unknowns. */
#include "nodes/solve.h"

#include "../kernels/fit/fit_normal.h"

#include "base/log.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Samples that are added at a time. */
enum { SAMPLES = 64, LANES = 4 };

typedef double lanes __attribute__((vector_size(LANES * sizeof(double))));

/* The sums of a row and a box, and the samples on their way there. */
typedef struct {
    int columns, count;
    lanes *re, *im, *weighted_re, *weighted_im; /* [columns + 1][SAMPLES / LANES]; last: residual */
    double weight[SAMPLES];
    solve_local *to;
} sums;

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

int solve_tile_fetch(const grove_node *node, const solve_tile *tile, int k)
{
    int code = grove_node_fetch(node, k);

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

/* ---- sums ---- */

static double total(const lanes *at)
{
    const lanes x = *at;

    return (x[0] + x[2]) + (x[1] + x[3]);
}

/* Sum over samples of conj(a) b. */
static double complex product(const lanes *a_re, const lanes *a_im, const lanes *b_re,
                              const lanes *b_im)
{
    lanes re = {0}, im = {0};

    for (int i = 0; i < SAMPLES / LANES; i++) {
        re += a_re[i] * b_re[i] + a_im[i] * b_im[i];
        im += a_re[i] * b_im[i] - a_im[i] * b_re[i];
    }
    return CMPLX(total(&re), total(&im));
}

static void put(lanes *to, int column, int sample, double x)
{
    ((double *)(void *)(to + column * (SAMPLES / LANES)))[sample] = x;
}

static const lanes *column_of(const lanes *of, int column)
{
    return of + column * (SAMPLES / LANES);
}

static void flush(sums *sum)
{
    int n = sum->columns;

    for (int a = 0; a <= n && sum->count < SAMPLES; a++)
        for (int i = sum->count; i < SAMPLES; i++) {
            put(sum->re, a, i, 0);
            put(sum->im, a, i, 0);
            sum->weight[i] = 0;
        }
    for (int a = 0; a <= n && sum->count; a++) {
        const double *re = (const double *)(const void *)column_of(sum->re, a);
        const double *im = (const double *)(const void *)column_of(sum->im, a);
        for (int i = 0; i < SAMPLES; i++) {
            put(sum->weighted_re, a, i, sum->weight[i] * re[i]);
            put(sum->weighted_im, a, i, sum->weight[i] * im[i]);
        }
    }
    for (int a = 0; a < n && sum->count; a++) {
        const lanes *re = column_of(sum->re, a), *im = column_of(sum->im, a);
        for (int b = a; b < n; b++)
            sum->to->columns.hermitian[a * n + b] +=
                product(re, im, column_of(sum->weighted_re, b), column_of(sum->weighted_im, b));
        sum->to->columns.gradient[a] +=
            product(re, im, column_of(sum->weighted_re, n), column_of(sum->weighted_im, n));
    }
    if (sum->count)
        sum->to->chi2 +=
            creal(product(column_of(sum->re, n), column_of(sum->im, n),
                          column_of(sum->weighted_re, n), column_of(sum->weighted_im, n)));
    sum->count = 0;
}

static void add_columns(const solve_tile *tile, const int64_t *at, const int64_t cell[SOLVE_CUTS],
                        int element, sums *sum)
{
    const solve *s = tile->solve;
    double basis[GROVE_PARM_TERMS * GROVE_PARM_TERMS];

    for (int k = 0; k < s->slot_count; k++) {
        const solve_slot *slot = &s->slots[k];
        double complex x = solve_number(&tile->views[slot->input], at[slot->input], element);
        if (slot->terms == 1) {
            put(sum->re, slot->first, sum->count, creal(x));
            put(sum->im, slot->first, sum->count, cimag(x));
            continue;
        }
        solve_find_basis(s->parms[slot->parm].parm, cell, basis);
        for (int t = 0; t < slot->terms; t++) {
            put(sum->re, slot->first + t, sum->count, basis[t] * creal(x));
            put(sum->im, slot->first + t, sum->count, basis[t] * cimag(x));
        }
    }
}

static bool is_finite(const sums *sum)
{
    double zero = 0;

    for (int a = 0; a <= sum->columns; a++) {
        const double *re = (const double *)(const void *)column_of(sum->re, a);
        const double *im = (const double *)(const void *)column_of(sum->im, a);
        zero += 0 * re[sum->count] + 0 * im[sum->count];
    }
    return zero == 0;
}

/* The cells of all inputs are in `at`. */
static void add_cell(const solve_tile *tile, const int64_t *at, const int64_t cell[SOLVE_CUTS],
                     sums *sum)
{
    const solve *s = tile->solve;
    const solve_view *model = &tile->views[SOLVE_MODEL], *data = &tile->views[SOLVE_DATA];
    const solve_view *weights = &tile->views[s->weights];

    for (int e = 0; e < s->elements; e++) {
        int in_model = s->of_model[e], in_data = s->of_data[e];
        double weight = tile->robust    ? tile->robust[at[SOLVE_MODEL] * SOLVE_ELEMENTS + in_data]
                        : weights->data ? creal(solve_number(weights, at[s->weights], in_data))
                                        : 1;
        double complex measured = solve_number(data, at[SOLVE_DATA], in_data);
        double complex residual = measured - solve_number(model, at[SOLVE_MODEL], in_model);
        sum->to->all += s->parts;
        if (solve_is_flagged(data, at[SOLVE_DATA], in_data) ||
            solve_is_flagged(model, at[SOLVE_MODEL], in_model) ||
            solve_is_flagged(weights, at[s->weights], in_data) || !(weight > 0) ||
            !isfinite(weight))
            continue;
        put(sum->re, sum->columns, sum->count, creal(residual));
        put(sum->im, sum->columns, sum->count, cimag(residual));
        add_columns(tile, at, cell, in_model, sum);
        if (!is_finite(sum))
            continue;
        sum->weight[sum->count] = weight;
        sum->to->power += weight * creal(measured * conj(measured));
        sum->to->data += s->parts;
        if (++sum->count == SAMPLES)
            flush(sum);
    }
}

/* The other half of the sums. */
static void mirror(solve_columns *local)
{
    for (int a = 0; a < local->count; a++)
        for (int b = 0; b < a; b++)
            local->hermitian[a * local->count + b] = conj(local->hermitian[b * local->count + a]);
}

static void clear(solve_columns *local)
{
    size_t n = (size_t)local->count;

    memset(local->hermitian, 0, n * n * sizeof(*local->hermitian));
    memset(local->gradient, 0, n * sizeof(*local->gradient));
}

/* ---- the domain ---- */

/* A box of a row: ranges along time and frequency, cells of the whole axes. */
static void add_box(const solve_tile *tile, const int64_t index[GROVE_MAX_AXES], int64_t (*box)[2],
                    int inputs, int64_t *at, sums *sum)
{
    const solve *s = tile->solve;
    int64_t cell[SOLVE_CUTS];

    for (cell[SOLVE_TIME] = box[SOLVE_TIME][0]; cell[SOLVE_TIME] < box[SOLVE_TIME][1];
         cell[SOLVE_TIME]++)
        for (cell[SOLVE_FREQ] = box[SOLVE_FREQ][0]; cell[SOLVE_FREQ] < box[SOLVE_FREQ][1];
             cell[SOLVE_FREQ]++) {
            for (int k = 0; k < inputs; k++) {
                const int64_t *stride = tile->views[k].stride;
                at[k] = 0;
                for (int d = 0; d < tile->axes; d++)
                    at[k] += stride[d] * index[d];
                for (int c = 0; c < SOLVE_CUTS; c++)
                    if (tile->cut[c] >= 0)
                        at[k] += stride[tile->cut[c]] * (cell[c] - tile->range[tile->cut[c]].first);
            }
            if (s->uvw < 0 || solve_is_in_range(tile, at[s->uvw], cell[SOLVE_FREQ]))
                add_cell(tile, at, cell, sum);
        }
}

/* Segments of the domain along time and frequency, rows of which are items. */
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

static void add_item(const adding *w, int64_t item, int64_t *at, sums *sum)
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
    add_box(tile, index, box, tile->solve->inputs, at, sum);
    if (!sum->to->data)
        return;
    solve_find_unknowns(tile, w->d, index, cell, &sum->to->columns);
    flush(sum);
    mirror(&sum->to->columns);
}

static void find_items(void *context, int64_t first, int64_t last, solve_local *locals)
{
    const adding *w = context;
    const solve *s = w->tile->solve;
    size_t n = (size_t)s->columns, lane_count = (n + 1) * (SAMPLES / LANES);
    int64_t *at = grove_alloc((size_t)s->inputs * sizeof(*at));
    lanes *buffer = aligned_alloc(sizeof(lanes), 4 * lane_count * sizeof(lanes));
    sums sum = {.columns = s->columns,
                .re = buffer,
                .im = buffer + lane_count,
                .weighted_re = buffer + 2 * lane_count,
                .weighted_im = buffer + 3 * lane_count};

    for (int64_t item = first; item < last; item++, locals++) {
        locals->chi2 = locals->change = locals->power = 0;
        locals->data = locals->all = 0;
        clear(&locals->columns);
        sum.to = locals;
        add_item(w, item, at, &sum);
    }
    free(at);
    free(buffer);
}

/* What a device has made of a row and a box. */
static void take_box(const double *from, solve_columns *local)
{
    int n = local->count;

    for (int a = 0; a < n; a++) {
        const double *row = from + GROVE_NORMAL_SUMS + (ptrdiff_t)2 * a * (n + 1);
        for (int b = a; b < n; b++)
            local->hermitian[a * n + b] = CMPLX(row[2 * b], row[2 * b + 1]);
        local->gradient[a] = CMPLX(row[2 * n], row[2 * n + 1]);
    }
    mirror(local);
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
    to->data = (int64_t)from[GROVE_NORMAL_USED] * tile->solve->parts / 2;
    solve_find_unknowns(tile, w->d, index, first, &to->columns);
    take_box(from, &to->columns);
}

static void take_items(void *context, int64_t first, int64_t last, solve_local *locals)
{
    for (int64_t item = first; item < last; item++, locals++) {
        locals->chi2 = locals->change = locals->power = 0;
        locals->data = locals->all = 0;
        take_item(context, item, locals);
    }
}

void solve_normal(const grove_node *node, const solve_tile *tile, solve_domain *d, double *matrix,
                  double *gradient)
{
    adding w = {tile, d};
    int64_t t[2], f[2], items = solve_count_items(tile, d);

    if (tile->local.sums) {
        solve_tile_stretches(tile, d, SOLVE_TIME, t);
        solve_tile_stretches(tile, d, SOLVE_FREQ, f);
        items = tile->rows * (t[1] - t[0]) * (f[1] - f[0]);
    }
    solve_add_locals(node, tile->solve, d, items, tile->local.sums ? take_items : find_items, &w,
                     matrix, gradient);
}
