/* Alternating steps of nonlinear least squares: subsets, and rounds of them that are extrapolated
 * from the rounds before (Anderson acceleration; Walker & Ni 2011, SIAM J. Numer. Anal. 49, 1715).
 */
#include "nodes/fit/least_squares_private.h"

#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 5 }; /* rounds that are remembered */

struct grove_least_squares_rounds {
    int64_t n;
    int kept, last;
    bool known;                 /* a round has ended */
    double *start, *end, *rest; /* of this round; of the last one, and its change */
    double *ends, *rests; /* [DEPTH][n] by how much these two differed from the round before */
};

bool grove_least_squares_next_subset(grove_least_squares *f)
{
    f->others[f->subset] = f->now;
    f->subset = (f->subset + 1) % f->subsets;
    f->now = f->others[f->subset];
    return f->subset == 0;
}

grove_least_squares_rounds *grove_least_squares_rounds_new(int64_t unknowns)
{
    grove_least_squares_rounds *r = grove_alloc(sizeof(*r));
    size_t n = (size_t)unknowns;

    r->n = unknowns;
    r->start = grove_try_alloc((3 + 2 * DEPTH) * n + 1, sizeof(double));
    if (!r->start) {
        free(r);
        return NULL;
    }
    r->end = r->start + n;
    r->rest = r->end + n;
    r->ends = r->rest + n;
    r->rests = r->ends + DEPTH * n;
    return r;
}

void grove_least_squares_rounds_free(grove_least_squares_rounds *r)
{
    if (r)
        free(r->start);
    free(r);
}

void grove_least_squares_rounds_start(grove_least_squares_rounds *r, const double *x)
{
    memcpy(r->start, x, (size_t)r->n * sizeof(*x));
}

void grove_least_squares_rounds_begin(grove_least_squares_rounds *r, const double *x)
{
    r->kept = 0;
    r->known = false;
    grove_least_squares_rounds_start(r, x);
}

/* The next place for the changes since the last round. */
static int next_place(grove_least_squares_rounds *r)
{
    r->last = r->kept < DEPTH ? r->kept : (r->last + 1) % DEPTH;
    r->kept = r->kept < DEPTH ? r->kept + 1 : DEPTH;
    return r->last;
}

static void remember(grove_least_squares_rounds *r, const double *x)
{
    int place = r->known ? next_place(r) : 0;
    double *end = r->ends + place * r->n, *change = r->rests + place * r->n;

    for (int64_t j = 0; j < r->n; j++) {
        double rest = x[j] - r->start[j];
        if (r->known) {
            end[j] = x[j] - r->end[j];
            change[j] = rest - r->rest[j];
        }
        r->end[j] = x[j];
        r->rest[j] = rest;
    }
    r->known = true;
}

static double product(const double *a, const double *b, const double *scale, int64_t n)
{
    double sum = 0;

    for (int64_t j = 0; j < n; j++)
        sum += scale[j] * a[j] * scale[j] * b[j];
    return sum;
}

/* factor [kept]: how many of the changes make up the last rest, with least squares. */
static void combine(const grove_least_squares_rounds *r, const double *scale, double factor[DEPTH])
{
    double lower[DEPTH * DEPTH], size[DEPTH], work[2 * DEPTH];
    int32_t order[DEPTH];
    grove_factor gram = {.size = r->kept, .lower = lower, .order = order, .work = work};

    for (int i = 0; i < r->kept; i++) {
        const double *change = r->rests + i * r->n;
        double norm = sqrt(product(change, change, scale, r->n));
        size[i] = norm > 0 ? 1 / norm : 0;
        factor[i] = size[i] * product(change, r->rest, scale, r->n);
        for (int k = 0; k <= i; k++)
            lower[i * r->kept + k] =
                size[i] * size[k] * product(change, r->rests + k * r->n, scale, r->n);
    }
    if (grove_factor_pivoted(&gram, 1e-12))
        grove_factor_solve(&gram, factor);
    for (int i = 0; i < r->kept; i++)
        factor[i] *= size[i];
    free(gram.null);
}

bool grove_least_squares_rounds_extrapolate(grove_least_squares_rounds *r, const double *x,
                                            const double *scale, double *to)
{
    double factor[DEPTH];

    remember(r, x);
    if (!r->kept)
        return false;
    combine(r, scale, factor);
    memcpy(to, x, (size_t)r->n * sizeof(*to));
    for (int i = 0; i < r->kept; i++)
        for (int64_t j = 0; j < r->n; j++)
            to[j] -= factor[i] * r->ends[i * r->n + j];
    return true;
}
