#include "nodes/fit/stefcal.h"

#include "util.h"

#include "../../kernels/fit/compression_simd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef double _Complex complex_;

enum { MAX_UNKNOWNS = 2 * GROVE_COMPRESSION_MAX_GROUPS };
/* Steps that the acceleration looks back, and plain iterations before it starts. */
enum { DEPTH = 8, PLAIN = 4 };

typedef struct {
    const grove_stefcal_problem *problem;
    const double *sums;
    const grove_stefcal_kernels *kernels;
    grove_compression_form form;
    int each;     /* 1, or 2: numbers of a row of the matrix */
    int unknowns; /* of a row, in all groups */
    int64_t size; /* of a baseline's sums */
    size_t numbers;
    double *side[2];        /* [station][GROVE_STEFCAL_SIDE]: its present terms as p and as q */
    double *coefficient[2]; /* [station][group][each][8]: conj(R) for side p, L for side q */
    complex_ *now, *next, *start, *before; /* before: where chi-squared was compared last */
    complex_ *rest, *steps,
        *changes;                  /* next - now; of the last steps [DEPTH]: it, and its change */
    double gram[DEPTH][DEPTH];     /* products of changes */
    int64_t *active, active_count; /* baselines that count */
    bool *solved;
    double power; /* of the data */
} work;

static complex_ times(complex_ a, complex_ b)
{
    return __builtin_complex(creal(a) * creal(b) - cimag(a) * cimag(b),
                             creal(a) * cimag(b) + cimag(a) * creal(b));
}

/* ---- one station ---- */

/* A normal matrix (both halves) and the right side of one row, in either order of factors: x N = r.
 */
typedef struct {
    complex_ matrix[MAX_UNKNOWNS][MAX_UNKNOWNS], right[MAX_UNKNOWNS];
    double extra; /* on the diagonal: numbers that the data do not determine keep their values */
} system_;

/* Lanes of the correlations that belong to row i: as p they are (i, 0) and (i, 1), as q (0, i), (1,
 * i). */
static complex_ number_of(const double *p, const double *q, int i, bool both)
{
    complex_ sum = 0;

    for (int k = i; k < (both ? 2 : i + 1); k++)
        sum += __builtin_complex((p[2 * k] + p[2 * k + 1]) + (q[k] + q[k + 2]),
                                 (p[4 + 2 * k] + p[5 + 2 * k]) + (q[4 + k] + q[6 + k]));
    return sum;
}

/* The equations of row i of station s (both rows together for a scalar); false: no data. */
static bool read_system(const work *w, int64_t s, int i, system_ *to)
{
    const int n = w->unknowns;
    const double *p = w->side[0] + s * GROVE_STEFCAL_SIDE(n);
    const double *q = w->side[1] + s * GROVE_STEFCAL_SIDE(n);
    const bool both = w->problem->jones == GROVE_STEFCAL_SCALAR;
    double trace = 0;

    for (int a = 0; a < n; a++)
        for (int b = a; b < n; b++, p += 8, q += 8) {
            to->matrix[a][b] = number_of(p, q, i, both);
            to->matrix[b][a] = conj(to->matrix[a][b]);
            trace += a == b ? creal(to->matrix[a][a]) : 0;
        }
    for (int a = 0; a < n; a++, p += 8, q += 8)
        to->right[a] = number_of(p, q, i, both);
    to->extra = 1e-14 * trace;
    return !(trace <= 0);
}

/* Amplitudes and phases are real unknowns times the phase or amplitude of the start. */
static void make_real(const complex_ *unit, int n, system_ *to)
{
    for (int a = 0; a < n; a++) {
        for (int b = 0; b < n; b++)
            to->matrix[a][b] = creal(times(times(unit[a], to->matrix[a][b]), conj(unit[b])));
        to->right[a] = creal(times(to->right[a], conj(unit[a])));
    }
}

