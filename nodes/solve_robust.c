/* Fits that outliers do not spoil: residuals as of Student's t distribution (Lange, Little & Taylor
 * 1989), by weights that fall with the residual and are found again after each fit. */
#include "nodes/solve.h"

#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Degrees of freedom. */
#define FREEDOM 4.0

/* The median of |x|^2 / sigma^2 of normal numbers, real and complex. */
#define MEDIAN_OF_1 0.45493642311957275
#define MEDIAN_OF_2 (2 * M_LN2)

/* ---- cells ---- */

enum { LINE = 128 }; /* channels of a row and time, at most */

/* Channels of a domain that follow each other: their baseline and stretch (numbered in the domain),
 * and where they are in each input. */
typedef struct {
    int64_t baseline, stretch, count;
    const int64_t *at, *step; /* [inputs]: of the first cell; from one cell to the next */
} line;

typedef void (*visitor)(void *context, const line *cells);

typedef struct {
    const solve_tile *tile;
    visitor visit;
    void *context;
    int inputs;               /* whose places are wanted */
    int64_t *at, *step, *row; /* [inputs]: as in line; row: of the row's first cell */
} visiting;

/* Channels from `first` on that count, up to `end`; none where the first one does not. */
static int64_t count_line(const visiting *w, int64_t first, int64_t end)
{
    const solve_tile *tile = w->tile;
    const int uvw = tile->solve->uvw;
    int64_t count = 0;

    if (end - first > LINE)
        end = first + LINE;
    if (uvw < 0)
        return end - first;
    while (first + count < end &&
           solve_is_in_range(tile, w->at[uvw] + count * w->step[uvw], first + count))
        count++;
    return count;
}

static void visit_line(visiting *w, int64_t baseline, int64_t stretch, int64_t t,
                       const int64_t range[2])
{
    const solve_tile *tile = w->tile;

    for (int64_t f = range[0], count; f < range[1]; f += count ? count : 1) {
        const int64_t cell[SOLVE_CUTS] = {t, f};
        for (int k = 0; k < w->inputs; k++) {
            w->at[k] = w->row[k];
            for (int c = 0; c < SOLVE_CUTS; c++)
                if (tile->cut[c] >= 0)
                    w->at[k] += tile->views[k].stride[tile->cut[c]] *
                                (cell[c] - tile->range[tile->cut[c]].first);
        }
        count = count_line(w, f, range[1]);
        if (count)
            w->visit(w->context, &(line){baseline, stretch, count, w->at, w->step});
    }
}

static void visit_box(visiting *w, int64_t baseline, int64_t stretch, int64_t (*range)[2])
{
    const solve_tile *tile = w->tile;
    const int64_t first = tile->cut[SOLVE_TIME] >= 0 ? tile->range[tile->cut[SOLVE_TIME]].first : 0;
    const int64_t b = tile->baseline >= 0 ? baseline - tile->range[tile->baseline].first : 0;

    for (int64_t t = range[SOLVE_TIME][0]; t < range[SOLVE_TIME][1]; t++)
        if (!solve_is_missing(tile, t - first, b))
            visit_line(w, baseline, stretch, t, range[SOLVE_FREQ]);
}

/* All cells of the tile. */
static void visit_all(visiting *w, int64_t baseline)
{
    int64_t range[SOLVE_CUTS][2] = {{0, 1}, {0, 1}};

    for (int c = 0; c < SOLVE_CUTS; c++)
        if (w->tile->cut[c] >= 0) {
            const grove_range *cells = &w->tile->range[w->tile->cut[c]];
            range[c][0] = cells->first;
            range[c][1] = cells->first + cells->count;
        }
    visit_box(w, baseline, 0, range);
}

static void visit_row(visiting *w, const solve_domain *d, int64_t baseline)
{
    const solve *s = w->tile->solve;
    int64_t t[2], f[2], stretch = 0;

    solve_stretches(s, d, SOLVE_TIME, t);
    solve_stretches(s, d, SOLVE_FREQ, f);
    for (int64_t i = t[0]; i < t[1]; i++)
        for (int64_t j = f[0]; j < f[1]; j++, stretch++) {
            int64_t range[SOLVE_CUTS][2] = {
                {solve_stretch_edge(s, SOLVE_TIME, i), solve_stretch_edge(s, SOLVE_TIME, i + 1)},
                {solve_stretch_edge(s, SOLVE_FREQ, j), solve_stretch_edge(s, SOLVE_FREQ, j + 1)}};
            if (solve_clip(w->tile, SOLVE_TIME, range[SOLVE_TIME]) &&
                solve_clip(w->tile, SOLVE_FREQ, range[SOLVE_FREQ]))
                visit_box(w, baseline, stretch, range);
        }
}

/* Cells of a domain in the tile; NULL: of all. model_only: the visitor wants the place of the model
 * alone. */
