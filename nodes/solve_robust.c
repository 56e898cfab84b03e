/* Fits that outliers do not spoil: residuals as of Student's t distribution (Lange, Little & Taylor
 * 1989), by weights that fall with the residual and are found again after each fit. */
#include "nodes/solve.h"

#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Degrees of freedom. */
#define FREEDOM 4.0

/* The median of |x|^2 / sigma^2 of normal numbers, real and complex. */
#define MEDIAN_OF_1 0.45493642311957275
#define MEDIAN_OF_2 (2 * M_LN2)

/* ---- cells ---- */

/* A cell of a domain: its baseline and stretch (numbered in the domain), and where it is in each
 * input. */
typedef void (*visitor)(void *context, int64_t baseline, int64_t stretch, const int64_t *at);

typedef struct {
    const solve_tile *tile;
    visitor visit;
    void *context;
    int inputs;        /* whose places are wanted */
    int64_t *at, *row; /* [inputs]: of the cell; of the row's first */
} visiting;

static void visit_box(visiting *w, int64_t baseline, int64_t stretch, int64_t (*range)[2])
{
    const solve_tile *tile = w->tile;
    const int64_t first = tile->cut[SOLVE_TIME] >= 0 ? tile->range[tile->cut[SOLVE_TIME]].first : 0;
    const int64_t b = tile->baseline >= 0 ? baseline - tile->range[tile->baseline].first : 0;

    for (int64_t t = range[SOLVE_TIME][0]; t < range[SOLVE_TIME][1]; t++) {
        if (solve_is_missing(tile, t - first, b))
            continue;
        for (int64_t f = range[SOLVE_FREQ][0]; f < range[SOLVE_FREQ][1]; f++) {
            const int64_t cell[SOLVE_CUTS] = {t, f};
            for (int k = 0; k < w->inputs; k++) {
                w->at[k] = w->row[k];
                for (int c = 0; c < SOLVE_CUTS; c++)
                    if (tile->cut[c] >= 0)
                        w->at[k] += tile->views[k].stride[tile->cut[c]] *
                                    (cell[c] - tile->range[tile->cut[c]].first);
            }
            bool counts =
                tile->solve->uvw < 0 || solve_is_in_range(tile, w->at[tile->solve->uvw], f);
            if (counts)
                w->visit(w->context, baseline, stretch, w->at);
        }
    }
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
    size_t inputs = few ? SOLVE_MODEL + 1 : (size_t)tile->solve->inputs;
    visiting w = {.tile = tile, .visit = function, .context = context, .inputs = (int)inputs};

    w.at = grove_alloc(2 * inputs * sizeof(*w.at));
    w.row = w.at + inputs;
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

static double weight_at(const solve_tile *tile, const int64_t *at, int element)
{
    const solve *s = tile->solve;
    const solve_view *weights = &tile->views[s->weights];

    return weights->data ? creal(solve_number(weights, at[s->weights], element)) : 1;
}

static void copy_weight(void *context, int64_t baseline, int64_t stretch, const int64_t *at)
{
    const solve_tile *tile = context;
    const solve *s = tile->solve;

    (void)baseline, (void)stretch;
    for (int e = 0; e < s->elements; e++)
        tile->robust[at[SOLVE_MODEL] * SOLVE_ELEMENTS + s->of_data[e]] =
            (float)weight_at(tile, at, s->of_data[e]);
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
        visit(tile, NULL, false, copy_weight, tile);
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

static inline double complex times(double complex a, double complex b)
{
    return CMPLX(creal(a) * creal(b) - cimag(a) * cimag(b),
                 creal(a) * cimag(b) + cimag(a) * creal(b));
}

/* to += left m right^H. */
static void add_product(const double complex *left, const double complex *m,
                        const double complex *right, double complex to[4])
{
    if (left[1] == 0 && left[2] == 0 && right[1] == 0 && right[2] == 0) {
        for (int e = 0; e < 4; e++)
            to[e] += times(times(left[e / 2 * 3], m[e]), conj(right[e % 2 * 3]));
        return;
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            const double complex x = times(left[2 * i], m[j]) + times(left[2 * i + 1], m[2 + j]);
            to[2 * i] += times(x, conj(right[j]));
            to[2 * i + 1] += times(x, conj(right[2 + j]));
        }
}

/* V of a cell: the model, or what its factors make. */
static void find_model(const reweighing *w, int64_t baseline, int64_t stretch, const int64_t *at,
                       double complex v[SOLVE_ELEMENTS])
{
    const solve *s = w->tile->solve;
    double complex sum[SOLVE_ELEMENTS] = {0};

    if (!s->group_count) {
        for (int e = 0; e < s->elements; e++)
            v[e] = solve_number(&w->tile->views[SOLVE_MODEL], at[SOLVE_MODEL], s->of_model[e]);
        return;
    }
    const grove_axis *axis = w->tile->range[w->tile->baseline].axis;
    const double complex *left = solve_jones_at(s, w->jones, stretch, axis->left[baseline], 0),
                         *right = solve_jones_at(s, w->jones, stretch, axis->right[baseline], 1);
    for (int g = 0; g < s->group_count; g++, left += 4, right += 4) {
        double complex m[4];
        solve_matrix_at(&w->tile->views[s->groups[g].middle], at[s->groups[g].middle], m);
        add_product(left, m, right, sum);
    }
    for (int e = 0; e < s->elements; e++)
        v[e] = sum[s->elements == 4 ? e : 3 * e];
}

/* Whether the model, or a factor of it, is flagged there. */
static bool is_model_flagged(const reweighing *w, const int64_t *at, int element)
{
    const solve *s = w->tile->solve;
    bool flagged = !s->group_count && solve_is_flagged(&w->tile->views[SOLVE_MODEL],
                                                       at[SOLVE_MODEL], s->of_model[element]);

    for (int g = 0; g < s->group_count; g++) {
        const solve_view *middle = &w->tile->views[s->groups[g].middle];
        flagged = flagged || (middle->flags && middle->flags[at[s->groups[g].middle]]);
    }
    return flagged;
}

static float robust_weight(const reweighing *w, double weight, double square)
{
    return (float)(weight * (FREEDOM + w->tile->solve->parts) / (FREEDOM + square / w->scale));
}

static void take_residuals(void *context, int64_t baseline, int64_t stretch, const int64_t *at)
{
    reweighing *w = context;
    const solve *s = w->tile->solve;
    const solve_view *data = &w->tile->views[SOLVE_DATA];
    float *robust = w->tile->robust ? w->tile->robust + at[SOLVE_MODEL] * SOLVE_ELEMENTS : NULL;
    double complex v[SOLVE_ELEMENTS];

    find_model(w, baseline, stretch, at, v);
    for (int e = 0; e < s->elements; e++) {
        int element = s->of_data[e];
        double weight = weight_at(w->tile, at, element);
        double complex r = solve_number(data, at[SOLVE_DATA], element) - v[e];
        double square = weight * (creal(r) * creal(r) + cimag(r) * cimag(r));
        const bool counts =
            weight > 0 && isfinite(square) && !solve_is_flagged(data, at[SOLVE_DATA], element) &&
            !solve_is_flagged(&w->tile->views[s->weights], at[s->weights], element) &&
            !is_model_flagged(w, at, e);
        if (w->keeps) {
            robust[element] = counts ? (float)sqrt(square) : -1;
            square = (double)robust[element] * (double)robust[element];
        }
        if (counts && w->median)
            grove_median_add(w->median, square);
        else if (counts)
            robust[element] = robust_weight(w, weight, square);
    }
}

/* The same from sizes that were kept. */
static void take_kept(void *context, int64_t baseline, int64_t stretch, const int64_t *at)
{
    reweighing *w = context;
    const solve *s = w->tile->solve;
    const float *robust = w->tile->robust + at[SOLVE_MODEL] * SOLVE_ELEMENTS;

    (void)baseline, (void)stretch;
    for (int e = 0; e < s->elements; e++) {
        const double size = (double)robust[s->of_data[e]];
        if (size >= 0)
            grove_median_add(w->median, size * size);
    }
}

/* Weights of residuals whose sizes were kept; the data's own of others, or of all. */
static void weigh_kept(void *context, int64_t baseline, int64_t stretch, const int64_t *at)
{
    reweighing *w = context;
    const solve *s = w->tile->solve;
    float *robust = w->tile->robust + at[SOLVE_MODEL] * SOLVE_ELEMENTS;

    (void)baseline, (void)stretch;
    for (int e = 0; e < s->elements; e++) {
        const int element = s->of_data[e];
        const double weight = weight_at(w->tile, at, element), size = (double)robust[element];
        robust[element] =
            size >= 0 && w->scale > 0 ? robust_weight(w, weight, size * size) : (float)weight;
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
