/* A run of a fit: tile by tile, and in each the batches of domains one after the other. */
#include "nodes/solve.h"

#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OUTCOMES = GROVE_LEAST_SQUARES_NOT_FINITE + 1 };

/* The last converged solution at a domain along frequency. */
typedef struct {
    int64_t unknowns;
    double *x; /* NULL: none */
} solution;

typedef struct {
    const solve *solve;
    grove_parm_run **parms;
    solution *last; /* [domains along frequency] */
    /* The tile that is fitted; 0 domains: none. */
    solve_domain *domains;
    int64_t count, batch;
    int64_t outcomes[OUTCOMES], iterations, data;
    double chi2;
} solve_run;

int solve_start(const grove_node *node, void **run)
{
    const solve *s = grove_node_user(node);
    solve_run *own = grove_alloc(sizeof(*own));

    own->solve = s;
    own->parms = grove_alloc((size_t)s->parm_count * sizeof(*own->parms) + 1);
    own->last = grove_alloc((size_t)s->cut[SOLVE_FREQ].count * sizeof(*own->last));
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
}

void solve_stop(const grove_node *node, void *of_run)
{
    solve_run *run = of_run;

    (void)node;
    drop_tile(run);
    for (int64_t i = 0; i < run->solve->cut[SOLVE_FREQ].count; i++)
        free(run->last[i].x);
    free(run->last);
    free(run->parms);
    free(run);
}

/* ---- domains ---- */

static int64_t batch_of(const solve_run *run, const solve_domain *d)
{
    return d->number[SOLVE_TIME] / run->solve->batch;
}

/* The domains of [first, end) cells. */
static void find_range(const solve_cut *cut, int64_t first, int64_t end, int64_t range[2])
{
    range[0] = 0;
    while (cut->first[range[0] + 1] <= first)
        range[0]++;
    range[1] = range[0];
    while (range[1] < cut->count && cut->first[range[1]] < end)
        range[1]++;
}

static void begin_tile(solve_run *run, const solve_tile *tile)
{
    int64_t range[SOLVE_CUTS][2];

    for (int c = 0; c < SOLVE_CUTS; c++) {
        const grove_range *cells = tile->cut[c] >= 0 ? &tile->range[tile->cut[c]] : NULL;
        find_range(&run->solve->cut[c], cells ? cells->first : 0,
                   cells ? cells->first + cells->count : 1, range[c]);
    }
    int64_t times = range[SOLVE_TIME][1] - range[SOLVE_TIME][0],
            bands = range[SOLVE_FREQ][1] - range[SOLVE_FREQ][0];
    run->count = times * bands;
    run->domains = grove_alloc((size_t)run->count * sizeof(*run->domains));
    for (int64_t i = 0; i < run->count; i++)
        solve_domain_begin(run->solve, &run->domains[i], range[SOLVE_TIME][0] + i / bands,
                           range[SOLVE_FREQ][0] + i % bands);
    run->batch = batch_of(run, &run->domains[0]);
}

/* Parms in the domain start where the domain at this frequency ended that converged last. Whether
 * that changes anything. */
static bool start_from_last(const solve_run *run, const solve_domain *d)
{
    const solution *last = &run->last[d->number[SOLVE_FREQ]];

    if (!last->x || last->unknowns != d->unknowns)
        return false;
    solve_put(run->solve, d, run->parms, last->x);
    return true;
}

/* A block for each station, and one for what is the same for all. */
static int32_t *find_blocks(const solve *s, const solve_domain *d)
{
    int32_t *block = grove_alloc((size_t)d->unknowns * sizeof(*block) + 1);

    for (int i = 0; i < s->parm_count; i++) {
        const grove_parm *p = s->parms[i].parm;
        int64_t end = i + 1 < s->parm_count ? d->base[i + 1] : d->unknowns;
        int64_t sources = p->source ? p->source->size : 1,
                stations = p->station ? p->station->size : 0;
        int64_t each = (end - d->base[i]) / (p->members * sources * (stations ? stations : 1));
        for (int64_t j = 0; j < end - d->base[i]; j++)
            block[d->base[i] + j] = stations ? (int32_t)(1 + j / each % stations) : 0;
    }
    return block;
}

