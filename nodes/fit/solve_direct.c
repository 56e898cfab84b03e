/* Fits in which each Jones term is made of the numbers of one parm: StEFCal solves for them without
 * the tree. */
#include "nodes/fit/solve.h"

#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where data hardly determine a number, such as the phase between X and Y of a sky of 1 %
 * polarisation, its remaining error is up to 1e4 times the change of an iteration. */
#define CHANGE 1e-4
#define LESS   1e-6 /* of chi-squared: another minimum */
/* Data for each unknown below which there may be several minima, and starts tried then. */
enum { FEW_DATA = 20, STARTS = 3 };

/* The unknown of a Jones matrix's element, of its number (0) or phase (1); -1: none. */
static int64_t unknown_of(const solve *s, const solve_domain *d, int group, int64_t station,
                          int element, int which)
{
    const solve_element *number = &s->number[group][element];
    int parm = number->of[which].parm;

    if (parm < 0)
        return -1;
    const solve_parm *own = &s->parms[parm];
    int64_t source = number->of[which].member * own->sources + number->of[which].source;

    return d->base[parm] + own->parts * (source * own->stations + station);
}

static double complex turn(double phase)
{
    return CMPLX(cos(phase), sin(phase));
}

static double complex number_of(const solve *s, const solve_domain *d, int group, int64_t station,
                                int element, const double *x)
{
    int64_t at = unknown_of(s, d, group, station, element, 0),
            phase = unknown_of(s, d, group, station, element, 1);

    if (at >= 0 && s->part == GROVE_STEFCAL_COMPLEX && phase < 0)
        return CMPLX(x[at], x[at + 1]);
    return (at >= 0 ? x[at] : phase >= 0) * (phase >= 0 ? turn(x[phase]) : 1);
}

/* The phase that is closest to the one before, and an amplitude of the sign that it had. */
static void take_number(const solve *s, const solve_domain *d, int group, int64_t station,
                        int element, double complex number, double *x)
{
    int64_t at = unknown_of(s, d, group, station, element, 0),
            phase = unknown_of(s, d, group, station, element, 1);

    if (phase < 0) {
        x[at] = creal(number);
        if (s->part == GROVE_STEFCAL_COMPLEX)
            x[at + 1] = cimag(number);
        return;
    }
    if (at >= 0 && x[at] < 0)
        number = -number;
    x[phase] += carg(number * conj(turn(x[phase])));
    if (at >= 0)
        x[at] = copysign(cabs(number), x[at]);
}

static bool has_number(const solve *s, int group, int element)
{
    const solve_element *number = &s->number[group][element];

    return number->of[0].parm >= 0 || number->of[1].parm >= 0;
}

static void copy_jones(const solve *s, const solve_domain *d, double complex *jones, double *x,
                       bool into_x)
{
    for (int64_t a = 0; a < s->stations; a++)
        for (int g = 0; g < s->direct_groups; g++)
            for (int e = 0; e < 4; e++) {
                double complex *number = &jones[(a * s->direct_groups + g) * 4 + e];
                if (!into_x)
                    *number = number_of(s, d, g, a, e, x);
                else if (has_number(s, g, e))
                    take_number(s, d, g, a, e, *number, x);
            }
}

/* The derivative of an element of the first station's Jones term of a group by a component. */
static double complex derivative_of(const solve *s, const solve_domain *d, const solve_slot *slot,
                                    int element, const double *x)
{
    const solve_element *number = &s->number[slot->group][element];

    for (int k = 0; k < 2; k++) {
        if (number->of[k].parm != slot->parm || number->of[k].member != slot->member)
            continue;
        int64_t phase = unknown_of(s, d, slot->group, 0, element, 1);
        return k            ? I * number_of(s, d, slot->group, 0, element, x)
               : phase >= 0 ? turn(x[phase])
                            : 1;
    }
    return 0;
}

/* Whether Jones terms and their derivatives are the ones that the parms' numbers give. */
static bool is_direct(const solve_tile *tile, const solve_domain *d, const int64_t cell[SOLVE_CUTS],
                      const double *x)
{
    const solve *s = tile->solve;
    double complex found[4], expected;
    bool same = true;

    for (int64_t a = 0; a < s->stations && same; a++)
        for (int g = 0; g < s->direct_groups && same; g++) {
            solve_load(tile, s->groups[g].left, cell, a, found);
            for (int e = 0; e < 4; e++) {
                expected = number_of(s, d, g, a, e, x);
                same = same && cabs(found[e] - expected) <= 1e-6 * cabs(expected);
            }
        }
    for (int k = 0; k < s->slot_count && same; k++) {
        solve_load(tile, s->slots[k].input, cell, 0, found);
        for (int e = 0; e < 4; e++) {
            expected = derivative_of(s, d, &s->slots[k], e, x);
            same = same && cabs(found[e] - expected) <= 1e-6 * fmax(1, cabs(expected));
        }
    }
    return same;
}

