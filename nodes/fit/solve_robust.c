/* Fits that outliers do not spoil: residuals as of Student's t distribution (Lange, Little & Taylor
 * 1989), by weights that fall with the residual and are found again after each fit. */
#include "nodes/fit/solve_lines.h"

#include "util.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Degrees of freedom. */
#define FREEDOM 4.0

/* The median of |x|^2 / sigma^2 of normal numbers, real and complex. */
#define MEDIAN_OF_1 0.45493642311957275
#define MEDIAN_OF_2 (2 * M_LN2)

/* ---- weights ---- */

static void load_weights(const solve_tile *tile, const solve_line *cells, int element, double *to)
{
    const int weights = tile->solve->weights;
    const solve_view *view = &tile->views[weights];

    for (int64_t k = 0; k < cells->count && !view->data; k++)
        to[k] = 1;
    if (view->data)
        solve_load_line(view, cells->at[weights], cells->step[weights], element, cells->count, to,
                        NULL);
}

static int elements_of(const solve_tile *tile)
{
    return solve_robust_elements(tile->solve, tile->views[SOLVE_DATA].elements);
}

/* The weight of an element in the first cell; weights of the next cells are `each` further. */
static float *robust_at(const solve_tile *tile, const solve_line *cells, int element)
{
    return tile->robust + cells->at[SOLVE_MODEL] * elements_of(tile) + element;
}

static int64_t robust_step(const solve_tile *tile, const solve_line *cells)
{
    return cells->step[SOLVE_MODEL] * elements_of(tile);
}

static void copy_weights(void *context, const solve_line *cells)
{
    const solve_tile *tile = context;
    const solve *s = tile->solve;
    const int64_t each = robust_step(tile, cells);

    for (int e = 0; e < s->elements; e++) {
        float *to = robust_at(tile, cells, s->of_data[e]);
        double weight[SOLVE_LINE];
        load_weights(tile, cells, s->of_data[e], weight);
        for (int64_t k = 0; k < cells->count; k++)
            to[k * each] = (float)weight[k];
    }
}

solve_view solve_robust_view(const solve_tile *tile)
{
    solve_view view = {.data = (const char *)tile->robust, .elements = elements_of(tile)};

    memcpy(view.stride, tile->views[SOLVE_MODEL].stride, sizeof(view.stride));
    return view;
}

int solve_begin_weights(solve_tile *tile)
{
    size_t numbers = (size_t)elements_of(tile);

    for (int d = 0; d < tile->axes; d++)
        numbers *= (size_t)tile->range[d].count;
    tile->robust = grove_try_alloc_gaps((numbers + 1) * sizeof(*tile->robust));
    if (tile->robust)
        solve_visit_lines(tile, NULL, false, copy_weights, tile);
    return tile->robust ? 0 : GROVE_NO_MEMORY;
}

/* ---- residuals ---- */

typedef struct {
    const solve_tile *tile;
    const double complex *jones; /* of factors */
    grove_median *median;        /* of squared residuals that count; NULL: weights are set */
    bool keeps;                  /* tile->robust gets sizes of residuals, -1: does not count */
    double scale;
} reweighing;

/* Numbers of a line. */
typedef struct {
    double re[SOLVE_LINE], im[SOLVE_LINE];
} numbers;

/* to += factor * of */
static void add_times(numbers *to, double complex factor, const numbers *of, int64_t count)
{
    const double re = creal(factor), im = cimag(factor);

    for (int64_t k = 0; k < count; k++) {
        to->re[k] += re * of->re[k] - im * of->im[k];
        to->im[k] += re * of->im[k] + im * of->re[k];
    }
}

static bool is_diagonal(const double complex m[4])
{
    return m[1] == 0 && m[2] == 0;
}

/* Adds element (i, j) of left m right^H to the model. */
static void add_group(const reweighing *w, const solve_line *cells, int input,
                      const double complex *left, const double complex *right, int i, int j,
                      numbers *v)
{
    const solve_view *middle = &w->tile->views[input];
    const bool diagonal = is_diagonal(left) && is_diagonal(right);

    for (int k = 0; k < 2; k++)
        for (int l = 0; l < 2; l++) {
            numbers m;
            if ((diagonal && (k != i || l != j)) || (middle->elements < 4 && k != l))
                continue;
            solve_load_line(middle, cells->at[input], cells->step[input],
                            middle->elements == 4 ? 2 * k + l : k, cells->count, m.re, m.im);
            add_times(v, left[2 * i + k] * conj(right[2 * j + l]), &m, cells->count);
        }
}

