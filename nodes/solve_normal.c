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
    double chi2, power;
    int64_t data, all;
    solve_columns local;
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
            sum->local.hermitian[a * n + b] +=
                product(re, im, column_of(sum->weighted_re, b), column_of(sum->weighted_im, b));
        sum->local.gradient[a] +=
            product(re, im, column_of(sum->weighted_re, n), column_of(sum->weighted_im, n));
    }
    if (sum->count)
        sum->chi2 += creal(product(column_of(sum->re, n), column_of(sum->im, n),
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
        sum->all += s->parts;
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
        sum->power += weight * creal(measured * conj(measured));
        sum->data += s->parts;
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

static void add_row(const solve_tile *tile, const solve_domain *d,
                    const int64_t index[GROVE_MAX_AXES], int inputs, int64_t *at, sums *sum,
                    double *matrix, double *gradient)
{
    const solve_cut *time = &tile->solve->cut[SOLVE_TIME], *freq = &tile->solve->cut[SOLVE_FREQ];
    int64_t t = d->number[SOLVE_TIME], f = d->number[SOLVE_FREQ];

    for (int64_t i = time->segments[t]; i < time->segments[t + 1]; i++)
        for (int64_t j = freq->segments[f]; j < freq->segments[f + 1]; j++) {
            int64_t box[SOLVE_CUTS][2] = {{time->edge[i], time->edge[i + 1]},
                                          {freq->edge[j], freq->edge[j + 1]}};
            const int64_t cell[SOLVE_CUTS] = {time->edge[i], freq->edge[j]};
            int64_t before = sum->data;
            if (!solve_clip(tile, SOLVE_TIME, box[SOLVE_TIME]) ||
                !solve_clip(tile, SOLVE_FREQ, box[SOLVE_FREQ]))
                continue;
            add_box(tile, index, box, inputs, at, sum);
            if (sum->data == before)
                continue;
            solve_find_unknowns(tile, d, index, cell, &sum->local);
            flush(sum);
            mirror(&sum->local);
            solve_scatter(tile->solve, d, &sum->local, matrix, gradient);
            clear(&sum->local);
        }
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

static void take_row(const solve_tile *tile, solve_domain *d, const int64_t index[GROVE_MAX_AXES],
                     solve_columns *local, double *matrix, double *gradient)
{
    const solve_cut *time = &tile->solve->cut[SOLVE_TIME], *freq = &tile->solve->cut[SOLVE_FREQ];
    int64_t t[2], f[2];

    solve_tile_stretches(tile, d, SOLVE_TIME, t);
    solve_tile_stretches(tile, d, SOLVE_FREQ, f);
    for (int64_t i = t[0]; i < t[1]; i++)
        for (int64_t j = f[0]; j < f[1]; j++) {
            const int64_t first[SOLVE_CUTS] = {time->edge[i], freq->edge[j]};
            const double *from =
                solve_sums_at(&tile->local, i, j, tile->baseline < 0 ? 0 : index[tile->baseline]);
            d->all += (int64_t)from[GROVE_NORMAL_ALL] * tile->solve->parts / 2;
            if (!(from[GROVE_NORMAL_USED] > 0))
                continue;
            d->sums.chi2 += from[GROVE_NORMAL_CHI2];
            d->sums.power += from[GROVE_NORMAL_POWER];
            d->sums.data += (int64_t)from[GROVE_NORMAL_USED] * tile->solve->parts / 2;
            solve_find_unknowns(tile, d, index, first, local);
            take_box(from, local);
            solve_scatter(tile->solve, d, local, matrix, gradient);
        }
}

static void take_normal(const solve_tile *tile, solve_domain *d, double *matrix, double *gradient)
{
    int64_t index[GROVE_MAX_AXES];
    solve_columns local;

    solve_columns_begin(&local, tile->solve);
    for (int64_t row = 0; row < tile->rows; row++) {
        solve_find_row(tile, row, index);
        if (solve_is_wanted(tile, tile->baseline < 0
                                      ? 0
                                      : tile->range[tile->baseline].first + index[tile->baseline]))
            take_row(tile, d, index, &local, matrix, gradient);
    }
    solve_columns_end(&local);
}

void solve_normal(const solve_tile *tile, solve_domain *d, double *matrix, double *gradient)
{
    if (tile->local.sums) {
        take_normal(tile, d, matrix, gradient);
        return;
    }
    const solve *s = tile->solve;
    size_t n = (size_t)s->columns, lane_count = (n + 1) * (SAMPLES / LANES);
    int inputs = s->inputs;
    int64_t *at = grove_alloc((size_t)inputs * sizeof(*at)), index[GROVE_MAX_AXES];
    lanes *buffer = aligned_alloc(sizeof(lanes), 4 * lane_count * sizeof(lanes));
    sums sum = {.columns = s->columns,
                .re = buffer,
                .im = buffer + lane_count,
                .weighted_re = buffer + 2 * lane_count,
                .weighted_im = buffer + 3 * lane_count};

    solve_columns_begin(&sum.local, s);
    for (int64_t row = 0; row < tile->rows && !grove_interrupted(); row++) {
        solve_find_row(tile, row, index);
        int64_t baseline =
            tile->baseline < 0 ? 0 : tile->range[tile->baseline].first + index[tile->baseline];
        if (solve_is_wanted(tile, baseline))
            add_row(tile, d, index, inputs, at, &sum, matrix, gradient);
    }
    d->sums.chi2 += sum.chi2;
    d->sums.power += sum.power;
    d->sums.data += sum.data;
    d->all += sum.all;
    free(at);
    free(buffer);
    solve_columns_end(&sum.local);
}
