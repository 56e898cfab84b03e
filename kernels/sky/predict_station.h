/* Sums for stations, a source in each lane, as products of real matrices, tile by tile. */
#ifndef GROVE_KERNELS_PREDICT_STATION_H
#define GROVE_KERNELS_PREDICT_STATION_H

#include "predict_station_panels.h"

#if GROVE_REAL_SINGLE || VECTOR_BYTES >= 32
typedef real four __attribute__((vector_size(4 * sizeof(real))));

/* The sum of the lanes that lie four apart. */
INLINE four sum_fours(vec x)
{
#if GROVE_REAL_SINGLE && VECTOR_BYTES == 64
    part y = __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7) +
             __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15);
    return __builtin_shufflevector(y, y, 0, 1, 2, 3) + __builtin_shufflevector(y, y, 4, 5, 6, 7);
#elif (GROVE_REAL_SINGLE && VECTOR_BYTES == 32) || VECTOR_BYTES == 64
    return __builtin_shufflevector(x, x, 0, 1, 2, 3) + __builtin_shufflevector(x, x, 4, 5, 6, 7);
#else
    return x;
#endif
}

/* to[0 ... 3] += the sums over the lanes of four vectors. */
INLINE void add_lane_sums(const vec *x, double *to)
{
    four a = sum_fours(x[0]), b = sum_fours(x[1]), c = sum_fours(x[2]), d = sum_fours(x[3]);
    four p = __builtin_shufflevector(a, b, 0, 4, 1, 5) + __builtin_shufflevector(a, b, 2, 6, 3, 7);
    four q = __builtin_shufflevector(c, d, 0, 4, 1, 5) + __builtin_shufflevector(c, d, 2, 6, 3, 7);
    four sum =
        __builtin_shufflevector(p, q, 0, 1, 4, 5) + __builtin_shufflevector(p, q, 2, 3, 6, 7);

    for (int k = 0; k < 4; k++)
        to[k] += (double)sum[k];
}
#else
INLINE void add_lane_sums(const vec *x, double *to)
{
    for (int k = 0; k < 4; k++)
        to[k] += x[k][0] + x[k][1];
}
#endif

#if VECTOR_BYTES == 64 || (GROVE_REAL_SINGLE && VECTOR_BYTES == 32)
/* The sums of the halves of a, and of b; of quarters next to each other. */
#if VECTOR_BYTES == 64 && GROVE_REAL_SINGLE
INLINE vec add_halves(vec a, vec b)
{
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23) +
           __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30,
                                   31);
}

INLINE vec add_quarters(vec a, vec b)
{
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27) +
           __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30,
                                   31);
}
#else
INLINE vec add_halves(vec a, vec b)
{
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11) +
           __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
}

#if VECTOR_BYTES == 64
INLINE vec add_quarters(vec a, vec b)
{
    return __builtin_shufflevector(a, b, 0, 1, 4, 5, 8, 9, 12, 13) +
           __builtin_shufflevector(a, b, 2, 3, 6, 7, 10, 11, 14, 15);
}
#endif
#endif

/* to[0 ... 7] += the sums over the lanes of eight vectors. */
INLINE void add_eight_sums(const vec *x, double *to)
{
#if VECTOR_BYTES == 32
    vec a = add_halves(x[0], x[4]), b = add_halves(x[1], x[5]);
    vec c = add_halves(x[2], x[6]), d = add_halves(x[3], x[7]);
    vec p = MOVE_LOW(a, b) + MOVE_HIGH(a, b), q = MOVE_LOW(c, d) + MOVE_HIGH(c, d);
    vec sum = __builtin_shufflevector(p, q, 0, 2, 8, 10, 4, 6, 12, 14) +
              __builtin_shufflevector(p, q, 1, 3, 9, 11, 5, 7, 13, 15);
#elif GROVE_REAL_SINGLE
    vec a = add_quarters(add_halves(x[0], x[1]), add_halves(x[2], x[3]));
    vec b = add_quarters(add_halves(x[4], x[5]), add_halves(x[6], x[7]));
    vec p = MOVE_LOW(a, b) + MOVE_HIGH(a, b);
    part sum = __builtin_shufflevector(p, p, 0, 4, 8, 12, 2, 6, 10, 14) +
               __builtin_shufflevector(p, p, 1, 5, 9, 13, 3, 7, 11, 15);
#else
    vec a = add_quarters(add_halves(x[0], x[2]), add_halves(x[4], x[6]));
    vec b = add_quarters(add_halves(x[1], x[3]), add_halves(x[5], x[7]));
    vec sum = UNPACK_LOW(a, b) + UNPACK_HIGH(a, b);
#endif
    for (int k = 0; k < 8; k++)
        to[k] += (double)sum[k];
}
#else
INLINE void add_eight_sums(const vec *x, double *to)
{
    add_lane_sums(x, to);
    add_lane_sums(x + 4, to + 4);
}
#endif

