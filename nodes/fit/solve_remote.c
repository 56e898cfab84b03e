/* Fits whose matrices stay on a device: the choice, and the memory there. */
#include "nodes/fit/solve_remote.h"

#include "unstable/keep.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 1 << 30 /* kept on a device */ };
/* Bytes that the host sends for each domain of an iteration. */
enum { SENT = sizeof(grove_gather_domain) + sizeof(grove_solve_system) };

static const grove_kernel fit_keep = {
    "fit_keep", NULL, NULL, "fit_gather.cu", grove_fit_keep_threads, 0, 0};

solve_remote *solve_remote_new(void)
{
    solve_remote *r = grove_alloc(sizeof(*r));

    r->now = -1;
    return r;
}

void solve_remote_drop(solve_remote *r)
{
    free(r->domain);
    free(r->lists.at);
    r->domain = NULL;
    r->lists = (solve_lists){0};
    r->now = -1;
}

void solve_remote_free(solve_remote *r)
{
    solve_remote_drop(r);
    free(r);
}

/* ---- whether ---- */

/* Bounds and priors are with the host; alternating and robust fits have other matrices. */
static bool is_suitable(const solve *s)
{
    bool plain = !s->robust && s->columns <= GROVE_SOLVE_COLUMNS &&
                 (s->method == SOLVE_AUTO || s->method == SOLVE_LM);

    for (int i = 0; i < s->parm_count; i++) {
        const grove_parm *p = s->parms[i].parm;
        plain = plain && isinf(p->prior_sigma) && isinf(p->bounds[0]) && isinf(p->bounds[1]);
    }
    return plain;
}

/* Memory of the lists of a batch, as far as domains have been looked at, in time and frequency. */
typedef struct {
    int64_t last[2];     /* unknowns and items of the domain before */
    double batch, most;  /* numbers of the batch at hand, of any */
    int64_t each, first; /* numbers of an item; the batch's first domain along time */
} list_numbers;

static list_numbers begin_list_numbers(const solve *s)
{
    list_numbers numbers = {.each = 1 + s->columns};

    for (int k = 0; k < s->slot_count; k++)
        numbers.each += (int64_t)s->slots[k].terms * s->slots[k].parts;
    return numbers;
}

/* Domains that are alike share their lists, if they follow each other. */
static void add_list_numbers(list_numbers *numbers, const solve *s, const solve_domain *d,
                             int64_t items)
{
    int64_t batch = d->number[SOLVE_TIME] / s->batch;

    if (batch != numbers->first) {
        numbers->first = batch;
        numbers->last[0] = numbers->last[1] = 0;
        numbers->batch = 0;
    }
    if (d->unknowns != numbers->last[0] || items != numbers->last[1])
        numbers->batch += (double)(d->unknowns + 1 + items * numbers->each);
    numbers->last[0] = d->unknowns;
    numbers->last[1] = items;
    numbers->most = fmax(numbers->most, numbers->batch);
}