/* The sums of all stretches of the domain: of one without a copy, of several in `added`, which the
 * caller frees. */
static const double *add_stretches(const solve *s, const solve_compressed *c, const solve_domain *d,
                                   double **added)
{
    int64_t t[2], f[2];

    solve_stretches(s, d, SOLVE_TIME, t);
    solve_stretches(s, d, SOLVE_FREQ, f);
    if (t[1] == t[0] + 1 && f[1] == f[0] + 1)
        return solve_sums_at(c, t[0], f[0], 0);
    double *sums = *added = grove_alloc((size_t)(c->baselines * c->size) * sizeof(*sums));
    for (int64_t i = t[0]; i < t[1]; i++)
        for (int64_t j = f[0]; j < f[1]; j++)
            grove_compression_add(sums, solve_sums_at(c, i, j, 0), c->baselines * c->size);
    return sums;
}

/* The sums of the terms that StEFCal solves for: a term without parms is subtracted from the
 * data. */
static const double *sums_of(const solve_tile *tile, const solve_domain *d, solve_compressed *own,
                             double **added)
{
    const solve *s = tile->solve;
    const solve_compressed *c = tile->sums;
    const double *sums = add_stretches(s, c, d, added);

    *own = *c;
    own->size = grove_compression_size(s->form, s->direct_groups);
    if (s->direct_groups == s->group_count)
        return sums;
    double *rest = grove_alloc((size_t)(own->baselines * own->size) * sizeof(*rest));
    for (int64_t b = 0; b < c->baselines; b++)
        grove_compression_subtract_last(s->form, s->group_count, sums + b * c->size,
                                        rest + b * own->size);
    free(*added);
    return *added = rest;
}

static void count_data(const solve_tile *tile, const solve_compressed *c, solve_domain *d,
                       const double *sums)
{
    const solve *s = tile->solve;
    int64_t first = tile->range[tile->baseline].first;

    d->sums = (grove_least_squares_sums){0};
    for (int64_t b = 0; b < c->baselines; b++) {
        if (!solve_baseline_counts(tile, first + b))
            continue;
        d->sums.data += (int64_t)grove_compression_count(sums + b * c->size) * s->parts / 2;
        d->sums.power += grove_compression_power(sums + b * c->size);
        d->sums.values = d->sums.power;
    }
}

static double chi2_of(const solve_tile *tile, const solve_compressed *c, const double *sums,
                      const double complex *jones)
{
    const solve *s = tile->solve;
    const grove_range *range = &tile->range[tile->baseline];
    const struct grove_stefcal_kernels *kernels = grove_compression_kernels_now();
    double chi2 = 0;

    for (int64_t b = 0; b < c->baselines; b++) {
        int64_t at = range->first + b;
        if (solve_baseline_counts(tile, at))
            chi2 += grove_compression_chi2(
                kernels, s->form, s->direct_groups, sums + b * c->size,
                (grove_compression_sides){jones + range->axis->left[at] * s->direct_groups * 4,
                                          jones + range->axis->right[at] * s->direct_groups * 4});
    }
    return fmax(chi2, 0);
}

/* Whether chi-squared is the same to rounding. */
typedef struct {
    const solve_tile *tile;
    const solve_compressed *c;
    const solve_domain *d;
    const double *sums;
} comparison;

static bool is_same(void *context, const double *from, const double *to, const double *direction)
{
    const comparison *w = context;
    const solve *s = w->tile->solve;
    const grove_range *range = &w->tile->range[w->tile->baseline];
    int64_t count = s->stations * s->direct_groups * 4;
    double complex *jones = grove_alloc((size_t)(2 * count) * sizeof(*jones)),
                   *other = jones + count;
    const struct grove_stefcal_kernels *kernels = grove_compression_kernels_now();
    double change = 0, limit = 1e-10 * w->d->sums.power;

    (void)direction;
    copy_jones(s, w->d, jones, (double *)from, false);
    copy_jones(s, w->d, other, (double *)to, false);
    for (int64_t b = 0; b < w->c->baselines && change <= limit; b++) {
        int64_t at = range->first + b, p = range->axis->left[at], q = range->axis->right[at];
        grove_compression_sides before = {jones + p * s->direct_groups * 4,
                                          jones + q * s->direct_groups * 4},
                                after = {other + p * s->direct_groups * 4,
                                         other + q * s->direct_groups * 4};
        if (solve_baseline_counts(w->tile, at))
            change += fabs(grove_compression_change(kernels, s->form, s->direct_groups,
                                                    w->sums + b * w->c->size, before, after));
    }
    free(jones);
    return change <= limit;
}

