/* Fits in which each Jones term is made of the numbers of one parm: StEFCal solves for them without
 * the tree. */
#include "nodes/solve.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where data hardly tell something, such as the phase between X and Y of a sky of 1 % polarisation,
 * what is left is up to 1e4 times the change of an iteration. */
#define CHANGE 1e-4
#define LESS   1e-6 /* of chi-squared: another minimum */
/* Data for each unknown below which there may be several minima, and starts tried then. */
enum { FEW_DATA = 20, STARTS = 3 };

/* The unknown of a Jones matrix's element; -1: it is 0. */
static int64_t unknown_of(const solve *s, const solve_domain *d, int group, int64_t station,
                          int element)
{
    int member = s->jones == GROVE_STEFCAL_FULL ? element : element / 3;

    if (s->jones != GROVE_STEFCAL_FULL && element % 3)
        return -1;
    if (s->jones == GROVE_STEFCAL_SCALAR)
        member = 0;
    const solve_parm *own = &s->parms[s->of_group[group]];
    int64_t source = member * solve_sources(own->parm) + s->source_of_group[group];

    return d->base[s->of_group[group]] + own->parts * (source * own->parm->station->size + station);
}

static double complex number_of(const solve *s, const double *x)
{
    return s->part == GROVE_STEFCAL_COMPLEX ? CMPLX(x[0], x[1])
           : s->part == GROVE_STEFCAL_PHASE ? CMPLX(cos(x[0]), sin(x[0]))
                                            : *x;
}

static void take_number(const solve *s, double complex number, double *x)
{
    if (s->part == GROVE_STEFCAL_PHASE) {
        /* The phase that is closest to the one before. */
        *x += carg(number * CMPLX(cos(*x), -sin(*x)));
        return;
    }
    x[0] = creal(number);
    if (s->part == GROVE_STEFCAL_COMPLEX)
        x[1] = cimag(number);
}

static void copy_jones(const solve *s, const solve_domain *d, double complex *jones, double *x,
                       bool into_x)
{
    for (int64_t a = 0; a < s->stations; a++)
        for (int g = 0; g < s->group_count; g++)
            for (int e = 0; e < 4; e++) {
                double complex *number = &jones[(a * s->group_count + g) * 4 + e];
                int64_t u = unknown_of(s, d, g, a, e);
                if (!into_x)
                    *number = u < 0 ? 0 : number_of(s, x + u);
                else if (u >= 0)
                    take_number(s, *number, x + u);
            }
}

/* Whether Jones terms and their derivatives are what the parms' numbers make of them. */
static bool is_direct(const solve_tile *tile, const int64_t cell[SOLVE_CUTS],
                      const double complex *jones)
{
    const solve *s = tile->solve;
    double complex found[4];
    bool same = true;

    for (int64_t a = 0; a < s->stations && same; a++)
        for (int g = 0; g < s->group_count && same; g++) {
            const double complex *wanted = &jones[(a * s->group_count + g) * 4];
            solve_load(tile, s->groups[g].left, cell, a, found);
            for (int e = 0; e < 4; e++)
                same = same && cabs(found[e] - wanted[e]) <= 1e-6 * cabs(wanted[e]);
        }
    for (int k = 0; k < s->slot_count && same; k++) {
        const solve_slot *slot = &s->slots[k];
        solve_load(tile, slot->input, cell, 0, found);
        for (int e = 0; e < 4; e++) {
            bool own = s->jones == GROVE_STEFCAL_SCALAR ? e % 3 == 0
                       : s->jones == GROVE_STEFCAL_FULL ? e == slot->member
                                                        : e == 3 * slot->member;
            double complex wanted = !own ? 0
                                    : s->part == GROVE_STEFCAL_PHASE
                                        ? I * jones[slot->group * 4 + e]
                                        : 1;
            same = same && cabs(found[e] - wanted) <= 1e-6;
        }
    }
    return same;
}

/* The sums of all stretches of the domain: of one as they are, of several in `added`, which the
 * caller frees. */
