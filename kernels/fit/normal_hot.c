/* Normal equations over samples: a complex number is two lanes of a vector. For each pair of
 * columns and vector there are two multiply-adds. Elements are apart, since derivatives by a
 * component of a Jones matrix are 0 in half of them, or more: these are left out. */
#include "normal_simd.h"

#define GROVE_REAL_SINGLE 0
#include "../simd/vector.h"

#include <float.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define PASTE_(a, b) a##b
#define PASTE(a, b)  PASTE_(a, b)
#define KERNELS      PASTE(grove_normal_, GROVE_ISA_SUFFIX)

#if defined(__AVX512F__)
#define SWAP(a) __builtin_shufflevector(a, a, 1, 0, 3, 2, 5, 4, 7, 6)
#elif defined(__AVX2__)
#define SWAP(a) __builtin_shufflevector(a, a, 1, 0, 3, 2)
#else
#define SWAP(a) __builtin_shufflevector(a, a, 1, 0)
#endif

/* Columns that are multiplied with one at a time: twice as many sums are kept in registers. */
#if defined(__AVX512F__)
enum { WIDTH = 6 };
#else
enum { WIDTH = 4 };
#endif

INLINE vec load(const double *from)
{
    return *(const unaligned *)from;
}

INLINE void store(double *to, vec x)
{
    *(unaligned *)to = x;
}

/* ---- loading ---- */

/* The same in all instruction sets: compilers make vectors longer than a register of several. */
typedef int32_t bits8 __attribute__((vector_size(32)));
typedef float single8 __attribute__((vector_size(32)));
typedef double pair4 __attribute__((vector_size(32))); /* four complex numbers in single */
typedef float single4 __attribute__((vector_size(16)));
typedef float single2 __attribute__((vector_size(8)));
typedef int32_t bits4 __attribute__((vector_size(16)));
typedef double double4 __attribute__((vector_size(32)));
typedef double double2 __attribute__((vector_size(16)));

/* Findings in numbers of four cells: bits that any has, and NaN where one is not finite. */
typedef struct {
    bits8 any, wrong;
} findings;

INLINE void look_at(const float *from, findings *found, pair4 *to)
{
    single8 x;

    memcpy(&x, from, sizeof(x));
    found->any |= (bits8)x;
    found->wrong |= (bits8)(x - x); /* 0, or NaN */
    *to = (pair4)x;
}

/* Bits of the four complex numbers that are not 0; bit 4: some are not finite. */
INLINE int find_numbers(const findings *found)
{
#if defined(__AVX2__)
    const __m256i size = _mm256_and_si256((__m256i)found->any, _mm256_set1_epi32(INT32_MAX)),
                  zero = _mm256_cmpeq_epi64(size, _mm256_setzero_si256());
    const __m256 wrong = (__m256)found->wrong;

    return (~_mm256_movemask_pd((__m256d)zero) & 15) |
           (_mm256_movemask_ps(_mm256_cmp_ps(wrong, wrong, _CMP_UNORD_Q)) ? 16 : 0);
#else
    int64_t number[4], wrong[4];
    int which = 0;

    memcpy(number, &found->any, sizeof(number));
    memcpy(wrong, &found->wrong, sizeof(wrong));
    for (int k = 0; k < 4; k++)
        which |= (number[k] & 0x7fffffff7fffffff ? 1 : 0) << k;
    return which | (wrong[0] | wrong[1] | wrong[2] | wrong[3] ? 16 : 0);
#endif
}

/* Bits of elements that are not 0, and whether any is not finite. */
INLINE int find_elements(const findings *found, int elements)
{
    const int numbers = find_numbers(found), wrong = numbers & 16 ? GROVE_NORMAL_NOT_FINITE : 0;

    if (elements == 4)
        return (numbers & 15) | wrong;
    if (elements == 2)
        return ((numbers | numbers >> 2) & 3) | wrong;
    return (numbers & 15 ? 1 : 0) | wrong;
}

#if defined(__AVX2__) && !defined(__AVX512F__)
/* One element of two cells, from where the first begins. */
INLINE __m128 two_of(const float *from, int elements, int e)
{
    const __m128 x = _mm_loadu_ps(from + 4 * (e / 2));

    if (elements == 1)
        return x;
    const __m128d first = _mm_castps_pd(x),
                  next = _mm_castps_pd(_mm_loadu_ps(from + 4 * (e / 2) + 2 * elements));
    return _mm_castpd_ps(e % 2 ? _mm_unpackhi_pd(first, next) : _mm_unpacklo_pd(first, next));
}