/* Which unknowns have data. */
static void find_known(const solve *s, solve_domain *d, const bool *solved)
{
    if (!d->known)
        d->known = grove_alloc((size_t)d->unknowns + 1);
    d->determined = 0;
    for (int64_t a = 0; a < s->stations; a++)
        for (int g = 0; g < s->direct_groups; g++)
            for (int e = 0; e < 4; e++) {
                bool known = solved[(a * s->direct_groups + g) * 4 + e];
                for (int k = 0; k < 2; k++) {
                    int64_t u = unknown_of(s, d, g, a, e, k);
                    if (u >= 0)
                        memset(d->known + u, known,
                               (size_t)s->parms[s->number[g][e].of[k].parm].parts);
                }
            }
    bool silent = solve_leave_silent(s, d, d->known, NULL);
    for (int64_t u = 0; u < d->unknowns; u++)
        d->determined += d->known[u];
    if (silent && !d->determined)
        d->outcome = GROVE_LEAST_SQUARES_NO_DATA;
}

/* chi^2 with the second column of all Jones matrices turned by `angle`, less that without. */
static double change_turned(const solve_tile *tile, const solve_compressed *c, const double *sums,
                            const double complex *jones, const bool *solved, double angle,
                            double complex *turned)
{
    const solve *s = tile->solve;
    const grove_range *range = &tile->range[tile->baseline];
    const struct grove_stefcal_kernels *kernels = grove_compression_kernels_now();
    int64_t each = s->direct_groups * 4;
    double change = 0;

    for (int64_t i = 0; i < s->stations * each; i++)
        turned[i] = i % 2 && solved[i] ? jones[i] * CMPLX(cos(angle), sin(angle)) : jones[i];
    for (int64_t b = 0; b < c->baselines; b++) {
        int64_t at = range->first + b, p = range->axis->left[at], q = range->axis->right[at];
        grove_compression_sides from = {jones + p * each, jones + q * each},
                                to = {turned + p * each, turned + q * each};
        if (solve_baseline_counts(tile, at))
            change += grove_compression_change(kernels, s->form, s->direct_groups,
                                               sums + b * c->size, from, to);
    }
    return change;
}

/* Moves the phase between X and Y, which only a polarised sky determines, to its minimum: with all
 * else unchanged, chi^2 is a + b cos + c sin of it. Half a turn from its minimum all derivatives
 * are 0. Whether it was changed. */
static bool turn_columns(const solve_tile *tile, const solve_compressed *c, const solve_domain *d,
                         const double *sums, const bool *solved, double complex *jones)
{
    const solve *s = tile->solve;
    int64_t count = s->stations * s->direct_groups * 4;
    double complex *turned = grove_alloc((size_t)count * sizeof(*turned));
    double quarter = change_turned(tile, c, sums, jones, solved, M_PI / 2, turned),
           half = change_turned(tile, c, sums, jones, solved, M_PI, turned);
    double cosine = -half / 2, sine = quarter - half / 2;
    double angle = atan2(-sine, -cosine), least = half / 2 - hypot(cosine, sine);
    double limit = -1e-10 * d->sums.power;
    bool better = s->jones != GROVE_STEFCAL_SCALAR && s->part != GROVE_STEFCAL_AMPLITUDE &&
                  least < limit / 2 &&
                  change_turned(tile, c, sums, jones, solved, angle, turned) < limit;

    if (better)
        memcpy(jones, turned, (size_t)count * sizeof(*turned));
    free(turned);
    return better;
}

