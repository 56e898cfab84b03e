/* Fits whose matrices stay on a device: at each point the host gets gradients and the matrices'
 * diagonals, judges, and gets steps. The matrix of a solution is copied once, if errors or free
 * directions are needed. */
#include "nodes/fit/solve_remote.h"

#include "unstable/keep.h"
#include "util.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

static const grove_kernel fit_gather = {
    "fit_gather", NULL, NULL, "fit_gather.cu", grove_fit_gather_threads, 0, 2};
static const grove_kernel fit_solve_small = {
    "fit_solve", NULL, NULL, "fit_solve.cu", grove_fit_solve_threads, GROVE_SOLVE_SMALL, 1};
static const grove_kernel fit_solve_large = {
    "fit_solve", NULL, NULL, "fit_solve.cu", grove_fit_solve_threads, GROVE_SOLVE_LARGE, 1};

/* ---- on the device ---- */

typedef struct {
    solve_remote *r;
    const solve_tile *tile;
    solve_evaluation *e;
    int64_t count;
    uint64_t sums;  /* bytes of baselines' sums */
    double *result; /* heads of points, or steps */
    bool lost;
} evaluation;

static grove_view view_of(const void *at)
{
    return (grove_view){
        .data = (void *)(uintptr_t)at, .elements = 1, .shape = GROVE_SCALAR, .bytes = 8};
}

/* Whether the batch lies elsewhere. */
static bool is_elsewhere(const grove_call *call, evaluation *w)
{
    w->lost = call->device != w->r->now;
    return w->lost;
}

static const char *lists_of(const solve_remote *r)
{
    return r->device[r->now].at +
           (uint64_t)(r->domains * solve_remote_slot(r->unknowns)) * sizeof(double);
}

static int gather(const grove_call *call, evaluation *w, const void *sums)
{
    const solve *s = w->e->solve;
    grove_gather_domain *domains = grove_alloc((size_t)w->count * sizeof(*domains));
    grove_gather_state state = {
        .domains = (int32_t)w->count, .unknowns = (int32_t)w->r->unknowns, .columns = s->columns};
    grove_args args = {.axes = 1, .size = {1}, .inputs = 4, .out = call->args->out};
    const void *sent;

    for (int64_t k = 0; k < w->count; k++) {
        const solve_domain *d = w->e->active[k];
        domains[k] = w->r->domain[d->slot];
        domains[k].point = solve_remote_point(w->r, d, !d->best_point);
        domains[k].result = k * grove_point_head(w->r->unknowns);
    }
    for (int k = 0; k < s->slot_count; k++)
        state.part[s->slots[k].first] = (unsigned char)s->slots[k].part;
    int code = grove_call_send(call, domains, (size_t)w->count * sizeof(*domains), &sent);
    free(domains);
    if (code)
        return code;
    args.in[0] = view_of(sums);
    args.in[1] = view_of(w->r->device[w->r->now].at);
    args.in[2] = view_of(lists_of(w->r));
    args.in[3] = view_of(sent);
    memcpy(args.state.bytes, &state, sizeof(state));
    return grove_call_launch(call, &fit_gather, &args, true);
}

static int make_points(const grove_call *call, void *context)
{
    evaluation *w = context;
    void *sums;
    int code;

    if (is_elsewhere(call, w))
        return grove_call_zero(call, call->args->out.data, sizeof(double));
    code = grove_call_scratch(call, w->sums, &sums);
    code = code ? code : solve_launch_normal(call, w->tile, sums);
    return code ? code : gather(call, w, sums);
}

static bool is_solving(const solve_domain *d)
{
    return d->outcome == GROVE_LEAST_SQUARES_SOLVING;
}

static int64_t step_size(const evaluation *w)
{
    return GROVE_SOLVE_STEP + w->r->unknowns;
}

static int launch_solve(const grove_call *call, const evaluation *w,
                        const grove_solve_system *systems, int64_t count)
{
    const grove_kernel *kernel =
        w->r->unknowns <= GROVE_SOLVE_FEW ? &fit_solve_small : &fit_solve_large;
    grove_args args = {.axes = 1, .size = {1}, .inputs = 2, .out = call->args->out};
    grove_solve_state state = {count, kernel->block};
    const void *sent;
    int code = grove_call_send(call, systems, (size_t)count * sizeof(*systems), &sent);

    if (code)
        return code;
    args.in[0] = view_of(w->r->device[w->r->now].at);
    args.in[1] = view_of(sent);
    memcpy(args.state.bytes, &state, sizeof(state));
    return grove_call_launch(call, kernel, &args, true);
}