/* x += (r - x N) / N, by Cholesky factors of N; false: it is singular. NaN spreads to x. */
static bool improve(system_ *equations, int n, complex_ *x)
{
    complex_ step[MAX_UNKNOWNS];

    for (int a = 0; a < n; a++) {
        step[a] = equations->right[a];
        for (int b = 0; b < n; b++)
            step[a] -= times(x[b], equations->matrix[b][a]);
    }
    for (int a = 0; a < n; a++)
        equations->matrix[a][a] += equations->extra;
    for (int j = 0; j < n; j++) {
        for (int i = 0; i <= j; i++) {
            complex_ sum = equations->matrix[i][j];
            for (int k = 0; k < i; k++)
                sum -= times(conj(equations->matrix[k][i]), equations->matrix[k][j]);
            if (i < j)
                equations->matrix[i][j] = sum / creal(equations->matrix[i][i]);
            else if (creal(sum) > 0 || isnan(creal(sum)))
                equations->matrix[j][j] = sqrt(creal(sum));
            else
                return false;
        }
    }
    for (int j = 0; j < n; j++) {
        for (int k = 0; k < j; k++)
            step[j] -= times(step[k], equations->matrix[k][j]);
        step[j] /= creal(equations->matrix[j][j]);
    }
    for (int j = n - 1; j >= 0; j--) {
        for (int k = j + 1; k < n; k++)
            step[j] -= times(step[k], conj(equations->matrix[j][k]));
        step[j] /= creal(equations->matrix[j][j]);
        x[j] += step[j];
    }
    return true;
}

/* The place of unknown a of row i among the numbers of a station. */
static int place_of(const work *w, int i, int a)
{
    return w->each == 2 ? 4 * (a / 2) + 2 * i + a % 2 : 4 * a + 3 * i;
}

/* The number nearest to x that the parm may be. */
static complex_ project(const work *w, complex_ x, complex_ start)
{
    if (w->problem->part == GROVE_STEFCAL_PHASE)
        return x == 0 ? start : x * (cabs(start) / cabs(x));
    return x;
}

static void solve_row(const work *w, int64_t s, int i)
{
    const int n = w->unknowns;
    complex_ x[MAX_UNKNOWNS], unit[MAX_UNKNOWNS];
    const int64_t base = s * 4 * w->problem->groups;
    system_ equations;

    if (!read_system(w, s, i, &equations))
        return;
    for (int a = 0; a < n; a++) {
        bool *solved = &w->solved[base + place_of(w, i, a)];
        *solved = !(creal(equations.matrix[a][a]) <= 0); /* NaN, too */
        if (w->problem->jones == GROVE_STEFCAL_SCALAR)
            solved[3] = *solved;
        complex_ begin = w->start[base + place_of(w, i, a)];
        unit[a] = begin == 0 ? 1 : begin / cabs(begin);
        x[a] = w->now[base + place_of(w, i, a)];
    }
    bool real = w->problem->part == GROVE_STEFCAL_AMPLITUDE;
    for (int a = 0; a < n && real; a++)
        x[a] = creal(times(x[a], conj(unit[a])));
    if (real)
        make_real(unit, n, &equations);
    if (!improve(&equations, n, x))
        return;
    for (int a = 0; a < n; a++) {
        int at = place_of(w, i, a);
        complex_ y = real ? unit[a] * fabs(creal(x[a])) : x[a];
        w->next[base + at] = project(w, y, w->start[base + at]);
        if (w->problem->jones == GROVE_STEFCAL_SCALAR)
            w->next[base + at + 3] = w->next[base + at];
    }
}

/* ---- all stations ---- */

/* Coefficients of a station as the known side: of correlation (i, j), conj(R) of row j, and L of
 * row i. */
static void set_coefficients(const work *w, int64_t s)
{
    const grove_stefcal_problem *p = w->problem;

    for (int g = 0; g < p->groups; g++)
        for (int k = 0; k < w->each; k++) {
            const complex_ *jones = w->now + 4 * (s * p->groups + g);
            size_t at = 8 * (size_t)((s * p->groups + g) * w->each + k);
            for (int c = 0; c < 4; c++) {
                complex_ right = jones[w->each == 2 ? 2 * (c % 2) + k : 3 * (c % 2)];
                complex_ left = jones[w->each == 2 ? 2 * (c / 2) + k : 3 * (c / 2)];
                w->coefficient[0][at + (size_t)c] = creal(right);
                w->coefficient[0][at + 4 + (size_t)c] = -cimag(right);
                w->coefficient[1][at + (size_t)c] = creal(left);
                w->coefficient[1][at + 4 + (size_t)c] = cimag(left);
            }
        }
}

