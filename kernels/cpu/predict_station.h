/* The sum over sources for stations: V_pq = sum_s (L_p K_p) (R_q conj K_q), a product of matrices
 * of complex numbers whose long side, the sources, lies in the lanes. A complex product takes three
 * real ones: of the real parts, of the imaginary parts, and of the sums of both, each a product of
 * real matrices by itself. */
#ifndef GROVE_KERNELS_CPU_PREDICT_STATION_H
#define GROVE_KERNELS_CPU_PREDICT_STATION_H

#include "predict_baseline.h"

/* Of a tile of the product, as the registers allow. */
enum { ROWS = 4, COLUMNS = VECTOR_BYTES == 64 ? 6 : 3, CELLS = ROWS * COLUMNS };

/* ---- the panels ---- */

/* Where the parts of `work` are: rows are [which][row][vector], which of real, imaginary, sum. */
typedef struct {
    const grove_predict_panel *job;
    int64_t count;   /* of vectors in a row, as many as there is memory for */
    int64_t rows[2]; /* of both panels, the left one's padded */
    vec *panel[2];
    vec *k; /* [station][vector][re, im] */
} panel_work;

static panel_work find_work(const grove_predict_panel *job)
{
    panel_work w = {.job = job, .count = (int64_t)job->capacity * job->sides};

    w.rows[0] = ((int64_t)job->sides * job->rows[0] + ROWS - 1) / ROWS * ROWS;
    w.rows[1] = (int64_t)job->sides * job->rows[1];
    w.panel[0] = job->work;
    w.panel[1] = w.panel[0] + 3 * w.rows[0] * w.count;
    w.k = w.panel[1] + 3 * w.rows[1] * w.count;
    return w;
}

/* exp(-2 pi i nu u . direction) of a station: re, im. */
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

FORCE void product_of(vec to[2], const vec *a, const vec *b)
{
    vec re = a[0] * b[0] - a[1] * b[1], im = a[0] * b[1] + a[1] * b[0];

    to[0] = re;
    to[1] = im;
}

FORCE void add_product_to(vec to[2], const vec *a, const vec *b)
{
    to[0] += a[0] * b[0] - a[1] * b[1];
    to[1] += a[0] * b[1] + a[1] * b[0];
}

/* A number into a panel of which each part takes `next` vectors. */
FORCE void put_operand(vec *to, int64_t next, vec re, vec im)
{
    KEEP(re);
    KEEP(im);
    to[0] = re;
    to[next] = im;
    to[2 * next] = re + im;
}

/* The first `count` numbers of the cells of a vector of sources, from `source` on. */
FORCE void take_cells(const grove_predict_panel *job, int which, int station, int source, int first,
                      int count, vec *to)
{
    const grove_predict_panel_side *side = &job->side[which];
    const char *at = side->at + side->station * station;
    real(*numbers)[LANES] = (real(*)[LANES])to;

    for (int i = 0; i < LANES; i++) {
        int s = source + i < job->count ? source + i : job->count - 1;
        const char *from = at + side->source * job->order[s];
        for (int k = 0; k < count; k++)
            numbers[k][i] =
                side->bytes == (int)sizeof(real) ? ((const real *)(const void *)from)[first + k]
                : side->bytes == 8 ? (real)((const double *)(const void *)from)[first + k]
                                   : (real)((const float *)(const void *)from)[first + k];
    }
}

/* Element `index` of scalar or diagonal Jones terms. */
FORCE void take_element(const grove_predict_panel *job, int which, int station, int source,
                        int index, vec to[2])
{
    to[0] = splat(1);
    to[1] = splat(0);
    if (job->side[which].at)
        take_cells(job, which, station, source, job->side[which].numbers == 4 ? 2 * index : 0, 2,
                   to);
}