/* Bounds, means and widths of priors of all unknowns. */
typedef struct {
    double *lower, *upper, *mean, *inverse_sigma;
} limits;

static void fill_limits(const solve *s, const solve_domain *d, limits *to)
{
    for (int i = 0; i < s->parm_count; i++) {
        const grove_parm *p = s->parms[i].parm;
        int64_t end = i + 1 < s->parm_count ? d->base[i + 1] : d->unknowns;
        int64_t terms = p->time.terms * p->freq.terms, parts = s->parms[i].parts;
        int64_t each = (end - d->base[i]) / p->members;
        for (int64_t u = d->base[i]; u < end; u++) {
            int64_t at = u - d->base[i];
            bool first = at / parts % terms == 0;
            to->lower[u] = first ? p->bounds[0] : -INFINITY;
            to->upper[u] = first ? p->bounds[1] : INFINITY;
            to->mean[u] = p->prior_mean[at / each][at % parts];
            to->inverse_sigma[u] = first ? 1 / p->prior_sigma : 0;
        }
    }
}

static int new_fit(const solve_run *run, solve_domain *d)
{
    const solve *s = run->solve;
    size_t n = (size_t)d->unknowns;
    double *numbers = grove_alloc((5 * n + 1) * sizeof(*numbers));
    limits l = {numbers, numbers + n, numbers + 2 * n, numbers + 3 * n};
    int32_t *blocks = s->blocks ? find_blocks(s, d) : NULL;

    fill_limits(s, d, &l);
    solve_get(s, d, run->parms, numbers + 4 * n);
    grove_least_squares_settings settings = {.max_iterations = s->max_iterations,
                                             .tolerance = s->tolerance,
                                             .damping = s->damping,
                                             .blocks = s->blocks,
                                             .block_of = blocks,
                                             .lower = l.lower,
                                             .upper = l.upper,
                                             .mean = l.mean,
                                             .inverse_sigma = l.inverse_sigma};
    d->fit = grove_least_squares_new(d->unknowns, &settings, numbers + 4 * n);
    free(blocks);
    free(numbers);
    return d->fit ? 0 : GROVE_NO_MEMORY;
}

/* ---- evaluation ---- */

typedef struct {
    solve_run *run;
    const solve_tile *tile;
    solve_domain **active;
} evaluation;

static void evaluate(void *context, int64_t first, int64_t last)
{
    const evaluation *e = context;
    const solve *s = e->run->solve;

    for (int64_t i = first; i < last; i++) {
        solve_domain *d = e->active[i];
        bool begins = grove_least_squares_iterations(d->fit) == 0;
        solve_normal(e->tile, d, grove_least_squares_matrix(d->fit),
                     grove_least_squares_gradient(d->fit));
        if (begins && (double)d->sums.data < s->quota * (double)d->all)
            d->outcome = GROVE_LEAST_SQUARES_NO_DATA;
        else
            d->outcome = grove_least_squares_step(d->fit, &d->sums);
        bool running = d->outcome == GROVE_LEAST_SQUARES_RUNNING;
        solve_put(s, d, e->run->parms,
                  running ? grove_least_squares_point(d->fit) : grove_least_squares_best(d->fit));
    }
}

/* The domains of the batch that are not done. */
static int64_t find_active(const solve_run *run, solve_domain **active)
{
    int64_t count = 0;

    for (int64_t i = 0; i < run->count; i++)
        if (batch_of(run, &run->domains[i]) == run->batch &&
            run->domains[i].outcome == GROVE_LEAST_SQUARES_RUNNING)
            active[count++] = &run->domains[i];
    return count;
}

static void count_domain(solve_run *run, const solve_domain *d)
{
    run->outcomes[d->outcome]++;
    if (d->outcome == GROVE_LEAST_SQUARES_NO_DATA || d->outcome == GROVE_LEAST_SQUARES_NOT_FINITE)
        return;
    run->iterations += grove_least_squares_iterations(d->fit);
    run->chi2 += grove_least_squares_chi2(d->fit);
    run->data += d->sums.data - grove_least_squares_rank(d->fit);
}

