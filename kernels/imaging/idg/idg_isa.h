/* One compilation of the hot loops: for one precision and instruction set. The file that includes
 * this defines GROVE_REAL_SINGLE; the compiler's flags define GROVE_ISA_SUFFIX. */
#include "idg_hot.h"

#include "../../simd/vector.h"

#include <math.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)
#if GROVE_REAL_SINGLE
#define LOOPS JOIN(grove_idg_single_, GROVE_ISA_SUFFIX)
#else
#define LOOPS JOIN(grove_idg_double_, GROVE_ISA_SUFFIX)
#endif

#define UNROLL _Pragma("GCC unroll 24")

INLINE vec load(const real *from)
{
    vec x;

    memcpy(&x, from, sizeof(x));
    return x;
}

INLINE void store(real *to, vec x)
{
    memcpy(to, &x, sizeof(x));
}

#include "../gridder/gridder_passes_isa.h"

/* Columns of a product whose sums are kept in registers together. */
enum { ROWS = VECTOR_BYTES == 64 ? 8 : 4, SLAB = GROVE_IDG_SLAB };

/* ---- products ---- */

/* Complex matrices, real and imaginary parts `line` numbers apart: c[m][n] += sum over k of b[k][m]
 * a[k][n], or of conj(b); a vector of n, `rows` of m. */
typedef struct {
    real *c;
    const real *a, *b;
    int64_t line, c_row, a_row, b_row, b_column; /* numbers from m to m, k to k, k to k, m to m */
    int64_t depth;                               /* of k */
    bool fresh;                                  /* c is 0 */
} product;

/* Numbers of a line that loops go over: pixels, in whole vectors. */
INLINE int64_t used_of(const grove_idg_tables *t)
{
    return (t->plan->side + LANES - 1) / LANES * LANES;
}

INLINE void multiply_block(const product *p, const int rows, const bool conjugate)
{
    const real *a = p->a, *b = p->b;
    vec re[ROWS], im[ROWS];

    UNROLL for (int m = 0; m < rows; m++)
    {
        re[m] = p->fresh ? splat(0) : load(p->c + m * p->c_row);
        im[m] = p->fresh ? splat(0) : load(p->c + m * p->c_row + p->line);
    }
    for (int64_t k = 0; k < p->depth; k++, a += p->a_row, b += p->b_row) {
        const vec x = load(a), y = load(a + p->line);
        UNROLL for (int m = 0; m < rows; m++)
        {
            const vec s = splat(b[m * p->b_column]), t = splat(b[m * p->b_column + p->line]);
            re[m] += x * s;
            im[m] += y * s;
            if (conjugate) {
                re[m] += y * t;
                im[m] -= x * t;
            } else {
                re[m] -= y * t;
                im[m] += x * t;
            }
        }
    }
    UNROLL for (int m = 0; m < rows; m++)
    {
        store(p->c + m * p->c_row, re[m]);
        store(p->c + m * p->c_row + p->line, im[m]);
    }
}

/* All rows, and vectors of a line. */
INLINE void multiply(product p, int64_t rows, int64_t size, const bool conjugate)
{
    real *const c = p.c;
    const real *const a = p.a, *const b = p.b;
    int64_t m = 0;

    for (; m + ROWS <= rows; m += ROWS)
        for (int64_t n = 0; n < size; n += LANES) {
            p.c = c + m * p.c_row + n;
            p.a = a + n;
            p.b = b + m * p.b_column;
            multiply_block(&p, ROWS, conjugate);
        }
    for (; m < rows; m++)
        for (int64_t n = 0; n < size; n += LANES) {
            p.c = c + m * p.c_row + n;
            p.a = a + n;
            p.b = b + m * p.b_column;
            multiply_block(&p, 1, conjugate);
        }
}

/* ---- phases ---- */

/* Phases of a line: cos and sin of 2 pi (x a + p b + c). */
INLINE void fill_line(const double *x, const double *p, int64_t size, double a, double b, double c,
                      real *to, int64_t line)
{
    for (int64_t k = 0; k < size; k += LANES) {
        doubles rest[PARTS];
        vec cosine, sine;
        for (int i = 0; i < PARTS; i++) {
            const doubles turns = *(const unaligned *)(x + k + i * PART) * a +
                                  *(const unaligned *)(p + k + i * PART) * b + c;
            rest[i] = turns - ((turns + ROUND_DOUBLE) - ROUND_DOUBLE);
        }
        phasor(narrow(rest), &cosine, &sine);
        store(to + k, cosine);
        store(to + line + k, sine);
    }
}

