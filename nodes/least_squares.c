/* Nonlinear least squares of one solution domain: what is made at the start and said at the end. */
#include "nodes/least_squares_private.h"

#include "base/memory.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- making ---- */

static bool copy_array(const double **array, int64_t n)
{
    double *copy;

    if (!*array)
        return true;
    copy = grove_try_alloc((size_t)n + 1, sizeof(double));
    if (copy)
        memcpy(copy, *array, (size_t)n * sizeof(double));
    *array = copy;
    return copy != NULL;
}

static bool copy_pairs(const bool **pairs, int64_t n)
{
    bool *copy;

    if (!*pairs)
        return true;
    copy = grove_try_alloc((size_t)n + 1, sizeof(*copy));
    if (copy)
        memcpy(copy, *pairs, (size_t)n * sizeof(*copy));
    *pairs = copy;
    return copy != NULL;
}

static bool make_point(grove_least_squares_at *p, int64_t n)
{
    p->x = grove_try_alloc((size_t)n + 1, sizeof(double));
    p->gradient = grove_try_alloc((size_t)n + 1, sizeof(double));
    p->matrix = grove_try_alloc((size_t)(n * n) + 1, sizeof(double));
    return p->x && p->gradient && p->matrix;
}

static void free_point(grove_least_squares_at *p)
{
    free(p->x);
    free(p->gradient);
    free(p->matrix);
}

/* Orders the unknowns by block. */
static bool make_groups(grove_least_squares *f, const int32_t *block_of)
{
    int64_t n = f->n, largest = 0;

    f->groups = 1;
    for (int64_t j = 0; f->set.blocks && j < n; j++)
        if (block_of[j] >= f->groups)
            f->groups = block_of[j] + 1;
    f->begin = grove_try_alloc((size_t)f->groups + 2, sizeof(int32_t));
    if (!f->begin)
        return false;
    for (int64_t j = 0; j < n; j++)
        f->begin[(f->set.blocks ? block_of[j] : 0) + 2]++;
    for (int64_t g = 0; g < f->groups; g++) {
        largest = f->begin[g + 2] > largest ? f->begin[g + 2] : largest;
        f->begin[g + 2] += f->begin[g + 1];
    }
    for (int64_t j = 0; j < n; j++)
        f->member[f->begin[(f->set.blocks ? block_of[j] : 0) + 1]++] = (int32_t)j;
    if (f->set.blocks)
        f->block = grove_try_alloc((size_t)(largest * largest) + 1, sizeof(double));
    return !f->set.blocks || f->block;
}

static bool make_vectors(grove_least_squares *f)
{
    size_t n = (size_t)f->n + 1;

    f->step = grove_try_alloc(n, sizeof(double));
    f->scale = grove_try_alloc(n, sizeof(double));
    f->right = grove_try_alloc(n, sizeof(double));
    f->errors = grove_try_alloc(n, sizeof(double));
    f->factor.work = grove_try_alloc(2 * n, sizeof(double));
    f->factor.order = grove_try_alloc(n, sizeof(int32_t));
    f->member = grove_try_alloc(n, sizeof(int32_t));
    f->list = grove_try_alloc(n, sizeof(int32_t));
    f->held = grove_try_alloc(n, sizeof(bool));
    return f->step && f->scale && f->right && f->errors && f->factor.work && f->factor.order &&
           f->member && f->list && f->held;
}

