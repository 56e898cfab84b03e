/* A run of a fit: tile by tile, and in each the batches of domains one after the other; or where a
 * batch does not fit the memory, batch by batch, the tiles of each again and again. */
#include "nodes/fit/solve_table.h"

#include "util.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The last converged solution at a domain along frequency. */
typedef struct {
    int64_t unknowns;
    double *x; /* NULL: none */
} solution;

typedef struct {
    const solve *solve;
    grove_parm_run **parms;
    solution *last; /* [domains along frequency] */
    /* The tile that is fitted, or the batch of several tiles; 0 domains: none. And the domains of
     * the batch: numbers in these. */
    solve_domain *domains;
    int64_t count, first, end;
    bool begun, looked;          /* the batch; at the data of all its tiles */
    bool keeps;                  /* its sums: else each look at a tile makes them */
    bool restored;               /* a checkpoint has all of it */
    float *robust;               /* weights of the tile; NULL: they are not known, or not needed */
    solve_compressed compressed; /* sums of the tile, or of all of the batch; NULL: none */
    solve_remote *remote;
    solve_summary summary;
    solve_output *output;
} solve_run;

int solve_start(const grove_node *node, void **run)
{
    const solve *s = grove_node_user(node);
    solve_run *own = grove_alloc(sizeof(*own));

    own->solve = s;
    own->parms = grove_alloc((size_t)s->parm_count * sizeof(*own->parms) + 1);
    own->last = grove_alloc((size_t)s->cut[SOLVE_FREQ].count * sizeof(*own->last));
    own->remote = solve_remote_new();
    own->output = solve_output_new(s);
    *run = own;
    return 0;
}

static void drop_tile(solve_run *run)
{
    for (int64_t i = 0; i < run->count; i++)
        solve_domain_end(&run->domains[i]);
    free(run->domains);
    run->domains = NULL;
    run->count = 0;
    solve_compressed_end(&run->compressed);
    grove_free_gaps(run->robust);
    run->robust = NULL;
}

void solve_stop(const grove_node *node, void *of_run)
{
    solve_run *run = of_run;

    (void)node;
    drop_tile(run);
    for (int64_t i = 0; i < run->solve->cut[SOLVE_FREQ].count; i++)
        free(run->last[i].x);
    free(run->last);
    solve_remote_free(run->remote);
    solve_output_free(run->output);
    solve_summary_end(&run->summary);
    free(run->parms);
    free(run);
}

/* ---- domains ---- */

/* The next batch of the tile begins at run->first. */
static void find_batch(solve_run *run)
{
    int64_t next = run->domains[run->first].number[SOLVE_TIME] + run->solve->batch;

    run->end = run->first;
    while (run->end < run->count && run->domains[run->end].number[SOLVE_TIME] < next)
        run->end++;
}

static void begin_tile(solve_run *run, const solve_tile *tile)
{
    int64_t range[SOLVE_CUTS][2];

    for (int c = 0; c < SOLVE_CUTS; c++) {
        const grove_range *cells = tile->cut[c] >= 0 ? &tile->range[tile->cut[c]] : NULL;
        solve_find_range(&run->solve->cut[c], cells ? cells->first : 0,
                         cells ? cells->first + cells->count : 1, range[c]);
    }
    /* whole batches; the tile may be a part of them */
    int64_t each = run->solve->batch, first = range[SOLVE_TIME][0] / each * each,
            end = (range[SOLVE_TIME][1] + each - 1) / each * each;
    end = end < run->solve->cut[SOLVE_TIME].count ? end : run->solve->cut[SOLVE_TIME].count;
    int64_t times = end - first, bands = range[SOLVE_FREQ][1] - range[SOLVE_FREQ][0];
    run->count = times * bands;
    run->domains = grove_alloc((size_t)run->count * sizeof(*run->domains));
    for (int64_t i = 0; i < run->count; i++)
        solve_domain_begin(run->solve, &run->domains[i], first + i / bands,
                           range[SOLVE_FREQ][0] + i % bands);
    run->domains[0].describe = !run->summary.described;
    run->first = 0;
    find_batch(run);
}

/* Parms in the domain start where the domain at this frequency ended that converged last. */
static bool is_like_last(const solve_run *run, const solve_domain *d)
{
    const solution *last = &run->last[d->number[SOLVE_FREQ]];

    return last->x && last->unknowns == d->unknowns;
}

