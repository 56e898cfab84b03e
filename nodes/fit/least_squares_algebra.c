/* Cholesky factors of symmetric matrices that may be singular. */
#include "nodes/fit/least_squares_algebra.h"

#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cblas.h>

/* Below this size a call costs more than it saves. */
enum { LAPACK_SIZE = 64 };
/* From this size on panels are factored, so that the user can stop it between two of them. */
enum { PANELS_SIZE = 1024, PANEL_MIN = 16, PANEL_MAX = 256 };
/* The largest panel takes half as many operations: a second at most, even with a plain BLAS. */
#define PANEL_WORK 4e9

void dpotrf_(const char *triangle, const int *n, double *a, const int *lda, int *info);
void dpstrf_(const char *triangle, const int *n, double *a, const int *lda, int *order, int *rank,
             const double *smallest, double *work, int *info);

static double dot(const double *a, const double *b, int64_t n)
{
    double sum = 0;

    for (int64_t k = 0; k < n; k++)
        sum += a[k] * b[k];
    return sum;
}

/* b -= factor * a */
static void subtract(double *b, double factor, const double *a, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        b[k] -= factor * a[k];
}

static void swap(double *a, double *b)
{
    double kept = *a;

    *a = *b;
    *b = kept;
}

/* ---- without pivots ---- */

static bool factor_small(double *a, int64_t n, double smallest)
{
    for (int64_t j = 0; j < n; j++) {
        double *row = a + j * n, pivot;

        if (grove_interrupted())
            return false;
        for (int64_t k = 0; k < j; k++)
            row[k] = (row[k] - dot(row, a + k * n, k)) / a[k * n + k];
        pivot = row[j] - dot(row, row, j);
        if (!(pivot > smallest))
            return false;
        row[j] = sqrt(pivot);
    }
    return true;
}

static int panel_of(int64_t n)
{
    double width = PANEL_WORK / ((double)n * (double)n);

    return width > PANEL_MAX ? PANEL_MAX : width < PANEL_MIN ? PANEL_MIN : (int)width;
}

/* Panel by panel from the left. */
static bool factor_panels(double *a, int64_t size)
{
    int n = (int)size, panel = panel_of(size), info = 0;

    for (int k = 0; k < n && !info; k += panel) {
        int width = n - k < panel ? n - k : panel, rest = n - k - width;
        double *row = a + (int64_t)k * n, *below = row + (int64_t)width * n;

        if (grove_interrupted())
            return false;
        cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, width, k, -1, row, n, 1, row + k, n);
        dpotrf_("U", &width, row + k, &n, &info);
        if (info || !rest)
            continue;
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rest, width, k, -1, below, n, row, n,
                    1, below + k, n);
        cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, rest, width, 1,
                    row + k, n, below + k, n);
    }
    return !info;
}

bool grove_factor_plain(grove_factor *f, double smallest)
{
    f->rank = f->size;
    free(f->null);
    f->null = NULL;
    for (int64_t k = 0; k < f->size; k++)
        f->order[k] = (int32_t)k;
    if (f->size >= LAPACK_SIZE) {
        int n = (int)f->size, info = 0;

        /* LAPACK's upper triangle, by columns, is the lower one by rows. */
        if (f->size >= PANELS_SIZE)
            info = !factor_panels(f->lower, f->size);
        else
            dpotrf_("U", &n, f->lower, &n, &info);
        for (int64_t k = 0; !info && k < n; k++) {
            double pivot = f->lower[k * n + k];

            if (!(pivot * pivot > smallest))
                return false;
        }
        return !info;
    }
    return factor_small(f->lower, f->size, smallest);
}

/* ---- with pivots ---- */

/* Exchanges rows and columns j < p of the lower triangle; columns before j are columns of L. */
static void exchange(double *a, int64_t n, int64_t j, int64_t p)
{
    for (int64_t k = 0; k < j; k++)
        swap(&a[j * n + k], &a[p * n + k]);
    swap(&a[j * n + j], &a[p * n + p]);
    for (int64_t k = j + 1; k < p; k++)
        swap(&a[k * n + j], &a[p * n + k]);
    for (int64_t k = p + 1; k < n; k++)
        swap(&a[k * n + j], &a[k * n + p]);
}

