/* Sums for stations, a source in each lane: the panels whose product they are.
 *
 * V_pq = sum_s (L_p K_p) (R_q conj K_q) is a product of matrices of complex numbers whose long side
 * is the sources. A complex product takes three real ones: of the real parts, of the imaginary
 * parts, and of the sums of both, each a separate product of real matrices. */
#ifndef GROVE_KERNELS_PREDICT_STATION_PANELS_H
#define GROVE_KERNELS_PREDICT_STATION_PANELS_H

#include "predict_jones.h"

/* Size of a tile of the product: as many sums as the registers hold. */
enum { ROWS = 4, COLUMNS = VECTOR_BYTES == 64 ? 6 : 3, CELLS = ROWS * COLUMNS };

/* The parts of job->work, in vectors: the right panel with all columns, the left panel with the
 * rows of a tile, and the phases. */
typedef struct {
    const grove_predict_panel *job;
    int64_t count;     /* of vectors in a row, as many as there is memory for */
    int64_t next[2];   /* from the real parts to the imaginary ones, and to the sums of both */
    vec *left, *right; /* [which][row][vector] */
    vec *k;            /* [station][vector][re, im] phases */
    int has_left;      /* k has been multiplied by the left side's scalars */
    int station[ROWS]; /* of the rows of the left panel; with matrices of every other row */
} panel_work;

static panel_work find_work(const grove_predict_panel *job)
{
    panel_work w = {.job = job, .count = (int64_t)job->capacity * job->sides};

    w.next[0] = ROWS * w.count;
    w.next[1] = (int64_t)job->sides * job->rows[1] * w.count;
    w.left = job->work;
    w.right = w.left + 3 * w.next[0];
    w.k = w.right + 3 * w.next[1];
    return w;
}

/* exp(-2 pi i nu u . direction) of a station: re, im. */
static void station_phases(const grove_predict_panel *job, const double *uvw, vec *to)
{
    const double *d = job->direction;
    double u = -uvw[0] * job->freq, v = -uvw[1] * job->freq, w = -uvw[2] * job->freq;

    for (int i = 0; i < job->vectors; i++, d += LANES, to += 2) {
        const unaligned *l = (const unaligned *)d, *m = (const unaligned *)(d + job->stride);
        const unaligned *n = (const unaligned *)(d + 2 * job->stride);
        doubles turns[PARTS];
        for (int k = 0; k < PARTS; k++)
            turns[k] = l[k] * u + m[k] * v + n[k] * w;
        phasor(fractional_turns(turns, 1.0), &to[0], &to[1]);
    }
}

INLINE void product_of(vec to[2], const vec *a, const vec *b)
{
    vec re = a[0] * b[0] - a[1] * b[1], im = a[0] * b[1] + a[1] * b[0];

    to[0] = re;
    to[1] = im;
}

INLINE void add_product_to(vec to[2], const vec *a, const vec *b)
{
    to[0] += a[0] * b[0] - a[1] * b[1];
    to[1] += a[0] * b[1] + a[1] * b[0];
}

/* Puts a complex number into a panel whose parts (real, imaginary, both) take `next` vectors
 * each. */
INLINE void put_operand(vec *to, int64_t next, vec re, vec im)
{
    KEEP(re);
    KEEP(im);
    to[0] = re;
    to[next] = im;
    to[2 * next] = re + im;
}

/* The cells of a vector of sources at station 0; lanes beyond the last source repeat it. */
INLINE void find_cells(const grove_predict_panel *job, int which, int i,
                       grove_predict_jones_side *cells)
{
    const grove_predict_panel_side *side = &job->side[which];

    cells->numbers = side->numbers;
    cells->bytes = side->bytes;
    for (int k = 0; k < LANES && side->numbers; k++) {
        int s = i * LANES + k < job->count ? i * LANES + k : job->count - 1;
        cells->at[k] = side->at + side->source * job->order[s];
    }
}

/* Element `index` of scalar or diagonal Jones terms, `offset` bytes on. */
INLINE void load_element(const grove_predict_jones_side *cells, int64_t offset, int index,
                         vec to[2])
{
    const int first = cells->numbers == 4 ? 2 * index : 0;

    to[0] = to[1] = splat(0);
    if (cells->bytes == (int)sizeof(real)) {
        load_pairs(cells->at, offset + first * (int64_t)sizeof(real), to);
        return;
    }
    for (int i = 0; i < LANES; i++)
        for (int k = 0; k < 2; k++)
            to[k][i] = real_at(cells->at[i] + offset, cells->bytes, first + k);
}

