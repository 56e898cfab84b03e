#include "stefcal.h"

#include "base/error.h"
#include "base/memory.h"

#include "../kernels/compression/compression_simd.h"
#include "../kernels/simd/isa.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef double _Complex complex_;

enum { MAX_UNKNOWNS = 2 * GROVE_COMPRESSION_MAX_GROUPS };

static const grove_stefcal_kernels *const kernels[GROVE_ISAS] = {
    &grove_stefcal_portable, &grove_stefcal_avx2, &grove_stefcal_avx512};

typedef struct {
    const grove_stefcal_problem *problem;
    const double *sums;
    const grove_stefcal_kernels *kernels;
    grove_compression_form form;
    int each;     /* 1, or 2: numbers of a row of the matrix */
    int unknowns; /* of a row, in all groups */
    int64_t size; /* of a baseline's sums */
    size_t numbers;
    double *side[2];        /* [station][GROVE_STEFCAL_SIDE]: what is known as p and as q */
    double *coefficient[2]; /* [station][group][each][8]: conj(R) for side p, L for side q */
    complex_ *now, *next, *start;
    bool *solved;
} work;

static complex_ times(complex_ a, complex_ b)
{
    return __builtin_complex(creal(a) * creal(b) - cimag(a) * cimag(b),
                             creal(a) * cimag(b) + cimag(a) * creal(b));
}

static double square(complex_ a)
{
    return creal(a) * creal(a) + cimag(a) * cimag(a);
}

/* ---- one station ---- */

/* A normal matrix (both halves) and the right side of one row, in either order of factors: x N = r.
 */
