/* Sums over cells. A cell is a vector of eight doubles, or two vectors of four. For each cell the
 * diagonal form takes about 10 operations on eight doubles, the full form 27 with equal weights. */
#include "compression_simd.h"

#define INLINE       static inline __attribute__((always_inline))
#define PASTE_(a, b) a##b
#define PASTE(a, b)  PASTE_(a, b)
#define KERNELS      PASTE(grove_compression_, GROVE_ISA_SUFFIX)

#if defined(__AVX512F__)
enum { PARTS = 1, LANES = 8 };
#define WITHIN(a, e0, e1, e2, e3)                                                                  \
    __builtin_shufflevector(a, a, e0, e1, e2, e3, 4 + e0, 4 + e1, 4 + e2, 4 + e3)
#elif defined(__AVX2__)
enum { PARTS = 2, LANES = 4 };
#define WITHIN(a, e0, e1, e2, e3) __builtin_shufflevector(a, a, e0, e1, e2, e3)
#else
enum { PARTS = 4, LANES = 2 };
#define WITHIN(a, e0, e1, e2, e3) __builtin_shufflevector(a, a, e0, e1)
#endif

typedef double vec __attribute__((vector_size(8 * LANES)));
typedef int64_t mask __attribute__((vector_size(8 * LANES)));
typedef double unaligned __attribute__((vector_size(8 * LANES), aligned(8), may_alias));
typedef float floats __attribute__((vector_size(4 * LANES)));
typedef float unaligned_floats __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

typedef struct {
    vec part[PARTS];
} cell;

#define EACH for (int i = 0; i < PARTS; i++)

INLINE cell load(const double *from)
{
    cell x;

    EACH x.part[i] = *(const unaligned *)(from + LANES * i);
    return x;
}

INLINE void store(double *to, cell x)
{
    EACH *(unaligned *)(to + LANES * i) = x.part[i];
}

INLINE cell zero(void)
{
    cell x;

    EACH x.part[i] = (vec){0};
    return x;
}

INLINE cell times(cell a, cell b)
{
    EACH a.part[i] *= b.part[i];
    return a;
}

INLINE cell add_product(cell sum, cell a, cell b)
{
    EACH sum.part[i] += a.part[i] * b.part[i];
    return sum;
}

INLINE cell scale(cell a, double b)
{
    EACH a.part[i] *= b;
    return a;
}

INLINE cell add(cell a, cell b)
{
    EACH a.part[i] += b.part[i];
    return a;
}

/* Real and imaginary parts exchanged. */
INLINE cell swap(cell a)
{
    EACH a.part[i] = WITHIN(a.part[i], 1, 0, 3, 2);
    return a;
}

/* The real part twice. */
INLINE cell real_parts(cell a)
{
    EACH a.part[i] = WITHIN(a.part[i], 0, 0, 2, 2);
    return a;
}

INLINE vec signs(void)
{
    vec x;

    for (int k = 0; k < LANES; k++)
        x[k] = k % 2 ? -1 : 1;
    return x;
}

/* The imaginary part and its negative. */
INLINE cell imaginary_parts(cell a)
{
    EACH a.part[i] = WITHIN(a.part[i], 1, 1, 3, 3) * signs();
    return a;
}

/* Element e + r in the place of element e. */
INLINE cell rotate(cell a, int r)
{
    const vec x = a.part[0], y = a.part[PARTS - 1];
#if defined(__AVX512F__)
    (void)y;
    return r == 0   ? a
           : r == 1 ? (cell){{__builtin_shufflevector(x, x, 2, 3, 4, 5, 6, 7, 0, 1)}}
           : r == 2 ? (cell){{__builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3)}}
                    : (cell){{__builtin_shufflevector(x, x, 6, 7, 0, 1, 2, 3, 4, 5)}};