static void start_from_last(const solve_run *run, const solve_domain *d)
{
    if (is_like_last(run, d) && !solve_has_starts(run->solve))
        solve_put(run->solve, d, run->parms, run->last[d->number[SOLVE_FREQ]].x);
}

/* ---- searches, and StEFCal ---- */

/* Where StEFCal is slow, or more is asked for, the other method goes on. */
static void hand_over(const solve *s, solve_domain *d)
{
    bool slow =
        d->outcome == GROVE_LEAST_SQUARES_LIMIT || d->outcome == GROVE_LEAST_SQUARES_STALLED;

    if (s->method == SOLVE_AUTO &&
        (slow || ((s->robust || s->errors) && d->outcome == GROVE_LEAST_SQUARES_CONVERGED)))
        d->outcome = GROVE_LEAST_SQUARES_RUNNING;
}

static bool is_solved(const solve_domain *d)
{
    return d->outcome == GROVE_LEAST_SQUARES_CONVERGED || d->outcome == GROVE_LEAST_SQUARES_RUNNING;
}

/* A search for delays and TEC, or StEFCal. Domains in which that is slow go on from where it came
 * to. */
static void solve_domains(void *context, int64_t first, int64_t last)
{
    solve_evaluation *e = context;
    const solve *s = e->solve;

    for (int64_t i = first; i < last; i++) {
        solve_domain *d = e->active[i];
        double *x = grove_alloc(((size_t)d->unknowns + 1) * sizeof(*x));
        solve_get(s, d, e->parms, x);
        if (!s->direct) {
            if (!d->starts_well && solve_search(e->tile, d, x))
                solve_put(s, d, e->parms, x);
            free(x);
            continue;
        }
        solve_fail(e, solve_directly(e->tile, d, x));
        solve_put(s, d, e->parms, x);
        hand_over(s, d);
        free(x);
    }
}

/* With few data there are several minima: domains are tried again from where the one before them
 * came to. */
static int improve_batch(solve_evaluation *e, int64_t count)
{
    const solve *s = e->solve;
    int code = 0;

    for (int64_t i = 1; i < count && !code; i++) {
        solve_domain *d = e->active[i], *before = NULL;
        for (int64_t k = 0; k < i; k++)
            if (e->active[k]->number[SOLVE_FREQ] == d->number[SOLVE_FREQ])
                before = e->active[k];
        if (!before || !is_solved(before) || !is_solved(d) || before->unknowns != d->unknowns)
            continue;
        double *x = grove_alloc(((size_t)d->unknowns + 1) * sizeof(*x));
        bool better;
        solve_get(s, before, e->parms, x);
        code = solve_directly_from(e->tile, d, x, &better);
        if (better) {
            solve_put(s, d, e->parms, x);
            hand_over(s, d);
        }
        free(x);
    }
    return code;
}

/* The domains of the batch that are not done. */
static int64_t find_active(const solve_run *run, solve_domain **active)
{
    int64_t count = 0;

    for (int64_t i = run->first; i < run->end; i++)
        if (run->domains[i].outcome == GROVE_LEAST_SQUARES_RUNNING)
            active[count++] = &run->domains[i];
    return count;
}

/* The batch is done: counts its domains, and keeps the solutions that the next one starts from. */
static int end_batch(solve_run *run, const grove_node *node)
{
    for (int64_t i = run->first; i < run->end; i++) {
        solve_domain *d = &run->domains[i];
        solution *last = &run->last[d->number[SOLVE_FREQ]];
        solve_find_kept(node, run->solve, d);
        solve_summary_add(&run->summary, run->solve, d);
        solve_output_add(run->output, d);
        if (d->outcome == GROVE_LEAST_SQUARES_CONVERGED) {
            last->unknowns = d->unknowns;
            last->x = grove_realloc(last->x, ((size_t)d->unknowns + 1) * sizeof(double));
            solve_get(run->solve, d, run->parms, last->x);
        }
        grove_least_squares_free(d->fit);
        d->fit = NULL;
    }
    return solve_output_keep(run->output, node, run->domains + run->first, run->end - run->first,
                             run->parms);
}

static void restore_batch(solve_run *run)
{
    for (int64_t i = run->first; i < run->end; i++)
        solve_output_restore(run->output, &run->domains[i], run->parms);
}

