/* The steps of nonlinear least squares: the choice of a step, and its result. */
#include "nodes/fit/least_squares_private.h"

#include "util.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Of lambda, relative to the diagonal: beyond it no step is long enough to matter. */
#define DAMPING_MAX 1e12
/* The smallest part of it left by an accepted step: after another accepted one, and where its first
 * trial was rejected. */
#define LEAST          0.01
#define LEAST_REJECTED 0.2
/* In units of the tolerance, and at most: the part of their standard deviations by which unknowns
 * may be off. */
#define NEGLIGIBLE 1000
#define MAX_OFFSET 0.01
/* Blocks converge linearly: the part of the remaining distance that one step may gain. */
#define SLOW_BLOCKS 0.1
/* A fall below this part of the predicted one counts as none. */
#define OVERSHOT 0.1
enum { QUIET = 5 };
/* Of alternating steps: the largest credible ratio of the next step's gain to the last one's, and
 * the ratio from which on rounds are extrapolated. */
#define RATE_MAX  0.9999
#define RATE_SLOW 0.1

/* More damping; stalled when no more would change anything. */
static grove_least_squares_outcome damp(grove_least_squares *f)
{
    if (f->set.blocks)
        f->now.damping = fmax(2 * f->now.damping, 0.5);
    else if (f->now.damping == 0)
        f->now.damping = f->now.level;
    else
        f->now.damping *= f->now.growth;
    f->now.growth *= 2;
    return f->now.damping > DAMPING_MAX ? GROVE_LEAST_SQUARES_STALLED : GROVE_LEAST_SQUARES_RUNNING;
}

double grove_least_squares_negligible(double tolerance, double chi2, double unknowns, double data)
{
    double free_ = data - unknowns, share = free_ > unknowns ? unknowns / free_ : 1;
    double offset = fmax(tolerance, fmin(NEGLIGIBLE * tolerance, MAX_OFFSET) * sqrt(share));

    return chi2 > 0 ? offset * offset * chi2 : 0;
}

/* By how much chi-squared may still fall where only rounding is in the way of the minimum: so that
 * the unknowns are within MAX_OFFSET of their standard deviations; or of an exact model, whose
 * residuals are rounding, as much as that may make of it. */
static double near_enough(const grove_least_squares *f)
{
    double epsilon = fmax(f->set.rounding, DBL_EPSILON);
    double near = MAX_OFFSET * MAX_OFFSET * f->chi2 / (double)(f->data > 0 ? f->data : 1);

    near *= f->set.blocks ? SLOW_BLOCKS : 1;
    return f->chi2 <= 64 * epsilon * epsilon * f->values ? fmax(near, f->floor) : near;
}

/* The ratio of the gain of all steps from now on to the gain of this one. */
static double series_of(const grove_least_squares *f)
{
    return f->subsets > 1 ? 1 / (1 - fmin(f->rate, RATE_MAX)) : 1;
}

/* How the gains of a subset's steps shrink from one round to the next. */
static void find_rate(grove_least_squares *f)
{
    if (f->subsets > 1 && f->now.last_predicted > 0 && f->now.damping == 0) {
        const double ratio = f->predicted > f->floor ? f->predicted / f->now.last_predicted : 0;
        f->rate = fmax(ratio, f->rate / 2);
    }
    f->now.last_predicted = 0;
}

/* The next trial point from the best one, or the end: of a subset. */
static grove_least_squares_outcome propose_step(grove_least_squares *f)
{
    double tolerance = f->set.tolerance;
    double enough = f->chi2 > 0 ? tolerance * tolerance * f->chi2 : 0;

    for (;;) {
        if (grove_least_squares_try(f, &f->best)) {
            bool undamped = f->now.damping == 0 || f->set.blocks;
            find_rate(f);
            double end = fmax(enough, fmin(near_enough(f), f->floor)) / series_of(f);

            if (f->predicted <= end && !f->cut) {
                if (undamped)
                    return GROVE_LEAST_SQUARES_CONVERGED;
                if (f->now.undamped_tried)
                    return GROVE_LEAST_SQUARES_STALLED;
                /* Damping may hide how far there is to go. */
                f->now.damping = 0;
                f->solved = false;
                continue;
            }
            if (f->predicted > 0)
                return GROVE_LEAST_SQUARES_RUNNING;
        } else if (f->set.remote && !f->solved) {
            return GROVE_LEAST_SQUARES_SOLVING;
        }
        f->solved = false;
        f->now.undamped_tried |= f->now.damping == 0;
        if (damp(f) != GROVE_LEAST_SQUARES_RUNNING)
            return GROVE_LEAST_SQUARES_STALLED;
    }
}