static bool counts(const work *w, int64_t b)
{
    const grove_stefcal_problem *p = w->problem;

    return (p->left[b] != p->right[b] || p->autocorrelations) &&
           grove_compression_count(w->sums + w->size * b) > 0;
}

/* The next iterate of all stations from the last one. */
static void sweep(const work *w)
{
    const grove_stefcal_problem *p = w->problem;
    const int64_t side = GROVE_STEFCAL_SIDE(w->unknowns), each = (int64_t)8 * w->unknowns;
    const bool full = w->form == GROVE_COMPRESSION_FULL;

    for (int k = 0; k < 2; k++)
        memset(w->side[k], 0, sizeof(double) * (size_t)(side * p->stations));
    for (int64_t s = 0; s < p->stations; s++)
        set_coefficients(w, s);
    for (int64_t k = 0; k < w->active_count; k++) {
        const int64_t b = w->active[k], left = p->left[b], right = p->right[b];
        const double *sums = w->sums + w->size * b;
        for (int64_t i = 0; i < w->size; i += 8) /* the next baselines' sums */
            __builtin_prefetch(sums + 2 * w->size + i);
        w->kernels->add(sums, w->coefficient[0] + each * right, p->groups, full, 'p',
                        w->side[0] + side * left);
        w->kernels->add(sums, w->coefficient[1] + each * left, p->groups, full, 'q',
                        w->side[1] + side * right);
    }
    memcpy(w->next, w->now, w->numbers * sizeof(*w->next));
    for (int64_t s = 0; s < p->stations; s++)
        for (int i = 0; i < (p->jones == GROVE_STEFCAL_SCALAR ? 1 : 2); i++)
            solve_row(w, s, i);
}