static void take_result(const solve_tile *tile, const grove_stefcal_result *result,
                        const bool *solved, solve_domain *d)
{
    static const grove_least_squares_outcome outcomes[] = {
        [GROVE_STEFCAL_CONVERGED] = GROVE_LEAST_SQUARES_CONVERGED,
        [GROVE_STEFCAL_LIMIT] = GROVE_LEAST_SQUARES_LIMIT,
        [GROVE_STEFCAL_NO_DATA] = GROVE_LEAST_SQUARES_NO_DATA,
        [GROVE_STEFCAL_DIVERGED] = GROVE_LEAST_SQUARES_STALLED};
    const solve *s = tile->solve;

    d->iterations = result->iterations;
    d->outcome = outcomes[result->outcome];
    if (d->outcome == GROVE_LEAST_SQUARES_NO_DATA && d->sums.data > 0)
        d->outcome = GROVE_LEAST_SQUARES_SINGULAR; /* the model is zero */
    find_known(s, d, solved);
    if ((double)d->sums.data < s->quota * (double)d->all)
        d->outcome = GROVE_LEAST_SQUARES_NO_DATA;
}

/* The product of the numbers of a baseline's stations by its data, of X (0) or Y (3); false:
 * unknown. */
static bool product_of(const solve *s, const double *sums, int element, double complex *product)
{
    const double complex zero[4] = {0};
    double complex one[4] = {0}, normal, gradient;
    grove_compression_column column = {.side = 'p'};

    one[element] = column.matrix[element] = 1;
    grove_compression_normal(s->form, 1, sums, zero, one, &column, 1, &normal, &gradient);
    *product = creal(normal) > 0 ? gradient / creal(normal) : 0;
    return creal(normal) > 0 && isfinite(cabs(*product)) && *product != 0;
}

/* Another start: the numbers that a station's baselines alone give to the others. With few data
 * there are several minima, and which one is found depends on the start. */
static void start_from_station(const solve_tile *tile, const solve_compressed *c,
                               const double *sums, int64_t station, double complex *jones)
{
    const solve *s = tile->solve;
    const grove_range *range = &tile->range[tile->baseline];

    for (int64_t b = 0; b < c->baselines; b++) {
        int64_t at = range->first + b, p = range->axis->left[at], q = range->axis->right[at];
        if (p == q || (p != station && q != station) || !solve_baseline_counts(tile, at))
            continue;
        for (int e = 0; e < 4; e += 3) {
            double complex product, *to = &jones[4 * (p == station ? q : p) + e];
            if (!product_of(s, sums + b * c->size, e, &product))
                continue;
            product = p == station ? conj(product) : product;
            bool keeps = s->part == GROVE_STEFCAL_PHASE;
            *to = keeps ? product / cabs(product) * cabs(*to) : product / sqrt(cabs(product));
        }
    }
    for (int64_t a = 0; a < s->stations && s->jones == GROVE_STEFCAL_SCALAR; a++)
        jones[4 * a + 3] = jones[4 * a];
}

static bool has_few_data(const solve *s, const solve_domain *d)
{
    return s->direct_groups == 1 && s->jones != GROVE_STEFCAL_FULL &&
           s->part != GROVE_STEFCAL_AMPLITUDE && d->sums.data > 0 &&
           d->sums.data < FEW_DATA * d->unknowns;
}

/* Solves again from other starts, and takes the best solution. */
static int solve_again(const solve_tile *tile, const solve_compressed *c, const double *sums,
                       const grove_stefcal_problem *problem, double complex *jones, bool *solved,
                       grove_stefcal_result *result)
{
    const solve *s = tile->solve;
    size_t bytes = (size_t)(s->stations * 4) * sizeof(*jones);
    double complex *other = grove_alloc(bytes);
    double best = chi2_of(tile, c, sums, jones);
    int code = 0;

    for (int64_t station = 0; station < s->stations && station < STARTS && !code; station++) {
        grove_stefcal_result found = {0};
        memcpy(other, jones, bytes);
        start_from_station(tile, c, sums, station, other);
        code = grove_stefcal_solve(problem, sums, other, solved, &found);
        double chi2 = code ? INFINITY : chi2_of(tile, c, sums, other);
        /* A slow one counts, too, where another method goes on from it. */
        bool ended = found.outcome == GROVE_STEFCAL_CONVERGED ||
                     (problem->patience && found.outcome == GROVE_STEFCAL_LIMIT);
        if (ended && chi2 < best * (1 - LESS)) {
            best = chi2;
            memcpy(jones, other, bytes);
            *result = found;
        }
    }
    free(other);
    return code;
}