/* Looks at a tile in which domains start, for searches and StEFCal. */
static void look_at_start(void *context, int64_t first, int64_t last)
{
    solve_evaluation *e = context;
    const solve *s = e->solve;

    for (int64_t i = first; i < last; i++) {
        solve_domain *d = e->active[i];
        if (solve_searched(s))
            solve_load_jones(e->tile, d);
        if (!solve_uses_stefcal(s))
            continue;
        double *x = grove_alloc(((size_t)d->unknowns + 1) * sizeof(*x));
        solve_get(s, d, e->parms, x);
        solve_find_direct(e->tile, d, x);
        solve_count_all(e->tile, d);
        free(x);
    }
}

/* Keeps the start values of stations without a signal. */
static void keep_start(const solve_run *run, solve_domain *d)
{
    if (!d->data_kind)
        return;
    d->start = grove_realloc(d->start, ((size_t)d->unknowns + 1) * sizeof(*d->start));
    solve_get(run->solve, d, run->parms, d->start);
}

/* Whether any domain of the batch has to be evaluated. Domains moved by StEFCal have to be
 * evaluated where they are now. */
static int begin_batch(solve_run *run, const grove_call *call, solve_tile *tile,
                       solve_evaluation *e, bool *again)
{
    restore_batch(run);
    int64_t count = find_active(run, e->active);
    bool searched = false;

    for (int64_t i = 0; i < count; i++) {
        e->active[i]->starts_well = solve_has_starts(run->solve) || is_like_last(run, e->active[i]);
        searched = searched || (!e->active[i]->starts_well && solve_searched(run->solve));
        keep_start(run, e->active[i]);
    }
    bool direct = run->compressed.sums && (solve_uses_stefcal(run->solve) || searched);
    int code = 0;

    if (direct && count) {
        grove_call_parallel(call, count, solve_domains, e);
        code = run->solve->direct ? improve_batch(e, count) : 0;
        count = find_active(run, e->active);
        *again = count > 0;
    }
    code = code ? code : e->code;
    if (!code)
        code = solve_remote_begin(call, run->remote, tile, e, count);
    for (int64_t i = 0; i < count && !code; i++)
        code = solve_start_fit(e, e->active[i]);
    return code;
}

/* The domains of the next tile are evaluated where they start. */
static void start_next_tile(solve_run *run)
{
    const solve *s = run->solve;
    int64_t first = run->domains[run->end - 1].number[SOLVE_TIME] + 1, end = first + s->batch;

    end = end < s->cut[SOLVE_TIME].count ? end : s->cut[SOLVE_TIME].count;
    int64_t band = run->domains[0].number[SOLVE_FREQ],
            last_band = run->domains[run->count - 1].number[SOLVE_FREQ];
    for (int64_t t = first; t < end; t++)
        for (int64_t f = band; f <= last_band; f++) {
            solve_domain d;
            solve_domain_begin(s, &d, t, f);
            start_from_last(run, &d);
            solve_domain_end(&d);
        }
}

/* The batch is done; the next one, if the tile has another, has to be evaluated where it starts. */
static int advance(solve_run *run, const grove_node *node, bool *again)
{
    int code = end_batch(run, node);

    if (code || run->end == run->count) {
        start_next_tile(run);
        drop_tile(run);
        return code;
    }
    run->first = run->end;
    find_batch(run);
    run->begun = false;
    for (int64_t i = run->first; i < run->end; i++)
        start_from_last(run, &run->domains[i]);
    *again = true;
    return 0;
}

/* Whether a checkpoint has all of the tile: it need not be looked at. */
static bool is_restored(const solve_run *run)
{
    for (int64_t i = 0; i < run->count; i++)
        if (!solve_output_has(run->output, &run->domains[i]))
            return false;
    return true;
}

static int restore_tile(solve_run *run, const grove_node *node)
{
    bool more = true;
    int code = 0;

    while (more && !code) {
        more = false;
        restore_batch(run);
        code = advance(run, node, &more);
    }
    return code;
}

