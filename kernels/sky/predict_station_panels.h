/* Sums for stations, a source in each lane: the panels whose product they are.
 *
 * V_pq = sum_s (L_p K_p) (R_q conj K_q) is a product of matrices of complex numbers whose long side
 * is the sources. A complex product takes three real ones: of the real parts, of the imaginary
 * parts, and of the sums of both, each a separate product of real matrices. */
#ifndef GROVE_KERNELS_PREDICT_STATION_PANELS_H
#define GROVE_KERNELS_PREDICT_STATION_PANELS_H

#include "../simd/vector.h"
#include "predict_job.h"

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

/* Addresses of the cells of a vector of sources, at station 0; lanes beyond the last source repeat
 * it. */
INLINE void find_cells(const grove_predict_panel *job, int which, int i, const char *at[LANES])
{
    const grove_predict_panel_side *side = &job->side[which];

    for (int k = 0; k < LANES; k++) {
        int s = i * LANES + k < job->count ? i * LANES + k : job->count - 1;
        at[k] = side->at + side->source * job->order[s];
    }
}

/* `count` numbers of cells in any precision, from number `first` on. */
INLINE void load_numbers_at(const grove_predict_panel_side *side, const char *const at[LANES],
                            int64_t offset, int first, int count, vec *to)
{
    real(*numbers)[LANES] = (real(*)[LANES])to;

    for (int i = 0; i < LANES; i++)
        for (int k = 0; k < count; k++)
            numbers[k][i] = side->bytes == (int)sizeof(real)
                                ? ((const real *)(const void *)(at[i] + offset))[first + k]
                            : side->bytes == 8
                                ? (real)((const double *)(const void *)(at[i] + offset))[first + k]
                                : (real)((const float *)(const void *)(at[i] + offset))[first + k];
}

typedef real block __attribute__((vector_size(16)));
enum { IN_BLOCK = 16 / (int)sizeof(real) };

INLINE block block_at(const char *at)
{
    block x;

    memcpy(&x, at, sizeof(x));
    return x;
}