/* An element of V in a line: the model, or the product of its factors. */
static void find_model(const reweighing *w, const solve_line *cells, int element, numbers *v)
{
    const solve_tile *tile = w->tile;
    const solve *s = tile->solve;
    const int e = s->elements == 4 ? element : 3 * element;

    if (!s->group_count) {
        solve_load_line(&tile->views[SOLVE_MODEL], cells->at[SOLVE_MODEL], cells->step[SOLVE_MODEL],
                        s->of_model[element], cells->count, v->re, v->im);
        return;
    }
    const grove_axis *axis = tile->range[tile->baseline].axis;
    const double complex *left = solve_jones_at(s, w->jones, cells->stretch,
                                                axis->left[cells->baseline], 0),
                         *right = solve_jones_at(s, w->jones, cells->stretch,
                                                 axis->right[cells->baseline], 1);
    memset(v, 0, sizeof(*v));
    for (int g = 0; g < s->group_count; g++, left += 4, right += 4)
        add_group(w, cells, s->groups[g].middle, left, right, e / 2, e % 2, v);
}

/* Cells of an input with a flag among the bits do not count. */
static void leave_flagged(const solve_tile *tile, const solve_line *cells, int input, int bits,
                          unsigned char *counts)
{
    const solve_view *view = &tile->views[input];
    const int64_t step = cells->step[input];

    for (int64_t k = 0; k < cells->count && view->flags; k++)
        counts[k] = counts[k] && !(view->flags[cells->at[input] + k * step] & bits);
}

static int bit_of(const solve_tile *tile, int input, int element)
{
    return 1 << (tile->views[input].elements > 1 ? element : 0);
}

/* The weights of an element, squared residuals times these, and which of them count. */
static void find_squares(const reweighing *w, const solve_line *cells, int e, double *weight,
                         double *square, unsigned char *counts)
{
    const solve_tile *tile = w->tile;
    const solve *s = tile->solve;
    const int element = s->of_data[e];
    numbers v, data;

    find_model(w, cells, e, &v);
    solve_load_line(&tile->views[SOLVE_DATA], cells->at[SOLVE_DATA], cells->step[SOLVE_DATA],
                    element, cells->count, data.re, data.im);
    load_weights(tile, cells, element, weight);
    for (int64_t k = 0; k < cells->count; k++) {
        const double re = data.re[k] - v.re[k], im = data.im[k] - v.im[k];
        square[k] = weight[k] * (re * re + im * im);
        counts[k] = weight[k] > 0 && square[k] <= DBL_MAX;
    }
    leave_flagged(tile, cells, SOLVE_DATA, bit_of(tile, SOLVE_DATA, element), counts);
    leave_flagged(tile, cells, s->weights, bit_of(tile, s->weights, element), counts);
    if (!s->group_count)
        leave_flagged(tile, cells, SOLVE_MODEL, bit_of(tile, SOLVE_MODEL, s->of_model[e]), counts);
    for (int g = 0; g < s->group_count; g++)
        leave_flagged(tile, cells, s->groups[g].middle, ~0, counts);
}

static float robust_weight(const reweighing *w, double weight, double square)
{
    return (float)(weight * (FREEDOM + w->tile->solve->parts) / (FREEDOM + square / w->scale));
}

/* Gives the median the squares that count, which are moved to the beginning. */
static void add_to_median(const reweighing *w, double *square, const unsigned char *counts,
                          int64_t count)
{
    int64_t kept = 0;

    for (int64_t k = 0; k < count; k++) {
        square[kept] = square[k];
        kept += counts[k];
    }
    grove_median_add(w->median, square, kept);
}

static void take_residuals(void *context, const solve_line *cells)
{
    const reweighing *w = context;
    const solve *s = w->tile->solve;
    const int64_t each = robust_step(w->tile, cells);

    for (int e = 0; e < s->elements; e++) {
        const int element = s->of_data[e];
        double square[SOLVE_LINE], weight[SOLVE_LINE];
        unsigned char counts[SOLVE_LINE];
        find_squares(w, cells, e, weight, square, counts);
        if (w->keeps) {
            float *robust = robust_at(w->tile, cells, element);
            for (int64_t k = 0; k < cells->count; k++) {
                const float size = counts[k] ? (float)sqrt(square[k]) : -1;
                robust[k * each] = size;
                square[k] = (double)size * (double)size;
            }
        }
        if (w->median) {
            add_to_median(w, square, counts, cells->count);
            continue;
        }
        float *robust = robust_at(w->tile, cells, element);
        for (int64_t k = 0; k < cells->count; k++)
            if (counts[k])
                robust[k * each] = robust_weight(w, weight[k], square[k]);
    }
}