/* Shows the progress of the batch. */
static void note_progress(const solve_run *run, const grove_node *node)
{
    int64_t all = run->solve->cut[SOLVE_TIME].count * run->solve->cut[SOLVE_FREQ].count, done = 0;
    double chi2 = 0, data = 0;

    for (int k = 0; k < SOLVE_OUTCOMES; k++)
        done += run->summary.outcomes[k];
    for (int64_t i = run->first; i < run->end; i++) {
        const solve_domain *d = &run->domains[i];
        chi2 += d->outcome == GROVE_LEAST_SQUARES_RUNNING ? d->sums.chi2 : d->chi2;
        data += (double)d->sums.data;
    }
    if (data > 0)
        grove_progress_note("%s: %lld of %lld domains, chi-squared %.3g", grove_node_name(node),
                            (long long)done, (long long)all, chi2 / data);
}

/* Which part of its batches the tile is. */
static void find_part(const solve_run *run, solve_tile *tile)
{
    const int64_t *first = run->solve->cut[SOLVE_TIME].first;
    int at = tile->cut[SOLVE_TIME];
    int64_t begin = first[run->domains[0].number[SOLVE_TIME]],
            end = first[run->domains[run->count - 1].number[SOLVE_TIME] + 1];

    tile->begins = at < 0 || tile->range[at].first == begin;
    tile->ends = at < 0 || tile->range[at].first + tile->range[at].count == end;
}

/* Before the first look at anything of a tile or batch. */
static void begin(solve_run *run, const grove_call *call, solve_tile *tile)
{
    const solve *s = run->solve;

    begin_tile(run, tile);
    find_part(run, tile);
    run->begun = run->looked = false;
    run->restored = is_restored(run);
    run->keeps = s->group_count && ((tile->begins && tile->ends) || solve_keeps_sums(s) ||
                                    grove_call_reads_once(call));
}

/* The sums of a tile. Kept sums are made before the batch is evaluated first. */
static int compress(solve_run *run, const grove_call *call, const solve_tile *tile, bool begins)
{
    bool whole = tile->begins && tile->ends;
    int code = 0;

    if (!run->solve->group_count || (run->keeps && (run->begun || (whole && !begins))))
        return 0;
    if (whole || !run->keeps)
        return solve_compress(call, tile, &run->compressed);
    if (begins)
        code = solve_compress_begin(tile, run->domains, run->count, &run->compressed);
    return code ? code : solve_compress_part(call, tile, &run->compressed);
}

/* Summed inputs are not needed again. */
static void leave_out(const solve_run *run, const grove_call *call, int inputs)
{
    for (int k = 0; k < inputs; k++)
        if (solve_is_summed(run->solve, k) && k != run->solve->uvw)
            grove_call_leave_out(call, k);
}

/* Robust fits need the data again, for each walk has other weights. */
static void drop_sums(solve_run *run)
{
    run->keeps = false;
    solve_compressed_end(&run->compressed);
}

/* The batch begins when all its inputs are known: its sums, if they are kept. */
static int begin_part(solve_run *run, const grove_call *call, solve_tile *tile, solve_evaluation *e,
                      bool *again)
{
    if (run->begun)
        return 0;
    if (run->keeps)
        grove_call_parallel(call, find_active(run, e->active), look_at_start, e);
    if (run->keeps && !tile->ends)
        return 0;
    run->begun = true;
    int code = begin_batch(run, call, tile, e, again);
    if (!code && run->keeps && !tile->begins) {
        if (run->solve->robust)
            drop_sums(run);
        else
            leave_out(run, call, tile->count);
        *again = find_active(run, e->active) > 0;
    }
    return code;
}

/* Weights of a robust fit: of a batch in one tile they are kept; of its parts each look finds them;
 * the first look may be for nothing else: `again`. */
static int weigh(solve_run *run, const grove_call *call, solve_tile *tile, solve_evaluation *e,
                 bool begins, bool *again)
{
    bool whole = tile->begins && tile->ends;
    int code = 0;

    if (whole && begins)
        code = solve_begin_weights(tile);
    else if (!whole && !run->robust)
        code = solve_weigh_part(call, tile, e, find_active(run, e->active), again);
    if (tile->robust)
        run->robust = tile->robust;
    tile->robust = run->robust;
    return code;
}

/* The look is over. */
static void drop_weights(solve_run *run, solve_evaluation *e)
{
    if (e->tile->begins && e->tile->ends)
        return;
    grove_free_gaps(run->robust);
    run->robust = NULL;
    solve_move_to_weights(e, find_active(run, e->active));
}

