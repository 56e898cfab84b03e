/* Nonlinear least squares of one solution domain: the start and the results. */
#include "nodes/fit/least_squares_private.h"

#include "util.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- making ---- */

double grove_least_squares_bytes(const int64_t *unknowns, int64_t blocks)
{
    double sum = 0, largest = 0;

    for (int64_t i = 0; i < blocks; i++) {
        double numbers = (double)unknowns[i] * (double)unknowns[i];
        sum += 2 * numbers;
        largest = blocks > 1 && numbers > largest ? numbers : largest;
    }
    return sizeof(double) * (sum + largest);
}

/* Orders the unknowns by block, and says where in the matrices they are. */
static bool make_groups(grove_least_squares *f)
{
    int64_t n = f->n, largest = 0;

    f->groups = 1;
    for (int64_t j = 0; j < n; j++)
        if (f->block_of[j] >= f->groups)
            f->groups = f->block_of[j] + 1;
    f->begin = grove_try_alloc((size_t)f->groups + 2, sizeof(int32_t));
    if (!f->begin)
        return false;
    for (int64_t j = 0; j < n; j++)
        f->begin[f->block_of[j] + 2]++;
    for (int64_t g = 0; g < f->groups; g++) {
        largest = f->begin[g + 2] > largest ? f->begin[g + 2] : largest;
        f->begin[g + 2] += f->begin[g + 1];
    }
    for (int64_t j = 0; j < n; j++)
        f->member[f->begin[f->block_of[j] + 1]++] = (int32_t)j;
    for (int64_t g = 0; g < f->groups; g++) {
        int64_t count = f->begin[g + 1] - f->begin[g];
        for (int64_t k = 0; k < count; k++) {
            int32_t j = f->member[f->begin[g] + k];
            f->row[j] = (int64_t)f->size + k * (f->set.remote ? 1 : count);
            f->column[j] = f->set.remote ? 0 : (int32_t)k;
        }
        f->size += (uint64_t)(count * (f->set.remote ? 1 : count));
    }
    f->layout = (grove_least_squares_layout){f->row, f->column, f->block_of};
    if (f->groups > 1)
        f->block = grove_try_alloc((size_t)(largest * largest) + 1, sizeof(double));
    return f->groups == 1 || f->block;
}

static bool make_subsets(grove_least_squares *f)
{
    f->subsets = 1;
    if (!f->subset_of)
        return true;
    for (int64_t j = 0; j < f->n; j++)
        f->subsets = f->subset_of[j] >= f->subsets ? f->subset_of[j] + 1 : f->subsets;
    f->others = grove_try_alloc((size_t)f->subsets, sizeof(*f->others));
    for (int32_t i = 0; f->others && i < f->subsets; i++)
        f->others[i] = f->now;
    f->rounds = grove_least_squares_rounds_new(f->n);
    return f->others && f->rounds;
}

/* All vectors, in one piece of memory; arrays of the settings become copies in it. */
static bool make_vectors(grove_least_squares *f, const grove_least_squares_settings *given)
{
    double **const numbers[] = {&f->best.x,     &f->best.gradient, &f->trial.x, &f->trial.gradient,
                                &f->step,       &f->scale,         &f->right,   &f->errors,
                                &f->factor.work}; /* the last one twice as long */
    const double **const settings[] = {&f->set.lower, &f->set.upper, &f->set.mean,
                                       &f->set.inverse_sigma, &f->set.size};
    int32_t **const integers[] = {&f->factor.order, &f->member,   &f->list,
                                  &f->column,       &f->block_of, &f->subset_of};
    enum { NUMBERS = 9, SETTINGS = 5, INTEGERS = 6 };
    size_t n = (size_t)f->n + 1, all = (n - 1) * sizeof(double);
    double *next = grove_try_alloc(n, (NUMBERS + SETTINGS + 2) * sizeof(double) +
                                          INTEGERS * sizeof(int32_t) + 2 * sizeof(bool));

    f->memory = next;
    if (!next)
        return false;
    for (int k = 0; k < NUMBERS; k++, next += n)
        *numbers[k] = next;
    next += n;
    for (int k = 0; k < SETTINGS; k++, next += n)
        if (*settings[k])
            *settings[k] = memcpy(next, *settings[k], all);
    f->row = (int64_t *)(void *)next;
    int32_t *after = (int32_t *)(void *)(next + n);
    for (int k = 0; k < INTEGERS; k++, after += n)
        *integers[k] = after;
    if (given->block_of)
        memcpy(f->block_of, given->block_of, all / 2);
    f->subset_of = given->subset_of ? memcpy(f->subset_of, given->subset_of, all / 2) : NULL;
    f->held = (bool *)(void *)after;
    if (given->pairs)
        f->set.pairs = memcpy(f->held + n, given->pairs, (n - 1) * sizeof(bool));
    return true;
}