/* Compares the bytes that an iteration copies for each domain, either way. */
bool solve_may_be_remote(grove_node *node, solve *s, uint64_t *bytes)
{
    const grove_axis *baseline = grove_node_input_axis(node, SOLVE_DATA, GROVE_AXIS_BASELINE);
    int64_t rows = baseline ? baseline->size : 1, most = 0, domains = 0;
    double sums = 0, remote = 0;
    list_numbers lists = begin_list_numbers(s);

    for (int64_t t = 0; t < s->cut[SOLVE_TIME].count; t++)
        for (int64_t f = 0; f < s->cut[SOLVE_FREQ].count; f++) {
            solve_domain d;
            int64_t ti[2], fi[2];
            solve_domain_begin(s, &d, t, f);
            solve_stretches(s, &d, SOLVE_TIME, ti);
            solve_stretches(s, &d, SOLVE_FREQ, fi);
            int64_t items = rows * (ti[1] - ti[0]) * (fi[1] - fi[0]);
            most = d.unknowns > most ? d.unknowns : most;
            sums += (double)(items * grove_normal_size(s->columns)) * sizeof(double);
            remote += (double)(grove_point_head(d.unknowns) + GROVE_SOLVE_STEP + d.unknowns) *
                          sizeof(double) +
                      SENT;
            add_list_numbers(&lists, s, &d, items);
            solve_domain_end(&d);
        }
    domains = (s->batch < s->cut[SOLVE_TIME].count ? s->batch : s->cut[SOLVE_TIME].count) *
              s->cut[SOLVE_FREQ].count;
    double kept = (double)domains * (double)solve_remote_slot(most) * sizeof(double) +
                  lists.most * sizeof(int32_t) + sizeof(double);
    *bytes = 0;
    if (!is_suitable(s) || most > GROVE_SOLVE_UNKNOWNS || kept > MAX_BYTES || !(remote < sums))
        return false;
    *bytes = (uint64_t)(domains * grove_point_head(most)) * sizeof(double);
    s->remote_kept = (uint64_t)kept;
    grove_node_set_device_memory(node, s->remote_kept);
    return true;
}

/* ---- where the unknowns of domains are in the sums of a tile, for fit_gather ---- */

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

