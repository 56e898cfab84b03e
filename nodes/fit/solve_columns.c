/* Local normal equations: complex ones of the columns of a row, and how they add to the equations
 * of a domain's real unknowns. */
#include "nodes/fit/solve.h"

#include "util.h"

#include <math.h>
#include <stdlib.h>

void solve_columns_begin(solve_columns *columns, const solve *s)
{
    size_t n = (size_t)s->columns;

    columns->count = s->columns;
    columns->hermitian = grove_alloc((n * n + 1) * sizeof(*columns->hermitian));
    columns->gradient = grove_alloc((n + 1) * sizeof(*columns->gradient));
    columns->unknown = grove_alloc((n + 1) * sizeof(*columns->unknown));
}

void solve_columns_end(solve_columns *columns)
{
    free(columns->hermitian);
    free(columns->gradient);
    free(columns->unknown);
}

/* ---- which unknowns they are ---- */

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
void solve_find_unknowns(const solve_tile *tile, const solve_domain *d,
                         const int64_t index[GROVE_MAX_AXES], const int64_t cell[SOLVE_CUTS],
                         solve_columns *columns)
{
    const solve *s = tile->solve;

    for (int k = 0; k < s->slot_count; k++) {
        const solve_slot *slot = &s->slots[k];
        const solve_parm *own = &s->parms[slot->parm];
        const grove_parm *p = own->parm;
        solve_span time = solve_intervals(s, d, slot->parm, SOLVE_TIME),
                   freq = solve_intervals(s, d, slot->parm, SOLVE_FREQ);
        double x;
        int64_t source = cell_along(tile, slot, p->groups ? p->groups : p->source, index);
        if (p->groups && slot->axis != p->groups)
            source = (int64_t)p->group[cell_along(tile, slot, p->source, index)];
        int64_t at = slot->member * own->sources + source;
        at = at * own->stations + cell_along(tile, slot, p->station, index);
        at = at * time.count + grove_parm_find(&p->time, cell[SOLVE_TIME], &x) - time.first;
        at = at * freq.count + grove_parm_find(&p->freq, cell[SOLVE_FREQ], &x) - freq.first;
        for (int t = 0; t < slot->terms; t++)
            columns->unknown[slot->first + t] =
                d->base[slot->parm] + (at * slot->terms + t) * own->parts;
    }
}

/* The terms of a parm's polynomials at a cell. */
void solve_find_basis(const grove_parm *p, const int64_t cell[SOLVE_CUTS], double *basis)
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

/* ---- into the unknowns ---- */

/* Real derivatives of a column: by the real part it is the column, by the imaginary part i or -i
 * times it. */
static int parts_of(const solve_slot *slot, double complex factor[2], int offset[2])
{
    factor[0] = 1;
    offset[0] = slot->part == GROVE_PART_IMAGINARY;
    factor[1] = slot->part == GROVE_PART_BOTH ? CMPLX(0, 1) : CMPLX(0, -1);
    offset[1] = 1;
    return slot->parts;
}

static void scatter_pair(const solve_columns *columns, const solve_slot *slot_a, int a,
                         const solve_slot *slot_b, int b, const grove_least_squares_layout *layout,
                         double *matrix)
{
    double complex factor_a[2], factor_b[2];
    int offset_a[2], offset_b[2];
    int parts_a = parts_of(slot_a, factor_a, offset_a),
        parts_b = parts_of(slot_b, factor_b, offset_b);
    int n = columns->count;
    double complex h = columns->hermitian[a * n + b];

    if (h == 0 || columns->unknown[a] + 1 < columns->unknown[b]) /* the lower triangle is kept */
        return;
    for (int i = 0; i < parts_a; i++)
        for (int j = 0; j < parts_b; j++) {
            int64_t row = columns->unknown[a] + offset_a[i],
                    column = columns->unknown[b] + offset_b[j];
            int64_t at = row >= column ? grove_least_squares_find(layout, row, column) : -1;
            if (at < 0)
                continue;
            double complex factor = conj(factor_a[i]) * factor_b[j];
            matrix[at] += creal(factor) * creal(h) - cimag(factor) * cimag(h);
        }
}

/* Rows of the matrix are dealt out to groups, ROWS_AT_ONCE neighbours at a time; a thread adds the
 * rows of some groups. */
enum { ROWS_AT_ONCE = 8, ROW_GROUPS = 8 };
/* Fewer than MANY_DOMAINS domains, of at least MANY_ITEMS items, are worth sharing, and large items
 * are shared always, so that they take the same memory on any number of threads: whether it is
 * done, and how many items are taken at a time, changes no bit. */