/* The next channel's phases: the last one's times the step's. */
INLINE void step_line(const real *from, const real *step, int64_t size, real *to, int64_t line)
{
    for (int64_t k = 0; k < size; k += LANES) {
        const vec a = load(from + k), b = load(from + line + k), c = load(step + k),
                  d = load(step + line + k);
        store(to + k, a * c - b * d);
        store(to + line + k, a * d + b * c);
    }
}

typedef struct {
    real *along[2];        /* [visibility][2][line], along x, with the phase of the centre, and y */
    real *product;         /* the same; first it has the steps, of two lines */
    int64_t at[SLAB];      /* their numbers among the samples */
    int32_t time, channel; /* the next visibility */
    int count;
} slab;

static double fractional(double turns)
{
    return turns - ((turns + ROUND_DOUBLE) - ROUND_DOUBLE);
}

/* The next visibilities of a subgrid, up to SLAB; false: there are none. */
static bool fill_slab(const grove_idg_job *job, slab *s)
{
    const grove_idg_tables *t = job->tables;
    const grove_idg_subgrid *g = job->subgrid;
    const int64_t line = t->line, used = used_of(t);
    int since = 0; /* channels since an exact phase */

    for (s->count = 0; s->count < SLAB && s->time < g->times; s->count++) {
        const int64_t row = g->row + s->time * job->baselines;
        const double *uvw = job->samples->uvw + 3 * row,
                     wavenumber = job->wavenumber[g->first + s->channel] * g->sign,
                     centre = uvw[0] * t->turn[0] + uvw[1] * t->turn[1] + uvw[2] * t->turn[2],
                     w = uvw[2] * wavenumber - g->w;
        const bool steps = job->even && s->channel > 0 && s->count > 0 && since < GROVE_IDG_RESTART;
        const double apart = steps && since == 1
                                 ? wavenumber - job->wavenumber[g->first + s->channel - 1] * g->sign
                                 : 0;

        for (int d = 0; d < 2; d++) {
            real *to = s->along[d] + s->count * 2 * line, *step = s->product + d * 2 * line;
            const double scale = t->scale[d] * uvw[d], turns = d ? 0 : centre;
            if (!steps)
                fill_line(t->x, t->p[d], used, scale * wavenumber - g->cell[d], w,
                          fractional(turns * wavenumber), to, line);
            else if (since == 1)
                fill_line(t->x, t->p[d], used, scale * apart, uvw[2] * apart,
                          fractional(turns * apart), step, line);
            if (steps)
                step_line(to - 2 * line, step, used, to, line);
        }
        s->at[s->count] = row * job->samples->channels + g->first + s->channel;
        since = steps ? since + 1 : 1;
        if (++s->channel == g->channels) {
            s->channel = 0;
            s->time++;
        }
    }
    return s->count > 0;
}

static slab begin_slab(const grove_idg_job *job)
{
    const int64_t panel = SLAB * 2 * job->tables->line;
    real *work = job->work;

    return (slab){.along = {work, work + panel}, .product = work + 2 * panel};
}

/* ---- visibilities to pixels ---- */

/* Phases along x times the visibilities, their number c. */
static void weigh_slab(const grove_idg_job *job, slab *s, int c)
{
    const grove_gridder_samples *all = job->samples;
    const int64_t line = job->tables->line, used = used_of(job->tables),
                  numbers = job->tables->plan->mix.visibilities;

    for (int v = 0; v < s->count; v++) {
        const real weight = all->weight ? ((const real *)all->weight)[s->at[v]] : 1,
                   *data = (const real *)all->data + 2 * (s->at[v] * numbers + c);
        const vec x = splat(weight == 0 ? 0 : weight * data[0]),
                  y = splat(weight == 0 ? 0 : weight * data[1] * (real)job->subgrid->sign);
        const real *from = s->along[0] + v * 2 * line;
        real *to = s->product + v * 2 * line;
        for (int64_t k = 0; k < used; k += LANES) {
            const vec a = load(from + k), b = load(from + line + k);
            store(to + k, a * x - b * y);
            store(to + line + k, a * y + b * x);
        }
    }
}