static int make_steps(const grove_call *call, void *context)
{
    evaluation *w = context;
    double epsilon = 2 * (solve_rounds(w->e) ? FLT_EPSILON : DBL_EPSILON);
    grove_solve_system *systems;
    int64_t count = 0;

    if (is_elsewhere(call, w))
        return grove_call_zero(call, call->args->out.data, sizeof(double));
    systems = grove_alloc((size_t)w->count * sizeof(*systems));
    for (int64_t k = 0; k < w->count; k++) {
        const solve_domain *d = w->e->active[k];
        if (!is_solving(d))
            continue;
        w->r->domain[d->slot].result = count * step_size(w);
        systems[count] = (grove_solve_system){.point = solve_remote_point(w->r, d, d->best_point),
                                              .sizes = solve_remote_sizes(w->r, d),
                                              .work = solve_remote_work(w->r, d),
                                              .result = w->r->domain[d->slot].result,
                                              .damping = grove_least_squares_solving(d->fit),
                                              .negligible = epsilon * epsilon,
                                              .unknowns = d->unknowns};
        count++;
    }
    int code = launch_solve(call, w, systems, count);
    free(systems);
    return code;
}

/* ---- on the host ---- */

static void judge(void *context, int64_t first, int64_t last)
{
    const evaluation *w = context;
    const solve *s = w->e->solve;

    for (int64_t k = first; k < last; k++) {
        solve_domain *d = w->e->active[k];
        const double *head = w->result + k * grove_point_head(w->r->unknowns);
        size_t bytes = (size_t)d->unknowns * sizeof(double);
        d->sums =
            (grove_least_squares_sums){.chi2 = head[GROVE_POINT_CHI2],
                                       .power = head[GROVE_POINT_POWER],
                                       .values = head[GROVE_POINT_VALUES],
                                       .data = (int64_t)head[GROVE_POINT_USED] * s->parts / 2};
        d->all = (int64_t)head[GROVE_POINT_ALL] * s->parts / 2;
        memcpy(grove_least_squares_gradient(d->fit), head + GROVE_POINT_SUMS, bytes);
        memcpy(grove_least_squares_matrix(d->fit), head + GROVE_POINT_SUMS + d->unknowns, bytes);
        d->outcome = solve_has_few_data(s, d) ? GROVE_LEAST_SQUARES_NO_DATA
                                              : grove_least_squares_step(d->fit, &d->sums);
        d->best_point = grove_least_squares_is_best(d->fit) ? !d->best_point : d->best_point;
        solve_check_interrupt(w->e, d);
    }
}

static void take_steps(void *context, int64_t first, int64_t last)
{
    const evaluation *w = context;

    for (int64_t k = first; k < last; k++) {
        solve_domain *d = w->e->active[k];
        if (!is_solving(d))
            continue;
        const double *step = w->result + w->r->domain[d->slot].result;
        d->outcome =
            grove_least_squares_solved(d->fit, step + GROVE_SOLVE_STEP, step[GROVE_SOLVE_SQUARE]);
        solve_check_interrupt(w->e, d);
    }
}

static int64_t count_solving(const evaluation *w)
{
    int64_t count = 0;

    for (int64_t k = 0; k < w->count; k++)
        count += is_solving(w->e->active[k]);
    return count;
}

static int compute(const grove_call *call, evaluation *w, grove_computation *what, int64_t doubles)
{
    what->context = w;
    what->result = w->result;
    what->bytes = (uint64_t)doubles * sizeof(double);
    int code = grove_call_compute(call, what);
    return code ? code : w->lost ? GROVE_MISSING : 0;
}

/* ---- solutions ---- */

/* Whether the matrix at the end is needed for a requested result. */
static bool needs_matrix(const solve *s, const solve_domain *d)
{
    bool requested =
        s->reference >= 0 || s->errors || (d->describe && d->unknowns <= SOLVE_MAX_DESCRIBED);

    return requested && d->outcome != GROVE_LEAST_SQUARES_RUNNING &&
           d->outcome != GROVE_LEAST_SQUARES_NO_DATA &&
           d->outcome != GROVE_LEAST_SQUARES_NOT_FINITE;
}