/* A round has ended: whether a point is tried to which rounds like the last ones would lead. */
static bool extrapolate(grove_least_squares *f)
{
    if (!grove_least_squares_rounds_extrapolate(f->rounds, f->best.x, f->scale, f->right) ||
        f->idle || f->rate < RATE_SLOW) {
        grove_least_squares_rounds_start(f->rounds, f->best.x);
        return false;
    }
    for (int64_t j = 0; j < f->n; j++)
        f->trial.x[j] = grove_least_squares_clamp(f, j, f->right[j]);
    f->extrapolated = true;
    return true;
}

/* The same of all subsets. */
static grove_least_squares_outcome propose(grove_least_squares *f)
{
    if (f->subsets == 1)
        return propose_step(f);
    while (f->idle < f->subsets) {
        grove_least_squares_outcome outcome = propose_step(f);
        if (outcome == GROVE_LEAST_SQUARES_RUNNING)
            return outcome;
        f->any_stalled |= outcome == GROVE_LEAST_SQUARES_STALLED;
        f->idle++;
        if (grove_least_squares_next_subset(f) && extrapolate(f))
            return GROVE_LEAST_SQUARES_RUNNING;
    }
    return f->any_stalled ? GROVE_LEAST_SQUARES_STALLED : GROVE_LEAST_SQUARES_CONVERGED;
}

/* A step is done. `end`: its subset has nothing more to gain. */
static grove_least_squares_outcome go_on(grove_least_squares *f, bool end)
{
    if (f->subsets == 1)
        return end ? GROVE_LEAST_SQUARES_CONVERGED : propose(f);
    f->idle = end ? f->idle + 1 : 0;
    f->any_stalled &= end;
    return grove_least_squares_next_subset(f) && extrapolate(f) ? GROVE_LEAST_SQUARES_RUNNING
                                                                : propose(f);
}

/* ---- judging ---- */

/* Adds the priors. Unknowns without data are not moved by them. */
static void add_priors(grove_least_squares *f, grove_least_squares_sums *sums)
{
    for (int64_t j = 0; f->set.mean && f->set.inverse_sigma && j < f->n; j++) {
        double weight = f->set.inverse_sigma[j], x = f->trial.x[j], before = f->best.x[j];
        double residual = (x - f->set.mean[j]) * weight, *diagonal;

        diagonal = grove_least_squares_diagonal(f, f->trial.matrix, j);
        sums->chi2 += residual * residual;
        sums->change +=
            (x - before) * weight * (x - f->set.mean[j] + before - f->set.mean[j]) * weight;
        if (*diagonal >= DBL_MIN) {
            f->trial.gradient[j] -= residual * weight;
            *diagonal += weight * weight;
        }
    }
}

/* Unknowns with no effect but rounding count as without data. */
static void drop_rounding(grove_least_squares *f, const grove_least_squares_sums *sums)
{
    double epsilon = 2 * fmax(f->set.rounding, DBL_EPSILON);

    for (int64_t j = 0; f->set.size && j < f->n; j++) {
        double size = f->set.size[j];
        double *row = f->trial.matrix + f->row[j];
        if (!(row[f->column[j]] * size * size <= epsilon * epsilon * sums->values))
            continue;
        f->trial.gradient[j] = 0;
        memset(row, 0, ((size_t)f->column[j] + 1) * sizeof(*row));
        int64_t end = f->set.remote ? 0 : f->begin[f->block_of[j] + 1];
        for (int64_t k = f->begin[f->block_of[j]]; k < end; k++)
            if (f->member[k] > j)
                f->trial.matrix[f->row[f->member[k]] + f->column[j]] = 0;
    }
}

static bool is_finite(const grove_least_squares *f, const grove_least_squares_sums *sums)
{
    bool finite = isfinite(sums->chi2) && (!sums->has_change || isfinite(sums->change));

    for (int64_t j = 0; j < f->n; j++)
        finite = finite && isfinite(f->trial.gradient[j]);
    for (int64_t j = 0; finite && j < f->n; j++)
        for (int64_t k = 0; k <= f->column[j]; k++)
            finite = finite && isfinite(f->trial.matrix[f->row[j] + k]);
    return finite;
}

static void accept(grove_least_squares *f, const grove_least_squares_sums *sums)
{
    grove_least_squares_at old = f->best;

    f->best = f->trial;
    f->trial = old;
    f->accepted = true;
    f->chi2 = sums->chi2;
    f->power = sums->power;
    f->data = sums->data;
    f->by_change = sums->has_change;
    f->now.growth = DAMPING_GROWTH;
    f->now.undamped_tried = false;
}