INLINE void put_two(__m128 x, const double *minus, double *to)
{
    const __m256d y = _mm256_cvtps_pd(x);

    _mm256_storeu_pd(to, minus ? _mm256_sub_pd(_mm256_loadu_pd(minus), y) : y);
}

/* Sorts complex numbers of four cells, from the order in memory, by elements: in halves of
 * registers, the unit of conversion, between which some processors are slow to move numbers. */
INLINE void split_four(const float *from, int elements, int which, const double *minus, double *to,
                       int64_t plane, findings *found)
{
    pair4 whole;

    for (int k = 0; k < elements; k++)
        look_at(from + 8 * k, found, &whole);
    for (int e = 0; e < elements; e++, to += plane) {
        const double *of = minus ? minus + plane * e : NULL;
        if (!(which >> e & 1))
            continue;
        put_two(two_of(from, elements, e), of, to);
        put_two(two_of(from + 4 * elements, elements, e), of ? of + 4 : NULL, to + 4);
    }
}
#else
/* One element of four cells into its plane. Compilers make the conversion of a whole vector in
 * parts. */
INLINE void put_four(const pair4 *x, const double *minus, double *to)
{
#if defined(__AVX512F__)
    const __m512d y = _mm512_cvtps_pd((__m256)*x);
    _mm512_storeu_pd(to, minus ? _mm512_sub_pd(_mm512_loadu_pd(minus), y) : y);
#else
    for (int k = 0; k < 4; k++) {
        single2 y;
        memcpy(&y, (const char *)x + 8 * k, sizeof(y));
        double2 z = __builtin_convertvector(y, double2), from;
        if (minus) {
            memcpy(&from, minus + 2 * k, sizeof(from));
            z = from - z;
        }
        memcpy(to + 2 * k, &z, sizeof(z));
    }
#endif
}

/* Sorts complex numbers of four cells, from the order in memory, by elements. */
INLINE void split_four(const float *from, int elements, int which, const double *minus, double *to,
                       int64_t plane, findings *found)
{
    pair4 x, y, z, w, a, b, c, d;

    look_at(from, found, &x);
    a = b = c = d = x;
    if (elements == 2) {
        look_at(from + 8, found, &y);
        a = __builtin_shufflevector(x, y, 0, 2, 4, 6);
        b = __builtin_shufflevector(x, y, 1, 3, 5, 7);
    } else if (elements == 4) {
        look_at(from + 8, found, &y);
        look_at(from + 16, found, &z);
        look_at(from + 24, found, &w);
        pair4 even = __builtin_shufflevector(x, y, 0, 4, 2, 6),
              odd = __builtin_shufflevector(x, y, 1, 5, 3, 7),
              last_even = __builtin_shufflevector(z, w, 0, 4, 2, 6),
              last_odd = __builtin_shufflevector(z, w, 1, 5, 3, 7);
        a = __builtin_shufflevector(even, last_even, 0, 1, 4, 5);
        b = __builtin_shufflevector(odd, last_odd, 0, 1, 4, 5);
        c = __builtin_shufflevector(even, last_even, 2, 3, 6, 7);
        d = __builtin_shufflevector(odd, last_odd, 2, 3, 6, 7);
    }
    if (which & 1)
        put_four(&a, minus, to);
    if (elements > 1 && which & 2)
        put_four(&b, minus ? minus + plane : NULL, to + plane);
    if (elements > 2 && which & 4)
        put_four(&c, minus ? minus + 2 * plane : NULL, to + 2 * plane);
    if (elements > 2 && which & 8)
        put_four(&d, minus ? minus + 3 * plane : NULL, to + 3 * plane);
}
#endif

INLINE int split_fours(const float *from, int64_t cells, int elements, int which,
                       const double *minus, double *to, int64_t plane)
{
    findings found = {{0}, {0}};
    int64_t k = 0;

    for (; k + 4 <= cells; k += 4)
        split_four(from + 2 * elements * k, elements, which, minus ? minus + 2 * k : NULL,
                   to + 2 * k, plane, &found);
    if (k < cells) {
        float last[4 * 8] = {0};
        memcpy(last, from + 2 * elements * k, (size_t)(2 * elements * (cells - k)) * sizeof(*last));
        split_four(last, elements, which, minus ? minus + 2 * k : NULL, to + 2 * k, plane, &found);
    }
    return find_elements(&found, elements);
}