grove_least_squares *grove_least_squares_new(int64_t unknowns,
                                             const grove_least_squares_settings *settings,
                                             const double *start)
{
    grove_least_squares *f = grove_alloc(sizeof(*f));

    f->n = unknowns;
    f->set = *settings;
    f->set.block_of = f->set.subset_of = NULL;
    f->now = (grove_least_squares_subset){
        .damping = settings->damping < DAMPING_ZERO ? 0 : settings->damping,
        .growth = DAMPING_GROWTH,
        .level = DAMPING_FIRST,
        .last_increment = INFINITY};
    f->chi2 = NAN;
    if (make_vectors(f, settings) && make_groups(f) && make_subsets(f)) {
        f->best.matrix = grove_try_alloc((size_t)f->size + 1, sizeof(double));
        f->trial.matrix = grove_try_alloc((size_t)f->size + 1, sizeof(double));
    }
    if (!f->best.matrix || !f->trial.matrix) {
        grove_least_squares_free(f);
        return NULL;
    }
    for (int64_t j = 0; j < unknowns; j++)
        f->best.x[j] = f->trial.x[j] = grove_least_squares_clamp(f, j, start[j]);
    return f;
}

void grove_least_squares_free(grove_least_squares *f)
{
    if (!f)
        return;
    free(f->memory);
    free(f->best.matrix);
    free(f->trial.matrix);
    free(f->begin);
    free(f->block);
    free(f->factor.null);
    free(f->others);
    grove_least_squares_rounds_free(f->rounds);
    free(f->null);
    free(f->null_group);
    free(f);
}

/* ---- results of the fit ---- */

/* The null space of a group that has `all` unknowns. */
static bool add_null(grove_least_squares *f, int64_t group, int64_t missing, int64_t all)
{
    size_t more = (size_t)(missing * all);
    double *null = realloc(f->null, (f->null_size + more) * sizeof(*null));
    int32_t *groups =
        null ? realloc(f->null_group, (size_t)(f->null_count + missing) * sizeof(*groups)) : NULL;

    f->null = null ? null : f->null;
    if (!groups)
        return false;
    f->null_group = groups;
    null += f->null_size;
    memset(null, 0, more * sizeof(*null));
    for (int64_t k = 0; k < missing; k++) {
        groups[f->null_count++] = (int32_t)group;
        for (int64_t j = 0; j < f->factor.size; j++)
            null[k * all + f->column[f->list[j]]] = f->factor.null[k * f->factor.size + j];
    }
    f->null_size += more;
    return true;
}

/* Ranks and null spaces of all groups. */
static bool analyse_groups(grove_least_squares *f)
{
    for (int64_t group = 0; group < f->groups; group++) {
        int64_t size, missing, all = f->begin[group + 1] - f->begin[group];

        grove_least_squares_list(f, group);
        size = f->factor.size;
        if (!size)
            continue;
        if (!grove_least_squares_factor(f, &f->best, 0))
            return false;
        f->rank += f->factor.rank;
        missing = size - f->factor.rank;
        if (missing && !add_null(f, group, missing, all))
            return false;
    }
    return true;
}

static void analyse(grove_least_squares *f)
{
    double chi2 = f->chi2;
    int64_t data = f->data;
    bool known;

    if (f->analysed)
        return;
    f->analysed = true;
    memset(f->held, 0, (size_t)f->n * sizeof(bool));
    for (int64_t j = 0; j < f->n; j++) {
        double diagonal = *grove_least_squares_diagonal(f, f->best.matrix, j);
        double weight = f->set.mean && f->set.inverse_sigma ? f->set.inverse_sigma[j] : 0;

        f->scale[j] = diagonal >= DBL_MIN ? sqrt(diagonal) : 0;
        if (weight != 0 && f->scale[j] > 0)
            data++;
        else if (weight != 0)
            chi2 -= pow((f->best.x[j] - f->set.mean[j]) * weight, 2);
    }
    known = (!f->set.remote || f->given) && analyse_groups(f) && data > f->rank;
    f->variance = known ? fmax(chi2, 0) / (double)(data - f->rank) : NAN;
}

/* The sum of the unknown that is number k of the list, of numbers of the list; place: [n] where
 * unknowns are in it. */
static grove_factor_sum sum_in(const grove_least_squares *f, const grove_least_squares_sum *sums,
                               const int32_t *place, int64_t k)
{
    const grove_least_squares_sum *from = &sums[f->list[k]];
    grove_factor_sum sum = {.at = {0}};

    for (int i = 0; i < GROVE_FACTOR_SUMMED; i++) {
        int32_t at = place[from->at[i]];
        if (at < f->factor.size && f->list[at] == from->at[i]) {
            sum.at[i] = at;
            sum.by[i] = from->by[i] / f->scale[from->at[i]];
        }
    }
    return sum;
}

