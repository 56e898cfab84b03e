/* The steps of nonlinear least squares: which one to try, and what came of it. */
#include "nodes/least_squares_private.h"

#include "base/log.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Of lambda, relative to the diagonal: after a rejected undamped step comes the first; beyond the
 * second no step is long enough to matter. */
#define DAMPING_FIRST 1e-3
#define DAMPING_MAX   1e12
/* Of the tolerance: what part of their standard deviations unknowns may be off. */
#define NEGLIGIBLE 1000
#define MAX_OFFSET 0.01
/* Blocks converge linearly: what part of what is left one step may gain. */
#define SLOW_BLOCKS 0.01
enum { QUIET = 5 };
/* Of alternating steps: the most that is believed of what the next step gains to what the last one
 * has, and from where on rounds are extrapolated. */
#define RATE_MAX  0.9999
#define RATE_SLOW 0.1

double grove_least_squares_clamp(const grove_least_squares *f, int64_t j, double x)
{
    if (f->set.lower && x < f->set.lower[j])
        x = f->set.lower[j];
    if (f->set.upper && x > f->set.upper[j])
        x = f->set.upper[j];
    return x;
}

/* ---- the step ---- */

/* The scaled matrix of the unknowns in f->list, damped. */
static void assemble(grove_least_squares *f, const grove_least_squares_at *from, double damping)
{
    int64_t size = f->factor.size;

    f->factor.lower = f->block ? f->block : f->trial.matrix;
    for (int64_t j = 0; j < size; j++) {
        const double *row = from->matrix + f->row[f->list[j]];
        double *to = f->factor.lower + j * size, factor = 1 / f->scale[f->list[j]];

        for (int64_t k = 0; k < j; k++)
            to[k] = row[f->column[f->list[k]]] * factor / f->scale[f->list[k]];
        to[j] = 1 + damping;
    }
}

bool grove_least_squares_factor(grove_least_squares *f, const grove_least_squares_at *from,
                                double damping)
{
    double smallest = 64 * (double)f->factor.size * DBL_EPSILON;

    if (grove_interrupted())
        return false;
    assemble(f, from, damping);
    if (!(f->deficient && damping == 0)) {
        if (grove_factor_plain(&f->factor, smallest))
            return true;
        assemble(f, from, damping);
    }
    f->deficient = true;
    return grove_factor_pivoted(&f->factor, smallest);
}

void grove_least_squares_list(grove_least_squares *f, int64_t group)
{
    f->factor.size = 0;
    for (int64_t k = f->begin[group]; k < f->begin[group + 1]; k++)
        if (f->scale[f->member[k]] > 0 && !f->held[f->member[k]])
            f->list[f->factor.size++] = f->member[k];
}

/* The whole step, [n], from there; zero for what has no data or is held. */
static bool solve(grove_least_squares *f, const grove_least_squares_at *from)
{
    memset(f->step, 0, (size_t)f->n * sizeof(double));
    for (int64_t group = 0; group < f->groups; group++) {
        grove_least_squares_list(f, group);
        if (!f->factor.size)
            continue;
        if (!grove_least_squares_factor(f, from, f->damping))
            return false;
        for (int64_t k = 0; k < f->factor.size; k++)
            f->right[k] = from->gradient[f->list[k]] / f->scale[f->list[k]];
        grove_factor_solve(&f->factor, f->right);
        for (int64_t k = 0; k < f->factor.size; k++)
            f->step[f->list[k]] = f->right[k] / f->scale[f->list[k]];
    }
    return true;
}

/* Holds what is at a bound where `direction` points outward; how many more these are. */
static int64_t hold(grove_least_squares *f, const double *x, const double *direction)
{
    int64_t more = 0;

    for (int64_t j = 0; j < f->n; j++) {
        bool out = (f->set.lower && x[j] <= f->set.lower[j] && direction[j] < 0) ||
                   (f->set.upper && x[j] >= f->set.upper[j] && direction[j] > 0);

        more += out && !f->held[j];
        f->held[j] = f->held[j] || out;
    }
    return more;
}