/* One element of any number of elements. */
INLINE int split_element(const void *from, bool single_, int64_t cells, int elements, int e,
                         const double *minus, double *to)
{
    double2 check = {0, 0};
    int64_t any[2] = {0, 0}, wrong[2];

    for (int64_t k = 0; k < cells; k++) {
        const int64_t at = 2 * (k * elements + e);
        int64_t x[2];
        double2 number, y;
        if (single_)
            number =
                (double2){(double)((const float *)from)[at], (double)((const float *)from)[at + 1]};
        else
            memcpy(&number, (const double *)from + at, sizeof(number));
        memcpy(x, &number, sizeof(x));
        any[0] |= x[0];
        any[1] |= x[1];
        check += number - number; /* 0, or NaN */
        if (minus) {
            memcpy(&y, minus + 2 * k, sizeof(y));
            number = y - number;
        }
        if (to)
            memcpy(to + 2 * k, &number, sizeof(number));
    }
    memcpy(wrong, &check, sizeof(wrong));
    return ((any[0] | any[1]) & INT64_MAX ? 1 << e : 0) |
           (wrong[0] | wrong[1] ? GROVE_NORMAL_NOT_FINITE : 0);
}

INLINE int split_elements(const void *from, bool single_, int64_t cells, int elements, int which,
                          const double *minus, double *to, int64_t plane)
{
    int found = 0;

    for (int e = 0; e < elements; e++)
        found |= split_element(from, single_, cells, elements, e, minus ? minus + plane * e : NULL,
                               which >> e & 1 ? to + plane * e : NULL);
    return found;
}

INLINE int split_singles(const float *from, int64_t cells, int elements, int which,
                         const double *minus, double *to, int64_t plane)
{
    switch (elements) {
    case 1:
        return split_fours(from, cells, 1, which, minus, to, plane);
    case 2:
        return split_fours(from, cells, 2, which, minus, to, plane);
    case 4:
        return split_fours(from, cells, 4, which, minus, to, plane);
    default:
        return split_elements(from, true, cells, elements, which, minus, to, plane);
    }
}

static int split_single(const float *from, int64_t cells, int elements, int which,
                        const double *minus, double *to, int64_t plane)
{
    return minus ? split_singles(from, cells, elements, which, minus, to, plane)
                 : split_singles(from, cells, elements, which, NULL, to, plane);
}

static int split_double(const double *from, int64_t cells, int elements, int which,
                        const double *minus, double *to, int64_t plane)
{
    return split_elements(from, false, cells, elements, which, minus, to, plane);
}

static void weigh_double(const double *weight, const unsigned char *flags, int64_t cells,
                         int elements, double *to, int64_t plane)
{
    for (int e = 0; e < elements; e++)
        for (int64_t k = 0; k < cells; k++) {
            double w = weight[k * elements + e];
            w = w > 0 && w <= DBL_MAX && !(flags[k] >> e & 1) ? w : 0;
            to[plane * e + 2 * k] = w;
            to[plane * e + 2 * k + 1] = w;
        }
}

INLINE void put_doubles(single4 x, double *to)
{
#if defined(__AVX2__)
    _mm256_storeu_pd(to, _mm256_cvtps_pd((__m128)x));
#else
    const double4 y = __builtin_convertvector(x, double4);
    memcpy(to, &y, sizeof(y));
#endif
}

/* The weights of four cells of four elements. */
INLINE void weigh_four(const float *weight, const unsigned char *flags, double *to, int64_t plane)
{
    const bits4 flagged = {flags[0], flags[1], flags[2], flags[3]};
    single4 x[4], y[4];

    for (int k = 0; k < 4; k++)
        memcpy(&x[k], weight + 4 * k, sizeof(x[k]));
    for (int k = 0; k < 4; k += 2) {
        y[k] = __builtin_shufflevector(x[k], x[k + 1], 0, 4, 2, 6);
        y[k + 1] = __builtin_shufflevector(x[k], x[k + 1], 1, 5, 3, 7);
    }
    x[0] = __builtin_shufflevector(y[0], y[2], 0, 1, 4, 5);
    x[1] = __builtin_shufflevector(y[1], y[3], 0, 1, 4, 5);
    x[2] = __builtin_shufflevector(y[0], y[2], 2, 3, 6, 7);
    x[3] = __builtin_shufflevector(y[1], y[3], 2, 3, 6, 7);
    for (int e = 0; e < 4; e++) {
        bits4 counts = (bits4)(x[e] > 0) & (bits4)(x[e] <= FLT_MAX);
        counts &= (flagged >> e & 1) - 1;
        single4 w = (single4)((bits4)x[e] & counts);
        put_doubles(__builtin_shufflevector(w, w, 0, 0, 1, 1), to + plane * e);
        put_doubles(__builtin_shufflevector(w, w, 2, 2, 3, 3), to + plane * e + 4);
    }
}

