/* Sums over cells. A cell is a vector of eight doubles, or two vectors of four. For each cell the
 * diagonal form takes about 10 operations on eight doubles, the full form 27 with equal weights. */
#include "compression_simd.h"

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

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

INLINE cell add_scaled(cell sum, cell a, double b)
{
    EACH sum.part[i] += a.part[i] * b;
    return sum;
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
    vec x = {0};

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

/* conj(a) b */
INLINE cell conjugate_product(factor a, cell b)
{
    return add_product(times(a.re, b), a.im, swap(b));
}

/* ---- loading ---- */

/* Floats as doubles; the compilers' own conversion of vectors goes by pieces. */
INLINE vec widen(floats x)
{
#if defined(__AVX512F__)
    return (vec)_mm512_cvtps_pd((__m256)x);
#elif defined(__AVX2__)
    return (vec)_mm256_cvtps_pd((__m128)x);
#else
    return __builtin_convertvector(x, vec);
#endif
}

/* Bytes that memory is asked for in advance: the next rows, which mostly follow. Rows of several
 * arrays take turns, and each is too short for a processor to see that by itself. */
enum { AHEAD = 2048 };

INLINE int is_zero(const mask *bits)
{
#if defined(__AVX512F__)
    return !_mm512_test_epi64_mask((__m512i)bits[0], (__m512i)bits[0]);
#elif defined(__AVX2__)
    return _mm256_testz_si256((__m256i)(bits[0] | bits[1]), (__m256i)(bits[0] | bits[1]));
#else
    mask all = bits[0] | bits[1] | bits[2] | bits[3];
    return !(all[0] | all[1]);
#endif
}

INLINE int load_floats(const char *from, int64_t step, int64_t count, double *to)
{
    mask check[PARTS] = {{0}};

#pragma GCC unroll 4
    for (int64_t k = 0; k < count; k++, from += step) {
        cell x;
        __builtin_prefetch(from + AHEAD);
        EACH
        {
            floats y = *(const unaligned_floats *)(const void *)(from + 4 * LANES * i);
            x.part[i] = widen(y);
            check[i] |= (mask)(x.part[i] - x.part[i]); /* NaN if it is not finite */
        }
        store(to + 8 * k, x);
    }
    return is_zero(check);
}

INLINE int load_doubles(const char *from, int64_t step, int64_t count, double *to)
{
    mask check[PARTS] = {{0}};

    for (int64_t k = 0; k < count; k++, from += step) {
        cell x = load((const double *)(const void *)from);
        __builtin_prefetch(from + AHEAD);
        EACH check[i] |= (mask)(x.part[i] - x.part[i]);
        store(to + 8 * k, x);
    }
    return is_zero(check);
}

static int load_values(const grove_compression_row *row, int64_t count, double *to)
{
    return row->bytes == 4 ? load_floats(row->data, row->step, count, to)
                           : load_doubles(row->data, row->step, count, to);
}

typedef float four_floats __attribute__((vector_size(16)));
typedef int32_t four_masks __attribute__((vector_size(16)));
typedef float unaligned_four __attribute__((vector_size(16), aligned(4), may_alias));

/* Each of four numbers twice, as doubles. */
INLINE cell twice(four_floats w)
{
    cell x;

#if defined(__AVX512F__)
    floats y = __builtin_shufflevector(w, w, 0, 0, 1, 1, 2, 2, 3, 3);
    x.part[0] = widen(y);
#elif defined(__AVX2__)
    x.part[0] = widen(__builtin_shufflevector(w, w, 0, 0, 1, 1));
    x.part[1] = widen(__builtin_shufflevector(w, w, 2, 2, 3, 3));
#else
    EACH x.part[i] = (vec){w[i], w[i]};
#endif
    return x;
}

/* Weights in single precision. */
INLINE void load_float_weights(const grove_compression_row *row, int64_t count, int elements,
                               double *to)
{
    const char *from = row->data;

    for (int64_t k = 0; k < count; k++, from += row->step, to += 8) {
        const float *at = (const float *)(const void *)from;
        __builtin_prefetch(from + AHEAD / 2);
        four_floats w = elements == 4 ? (four_floats) * (const unaligned_four *)at
                                      : (four_floats){at[0], at[0], at[0], at[0]};
        four_masks keep = (w > 0) & (w - w == 0);
        if (row->flags) {
            int32_t bits = row->flags[k * row->flag_step];
            keep &= (((four_masks){0} + bits) & (four_masks){1, 2, 4, 8}) == 0;
        }
        w = (four_floats)((four_masks)w & keep);
        store(to, twice(w));
    }
}

/* Weights in double precision. */
static void load_double_weights(const grove_compression_row *row, int64_t count, double *to)
{
    const char *from = row->data;

    for (int64_t k = 0; k < count; k++, from += row->step, to += 8) {
        const double *at = (const double *)(const void *)from;
        int flags = row->flags ? row->flags[k * row->flag_step] : 0;
        for (int e = 0; e < 4; e++) {
            double w = at[row->elements == 4 ? e : 0];
            to[2 * e] = to[2 * e + 1] = w > 0 && w - w == 0 && !(flags >> e & 1) ? w : 0;
        }
    }
}

static void load_weights(const grove_compression_row *row, int64_t count, double *to)
{
    if (row->bytes == 8)
        load_double_weights(row, count, to);
    else if (row->elements == 4)
        load_float_weights(row, count, 4, to);
    else
        load_float_weights(row, count, 1, to);
}

/* ---- sums ---- */

/* Running sums of conj(a) b, a already with its weight: the products whose pairs of lanes add up to
 * the real part, and those whose pairs differ by the imaginary part. They are independent, since a
 * processor starts several sums in the time that one addition takes. */
typedef struct {
    cell re, im;
} products;

INLINE products load_products(const double *from)
{
    return (products){load(from), load(from + 8)};
}

INLINE void store_products(double *to, products x)
{
    store(to, x.re);
    store(to + 8, x.im);
}

INLINE products add_products(products sum, cell a, cell b)
{
    return (products){add_product(sum.re, a, b), add_product(sum.im, a, swap(b))};
}

/* Numbers, power, and products with the first model; in the full form with its four rotations. With
 * `pair` also those of the model with itself for equal weights. */
INLINE void add_first(const grove_compression_block *block, int rotations, int pair, double *sums,
                      double *pairs)
{
    cell numbers = load(sums), power = load(sums + 8), square = load(pairs);
    products data[4], self[2];

    for (int r = 0; r < rotations; r++)
        data[r] = load_products(sums + 16 * (r + 1));
    for (int r = 0; r < (pair ? rotations / 2 : 0); r++)
        self[r] = load_products(pairs + 16 * (r + 1));
    for (int64_t k = 0; k < block->count; k++) {
        cell w = load(block->weight + 8 * k), d = load(block->data + 8 * k);
        cell m = load(block->model[0] + 8 * k), wd = times(w, d), wm = times(w, m);
        EACH numbers.part[i] += (vec)((mask)(w.part[i] > 0) & (mask)((vec){0} + 1.0));
        power = add_product(power, wd, d);
        if (pair)
            square = add_product(square, wm, m);
        for (int r = 0; r < rotations; r++) {
            cell rotated = rotate(m, r);
            data[r] = add_products(data[r], wd, rotated);
            if (pair && (r == 1 || r == 2))
                self[r - 1] = add_products(self[r - 1], wm, rotated);
        }
    }
    store(sums, numbers);
    store(sums + 8, power);
    for (int r = 0; r < rotations; r++)
        store_products(sums + 16 * (r + 1), data[r]);
    if (pair)
        store(pairs, square);
    for (int r = 0; r < (pair ? rotations / 2 : 0); r++)
        store_products(pairs + 16 * (r + 1), self[r]);
}

/* Products of a and b, which is rotated. */
INLINE void add_pair(const grove_compression_block *block, const double *a, const double *b,
                     int rotations, double *sums)
{
    products sum[4];

    for (int r = 0; r < rotations; r++)
        sum[r] = load_products(sums + 16 * r);
    for (int64_t k = 0; k < block->count; k++) {
        cell x = times(load(block->weight + 8 * k), load(a + 8 * k)), y = load(b + 8 * k);
        for (int r = 0; r < rotations; r++)
            sum[r] = add_products(sum[r], x, rotate(y, r));
    }
    for (int r = 0; r < rotations; r++)
        store_products(sums + 16 * r, sum[r]);
}

/* conj(a) b for the weight of each correlation. */
INLINE void add_unequal(const grove_compression_block *block, const double *a, const double *b,
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
            cell product = conjugate_product(x, rotate(y, r));
            for (int c = 0; c < 4; c++)
                sum[c][r] = add_scaled(sum[c][r], product, w[2 * c]);
        }
    }
    for (int c = 0; c < 4; c++)
        for (int r = 0; r < rotations; r++)
            store(sums + 8 * (4 * c + r), sum[c][r]);
}