/* left_ii B_ij K of one vector of sources in a row. */
INLINE void fill_left(const panel_work *w, int i, int row, int product,
                      const grove_predict_jones_side *cells)
{
    const grove_predict_panel *job = w->job;
    const vec *k = w->k + 2 * ((int64_t)job->capacity * w->station[row] + i);
    const vec *b = (const vec *)job->brightness + 2 * (job->elements * i + product);
    vec x[2], cell[2];

    product_of(x, b, k);
    if (job->side[0].numbers && !w->has_left) {
        load_element(cells, job->side[0].station * w->station[row], job->element[product] / 2,
                     cell);
        product_of(x, cell, x);
    }
    put_operand(w->left + w->count * row + i, w->next[0], x[0], x[1]);
}

/* Multiplies the phases by the left side's scalars, which all elements share: each is loaded once.
 */
static void multiply_left(panel_work *w)
{
    const grove_predict_panel *job = w->job;

    w->has_left = 1;
    for (int i = 0; i < job->vectors; i++) {
        grove_predict_jones_side cells;
        find_cells(job, 0, i, &cells);
        for (int p = 0; p < job->stations; p++) {
            vec *k = w->k + 2 * ((int64_t)job->capacity * p + i), cell[2];
            if (job->place[0][p] < 0)
                continue;
            load_element(&cells, job->side[0].station * p, 0, cell);
            product_of(k, cell, k);
        }
    }
}

/* right_jj conj K of a station. */
static void fill_right(const panel_work *w, int station, int product)
{
    const grove_predict_panel *job = w->job;
    const vec *k = w->k + (int64_t)2 * job->capacity * station;
    vec *to = w->right + w->count * job->place[1][station];

    for (int i = 0; i < job->vectors; i++, k += 2) {
        vec x[2] = {k[0], -k[1]}, cell[2];
        if (job->side[1].numbers) {
            grove_predict_jones_side cells;
            find_cells(job, 1, i, &cells);
            load_element(&cells, job->side[1].station * station, job->element[product] % 2, cell);
            product_of(x, cell, x);
        }
        put_operand(to + i, w->next[1], x[0], x[1]);
    }
}

/* left B K in rows (p, i): the vectors of one element after the vectors of the other. */
INLINE void fill_left_matrix(const panel_work *w, int i, int row,
                             const grove_predict_jones_side *cells)
{
    const grove_predict_panel *job = w->job;
    const vec *k = w->k + 2 * ((int64_t)job->capacity * w->station[row] + i);
    const vec *b = (const vec *)job->brightness + 8 * i;
    vec *to = w->left + w->count * row + i;
    jones l;

    load_cells(cells, job->side[0].station * w->station[row], &l);
    for (int e = 0; e < 4; e++) {
        vec x[2] = {splat(0), splat(0)};
        add_product_to(x, l.at + 4 * (e / 2), b + 2 * (e % 2));
        add_product_to(x, l.at + 4 * (e / 2) + 2, b + 4 + 2 * (e % 2));
        product_of(x, x, k);
        put_operand(to + (e / 2) * w->count + (e % 2) * job->vectors, w->next[0], x[0], x[1]);
    }
}

/* right conj K in columns (q, j). */
INLINE void fill_right_matrix(const panel_work *w, int i, int station,
                              const grove_predict_jones_side *cells)
{
    const grove_predict_panel *job = w->job;
    const vec *k = w->k + 2 * ((int64_t)job->capacity * station + i);
    vec *to = w->right + w->count * 2 * job->place[1][station] + i;
    vec rotated[2] = {k[0], -k[1]};
    jones r;

    load_cells(cells, job->side[1].station * station, &r);
    for (int e = 0; e < 4; e++) {
        vec x[2];
        product_of(x, r.at + 2 * e, rotated);
        put_operand(to + (e % 2) * w->count + (e / 2) * job->vectors, w->next[1], x[0], x[1]);
    }
}

/* Two stations at once: where one's cell ends the other's often begins. */
static void fill_right_matrices(const panel_work *w)
{
    const grove_predict_panel *job = w->job;

    for (int p = 0; p < job->stations; p += 2)
        for (int i = 0; i < job->vectors; i++) {
            grove_predict_jones_side cells;
            find_cells(job, 1, i, &cells);
            if (job->place[1][p] >= 0)
                fill_right_matrix(w, i, p, &cells);
            if (p + 1 < job->stations && job->place[1][p + 1] >= 0)
                fill_right_matrix(w, i, p + 1, &cells);
        }
}

/* The rows of a tile; those after the last are the last again. */
static void fill_left_rows(panel_work *w, int first, int product)
{
    const grove_predict_panel *job = w->job;
    int last = job->sides * job->rows[0] - 1, step = job->sides;

    for (int r = 0; r < ROWS; r += step)
        w->station[r] = job->row[(first + r < last ? first + r : last) / step];
    for (int i = 0; i < job->vectors; i++) {
        grove_predict_jones_side cells;
        find_cells(job, 0, i, &cells);
        for (int r = 0; r < ROWS; r += step)
            if (step == 2)
                fill_left_matrix(w, i, r, &cells);
            else
                fill_left(w, i, r, product, &cells);
    }
}

#endif