/* What the linear model says of f->step: how much chi-squared falls. */
static double predict(const grove_least_squares *f, const grove_least_squares_at *from)
{
    double sum = 0, *step = f->factor.work;

    for (int64_t group = 0; group < f->groups; group++) {
        const int32_t *member = f->member + f->begin[group];
        int64_t count = f->begin[group + 1] - f->begin[group];
        for (int64_t a = 0; a < count; a++) {
            const double *row = from->matrix + f->row[member[a]], s = f->step[member[a]];
            double product = 0, gradient = from->gradient[member[a]];
            step[a] = s;
            if (f->set.blocks || s == 0) {
                sum += s * gradient;
                continue;
            }
            for (int64_t b = 0; b < a; b++)
                product += row[b] * step[b];
            sum += s * (2 * gradient - 2 * product - row[a] * s);
        }
    }
    return sum;
}

/* Steps from `from` to `to` become turns of the complex factors. */
static void turn(const grove_least_squares *f, const double *from, double *to)
{
    for (int64_t j = 0; f->set.pairs && j + 1 < f->n; j++) {
        double square = from[j] * from[j] + from[j + 1] * from[j + 1];
        double x = to[j] - from[j], y = to[j + 1] - from[j + 1];

        if (!f->set.pairs[j] || !(4 * (x * x + y * y) < square))
            continue;
        double growth = exp((x * from[j] + y * from[j + 1]) / square),
               angle = (y * from[j] - x * from[j + 1]) / square;
        to[j] = growth * (from[j] * cos(angle) - from[j + 1] * sin(angle));
        to[j + 1] = growth * (from[j] * sin(angle) + from[j + 1] * cos(angle));
    }
}

/* Goes from there by f->step, or half of it, as far as bounds let it. */
static void move(grove_least_squares *f, const grove_least_squares_at *from)
{
    double fraction = f->half ? 0.5 : 1;

    f->cut = false;
    f->increment = 0;
    for (int64_t j = 0; j < f->n; j++) {
        double x = from->x[j], to = x + fraction * f->step[j],
               inside = grove_least_squares_clamp(f, j, to);
        double increment = fabs(f->step[j]) * f->scale[j];

        f->increment = increment > f->increment ? increment : f->increment;
        f->cut = f->cut || inside != to;
        f->step[j] = inside != to ? inside - x : fraction * f->step[j];
        f->right[j] = inside;
    }
    f->predicted = predict(f, from);
    if (f->set.blocks) { /* damping does no more than shorten */
        f->increment *= 1 + f->damping;
        f->predicted *= 1 + f->damping;
    }
    turn(f, from->x, f->right);
    memcpy(f->trial.x, f->right, (size_t)f->n * sizeof(double));
}

/* The trial point from there with the damping as it is. False when there is none. */
static bool try_step(grove_least_squares *f, const grove_least_squares_at *from)
{
    double norm = 0, epsilon = fmax(f->set.rounding, DBL_EPSILON);
    int64_t count = 0;

    for (int64_t j = 0; j < f->n; j++) {
        double diagonal = *grove_least_squares_diagonal(f, from->matrix, j);

        f->held[j] = f->turn_of && f->turn_of[j] != f->turn;
        f->scale[j] = diagonal >= DBL_MIN ? sqrt(diagonal) : 0;
        count += f->scale[j] > 0;
        norm += f->scale[j] * f->scale[j] * from->x[j] * from->x[j];
    }
    f->reference = count ? sqrt(norm / (double)count) : 0;
    f->values = norm + f->power;
    /* A gradient has rounding of about epsilon times a column times the data. */
    f->floor = 64 * (double)count * epsilon * epsilon * f->values;
    /* So have values, and chi-squared by them; besides that of its own sum. */
    f->rounding =
        256 * DBL_EPSILON * fabs(f->chi2) + 16 * epsilon * sqrt(fabs(f->chi2) * f->values);
    f->rounding = f->by_change ? f->floor : f->rounding + f->floor;
    hold(f, from->x, from->gradient);
    do {
        if (!solve(f, from))
            return false;
    } while (hold(f, from->x, f->step) > 0);
    move(f, from);
    return isfinite(f->predicted);
}

