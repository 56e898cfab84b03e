/* The normal equations of a domain from its sums, over baselines. */
#include "nodes/fit/compression.h"
#include "nodes/fit/solve.h"
#include "nodes/fit/stefcal.h"

#include "util.h"

#include <stdlib.h>

typedef struct {
    const solve_tile *tile;
    const solve_compressed *c;
    solve_domain *d;
    const struct grove_stefcal_kernels *kernels;
    int64_t *run[SOLVE_CUTS], runs[SOLVE_CUTS]; /* [runs + 1] the first stretch of each */
} adding;

/* Of a thread: derivatives of a stretch; normal equations of one that is not the first of its run.
 */
typedef struct {
    grove_compression_column *columns;
    solve_columns more;
    bool any; /* the run has some already */
} scratch;

static void fill_columns(const adding *w, const int64_t cell[SOLVE_CUTS], const int64_t station[2],
                         grove_compression_column *columns)
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

/* Adds a stretch, number `stretch` in the domain, to the equations of its run: its sums; its first
 * cell. */
static void add_stretch(const adding *w, const int64_t station[2], int64_t stretch,
                        const int64_t cell[SOLVE_CUTS], const double *sums, scratch *own,
                        solve_local *to)
{
    const solve *s = w->tile->solve;
    double count = grove_compression_count(sums);
    grove_compression_sides at = {solve_jones_at(s, w->d->jones, stretch, station[0], 0),
                                  solve_jones_at(s, w->d->jones, stretch, station[1], 1)};
    solve_columns *columns = own->any ? &own->more : &to->columns;

    if (!(count > 0) || !are_finite(at.left, s->group_count) ||
        !are_finite(at.right, s->group_count))
        return;
    fill_columns(w, cell, station, own->columns);
    to->chi2 +=
        grove_compression_normal(s->form, s->group_count, sums, at.left, at.right, own->columns,
                                 s->columns, columns->hermitian, columns->gradient);
    if (w->d->best) {
        grove_compression_sides from = {solve_jones_at(s, w->d->best, stretch, station[0], 0),
                                        solve_jones_at(s, w->d->best, stretch, station[1], 1)};
        to->change += grove_compression_change(w->kernels, s->form, s->group_count, sums, from, at);
    }
    to->data += (int64_t)count * s->parts / 2;
    double power = grove_compression_power(sums);
    to->power += power; /* nearly; nothing here is single */
    to->values += power;
    for (int k = 0; own->any && k < s->columns * s->columns; k++)
        to->columns.hermitian[k] += columns->hermitian[k];
    for (int k = 0; own->any && k < s->columns; k++)
        to->columns.gradient[k] += columns->gradient[k];
    own->any = true;
}

/* All stretches of a run in time and one in frequency have the same unknowns. */
static void find_baseline(const adding *w, int64_t b, const int64_t *times, const int64_t *freqs,
                          scratch *own, solve_local *to)
{
    const solve_tile *tile = w->tile;
    const grove_range *range = &tile->range[tile->baseline];
    const int64_t station[2] = {range->axis->left[range->first + b],
                                range->axis->right[range->first + b]};
    int64_t index[GROVE_MAX_AXES] = {0}, cell[SOLVE_CUTS] = {0};

    own->any = false;
    for (int64_t i = times[0]; i < times[1]; i++)
        for (int64_t j = freqs[0]; j < freqs[1]; j++) {
            cell[SOLVE_TIME] = solve_first_cell(tile, SOLVE_TIME, i);
            cell[SOLVE_FREQ] = solve_first_cell(tile, SOLVE_FREQ, j);
            add_stretch(w, station, solve_stretch_in(tile->solve, w->d, i, j), cell,
                        solve_sums_at(w->c, i, j, b), own, to);
        }
    index[tile->baseline] = b;
    if (own->any)
        solve_find_unknowns(tile, w->d, index, cell, &to->columns);
}

/* Items are baselines in runs. */
static void find_items(void *context, int64_t first, int64_t last, solve_local *locals)
{
    const adding *w = context;
    const solve_tile *tile = w->tile;
    int64_t freqs = w->runs[SOLVE_FREQ], baselines = w->c->baselines;
    scratch own = {.columns =
                       grove_alloc(((size_t)tile->solve->columns + 1) * sizeof(*own.columns))};

    solve_columns_begin(&own.more, tile->solve);
    for (int64_t item = first; item < last; item++, locals++) {
        int64_t b = item % baselines;
        locals->chi2 = locals->change = locals->power = locals->values = 0;
        locals->data = locals->all = 0;
        if (solve_is_wanted(tile, tile->range[tile->baseline].first + b))
            find_baseline(w, b, w->run[SOLVE_TIME] + item / baselines / freqs,
                          w->run[SOLVE_FREQ] + item / baselines % freqs, &own, locals);
    }
    solve_columns_end(&own.more);
    free(own.columns);
}

/* Stretches of the tile that are in one segment follow each other as a run. */
static void find_runs(adding *w, int cut)
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

void solve_compressed_normal(const grove_call *call, const solve_tile *tile,
                             const solve_compressed *c, solve_domain *d, double *matrix,
                             double *gradient)
{
    adding w = {.tile = tile, .c = c, .d = d, .kernels = grove_compression_kernels_now()};

    solve_load_jones(tile, d);
    d->sums.has_change = d->best != NULL;
    for (int cut = 0; cut < SOLVE_CUTS; cut++)
        find_runs(&w, cut);
    solve_add_locals(call, tile->solve, d, w.runs[SOLVE_TIME] * w.runs[SOLVE_FREQ] * c->baselines,
                     find_items, &w, matrix, gradient);
    free(w.run[SOLVE_TIME]);
    free(w.run[SOLVE_FREQ]);
}