static void sum(const grove_idg_job *job)
{
    const int64_t line = job->tables->line, side = job->tables->plan->side;
    const int numbers = job->tables->plan->mix.visibilities;
    slab s = begin_slab(job);

    for (bool fresh = true; fill_slab(job, &s); fresh = false)
        for (int c = 0; c < numbers; c++) {
            weigh_slab(job, &s, c);
            const product p = {.c = (real *)job->pixels + c * side * 2 * line,
                               .a = s.along[1],
                               .b = s.product,
                               .line = line,
                               .c_row = 2 * line,
                               .a_row = 2 * line,
                               .b_row = 2 * line,
                               .b_column = 1,
                               .depth = s.count,
                               .fresh = fresh};
            multiply(p, side, used_of(job->tables), false);
        }
}

/* ---- pixels to visibilities ---- */

/* Number c of the visibilities of a slab, from products along x. */
static void gather_slab(const grove_idg_job *job, const slab *s, int c)
{
    const int64_t line = job->tables->line, used = used_of(job->tables),
                  numbers = job->tables->plan->mix.visibilities;

    for (int v = 0; v < s->count; v++) {
        const real *y = s->along[1] + v * 2 * line, *from = s->product + v * 2 * line;
        real *to = (real *)job->samples->data + 2 * (s->at[v] * numbers + c);
        vec re = splat(0), im = splat(0);
        double total[2] = {0, 0};
        for (int64_t k = 0; k < used; k += LANES) {
            const vec a = load(y + k), b = load(y + line + k), e = load(from + k),
                      f = load(from + line + k);
            re += a * e + b * f;
            im += a * f - b * e;
        }
        for (int k = 0; k < LANES; k++) {
            total[0] += (double)re[k];
            total[1] += (double)im[k];
        }
        to[0] = (real)total[0];
        to[1] = (real)(total[1] * (double)job->subgrid->sign);
    }
}

static void predict(const grove_idg_job *job)
{
    const int64_t line = job->tables->line, side = job->tables->plan->side;
    slab s = begin_slab(job);

    while (fill_slab(job, &s))
        for (int c = 0; c < job->tables->plan->mix.visibilities; c++) {
            const product p = {.c = s.product,
                               .a = (real *)job->pixels + c * side * 2 * line,
                               .b = s.along[0],
                               .line = line,
                               .c_row = 2 * line,
                               .a_row = 2 * line,
                               .b_row = 1,
                               .b_column = 2 * line,
                               .depth = side,
                               .fresh = true};
            multiply(p, s.count, used_of(job->tables), true);
            gather_slab(job, &s, c);
        }
}

/* ---- pixels and cells ---- */

#include "idg_terms_isa.h"

/* Transforms along the slow axis of a subgrid's image, with exp(-2 pi i) or exp(+2 pi i). */
static void transform_columns(const grove_idg_job *job, real *pixels, bool positive)
{
    const grove_idg_tables *t = job->tables;
    const int64_t side = t->plan->side, line = t->line;
    pair *from = (pair *)(void *)((real *)job->work + 3 * SLAB * 2 * line), *other = from + side;
    const int re = positive ? 0 : 1;

    for (int64_t k = 0; k < used_of(t); k += LANES) {
        real *at = pixels + k;
        for (int64_t i = 0; i < side; i++) {
            const real *row = at + i * 2 * line;
            from[i] = (pair){load(row + re * line), load(row + (1 - re) * line)};
        }
        const pair *done = transform_part(&t->fourier, from, other);
        for (int64_t i = 0; i < side; i++) {
            store(at + (2 * i + re) * line, done[i].re);
            store(at + (2 * i + 1 - re) * line, done[i].im);
        }
    }
}

/* Four by four numbers, whose rows are `step` numbers apart. */
typedef real four __attribute__((vector_size(4 * sizeof(real)), aligned(sizeof(real)), may_alias));
typedef struct {
    four row[4];
} square;

INLINE square transposed(const real *from, int64_t step)
{
    const four a = *(const four *)from, b = *(const four *)(from + step),
               c = *(const four *)(from + 2 * step), d = *(const four *)(from + 3 * step),
               p = __builtin_shufflevector(a, b, 0, 4, 1, 5),
               q = __builtin_shufflevector(a, b, 2, 6, 3, 7),
               r = __builtin_shufflevector(c, d, 0, 4, 1, 5),
               s = __builtin_shufflevector(c, d, 2, 6, 3, 7);

    return (square){
        {__builtin_shufflevector(p, r, 0, 1, 4, 5), __builtin_shufflevector(p, r, 2, 3, 6, 7),
         __builtin_shufflevector(q, s, 0, 1, 4, 5), __builtin_shufflevector(q, s, 2, 3, 6, 7)}};
}

