/* Evaluations of solution domains: their normal equations, from the tiles that they are in, and the
 * next steps. */
#include "nodes/fit/solve.h"

#include "util.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_REWEIGHED = 30, MAX_DIRECTLY = 15 }; /* changes of weights; of them with StEFCal */

/* Only models in single precision round: not compressed sums. */
bool solve_rounds(const solve_evaluation *e)
{
    return !e->solve->group_count && !e->tile->views[SOLVE_MODEL].double_;
}

void solve_fail(solve_evaluation *e, int code)
{
    if (code)
        __atomic_store_n(&e->code, code, __ATOMIC_RELAXED);
}

void solve_check_interrupt(solve_evaluation *e, const solve_domain *d)
{
    if (grove_interrupted() && d->outcome != GROVE_LEAST_SQUARES_RUNNING &&
        d->outcome != GROVE_LEAST_SQUARES_SOLVING)
        solve_fail(e, GROVE_INTERRUPTED);
}

void solve_take_result(const solve *s, solve_domain *d, grove_parm_run *const *parms)
{
    if (d->outcome == GROVE_LEAST_SQUARES_RUNNING) {
        solve_put(s, d, parms, grove_least_squares_point(d->fit));
        return;
    }
    size_t bytes = (size_t)d->unknowns * sizeof(double);
    double *x = grove_alloc(bytes + 1);
    int64_t *references = grove_alloc((size_t)d->unknowns * sizeof(*references) + 1);
    memset(references, -1, (size_t)d->unknowns * sizeof(*references));
    memcpy(x, grove_least_squares_best(d->fit), bytes);
    if (d->outcome != GROVE_LEAST_SQUARES_NO_DATA)
        solve_refer_fit(s, d, x, references);
    solve_leave_silent(s, d, NULL, x);
    solve_put(s, d, parms, x);
    free(x);
    if (s->errors && d->outcome != GROVE_LEAST_SQUARES_NO_DATA &&
        d->outcome != GROVE_LEAST_SQUARES_NOT_FINITE) {
        double *errors = solve_find_errors(s, d, references);
        solve_put_errors(s, d, parms, errors);
        free(errors);
    }
    free(references);
    d->chi2 = fmax(grove_least_squares_chi2(d->fit), 0);
    d->iterations += grove_least_squares_iterations(d->fit);
    d->determined = 0;
    d->known = grove_realloc(d->known, (size_t)d->unknowns + 1);
    for (int64_t j = 0; j < d->unknowns; j++)
        d->known[j] = !grove_least_squares_has_no_data(d->fit, j);
    bool silent = solve_leave_silent(s, d, d->known, NULL);
    for (int64_t j = 0; j < d->unknowns; j++)
        d->determined += d->known[j];
    if (silent && !d->determined)
        d->outcome = GROVE_LEAST_SQUARES_NO_DATA;
}

static void keep_before(const solve_evaluation *e, solve_domain *d)
{
    d->before = grove_realloc(d->before, ((size_t)d->unknowns + 1) * sizeof(*d->before));
    solve_get(e->solve, d, e->parms, d->before);
}

/* The domain was evaluated at its solution, and the width of its residuals is known: a new fit from
 * there. */
static int begin_again(const solve_evaluation *e, solve_domain *d)
{
    keep_before(e, d);
    d->stage = SOLVE_STEPS;
    d->reweighed++;
    return solve_start_fit(e, d);
}

/* Weights and solution belong together once a fit with new weights hardly moves: by less than the
 * tolerance, or than the rounding of models. */
static bool has_moved(const solve_evaluation *e, const solve_domain *d, const double *x)
{
    const solve *s = e->solve;
    double moved = 0;

    for (int i = 0; i < s->parm_count; i++)
        for (int64_t u = d->base[i]; u < d->base[i + 1]; u++) {
            double size = fmax(fabs(x[u]), s->parms[i].size);
            moved += (x[u] - d->before[u]) * (x[u] - d->before[u]) / (size * size);
        }
    double limit = fmax(s->tolerance, solve_rounds(e) ? 10 * FLT_EPSILON : 0);
    return !(moved <= limit * limit * (double)d->unknowns);
}

/* StEFCal with new weights. Where it moves the domain, that is to be weighed anew where it is then,
 * which counts as one of the changes of weights; where it does not, or does not converge,
 * Levenberg-Marquardt goes on from where it was. */
static int solve_weighed(const solve_evaluation *e, solve_domain *d, bool *moved)
{
    const solve *s = e->solve;
    const int64_t iterations = d->iterations;

    *moved = false;
    if (s->method != SOLVE_AUTO || !d->direct || d->reweighed >= MAX_DIRECTLY)
        return 0;
    double *x = grove_alloc(((size_t)d->unknowns + 1) * sizeof(*x));
    keep_before(e, d);
    memcpy(x, d->before, (size_t)d->unknowns * sizeof(*x));
    int code = solve_directly(e->tile, d, x);
    d->direct = d->outcome == GROVE_LEAST_SQUARES_CONVERGED; /* else it would fail again */
    *moved = !code && d->direct && has_moved(e, d, x);
    d->outcome = GROVE_LEAST_SQUARES_RUNNING;
    d->iterations += iterations;
    d->reweighed += *moved;
    d->sums.chi2 = d->chi2; /* for the progress shown */
    if (*moved)
        solve_put(s, d, e->parms, x);
    free(x);
    return code;
}

/* In a tile that has all of the domain, with weights that it keeps. */
static int reweigh(const solve_evaluation *e, solve_domain *d)
{
    bool moved = false;
    int code = 0;

    if (e->solve->group_count)
        solve_load_jones(e->tile, d);
    solve_reweigh(e->tile, d);
    if (e->solve->group_count)
        code = solve_compress_again(e->tile, d);
    if (!code)
        code = solve_weighed(e, d, &moved);
    return code || moved ? code : begin_again(e, d);
}