static void weigh_single(const float *weight, const unsigned char *flags, int64_t cells,
                         int elements, double *to, int64_t plane)
{
    for (int64_t k = 0; k < cells; k += 4) {
        const int64_t n = cells - k < 4 ? cells - k : 4;
        if (elements == 4 && n == 4) {
            weigh_four(weight + 4 * k, flags + k, to + 2 * k, plane);
            continue;
        }
        double last[4 * 4];
        for (int64_t i = 0; i < n * elements; i++)
            last[i] = (double)weight[k * elements + i];
        weigh_double(last, flags + k, n, elements, to + 2 * k, plane);
    }
}

/* ---- sums ---- */

/* How many samples count, and the power of samples, residuals and the model: of one element. */
INLINE void add_power(const grove_normal_block *block, int64_t at, double *sums, double *residuals)
{
    const double *residual = block->column + block->stride * block->columns + at;
    const double *measured = block->measured + at, *weight = block->weight + at;
    const vec one = (vec){0} + 1.0;
    vec used = load(sums), power = load(sums + GROVE_NORMAL_SUM), chi2 = load(residuals),
        model = load(residuals + GROVE_NORMAL_SUM);

    for (int64_t k = 0; k < 2 * block->cells; k += LANES) {
        vec w = load(weight + k), x = load(measured + k), y = load(residual + k);
        used += (vec)((integers)(w > 0) & (integers)one);
        power += w * x * x;
        chi2 += w * y * y;
        model += w * (x - y) * (x - y);
    }
    store(residuals, chi2);
    store(residuals + GROVE_NORMAL_SUM, model);
    store(sums, used);
    store(sums + GROVE_NORMAL_SUM, power);
}

/* A column's numbers and its sums. */
typedef struct {
    const double *numbers;
    double *sums;
} partner;

/* Products of a column with `width` others. With `self` the first is itself, whose are real. */
INLINE void add_products(const double *weight, const double *left, int64_t count,
                         const partner *right, int width, bool self)
{
    vec re[WIDTH], im[WIDTH];

    for (int j = 0; j < width; j++) {
        re[j] = load(right[j].sums);
        im[j] = load(right[j].sums + GROVE_NORMAL_SUM);
    }
    for (int64_t k = 0; k < count; k += LANES) {
        const vec x = load(weight + k) * load(left + k), swapped = SWAP(x);
        for (int j = 0; j < width; j++) {
            const vec y = load(right[j].numbers + k);
            re[j] += x * y;
            if (j || !self)
                im[j] += swapped * y;
        }
    }
    for (int j = 0; j < width; j++) {
        store(right[j].sums, re[j]);
        if (j || !self)
            store(right[j].sums + GROVE_NORMAL_SUM, im[j]);
    }
}

/* As many at a time as registers allow. */
INLINE void add_some_products(const double *weight, const double *left, int64_t count,
                              const partner *right, int width, bool self)
{
    switch (width) {
    case 1:
        add_products(weight, left, count, right, 1, self);
        break;
    case 2:
        add_products(weight, left, count, right, 2, self);
        break;
    case 3:
        add_products(weight, left, count, right, 3, self);
        break;
    case 4:
        add_products(weight, left, count, right, 4, self);
        break;
    case 5:
        add_products(weight, left, count, right, WIDTH < 5 ? WIDTH : 5, self);
        break;
    default:
        add_products(weight, left, count, right, WIDTH, self);
        break;
    }
}

/* Products of a column with others; the first may be itself. */
static void add_all_products(const double *weight, const double *left, int64_t count,
                             const partner *right, int others)
{
    for (int b = 0, width; b < others; b += width) {
        width = others - b < WIDTH ? others - b : WIDTH;
        if (right[b].numbers == left)
            add_some_products(weight, left, count, right + b, width, true);
        else
            add_some_products(weight, left, count, right + b, width, false);
    }
}