/* Where a device has the domains, it evaluates them. */
static int evaluate(solve_run *run, const grove_call *call, solve_tile *tile, solve_evaluation *e,
                    int64_t count)
{
    int code = e->active[0]->stage == SOLVE_ON_DEVICE
                   ? solve_remote_evaluate(call, run->remote, tile, e, count)
                   : GROVE_MISSING;

    if (code != GROVE_MISSING)
        return code;
    code = run->solve->remote ? solve_fetch(call, tile) : 0;
    return code ? code : solve_evaluate(call, e, count);
}

/* At a tile whose weights are known. */
static int look(solve_run *run, const grove_call *call, solve_tile *tile, solve_evaluation *e,
                bool begins, bool *again)
{
    int code = compress(run, call, tile, begins);

    if (!code)
        code = begin_part(run, call, tile, e, again);
    int64_t count = code || *again || !run->begun ? 0 : find_active(run, e->active);
    if (count) {
        code = evaluate(run, call, tile, e, count);
        *again = !code && find_active(run, e->active) > 0;
    }
    if (!run->keeps)
        solve_compressed_end(&run->compressed);
    if (run->solve->robust)
        drop_weights(run, e);
    if (!code && tile->ends)
        note_progress(run, call->node);
    if (!code && tile->ends && !*again)
        code = solve_count_lost(call, tile, run->domains, run->count);
    if (!code && tile->ends && !*again)
        code = advance(run, call->node, again);
    *again = *again || !tile->ends;
    return code;
}

static int drive(solve_run *run, const grove_call *call, solve_tile *tile, bool *again)
{
    bool begins = !run->count;

    if (begins)
        begin(run, call, tile);
    find_part(run, tile);
    tile->keeps = run->keeps;
    if (run->restored)
        return tile->ends ? restore_tile(run, call->node) : 0;
    solve_evaluation e = {run->solve, run->parms, tile,
                          grove_alloc(((size_t)run->count + 1) * sizeof(*e.active)), 0};
    int code = run->solve->remote ? 0 : solve_fetch(call, tile);
    if (!code && !run->looked)
        code = solve_look_first(call, tile, run->domains, run->count);
    run->looked = run->looked || tile->ends;
    if (!code && run->solve->robust)
        code = weigh(run, call, tile, &e, begins, again);
    if (!code && !*again)
        code = look(run, call, tile, &e, begins, again);
    free(e.active);
    return code;
}

static void find_parms(solve_run *run, const grove_call *call)
{
    for (int i = 0; i < run->solve->parm_count; i++)
        run->parms[i] = grove_call_parm_run(call, run->solve->parms[i].leaf);
}

int solve_drive(const grove_call *call, const grove_array *const *inputs, int count, bool *again)
{
    solve_run *run = call->run;
    solve_tile tile;

    find_parms(run, call);
    solve_output_take_back(run->output, run->parms);
    solve_tile_begin(&tile, run->solve, &run->compressed, inputs, count);
    int code = drive(run, call, &tile, again);
    solve_tile_end(&tile);
    if (!code && !*again) /* for later actions in this tile */
        solve_output_drop_unsolved(run->output, run->parms);
    return code == GROVE_NO_MEMORY
               ? grove_node_fail(call->node, code, "there is no memory for the normal equations")
               : code;
}

int solve_prepare(const grove_call *call)
{
    solve_run *run = call->run;
    int code = solve_summary_report(&run->summary, call->node);

    solve_summary_end(&run->summary); /* a run may have several cycles */
    if (code)
        solve_output_discard(run->output);
    find_parms(run, call);
    solve_output_take_back(run->output, run->parms);
    code = code ? code : solve_output_prepare(run->output, call, run->parms);
    solve_output_drop_all_unsolved(run->output, run->parms);
    return code;
}

int solve_begin(const grove_call *call)
{
    solve_run *run = call->run;

    find_parms(run, call);
    solve_output_take_back(run->output, run->parms);
    return solve_output_begin(run->output, call);
}

int solve_commit(const grove_call *call)
{
    solve_output_commit(((solve_run *)call->run)->output);
    return 0;
}

void solve_abort(const grove_call *call)
{
    solve_output_abort(((solve_run *)call->run)->output, call->node);
}