static void exchange_order(int32_t *order, int64_t j, int64_t p)
{
    int32_t kept = order[j];

    order[j] = order[p];
    order[p] = kept;
}

/* Factors columns [from, end) of the whole with pivots; earlier columns are subtracted from the
 * rest already. `taken` [n]: sums that these columns subtract from the diagonal. The rank, or `end`
 * where it is not known yet. */
static int64_t pivot_panel(double *a, int64_t n, int64_t from, int64_t end, int32_t *order,
                           double *taken, double smallest)
{
    memset(taken, 0, (size_t)n * sizeof(*taken));
    for (int64_t j = from; j < end; j++) {
        int64_t p = j;

        for (int64_t i = j; i < n; i++) {
            taken[i] += j > from ? a[i * n + j - 1] * a[i * n + j - 1] : 0;
            if (a[i * n + i] - taken[i] > a[p * n + p] - taken[p])
                p = i;
        }
        double pivot = a[p * n + p] - taken[p];
        if (!(pivot > smallest))
            return j;
        if (p != j) {
            exchange(a, n, j, p);
            swap(&taken[j], &taken[p]);
            exchange_order(order, j, p);
        }
        a[j * n + j] = sqrt(pivot);
        if (j + 1 == n)
            break;
        double *column = a + (j + 1) * n + j;
        cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)(n - j - 1), (int)(j - from), -1,
                    a + (j + 1) * n + from, (int)n, a + j * n + from, 1, 1, column, (int)n);
        cblas_dscal((int)(n - j - 1), 1 / a[j * n + j], column, (int)n);
    }
    return end;
}

/* As LAPACK's dpstrf (Hammarling, Higham and Lucas 2007, LAPACK Working Note 161). The rank; -1:
 * the user asks to stop. */
static int64_t pivot_panels(double *a, int64_t n, int32_t *order, double *taken, double smallest)
{
    int panel = panel_of(n);

    for (int64_t from = 0; from < n; from += panel) {
        int64_t end = from + panel < n ? from + panel : n;

        if (grove_interrupted())
            return -1;
        int64_t rank = pivot_panel(a, n, from, end, order, taken, smallest);
        if (rank < end)
            return rank;
        if (end < n)
            cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, (int)(n - end), (int)(end - from),
                        -1, a + end * n + from, (int)n, 1, a + end * n + end, (int)n);
    }
    return n;
}

/* left [n]: the rest of the diagonal. */
static int64_t pivot_small(double *a, int64_t n, int32_t *order, double *left, double smallest)
{
    for (int64_t k = 0; k < n; k++)
        left[k] = a[k * n + k];
    for (int64_t j = 0; j < n; j++) {
        int64_t p = j;

        if (grove_interrupted())
            return -1;
        for (int64_t k = j + 1; k < n; k++)
            if (left[k] > left[p])
                p = k;
        if (!(left[p] > smallest))
            return j;
        if (p != j) {
            exchange(a, n, j, p);
            swap(&left[j], &left[p]);
            exchange_order(order, j, p);
        }
        a[j * n + j] = sqrt(left[j]);
        for (int64_t i = j + 1; i < n; i++) {
            double *row = a + i * n;

            row[j] = (row[j] - dot(row, a + j * n, j)) / a[j * n + j];
            left[i] -= row[j] * row[j];
        }
    }
    return n;
}

/* Makes rows of the null space orthonormal. Twice is enough (Giraud et al. 2005). */
static void orthonormalise(double *null, int64_t rows, int64_t n)
{
    for (int64_t j = 0; j < rows && !grove_interrupted(); j++) {
        double *row = null + j * n, norm;

        for (int again = 0; again < 2; again++) {
            for (int64_t k = 0; k < j; k++)
                subtract(row, dot(row, null + k * n, n), null + k * n, n);
            norm = sqrt(dot(row, row, n));
            for (int64_t k = 0; k < n; k++)
                row[k] /= norm;
        }
    }
}