static const double *add_stretches(const solve_tile *tile, const solve_compressed *c,
                                   const solve_domain *d, double **added)
{
    const solve *s = tile->solve;
    int64_t t[2], f[2];

    *added = NULL;
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

static void count_data(const solve_tile *tile, const solve_compressed *c, solve_domain *d,
                       const double *sums)
{
    const solve *s = tile->solve;
    int64_t first = tile->range[tile->baseline].first;

    d->sums = (grove_least_squares_sums){0};
    for (int64_t b = 0; b < c->baselines; b++) {
        if (!solve_is_wanted(tile, first + b))
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
        if (solve_is_wanted(tile, at))
            chi2 += grove_compression_chi2(
                kernels, s->form, s->group_count, sums + b * c->size,
                (grove_compression_sides){jones + range->axis->left[at] * s->group_count * 4,
                                          jones + range->axis->right[at] * s->group_count * 4});
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
    int64_t count = s->stations * s->group_count * 4;
    double complex *jones = grove_alloc((size_t)(2 * count) * sizeof(*jones)),
                   *other = jones + count;
    const struct grove_stefcal_kernels *kernels = grove_compression_kernels_now();
    double change = 0, limit = 1e-10 * w->d->sums.power;

    (void)direction;
    copy_jones(s, w->d, jones, (double *)from, false);
    copy_jones(s, w->d, other, (double *)to, false);
    for (int64_t b = 0; b < w->c->baselines && change <= limit; b++) {
        int64_t at = range->first + b, p = range->axis->left[at], q = range->axis->right[at];
        grove_compression_sides before = {jones + p * s->group_count * 4,
                                          jones + q * s->group_count * 4},
                                after = {other + p * s->group_count * 4,
                                         other + q * s->group_count * 4};
        if (solve_is_wanted(w->tile, at))
            change += fabs(grove_compression_change(kernels, s->form, s->group_count,
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
        for (int g = 0; g < s->group_count; g++)
            for (int e = 0; e < 4; e++) {
                int64_t u = unknown_of(s, d, g, a, e);
                for (int part = 0; u >= 0 && part < (s->part == GROVE_STEFCAL_COMPLEX ? 2 : 1);
                     part++)
                    d->known[u + part] = solved[(a * s->group_count + g) * 4 + e];
            }
    for (int64_t u = 0; u < d->unknowns; u++)
        d->determined += d->known[u];
}

/* chi^2 with the second column of all Jones matrices turned by `angle`, less that without. */
static double change_turned(const solve_tile *tile, const solve_compressed *c, const double *sums,
                            const double complex *jones, const bool *solved, double angle,
                            double complex *turned)
{
    const solve *s = tile->solve;
    const grove_range *range = &tile->range[tile->baseline];
    const struct grove_stefcal_kernels *kernels = grove_compression_kernels_now();
    int64_t each = s->group_count * 4;
    double change = 0;

    for (int64_t i = 0; i < s->stations * each; i++)
        turned[i] = i % 2 && solved[i] ? jones[i] * CMPLX(cos(angle), sin(angle)) : jones[i];
    for (int64_t b = 0; b < c->baselines; b++) {
        int64_t at = range->first + b, p = range->axis->left[at], q = range->axis->right[at];
        grove_compression_sides from = {jones + p * each, jones + q * each},
                                to = {turned + p * each, turned + q * each};
        if (solve_is_wanted(tile, at))
            change += grove_compression_change(kernels, s->form, s->group_count, sums + b * c->size,
                                               from, to);
    }
    return change;
}

/* The phase between X and Y, which only a polarised sky tells: with all else as it is, chi^2 is
 * a + b cos + c sin of it. Half a turn from its minimum all derivatives are 0. Whether it was
 * changed. */
static bool turn_columns(const solve_tile *tile, const solve_compressed *c, const solve_domain *d,
                         const double *sums, const bool *solved, double complex *jones)
{
    const solve *s = tile->solve;
    int64_t count = s->stations * s->group_count * 4;
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

/* What the data of a baseline say the product of its stations' numbers is, of X (0) or Y (3);
 * false: nothing. */
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
        if (p == q || (p != station && q != station) || !solve_is_wanted(tile, at))
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
    return s->group_count == 1 && s->jones != GROVE_STEFCAL_FULL &&
           s->part != GROVE_STEFCAL_AMPLITUDE && d->sums.data > 0 &&
           d->sums.data < FEW_DATA * d->unknowns;
}

/* Solves again from other starts, and takes what is better. */
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

/* From `jones`, which are those of x, into x. */
static int solve_numbers(const solve_tile *tile, const solve_compressed *c, solve_domain *d,
                         double complex *jones, double *x)
{
    const solve *s = tile->solve;
    const grove_range *range = &tile->range[tile->baseline];
    double *added;
    const double *sums = add_stretches(tile, c, d, &added);
    bool *solved = grove_alloc((size_t)(s->stations * s->group_count * 4));
    grove_stefcal_problem problem = {.jones = s->jones,
                                     .part = s->part,
                                     .groups = s->group_count,
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
            free(d->free_words);
            d->free_words =
                d->describe ? solve_describe_free(s, d, d->known, x, -1, is_same, &same) : NULL;
            solve_refer(s, d, d->known, x, is_same, &same);
        }
    }
    free(added);
    free(solved);
    return code ? GROVE_NO_MEMORY : 0;
}

static double complex *jones_of(const solve *s, const solve_domain *d, const double *x)
{
    double complex *jones =
        grove_alloc((size_t)(s->stations * s->group_count * 4) * sizeof(*jones));

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
    double complex *jones = jones_of(s, d, x);
    d->direct = is_direct(tile, cell, jones);
    free(jones);
}

int solve_directly(const solve_tile *tile, const solve_compressed *c, solve_domain *d, double *x)
{
    double complex *jones = jones_of(tile->solve, d, x);
    int code = d->direct ? solve_numbers(tile, c, d, jones, x) : 0;

    free(jones);
    return code;
}

int solve_directly_from(const solve_tile *tile, const solve_compressed *c, solve_domain *d,
                        double *x, bool *better)
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
    int code = solve_numbers(tile, c, &other, jones, x);
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
