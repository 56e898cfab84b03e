/* Sums over cells. A cell is a vector of eight doubles, or two vectors of four. For each cell the
 * diagonal form takes about 10 operations on eight doubles, the full form 27 with equal weights. */
#include "compression_simd.h"

#include "compression_cell.h"

#include <stddef.h>
#include <string.h>

#define KERNELS PASTE(grove_compression_, GROVE_ISA_SUFFIX)

/* ---- loading ---- */

INLINE int load_floats(const char *from, int64_t step, int64_t count, double *to)
{
    integers check[PIECES] = {{0}};

#pragma GCC unroll 4
    for (int64_t k = 0; k < count; k++, from += step) {
        cell x;
        __builtin_prefetch(from + AHEAD);
        EACH
        {
            floats y = *(const unaligned_floats *)(const void *)(from + 4 * LANES * i);
            x.part[i] = widen(y);
            check[i] |= (integers)(x.part[i] - x.part[i]); /* NaN if it is not finite */
        }
        store(to + 8 * k, x);
    }
    return is_zero(check);
}

INLINE int load_doubles(const char *from, int64_t step, int64_t count, double *to)
{
    integers check[PIECES] = {{0}};

    for (int64_t k = 0; k < count; k++, from += step) {
        cell x = load((const double *)(const void *)from);
        __builtin_prefetch(from + AHEAD);
        EACH check[i] |= (integers)(x.part[i] - x.part[i]);
        store(to + 8 * k, x);
    }
    return is_zero(check);
}

static int load_values(const grove_compression_row *row, int64_t count, double *to)
{
    return row->bytes == 4 ? load_floats(row->data, row->step, count, to)
                           : load_doubles(row->data, row->step, count, to);
}

/* Weights of a cell in single precision, one or four. */
INLINE four_floats weights_at(const char *from, int elements)
{
    const float *at = (const float *)(const void *)from;

    return elements == 4 ? (four_floats) * (const unaligned_four *)at
                         : (four_floats){at[0], at[0], at[0], at[0]};
}

/* 0 where a weight is no positive number, or is flagged. */
INLINE four_floats keep_positive(four_floats w, int flags)
{
#if defined(__AVX512F__)
    __mmask8 keep = _mm_cmp_ps_mask((__m128)w, _mm_setzero_ps(), _CMP_GT_OQ) & (__mmask8)~flags;
    return (four_floats)_mm_maskz_mov_ps(keep, (__m128)w);
#else
    four_masks keep = w > 0;
    keep &= (((four_masks){0} + (int32_t)flags) & (four_masks){1, 2, 4, 8}) == 0;
    return (four_floats)((four_masks)w & keep);
#endif
}