static grove_least_squares_outcome begin(grove_least_squares *f,
                                         const grove_least_squares_sums *sums, double chi2)
{
    bool derivatives = false;

    if (!f->n || sums->data <= 0)
        return GROVE_LEAST_SQUARES_NO_DATA;
    if (!is_finite(f, sums))
        return GROVE_LEAST_SQUARES_NOT_FINITE;
    for (int64_t j = 0; j < f->n; j++)
        derivatives =
            derivatives || *grove_least_squares_diagonal(f, f->trial.matrix, j) >= DBL_MIN;
    accept(f, sums);
    if (!derivatives)
        return chi2 > 0 ? GROVE_LEAST_SQUARES_SINGULAR : GROVE_LEAST_SQUARES_CONVERGED;
    if (f->rounds)
        grove_least_squares_rounds_begin(f->rounds, f->best.x);
    return propose(f);
}

/* The damping after an accepted step: by how well the linear model knew chi-squared. */
static void relax(grove_least_squares *f, double change, bool small)
{
    double ratio = -change / f->predicted;
    /* A damping much below the one just rejected would be rejected again. */
    double least = f->now.growth > DAMPING_GROWTH ? LEAST_REJECTED : LEAST;

    if (f->now.damping > 0)
        f->now.level = f->now.damping;
    if (f->set.blocks)
        f->now.damping = f->now.damping > 0.1 ? f->now.damping * 0.9 : 0;
    else if (ratio < 0.25)
        f->now.damping = f->now.damping > 0 ? f->now.damping * 2 : f->now.level;
    else
        f->now.damping *= fmax(least, 1 - pow(2 * ratio - 1, 3)); /* Nielsen 1999 */
    if (f->now.damping < DAMPING_ZERO || small)
        f->now.damping = 0;
}

/* The change of chi-squared. Where its rounding hides the change, it is computed from gradients at
 * both ends of the step, since their rounding grows with the step (as Hager & Zhang 2005, SIAM J.
 * Optim. 16, 170). `rounding`: this change is not more than rounding either. */
static double change_of(const grove_least_squares *f, const grove_least_squares_sums *sums,
                        bool *rounding)
{
    double direct = sums->has_change ? sums->change : sums->chi2 - f->chi2, change = 0;
    double epsilon = fmax(f->set.rounding, DBL_EPSILON);

    *rounding = !sums->has_change && f->predicted <= f->rounding && fabs(direct) <= f->rounding;
    if (!*rounding || sums->data != f->data)
        return direct;
    for (int64_t j = 0; j < f->n; j++)
        change -= (f->best.gradient[j] + f->trial.gradient[j]) * (f->trial.x[j] - f->best.x[j]);
    *rounding = fabs(change) <= 4 * epsilon * sqrt(f->values * fmax(f->predicted, 0));
    /* Blocks that go too far together come to as good a point on the other side: no better one. */
    if (*rounding && f->set.blocks && fabs(change) < OVERSHOT * f->predicted) {
        *rounding = false;
        return fabs(change);
    }
    return change;
}

static grove_least_squares_outcome judge(grove_least_squares *f,
                                         const grove_least_squares_sums *sums)
{
    /* Where the model is not finite, data are left out: that is no better fit. */
    bool finite = is_finite(f, sums) && sums->data >= f->data;
    bool undamped = f->now.damping == 0 || f->set.blocks;
    bool small = f->increment * series_of(f) <= f->set.tolerance * f->reference && !f->cut;
    bool rounding = false;
    double change = finite ? change_of(f, sums, &rounding) : INFINITY;
    double negligible =
        grove_least_squares_negligible(f->set.tolerance, f->chi2, (double)f->n, (double)f->data);

    if (!finite || fabs(change) * series_of(f) > negligible)
        f->quiet = 0;
    else
        f->quiet += undamped && !f->cut && change <= 0;
    if (finite && f->quiet >= QUIET * f->subsets) {
        if (change < 0 || rounding)
            accept(f, sums);
        return GROVE_LEAST_SQUARES_CONVERGED;
    }
    if (finite && (change < 0 || rounding)) {
        /* Neither shows more; the increments may still shrink. */
        bool lost = undamped && rounding && f->increment >= f->now.last_increment / 2;

        f->now.last_increment = rounding ? f->increment : INFINITY;
        f->now.last_predicted = undamped && !f->cut ? f->predicted : 0;
        relax(f, change, small || rounding);
        accept(f, sums);
        f->half = false;
        if (!lost || small)
            return go_on(f, undamped && small);
        f->any_stalled = true;
        return f->subsets > 1 ? go_on(f, true) : GROVE_LEAST_SQUARES_STALLED;
    }
    if (finite && undamped && small)
        return go_on(f, true);
    /* Blocks that correct the same thing go too far together: from there back by half. */
    if (f->set.blocks && !f->half && finite && change <= 4 * fabs(f->chi2)) {
        f->half = true;
        if (grove_least_squares_try(f, &f->trial))
            return GROVE_LEAST_SQUARES_RUNNING;
    }
    f->half = false;
    f->now.undamped_tried |= undamped;
    if (damp(f) == GROVE_LEAST_SQUARES_RUNNING)
        return propose(f);
    f->any_stalled = true;
    return f->subsets > 1 ? go_on(f, true) : GROVE_LEAST_SQUARES_STALLED;
}