#elif defined(__AVX2__)
    const vec b = __builtin_shufflevector(x, y, 2, 3, 4, 5);
    const vec d = __builtin_shufflevector(y, x, 2, 3, 4, 5);
    return r == 0 ? a : r == 1 ? (cell){{b, d}} : r == 2 ? (cell){{y, x}} : (cell){{d, b}};
#else
    const vec b = a.part[1], c = a.part[2];
    return r == 0   ? a
           : r == 1 ? (cell){{b, c, y, x}}
           : r == 2 ? (cell){{c, y, x, b}}
                    : (cell){{y, x, b, c}};
#endif
}

/* The parts of a number that a product with its conjugate wants. */
typedef struct {
    cell re, im;
} factor;

INLINE factor factor_of(cell a)
{
    return (factor){real_parts(a), imaginary_parts(a)};
}

/* sum + conj(a) b */
INLINE cell add_conjugate(cell sum, factor a, cell b)
{
    return add_product(add_product(sum, a.re, b), a.im, swap(b));
}

/* ---- loading ---- */

INLINE int is_zero(cell x)
{
    double lane[8], sum = 0;

    store(lane, x);
    for (int k = 0; k < 8; k++)
        sum += lane[k];
    return sum == 0;
}

INLINE int load_floats(const char *from, int64_t step, int64_t count, double *to)
{
    cell check = zero();

    for (int64_t k = 0; k < count; k++, from += step) {
        cell x;
        EACH
        {
            floats y = *(const unaligned_floats *)(const void *)(from + 4 * LANES * i);
            x.part[i] = __builtin_convertvector(y, vec);
            check.part[i] += x.part[i] - x.part[i]; /* NaN if it is not finite */
        }
        store(to + 8 * k, x);
    }
    return is_zero(check);
}

INLINE int load_doubles(const char *from, int64_t step, int64_t count, double *to)
{
    cell check = zero();

    for (int64_t k = 0; k < count; k++, from += step) {
        cell x = load((const double *)(const void *)from);
        EACH check.part[i] += x.part[i] - x.part[i];
        store(to + 8 * k, x);
    }
    return is_zero(check);
}

static int load_values(const grove_compression_row *row, int64_t count, double *to)
{
    return row->bytes == 4 ? load_floats(row->data, row->step, count, to)
                           : load_doubles(row->data, row->step, count, to);
}

/* Four weights, each twice, of which those of bits in `flags` are 0. */
INLINE void put_weights(double *to, const double w[4], unsigned flags)
{
    for (unsigned e = 0; e < 4; e++) {
        double x = w[e] > 0 && w[e] - w[e] == 0 && !(flags >> e & 1) ? w[e] : 0;
        to[2 * e] = to[2 * e + 1] = x;
    }
}

INLINE int load_weights(const grove_compression_row *row, int64_t count, int bytes, int elements,
                        double *to)
{
    const char *from = row->data;
    int equal = 1;

    for (int64_t k = 0; k < count; k++, from += row->step, to += 8) {
        double w[4];
        for (int e = 0; e < 4; e++) {
            int at = elements == 4 ? e : 0;
            w[e] = bytes == 4 ? (double)((const float *)(const void *)from)[at]
                              : ((const double *)(const void *)from)[at];
        }
        put_weights(to, w, row->flags ? row->flags[k * row->flag_step] : 0);
        equal &= (to[0] == to[2]) & (to[0] == to[4]) & (to[0] == to[6]);
    }
    return equal;
}

static int load_any_weights(const grove_compression_row *row, int64_t count, double *to)
{
    if (row->bytes == 4 && row->elements == 4)
        return load_weights(row, count, 4, 4, to);
    return load_weights(row, count, row->bytes, row->elements, to);
}

/* ---- sums ---- */

/* Numbers, power, and the products of data and models. */
INLINE void add_data(const grove_compression_block *block, double *sums)
{
    cell numbers = load(sums), power = load(sums + 8);

    for (int64_t k = 0; k < block->count; k++) {
        cell w = load(block->weight + 8 * k), d = load(block->data + 8 * k);
        power = add_product(power, times(w, d), d);
        EACH numbers.part[i] += (vec)((mask)(w.part[i] > 0) & (mask)((vec){0} + 1.0));
    }
    store(sums, numbers);
    store(sums + 8, power);
}

