/* Small symmetric systems, one for a block of threads: Cholesky factors with pivots (Hammarling,
 * Higham and Lucas 2007, LAPACK Working Note 161) and the solution of minimum norm.
 *
 * Rows and columns stay where they are; `order` says which pivot is which. The row of a pivot in
 * the work matrix becomes its row of the factor L; of rows that no pivot has, vectors of the null
 * space. Pivots of a panel are taken off the rest of the matrix together. A thread has the same
 * columns in all of it, so that few barriers are needed, and sums have one order. */
#include "fit_solve.h"

/* On OpenCL devices a thread alone is a block: PoCL does not end compiling this number of barriers.
 */
#ifdef GROVE_OPENCL
#define BLOCK_FN      static
#define BLOCK_THREAD  0
#define BLOCK_THREADS 1
#define BLOCK_NUMBER  ((int64_t)get_global_id(0))
#define BLOCKS        ((int64_t)get_global_size(0))
#define BLOCK_WAIT()  ((void)0)
#else
#define BLOCK_FN      static __device__
#define BLOCK_THREAD  ((int)threadIdx.x)
#define BLOCK_THREADS ((int)blockDim.x)
#define BLOCK_NUMBER  ((int64_t)blockIdx.x)
#define BLOCKS        ((int64_t)gridDim.x)
#define BLOCK_WAIT()  __syncthreads()
#endif

enum { MOST = GROVE_SOLVE_UNKNOWNS, PANEL = 16, GROUPS = 16 };

typedef struct {
    double left[MOST];  // of the diagonal; -1: it was a pivot, -2: it is left out
    double scale[MOST]; /* 1 / sqrt(N_jj), or 0 */
    double right[MOST], x[MOST];
    double part[GROVE_SOLVE_LARGE], sum[GROUPS];
    int order[MOST], place[GROVE_SOLVE_LARGE], found[GROUPS];
} shared;

/* The work of one block. */
typedef struct {
    const grove_solve_system *system;
    const double *point;
    double *matrix; /* [n][n] */
    shared *sh;
    int n, rank;
} work;

/* The sum of all threads' numbers, for all of them. Begins and ends where all threads wait. */
BLOCK_FN double add_up(shared *sh, double x)
{
    const int t = BLOCK_THREAD;
    double sum = 0;

    sh->part[t] = x;
    BLOCK_WAIT();
    if (t < GROUPS) {
        for (int k = t; k < BLOCK_THREADS; k += GROUPS)
            sum += sh->part[k];
        sh->sum[t] = sum;
    }
    BLOCK_WAIT();
    sum = 0;
    for (int k = 0; k < GROUPS; k++)
        sum += sh->sum[k];
    return sum;
}

/* The largest of the remaining diagonal, the first of equal ones; -1: none. */
BLOCK_FN int find_pivot(const work *w, double *left)
{
    shared *sh = w->sh;
    const int t = BLOCK_THREAD;
    int best = -1;

    for (int i = t; i < w->n; i += BLOCK_THREADS)
        if (sh->left[i] >= 0 && (best < 0 || sh->left[i] > sh->left[best]))
            best = i;
    sh->place[t] = best;
    BLOCK_WAIT();
    if (t < GROUPS) {
        best = -1;
        for (int k = t; k < BLOCK_THREADS; k += GROUPS) {
            const int i = sh->place[k];
            if (i >= 0 && (best < 0 || sh->left[i] > sh->left[best] ||
                           (sh->left[i] == sh->left[best] && i < best)))
                best = i;
        }
        sh->found[t] = best;
        sh->sum[t] = best < 0 ? -1 : sh->left[best];
    }
    BLOCK_WAIT();
    best = sh->found[0];
    *left = sh->sum[0];
    for (int k = 1; k < GROUPS; k++) {
        const int i = sh->found[k];
        const double x = sh->sum[k];
        if (x > *left || (x == *left && i < best)) {
            best = i;
            *left = x;
        }
    }
    return best;
}

/* ---- factors ---- */

