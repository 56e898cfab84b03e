/* The least-squares problem of a solution domain: start, bounds, priors, blocks. */
#include "nodes/fit/solve.h"

#include "util.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* A block for each station, and one for parms that are the same for all. */
static void divide_by_station(const solve *s, const solve_domain *d, int32_t *block)
{
    for (int i = 0; i < s->parm_count; i++)
        for (int64_t u = d->base[i]; u < d->base[i + 1]; u++)
            block[u] =
                s->parms[i].parm->station ? (int32_t)(1 + solve_find_place(s, d, i, u).station) : 0;
}

/* A block for each interval of the parms of a subset: no datum depends on two of them. */
static void divide_by_interval(const solve *s, const solve_domain *d, int32_t *block)
{
    int64_t first = 0;

    for (int subset = 0; subset < s->subsets; subset++) {
        int64_t count = 0;
        for (int i = 0; i < s->parm_count; i++) {
            if (s->parms[i].subset != subset)
                continue;
            count = solve_intervals(s, d, i, SOLVE_TIME).count *
                    solve_intervals(s, d, i, SOLVE_FREQ).count;
            for (int64_t u = d->base[i]; u < d->base[i + 1]; u++)
                block[u] = (int32_t)(first + solve_find_place(s, d, i, u).number);
        }
        first += count;
    }
}

/* NULL: all are in one. */
static int32_t *find_blocks(const solve *s, const solve_domain *d)
{
    if (d->stage == SOLVE_JOINT || (s->method != SOLVE_BLOCK && s->method != SOLVE_ALTERNATING))
        return NULL;
    int32_t *block = grove_alloc((size_t)d->unknowns * sizeof(*block) + 1);
    if (s->method == SOLVE_BLOCK)
        divide_by_station(s, d, block);
    else
        divide_by_interval(s, d, block);
    return block;
}

int64_t solve_count_blocks(const solve *s, const solve_domain *d, int64_t **unknowns)
{
    int32_t *block = find_blocks(s, d);
    int64_t count = 1;

    for (int64_t j = 0; block && j < d->unknowns; j++)
        count = block[j] >= count ? block[j] + 1 : count;
    *unknowns = grove_alloc((size_t)count * sizeof(**unknowns));
    for (int64_t j = 0; j < d->unknowns; j++)
        ++(*unknowns)[block ? block[j] : 0];
    free(block);
    return count;
}

bool solve_needs_joint(const solve *s, bool describe, int64_t unknowns)
{
    return s->method == SOLVE_ALTERNATING &&
           (s->errors || (describe && unknowns <= SOLVE_MAX_DESCRIBED));
}

/* NULL: all step together. */
static int32_t *find_subsets(const solve *s, const solve_domain *d)
{
    int32_t *subset = NULL;

    if (s->method == SOLVE_ALTERNATING && d->stage != SOLVE_JOINT)
        subset = grove_alloc((size_t)d->unknowns * sizeof(*subset) + 1);
    for (int i = 0; subset && i < s->parm_count; i++)
        for (int64_t u = d->base[i]; u < d->base[i + 1]; u++)
            subset[u] = s->parms[i].subset;
    return subset;
}

/* Bounds, means and widths of priors of all unknowns. */
typedef struct {
    double *lower, *upper, *mean, *inverse_sigma, *size;
} limits;

static void fill_limits(const solve *s, const solve_domain *d, limits *to)
{
    for (int i = 0; i < s->parm_count; i++) {
        const grove_parm *p = s->parms[i].parm;
        for (int64_t u = d->base[i]; u < d->base[i + 1]; u++) {
            const solve_place at = solve_find_place(s, d, i, u);
            bool first = at.term == 0;
            to->lower[u] = first ? p->bounds[0] : -INFINITY;
            to->upper[u] = first ? p->bounds[1] : INFINITY;
            to->mean[u] = p->prior_mean[at.member][at.part];
            to->size[u] = s->parms[i].size;
            to->inverse_sigma[u] = first ? 1 / p->prior_sigma : 0;
        }
    }
}

/* Gains and the like, which are factors in the model. */
static bool *find_pairs(const solve *s, const solve_domain *d)
{
    bool *pairs = grove_alloc((size_t)d->unknowns + 1);

    for (int i = 0; i < s->parm_count; i++) {
        const solve_parm *own = &s->parms[i];
        bool is_factor = own->parm->station && own->parts == 2 && own->terms == 1;
        for (int64_t u = d->base[i]; is_factor && u < d->base[i + 1]; u += 2)
            pairs[u] = true;
    }
    return pairs;
}

int solve_start_fit(const solve_evaluation *e, solve_domain *d)
{
    const solve *s = e->solve;
    const bool remote = d->stage == SOLVE_ON_DEVICE;
    size_t n = (size_t)d->unknowns;
    double *numbers = grove_alloc((6 * n + 1) * sizeof(*numbers));
    limits l = {numbers, numbers + n, numbers + 2 * n, numbers + 3 * n, numbers + 4 * n};
    int32_t *blocks = find_blocks(s, d), *subsets = find_subsets(s, d);
    bool *pairs = find_pairs(s, d);

    fill_limits(s, d, &l);
    solve_get(s, d, e->parms, numbers + 5 * n);
    grove_least_squares_settings settings = {.max_iterations = s->max_iterations - d->spent,
                                             .tolerance = s->tolerance,
                                             .damping = s->damping,
                                             .blocks = s->method == SOLVE_BLOCK,
                                             .block_of = blocks,
                                             .subset_of = subsets,
                                             .lower = remote ? NULL : l.lower,
                                             .upper = remote ? NULL : l.upper,
                                             .mean = remote ? NULL : l.mean,
                                             .inverse_sigma = remote ? NULL : l.inverse_sigma,
                                             .size = l.size,
                                             .pairs = pairs,
                                             .remote = remote,
                                             .rounding = solve_rounds(e) ? FLT_EPSILON : 0};
    grove_least_squares_free(d->fit);
    free(d->best);
    d->best = NULL;
    d->fit = grove_least_squares_new(d->unknowns, &settings, numbers + 5 * n);
    free(pairs);
    free(blocks);
    free(subsets);
    free(numbers);
    return d->fit ? 0 : GROVE_NO_MEMORY;
}