/* More damping; stalled when no more would change anything. */
static grove_least_squares_outcome damp(grove_least_squares *f)
{
    double first = f->set.blocks ? 0.5 : DAMPING_FIRST;

    f->damping *= f->set.blocks ? 2 : f->growth;
    f->growth *= 2;
    if (f->damping < first)
        f->damping = first;
    return f->damping > DAMPING_MAX ? GROVE_LEAST_SQUARES_STALLED : GROVE_LEAST_SQUARES_RUNNING;
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

/* How much all steps from now on gain to what this one does. */
static double series_of(const grove_least_squares *f)
{
    return f->turns > 1 ? 1 / (1 - fmin(f->rate, RATE_MAX)) : 1;
}

/* How the gains of steps shrink: a step predicted after an undamped one of the turn before. */
static void find_rate(grove_least_squares *f)
{
    if (f->turns > 1 && f->last_predicted > 0 && f->damping == 0 && f->predicted > f->floor)
        f->rate = fmax(f->predicted / f->last_predicted, f->rate / 2);
    f->last_predicted = 0;
}

/* The next trial point from the best one, or the end: of a turn. */
static grove_least_squares_outcome propose_step(grove_least_squares *f)
{
    double tolerance = f->set.tolerance;
    double enough = f->chi2 > 0 ? tolerance * tolerance * f->chi2 : 0;

    for (;;) {
        if (try_step(f, &f->best)) {
            bool undamped = f->damping == 0 || f->set.blocks;
            find_rate(f);
            double end = fmax(enough, fmin(near_enough(f), f->floor)) / series_of(f);

            if (f->predicted <= end && !f->cut) {
                if (undamped)
                    return GROVE_LEAST_SQUARES_CONVERGED;
                if (f->undamped_tried)
                    return GROVE_LEAST_SQUARES_STALLED;
                /* Damping may hide how far there is to go. */
                f->damping = 0;
                continue;
            }
            if (f->predicted > 0)
                return GROVE_LEAST_SQUARES_RUNNING;
        }
        f->undamped_tried |= f->damping == 0;
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

/* The same of all turns. */
static grove_least_squares_outcome propose(grove_least_squares *f)
{
    if (f->turns == 1)
        return propose_step(f);
    while (f->idle < f->turns) {
        grove_least_squares_outcome outcome = propose_step(f);
        if (outcome == GROVE_LEAST_SQUARES_RUNNING)
            return outcome;
        f->any_stalled |= outcome == GROVE_LEAST_SQUARES_STALLED;
        f->idle++;
        if (grove_least_squares_next_turn(f) && extrapolate(f))
            return GROVE_LEAST_SQUARES_RUNNING;
    }
    return f->any_stalled ? GROVE_LEAST_SQUARES_STALLED : GROVE_LEAST_SQUARES_CONVERGED;
}

/* A step is done. `end`: its turn has nothing more to gain. */
static grove_least_squares_outcome go_on(grove_least_squares *f, bool end)
{
    if (f->turns == 1)
        return end ? GROVE_LEAST_SQUARES_CONVERGED : propose(f);
    f->idle = end ? f->idle + 1 : 0;
    f->any_stalled &= end;
    return grove_least_squares_next_turn(f) && extrapolate(f) ? GROVE_LEAST_SQUARES_RUNNING
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

/* Unknowns of which only rounding shows have no data. */
static void drop_rounding(grove_least_squares *f, const grove_least_squares_sums *sums)
{
    double epsilon = 2 * fmax(f->set.rounding, DBL_EPSILON);

    for (int64_t j = 0; f->set.size && j < f->n; j++) {
        double size = f->set.size[j];
        double *row = f->trial.matrix + f->row[j];
        if (!(row[f->column[j]] * size * size <= epsilon * epsilon * sums->power))
            continue;
        f->trial.gradient[j] = 0;
        memset(row, 0, ((size_t)f->column[j] + 1) * sizeof(*row));
        for (int64_t k = f->begin[f->block_of[j]]; k < f->begin[f->block_of[j] + 1]; k++)
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
    f->chi2 = sums->chi2;
    f->power = sums->power;
    f->data = sums->data;
    f->by_change = sums->has_change;
    f->growth = DAMPING_GROWTH;
    f->undamped_tried = false;
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

    if (f->set.blocks)
        f->damping = f->damping > 0.1 ? f->damping * 0.9 : 0;
    else if (ratio < 0.25)
        f->damping = f->damping > 0 ? f->damping * 2 : DAMPING_FIRST;
    else
        f->damping *= fmax(0.01, 1 - pow(2 * ratio - 1, 3)); /* Nielsen 1999 */
    if (f->damping < DAMPING_ZERO || small)
        f->damping = 0;
}

/* What chi-squared has changed by. Where its rounding hides that, gradients at both ends of the
 * step tell it, whose own is less by what the step changes the model to the model's residuals (as
 * Hager & Zhang 2005, SIAM J. Optim. 16, 170). `rounding`: it is not more than that either. */
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
    return change;
}

static grove_least_squares_outcome judge(grove_least_squares *f,
                                         const grove_least_squares_sums *sums)
{
    /* Where the model is not finite, data are left out: that is no better fit. */
    bool finite = is_finite(f, sums) && sums->data >= f->data;
    bool undamped = f->damping == 0 || f->set.blocks;
    bool small = f->increment * series_of(f) <= f->set.tolerance * f->reference && !f->cut;
    bool rounding = false;
    double change = finite ? change_of(f, sums, &rounding) : INFINITY;
    double negligible =
        grove_least_squares_negligible(f->set.tolerance, f->chi2, (double)f->n, (double)f->data);

    if (!finite || fabs(change) * series_of(f) > negligible)
        f->quiet = 0;
    else
        f->quiet += undamped && !f->cut && change <= 0;
    if (finite && f->quiet >= QUIET * f->turns) {
        if (change < 0 || rounding)
            accept(f, sums);
        return GROVE_LEAST_SQUARES_CONVERGED;
    }
    if (finite && (change < 0 || rounding)) {
        /* Neither tells more; the increments may still shrink. */
        bool lost = undamped && rounding && f->increment >= f->last_increment / 2;

        f->last_increment = rounding ? f->increment : INFINITY;
        f->last_predicted = undamped && !f->cut ? f->predicted : 0;
        relax(f, change, small || rounding);
        accept(f, sums);
        f->half = false;
        if (!lost || small)
            return go_on(f, undamped && small);
        f->any_stalled = true;
        return f->turns > 1 ? go_on(f, true) : GROVE_LEAST_SQUARES_STALLED;
    }
    if (finite && undamped && small)
        return go_on(f, true);
    /* Blocks that correct the same thing go too far together: from there back by half. */
    if (f->set.blocks && !f->half && finite && change <= 4 * fabs(f->chi2)) {
        f->half = true;
        if (try_step(f, &f->trial))
            return GROVE_LEAST_SQUARES_RUNNING;
    }
    f->half = false;
    f->undamped_tried |= undamped;
    if (damp(f) == GROVE_LEAST_SQUARES_RUNNING)
        return propose(f);
    f->any_stalled = true;
    return f->turns > 1 ? go_on(f, true) : GROVE_LEAST_SQUARES_STALLED;
}

/* A point to which rounds would lead is taken if it is better, and else they teach nothing. */
static grove_least_squares_outcome judge_extrapolated(grove_least_squares *f,
                                                      const grove_least_squares_sums *sums)
{
    double change = sums->has_change ? sums->change : sums->chi2 - f->chi2;

    f->extrapolated = false;
    f->last_predicted = 0;
    if (is_finite(f, sums) && sums->data >= f->data && change < 0) {
        accept(f, sums);
        grove_least_squares_rounds_start(f->rounds, f->best.x);
    } else {
        grove_least_squares_rounds_begin(f->rounds, f->best.x);
    }
    return propose(f);
}

/* No step lowers chi-squared, or none can be told from rounding. */
static grove_least_squares_outcome judge_stalled(grove_least_squares *f)
{
    double fall = 0, enough = INFINITY;
    bool near = f->chi2 > 0;

    f->damping = 0;
    for (f->turn = 0; f->turn < f->turns; f->turn++) {
        near = near && try_step(f, &f->best);
        fall += f->predicted;
        enough = fmin(enough, near_enough(f));
    }
    near = near && fall * series_of(f) <= enough;
    return near ? GROVE_LEAST_SQUARES_CONVERGED : GROVE_LEAST_SQUARES_STALLED;
}

grove_least_squares_outcome grove_least_squares_step(grove_least_squares *f,
                                                     const grove_least_squares_sums *given)
{
    grove_least_squares_sums sums = *given;
    bool first = isnan(f->chi2);

    if (f->outcome != GROVE_LEAST_SQUARES_RUNNING)
        return f->outcome;
    drop_rounding(f, &sums);
    add_priors(f, &sums);
    f->outcome = first             ? begin(f, &sums, given->chi2)
                 : f->extrapolated ? judge_extrapolated(f, &sums)
                                   : judge(f, &sums);
    if (f->outcome == GROVE_LEAST_SQUARES_STALLED)
        f->outcome = judge_stalled(f);
    int64_t limit = f->set.max_iterations * (int64_t)(f->turns > 1 ? f->turns + 1 : 1);
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