/* The batch is done: counts its domains, and keeps the solutions that the next one starts from. */
static void end_batch(solve_run *run)
{
    for (int64_t i = 0; i < run->count; i++) {
        solve_domain *d = &run->domains[i];
        solution *last = &run->last[d->number[SOLVE_FREQ]];
        if (batch_of(run, d) != run->batch)
            continue;
        count_domain(run, d);
        if (d->outcome == GROVE_LEAST_SQUARES_CONVERGED) {
            last->unknowns = d->unknowns;
            last->x = grove_realloc(last->x, ((size_t)d->unknowns + 1) * sizeof(double));
            memcpy(last->x, grove_least_squares_best(d->fit), (size_t)d->unknowns * sizeof(double));
        }
        grove_least_squares_free(d->fit);
        d->fit = NULL;
    }
}

static int begin_batch(solve_run *run)
{
    int code = 0;

    for (int64_t i = 0; i < run->count && !code; i++)
        if (batch_of(run, &run->domains[i]) == run->batch)
            code = new_fit(run, &run->domains[i]);
    return code;
}

/* The domains of the next tile are evaluated where they start. */
static void start_next_tile(solve_run *run)
{
    const solve *s = run->solve;
    int64_t first = (run->batch + 1) * s->batch, end = first + s->batch;

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

/* The batch is done; the next one, if the tile has another. Whether it has to be evaluated again. */
static int advance(solve_run *run, bool *again)
{
    const solve_domain *end = &run->domains[run->count - 1];
    int code = 0;

    end_batch(run);
    if (run->batch == batch_of(run, end)) {
        start_next_tile(run);
        drop_tile(run);
        return 0;
    }
    run->batch++;
    for (int64_t i = 0; i < run->count; i++)
        if (batch_of(run, &run->domains[i]) == run->batch)
            start_from_last(run, &run->domains[i]);
    code = begin_batch(run);
    *again = true;
    return code;
}

int solve_drive(const grove_node *node, void *of_run, const grove_array *const *inputs, int count,
                bool *again)
{
    solve_run *run = of_run;
    solve_tile tile;
    int code = 0;

    for (int i = 0; i < run->solve->parm_count; i++)
        run->parms[i] = grove_node_parm_run(node, run->solve->parms[i].leaf);
    solve_tile_begin(&tile, run->solve, inputs, count);
    if (!run->count) {
        begin_tile(run, &tile);
        code = begin_batch(run);
    }
    solve_domain **active = grove_alloc((size_t)run->count * sizeof(*active));
    evaluation e = {run, &tile, active};
    int64_t wanted = code ? 0 : find_active(run, active);
    if (wanted)
        grove_node_parallel(node, wanted, evaluate, &e);
    *again = !code && find_active(run, active) > 0;
    if (!code && !*again)
        code = advance(run, again);
    free(active);
    solve_tile_end(&tile);
    return code ? grove_node_fail(node, code, "there is no memory for the normal equations") : 0;
}

/* ---- the end ---- */

int solve_prepare(const grove_node *node, void *of_run)
{
    const solve_run *run = of_run;
    int64_t all = 0, fitted = 0;
    char text[256];
    size_t at = 0;

    for (int k = 0; k < OUTCOMES; k++) {
        bool none = k == GROVE_LEAST_SQUARES_NO_DATA || k == GROVE_LEAST_SQUARES_NOT_FINITE;
        all += run->outcomes[k];
        fitted += none ? 0 : run->outcomes[k];
        if (run->outcomes[k] && at < sizeof(text))
            at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%lld %s", at ? ", " : "",
                                   (long long)run->outcomes[k],
                                   grove_least_squares_words((grove_least_squares_outcome)k));
    }
    if (!fitted)
        return grove_node_fail(node, GROVE_INVALID,
                               "there is nothing to fit to: of %lld solution domains %s",
                               (long long)all, text);
    grove_log(GROVE_LOG_NOTE,
              "%s: %lld solution domains: %s; %.1f iterations on average, chi-squared per degree "
              "of freedom %.4g",
              grove_node_name(node), (long long)all, text,
              (double)run->iterations / (double)fitted,
              run->data > 0 ? run->chi2 / (double)run->data : 0);
    return 0;
}