/* The same from sizes that were kept. */
static void take_kept(void *context, const solve_line *cells)
{
    const reweighing *w = context;
    const solve *s = w->tile->solve;
    const int64_t each = robust_step(w->tile, cells);

    for (int e = 0; e < s->elements; e++) {
        const float *robust = robust_at(w->tile, cells, s->of_data[e]);
        double square[SOLVE_LINE];
        unsigned char counts[SOLVE_LINE];
        for (int64_t k = 0; k < cells->count; k++) {
            const double size = (double)robust[k * each];
            square[k] = size * size;
            counts[k] = size >= 0;
        }
        add_to_median(w, square, counts, cells->count);
    }
}

/* Weights of residuals whose sizes were kept; the data's own of others, or of all. */
static void weigh_kept(void *context, const solve_line *cells)
{
    const reweighing *w = context;
    const solve *s = w->tile->solve;
    const int64_t each = robust_step(w->tile, cells);

    for (int e = 0; e < s->elements; e++) {
        float *robust = robust_at(w->tile, cells, s->of_data[e]);
        double weight[SOLVE_LINE];
        load_weights(w->tile, cells, s->of_data[e], weight);
        for (int64_t k = 0; k < cells->count; k++) {
            const double size = (double)robust[k * each];
            const float less = robust_weight(w, weight[k], size * size);
            robust[k * each] = size >= 0 && w->scale > 0 ? less : (float)weight[k];
        }
    }
}

/* All residuals have been looked at. */
static bool end_turn(const solve_tile *tile, grove_median *m, solve_domain *d)
{
    double all = (double)m->all, median;

    if (!grove_median_end(m, &median))
        return false;
    median /= tile->solve->parts == 2 ? MEDIAN_OF_2 : MEDIAN_OF_1;
    d->scale = all > 0 ? fmax(median, 1e-30 * d->sums.power / all) : 0;
    return true;
}

static void begin_median(const solve_tile *tile, solve_domain *d)
{
    if (d->median)
        return;
    d->median = grove_alloc(sizeof(*d->median));
    grove_median_begin(d->median, d->scale * (tile->solve->parts == 2 ? MEDIAN_OF_2 : MEDIAN_OF_1));
}

static void end_median(solve_domain *d)
{
    free(d->median);
    d->median = NULL;
}

bool solve_find_scale(const solve_tile *tile, solve_domain *d)
{
    begin_median(tile, d);
    reweighing w = {.tile = tile, .jones = d->jones, .median = d->median};
    solve_visit_lines(tile, d, false, take_residuals, &w);
    const bool found = tile->ends && end_turn(tile, d->median, d);
    if (found)
        end_median(d);
    return found;
}

void solve_reweigh(const solve_tile *tile, solve_domain *d)
{
    begin_median(tile, d);
    reweighing w = {.tile = tile, .jones = d->jones, .median = d->median, .keeps = true};
    solve_visit_lines(tile, d, false, take_residuals, &w);
    while (!end_turn(tile, d->median, d) && !grove_interrupted())
        solve_visit_lines(tile, d, true, take_kept, &w);
    end_median(d);
    w.scale = d->scale;
    solve_visit_lines(tile, d, false, weigh_kept, &w);
}

static void set_domain(const solve_tile *tile, const solve_domain *d, const double complex *jones)
{
    reweighing w = {.tile = tile, .jones = jones, .scale = d->scale};

    solve_visit_lines(tile, d, false, take_residuals, &w);
}

/* ---- of parts of domains ---- */

/* Whether the domain has weights of its own in this look. */
static bool is_weighed(const solve_domain *d)
{
    return d->scale > 0 && d->stage != SOLVE_REWEIGH;
}

static void set_weights(void *context, int64_t first, int64_t last)
{
    const solve_evaluation *e = context;

    for (int64_t i = first; i < last; i++)
        if (is_weighed(e->active[i]))
            set_domain(e->tile, e->active[i], e->active[i]->weighing);
}

int solve_weigh_part(const grove_call *call, solve_tile *tile, solve_evaluation *e, int64_t count,
                     bool *again)
{
    int64_t weighed = 0;

    for (int64_t i = 0; i < count; i++)
        weighed += is_weighed(e->active[i]);
    int code = weighed ? solve_begin_weights(tile) : 0;
    if (code || !weighed)
        return code;
    grove_call_parallel(call, count, set_weights, e);
    if (e->solve->group_count)
        return 0;
    for (int64_t i = 0; i < count; i++)
        if (is_weighed(e->active[i]))
            solve_put(e->solve, e->active[i], e->parms,
                      grove_least_squares_point(e->active[i]->fit));
    grove_call_repeat(call);
    *again = true;
    return 0;
}

void solve_move_to_weights(const solve_evaluation *e, int64_t count)
{
    for (int64_t i = 0; i < count && !e->solve->group_count; i++)
        if (is_weighed(e->active[i]))
            solve_put(e->solve, e->active[i], e->parms, e->active[i]->before);
}
