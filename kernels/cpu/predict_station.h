/* The sum over sources for stations: V_pq = sum_s (L_p K_p) (R_q conj K_q), a product of matrices
 * of complex numbers whose long side, the sources, lies in the lanes. */
#ifndef GROVE_KERNELS_CPU_PREDICT_STATION_H
#define GROVE_KERNELS_CPU_PREDICT_STATION_H

#include "predict_baseline.h"

/* Rows of a product at once: as the registers allow. */
enum { TILE = VECTOR_BYTES == 64 ? 3 : 2 };

/* The sum of the lanes, halves first. */
FORCE double total(vec x)
{
#if GROVE_REAL_SINGLE && VECTOR_BYTES == 64
    x += __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
    x += __builtin_shufflevector(x, x, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7, 4, 5, 6, 7);
    return (double)((x[0] + x[2]) + (x[1] + x[3]));
#elif (GROVE_REAL_SINGLE && VECTOR_BYTES == 32) || VECTOR_BYTES == 64
    x += __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3);
    return (double)((x[0] + x[2]) + (x[1] + x[3]));
#elif GROVE_REAL_SINGLE || VECTOR_BYTES == 32
    return (double)((x[0] + x[2]) + (x[1] + x[3]));
#else
    return x[0] + x[1];
#endif
}

/* K = exp(-2 pi i nu u . direction) of a station for `vectors` vectors of sources: re, im. */
static void station_phases(const grove_predict_panel *job, const double *uvw, vec *to)
{
    const double *d = job->direction;
    double u = -uvw[0] * job->freq, v = -uvw[1] * job->freq, w = -uvw[2] * job->freq;

    for (int i = 0; i < job->vectors; i++, d += LANES, to += 2) {
        const loose *l = (const loose *)d, *m = (const loose *)(d + job->stride);
        const loose *n = (const loose *)(d + 2 * job->stride);
        half turns[PARTS];
        for (int k = 0; k < PARTS; k++)
            turns[k] = l[k] * u + m[k] * v + n[k] * w;
        turn(turns_of(turns, 1.0), &to[0], &to[1]);
    }
}

/* to = k (b_re, b_im); conj k (b) on the right side. */
FORCE void fold(vec *to, const vec *k, vec re, vec im, int conjugate)
{
    vec s = conjugate ? -k[1] : k[1];

    to[0] = k[0] * re - s * im;
    to[1] = k[0] * im + s * re;
}

/* One number per source on the left, unity on the right. */
static void fill_scalar(const grove_predict_panel *job, int station, const vec *k, vec *left,
                        vec *right)
{
    const vec *b = job->brightness;

    (void)station;
    for (int i = 0; i < job->vectors; i++) {
        fold(left + 2 * i, k + 2 * i, b[2 * i], b[2 * i + 1], 0);
        right[2 * i] = k[2 * i];
        right[2 * i + 1] = -k[2 * i + 1];
    }
}

FORCE void product_of(vec to[2], const vec *a, const vec *b)
{
    to[0] += a[0] * b[0] - a[1] * b[1];
    to[1] += a[0] * b[1] + a[1] * b[0];
}

/* Matrices: left J B K in rows (p, i), right J conj K in columns (q, j). Operands are [vector][8]:
 * four elements, re and im. */
static void fill_matrix(const grove_predict_panel *job, int station, const vec *k, vec *left,
                        vec *right)
{
    const vec *b = job->brightness;
    const vec *l = (const vec *)job->left + (int64_t)station * job->vectors * 8;
    const vec *r = (const vec *)job->right + (int64_t)station * job->vectors * 8;
    int64_t next = 4 * (int64_t)job->vectors;

    for (int i = 0; i < job->vectors; i++, b += 8, l += 8, r += 8, k += 2)
        for (int e = 0; e < 4; e++) {
            vec x[2] = {splat(0), splat(0)};
            product_of(x, l + 4 * (e / 2), b + 2 * (e % 2));
            product_of(x, l + 4 * (e / 2) + 2, b + 4 + 2 * (e % 2));
            fold(left + (e / 2) * next + 4 * i + 2 * (e % 2), k, x[0], x[1], 0);
            fold(right + (e % 2) * next + 4 * i + 2 * (e / 2), k, r[2 * e], r[2 * e + 1], 1);
        }
}

/* `count` complex numbers of TILE rows with TILE columns. */
FORCE void tile_of(const vec *const a[TILE], const vec *const b[TILE], int count,
                   double *const to[TILE][TILE])
{
    vec zero = splat(0), re[TILE][TILE], im[TILE][TILE];

#pragma GCC unroll 3
    for (int i = 0; i < TILE; i++)
#pragma GCC unroll 3
        for (int j = 0; j < TILE; j++)
            re[i][j] = im[i][j] = zero;
    for (int n = 0; n < 2 * count; n += 2)
#pragma GCC unroll 3
        for (int i = 0; i < TILE; i++)
#pragma GCC unroll 3
            for (int j = 0; j < TILE; j++) {
                re[i][j] += a[i][n] * b[j][n];
                im[i][j] += a[i][n] * b[j][n + 1];
                re[i][j] -= a[i][n + 1] * b[j][n + 1];
                im[i][j] += a[i][n + 1] * b[j][n];
            }
    for (int i = 0; i < TILE; i++)
        for (int j = 0; j < TILE; j++)
            if (to[i][j]) {
                to[i][j][0] += total(re[i][j]);
                to[i][j][1] += total(im[i][j]);
            }
}

static void multiply_panels(const grove_predict_panel *job, const vec *left, const vec *right)
{
    int rows = job->stations * job->sides, count = job->vectors * job->sides;
    const vec *a[TILE], *b[TILE];
    double *to[TILE][TILE];

    for (int r = 0; r < rows; r += TILE)
        for (int c = 0; c < rows; c += TILE) {
            int any = 0;
            for (int i = 0; i < TILE; i++) {
                a[i] = left + (int64_t)(r + i < rows ? r + i : rows - 1) * count * 2;
                b[i] = right + (int64_t)(c + i < rows ? c + i : rows - 1) * count * 2;
            }
            for (int i = 0; i < TILE; i++)
                for (int j = 0; j < TILE; j++) {
                    int wanted =
                        r + i < rows && c + j < rows &&
                        job->wanted[(r + i) / job->sides * job->stations + (c + j) / job->sides];
                    to[i][j] = wanted ? job->sums + 2 * ((int64_t)(r + i) * rows + c + j) : NULL;
                    any |= wanted;
                }
            if (any)
                tile_of(a, b, count, (double *const(*)[TILE])to);
        }
}

static void station_sums(const grove_predict_panel *job)
{
    int64_t panel = (int64_t)job->stations * job->sides * job->vectors * job->sides * 2;
    vec *left = job->work, *right = left + panel, *k = right + panel;
    int64_t each = panel / job->stations;

    for (int p = 0; p < job->stations; p++) {
        station_phases(job, job->uvw + 3 * p, k);
        if (job->sides == 2)
            fill_matrix(job, p, k, left + p * each, right + p * each);
        else
            fill_scalar(job, p, k, left + p * each, right + p * each);
    }
    multiply_panels(job, left, right);
}

#endif
