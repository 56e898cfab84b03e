/* How many unflagged data of a fit keep a solution: both stations must have one. A station whose
 * data are all 0 has none. */
#include "nodes/fit/solve.h"

#include "util.h"

#include <math.h>
#include <stdlib.h>

/* ---- the data of baselines ---- */

/* Numbers of the cell that are not flagged, and have a weight. */
static int count_cell(const solve_tile *tile, const int64_t index[GROVE_MAX_AXES],
                      const int64_t cell[SOLVE_CUTS])
{
    const solve *s = tile->solve;
    const solve_view *data = &tile->views[SOLVE_DATA], *weights = &tile->views[s->weights];
    int64_t at = solve_cell_of(tile, data, index, cell);
    int count = 0;

    if (s->uvw >= 0 &&
        !solve_is_in_range(tile, solve_cell_of(tile, &tile->views[s->uvw], index, cell),
                           cell[SOLVE_FREQ]))
        return 0;
    for (int e = 0; e < s->elements; e++) {
        double complex number = solve_number(data, at, s->of_data[e]);
        if (solve_is_flagged(data, at, s->of_data[e]) || !isfinite(creal(number)) ||
            !isfinite(cimag(number)))
            continue;
        int64_t place = weights->data ? solve_cell_of(tile, weights, index, cell) : 0;
        double weight = weights->data ? creal(solve_number(weights, place, s->of_data[e])) : 1;
        count += weight > 0 && isfinite(weight) && !solve_is_flagged(weights, place, s->of_data[e]);
    }
    return count;
}

static void count_data(const solve_tile *tile, solve_domain *d)
{
    const grove_range *range = tile->baseline >= 0 ? &tile->range[tile->baseline] : NULL;
    int64_t box[SOLVE_CUTS][2], index[GROVE_MAX_AXES], cell[SOLVE_CUTS];

    if (!d->of_baseline)
        d->of_baseline =
            grove_alloc((size_t)(range ? range->axis->size : 1) * sizeof(*d->of_baseline));
    if (!solve_find_box(tile, d, box))
        return;
    for (int64_t row = 0; row < tile->rows; row++) {
        solve_find_row(tile, row, index);
        int64_t b = range ? index[tile->baseline] : 0, *to = d->of_baseline;
        to += range ? range->first + b : 0;
        if (range && !solve_baseline_counts(tile, range->first + b))
            continue;
        for (cell[0] = box[0][0]; cell[0] < box[0][1]; cell[0]++)
            for (cell[1] = box[1][0]; cell[1] < box[1][1] && !solve_is_missing(tile, cell[0], b);
                 cell[1]++)
                *to += count_cell(tile, index, cell);
    }
}

/* ---- stations with data of 0 only ---- */

/* The kind of the numbers in a cell that counts, if it is higher than the known one. */
static unsigned char find_cell_kind(const solve_tile *tile, const int64_t index[GROVE_MAX_AXES],
                                    const int64_t cell[SOLVE_CUTS], unsigned char known)
{
    const solve *s = tile->solve;
    const solve_view *data = &tile->views[SOLVE_DATA];
    int64_t at = solve_cell_of(tile, data, index, cell);
    unsigned char found = SOLVE_NOTHING;

    for (int e = 0; e < s->elements && found < SOLVE_SIGNAL; e++)
        if (!solve_is_flagged(data, at, s->of_data[e]))
            found = solve_number(data, at, s->of_data[e]) != 0 ? SOLVE_SIGNAL : SOLVE_ZEROS;
    return found > known && count_cell(tile, index, cell) ? found : known;
}

static unsigned char most(unsigned char a, unsigned char b)
{
    return a > b ? a : b;
}

/* Once both stations of a baseline have a signal, its data are not looked at. */
static void find_row_kinds(const solve_tile *tile, solve_domain *d, int64_t row, int64_t (*box)[2])
{
    const grove_range *range = &tile->range[tile->baseline];
    int64_t index[GROVE_MAX_AXES], cell[SOLVE_CUTS];

    solve_find_row(tile, row, index);
    int64_t b = index[tile->baseline], at = range->first + b;
    unsigned char *left = &d->data_kind[range->axis->left[at]],
                  *right = &d->data_kind[range->axis->right[at]],
                  known = *left < *right ? *left : *right;
    if (!solve_baseline_counts(tile, at))
        return;
    for (cell[0] = box[0][0]; cell[0] < box[0][1] && known < SOLVE_SIGNAL; cell[0]++)
        for (cell[1] = box[1][0];
             cell[1] < box[1][1] && known < SOLVE_SIGNAL && !solve_is_missing(tile, cell[0], b);
             cell[1]++)
            known = find_cell_kind(tile, index, cell, known);
    *left = most(*left, known);
    *right = most(*right, known);
}

static void find_data_kinds(const solve_tile *tile, solve_domain *d)
{
    const solve *s = tile->solve;
    int64_t box[SOLVE_CUTS][2];

    if (!d->data_kind)
        d->data_kind = grove_alloc((size_t)s->stations);
    if (!solve_find_box(tile, d, box))
        return;
    for (int64_t row = 0; row < tile->rows; row++)
        find_row_kinds(tile, d, row, box);
}