/* Row c of L beyond the rank is a combination of the first ones: the vector v with L^T v = 0. */
static bool find_null(grove_factor *f)
{
    int64_t n = f->size, rank = f->rank;
    double *v = f->work;

    f->null = grove_try_alloc((size_t)((n - rank) * n), sizeof(double));
    if (!f->null)
        return false;
    for (int64_t c = rank; c < n; c++) {
        double *row = f->null + (c - rank) * n;

        if (grove_interrupted())
            return false;
        for (int64_t k = 0; k < rank; k++)
            v[k] = -f->lower[c * n + k];
        for (int64_t k = rank - 1; k >= 0; k--) {
            v[k] /= f->lower[k * n + k];
            subtract(v, v[k], f->lower + k * n, k);
        }
        for (int64_t k = 0; k < rank; k++)
            row[f->order[k]] = v[k];
        row[f->order[c]] = 1;
    }
    orthonormalise(f->null, n - rank, n);
    return true;
}

bool grove_factor_pivoted(grove_factor *f, double smallest)
{
    free(f->null);
    f->null = NULL;
    for (int64_t k = 0; k < f->size; k++)
        f->order[k] = (int32_t)k;
    if (f->size >= PANELS_SIZE) {
        f->rank = pivot_panels(f->lower, f->size, f->order, f->work, smallest);
        return f->rank == f->size || (f->rank >= 0 && find_null(f));
    }
    if (f->size >= LAPACK_SIZE) {
        int n = (int)f->size, rank = 0, info = 0;

        _Static_assert(sizeof(int) == sizeof(int32_t), "LAPACK counts with int32_t");
        dpstrf_("U", &n, f->lower, &n, f->order, &rank, &smallest, f->work, &info);
        for (int64_t k = 0; k < n; k++)
            f->order[k]--;
        f->rank = rank;
    } else
        f->rank = pivot_small(f->lower, f->size, f->order, f->work, smallest);
    return f->rank == f->size || (f->rank >= 0 && find_null(f));
}

/* ---- use of factors ---- */

/* Takes out the component in the null space. */
static void project(const grove_factor *f, double *v)
{
    for (int64_t k = 0; f->null && k < f->size - f->rank; k++) {
        const double *null = f->null + k * f->size;

        subtract(v, dot(v, null, f->size), null, f->size);
    }
}

void grove_factor_solve(const grove_factor *f, double *b)
{
    int64_t n = f->size;
    double *v = f->work;

    project(f, b);
    for (int64_t k = 0; k < f->rank; k++)
        v[k] = (b[f->order[k]] - dot(f->lower + k * n, v, k)) / f->lower[k * n + k];
    for (int64_t k = f->rank - 1; k >= 0; k--) {
        v[k] /= f->lower[k * n + k];
        subtract(v, v[k], f->lower + k * n, k);
    }
    for (int64_t k = 0; k < n; k++)
        b[f->order[k]] = k < f->rank ? v[k] : 0;
    project(f, b);
}

static double sum_of(const grove_factor_sum *s, const double *v)
{
    return s->by[0] * v[s->at[0]] + s->by[1] * v[s->at[1]] + s->by[2] * v[s->at[2]] +
           s->by[3] * v[s->at[3]];
}

/* With X = L^-1 of the first `rank` rows, X^T X is an inverse on their space, and P X^T X P the
 * pseudo-inverse, P being the projection off the null space. */
void grove_factor_variances(grove_factor *f, const grove_factor_sum *sums, double *variances)
{
    int64_t n = f->size;
    double *v = f->work, *old = f->work + n;

    memset(variances, 0, (size_t)n * sizeof(double));
    for (int64_t j = 0; j < f->rank; j++) {
        double *row = f->lower + j * n, pivot = row[j];

        if (grove_interrupted())
            return;
        memcpy(old, row, (size_t)j * sizeof(double));
        memset(row, 0, (size_t)(j + 1) * sizeof(double));
        row[j] = 1;
        for (int64_t k = 0; k < j; k++)
            subtract(row, old[k], f->lower + k * n, k + 1);
        memset(v, 0, (size_t)n * sizeof(double));
        for (int64_t k = 0; k <= j; k++) {
            row[k] /= pivot;
            v[f->order[k]] = row[k];
        }
        project(f, v);
        for (int64_t k = 0; k < n; k++) {
            double sum = sums ? sum_of(&sums[k], v) : v[k];
            variances[k] += sum * sum;
        }
    }
}