/* The scaled and damped matrix; how many unknowns take part. */
BLOCK_FN int begin(const work *w)
{
    shared *sh = w->sh;
    const grove_solve_system *s = w->system;
    const double *diagonal = w->point + GROVE_POINT_SUMS + w->n;
    const double *matrix = w->point + grove_point_head(w->n);
    const double *size = w->point - s->point + s->sizes;
    const double little = s->negligible * w->point[GROVE_POINT_VALUES];
    double count = 0;

    for (int i = BLOCK_THREAD; i < w->n; i += BLOCK_THREADS) {
        const bool given =
            diagonal[i] >= 2.2250738585072014e-308 && !(diagonal[i] * size[i] * size[i] <= little);
        sh->scale[i] = given ? 1 / sqrt(diagonal[i]) : 0;
        sh->left[i] = given ? 1 + s->damping : -2;
        count += given;
    }
    count = add_up(sh, count);
    for (int j = 0; j < w->n; j++)
        for (int i = BLOCK_THREAD; i < w->n; i += BLOCK_THREADS)
            w->matrix[j * w->n + i] =
                i == j ? 1 + s->damping
                       : matrix[(int64_t)j * w->n + i] * sh->scale[j] * sh->scale[i];
    return (int)count;
}

/* Row p becomes the row of pivot number k; `first`: of the panel. */
BLOCK_FN void make_row(const work *w, int k, int first, int p)
{
    shared *sh = w->sh;
    const int n = w->n;
    const double pivot = sqrt(sh->left[p]);
    double *row = w->matrix + p * n;

    for (int i = BLOCK_THREAD; i < n; i += BLOCK_THREADS) {
        double x = row[i];
        if (i == p || sh->left[i] < 0) {
            row[i] = i == p ? pivot : 0;
            continue;
        }
        for (int m = first; m < k; m++) {
            const double *before = w->matrix + sh->order[m] * n;
            x -= before[i] * before[p];
        }
        row[i] = x / pivot;
        sh->left[i] = fmax(sh->left[i] - row[i] * row[i], 0.0);
    }
    BLOCK_WAIT();
    if (BLOCK_THREAD == p % BLOCK_THREADS) {
        sh->left[p] = -1;
        sh->order[k] = p;
    }
    BLOCK_WAIT();
}

/* Subtracts the panel of the PANEL pivots before number k from the rest. */
BLOCK_FN void take_panel(const work *w, int k)
{
    const shared *sh = w->sh;
    const int n = w->n;

    for (int i = BLOCK_THREAD; i < n; i += BLOCK_THREADS) {
        double own[PANEL];
        if (sh->left[i] < 0)
            continue;
#pragma unroll
        for (int m = 0; m < PANEL; m++)
            own[m] = w->matrix[sh->order[k - PANEL + m] * n + i];
        for (int j = 0; j < n; j++) {
            if (sh->left[j] < 0)
                continue;
            double x = w->matrix[j * n + i];
#pragma unroll
            for (int m = 0; m < PANEL; m++)
                x -= own[m] * w->matrix[sh->order[k - PANEL + m] * n + j];
            w->matrix[j * n + i] = x;
        }
    }
    BLOCK_WAIT();
}

/* The rank. */
BLOCK_FN int factor(const work *w, int size)
{
    const double smallest = 64 * (double)size * 2.2204460492503131e-16;

    for (int k = 0; k < size; k++) {
        double left;
        const int p = find_pivot(w, &left);
        if (p < 0 || !(left > smallest))
            return k;
        make_row(w, k, k / PANEL * PANEL, p);
        if ((k + 1) % PANEL == 0 && k + 1 < size)
            take_panel(w, k + 1);
    }
    return size;
}

/* ---- solutions ---- */

/* x of the pivots with L^T x = y, or 0 where y is 0, with x unchanged elsewhere; it is 0 at
 * the pivots before. */
BLOCK_FN void substitute_back(const work *w, const double *y)
{
    shared *sh = w->sh;

    for (int k = w->rank - 1; k >= 0; k--) {
        const int p = sh->order[k];
        const double *row = w->matrix + p * w->n;
        double sum = 0;
        for (int i = BLOCK_THREAD; i < w->n; i += BLOCK_THREADS)
            sum += row[i] * sh->x[i];
        sum = add_up(sh, sum);
        if (BLOCK_THREAD == p % BLOCK_THREADS)
            sh->x[p] = ((y ? y[p] : 0) - sum) / row[p];
        BLOCK_WAIT();
    }
}

BLOCK_FN double product(const work *w, const double *a, const double *b)
{
    double sum = 0;

    for (int i = BLOCK_THREAD; i < w->n; i += BLOCK_THREADS)
        sum += a[i] * b[i];
    return add_up(w->sh, sum);
}

/* a -= factor * b */
BLOCK_FN void subtract(const work *w, double *a, double factor, const double *b)
{
    for (int i = BLOCK_THREAD; i < w->n; i += BLOCK_THREADS)
        a[i] -= factor * b[i];
    BLOCK_WAIT();
}