/* Standard deviations of all groups but for the scale. False when memory is short. */
static bool find_errors(grove_least_squares *f, const grove_least_squares_sum *sums)
{
    size_t n = (size_t)f->n + 1;
    int32_t *place = sums ? grove_try_alloc(n, sizeof(*place)) : NULL;
    grove_factor_sum *own = place ? grove_try_alloc(n, sizeof(*own)) : NULL;
    bool found = !sums || own;

    for (int64_t group = 0; group < f->groups && found; group++) {
        grove_least_squares_list(f, group);
        int64_t size = f->factor.size;
        found = !size || grove_least_squares_factor(f, &f->best, 0);
        for (int64_t k = 0; k < size && sums; k++)
            place[f->list[k]] = (int32_t)k;
        for (int64_t k = 0; k < size && sums; k++)
            own[k] = sum_in(f, sums, place, k);
        if (size && found)
            grove_factor_variances(&f->factor, own, f->right);
        for (int64_t k = 0; k < size && found; k++)
            f->errors[f->list[k]] = sqrt(f->right[k]) / (sums ? 1 : f->scale[f->list[k]]);
    }
    free(place);
    free(own);
    return found;
}

bool grove_least_squares_set_matrix(grove_least_squares *f, const double *matrix)
{
    size_t n = (size_t)f->n, size = n * n;
    double *best = grove_try_alloc(size + 1, sizeof(double)),
           *work = grove_try_alloc(size + 1, sizeof(double));

    if (!best || !work) {
        free(best);
        free(work);
        return false;
    }
    for (size_t j = 0; j < n; j++) {
        memcpy(best + j * n, matrix + j * n, (j + 1) * sizeof(double));
        best[j * n + j] = f->best.matrix[j]; /* which may have been dropped */
        f->row[j] = (int64_t)(j * n);
        f->column[j] = (int32_t)j;
    }
    free(f->best.matrix);
    free(f->trial.matrix);
    f->best.matrix = best;
    f->trial.matrix = work;
    f->size = size;
    f->analysed = false;
    f->given = true;
    return true;
}

const double *grove_least_squares_point(const grove_least_squares *f)
{
    return f->trial.x;
}

double *grove_least_squares_gradient(grove_least_squares *f)
{
    return f->trial.gradient;
}

double *grove_least_squares_matrix(grove_least_squares *f)
{
    return f->trial.matrix;
}

const grove_least_squares_layout *grove_least_squares_layout_of(const grove_least_squares *f)
{
    return &f->layout;
}

const double *grove_least_squares_best(const grove_least_squares *f)
{
    return f->best.x;
}

double grove_least_squares_chi2(const grove_least_squares *f)
{
    return f->chi2;
}

int32_t grove_least_squares_iterations(const grove_least_squares *f)
{
    return f->iterations;
}

bool grove_least_squares_has_no_data(const grove_least_squares *f, int64_t unknown)
{
    return !(*grove_least_squares_diagonal(f, f->best.matrix, unknown) >= DBL_MIN);
}

int64_t grove_least_squares_rank(grove_least_squares *f)
{
    analyse(f);
    return f->rank;
}

const double *grove_least_squares_errors(grove_least_squares *f,
                                         const grove_least_squares_sum *sums)
{
    analyse(f);
    for (int64_t j = 0; j < f->n; j++)
        f->errors[j] = NAN;
    bool found = !isnan(f->variance) && find_errors(f, sums);
    for (int64_t j = 0; j < f->n; j++)
        f->errors[j] *= found ? sqrt(f->variance) : NAN;
    return f->errors;
}

const double *grove_least_squares_null_space(grove_least_squares *f, int64_t *count)
{
    analyse(f);
    *count = f->null_count;
    return f->null;
}

const char *grove_least_squares_words(grove_least_squares_outcome outcome)
{
    static const char *const words[] = {"running",         "converged", "stalled",
                                        "not enough data", "singular",  "iteration limit",
                                        "not finite",      "solving"};

    return words[outcome];
}

double grove_least_squares_free_share(grove_least_squares *f, const double *direction)
{
    double norm = 0, inside = 0;

    analyse(f);
    const double *null = f->null;
    for (int64_t j = 0; j < f->n; j++)
        norm += pow(direction[j] * f->scale[j], 2);
    for (int64_t k = 0; k < f->null_count; k++) {
        const int32_t *member = f->member + f->begin[f->null_group[k]];
        int64_t count = f->begin[f->null_group[k] + 1] - f->begin[f->null_group[k]];
        double product = 0;
        for (int64_t j = 0; j < count; j++)
            product += direction[member[j]] * f->scale[member[j]] * null[j];
        inside += product * product;
        null += count;
    }
    return norm > 0 ? inside / norm : 0;
}