grove_least_squares *grove_least_squares_new(int64_t unknowns,
                                             const grove_least_squares_settings *settings,
                                             const double *start)
{
    grove_least_squares *f = grove_alloc(sizeof(*f));
    bool made;

    f->n = unknowns;
    f->set = *settings;
    f->set.block_of = NULL;
    made = copy_array(&f->set.lower, unknowns);
    made = copy_array(&f->set.upper, unknowns) && made;
    made = copy_array(&f->set.mean, unknowns) && made;
    made = copy_array(&f->set.size, unknowns) && made;
    made = copy_array(&f->set.inverse_sigma, unknowns) && made;
    made = copy_pairs(&f->set.pairs, unknowns) && made;
    if (!made || !make_point(&f->best, unknowns) || !make_point(&f->trial, unknowns) ||
        !make_vectors(f) || !make_groups(f, settings->block_of)) {
        grove_least_squares_free(f);
        return NULL;
    }
    f->damping = settings->damping;
    f->growth = DAMPING_GROWTH;
    f->chi2 = NAN;
    f->last_increment = INFINITY;
    for (int64_t j = 0; j < unknowns; j++)
        f->best.x[j] = f->trial.x[j] = grove_least_squares_clamp(f, j, start[j]);
    return f;
}

void grove_least_squares_free(grove_least_squares *f)
{
    if (!f)
        return;
    free((void *)f->set.lower);
    free((void *)f->set.upper);
    free((void *)f->set.mean);
    free((void *)f->set.size);
    free((void *)f->set.inverse_sigma);
    free((void *)f->set.pairs);
    free_point(&f->best);
    free_point(&f->trial);
    free(f->member);
    free(f->begin);
    free(f->step);
    free(f->scale);
    free(f->right);
    free(f->held);
    free(f->list);
    free(f->block);
    free(f->factor.order);
    free(f->factor.work);
    free(f->factor.null);
    free(f->errors);
    free(f->null);
    free(f);
}

/* ---- what the fit says ---- */

/* Ranks, null spaces and variances of all groups; those of an unknown without data are NaN. */
static bool analyse_groups(grove_least_squares *f)
{
    for (int64_t group = 0; group < f->groups; group++) {
        int64_t size, missing;

        grove_least_squares_list(f, group);
        size = f->factor.size;
        if (!size)
            continue;
        if (!grove_least_squares_factor(f, &f->best, 0))
            return false;
        f->rank += f->factor.rank;
        missing = size - f->factor.rank;
        if (missing) {
            double *null = grove_try_alloc((size_t)((f->null_count + missing) * f->n), 8);

            if (!null)
                return false;
            if (f->null)
                memcpy(null, f->null, (size_t)(f->null_count * f->n) * sizeof(double));
            for (int64_t k = 0; k < missing; k++)
                for (int64_t j = 0; j < size; j++)
                    null[(f->null_count + k) * f->n + f->list[j]] = f->factor.null[k * size + j];
            free(f->null);
            f->null = null;
            f->null_count += missing;
        }
        grove_factor_inverse(&f->factor, f->right);
        for (int64_t k = 0; k < size; k++)
            f->errors[f->list[k]] = sqrt(f->right[k]) / f->scale[f->list[k]];
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
        double diagonal = f->best.matrix[j * f->n + j];
        double weight = f->set.mean && f->set.inverse_sigma ? f->set.inverse_sigma[j] : 0;

        f->scale[j] = diagonal >= DBL_MIN ? sqrt(diagonal) : 0;
        f->errors[j] = NAN;
        if (weight != 0 && f->scale[j] > 0)
            data++;
        else if (weight != 0)
            chi2 -= pow((f->best.x[j] - f->set.mean[j]) * weight, 2);
    }
    known = analyse_groups(f) && data > f->rank;
    for (int64_t j = 0; j < f->n; j++)
        f->errors[j] *= known ? sqrt(fmax(chi2, 0) / (double)(data - f->rank)) : NAN;
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
    return !(f->best.matrix[unknown * f->n + unknown] >= DBL_MIN);
}

int64_t grove_least_squares_rank(grove_least_squares *f)
{
    analyse(f);
    return f->rank;
}

const double *grove_least_squares_errors(grove_least_squares *f)
{
    analyse(f);
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
                                        "not finite"};

    return words[outcome];
}

const double *grove_least_squares_scale(grove_least_squares *f)
{
    analyse(f);
    return f->scale;
}
