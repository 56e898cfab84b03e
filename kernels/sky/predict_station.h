/* Sums for stations, a source in each lane, as products of real matrices, tile by tile. */
#ifndef GROVE_KERNELS_PREDICT_STATION_H
#define GROVE_KERNELS_PREDICT_STATION_H

#include "predict_station_panels.h"

/* to[column][ROWS] += the products of ROWS rows and `width` columns of `count` vectors each. */
INLINE void multiply_tile(const vec *a, int64_t next, const vec *const *columns, int64_t count,
                          int width, double *to)
{
    const vec *b[COLUMNS];
    vec x[COLUMNS + COLUMNS % 2][ROWS];

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
    for (int i = 0; i < ROWS && width % 2; i++)
        x[width][i] = splat(0);
    add_lanes(x[0], width * ROWS, to);
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