/* Products of two columns, `b` after `a`, with themselves and with one partner of both, as
 * add_products makes them: each number is loaded, weighted and turned once. */
INLINE void add_two(const double *weight, const double *a, const double *b, const double *c,
                    int64_t count, double *const to[5])
{
    vec aa = load(to[0]), ab = load(to[1]), ac = load(to[2]), bb = load(to[3]), bc = load(to[4]);
    vec ab_turned = load(to[1] + GROVE_NORMAL_SUM), ac_turned = load(to[2] + GROVE_NORMAL_SUM),
        bc_turned = load(to[4] + GROVE_NORMAL_SUM);

    for (int64_t k = 0; k < count; k += LANES) {
        const vec w = load(weight + k), x = load(a + k), y = load(b + k), z = load(c + k),
                  wx = w * x, wy = w * y, turned_x = SWAP(wx), turned_y = SWAP(wy);
        aa += wx * x;
        ab += wx * y;
        ab_turned += turned_x * y;
        ac += wx * z;
        ac_turned += turned_x * z;
        bb += wy * y;
        bc += wy * z;
        bc_turned += turned_y * z;
    }
    store(to[0], aa);
    store(to[1], ab);
    store(to[1] + GROVE_NORMAL_SUM, ab_turned);
    store(to[2], ac);
    store(to[2] + GROVE_NORMAL_SUM, ac_turned);
    store(to[3], bb);
    store(to[4], bc);
    store(to[4] + GROVE_NORMAL_SUM, bc_turned);
}

/* The next column after `a` that has element e; the residual, which follows them, has all. */
INLINE int next_column(const grove_normal_block *block, int e, int a)
{
    for (a++; a < block->columns && !(block->which[a] >> e & 1);)
        a++;
    return a;
}

/* Products of column a, of element e, with columns from `first` on. */
static void add_column(const grove_normal_block *block, int e, int a, int first, double *sums)
{
    const int64_t each = (int64_t)2 * GROVE_NORMAL_SUM, at = block->plane * e;
    const double *left = block->column + block->stride * a + at;
    partner right[GROVE_NORMAL_PARTNERS];
    int others = 0;

    for (int b = first; b <= block->columns; b = next_column(block, e, b)) {
        right[others++] = (partner){block->column + block->stride * b + at, sums + each * (b - a)};
        if (others == GROVE_NORMAL_PARTNERS || b == block->columns) {
            add_all_products(block->weight + at, left, 2 * block->cells, right, others);
            others = 0;
        }
    }
}

/* Products of columns a and b, which follow each other, with themselves and later columns. */
static void add_two_columns(const grove_normal_block *block, int e, int a, int b, double *sums[2])
{
    const int64_t each = (int64_t)2 * GROVE_NORMAL_SUM, at = block->plane * e;
    const double *from = block->column + at;
    const int c = next_column(block, e, b);

    add_two(block->weight + at, from + block->stride * a, from + block->stride * b,
            from + block->stride * c, 2 * block->cells,
            (double *const[]){sums[0], sums[0] + each * (b - a), sums[0] + each * (c - a), sums[1],
                              sums[1] + each * (c - b)});
    if (c < block->columns) {
        add_column(block, e, a, next_column(block, e, c), sums[0]);
        add_column(block, e, b, next_column(block, e, c), sums[1]);
    }
}

/* Where the sums of column a with itself are. */
INLINE double *sums_of(const grove_normal_block *block, int a, double *sums)
{
    const int64_t before = (int64_t)a * (2 * block->columns + 3 - a) / 2;

    return sums + 2 * GROVE_NORMAL_SUM * (1 + before);
}

/* Products of all columns, of element e. */
static void add_element(const grove_normal_block *block, int e, double *sums)
{
    for (int a = next_column(block, e, -1), b; a < block->columns; a = next_column(block, e, b)) {
        b = next_column(block, e, a);
        if (b < block->columns)
            add_two_columns(block, e, a, b,
                            (double *[]){sums_of(block, a, sums), sums_of(block, b, sums)});
        else
            add_column(block, e, a, a, sums_of(block, a, sums));
    }
}

static void add(const grove_normal_block *block, double *sums)
{
    for (int e = 0; e < block->elements; e++) {
        add_element(block, e, sums);
        add_power(block, block->plane * e, sums, sums_of(block, block->columns, sums));
    }
}

const grove_normal_kernels KERNELS = {split_single, split_double, weigh_single, weigh_double, add};