static int fetch_matrix(const grove_call *call, const evaluation *w, const solve_domain *d)
{
    int64_t n = d->unknowns, at = solve_remote_point(w->r, d, d->best_point) + grove_point_head(n);
    uint64_t bytes = (uint64_t)(n * n) * sizeof(double);
    double *matrix = grove_try_alloc(bytes + 1, 1);
    int code =
        matrix ? grove_call_fetch(call, matrix,
                                  w->r->device[w->r->now].at + (uint64_t)at * sizeof(double), bytes)
               : 0;

    if (!code && !(matrix && grove_least_squares_set_matrix(d->fit, matrix)))
        solve_fail(w->e, GROVE_NO_MEMORY);
    free(matrix);
    return code;
}

static int fetch_matrices(const grove_call *call, void *context)
{
    evaluation *w = context;
    int code = grove_call_zero(call, call->args->out.data, sizeof(double));

    for (int64_t k = 0; k < w->count && !code && !is_elsewhere(call, w); k++)
        if (needs_matrix(w->e->solve, w->e->active[k]))
            code = fetch_matrix(call, w, w->e->active[k]);
    return code;
}

static void take_results(void *context, int64_t first, int64_t last)
{
    const evaluation *w = context;

    for (int64_t k = first; k < last; k++)
        solve_take_result(w->e->solve, w->e->active[k], w->e->parms);
}

/* Whether a fit that begins anew is to end where this one would have. */
static bool is_limited(const solve_domain *d)
{
    return d->outcome == GROVE_LEAST_SQUARES_RUNNING || is_solving(d) ||
           d->outcome == GROVE_LEAST_SQUARES_LIMIT;
}

/* The domains begin anew at their best points, on the host. */
static int give_up(evaluation *w)
{
    int code = 0;

    for (int64_t k = 0; k < w->count; k++) {
        solve_domain *d = w->e->active[k];
        const int32_t iterations = grove_least_squares_iterations(d->fit);
        d->iterations += iterations;
        d->spent += is_limited(d) ? iterations : 0;
        d->outcome = GROVE_LEAST_SQUARES_RUNNING;
        d->stage = SOLVE_STEPS;
        solve_put(w->e->solve, d, w->e->parms, grove_least_squares_best(d->fit));
        code = code ? code : solve_start_fit(w->e, d);
    }
    solve_remote_drop(w->r);
    return code ? code : GROVE_MISSING;
}

static int find_steps(const grove_call *call, evaluation *w)
{
    int64_t solving = count_solving(w);
    int code = 0;

    while (solving && !code && !w->e->code) {
        grove_computation what = {.compute = make_steps};
        code = compute(call, w, &what, solving * step_size(w));
        if (!code)
            grove_call_parallel(call, w->count, take_steps, w);
        solving = count_solving(w);
    }
    return code;
}

static int find_results(const grove_call *call, evaluation *w)
{
    grove_computation what = {.compute = fetch_matrices};
    bool any = false;
    int code = 0;

    for (int64_t k = 0; k < w->count; k++)
        any = any || needs_matrix(w->e->solve, w->e->active[k]);
    if (any)
        code = compute(call, w, &what, 1);
    if (!code && !w->e->code)
        grove_call_parallel(call, w->count, take_results, w);
    return code;
}

int solve_remote_evaluate(const grove_call *call, solve_remote *r, solve_tile *tile,
                          solve_evaluation *e, int64_t count)
{
    evaluation w = {.r = r, .tile = tile, .e = e, .count = count};
    grove_computation what;

    w.sums = solve_find_normal(tile, &what);
    w.result = grove_alloc((size_t)(count * grove_point_head(r->unknowns)) * sizeof(double));
    what.compute = make_points;
    int code = compute(call, &w, &what, count * grove_point_head(r->unknowns));
    if (!code) {
        grove_call_parallel(call, count, judge, &w);
        code = find_steps(call, &w);
    }
    code = code ? code : find_results(call, &w);
    free(w.result);
    if (code == GROVE_MISSING)
        return give_up(&w);
    return code ? code : e->code;
}