/* Weights in single precision. */
INLINE void load_float_weights(const grove_compression_row *row, int64_t count, int elements,
                               double *to)
{
    const char *from = row->data;

    for (int64_t k = 0; k < count; k++, from += row->step, to += 8) {
        __builtin_prefetch(from + AHEAD / 2);
        four_floats w = weights_at(from, elements);
        w = (four_floats)((four_masks)w & (w - w == 0)); /* infinity has none */
        store(to, twice(keep_positive(w, row->flags ? row->flags[k * row->flag_step] : 0)));
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
    return (products){add_product(sum.re, a, b), add_product(sum.im, swap(a), b)};
}

/* Weight, data and model of a cell. */
typedef struct {
    cell w, d, m;
} sample;

INLINE sample sample_of(const grove_compression_block *block, int64_t k)
{
    return (sample){load(block->weight + 8 * k), load(block->data + 8 * k),
                    load(block->model[0] + 8 * k)};
}

/* The cells of a row, and what is known of their weights. */
typedef struct {
    int64_t count;
    const char *data, *weights, *model;
    const unsigned char *flags;
    int64_t data_step, weights_step, model_step, flag_step;
    four_floats kept[GROVE_COMPRESSION_CHANNELS]; /* 0: what is left out */
    double own[GROVE_COMPRESSION_CHANNELS][4];    /* these, where they differ within cells */
    four_masks counted, differ; /* how many are positive; 0: those of each cell are the same */
} row;

static const unsigned char no_flags[4];

#if defined(__AVX512F__)
/* Bits of four cells in a mask of 16. */
INLINE __mmask16 bits_of_four(const unsigned char *flags)
{
    uint32_t bits;

    memcpy(&bits, flags, sizeof(bits));
    bits &= 0x0f0f0f0f;
    bits |= bits >> 4;
    return (__mmask16)((bits & 0xff) | (bits >> 8 & 0xff00));
}

/* Four cells at a time whose weights and flags follow each other; returns how many cells. */
INLINE int64_t keep_fours(row *r)
{
    const __m512i one = _mm512_set1_epi32(1);
    __m512i counted = _mm512_setzero_si512(), differ = counted;
    int64_t k = 0;

    for (; k + 4 <= r->count; k += 4) {
        __m512 w = _mm512_loadu_ps(r->weights + 16 * k);
        __builtin_prefetch(r->weights + 16 * k + FAR_AHEAD);
        __mmask16 keep = _mm512_cmp_ps_mask(w, _mm512_setzero_ps(), _CMP_GT_OQ) &
                         (__mmask16)~bits_of_four(r->flags + k * r->flag_step);
        w = _mm512_maskz_mov_ps(keep, w);
        _mm512_storeu_ps(&r->kept[k], w);
        counted = _mm512_mask_add_epi32(counted, keep, counted, one);
        __m512i x = _mm512_castps_si512(w), y = _mm512_castps_si512(_mm512_permute_ps(w, 0));
        differ = _mm512_or_si512(differ, _mm512_xor_si512(x, y));
    }
    const __m256i half =
        _mm256_add_epi32(_mm512_castsi512_si256(counted), _mm512_extracti64x4_epi64(counted, 1));
    r->counted +=
        (four_masks)_mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    r->differ[0] |= _mm512_test_epi32_mask(differ, differ) != 0;
    return k;
}
#endif

INLINE void keep_weights(row *r, int elements)
{
    int64_t k = 0;

    r->counted = r->differ = (four_masks){0};
#if defined(__AVX512F__)
    if (elements == 4 && r->weights_step == 16 && (r->flag_step == 1 || r->flags == no_flags))
        k = keep_fours(r);
#endif
    for (; k < r->count; k++) {
        four_floats w = weights_at(r->weights + k * r->weights_step, elements);
        __builtin_prefetch(r->weights + k * r->weights_step + FAR_AHEAD);
        w = r->kept[k] = keep_positive(w, r->flags[k * r->flag_step]);
        r->counted -= w > 0;
        r->differ |= (four_masks)w ^ (four_masks)__builtin_shufflevector(w, w, 0, 0, 0, 0);
    }
}

/* With `equal` weights of a cell. */
INLINE sample sample_at(const row *r, int equal, int64_t k)
{
    const char *d = r->data + k * r->data_step, *m = r->model + k * r->model_step;
    sample x;

    __builtin_prefetch(d + FAR_AHEAD);
    __builtin_prefetch(m + FAR_AHEAD);
    if (equal)
        EACH x.w.part[i] = widen((floats){0} + r->kept[k][0]);
    else
        x.w = twice(r->kept[k]);
    EACH
    {
        x.d.part[i] = widen(*(const unaligned_floats *)(const void *)(d + 4 * LANES * i));
        x.m.part[i] = widen(*(const unaligned_floats *)(const void *)(m + 4 * LANES * i));
    }
    return x;
}

/* Adds how many weights are positive. */
INLINE void add_counted(const row *r, double *sums)
{
    cell numbers = load(sums), counted = twice(__builtin_convertvector(r->counted, four_floats));

    EACH numbers.part[i] += counted.part[i];
    store(sums, numbers);
}

/* Numbers, power, and products with the first model; in the full form with its four rotations. With
 * `pair` also those of the model with itself for equal weights. The cells are those of a block, or
 * of a row, which are read here for the only time. Of a row false, and nothing is added: some
 * number is not finite. */
INLINE int add_first(const grove_compression_block *block, const row *from, int rotations, int pair,
                     double *sums, double *pairs)
{
    cell numbers = load(sums), power = load(sums + 8), square = load(pairs);
    const int64_t count = from ? from->count : block->count;
    integers check[PIECES] = {{0}};
    products data[4], self[2];

    for (int r = 0; r < rotations; r++)
        data[r] = load_products(sums + 16 * (r + 1));
    for (int r = 0; r < (pair ? rotations / 2 : 0); r++)
        self[r] = load_products(pairs + 16 * (r + 1));
    for (int64_t k = 0; k < count; k++) {
        const sample x = from ? sample_at(from, rotations > 1 && pair, k) : sample_of(block, k);
        cell w = x.w, d = x.d, m = x.m, wd = times(w, d), wm = times(w, m);
        if (!from)
            EACH numbers.part[i] += (vec)((integers)(w.part[i] > 0) & (integers)((vec){0} + 1.0));
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
    const cell models = pair ? square : data[0].re;
    EACH check[i] |=
        (integers)(power.part[i] - power.part[i]) | (integers)(models.part[i] - models.part[i]);
    if (from && !is_zero(check))
        return 0;
    if (from)
        add_counted(from, sums);
    else
        store(sums, numbers);
    store(sums + 8, power);
    for (int r = 0; r < rotations; r++)
        store_products(sums + 16 * (r + 1), data[r]);
    if (pair)
        store(pairs, square);
    for (int r = 0; r < (pair ? rotations / 2 : 0); r++)
        store_products(pairs + 16 * (r + 1), self[r]);
    return 1;
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

/* How many partners a number has at once: their running sums are in registers. */
enum { WIDTH = PIECES == 1 ? 5 : PIECES == 2 ? 2 : 1 };

/* Products of a with `width` others. With `self` the first is a itself, whose are real. */
INLINE void add_partners(const grove_compression_block *block, const double *a,
                         double *const *others, int width, int self, double *sums)
{
    products sum[WIDTH];

    for (int j = 0; j < width; j++)
        sum[j] = load_products(sums + 16 * j);
    for (int64_t k = 0; k < block->count; k++) {
        cell x = times(load(block->weight + 8 * k), load(a + 8 * k)), swapped = swap(x);
        for (int j = 0; j < width; j++) {
            cell y = load(others[j] + 8 * k);
            sum[j].re = add_product(sum[j].re, x, y);
            if (j || !self)
                sum[j].im = add_product(sum[j].im, swapped, y);
        }
    }
    for (int j = 0; j < width; j++)
        store_products(sums + 16 * j, sum[j]);
}

/* The same of any number of them, in the order of their sums. */
static void add_all_partners(const grove_compression_block *block, const double *a,
                             double *const *others, int count, int self, double *sums)
{
    for (int j = 0, width; j < count; j += width, self = 0) {
        double *const *next = others + j;
        double *to = sums + 16 * j;
        width = count - j < WIDTH ? count - j : WIDTH;
        if (width == WIDTH && self)
            add_partners(block, a, next, WIDTH, 1, to);
        else if (width == WIDTH)
            add_partners(block, a, next, WIDTH, 0, to);
        else if (width == 4)
            add_partners(block, a, next, WIDTH < 4 ? WIDTH : 4, self, to);
        else if (width == 3)
            add_partners(block, a, next, WIDTH < 3 ? WIDTH : 3, self, to);
        else if (width == 2)
            add_partners(block, a, next, WIDTH < 2 ? WIDTH : 2, self, to);
        else
            add_partners(block, a, next, 1, self, to);
    }
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

/* Correlations whose products with their own weights are summed at once. */
enum { OWN = PIECES == 1 ? 4 : 2 };

INLINE cell model_at(const row *r, int64_t k)
{
    cell x;

    EACH x.part[i] = widen(
        *(const unaligned_floats *)(const void *)(r->model + k * r->model_step + 4 * LANES * i));
    return x;
}

/* As add_unequal of a row of models with themselves, for correlations from `first` on. */
INLINE void add_own(const row *from, int first, double *sums)
{
    const vec even = (signs() + 1) * 0.5;
    cell sum[OWN][3] = {{{{{0}}}}};

    for (int64_t k = 0; k < from->count; k++) {
        const cell y = model_at(from, k), next = rotate(y, 1), other = rotate(y, 2);
        const factor x = factor_of(y);
        const cell product[3] = {times(y, y), conjugate_product(x, next),
                                 conjugate_product(x, other)};
        for (int c = 0; c < OWN; c++)
            for (int r = 0; r < 3; r++)
                sum[c][r] = add_scaled(sum[c][r], product[r], from->own[k][first + c]);
    }
    for (int c = 0; c < OWN; c++) {
        const cell imaginary = swap(sum[c][0]);
        EACH sum[c][0].part[i] = (sum[c][0].part[i] + imaginary.part[i]) * even;
        for (int r = 0; r < 3; r++) {
            double *to = sums + 8 * (ptrdiff_t)(4 * (first + c) + r);
            cell old = load(to);
            EACH old.part[i] += sum[c][r].part[i];
            store(to, old);
        }
    }
}

/* A row of the full form whose weights differ within cells; false as in add_first. */
static int add_unequal_row(row *r, double *sums)
{
    double *pair = sums + 16 * (1 + 4) + 8 * GROVE_COMPRESSION_OWN;

    for (int64_t k = 0; k < r->count; k++)
        for (int c = 0; c < 4; c++)
            r->own[k][c] = (double)r->kept[k][c];
    if (!add_first(NULL, r, 4, 0, sums, pair))
        return 0;
    for (int c = 0; c < 4; c += OWN)
        add_own(r, c, pair);
    return 1;
}

static void add_diagonal(const grove_compression_block *block, double *sums)
{
    const int groups = block->groups;
    double *pair = sums + 16 * (1 + groups);

    add_first(block, NULL, 1, 1, sums, pair);
    add_all_partners(block, block->data, block->model + 1, groups - 1, 0, sums + 32);
    add_all_partners(block, block->model[0], block->model + 1, groups - 1, 0, pair + 16);
    pair += 16 * groups;
    for (int g = 1; g < groups; pair += 16 * (groups - g), g++)
        add_all_partners(block, block->model[g], block->model + g, groups - g, 1, pair);
}

/* Whether the correlations of each cell share their weight. */
static int has_equal_weights(const grove_compression_block *block)
{
    integers differ[PIECES] = {{0}};

#pragma GCC unroll 4
    for (int64_t k = 0; k < block->count; k++) {
        cell w = load(block->weight + 8 * k);
        EACH differ[i] |= (integers)w.part[i] ^ (integers)((vec){0} + block->weight[8 * k]);
    }
    return is_zero(differ);
}

static void add_full(const grove_compression_block *block, double *sums)
{
    const int groups = block->groups;
    const int equal = has_equal_weights(block);
    double *pair = sums + 16 * (1 + 4 * groups);

    if (equal)
        add_first(block, NULL, 4, 1, sums, pair);
    else
        add_first(block, NULL, 4, 0, sums, pair);
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

/* Row number i. */
INLINE void find_row(const grove_compression_rows *rows, int64_t i, row *r)
{
    const unsigned char *flags = rows->weights.flags;

    r->count = rows->count;
    r->data = (const char *)rows->data.data + i * rows->next.data;
    r->weights = (const char *)rows->weights.data + i * rows->next.weights;
    r->model = (const char *)rows->model.data + i * rows->next.model;
    r->flags = flags ? flags + i * rows->next.flags : no_flags;
    r->data_step = rows->data.step;
    r->weights_step = rows->weights.step;
    r->model_step = rows->model.step;
    r->flag_step = flags ? rows->weights.flag_step : 0;
}

INLINE int64_t add_each(const grove_compression_rows *rows, int elements, int rotations,
                        double *sums)
{
    int64_t i = 0;
    row r;

    for (; i < rows->rows; i++, sums += rows->size) {
        find_row(rows, i, &r);
        keep_weights(&r, elements);
        const four_masks differ = r.differ;
        const int equal = !(differ[0] | differ[1] | differ[2] | differ[3]);
        if (!(rotations == 1 || equal
                  ? add_first(NULL, &r, rotations, 1, sums, sums + 16 * (1 + rotations))
                  : add_unequal_row(&r, sums)))
            break;
    }
    return i;
}

static int64_t add_rows(const grove_compression_rows *rows, double *sums)
{
    if (rows->full)
        return rows->weights.elements == 4 ? add_each(rows, 4, 4, sums)
                                           : add_each(rows, 1, 4, sums);
    return rows->weights.elements == 4 ? add_each(rows, 4, 1, sums) : add_each(rows, 1, 1, sums);
}

const grove_compression_kernels KERNELS = {load_values, load_weights, add_block, add_rows, FINISH};