/* From `jones`, which are the Jones terms at x, into x. */
static int solve_numbers(const solve_tile *tile, solve_domain *d, double complex *jones, double *x)
{
    const solve *s = tile->solve;
    const grove_range *range = &tile->range[tile->baseline];
    double *added = NULL;
    solve_compressed own;
    const solve_compressed *c = &own;
    const double *sums = sums_of(tile, d, &own, &added);
    bool *solved = grove_alloc((size_t)(s->stations * s->direct_groups * 4));
    grove_stefcal_problem problem = {.jones = s->jones,
                                     .part = s->part,
                                     .groups = s->direct_groups,
                                     .stations = (int32_t)s->stations,
                                     .baselines = c->baselines,
                                     .left = range->axis->left + range->first,
                                     .right = range->axis->right + range->first,
                                     .autocorrelations = s->autocorrelations,
                                     .max_iterations = s->max_iterations,
                                     .tolerance = fmax(CHANGE * s->tolerance, 1e-14),
                                     .patience = s->method == SOLVE_STEFCAL ? 0 : s->patience};
    grove_stefcal_result result = {0};
    count_data(tile, c, d, sums);
    problem.negligible =
        grove_least_squares_negligible(s->tolerance, 1, (double)d->unknowns, (double)d->sums.data);
    int code = grove_stefcal_solve(&problem, sums, jones, solved, &result);
    if (!code && result.outcome != GROVE_STEFCAL_NO_DATA &&
        turn_columns(tile, c, d, sums, solved, jones))
        code = grove_stefcal_solve(&problem, sums, jones, solved, &result);
    if (!code && result.outcome != GROVE_STEFCAL_NO_DATA && has_few_data(s, d))
        code = solve_again(tile, c, sums, &problem, jones, solved, &result);
    if (!code) {
        take_result(tile, &result, solved, d);
        d->chi2 = chi2_of(tile, c, sums, jones);
        if (d->outcome != GROVE_LEAST_SQUARES_NO_DATA)
            copy_jones(s, d, jones, x, true);
        if (d->outcome != GROVE_LEAST_SQUARES_NO_DATA &&
            d->outcome != GROVE_LEAST_SQUARES_SINGULAR) {
            comparison same = {tile, c, d, sums};
            const solve_freedom freedom = {s, d, d->known, is_same, &same};
            free(d->free_words);
            d->free_words = d->describe ? solve_describe_free(&freedom, x, -1) : NULL;
            solve_refer(&freedom, x, NULL);
        }
        solve_leave_silent(s, d, NULL, x);
    }
    free(added);
    free(solved);
    return code ? GROVE_NO_MEMORY : 0;
}

static double complex *jones_of(const solve *s, const solve_domain *d, const double *x)
{
    double complex *jones =
        grove_alloc((size_t)(s->stations * s->direct_groups * 4) * sizeof(*jones));

    copy_jones(s, d, jones, (double *)(uintptr_t)x, false);
    return jones;
}

void solve_find_direct(const solve_tile *tile, solve_domain *d, const double *x)
{
    const solve *s = tile->solve;
    const int64_t cell[SOLVE_CUTS] = {s->cut[SOLVE_TIME].first[d->number[SOLVE_TIME]],
                                      s->cut[SOLVE_FREQ].first[d->number[SOLVE_FREQ]]};

    for (int cut = 0; cut < SOLVE_CUTS; cut++) {
        int64_t range[2] = {cell[cut], cell[cut] + 1};
        if (!solve_clip(tile, cut, range))
            return;
    }
    d->direct = is_direct(tile, d, cell, x);
}

int solve_directly(const solve_tile *tile, solve_domain *d, double *x)
{
    double complex *jones = jones_of(tile->solve, d, x);
    int code = d->direct ? solve_numbers(tile, d, jones, x) : 0;

    free(jones);
    return code;
}

int solve_directly_from(const solve_tile *tile, solve_domain *d, double *x, bool *better)
{
    const solve *s = tile->solve;
    solve_domain other = *d;

    *better = false;
    if (!has_few_data(s, d))
        return 0;
    other.known = NULL;
    other.free_words = NULL;
    other.describe = false;
    double complex *jones = jones_of(s, d, x);
    int code = solve_numbers(tile, &other, jones, x);
    free(jones);
    *better =
        !code && other.outcome != GROVE_LEAST_SQUARES_STALLED && other.chi2 < d->chi2 * (1 - LESS);
    if (*better) {
        d->chi2 = other.chi2;
        d->outcome = other.outcome;
        d->iterations = other.iterations;
    }
    free(other.known);
    return code;
}
