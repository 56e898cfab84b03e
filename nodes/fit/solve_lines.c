#include "nodes/fit/solve_lines.h"

#include "util.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    const solve_tile *tile;
    solve_line_visitor visit;
    void *context;
    int inputs;               /* whose places are needed */
    int64_t *at, *step, *row; /* [inputs]: as in line; row: of the row's first cell */
} visiting;

/* Channels from `first` on that count, up to `end`; none where the first one does not. */
static int64_t count_line(const visiting *w, int64_t first, int64_t end)
{
    const solve_tile *tile = w->tile;
    const int uvw = tile->solve->uvw;
    int64_t count = 0;

    if (end - first > SOLVE_LINE)
        end = first + SOLVE_LINE;
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
            w->visit(w->context, &(solve_line){baseline, stretch, count, w->at, w->step});
    }
}

static void visit_box(visiting *w, int64_t baseline, int64_t stretch, int64_t (*range)[2])
{
    const solve_tile *tile = w->tile;
    const int64_t b = tile->baseline >= 0 ? baseline - tile->range[tile->baseline].first : 0;

    for (int64_t t = range[SOLVE_TIME][0]; t < range[SOLVE_TIME][1]; t++)
        if (!solve_is_missing(tile, t, b))
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

void solve_visit_lines(const solve_tile *tile, const solve_domain *d, bool model_only,
                       solve_line_visitor function, void *context)
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
        if (!solve_baseline_counts(tile, baseline))
            continue;
        if (d)
            visit_row(&w, d, baseline);
        else
            visit_all(&w, baseline);
    }
    free(w.at);
}

#define LOAD_EACH(each)                                                                            \
    for (int64_t k = 0; k < count; k++)                                                            \
        to[k] = (double)from[k * (each)];

/* Numbers that lie `each` apart, which is mostly one of these. */
#define LOAD(name, type)                                                                           \
    static void name(const type *restrict from, int64_t each, int64_t count, double *restrict to)  \
    {                                                                                              \
        if (each == 1)                                                                             \
            LOAD_EACH(1)                                                                           \
        else if (each == 2)                                                                        \
            LOAD_EACH(2)                                                                           \
        else if (each == 4)                                                                        \
            LOAD_EACH(4)                                                                           \
        else if (each == 8)                                                                        \
            LOAD_EACH(8)                                                                           \
        else                                                                                       \
            LOAD_EACH(each)                                                                        \
    }

LOAD(load_singles, float)
LOAD(load_doubles, double)

void solve_load_line(const solve_view *view, int64_t at, int64_t step, int element, int64_t count,
                     double *re, double *im)
{
    const int64_t numbers = view->complex_ ? 2 : 1, each = numbers * step * view->elements;
    const int64_t first = numbers * (at * view->elements + (view->elements > 1 ? element : 0));
    const float *singles = (const float *)(const void *)view->data + (view->double_ ? 0 : first);
    const double *doubles = (const double *)(const void *)view->data + (view->double_ ? first : 0);

    if (view->double_)
        load_doubles(doubles, each, count, re);
    else
        load_singles(singles, each, count, re);
    if (im && numbers == 1)
        memset(im, 0, (size_t)count * sizeof(*im));
    else if (im && view->double_)
        load_doubles(doubles + 1, each, count, im);
    else if (im)
        load_singles(singles + 1, each, count, im);
}