INLINE void add_model(const grove_compression_block *block, const double *model, int rotations,
                      double *sums)
{
    cell sum[4];

    for (int r = 0; r < rotations; r++)
        sum[r] = load(sums + 8 * r);
    for (int64_t k = 0; k < block->count; k++) {
        cell m = load(model + 8 * k);
        factor d = factor_of(times(load(block->weight + 8 * k), load(block->data + 8 * k)));
        for (int r = 0; r < rotations; r++)
            sum[r] = add_conjugate(sum[r], d, rotate(m, r));
    }
    for (int r = 0; r < rotations; r++)
        store(sums + 8 * r, sum[r]);
}

/* conj(a) b for a weight that all correlations share (or, with one rotation, for each its own). */
INLINE void add_pair(const grove_compression_block *block, const double *a, const double *b,
                     int rotations, double *sums)
{
    cell sum[4];

    for (int r = 0; r < rotations; r++)
        sum[r] = load(sums + 8 * r);
    for (int64_t k = 0; k < block->count; k++) {
        factor x = factor_of(times(load(block->weight + 8 * k), load(a + 8 * k)));
        cell y = load(b + 8 * k);
        for (int r = 0; r < rotations; r++)
            sum[r] = add_conjugate(sum[r], x, rotate(y, r));
    }
    for (int r = 0; r < rotations; r++)
        store(sums + 8 * r, sum[r]);
}

/* conj(a) b for the weight of each correlation. */
INLINE void add_pair_unequal(const grove_compression_block *block, const double *a, const double *b,
                             int rotations, double *sums)
{
    cell sum[4][4];

    for (int c = 0; c < 4; c++)
        for (int r = 0; r < rotations; r++)
            sum[c][r] = load(sums + 8 * (4 * c + r));
    for (int64_t k = 0; k < block->count; k++) {
        const double *w = block->weight + 8 * k;
        factor x = factor_of(load(a + 8 * k));
        cell y = load(b + 8 * k);
        for (int r = 0; r < rotations; r++) {
            cell product = add_conjugate(zero(), x, rotate(y, r));
            for (int c = 0; c < 4; c++)
                sum[c][r] = add(sum[c][r], scale(product, w[2 * c]));
        }
    }
    for (int c = 0; c < 4; c++)
        for (int r = 0; r < rotations; r++)
            store(sums + 8 * (4 * c + r), sum[c][r]);
}

static void add_full_pair(const grove_compression_block *block, int g, int h, double *sums)
{
    const double *a = block->model[g], *b = block->model[h];

    if (!block->unequal) {
        if (g == h)
            add_pair(block, a, a, 3, sums);
        else
            add_pair(block, a, b, 4, sums);
    } else if (g == h)
        add_pair_unequal(block, a, a, 3, sums + 8 * GROVE_COMPRESSION_OWN);
    else
        add_pair_unequal(block, a, b, 4, sums + 8 * GROVE_COMPRESSION_OWN);
}

static void add_block(const grove_compression_block *block, double *sums)
{
    add_data(block, sums);
    sums += 16;
    for (int g = 0; g < block->groups; g++, sums += block->full ? 32 : 8) {
        if (block->full)
            add_model(block, block->model[g], 4, sums);
        else
            add_model(block, block->model[g], 1, sums);
    }
    for (int g = 0; g < block->groups; g++)
        for (int h = g; h < block->groups; h++) {
            if (block->full)
                add_full_pair(block, g, h, sums);
            else
                add_pair(block, block->model[g], block->model[h], 1, sums);
            sums += block->full ? 8 * GROVE_COMPRESSION_PAIR : 8;
        }
}

const grove_compression_kernels KERNELS = {load_values, load_any_weights, add_block};