/* In one of several tiles, which find weights at each look: walks that do no more than this. */
static int reweigh_part(const solve_evaluation *e, solve_domain *d)
{
    if (e->solve->group_count)
        solve_load_jones(e->tile, d);
    if (!solve_find_scale(e->tile, d))
        return 0;
    free(d->weighing);
    d->weighing = d->jones;
    d->jones = NULL;
    return begin_again(e, d);
}

static bool has_ended(const solve_domain *d)
{
    return d->outcome == GROVE_LEAST_SQUARES_CONVERGED ||
           d->outcome == GROVE_LEAST_SQUARES_STALLED || d->outcome == GROVE_LEAST_SQUARES_LIMIT;
}

static bool is_to_reweigh(const solve_evaluation *e, const solve_domain *d)
{
    const solve *s = e->solve;
    bool settled = s->robust && d->reweighed && d->outcome == GROVE_LEAST_SQUARES_CONVERGED &&
                   !has_moved(e, d, grove_least_squares_best(d->fit));

    return s->robust && !settled && d->reweighed < MAX_REWEIGHED && has_ended(d);
}

/* Alternating steps have ended: their solution is to be evaluated once more. */
static void begin_joint(solve_evaluation *e, solve_domain *d)
{
    d->ended = d->outcome;
    d->outcome = GROVE_LEAST_SQUARES_RUNNING;
    d->iterations += grove_least_squares_iterations(d->fit);
    d->stage = SOLVE_JOINT;
    solve_put(e->solve, d, e->parms, grove_least_squares_best(d->fit));
    solve_fail(e, solve_start_fit(e, d));
}

bool solve_has_few_data(const solve *s, const solve_domain *d)
{
    return grove_least_squares_iterations(d->fit) == 0 &&
           (double)d->sums.data < s->quota * (double)d->all;
}

/* The point is evaluated: the next one, or the result. */
static void judge(solve_evaluation *e, solve_domain *d)
{
    const solve *s = e->solve;
    double *point = grove_alloc(((size_t)d->unknowns + 1) * sizeof(*point));
    size_t bytes = (size_t)d->unknowns * sizeof(*point);

    memcpy(point, grove_least_squares_point(d->fit), bytes);
    if (solve_has_few_data(s, d))
        d->outcome = GROVE_LEAST_SQUARES_NO_DATA;
    else
        d->outcome = grove_least_squares_step(d->fit, &d->sums);
    if (d->jones && !memcmp(grove_least_squares_best(d->fit), point, bytes))
        solve_compressed_accept(s, d);
    free(point);
    if (d->stage == SOLVE_JOINT) {
        if (d->outcome != GROVE_LEAST_SQUARES_NOT_FINITE)
            d->outcome = d->ended;
    } else if (is_to_reweigh(e, d)) {
        d->stage = SOLVE_REWEIGH;
        d->outcome = GROVE_LEAST_SQUARES_RUNNING;
        d->iterations += grove_least_squares_iterations(d->fit);
    } else if (has_ended(d) && solve_needs_joint(s, d->describe, d->unknowns)) {
        begin_joint(e, d);
        return;
    }
    solve_take_result(s, d, e->parms);
}

/* ---- on threads ---- */

static void reweigh_domains(void *evaluation, int64_t first, int64_t last)
{
    solve_evaluation *e = evaluation;
    bool whole = e->tile->begins && e->tile->ends;

    for (int64_t i = first; i < last; i++)
        if (e->active[i]->stage == SOLVE_REWEIGH)
            solve_fail(e, whole ? reweigh(e, e->active[i]) : reweigh_part(e, e->active[i]));
}

static void judge_domains(void *evaluation, int64_t first, int64_t last)
{
    solve_evaluation *e = evaluation;

    for (int64_t i = first; i < last; i++) {
        judge(e, e->active[i]);
        solve_check_interrupt(e, e->active[i]);
    }
}

/* Each domain by one thread. */
static void evaluate_domains(void *evaluation, int64_t first, int64_t last)
{
    solve_evaluation *e = evaluation;

    for (int64_t i = first; i < last; i++) {
        solve_normal(NULL, e->tile, e->active[i]);
        if (e->tile->ends)
            judge_domains(e, i, i + 1);
    }
}

/* Those to be weighed anew come last; how many others there are. */
static int64_t sort_out(const solve_evaluation *e, int64_t count)
{
    int64_t others = 0;

    for (int64_t i = 0; i < count; i++)
        if (e->active[i]->stage != SOLVE_REWEIGH) {
            solve_domain *d = e->active[i];
            e->active[i] = e->active[others];
            e->active[others++] = d;
        }
    return others;
}

int solve_evaluate(const grove_call *call, solve_evaluation *e, int64_t count)
{
    int64_t others = sort_out(e, count);

    if (others < count)
        grove_call_parallel(call, count, reweigh_domains, e);
    const bool whole = e->tile->begins && e->tile->ends;
    count = whole ? sort_out(e, count) : others; /* in a part, to be weighed was all */
    if (e->code || !count)
        return e->code;
    if (!solve_is_shared(e->solve, count, solve_count_items(e->tile, e->active[0]))) {
        grove_call_parallel(call, count, evaluate_domains, e);
        return e->code;
    }
    for (int64_t i = 0; i < count; i++)
        solve_normal(call, e->tile, e->active[i]);
    if (e->tile->ends)
        grove_call_parallel(call, count, judge_domains, e);
    return e->code;
}