/* Calls fn of each unknown of an item's columns. */
static void each_unknown(finding *w, int64_t item, void (*fn)(finding *, int64_t, int64_t, int))
{
    const solve *s = w->tile->solve;
    const int32_t *unknown = w->unknown + item * s->columns;

    for (int k = 0; k < s->slot_count; k++)
        for (int i = 0; i < s->slots[k].terms; i++) {
            int column = s->slots[k].first + i;
            int64_t first = unknown[column] + (s->slots[k].part == GROVE_PART_IMAGINARY);
            for (int part = 0; part < s->slots[k].parts; part++)
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
        if (tile->baseline >= 0 &&
            !solve_baseline_counts(tile, tile->range[tile->baseline].first + b))
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

/* Adds the lists of a domain; returns where they begin, or -1: an item has an unknown twice. `row`:
 * the domain's first row of sums; `items`: how many it has. */
static int64_t add_lists(const solve_tile *tile, const solve_domain *d, solve_lists *lists,
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

/* ---- a batch begins ---- */

typedef struct {
    solve_remote *r;
    const solve_tile *tile;
    const solve_evaluation *e;
    int64_t count;
    bool unsuitable;
} starting;

static uint64_t lists_bytes(const solve_remote *r)
{
    return ((uint64_t)r->lists.count * sizeof(int32_t) + 7) / 8 * 8;
}

static int copy_words(const grove_call *call, const void *from, uint64_t bytes, void *to)
{
    grove_args args = {.axes = 1, .inputs = 1, .size = {(int64_t)(bytes / 8)}};
    const void *sent;
    int code = grove_call_send(call, from, bytes, &sent);

    args.in[0] = (grove_view){
        .data = (void *)(uintptr_t)sent, .elements = 1, .shape = GROVE_SCALAR, .bytes = 8};
    args.out = (grove_view){.data = to, .elements = 1, .shape = GROVE_SCALAR, .bytes = 8};
    return code ? code : grove_call_launch(call, &fit_keep, &args, true);
}

static int copy_sizes(const grove_call *call, const starting *w, char *to)
{
    const solve *s = w->tile->solve;
    double *sizes = grove_alloc(((size_t)w->r->unknowns + 1) * sizeof(*sizes));
    int code = 0;

    for (int64_t k = 0; k < w->count && !code; k++) {
        const solve_domain *d = w->e->active[k];
        for (int i = 0; i < s->parm_count; i++)
            for (int64_t u = d->base[i]; u < d->base[i + 1]; u++)
                sizes[u] = s->parms[i].size;
        code = copy_words(call, sizes, (uint64_t)d->unknowns * sizeof(*sizes),
                          to + (uint64_t)solve_remote_sizes(w->r, d) * sizeof(double));
    }
    free(sizes);
    return code;
}

/* Domains that are alike share their lists. False: the sums of an item would meet. */
static bool find_lists(const starting *w)
{
    solve_remote *r = w->r;
    int64_t before = 0, before_count = 0;

    for (int64_t k = 0; k < w->count; k++) {
        const solve_domain *d = w->e->active[k];
        int64_t end = r->lists.count, row;
        int32_t items;
        int64_t at = add_lists(w->tile, d, &r->lists, &row, &items);
        if (at < 0)
            return false;
        if (k && r->lists.count - at == before_count &&
            !memcmp(r->lists.at + at, r->lists.at + before,
                    (size_t)before_count * sizeof(int32_t)) &&
            items == r->domain[k - 1].items && d->unknowns == r->domain[k - 1].unknowns) {
            r->lists.count = end;
            at = before;
        }
        before = at;
        before_count = r->lists.count - at;
        if (before_count > INT32_MAX / 2)
            return false;
        r->domain[k] = (grove_gather_domain){
            .lists = at, .row = row, .unknowns = (int32_t)d->unknowns, .items = items};
    }
    r->lists.at = grove_realloc(r->lists.at, (size_t)(r->lists.count + 2) * sizeof(int32_t));
    r->lists.at[r->lists.count] = r->lists.at[r->lists.count + 1] = 0;
    return true;
}

/* Memory of a device is kept for the next batch. */
static int start_on_device(const grove_call *call, void *context)
{
    starting *w = context;
    solve_remote *r = w->r;
    int code = grove_call_zero(call, call->args->out.data, sizeof(double));

    w->unsuitable =
        w->unsuitable || call->device >= SOLVE_REMOTE_DEVICES || (!r->lists.at && !find_lists(w));
    if (code || w->unsuitable)
        return code;
    solve_remote_memory *own = &r->device[call->device];
    uint64_t slots = (uint64_t)(r->domains * solve_remote_slot(r->unknowns)) * sizeof(double),
             bytes = slots + lists_bytes(r);
    /* Domains of one shape have different lists where intervals of parms are irregular. */
    w->unsuitable = bytes > w->e->solve->remote_kept;
    if (w->unsuitable)
        return 0;
    if (bytes > own->bytes) {
        void *at;
        code = grove_call_keep(call, bytes, &at);
        if (code)
            return code;
        *own = (solve_remote_memory){at, bytes};
    }
    code = copy_words(call, r->lists.at, lists_bytes(r), own->at + slots);
    code = code ? code : copy_sizes(call, w, own->at);
    r->now = code ? -1 : call->device;
    return code;
}

int solve_remote_begin(const grove_call *call, solve_remote *r, solve_tile *tile,
                       const solve_evaluation *e, int64_t count)
{
    starting w = {.r = r, .tile = tile, .e = e, .count = count};
    double done;
    grove_computation what = {.compute = start_on_device,
                              .context = &w,
                              .result = &done,
                              .bytes = sizeof(done)},
                      unused;

    solve_remote_drop(r);
    if (!e->solve->remote || !count || !tile->begins || !tile->ends ||
        solve_divides_stretches(tile))
        return 0;
    solve_find_normal(tile, &unused);
    r->domain = grove_alloc((size_t)count * sizeof(*r->domain));
    r->domains = count;
    r->unknowns = 0;
    for (int64_t k = 0; k < count; k++) {
        e->active[k]->slot = k;
        e->active[k]->best_point = 0;
        r->unknowns = e->active[k]->unknowns > r->unknowns ? e->active[k]->unknowns : r->unknowns;
    }
    if (!r->unknowns)
        return 0;
    int code = grove_call_compute(call, &what);
    for (int64_t k = 0; k < count; k++)
        e->active[k]->stage = !code && !w.unsuitable ? SOLVE_ON_DEVICE : SOLVE_STEPS;
    return code == GROVE_MISSING ? 0 : code;
}