static void visit(const solve_tile *tile, const solve_domain *d, bool model_only, visitor function,
                  void *context)
{
    const bool few = model_only && tile->solve->uvw < 0;
    const int freq = tile->cut[SOLVE_FREQ];
    size_t inputs = few ? SOLVE_MODEL + 1 : (size_t)tile->solve->inputs;
    visiting w = {.tile = tile, .visit = function, .context = context, .inputs = (int)inputs};

    w.at = grove_alloc(3 * inputs * sizeof(*w.at));
    w.step = w.at + inputs;
    w.row = w.step + inputs;
    for (size_t k = 0; k < inputs; k++)
        w.step[k] = freq >= 0 ? tile->views[k].stride[freq] : 0;
    for (int64_t row = 0; row < tile->rows; row++) {
        int64_t index[GROVE_MAX_AXES], baseline = 0;
        solve_find_row(tile, row, index);
        if (tile->baseline >= 0)
            baseline = tile->range[tile->baseline].first + index[tile->baseline];
        for (size_t k = 0; k < inputs; k++) {
            w.row[k] = 0;
            for (int a = 0; a < tile->axes; a++)
                w.row[k] += tile->views[k].stride[a] * index[a];
        }
        if (!solve_is_wanted(tile, baseline))
            continue;
        if (d)
            visit_row(&w, d, baseline);
        else
            visit_all(&w, baseline);
    }
    free(w.at);
}

/* ---- weights ---- */

/* Numbers of an element of an input in a line. */
static void load(const solve_view *view, int64_t at, int64_t step, int element, int64_t count,
                 double *re, double *im)
{
    const int64_t numbers = view->complex_ ? 2 : 1, each = numbers * step * view->elements;
    const int64_t first = numbers * (at * view->elements + (view->elements > 1 ? element : 0));
    const float *singles = (const float *)(const void *)view->data + (view->double_ ? 0 : first);
    const double *doubles = (const double *)(const void *)view->data + (view->double_ ? first : 0);

    for (int64_t k = 0; k < count && view->double_; k++)
        re[k] = doubles[k * each];
    for (int64_t k = 0; k < count && !view->double_; k++)
        re[k] = (double)singles[k * each];
    for (int64_t k = 0; k < count && im; k++)
        im[k] = numbers == 1    ? 0
                : view->double_ ? doubles[k * each + 1]
                                : (double)singles[k * each + 1];
}

static void load_weights(const solve_tile *tile, const line *cells, int element, double *to)
{
    const int weights = tile->solve->weights;
    const solve_view *view = &tile->views[weights];

    for (int64_t k = 0; k < cells->count && !view->data; k++)
        to[k] = 1;
    if (view->data)
        load(view, cells->at[weights], cells->step[weights], element, cells->count, to, NULL);
}

/* The weight of an element in the first cell; those of the next are `each` further. */
static float *robust_at(const solve_tile *tile, const line *cells, int element)
{
    return tile->robust + cells->at[SOLVE_MODEL] * SOLVE_ELEMENTS + element;
}

static int64_t robust_step(const line *cells)
{
    return cells->step[SOLVE_MODEL] * SOLVE_ELEMENTS;
}

static void copy_weights(void *context, const line *cells)
{
    const solve_tile *tile = context;
    const solve *s = tile->solve;
    const int64_t each = robust_step(cells);

    for (int e = 0; e < s->elements; e++) {
        float *to = robust_at(tile, cells, s->of_data[e]);
        double weight[LINE];
        load_weights(tile, cells, s->of_data[e], weight);
        for (int64_t k = 0; k < cells->count; k++)
            to[k * each] = (float)weight[k];
    }
}

solve_view solve_robust_view(const solve_tile *tile)
{
    solve_view view = {.data = (const char *)tile->robust, .elements = SOLVE_ELEMENTS};

    memcpy(view.stride, tile->views[SOLVE_MODEL].stride, sizeof(view.stride));
    return view;
}

