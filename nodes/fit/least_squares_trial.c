/* The trial point of nonlinear least squares: from the damped normal equations. */
#include "nodes/fit/least_squares_private.h"

#include "util.h"

#include <float.h>
#include <math.h>
#include <string.h>

double grove_least_squares_clamp(const grove_least_squares *f, int64_t j, double x)
{
    if (f->set.lower && x < f->set.lower[j])
        x = f->set.lower[j];
    if (f->set.upper && x > f->set.upper[j])
        x = f->set.upper[j];
    return x;
}

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

/* The whole step, [n], from there; zero for unknowns without data or held ones. */
static bool solve(grove_least_squares *f, const grove_least_squares_at *from)
{
    memset(f->step, 0, (size_t)f->n * sizeof(double));
    for (int64_t group = 0; group < f->groups; group++) {
        grove_least_squares_list(f, group);
        if (!f->factor.size)
            continue;
        if (!grove_least_squares_factor(f, from, f->now.damping))
            return false;
        for (int64_t k = 0; k < f->factor.size; k++)
            f->right[k] = from->gradient[f->list[k]] / f->scale[f->list[k]];
        grove_factor_solve(&f->factor, f->right);
        for (int64_t k = 0; k < f->factor.size; k++)
            f->step[f->list[k]] = f->right[k] / f->scale[f->list[k]];
    }
    return true;
}

/* Holds unknowns at a bound where `direction` points outward; returns the number of new ones. */
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

/* The fall of chi-squared by f->step in the linear model. */
static double predict(const grove_least_squares *f, const grove_least_squares_at *from)
{
    double sum = 0, *step = f->factor.work;

    for (int64_t j = 0; f->set.remote && j < f->n; j++)
        sum += 2 * f->step[j] * from->gradient[j];
    if (f->set.remote)
        return sum - f->square;
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
        f->increment *= 1 + f->now.damping;
        f->predicted *= 1 + f->now.damping;
    }
    turn(f, from->x, f->right);
    memcpy(f->trial.x, f->right, (size_t)f->n * sizeof(double));
}

/* Sets the held unknowns, and the scales with which steps from there are compared. */
static void scale(grove_least_squares *f, const grove_least_squares_at *from)
{
    double norm = 0, epsilon = fmax(f->set.rounding, DBL_EPSILON);
    int64_t count = 0;

    for (int64_t j = 0; j < f->n; j++) {
        double diagonal = *grove_least_squares_diagonal(f, from->matrix, j);

        f->held[j] = f->subset_of && f->subset_of[j] != f->subset;
        f->scale[j] = diagonal >= DBL_MIN ? sqrt(diagonal) : 0;
        count += f->scale[j] > 0;
        norm += f->scale[j] * f->scale[j] * from->x[j] * from->x[j];
    }
    f->reference = count ? sqrt(norm / (double)count) : 0;
    f->values = norm + f->power;
    /* A gradient has rounding of about epsilon times a column times the data. */
    f->floor = 64 * (double)count * epsilon * epsilon * f->values;
    /* So have values, and chi-squared by them, besides its own sum's rounding. */
    f->rounding =
        256 * DBL_EPSILON * fabs(f->chi2) + 16 * epsilon * sqrt(fabs(f->chi2) * f->values);
    f->rounding = f->by_change ? f->floor : f->rounding + f->floor;
}

bool grove_least_squares_try(grove_least_squares *f, const grove_least_squares_at *from)
{
    scale(f, from);
    if (f->set.remote) {
        if (f->solved)
            move(f, from);
        return f->solved && isfinite(f->predicted);
    }
    hold(f, from->x, from->gradient);
    do {
        if (!solve(f, from))
            return false;
    } while (hold(f, from->x, f->step) > 0);
    move(f, from);
    return isfinite(f->predicted);
}