bool solve_is_silent(const solve *s, const solve_domain *d, int64_t station)
{
    /* those beyond are of no baseline */
    return d->data_kind && station < s->stations && d->data_kind[station] == SOLVE_ZEROS;
}

bool solve_leave_silent(const solve *s, const solve_domain *d, bool *known, double *x)
{
    bool any = false;

    for (int i = 0; i < s->parm_count && d->data_kind; i++)
        for (int64_t u = d->base[i]; u < d->base[i + 1]; u++) {
            if (!s->parms[i].parm->station ||
                !solve_is_silent(s, d, solve_find_place(s, d, i, u).station))
                continue;
            any = true;
            if (known)
                known[u] = false;
            if (x && d->start)
                x[u] = d->start[u];
        }
    return any;
}

/* ---- data with a solution ---- */

static bool is_whole(const solve_domain *d)
{
    bool whole = solve_is_found(d->outcome);

    for (int64_t u = 0; u < d->unknowns && whole && d->known; u++)
        whole = d->known[u];
    return whole;
}

/* Whether a parm has a coefficient of the station that the data determine; station -1: of any. */
static bool is_known(const solve *s, const solve_domain *d, int parm, int64_t station)
{
    const bool any = station < 0 || !s->parms[parm].parm->station;

    for (int64_t u = d->base[parm]; u < d->base[parm + 1]; u++)
        if (d->known[u] && (any || solve_find_place(s, d, parm, u).station == station))
            return true;
    return false;
}

/* With unsolved=nan data without one of the parms are flagged, else they have no solution if all
 * parms are missing. */
static bool is_solved(const solve *s, const solve_domain *d, int64_t station)
{
    bool all = true, any = false;

    for (int i = 0; i < s->parm_count; i++) {
        bool known = is_known(s, d, i, station);
        all = all && known;
        any = any || known;
    }
    return s->drops_unsolved ? all : any;
}

void solve_find_kept(const grove_node *node, const solve *s, solve_domain *d)
{
    const grove_axis *baseline = grove_node_input_axis(node, SOLVE_DATA, GROVE_AXIS_BASELINE);
    bool found = solve_is_found(d->outcome);

    if (d->stage == SOLVE_RESTORED)
        return;
    d->unflagged = d->sums.data / s->parts;
    d->kept = found ? d->unflagged : 0;
    /* one that steps have moved so far that its usual change no longer counts is a solution */
    bool moved = found && !s->drops_unsolved && d->iterations > 0 && !d->determined;
    if (!d->of_baseline || moved)
        return;
    bool *solved = grove_alloc((size_t)s->stations + 1);
    for (int64_t a = -1; a < s->stations && found; a++)
        solved[a + 1] = !d->known || is_solved(s, d, a);
    d->unflagged = d->kept = 0;
    for (int64_t b = 0; b < (baseline ? baseline->size : 1); b++) {
        bool keeps =
            baseline ? solved[baseline->left[b] + 1] && solved[baseline->right[b] + 1] : solved[0];
        d->unflagged += d->of_baseline[b];
        d->kept += keeps ? d->of_baseline[b] : 0;
    }
    free(solved);
}

/* ---- in a run ---- */

typedef struct {
    const solve_tile *tile;
    solve_domain **domains;
    void (*look)(const solve_tile *tile, solve_domain *d);
} counting;

static void look_at_domains(void *context, int64_t first, int64_t last)
{
    const counting *w = context;

    for (int64_t i = first; i < last; i++)
        w->look(w->tile, w->domains[i]);
}

/* Looks at the data of all domains, or of domains that have ended without a solution of all. */
static int look_at(const grove_call *call, solve_tile *tile, solve_domain *domains, int64_t number,
                   bool all, void (*look)(const solve_tile *tile, solve_domain *d))
{
    const solve *s = tile->solve;
    const int inputs[] = {SOLVE_DATA, s->weights, s->uvw, s->missing};
    counting w = {tile, grove_alloc((size_t)number * sizeof(*w.domains)), look};
    int64_t chosen = 0;
    int code = 0;

    for (int64_t i = 0; i < number; i++) {
        solve_domain *d = &domains[i];
        bool ended = d->outcome != GROVE_LEAST_SQUARES_RUNNING && d->stage != SOLVE_RESTORED &&
                     !d->of_baseline;
        if (all || (ended && !is_whole(d)))
            w.domains[chosen++] = d;
    }
    for (size_t k = 0; chosen && k < sizeof(inputs) / sizeof(inputs[0]) && !code; k++)
        if (inputs[k] >= 0 && inputs[k] < tile->count)
            code = solve_tile_fetch(call, tile, inputs[k]);
    if (!code)
        grove_call_parallel(call, chosen, look_at_domains, &w);
    free(w.domains);
    return code;
}

int solve_count_lost(const grove_call *call, solve_tile *tile, solve_domain *domains,
                     int64_t number)
{
    return tile->begins && tile->ends ? look_at(call, tile, domains, number, false, count_data) : 0;
}

int solve_look_first(const grove_call *call, solve_tile *tile, solve_domain *domains,
                     int64_t number)
{
    bool whole = tile->begins && tile->ends;
    int code = whole ? 0 : look_at(call, tile, domains, number, true, count_data);

    if (!code && tile->solve->products && tile->baseline >= 0)
        code = look_at(call, tile, domains, number, true, find_data_kinds);
    return code;
}