static double dot(const complex_ *a, const complex_ *b, size_t count)
{
    double sum[4] = {0};

    for (size_t k = 0; k < count; k += 4) /* a multiple of 4 */
        for (size_t j = 0; j < 4; j++) {
            sum[j] += creal(a[k + j]) * creal(b[k + j]);
            sum[j] += cimag(a[k + j]) * cimag(b[k + j]);
        }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* The combination of the last `count` changes that is nearest to the rest, in the least-squares
 * sense. */
static void combine(const work *w, int count, double *factor)
{
    double a[DEPTH][DEPTH], largest = 0;

    for (int i = 0; i < count; i++) {
        for (int j = 0; j <= i; j++)
            a[i][j] = w->gram[i][j];
        factor[i] = dot(w->changes + w->numbers * (size_t)i, w->rest, w->numbers);
        largest = fmax(largest, a[i][i]);
    }
    for (int j = 0; j < count; j++) {
        double pivot = a[j][j] * (1 + 1e-10);
        for (int k = 0; k < j; k++) {
            pivot -= a[j][k] * a[j][k];
            factor[j] -= a[j][k] * factor[k];
        }
        bool zero = !(pivot > 1e-12 * a[j][j]) || !(pivot > 1e-24 * largest);
        a[j][j] = zero ? INFINITY : sqrt(pivot);
        factor[j] /= a[j][j];
        for (int i = j + 1; i < count; i++) {
            for (int k = 0; k < j; k++)
                a[i][j] -= a[i][k] * a[j][k];
            a[i][j] /= a[j][j];
        }
    }
    for (int j = count - 1; j >= 0; j--) {
        for (int i = j + 1; i < count; i++)
            factor[j] -= a[i][j] * factor[i];
        factor[j] /= a[j][j];
    }
}

/* The step from now to the mean with the next iterate, without the part that will remain, estimated
 * from the last steps (Anderson acceleration; Walker & Ni 2011, SIAM J. Numer. Anal. 49, 1715). */
static void accelerate(const work *w, int count, complex_ *to)
{
    double factor[DEPTH];

    combine(w, count, factor);
    for (size_t k = 0; k < w->numbers; k++) {
        to[k] = 0.5 * w->rest[k];
        for (int j = 0; j < count; j++)
            to[k] -= factor[j] * (w->steps[w->numbers * (size_t)j + k] +
                                  0.5 * w->changes[w->numbers * (size_t)j + k]);
    }
}

/* Finds the rest and its change by step `last` (-1: none) of `kept` ones. Returns the relative size
 * of the rest. */
static double find_rest(work *w, int last, int kept)
{
    complex_ *change = last < 0 ? NULL : w->changes + w->numbers * (size_t)last;

    for (size_t k = 0; k < w->numbers; k++) {
        complex_ rest = w->next[k] - w->now[k];
        if (change)
            change[k] = rest - w->rest[k];
        w->rest[k] = rest;
    }
    for (int i = 0; i < kept; i++)
        w->gram[i][last] = w->gram[last][i] =
            dot(w->changes + w->numbers * (size_t)i, change, w->numbers);
    return sqrt(dot(w->rest, w->rest, w->numbers) / dot(w->now, w->now, w->numbers));
}

/* Adds a step, and stores the actual change. */
static void advance(work *w, const complex_ *by, complex_ *step)
{
    for (size_t k = 0; k < w->numbers; k++) {
        complex_ x = project(w, w->now[k] + by[k], w->start[k]);
        step[k] = x - w->now[k];
        w->now[k] = x;
    }
}

/* Whether going on is not worth it at the rate of the last iterations. */
static bool is_slow(const grove_stefcal_problem *p, const grove_stefcal_result *r)
{
    if (!p->patience || r->iterations <= 2 * DEPTH)
        return false;
    return r->rate >= 1 || log(p->tolerance / r->increment) / log(r->rate) > p->patience;
}

/* Chi-squared now less chi-squared of other numbers. */
static double change_since(const work *w, const complex_ *then)
{
    const grove_stefcal_problem *p = w->problem;
    const int64_t each = (int64_t)4 * p->groups;
    double change = 0;

    for (int64_t k = 0; k < w->active_count; k++) {
        const int64_t b = w->active[k];
        int64_t left = each * p->left[b], right = each * p->right[b];
        change +=
            grove_compression_change(w->kernels, w->form, p->groups, w->sums + w->size * b,
                                     (grove_compression_sides){then + left, then + right},
                                     (grove_compression_sides){w->now + left, w->now + right});
    }
    return change;
}

static double chi2_of(const work *w)
{
    const grove_stefcal_problem *p = w->problem;
    const int64_t each = (int64_t)4 * p->groups;
    double chi2 = 0;

    for (int64_t k = 0; k < w->active_count; k++) {
        const int64_t b = w->active[k];
        chi2 += grove_compression_chi2(
            w->kernels, w->form, p->groups, w->sums + w->size * b,
            (grove_compression_sides){w->now + each * p->left[b], w->now + each * p->right[b]});
    }
    return chi2;
}

/* Whether chi-squared can hardly fall any more: every DEPTH iterations its fall is taken to shrink
 * as it did last time, or more slowly. *fall: of the last time. */
static bool is_negligible(work *w, int iteration, double *fall)
{
    double last = *fall;

    if (w->problem->negligible <= 0 || iteration % DEPTH)
        return false;
    if (iteration) {
        *fall = fabs(change_since(w, w->before));
        double rate = last > 0 ? *fall / last : INFINITY;
        double part = w->problem->negligible;
        if (*fall <= part * w->power) { /* a fit's chi-squared is not larger */
            double limit = part * chi2_of(w);
            if (*fall <= limit && *fall * fmax(rate, 0.5) <= limit * (1 - rate))
                return true;
        }
    }
    memcpy(w->before, w->now, w->numbers * sizeof(*w->now));
    return false;
}

static void iterate(work *w, grove_stefcal_result *result)
{
    const grove_stefcal_problem *p = w->problem;
    double sizes[DEPTH] = {0}, fall = 0;
    int kept = 0, last = -1; /* steps that are known, and the place of the last one */

    result->outcome = GROVE_STEFCAL_LIMIT;
    for (int i = 0; i < p->max_iterations; i++) {
        sweep(w);
        double size = find_rest(w, last, kept);
        result->iterations = i + 1;
        result->rate = i < DEPTH ? 0 : pow(size / sizes[i % DEPTH], 1.0 / DEPTH);
        sizes[i % DEPTH] = result->increment = size;
        if (!isfinite(size)) {
            result->outcome = GROVE_STEFCAL_DIVERGED;
            return;
        }
        bool done = size <= p->tolerance || is_negligible(w, i, &fall);
        if (done || is_slow(p, result)) {
            result->outcome = done ? GROVE_STEFCAL_CONVERGED : GROVE_STEFCAL_LIMIT;
            for (size_t k = 0; k < w->numbers; k++)
                w->next[k] = 0.5 * w->rest[k];
            advance(w, w->next, w->steps);
            return;
        }
        /* a step that made it much worse teaches nothing */
        if (i && size > 4 * sizes[(i - 1) % DEPTH])
            kept = 0;
        if (i < PLAIN) {
            for (size_t k = 0; k < w->numbers; k++)
                w->next[k] = (i % 2 ? 0.5 : 1) * w->rest[k];
        } else
            accelerate(w, kept, w->next);
        last = kept < DEPTH ? kept : (last + 1) % DEPTH;
        kept = kept < DEPTH ? kept + 1 : kept;
        advance(w, w->next, w->steps + w->numbers * (size_t)last);
    }
}

/* ---- */

static void *start(work *w, const grove_stefcal_problem *p, const double *sums,
                   const complex_ *jones)
{
    const bool full = p->jones == GROVE_STEFCAL_FULL;
    const size_t stations = (size_t)p->stations;

    *w = (work){.problem = p, .sums = sums, .kernels = grove_compression_kernels_now()};
    w->form = full ? GROVE_COMPRESSION_FULL : GROVE_COMPRESSION_DIAGONAL;
    w->each = full ? 2 : 1;
    w->unknowns = w->each * p->groups;
    w->size = grove_compression_size(w->form, p->groups);
    w->numbers = stations * 4 * (size_t)p->groups;
    size_t side = stations * GROVE_STEFCAL_SIDE((size_t)w->unknowns);
    size_t coefficients = stations * 8 * (size_t)w->unknowns;
    char *memory = grove_try_alloc(2 * (side + coefficients) + (10 + 4 * DEPTH) * w->numbers +
                                       (size_t)p->baselines + 1,
                                   sizeof(double));
    double *next = (double *)(void *)memory;
    if (!memory)
        return NULL;
    for (int k = 0; k < 2; k++) {
        w->side[k] = next + side * (size_t)k;
        w->coefficient[k] = next + 2 * side + coefficients * (size_t)k;
    }
    w->now = (complex_ *)(void *)(next + 2 * (side + coefficients));
    w->next = w->now + w->numbers;
    w->start = w->next + w->numbers;
    w->before = w->start + w->numbers;
    w->rest = w->before + w->numbers;
    w->steps = w->rest + w->numbers;
    w->changes = w->steps + DEPTH * w->numbers;
    w->active = (int64_t *)(void *)(w->changes + DEPTH * w->numbers);
    for (int64_t b = 0; b < p->baselines; b++)
        if (counts(w, b)) {
            w->active[w->active_count++] = b;
            w->power += grove_compression_power(w->sums + w->size * b);
        }
    memcpy(w->now, jones, w->numbers * sizeof(*jones));
    return memory;
}

int grove_stefcal_solve(const grove_stefcal_problem *problem, const double *sums, complex_ *jones,
                        bool *solved, grove_stefcal_result *result)
{
    work w;
    void *memory = start(&w, problem, sums, jones);
    bool any = false;

    *result = (grove_stefcal_result){0};
    w.solved = grove_try_alloc(w.numbers + 1, sizeof(bool));
    if (!memory || !w.solved) {
        free(memory);
        free(w.solved);
        return GROVE_NO_MEMORY;
    }
    memcpy(w.start, jones, w.numbers * sizeof(*jones));
    iterate(&w, result);
    for (size_t k = 0; k < w.numbers; k++)
        any |= w.solved[k];
    result->change = change_since(&w, w.start);
    if (!any)
        result->outcome = GROVE_STEFCAL_NO_DATA;
    else if (!(result->change <= 1e-12 * w.power)) /* the start may be a solution already */
        result->outcome = GROVE_STEFCAL_DIVERGED;
    if (any && result->outcome != GROVE_STEFCAL_DIVERGED)
        memcpy(jones, w.now, w.numbers * sizeof(*jones));
    if (solved)
        memcpy(solved, w.solved, w.numbers * sizeof(bool));
    free(memory);
    free(w.solved);
    return 0;
}