typedef struct {
    complex_ matrix[MAX_UNKNOWNS][MAX_UNKNOWNS], right[MAX_UNKNOWNS];
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
    /* what the data say nothing about keeps its value */
    for (int a = 0; a < n; a++)
        to->matrix[a][a] += 1e-14 * trace;
    return trace > 0;
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

/* x += (r - x N) / N, by Cholesky factors of N; false: it is singular or not finite. */
static bool improve(system_ *of, int n, complex_ *x)
{
    complex_ step[MAX_UNKNOWNS];

    for (int a = 0; a < n; a++) {
        step[a] = of->right[a];
        for (int b = 0; b < n; b++)
            step[a] -= times(x[b], of->matrix[b][a]);
    }
    for (int j = 0; j < n; j++) {
        for (int i = 0; i <= j; i++) {
            complex_ sum = of->matrix[i][j];
            for (int k = 0; k < i; k++)
                sum -= times(conj(of->matrix[k][i]), of->matrix[k][j]);
            if (i < j)
                of->matrix[i][j] = sum / creal(of->matrix[i][i]);
            else if (creal(sum) > 0 && isfinite(creal(sum)))
                of->matrix[j][j] = sqrt(creal(sum));
            else
                return false;
        }
    }
    for (int j = 0; j < n; j++) {
        for (int k = 0; k < j; k++)
            step[j] -= times(step[k], of->matrix[k][j]);
        step[j] /= creal(of->matrix[j][j]);
    }
    for (int j = n - 1; j >= 0; j--) {
        for (int k = j + 1; k < n; k++)
            step[j] -= times(step[k], conj(of->matrix[j][k]));
        step[j] /= creal(of->matrix[j][j]);
        x[j] += step[j];
    }
    return true;
}

/* Where unknown a of row i stands among the numbers of a station. */
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
    system_ of;

    if (!read_system(w, s, i, &of))
        return;
    w->solved[s] = true;
    for (int a = 0; a < n; a++) {
        complex_ begin = w->start[base + place_of(w, i, a)];
        unit[a] = begin == 0 ? 1 : begin / cabs(begin);
        x[a] = w->now[base + place_of(w, i, a)];
    }
    bool real = w->problem->part == GROVE_STEFCAL_AMPLITUDE;
    for (int a = 0; a < n && real; a++)
        x[a] = creal(times(x[a], conj(unit[a])));
    if (real)
        make_real(unit, n, &of);
    if (!improve(&of, n, x))
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
    for (int64_t b = 0; b < p->baselines; b++) {
        if (!counts(w, b))
            continue;
        const double *sums = w->sums + w->size * b;
        int64_t left = p->left[b], right = p->right[b];
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

static double norm_of(const complex_ *x, size_t count)
{
    double sum = 0;

    for (size_t k = 0; k < count; k++)
        sum += square(x[k]);
    return sqrt(sum);
}

/* Takes the next iterate, or (every second time) its mean with the one before; the relative change.
 */
static double step(work *w, bool mean)
{
    double change = 0;

    for (size_t k = 0; k < w->numbers; k++) {
        complex_ x = w->next[k];
        if (mean)
            x = project(w, 0.5 * (x + w->now[k]), w->start[k]);
        change += square(x - w->now[k]);
        w->now[k] = x;
    }
    return sqrt(change) / norm_of(w->now, w->numbers);
}

/* Whether going on is not worth it: how many more iterations the last rate promises. */
static bool is_slow(const grove_stefcal_problem *p, const grove_stefcal_result *r)
{
    if (!p->patience || r->iterations < 8 || r->rate <= 0)
        return false;
    return r->rate >= 1 || 2 * log(p->tolerance / r->increment) / log(r->rate) > p->patience;
}

static void iterate(work *w, grove_stefcal_result *result)
{
    const grove_stefcal_problem *p = w->problem;

    result->outcome = GROVE_STEFCAL_LIMIT;
    while (result->iterations < p->max_iterations) {
        sweep(w);
        bool second = ++result->iterations % 2 == 0;
        double change = step(w, second);
        if (!isfinite(change)) {
            result->outcome = GROVE_STEFCAL_DIVERGED;
            return;
        }
        if (!second)
            continue;
        result->rate = result->increment > 0 ? change / result->increment : 0;
        result->increment = change;
        if (change <= p->tolerance) {
            result->outcome = GROVE_STEFCAL_CONVERGED;
            return;
        }
        if (is_slow(p, result))
            return;
    }
}

/* Chi-squared now less that of the start. */
static double change_of(const work *w)
{
    const grove_stefcal_problem *p = w->problem;
    const int64_t each = (int64_t)4 * p->groups;
    double change = 0;

    for (int64_t b = 0; b < p->baselines; b++) {
        int64_t left = each * p->left[b], right = each * p->right[b];
        if (counts(w, b))
            change += grove_compression_change(
                w->form, p->groups, w->sums + w->size * b,
                (grove_compression_sides){w->start + left, w->start + right},
                (grove_compression_sides){w->now + left, w->now + right});
    }
    return change;
}

/* ---- */

static void *start(work *w, const grove_stefcal_problem *p, const double *sums,
                   const complex_ *jones)
{
    const bool full = p->jones == GROVE_STEFCAL_FULL;
    const size_t stations = (size_t)p->stations;
    char said[160];
    grove_isa isa;

    if (grove_isa_choose(&isa, said))
        isa = grove_isa_best();
    *w = (work){.problem = p, .sums = sums, .kernels = kernels[isa]};
    w->form = full ? GROVE_COMPRESSION_FULL : GROVE_COMPRESSION_DIAGONAL;
    w->each = full ? 2 : 1;
    w->unknowns = w->each * p->groups;
    w->size = grove_compression_size(w->form, p->groups);
    w->numbers = stations * 4 * (size_t)p->groups;
    size_t side = stations * GROVE_STEFCAL_SIDE((size_t)w->unknowns);
    size_t coefficients = stations * 8 * (size_t)w->unknowns;
    char *memory = grove_try_alloc(2 * (side + coefficients) + 6 * w->numbers + 1, sizeof(double));
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
    w.solved = grove_try_alloc((size_t)problem->stations + 1, sizeof(bool));
    if (!memory || !w.solved) {
        free(memory);
        free(w.solved);
        return GROVE_NO_MEMORY;
    }
    memcpy(w.start, jones, w.numbers * sizeof(*jones));
    iterate(&w, result);
    for (int64_t s = 0; s < problem->stations; s++)
        any |= w.solved[s];
    result->change = change_of(&w);
    if (!any)
        result->outcome = GROVE_STEFCAL_NO_DATA;
    else if (!(result->change <= 0))
        result->outcome = GROVE_STEFCAL_DIVERGED;
    if (any && result->outcome != GROVE_STEFCAL_DIVERGED)
        memcpy(jones, w.now, w.numbers * sizeof(*jones));
    if (solved)
        memcpy(solved, w.solved, (size_t)problem->stations * sizeof(bool));
    free(memory);
    free(w.solved);
    return 0;
}