/* A point to which rounds would lead is taken if it is better, and else they teach nothing. */
static grove_least_squares_outcome judge_extrapolated(grove_least_squares *f,
                                                      const grove_least_squares_sums *sums)
{
    double change = sums->has_change ? sums->change : sums->chi2 - f->chi2;

    f->extrapolated = false;
    f->now.last_predicted = 0;
    for (int32_t k = 0; k < f->subsets; k++)
        f->others[k].last_predicted = 0;
    if (is_finite(f, sums) && sums->data >= f->data && change < 0) {
        accept(f, sums);
        grove_least_squares_rounds_start(f->rounds, f->best.x);
    } else {
        grove_least_squares_rounds_begin(f->rounds, f->best.x);
    }
    return propose(f);
}

/* No step lowers chi-squared, or none by more than rounding. */
static grove_least_squares_outcome judge_stalled(grove_least_squares *f)
{
    double fall = 0, enough = INFINITY;
    bool near = f->chi2 > 0;

    f->stalling = true;
    f->now.damping = 0;
    for (f->subset = 0; f->subset < f->subsets; f->subset++) {
        bool tried = near && grove_least_squares_try(f, &f->best);
        if (near && f->set.remote && !f->solved)
            return GROVE_LEAST_SQUARES_SOLVING;
        near = tried;
        fall += f->predicted;
        enough = fmin(enough, near_enough(f));
    }
    near = near && fall * series_of(f) <= enough;
    return near ? GROVE_LEAST_SQUARES_CONVERGED : GROVE_LEAST_SQUARES_STALLED;
}

/* The point is judged; `outcome` is the result. */
static grove_least_squares_outcome end_step(grove_least_squares *f,
                                            grove_least_squares_outcome outcome)
{
    f->outcome = outcome;
    if (f->outcome == GROVE_LEAST_SQUARES_STALLED && !f->stalling) {
        f->solved = false;
        f->outcome = judge_stalled(f);
    }
    if (f->outcome == GROVE_LEAST_SQUARES_SOLVING)
        return f->outcome;
    int64_t limit = f->set.max_iterations * (int64_t)(f->subsets > 1 ? f->subsets + 1 : 1);
    if (f->outcome == GROVE_LEAST_SQUARES_RUNNING && f->iterations >= limit)
        f->outcome = GROVE_LEAST_SQUARES_LIMIT;
    if (f->outcome == GROVE_LEAST_SQUARES_RUNNING)
        f->iterations++;
    else
        memcpy(f->trial.x, f->best.x, (size_t)f->n * sizeof(double));
    memset(f->trial.gradient, 0, (size_t)f->n * sizeof(double));
    memset(f->trial.matrix, 0, f->size * sizeof(double));
    return f->outcome;
}

double grove_least_squares_solving(const grove_least_squares *f)
{
    return f->now.damping;
}

bool grove_least_squares_is_best(const grove_least_squares *f)
{
    return f->accepted;
}

grove_least_squares_outcome grove_least_squares_solved(grove_least_squares *f, const double *step,
                                                       double square)
{
    if (f->outcome != GROVE_LEAST_SQUARES_SOLVING)
        return f->outcome;
    memcpy(f->step, step, (size_t)f->n * sizeof(double));
    f->square = square;
    f->solved = true;
    return end_step(f, f->stalling ? judge_stalled(f) : propose(f));
}

grove_least_squares_outcome grove_least_squares_step(grove_least_squares *f,
                                                     const grove_least_squares_sums *given)
{
    grove_least_squares_sums sums = *given;
    bool first = isnan(f->chi2);

    if (f->outcome != GROVE_LEAST_SQUARES_RUNNING)
        return f->outcome;
    f->accepted = f->solved = false;
    drop_rounding(f, &sums);
    add_priors(f, &sums);
    return end_step(f, first             ? begin(f, &sums, given->chi2)
                       : f->extrapolated ? judge_extrapolated(f, &sums)
                                         : judge(f, &sums));
}