/* left_ii B_ij K of all rows. */
static void fill_left(const panel_work *w, int product)
{
    const grove_predict_panel *job = w->job;
    int64_t next = w->rows[0] * w->count;

    for (int p = 0; p < job->stations; p++) {
        const vec *k = w->k + (int64_t)2 * job->capacity * p,
                  *b = (const vec *)job->brightness + 2 * product;
        vec *to = w->panel[0] + w->count * job->place[0][p], x[2];
        for (int i = 0; i < job->vectors && job->place[0][p] >= 0;
             i++, k += 2, b += 2 * job->elements) {
            product_of(x, b, k);
            if (job->side[0].at) {
                vec cell[2];
                take_element(job, 0, p, i * LANES, job->element[product] / 2, cell);
                product_of(x, cell, x);
            }
            put_operand(to + i, next, x[0], x[1]);
        }
    }
}

/* right_jj conj K of all columns. */
static void fill_right(const panel_work *w, int product)
{
    const grove_predict_panel *job = w->job;
    int64_t next = w->rows[1] * w->count;

    for (int q = 0; q < job->stations; q++) {
        const vec *k = w->k + (int64_t)2 * job->capacity * q;
        vec *to = w->panel[1] + w->count * job->place[1][q];
        for (int i = 0; i < job->vectors && job->place[1][q] >= 0; i++, k += 2) {
            vec x[2] = {k[0], -k[1]};
            if (job->side[1].at) {
                vec cell[2];
                take_element(job, 1, q, i * LANES, job->element[product] % 2, cell);
                product_of(x, cell, x);
            }
            put_operand(to + i, next, x[0], x[1]);
        }
    }
}

/* A cell of Jones terms as a matrix. */
FORCE void take_matrix(const grove_predict_panel *job, int which, int station, int source, vec *to)
{
    int numbers = job->side[which].numbers;

    if (job->side[which].at && numbers == 8) {
        take_cells(job, which, station, source, 0, 8, to);
        return;
    }
    for (int k = 0; k < 8; k++)
        to[k] = splat(0);
    take_element(job, which, station, source, 0, to);
    take_element(job, which, station, source, 1, to + 6);
}

/* left B K in rows (p, i): the vectors of one element after those of the other. */
static void fill_left_matrices(const panel_work *w, int i)
{
    const grove_predict_panel *job = w->job;
    const vec *b = (const vec *)job->brightness + 8 * i;
    int64_t next = w->rows[0] * w->count;

    for (int p = 0; p < job->stations; p++) {
        const vec *k = w->k + 2 * ((int64_t)job->capacity * p + i);
        vec *to = w->panel[0] + w->count * 2 * job->place[0][p] + i, l[8];
        if (job->place[0][p] < 0)
            continue;
        take_matrix(job, 0, p, i * LANES, l);
        for (int e = 0; e < 4; e++) {
            vec x[2] = {splat(0), splat(0)};
            add_product_to(x, l + 4 * (e / 2), b + 2 * (e % 2));
            add_product_to(x, l + 4 * (e / 2) + 2, b + 4 + 2 * (e % 2));
            product_of(x, x, k);
            put_operand(to + (e / 2) * w->count + (e % 2) * job->vectors, next, x[0], x[1]);
        }
    }
}

/* right conj K in columns (q, j). */
static void fill_right_matrices(const panel_work *w, int i)
{
    const grove_predict_panel *job = w->job;
    int64_t next = w->rows[1] * w->count;

    for (int q = 0; q < job->stations; q++) {
        const vec *k = w->k + 2 * ((int64_t)job->capacity * q + i);
        vec *to = w->panel[1] + w->count * 2 * job->place[1][q] + i, r[8];
        vec turned[2] = {k[0], -k[1]};
        if (job->place[1][q] < 0)
            continue;
        take_matrix(job, 1, q, i * LANES, r);
        for (int e = 0; e < 4; e++) {
            vec x[2];
            product_of(x, r + 2 * e, turned);
            put_operand(to + (e % 2) * w->count + (e / 2) * job->vectors, next, x[0], x[1]);
        }
    }
}

