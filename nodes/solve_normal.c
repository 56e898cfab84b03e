/* The normal equations of a solution domain, summed over the cells of a tile: for each row (a
 * baseline) and each box in which no parm changes its interval first the complex ones of its
 * columns, then into those of the domain's real unknowns. */
#include "nodes/solve.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Samples that are added at a time. */
enum { SAMPLES = 64, LANES = 4 };

typedef double lanes __attribute__((vector_size(LANES * sizeof(double))));

/* The sums of a row and a box, and the samples on their way there. */
typedef struct {
    const solve *solve;
    int columns, count;
    lanes *re, *im, *weighted_re, *weighted_im; /* [columns + 1][SAMPLES / LANES]; last: residual */
    double complex *hermitian;                  /* [columns][columns], b >= a */
    double complex *gradient;                   /* [columns] */
    double weight[SAMPLES];
    double chi2, power;
    int64_t data, all;
    int64_t *unknown; /* [columns] the first real unknown; part 1 follows it */
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
        stride *= in->range[d].count;
    }
}

void solve_tile_begin(solve_tile *tile, const solve *s, const grove_array *const *inputs, int count)
{
    *tile = (solve_tile){.solve = s,
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

void solve_tile_end(solve_tile *tile)
{
    free(tile->views);
    tile->views = NULL;
}

static double complex number(const solve_view *view, int64_t cell, int element)
{
    int64_t at = cell * view->elements + (view->elements > 1 ? element : 0);

    if (view->double_) {
        const double *x = (const double *)(const void *)view->data;
        return view->complex_ ? CMPLX(x[2 * at], x[2 * at + 1]) : x[at];
    }
    const float *x = (const float *)(const void *)view->data;
    return view->complex_ ? CMPLX(x[2 * at], x[2 * at + 1]) : (double)x[at];
}

static bool is_flagged(const solve_view *view, int64_t cell, int element)
{
    return view->flags && view->flags[cell] >> (view->elements > 1 ? element : 0) & 1;
}

/* ---- rows ---- */

/* The index of the row along each axis but time and frequency. */
static void find_row(const solve_tile *tile, int64_t row, int64_t index[GROVE_MAX_AXES])
{
    for (int d = tile->axes - 1; d >= 0; d--) {
        index[d] = 0;
        if (d == tile->cut[SOLVE_TIME] || d == tile->cut[SOLVE_FREQ])
            continue;
        index[d] = row % tile->range[d].count;
        row /= tile->range[d].count;
    }
}

/* The cell of a parm's own axis that counts in a row. */
static int64_t cell_along(const solve_tile *tile, const solve_slot *slot, const grove_axis *axis,
                          const int64_t index[GROVE_MAX_AXES])
{
    if (!axis)
        return 0;
    if (slot->axis == axis)
        return slot->index;
    for (int d = 0; d < tile->axes; d++)
        if (tile->range[d].axis == axis)
            return tile->range[d].first + index[d];
    if (tile->baseline < 0 || axis->kind != GROVE_AXIS_STATION)
        return 0;
    const grove_range *range = &tile->range[tile->baseline];
    int64_t b = range->first + index[tile->baseline];
    return slot->side == 'q' ? range->axis->right[b] : range->axis->left[b];
}

/* Which unknowns the columns of a row and a box are. */
static void find_unknowns(const solve_tile *tile, const solve_domain *d,
                          const int64_t index[GROVE_MAX_AXES], const int64_t cell[SOLVE_CUTS],
                          sums *sum)
{
    const solve *s = tile->solve;

    for (int k = 0; k < s->slot_count; k++) {
        const solve_slot *slot = &s->slots[k];
        const grove_parm *p = s->parms[slot->parm].parm;
        int64_t sources = p->source ? p->source->size : 1;
        int64_t stations = p->station ? p->station->size : 1;
        solve_span time = solve_intervals(s, d, slot->parm, SOLVE_TIME),
                   freq = solve_intervals(s, d, slot->parm, SOLVE_FREQ);
        double x;
        int64_t at = slot->member * sources + cell_along(tile, slot, p->source, index);
        at = at * stations + cell_along(tile, slot, p->station, index);
        at = at * time.count + grove_parm_find(&p->time, cell[SOLVE_TIME], &x) - time.first;
        at = at * freq.count + grove_parm_find(&p->freq, cell[SOLVE_FREQ], &x) - freq.first;
        for (int t = 0; t < slot->terms; t++)
            sum->unknown[slot->first + t] =
                d->base[slot->parm] + (at * slot->terms + t) * s->parms[slot->parm].parts;
    }
}

static bool is_wanted(const solve_tile *tile, const int64_t index[GROVE_MAX_AXES])
{
    if (tile->baseline < 0 || tile->solve->autocorrelations)
        return true;
    const grove_range *range = &tile->range[tile->baseline];
    int64_t b = range->first + index[tile->baseline];
    return range->axis->left[b] != range->axis->right[b];
}

/* Whether the length of the projected baseline is within what is asked for. */
static bool is_in_range(const solve_tile *tile, int64_t uvw_cell, int64_t channel)
{
    const solve *s = tile->solve;
    const solve_view *view = &tile->views[s->uvw];
    double length = hypot(creal(number(view, uvw_cell, 0)), creal(number(view, uvw_cell, 1)));
    const grove_axis *freq = s->cut[SOLVE_FREQ].axis;
    double waves = freq && freq->centre ? length * freq->centre[channel] / 299792458.0 : length;

    return (s->min_in_wavelengths ? waves : length) >= s->min_baseline &&
           (s->max_in_wavelengths ? waves : length) <= s->max_baseline;
}

/* ---- sums ---- */

static double total(lanes x)
{
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
    return CMPLX(total(re), total(im));
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
            sum->hermitian[a * n + b] +=
                product(re, im, column_of(sum->weighted_re, b), column_of(sum->weighted_im, b));
        sum->gradient[a] +=
            product(re, im, column_of(sum->weighted_re, n), column_of(sum->weighted_im, n));
    }
    if (sum->count)
        sum->chi2 += creal(product(column_of(sum->re, n), column_of(sum->im, n),
                                   column_of(sum->weighted_re, n), column_of(sum->weighted_im, n)));
    sum->count = 0;
}

/* What the polynomials of a parm are at a cell. */
static void find_basis(const grove_parm *p, const int64_t cell[SOLVE_CUTS], double *basis)
{
    double x = 0, y = 0, power = 1;

    grove_parm_find(&p->time, cell[SOLVE_TIME], &x);
    grove_parm_find(&p->freq, cell[SOLVE_FREQ], &y);
    for (int i = 0; i < p->time.terms; i++, power *= x) {
        double product_ = power;
        for (int j = 0; j < p->freq.terms; j++, product_ *= y)
            *basis++ = product_;
    }
}

static void add_columns(const solve_tile *tile, const int64_t *at, const int64_t cell[SOLVE_CUTS],
                        int element, sums *sum)
{
    const solve *s = tile->solve;
    double basis[GROVE_PARM_TERMS * GROVE_PARM_TERMS];

    for (int k = 0; k < s->slot_count; k++) {
        const solve_slot *slot = &s->slots[k];
        double complex x = number(&tile->views[slot->input], at[slot->input], element);
        if (slot->terms == 1) {
            put(sum->re, slot->first, sum->count, creal(x));
            put(sum->im, slot->first, sum->count, cimag(x));
            continue;
        }
        find_basis(s->parms[slot->parm].parm, cell, basis);
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
        double weight = weights->data ? creal(number(weights, at[s->weights], in_data)) : 1;
        double complex measured = number(data, at[SOLVE_DATA], in_data);
        double complex residual = measured - number(model, at[SOLVE_MODEL], in_model);
        sum->all += 2;
        if (is_flagged(data, at[SOLVE_DATA], in_data) ||
            is_flagged(model, at[SOLVE_MODEL], in_model) ||
            is_flagged(weights, at[s->weights], in_data) || !(weight > 0) || !isfinite(weight))
            continue;
        put(sum->re, sum->columns, sum->count, creal(residual));
        put(sum->im, sum->columns, sum->count, cimag(residual));
        add_columns(tile, at, cell, in_model, sum);
        if (!is_finite(sum))
            continue;
        sum->weight[sum->count] = weight;
        sum->power += weight * creal(measured * conj(measured));
        sum->data += 2;
        if (++sum->count == SAMPLES)
            flush(sum);
    }
}

/* ---- into the unknowns ---- */

/* Real derivatives of a column: by the real part it is the column, by the imaginary part i or -i
 * times it. */
static int parts_of(const solve_slot *slot, double complex factor[2], int offset[2])
{
    factor[0] = 1;
    offset[0] = slot->part == GROVE_PART_IMAGINARY;
    factor[1] = slot->part == GROVE_PART_BOTH ? CMPLX(0, 1) : CMPLX(0, -1);
    offset[1] = 1;
    return slot->part == GROVE_PART_BOTH || slot->part == GROVE_PART_BOTH_CONJUGATE ? 2 : 1;
}

static void scatter_pair(const sums *sum, const solve_slot *slot_a, int a, const solve_slot *slot_b,
                         int b, int64_t unknowns, double *matrix)
{
    double complex factor_a[2], factor_b[2];
    int offset_a[2], offset_b[2];
    int parts_a = parts_of(slot_a, factor_a, offset_a),
        parts_b = parts_of(slot_b, factor_b, offset_b);
    int n = sum->columns;
    double complex h = a <= b ? sum->hermitian[a * n + b] : conj(sum->hermitian[b * n + a]);

    for (int i = 0; i < parts_a; i++)
        for (int j = 0; j < parts_b; j++) {
            int64_t row = sum->unknown[a] + offset_a[i], column = sum->unknown[b] + offset_b[j];
            if (row >= column)
                matrix[row * unknowns + column] += creal(conj(factor_a[i]) * factor_b[j] * h);
        }
}

static void scatter(const solve_domain *d, sums *sum, double *matrix, double *gradient)
{
    const solve *s = sum->solve;

    flush(sum);
    for (int k = 0; k < s->slot_count; k++)
        for (int t = 0; t < s->slots[k].terms; t++) {
            int a = s->slots[k].first + t;
            double complex factor[2];
            int offset[2], parts = parts_of(&s->slots[k], factor, offset);
            for (int i = 0; i < parts; i++)
                gradient[sum->unknown[a] + offset[i]] += creal(conj(factor[i]) * sum->gradient[a]);
            for (int l = 0; l < s->slot_count; l++)
                for (int u = 0; u < s->slots[l].terms; u++)
                    scatter_pair(sum, &s->slots[k], a, &s->slots[l], s->slots[l].first + u,
                                 d->unknowns, matrix);
        }
    memset(sum->hermitian, 0, (size_t)sum->columns * (size_t)sum->columns * sizeof(double complex));
    memset(sum->gradient, 0, (size_t)sum->columns * sizeof(double complex));
}

/* ---- the domain ---- */

/* A box of a row: [first, end) along time and frequency, cells of the whole axes. */
static void add_box(const solve_tile *tile, const int64_t index[GROVE_MAX_AXES],
                    const int64_t first[SOLVE_CUTS], const int64_t end[SOLVE_CUTS], int inputs,
                    int64_t *at, sums *sum)
{
    const solve *s = tile->solve;
    int64_t cell[SOLVE_CUTS];

    for (cell[SOLVE_TIME] = first[SOLVE_TIME]; cell[SOLVE_TIME] < end[SOLVE_TIME];
         cell[SOLVE_TIME]++)
        for (cell[SOLVE_FREQ] = first[SOLVE_FREQ]; cell[SOLVE_FREQ] < end[SOLVE_FREQ];
             cell[SOLVE_FREQ]++) {
            for (int k = 0; k < inputs; k++) {
                const int64_t *stride = tile->views[k].stride;
                at[k] = 0;
                for (int d = 0; d < tile->axes; d++)
                    at[k] += stride[d] * index[d];
                for (int c = 0; c < SOLVE_CUTS; c++)
                    if (tile->cut[c] >= 0)
                        at[k] += stride[tile->cut[c]] *
                                 (cell[c] - tile->range[tile->cut[c]].first);
            }
            if (s->uvw < 0 || is_in_range(tile, at[s->uvw], cell[SOLVE_FREQ]))
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
            const int64_t first[SOLVE_CUTS] = {time->edge[i], freq->edge[j]},
                          end[SOLVE_CUTS] = {time->edge[i + 1], freq->edge[j + 1]};
            int64_t before = sum->data;
            add_box(tile, index, first, end, inputs, at, sum);
            if (sum->data == before)
                continue;
            find_unknowns(tile, d, index, first, sum);
            scatter(d, sum, matrix, gradient);
        }
}

void solve_normal(const solve_tile *tile, solve_domain *d, double *matrix, double *gradient)
{
    const solve *s = tile->solve;
    size_t n = (size_t)s->columns, lane_count = (n + 1) * (SAMPLES / LANES);
    int inputs = s->slot_count ? s->slots[s->slot_count - 1].input + 1 : 0;
    int64_t *at = grove_alloc((size_t)inputs * sizeof(*at)), index[GROVE_MAX_AXES];
    lanes *buffer = aligned_alloc(sizeof(lanes), 4 * lane_count * sizeof(lanes));
    sums sum = {.solve = s,
                .columns = s->columns,
                .re = buffer,
                .im = buffer + lane_count,
                .weighted_re = buffer + 2 * lane_count,
                .weighted_im = buffer + 3 * lane_count,
                .hermitian = grove_alloc((n * n + 1) * sizeof(double complex)),
                .gradient = grove_alloc((n + 1) * sizeof(double complex)),
                .unknown = grove_alloc((n + 1) * sizeof(int64_t))};

    for (int64_t row = 0; row < tile->rows; row++) {
        find_row(tile, row, index);
        if (is_wanted(tile, index))
            add_row(tile, d, index, inputs, at, &sum, matrix, gradient);
    }
    d->sums = (grove_least_squares_sums){.chi2 = sum.chi2, .power = sum.power, .data = sum.data};
    d->all = sum.all;
    free(at);
    free(buffer);
    free(sum.hermitian);
    free(sum.gradient);
    free(sum.unknown);
}
