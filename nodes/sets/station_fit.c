#include "nodes/sets/station_fit.h"

#include "util.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* As where each two stations have one baseline. */
static bool is_diagonal(const double *a, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++)
            if (a[i * n + j] != 0)
                return false;
    return true;
}

/* Cholesky factorisation and solution of the n x n system a (lower half) with three right-hand
 * sides, in place. */
static void solve(double *a, double *x, int64_t n)
{
    if (is_diagonal(a, n)) {
        for (int64_t i = 0; i < 3 * n; i++)
            x[i] /= a[i / 3 * n + i / 3];
        return;
    }
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = j; i < n; i++) {
            double sum = a[i * n + j];
            for (int64_t k = 0; k < j; k++)
                sum -= a[i * n + k] * a[j * n + k];
            a[i * n + j] = i == j ? sqrt(sum) : sum / a[j * n + j];
        }
        for (int c = 0; c < 3; c++) {
            for (int64_t k = 0; k < j; k++)
                x[3 * j + c] -= a[j * n + k] * x[3 * k + c];
            x[3 * j + c] /= a[j * n + j];
        }
    }
    for (int64_t j = n - 1; j >= 0; j--)
        for (int c = 0; c < 3; c++) {
            for (int64_t k = j + 1; k < n; k++)
                x[3 * j + c] -= a[k * n + j] * x[3 * k + c];
            x[3 * j + c] /= a[j * n + j];
        }
}

static int64_t root_of(int64_t *parent, int64_t i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

int grove_station_fit(const double *uvw, const int32_t *left, const int32_t *right,
                      int64_t baselines, int64_t stations, double *station)
{
    size_t n = (size_t)stations;
    double *a = grove_try_alloc(n * n + 1, sizeof(double));
    int64_t *parent = grove_try_alloc(n + 1, sizeof(int64_t));

    if (!a || !parent) {
        free(a);
        free(parent);
        return GROVE_NO_MEMORY;
    }
    for (size_t i = 0; i < n; i++)
        parent[i] = (int64_t)i;
    for (size_t i = 0; i < 3 * n; i++)
        station[i] = 0;
    for (int64_t b = 0; b < baselines; b++) {
        size_t p = (size_t)left[b], q = (size_t)right[b];
        if (p == q || !isfinite(uvw[3 * b]))
            continue;
        parent[root_of(parent, (int64_t)p)] = root_of(parent, (int64_t)q);
        a[p * n + p] += 1;
        a[q * n + q] += 1;
        a[p * n + q] -= 1;
        a[q * n + p] -= 1;
        for (size_t c = 0; c < 3; c++) {
            station[3 * p + c] += uvw[3 * (size_t)b + c];
            station[3 * q + c] -= uvw[3 * (size_t)b + c];
        }
    }
    /* only differences are measured: adding the outer product of ones for each connected group
     * makes its mean zero */
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (root_of(parent, (int64_t)i) == root_of(parent, (int64_t)j))
                a[i * n + j] += 1;
    solve(a, station, stations);
    free(a);
    free(parent);
    return 0;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double grove_station_misclosure(const double *uvw, const int32_t *left, const int32_t *right,
                                int64_t baselines, int64_t stations, double *station,
                                double *distance)
{
    int64_t count = 0;

    if (grove_station_fit(uvw, left, right, baselines, stations, station))
        return -1;
    for (int64_t b = 0; b < baselines; b++, uvw += 3) {
        const double *p = station + 3 * (int64_t)left[b], *q = station + 3 * (int64_t)right[b];
        double size = 0, rest = 0;
        for (int k = 0; k < 3 && isfinite(uvw[0]); k++) {
            rest += fabs(uvw[k] - (p[k] - q[k]));
            size += fabs(p[k]) + fabs(q[k]);
        }
        if (isfinite(uvw[0]) && left[b] != right[b])
            distance[count++] = rest <= 1e-12 * size ? 0 : rest;
    }
    qsort(distance, (size_t)count, sizeof(*distance), by_size);
    return count ? distance[count / 2] : -1;
}