int solve_begin_weights(solve_tile *tile)
{
    size_t cells = SOLVE_ELEMENTS;

    for (int d = 0; d < tile->axes; d++)
        cells *= (size_t)tile->range[d].count;
    tile->robust = grove_try_alloc(cells + 1, sizeof(*tile->robust));
    if (tile->robust)
        visit(tile, NULL, false, copy_weights, tile);
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
    double re[LINE], im[LINE];
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
static void add_group(const reweighing *w, const line *cells, int input, const double complex *left,
                      const double complex *right, int i, int j, numbers *v)
{
    const solve_view *middle = &w->tile->views[input];
    const bool diagonal = is_diagonal(left) && is_diagonal(right);

    for (int k = 0; k < 2; k++)
        for (int l = 0; l < 2; l++) {
            numbers m;
            if ((diagonal && (k != i || l != j)) || (middle->elements < 4 && k != l))
                continue;
            load(middle, cells->at[input], cells->step[input],
                 middle->elements == 4 ? 2 * k + l : k, cells->count, m.re, m.im);
            add_times(v, left[2 * i + k] * conj(right[2 * j + l]), &m, cells->count);
        }
}

/* An element of V in a line: the model, or what its factors make. */
static void find_model(const reweighing *w, const line *cells, int element, numbers *v)
{
    const solve_tile *tile = w->tile;
    const solve *s = tile->solve;
    const int e = s->elements == 4 ? element : 3 * element;

    if (!s->group_count) {
        load(&tile->views[SOLVE_MODEL], cells->at[SOLVE_MODEL], cells->step[SOLVE_MODEL],
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
static void leave_flagged(const solve_tile *tile, const line *cells, int input, int bits,
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

/* The squared residuals of an element, times their weights, and which of them count. */
static void find_squares(const reweighing *w, const line *cells, int e, double *square,
                         unsigned char *counts)
{
    const solve_tile *tile = w->tile;
    const solve *s = tile->solve;
    const int element = s->of_data[e];
    double weight[LINE];
    numbers v, data;

    find_model(w, cells, e, &v);
    load(&tile->views[SOLVE_DATA], cells->at[SOLVE_DATA], cells->step[SOLVE_DATA], element,
         cells->count, data.re, data.im);
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

static void take_residuals(void *context, const line *cells)
{
    const reweighing *w = context;
    const solve *s = w->tile->solve;
    const int64_t each = robust_step(cells);

    for (int e = 0; e < s->elements; e++) {
        const int element = s->of_data[e];
        double square[LINE], weight[LINE];
        unsigned char counts[LINE];
        find_squares(w, cells, e, square, counts);
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
        load_weights(w->tile, cells, element, weight);
        for (int64_t k = 0; k < cells->count; k++)
            if (counts[k])
                robust[k * each] = robust_weight(w, weight[k], square[k]);
    }
}

/* The same from sizes that were kept. */
static void take_kept(void *context, const line *cells)
{
    const reweighing *w = context;
    const solve *s = w->tile->solve;
    const int64_t each = robust_step(cells);

    for (int e = 0; e < s->elements; e++) {
        const float *robust = robust_at(w->tile, cells, s->of_data[e]);
        double square[LINE];
        unsigned char counts[LINE];
        for (int64_t k = 0; k < cells->count; k++) {
            const double size = (double)robust[k * each];
            square[k] = size * size;
            counts[k] = size >= 0;
        }
        add_to_median(w, square, counts, cells->count);
    }
}

/* Weights of residuals whose sizes were kept; the data's own of others, or of all. */
static void weigh_kept(void *context, const line *cells)
{
    const reweighing *w = context;
    const solve *s = w->tile->solve;
    const int64_t each = robust_step(cells);

    for (int e = 0; e < s->elements; e++) {
        float *robust = robust_at(w->tile, cells, s->of_data[e]);
        double weight[LINE];
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
    visit(tile, d, false, take_residuals, &w);
    const bool found = tile->ends && end_turn(tile, d->median, d);
    if (found)
        end_median(d);
    return found;
}

void solve_reweigh(const solve_tile *tile, solve_domain *d)
{
    begin_median(tile, d);
    reweighing w = {.tile = tile, .jones = d->jones, .median = d->median, .keeps = true};
    visit(tile, d, false, take_residuals, &w);
    while (!end_turn(tile, d->median, d) && !grove_interrupted())
        visit(tile, d, true, take_kept, &w);
    end_median(d);
    w.scale = d->scale;
    visit(tile, d, false, weigh_kept, &w);
}

static void set_domain(const solve_tile *tile, const solve_domain *d, const double complex *jones)
{
    reweighing w = {.tile = tile, .jones = jones, .scale = d->scale};

    visit(tile, d, false, take_residuals, &w);
}

/* ---- of parts of domains ---- */

/* Whether the domain has weights of its own in this look. */
static bool is_weighed(const solve_domain *d)
{
    return d->scale > 0 && !d->reweigh;
}

static void set_weights(void *context, int64_t first, int64_t last)
{
    const solve_evaluation *e = context;

    for (int64_t i = first; i < last; i++)
        if (is_weighed(e->active[i]))
            set_domain(e->tile, e->active[i], e->active[i]->weighing);
}

int solve_weigh_part(const grove_node *node, solve_tile *tile, solve_evaluation *e, int64_t count,
                     bool *again)
{
    int64_t weighed = 0;

    for (int64_t i = 0; i < count; i++)
        weighed += is_weighed(e->active[i]);
    int code = weighed ? solve_begin_weights(tile) : 0;
    if (code || !weighed)
        return code;
    grove_node_parallel(node, count, set_weights, e);
    if (e->solve->group_count)
        return 0;
    for (int64_t i = 0; i < count; i++)
        if (is_weighed(e->active[i]))
            solve_put(e->solve, e->active[i], e->parms,
                      grove_least_squares_point(e->active[i]->fit));
    grove_node_repeat(node);
    *again = true;
    return 0;
}

void solve_move_to_weights(const solve_evaluation *e, int64_t count)
{
    for (int64_t i = 0; i < count && !e->solve->group_count; i++)
        if (is_weighed(e->active[i]))
            solve_put(e->solve, e->active[i], e->parms, e->active[i]->before);
}