/* to[column][ROWS] += the products of ROWS rows and `width` columns of `count` vectors each. */
INLINE void multiply_tile(const vec *a, int64_t next, const vec *const *columns, int64_t count,
                          int width, double *to)
{
    const vec *b[COLUMNS];
    vec x[COLUMNS][ROWS];

#pragma GCC unroll 6
    for (int j = 0; j < width; j++) {
        b[j] = columns[j];
#pragma GCC unroll 4
        for (int i = 0; i < ROWS; i++)
            x[j][i] = splat(0);
    }
    for (int64_t n = 0; n < count; n++)
#pragma GCC unroll 6
        for (int j = 0; j < width; j++)
#pragma GCC unroll 4
            for (int i = 0; i < ROWS; i++)
                x[j][i] += a[i * next + n] * b[j][n];
#pragma GCC unroll 6
    for (int j = 0; j + 1 < width; j += 2)
        add_eight_sums(x[j], to + j * ROWS);
    if (width % 2)
        add_lane_sums(x[width - 1], to + (width - 1) * ROWS);
}

/* A call for each width, which is a constant where multiply_tile is inlined: its sums stay in
 * registers. */
static __attribute__((noinline)) void add_tile(const vec *a, int64_t next,
                                               const vec *const *columns, int64_t count, int width,
                                               double *to)
{
    switch (width) {
    case 1:
        multiply_tile(a, next, columns, count, 1, to);
        break;
    case 2:
        multiply_tile(a, next, columns, count, 2, to);
        break;
#if VECTOR_BYTES == 64
    case 3:
        multiply_tile(a, next, columns, count, 3, to);
        break;
    case 4:
        multiply_tile(a, next, columns, count, 4, to);
        break;
    case 5:
        multiply_tile(a, next, columns, count, 5, to);
        break;
#endif
    default:
        multiply_tile(a, next, columns, count, COLUMNS, to);
    }
}

/* Adds the three products for the tiles from `t` on that have the same rows; returns their
 * number. */
static int multiply_rows(const panel_work *w, int t, double *sums)
{
    const grove_predict_panel *job = w->job;
    int64_t count = (int64_t)job->vectors * job->sides;
    int end = t;

    while (end < job->tile_count && job->tiles[end].row == job->tiles[t].row)
        end++;
    for (int which = 0; which < 3; which++)
        for (int i = t; i < end; i++) {
            const grove_predict_tile *tile = &job->tiles[i];
            const vec *columns[COLUMNS] = {NULL};
            for (int j = 0; j < tile->columns; j++)
                columns[j] = w->right + which * w->next[1] + tile->column[j] * w->count;
            add_tile(w->left + which * w->next[0], w->count, columns, count, tile->columns,
                     sums + ((int64_t)which * job->tile_count + i) * CELLS);
        }
    return end - t;
}

static void station_sums(const grove_predict_panel *job)
{
    panel_work w = find_work(job);

    for (int p = 0; p < job->stations; p++) {
        if (job->place[0][p] < 0 && job->place[1][p] < 0)
            continue;
        station_phases(job, job->uvw + 3 * p, w.k + (int64_t)2 * job->capacity * p);
        if (job->sides == 1 && job->place[1][p] >= 0)
            fill_right(&w, p, 0);
    }
    if (job->sides == 2)
        fill_right_matrices(&w);
    else if (job->elements > 1 && job->side[0].numbers == 2 && job->side[1].numbers <= 2)
        multiply_left(&w); /* the right panel, made with the phases, serves all elements */
    for (int e = 0; e < job->elements; e++) {
        for (int p = 0; p < job->stations && e > 0 && job->side[1].numbers == 4; p++)
            if (job->place[1][p] >= 0)
                fill_right(&w, p, e);
        for (int t = 0; t < job->tile_count;) {
            fill_left_rows(&w, job->tiles[t].row, e);
            t += multiply_rows(&w, t, job->sums + (int64_t)3 * e * job->tile_count * CELLS);
        }
    }
}

#endif
