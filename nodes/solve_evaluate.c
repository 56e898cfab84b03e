/* Evaluations of solution domains: their normal equations, from the tiles that they are in, and
 * what comes of it. */
#include "nodes/solve.h"

#include "base/error.h"
#include "base/log.h"
#include "base/memory.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_REWEIGHED = 30 };

/* Only models in single precision round: not compressed sums. */
static bool rounds(const solve_evaluation *e)
{
    return !e->compressed->sums && !e->tile->views[SOLVE_MODEL].double_;
}

int solve_start_fit(const solve_evaluation *e, solve_domain *d)
{
    return solve_new_fit(e->solve, d, e->parms, rounds(e));
}

static void take_result(const solve *s, solve_domain *d, grove_parm_run *const *parms)
{
    if (d->outcome == GROVE_LEAST_SQUARES_RUNNING) {
        solve_put(s, d, parms, grove_least_squares_point(d->fit));
        return;
    }
    size_t bytes = (size_t)d->unknowns * sizeof(double);
    double *x = grove_alloc(bytes + 1);
    memcpy(x, grove_least_squares_best(d->fit), bytes);
    if (d->outcome != GROVE_LEAST_SQUARES_NO_DATA)
        solve_refer_fit(s, d, x);
    solve_put(s, d, parms, x);
    free(x);
    if (s->errors && d->outcome != GROVE_LEAST_SQUARES_NO_DATA &&
        d->outcome != GROVE_LEAST_SQUARES_NOT_FINITE)
        solve_put_errors(s, d, parms, grove_least_squares_errors(d->fit));
    d->chi2 = fmax(grove_least_squares_chi2(d->fit), 0);
    d->iterations += grove_least_squares_iterations(d->fit);
    d->determined = 0;
    d->known = grove_realloc(d->known, (size_t)d->unknowns + 1);
    for (int64_t j = 0; j < d->unknowns; j++) {
        d->known[j] = !grove_least_squares_has_no_data(d->fit, j);
        d->determined += d->known[j];
    }
}

static void add_normal(const solve_evaluation *e, solve_domain *d)
{
    double *matrix = grove_least_squares_matrix(d->fit),
           *gradient = grove_least_squares_gradient(d->fit);

    if (e->compressed->sums) {
        if (!grove_least_squares_iterations(d->fit))
            solve_count_all(e->tile, d);
        solve_compressed_normal(e->tile, e->compressed, d, matrix, gradient);
    } else {
        solve_normal(e->tile, d, matrix, gradient);
    }
}

/* The domain is evaluated at its solution: a new fit from there, with weights from the residuals.
 */
static int begin_again(const solve_evaluation *e, solve_domain *d)
{
    int code = 0;

    if (e->compressed->sums)
        solve_load_jones(e->tile, d);
    d->before = grove_realloc(d->before, ((size_t)d->unknowns + 1) * sizeof(*d->before));
    solve_get(e->solve, d, e->parms, d->before);
    code = solve_reweigh(e->tile, d);
    if (!code && e->compressed->sums)
        code = solve_compress_again(e->tile, e->compressed, d);
    grove_least_squares_free(d->fit);
    d->fit = NULL;
    free(d->best);
    d->best = NULL;
    d->reweigh = false;
    d->reweighed++;
    return code ? code : solve_start_fit(e, d);
}

/* Weights and solution belong together once a fit with new weights hardly moves: by less than is
 * asked for, or than models tell. */
static bool has_moved(const solve_evaluation *e, const solve_domain *d)
{
    const solve *s = e->solve;
    const double *x = grove_least_squares_best(d->fit);
    double moved = 0, norm = 0;

    for (int i = 0; i < s->parm_count; i++) {
        int64_t end = i + 1 < s->parm_count ? d->base[i + 1] : d->unknowns;
        for (int64_t u = d->base[i]; u < end; u++) {
            double size = fmax(fabs(x[u]), s->parms[i].size);
            moved += (x[u] - d->before[u]) * (x[u] - d->before[u]) / (size * size);
            norm += 1;
        }
    }
    double limit = fmax(s->tolerance, rounds(e) ? 10 * FLT_EPSILON : 0);
    return !(moved <= limit * limit * norm);
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
                   !has_moved(e, d);

    return s->robust && !settled && d->reweighed < MAX_REWEIGHED && has_ended(d);
}

/* Alternating steps have ended: their solution is to be evaluated once more. */
static void begin_joint(solve_evaluation *e, solve_domain *d)
{
    d->ended = d->outcome;
    d->outcome = GROVE_LEAST_SQUARES_RUNNING;
    d->iterations += grove_least_squares_iterations(d->fit);
    d->joint = true;
    solve_put(e->solve, d, e->parms, grove_least_squares_best(d->fit));
    grove_least_squares_free(d->fit);
    d->fit = NULL;
    free(d->best);
    d->best = NULL;
    if (solve_start_fit(e, d))
        __atomic_store_n(&e->code, GROVE_NO_MEMORY, __ATOMIC_RELAXED);
}

/* The point is evaluated: the next one, or the result. */
static void judge(solve_evaluation *e, solve_domain *d)
{
    const solve *s = e->solve;
    double *point = grove_alloc(((size_t)d->unknowns + 1) * sizeof(*point));
    size_t bytes = (size_t)d->unknowns * sizeof(*point);
    bool begins = grove_least_squares_iterations(d->fit) == 0;

    memcpy(point, grove_least_squares_point(d->fit), bytes);
    if (begins && (double)d->sums.data < s->quota * (double)d->all)
        d->outcome = GROVE_LEAST_SQUARES_NO_DATA;
    else
        d->outcome = grove_least_squares_step(d->fit, &d->sums);
    if (d->jones && !memcmp(grove_least_squares_best(d->fit), point, bytes))
        solve_compressed_accept(s, d);
    free(point);
    if (d->joint && d->outcome != GROVE_LEAST_SQUARES_NOT_FINITE)
        d->outcome = d->ended;
    d->reweigh = !d->joint && is_to_reweigh(e, d);
    if (!d->joint && !d->reweigh && has_ended(d) &&
        solve_wants_joint(s, d->describe, d->unknowns)) {
        begin_joint(e, d);
        return;
    }
    if (d->reweigh) {
        d->outcome = GROVE_LEAST_SQUARES_RUNNING;
        d->iterations += grove_least_squares_iterations(d->fit);
    }
    take_result(s, d, e->parms);
}

/* The normal equations at the point. */
static void evaluate_domain(solve_evaluation *e, solve_domain *d)
{
    int code = d->reweigh && e->tile->begins ? begin_again(e, d) : 0;

    if (code) {
        __atomic_store_n(&e->code, code, __ATOMIC_RELAXED);
        return;
    }
    if (e->tile->begins) {
        d->sums = (grove_least_squares_sums){0};
        d->all = 0;
    }
    add_normal(e, d);
    if (e->tile->ends)
        judge(e, d);
}

void solve_evaluate(void *evaluation, int64_t first, int64_t last)
{
    solve_evaluation *e = evaluation;

    for (int64_t i = first; i < last; i++) {
        evaluate_domain(e, e->active[i]);
        /* What has ended may have been cut short; what has not, the run does not ask for again. */
        if (grove_interrupted() && e->active[i]->outcome != GROVE_LEAST_SQUARES_RUNNING)
            __atomic_store_n(&e->code, GROVE_INTERRUPTED, __ATOMIC_RELAXED);
    }
}
