/* Where the unknowns of domains are in the sums of a tile. */
#include "nodes/fit/solve.h"

#include "../../kernels/fit/fit_solve.h"

#include "util.h"

#include <stdlib.h>
#include <string.h>

/* Of a domain: its items, in the order in which the host adds them. */
typedef struct {
    const solve_tile *tile;
    const solve_domain *d;
    solve_columns columns;
    int64_t t[2], f[2]; /* stretches */
    int32_t *row, *unknown, *list;
    int64_t items, entries;
    int64_t *last; /* [unknowns] the last item that has it */
    bool twice;
} finding;

/* The real unknowns that a column is of, one or two: the first. */
static int64_t unknowns_of(const solve_slot *slot, int64_t unknown, int *count)
{
    bool both = slot->part == GROVE_PART_BOTH || slot->part == GROVE_PART_BOTH_CONJUGATE;

    *count = both ? 2 : 1;
    return unknown + (slot->part == GROVE_PART_IMAGINARY);
}

/* Calls fn of each unknown of an item's columns. */
static void each_unknown(finding *w, int64_t item, void (*fn)(finding *, int64_t, int64_t, int))
{
    const solve *s = w->tile->solve;
    const int32_t *unknown = w->unknown + item * s->columns;

    for (int k = 0; k < s->slot_count; k++)
        for (int i = 0; i < s->slots[k].terms; i++) {
            int column = s->slots[k].first + i, count;
            int64_t first = unknowns_of(&s->slots[k], unknown[column], &count);
            for (int part = 0; part < count; part++)
                fn(w, item, first + part, column);
        }
}

/* Counts an unknown; the lists of the next one begin there. */
static void count(finding *w, int64_t item, int64_t unknown, int column)
{
    (void)column;
    w->twice = w->twice || w->last[unknown] == item;
    w->last[unknown] = item;
    w->list[unknown + 1]++;
    w->entries++;
}

/* Puts it into its list; `last` is where the list goes on. */
static void put(finding *w, int64_t item, int64_t unknown, int column)
{
    int32_t *entries = w->list + w->d->unknowns + 1;

    entries[w->last[unknown]++] = (int32_t)(item * w->tile->solve->columns + column);
}

static void add_item(finding *w, int64_t b, int64_t i, int64_t j,
                     const int64_t index[GROVE_MAX_AXES])
{
    const solve *s = w->tile->solve;
    const solve_compressed *c = w->tile->sums;
    const int64_t cell[SOLVE_CUTS] = {solve_stretch_edge(s, SOLVE_TIME, i),
                                      solve_stretch_edge(s, SOLVE_FREQ, j)};
    int32_t *unknown = w->unknown + w->items * s->columns;

    solve_find_unknowns(w->tile, w->d, index, cell, &w->columns);
    for (int a = 0; a < s->columns; a++)
        unknown[a] = (int32_t)w->columns.unknown[a];
    w->row[w->items++] =
        (int32_t)(((i - w->t[0]) * c->count[SOLVE_FREQ] + j - w->f[0]) * c->baselines + b);
}

static void add_items(finding *w)
{
    const solve_tile *tile = w->tile;
    int64_t index[GROVE_MAX_AXES];

    for (int64_t row = 0; row < tile->rows; row++) {
        solve_find_row(tile, row, index);
        int64_t b = tile->baseline < 0 ? 0 : index[tile->baseline];
        if (tile->baseline >= 0 && !solve_is_wanted(tile, tile->range[tile->baseline].first + b))
            continue;
        for (int64_t i = w->t[0]; i < w->t[1]; i++)
            for (int64_t j = w->f[0]; j < w->f[1]; j++)
                add_item(w, b, i, j, index);
    }
}

/* The lists of all unknowns, one after the other. */
static void make_lists(finding *w)
{
    int64_t n = w->d->unknowns, columns = w->tile->solve->columns;

    w->list = grove_alloc((size_t)(n + 1 + 2 * w->items * columns) * sizeof(*w->list));
    w->last = grove_alloc((size_t)(n + 1) * sizeof(*w->last));
    for (int64_t j = 0; j < n; j++)
        w->last[j] = -1;
    for (int64_t item = 0; item < w->items; item++)
        each_unknown(w, item, count);
    for (int64_t j = 0; j < n; j++) {
        w->last[j] = w->list[j];
        w->list[j + 1] += w->list[j];
    }
    for (int64_t item = 0; item < w->items; item++)
        each_unknown(w, item, put);
}

static int64_t append(const finding *w, solve_lists *lists)
{
    int64_t first = lists->count, columns = w->tile->solve->columns;
    const int64_t counts[] = {w->items, w->items * columns, w->d->unknowns + 1 + w->entries};
    const int32_t *const from[] = {w->row, w->unknown, w->list};

    lists->count += counts[0] + counts[1] + counts[2];
    lists->at = grove_realloc(lists->at, (size_t)lists->count * sizeof(*lists->at));
    int32_t *to = lists->at + first;
    for (int k = 0; k < 3; k++) {
        memcpy(to, from[k], (size_t)counts[k] * sizeof(*to));
        to += counts[k];
    }
    return first;
}

int64_t solve_add_lists(const solve_tile *tile, const solve_domain *d, solve_lists *lists,
                        int64_t *row, int32_t *items)
{
    const solve_compressed *c = tile->sums;
    finding w = {.tile = tile, .d = d};
    int64_t first = -1;

    solve_tile_stretches(tile, d, SOLVE_TIME, w.t);
    solve_tile_stretches(tile, d, SOLVE_FREQ, w.f);
    *row =
        ((w.t[0] - c->first[SOLVE_TIME]) * c->count[SOLVE_FREQ] + w.f[0] - c->first[SOLVE_FREQ]) *
        c->baselines;
    int64_t most = tile->rows * (w.t[1] - w.t[0]) * (w.f[1] - w.f[0]);
    w.row = grove_alloc((size_t)(most + 1) * sizeof(*w.row));
    w.unknown = grove_alloc((size_t)(most * tile->solve->columns + 1) * sizeof(*w.unknown));
    solve_columns_begin(&w.columns, tile->solve);
    add_items(&w);
    make_lists(&w);
    *items = (int32_t)w.items;
    if (!w.twice)
        first = append(&w, lists);
    solve_columns_end(&w.columns);
    free(w.row);
    free(w.unknown);
    free(w.list);
    free(w.last);
    return first;
}