/* Blocks of the sources at at[0], at[IN_BLOCK], at[2 IN_BLOCK] ... side by side. */
INLINE vec blocks_at(const char *const *at, int64_t offset)
{
#if VECTOR_BYTES == 64
    block a = block_at(at[0] + offset), b = block_at(at[IN_BLOCK] + offset);
    block c = block_at(at[2 * IN_BLOCK] + offset), d = block_at(at[3 * IN_BLOCK] + offset);
#if GROVE_REAL_SINGLE
    part p = __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
    part q = __builtin_shufflevector(c, d, 0, 1, 2, 3, 4, 5, 6, 7);
    return __builtin_shufflevector(p, q, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
#else
    typedef double pair __attribute__((vector_size(32)));
    pair p = __builtin_shufflevector(a, b, 0, 1, 2, 3);
    pair q = __builtin_shufflevector(c, d, 0, 1, 2, 3);
    return __builtin_shufflevector(p, q, 0, 1, 2, 3, 4, 5, 6, 7);
#endif
#elif VECTOR_BYTES == 32
    block a = block_at(at[0] + offset), b = block_at(at[IN_BLOCK] + offset);
#if GROVE_REAL_SINGLE
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
#else
    return __builtin_shufflevector(a, b, 0, 1, 2, 3);
#endif
#else
    return block_at(at[0] + offset);
#endif
}

/* Within each block of 16 bytes: interleave the numbers of a and b, or join their halves. */
#if GROVE_REAL_SINGLE && VECTOR_BYTES == 64
#define UNPACK_LOW(a, b)                                                                           \
    __builtin_shufflevector(a, b, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29)
#define UNPACK_HIGH(a, b)                                                                          \
    __builtin_shufflevector(a, b, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31)
#define MOVE_LOW(a, b)                                                                             \
    __builtin_shufflevector(a, b, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29)
#define MOVE_HIGH(a, b)                                                                            \
    __builtin_shufflevector(a, b, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31)
#elif GROVE_REAL_SINGLE && VECTOR_BYTES == 32
#define UNPACK_LOW(a, b)  __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define UNPACK_HIGH(a, b) __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define MOVE_LOW(a, b)    __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define MOVE_HIGH(a, b)   __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#elif GROVE_REAL_SINGLE
#define UNPACK_LOW(a, b)  __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define UNPACK_HIGH(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#define MOVE_LOW(a, b)    __builtin_shufflevector(a, b, 0, 1, 4, 5)
#define MOVE_HIGH(a, b)   __builtin_shufflevector(a, b, 2, 3, 6, 7)
#elif VECTOR_BYTES == 64
#define UNPACK_LOW(a, b)  __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14)
#define UNPACK_HIGH(a, b) __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15)
#elif VECTOR_BYTES == 32
#define UNPACK_LOW(a, b)  __builtin_shufflevector(a, b, 0, 4, 2, 6)
#define UNPACK_HIGH(a, b) __builtin_shufflevector(a, b, 1, 5, 3, 7)
#else
#define UNPACK_LOW(a, b)  __builtin_shufflevector(a, b, 0, 2)
#define UNPACK_HIGH(a, b) __builtin_shufflevector(a, b, 1, 3)
#endif

/* Eight numbers of the kernel's precision from each source: blocks of them transposed. */
INLINE void load_matrix_numbers(const char *const at[LANES], int64_t offset, vec to[8])
{
    for (int k = 0; k < 8; k += IN_BLOCK, offset += 16) {
#if GROVE_REAL_SINGLE
        vec a = blocks_at(at, offset), b = blocks_at(at + 1, offset);
        vec c = blocks_at(at + 2, offset), d = blocks_at(at + 3, offset);
        vec p = UNPACK_LOW(a, b), q = UNPACK_LOW(c, d);
        to[k] = MOVE_LOW(p, q);
        to[k + 1] = MOVE_HIGH(p, q);
        p = UNPACK_HIGH(a, b);
        q = UNPACK_HIGH(c, d);
        to[k + 2] = MOVE_LOW(p, q);
        to[k + 3] = MOVE_HIGH(p, q);
#else
        vec a = blocks_at(at, offset), b = blocks_at(at + 1, offset);
        to[k] = UNPACK_LOW(a, b);
        to[k + 1] = UNPACK_HIGH(a, b);
#endif
    }
}

/* Element `index` of scalar or diagonal Jones terms. */
INLINE void load_element(const grove_predict_panel_side *side, const char *const at[LANES],
                         int station, int index, vec to[2])
{
    int first = side->numbers == 4 ? 2 * index : 0;

    to[0] = splat(1);
    to[1] = splat(0);
    if (side->at && side->bytes == (int)sizeof(real))
        load_pairs(at, side->station * station + first * (int64_t)sizeof(real), to);
    else if (side->at)
        load_numbers_at(side, at, side->station * station, first, 2, to);
}

/* A cell of Jones terms as a matrix. */
INLINE void load_matrix(const grove_predict_panel_side *side, const char *const at[LANES],
                        int station, vec *to)
{
    if (side->at && side->numbers == 8) {
        if (side->bytes == (int)sizeof(real))
            load_matrix_numbers(at, side->station * station, to);
        else
            load_numbers_at(side, at, side->station * station, 0, 8, to);
        return;
    }
    for (int k = 0; k < 8; k++)
        to[k] = splat(0);
    load_element(side, at, station, 0, to);
    load_element(side, at, station, 1, to + 6);
}

/* left_ii B_ij K of one vector of sources in a row. */
INLINE void fill_left(const panel_work *w, int i, int row, int product, const char *const *at)
{
    const grove_predict_panel *job = w->job;
    const vec *k = w->k + 2 * ((int64_t)job->capacity * w->station[row] + i);
    const vec *b = (const vec *)job->brightness + 2 * (job->elements * i + product);
    vec x[2], cell[2];

    product_of(x, b, k);
    if (job->side[0].at && !w->has_left) {
        load_element(&job->side[0], at, w->station[row], job->element[product] / 2, cell);
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
        const char *at[LANES];
        find_cells(job, 0, i, at);
        for (int p = 0; p < job->stations; p++) {
            vec *k = w->k + 2 * ((int64_t)job->capacity * p + i), cell[2];
            if (job->place[0][p] < 0)
                continue;
            load_element(&job->side[0], at, p, 0, cell);
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
        if (job->side[1].at) {
            const char *at[LANES];
            find_cells(job, 1, i, at);
            load_element(&job->side[1], at, station, job->element[product] % 2, cell);
            product_of(x, cell, x);
        }
        put_operand(to + i, w->next[1], x[0], x[1]);
    }
}

/* left B K in rows (p, i): the vectors of one element after the vectors of the other. */
INLINE void fill_left_matrix(const panel_work *w, int i, int row, const char *const *at)
{
    const grove_predict_panel *job = w->job;
    const vec *k = w->k + 2 * ((int64_t)job->capacity * w->station[row] + i);
    const vec *b = (const vec *)job->brightness + 8 * i;
    vec *to = w->left + w->count * row + i, l[8];

    load_matrix(&job->side[0], at, w->station[row], l);
    for (int e = 0; e < 4; e++) {
        vec x[2] = {splat(0), splat(0)};
        add_product_to(x, l + 4 * (e / 2), b + 2 * (e % 2));
        add_product_to(x, l + 4 * (e / 2) + 2, b + 4 + 2 * (e % 2));
        product_of(x, x, k);
        put_operand(to + (e / 2) * w->count + (e % 2) * job->vectors, w->next[0], x[0], x[1]);
    }
}

/* right conj K in columns (q, j). */
INLINE void fill_right_matrix(const panel_work *w, int i, int station, const char *const *at)
{
    const grove_predict_panel *job = w->job;
    const vec *k = w->k + 2 * ((int64_t)job->capacity * station + i);
    vec *to = w->right + w->count * 2 * job->place[1][station] + i, r[8];
    vec rotated[2] = {k[0], -k[1]};

    load_matrix(&job->side[1], at, station, r);
    for (int e = 0; e < 4; e++) {
        vec x[2];
        product_of(x, r + 2 * e, rotated);
        put_operand(to + (e % 2) * w->count + (e / 2) * job->vectors, w->next[1], x[0], x[1]);
    }
}

/* Two stations at once: where one's cell ends the other's often begins. */
static void fill_right_matrices(const panel_work *w)
{
    const grove_predict_panel *job = w->job;

    for (int p = 0; p < job->stations; p += 2)
        for (int i = 0; i < job->vectors; i++) {
            const char *at[LANES] = {0};
            if (job->side[1].at)
                find_cells(job, 1, i, at);
            if (job->place[1][p] >= 0)
                fill_right_matrix(w, i, p, at);
            if (p + 1 < job->stations && job->place[1][p + 1] >= 0)
                fill_right_matrix(w, i, p + 1, at);
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
        const char *at[LANES] = {0};
        if (job->side[0].at && !w->has_left)
            find_cells(job, 0, i, at);
        for (int r = 0; r < ROWS; r += step)
            if (step == 2)
                fill_left_matrix(w, i, r, at);
            else
                fill_left(w, i, r, product, at);
    }
}

#endif