enum { MANY_DOMAINS = 8, MANY_ITEMS = 256 };
enum { SHARED = 512, FEWEST = 8, ALONE = 8, SHARED_BYTES = 2 << 20 };

/* The rows of groups [groups[0], groups[1]). */
static void scatter(const solve *s, const solve_domain *d, const solve_columns *columns,
                    const int64_t groups[2], double *matrix, double *gradient)
{
    const grove_least_squares_layout *layout = grove_least_squares_layout_of(d->fit);

    for (int k = 0; k < s->slot_count; k++)
        for (int t = 0; t < s->slots[k].terms; t++) {
            int a = s->slots[k].first + t;
            int64_t group = columns->unknown[a] / 2 * 2 / ROWS_AT_ONCE % ROW_GROUPS;
            double complex factor[2];
            if (group < groups[0] || group >= groups[1])
                continue;
            int offset[2], parts = parts_of(&s->slots[k], factor, offset);
            for (int i = 0; i < parts; i++)
                gradient[columns->unknown[a] + offset[i]] +=
                    creal(conj(factor[i]) * columns->gradient[a]);
            for (int l = 0; l < s->slot_count; l++)
                for (int u = 0; u < s->slots[l].terms; u++)
                    scatter_pair(columns, &s->slots[k], a, &s->slots[l], s->slots[l].first + u,
                                 layout, matrix);
        }
}

/* ---- of one domain on several threads ---- */

typedef struct {
    const solve *s;
    const solve_domain *d;
    const solve_source *source;
    solve_local *locals;
    double *matrix, *gradient;
    int64_t first, count; /* of the items in locals */
} sharing;

static void find_locals(void *context, int64_t first, int64_t last)
{
    const sharing *w = context;

    solve_find_items(w->source, w->first + first, w->first + last, w->locals + first);
}

static void scatter_locals(void *context, int64_t first, int64_t last)
{
    const sharing *w = context;
    const int64_t groups[2] = {first, last};

    for (int64_t i = 0; i < w->count; i++)
        if (w->locals[i].sums.data)
            scatter(w->s, w->d, &w->locals[i].columns, groups, w->matrix, w->gradient);
}

static void add_sums(solve_domain *d, const solve_local *local)
{
    d->all += local->all;
    d->sums.chi2 += local->sums.chi2;
    d->sums.change += local->sums.change;
    d->sums.power += local->sums.power;
    d->sums.values += local->sums.values;
    d->sums.data += local->sums.data;
}

static double bytes_of_local(const solve *s)
{
    return sizeof(double complex) * pow(s->columns + 2, 2);
}

/* Items that are so large that FEWEST of them take more than SHARED_BYTES. */
static bool are_large(const solve *s)
{
    return FEWEST * bytes_of_local(s) > SHARED_BYTES;
}

bool solve_is_shared(const solve *s, int64_t domains, int64_t items)
{
    return are_large(s) || (domains < MANY_DOMAINS && items >= MANY_ITEMS);
}

/* How many items are taken at a time by all threads, or by one, which may take an eighth of the
 * memory. */
static int64_t locals_of(const solve *s, bool shared)
{
    double fit = SHARED_BYTES / bytes_of_local(s);

    return (int64_t)(shared ? fmax(fmin(fit, SHARED), FEWEST) : fmax(fmin(fit / 8, ALONE), 1));
}

double solve_locals_bytes(const solve *s)
{
    return are_large(s) ? (double)locals_of(s, true) * bytes_of_local(s) : 0;
}

void solve_add_items(const grove_call *call, const solve *s, solve_domain *d,
                     const solve_source *source, int64_t items)
{
    int64_t most = locals_of(s, call != NULL);
    sharing w = {.s = s,
                 .d = d,
                 .source = source,
                 .locals = grove_alloc((size_t)most * sizeof(*w.locals)),
                 .matrix = grove_least_squares_matrix(d->fit),
                 .gradient = grove_least_squares_gradient(d->fit)};

    for (int64_t i = 0; i < most; i++)
        solve_columns_begin(&w.locals[i].columns, s);
    for (; w.first < items && !grove_interrupted(); w.first += most) {
        w.count = items - w.first < most ? items - w.first : most;
        if (call) {
            grove_call_parallel(call, w.count, find_locals, &w);
            grove_call_parallel(call, ROW_GROUPS, scatter_locals, &w);
        } else {
            find_locals(&w, 0, w.count);
            scatter_locals(&w, 0, ROW_GROUPS);
        }
        for (int64_t i = 0; i < w.count; i++)
            add_sums(d, &w.locals[i]);
    }
    for (int64_t i = 0; i < most; i++)
        solve_columns_end(&w.locals[i].columns);
    free(w.locals);
}