static void add_diagonal(const grove_compression_block *block, double *sums)
{
    const int groups = block->groups;
    double *pair = sums + 16 * (1 + groups);

    add_first(block, 1, 1, sums, pair);
    for (int g = 1; g < groups; g++)
        add_pair(block, block->data, block->model[g], 1, sums + 16 * (1 + g));
    for (int g = 0; g < groups; g++)
        for (int h = g; h < groups; h++, pair += 16)
            if (g || h)
                add_pair(block, block->model[g], block->model[h], 1, pair);
}

/* Whether the correlations of each cell share their weight. */
static int has_equal_weights(const grove_compression_block *block)
{
    mask differ[PARTS] = {{0}};

#pragma GCC unroll 4
    for (int64_t k = 0; k < block->count; k++) {
        cell w = load(block->weight + 8 * k);
        EACH differ[i] |= (mask)w.part[i] ^ (mask)((vec){0} + block->weight[8 * k]);
    }
    return is_zero(differ);
}

static void add_full(const grove_compression_block *block, double *sums)
{
    const int groups = block->groups;
    const int equal = has_equal_weights(block);
    double *pair = sums + 16 * (1 + 4 * groups);

    if (equal)
        add_first(block, 4, 1, sums, pair);
    else
        add_first(block, 4, 0, sums, pair);
    for (int g = 1; g < groups; g++)
        add_pair(block, block->data, block->model[g], 4, sums + 16 * (1 + 4 * g));
    for (int g = 0; g < groups; g++)
        for (int h = g; h < groups; h++, pair += 8 * GROVE_COMPRESSION_PAIR) {
            const double *a = block->model[g], *b = block->model[h];
            if (!equal && g == h)
                add_unequal(block, a, a, 3, pair + 8 * GROVE_COMPRESSION_OWN);
            else if (!equal)
                add_unequal(block, a, b, 4, pair + 8 * GROVE_COMPRESSION_OWN);
            else if (g || h)
                add_pair(block, a, b, 4, pair);
        }
}

static void add_block(const grove_compression_block *block, double *sums)
{
    if (block->full)
        add_full(block, sums);
    else
        add_diagonal(block, sums);
}

const grove_compression_kernels KERNELS = {load_values, load_weights, add_block};