/* ---- the products ---- */

#if GROVE_REAL_SINGLE || VECTOR_BYTES >= 32
typedef real four __attribute__((vector_size(4 * sizeof(real))));

/* The sum of the lanes that lie four apart. */
FORCE four folded(vec x)
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
FORCE void add_totals(const vec *x, double *to)
{
    four a = folded(x[0]), b = folded(x[1]), c = folded(x[2]), d = folded(x[3]);
    four p = __builtin_shufflevector(a, b, 0, 4, 1, 5) + __builtin_shufflevector(a, b, 2, 6, 3, 7);
    four q = __builtin_shufflevector(c, d, 0, 4, 1, 5) + __builtin_shufflevector(c, d, 2, 6, 3, 7);
    four sum =
        __builtin_shufflevector(p, q, 0, 1, 4, 5) + __builtin_shufflevector(p, q, 2, 3, 6, 7);

    for (int k = 0; k < 4; k++)
        to[k] += (double)sum[k];
}
#else
FORCE void add_totals(const vec *x, double *to)
{
    for (int k = 0; k < 4; k++)
        to[k] += x[k][0] + x[k][1];
}
#endif

/* to[row][COLUMNS] += `count` numbers of ROWS rows by as many of some columns. */
FORCE void tile_of(const vec *a, int64_t next, const vec *const *columns, int64_t count, int width,
                   double *to)
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
    for (int j = 0; j < width; j++)
        add_totals(x[j], to + j * ROWS);
}

/* Each width apart, for what stays in registers. */
static void add_tile(const vec *a, int64_t next, const vec *const *columns, int64_t count,
                     int width, double *to)
{
    switch (width) {
    case 1:
        tile_of(a, next, columns, count, 1, to);
        break;
    case 2:
        tile_of(a, next, columns, count, 2, to);
        break;
#if VECTOR_BYTES == 64
    case 3:
        tile_of(a, next, columns, count, 3, to);
        break;
    case 4:
        tile_of(a, next, columns, count, 4, to);
        break;
    case 5:
        tile_of(a, next, columns, count, 5, to);
        break;
#endif
    default:
        tile_of(a, next, columns, count, COLUMNS, to);
    }
}

/* One product of real matrices. */
static void multiply_panels(const panel_work *w, int which, double *sums)
{
    const grove_predict_panel *job = w->job;
    const vec *left = w->panel[0] + which * w->rows[0] * w->count;
    const vec *right = w->panel[1] + which * w->rows[1] * w->count;
    const vec *columns[COLUMNS];
    int64_t count = (int64_t)job->vectors * job->sides;

    for (int t = 0; t < job->tile_count; t++, sums += CELLS) {
        const grove_predict_tile *tile = &job->tiles[t];
        for (int j = 0; j < tile->columns; j++)
            columns[j] = right + tile->column[j] * w->count;
        add_tile(left + tile->row * w->count, w->count, columns, count, tile->columns, sums);
    }
}

static void station_sums(const grove_predict_panel *job)
{
    panel_work w = find_work(job);
    double *sums = job->sums;

    for (int p = 0; p < job->stations; p++)
        station_phases(job, job->uvw + 3 * p, w.k + (int64_t)2 * job->capacity * p);
    for (int i = 0; i < job->vectors && job->sides == 2; i++) {
        fill_left_matrices(&w, i);
        fill_right_matrices(&w, i);
    }
    for (int e = 0; e < job->elements; e++) {
        if (job->sides == 1)
            fill_left(&w, e);
        if (job->sides == 1 && (e == 0 || job->side[1].numbers == 4))
            fill_right(&w, e);
        for (int which = 0; which < 3; which++, sums += (int64_t)job->tile_count * CELLS)
            multiply_panels(&w, which, sums);
    }
}

#endif