/* Takes out the components along vectors of the null space before row `end`. */
BLOCK_FN void project(const work *w, double *v, int end)
{
    for (int c = 0; c < end; c++)
        if (w->sh->left[c] >= 0)
            subtract(w, v, product(w, v, w->matrix + c * w->n), w->matrix + c * w->n);
}

/* An orthonormal basis of the null space, in the remaining rows. */
BLOCK_FN void find_null(const work *w)
{
    shared *sh = w->sh;

    for (int c = 0; c < w->n; c++) {
        if (sh->left[c] < 0)
            continue;
        for (int i = BLOCK_THREAD; i < w->n; i += BLOCK_THREADS)
            sh->x[i] = i == c;
        BLOCK_WAIT();
        substitute_back(w, 0);
        project(w, sh->x, c);
        project(w, sh->x, c);
        const double norm = sqrt(product(w, sh->x, sh->x));
        for (int i = BLOCK_THREAD; i < w->n; i += BLOCK_THREADS)
            w->matrix[c * w->n + i] = sh->x[i] / norm;
        BLOCK_WAIT();
    }
}

/* y with L y = right, in its place. */
BLOCK_FN void substitute(const work *w)
{
    shared *sh = w->sh;

    for (int k = 0; k < w->rank; k++) {
        const int p = sh->order[k];
        const double *row = w->matrix + p * w->n;
        const double y = sh->right[p] / row[p];
        for (int i = BLOCK_THREAD; i < w->n; i += BLOCK_THREADS)
            if (i != p)
                sh->right[i] -= y * row[i];
        BLOCK_WAIT();
    }
    for (int k = BLOCK_THREAD; k < w->rank; k += BLOCK_THREADS) {
        const int p = sh->order[k];
        sh->right[p] /= w->matrix[p * w->n + p];
    }
    BLOCK_WAIT();
}

/* x^T S N S x */
BLOCK_FN double square_of(const work *w)
{
    const double *matrix = w->point + grove_point_head(w->n), *x = w->sh->x;
    const double *scale = w->sh->scale;
    double sum = 0;

    for (int i = BLOCK_THREAD; i < w->n; i += BLOCK_THREADS) {
        double own = 0;
        for (int j = 0; j < w->n; j++)
            own += x[j] * scale[j] * matrix[(int64_t)j * w->n + i];
        sum += own * x[i] * scale[i];
    }
    return add_up(w->sh, sum);
}

BLOCK_FN void solve(work *w, double *result)
{
    shared *sh = w->sh;
    const double *gradient = w->point + GROVE_POINT_SUMS;
    const int size = begin(w);

    BLOCK_WAIT();
    w->rank = factor(w, size);
    if (w->rank < size)
        find_null(w);
    for (int i = BLOCK_THREAD; i < w->n; i += BLOCK_THREADS) {
        sh->right[i] = gradient[i] * sh->scale[i];
        sh->x[i] = 0;
    }
    BLOCK_WAIT();
    project(w, sh->right, w->n);
    substitute(w);
    substitute_back(w, sh->right);
    project(w, sh->x, w->n);
    const double square = square_of(w);
    for (int i = BLOCK_THREAD; i < w->n; i += BLOCK_THREADS)
        result[GROVE_SOLVE_STEP + i] = sh->x[i] * sh->scale[i];
    if (BLOCK_THREAD == 0) {
        result[GROVE_SOLVE_SQUARE] = square;
        result[GROVE_SOLVE_RANK] = w->rank;
    }
    BLOCK_WAIT();
}

/* A block takes systems in steps of all blocks. */
BLOCK_FN void solve_all(const grove_args *args, shared *sh)
{
    const grove_solve_state *s = (const grove_solve_state *)(const void *)args->state.bytes;
    double *points = (double *)args->in[0].data;

    for (int64_t at = BLOCK_NUMBER; at < s->systems; at += BLOCKS) {
        const grove_solve_system *system = (const grove_solve_system *)args->in[1].data + at;
        work w = {system, points + system->point, points + system->work,
                  sh,     (int)system->unknowns,  0};
        solve(&w, (double *)args->out.data + system->result);
    }
}

#ifdef GROVE_OPENCL
__kernel void fit_solve_double(__global const grove_args *given)
{
    shared own;

    solve_all(GROVE_GENERIC(const grove_args, given), &own);
}
#else
extern "C" __global__ void __launch_bounds__(GROVE_SOLVE_LARGE)
    fit_solve_double(const __grid_constant__ grove_args args)
{
    __shared__ shared sh;

    solve_all(&args, &sh);
}
GROVE_CUDA_EXPORT(fit_solve_double)
#endif