INLINE void store_square(real *to, int64_t step, const square *s)
{
    for (int i = 0; i < 4; i++)
        *(four *)(to + i * step) = s->row[i];
}

/* Rows for columns. */
static void exchange(const grove_idg_job *job, real *at)
{
    const int64_t side = job->tables->plan->side, line = job->tables->line, step = 2 * line;

    for (int half = 0; half < 2; half++)
        for (int64_t i = 0; i < side; i += 4)
            for (int64_t k = 0; k <= i; k += 4) {
                real *low = at + i * step + half * line + k,
                     *high = at + k * step + half * line + i;
                const square a = transposed(low, step), b = transposed(high, step);
                store_square(low, step, &b);
                store_square(high, step, &a);
            }
}

static void transform(const grove_idg_job *job, bool positive)
{
    const int64_t numbers = job->tables->plan->side * 2 * job->tables->line;

    for (int r = 0; r < job->tables->plan->mix.images; r++) {
        real *pixels = (real *)job->pixels + r * numbers;
        transform_columns(job, pixels, positive);
        exchange(job, pixels);
        transform_columns(job, pixels, positive);
    }
}

/* Cells of a row, from or to a run of the plane. */
INLINE void move_run(real *restrict re, real *restrict im, real *restrict plane,
                     const real *restrict sign, int64_t count, bool to_grid)
{
    for (int64_t k = 0; k < count && to_grid; k++) {
        plane[2 * k] += sign[k] * re[k];
        plane[2 * k + 1] += sign[k] * im[k];
    }
    for (int64_t k = 0; k < count && !to_grid; k++) {
        re[k] = sign[k] * plane[2 * k];
        im[k] = sign[k] * plane[2 * k + 1];
    }
}

static void move(const grove_idg_tables *t, const grove_idg_move *m)
{
    const int64_t side = t->plan->side, rest = m->size[0] - m->start[0],
                  head = rest < side ? rest : side;

    for (int64_t y = 0, row = m->start[1]; y < side;
         y++, row = row + 1 == m->size[1] ? 0 : row + 1) {
        real *re = (real *)m->cells + 2 * y * t->line, *im = re + t->line,
             *plane = (real *)m->plane + 2 * row * m->size[0];
        const real *sign = t->sign;
        if (row < m->first || row >= m->last)
            continue;
        move_run(re, im, plane + 2 * m->start[0], sign + y % 2, head, m->to_grid);
        move_run(re + head, im + head, plane, sign + (y + head) % 2, side - head, m->to_grid);
    }
}

/* ---- w-tiles ---- */

static void block(const grove_idg_tables *t, void *cells, void *stored, int64_t size, bool to_block)
{
    const int64_t skip = (t->plan->side - size) / 2; /* even */
    real *re = (real *)cells + 2 * skip * t->line + skip, *at = stored;

    for (int64_t y = 0; y < size; y++, re += 2 * t->line, at += 2 * size)
        move_run(re, re + t->line, at, (const real *)t->sign + y % 2, size, to_block);
}

static void turn(const grove_idg_job *job, double w, void *sum)
{
    const grove_idg_tables *t = job->tables;
    const int64_t side = t->plan->side;
    const vec share = splat((real)(1 / (double)(side * side)));
    const double *n = t->n;
    real *from = job->pixels, *to = sum;

    for (int64_t i = 0; i < side; i++, n += t->line, from += 2 * t->line, to += 2 * t->line)
        for (int64_t k = 0; k < used_of(t); k += LANES) {
            const pair z = load_pair(from + k, t->line);
            doubles at[PARTS];
            pair by;
            for (int d = 0; d < PARTS; d++)
                at[d] = *(const unaligned *)(n + k + d * PART);
            phasor(fractional_turns(at, w), &by.re, &by.im);
            store(to + k, load(to + k) + share * (z.re * by.re - z.im * by.im));
            store(to + k + t->line, load(to + k + t->line) + share * (z.re * by.im + z.im * by.re));
        }
}

static void to_cells(const grove_idg_job *job)
{
    weigh_pixels(job, false);
    transform(job, false);
}

static void from_cells(const grove_idg_job *job)
{
    transform(job, true);
    weigh_pixels(job, true);
}

const grove_idg_loops LOOPS = {sum, to_cells, from_cells, predict, move, block, transform, turn};
