/* Normal equations over samples: a complex number is two lanes of a vector. For each pair of
 * columns and vector there are two multiply-adds. */
#include "normal_simd.h"

#define GROVE_REAL_SINGLE 0
#include "../simd/vector.h"

#include <float.h>
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

/* Whether all numbers are finite: x - x is 0 then, else NaN. */
INLINE int are_finite(const double *x, int64_t count)
{
    integers check = {0};
    int64_t k = 0, any = 0;

    for (; k + LANES <= count; k += LANES)
        check |= (integers)(load(x + k) - load(x + k));
    for (int i = 0; i < LANES; i++)
        any |= check[i];
    for (; k < count; k++)
        any |= x[k] - x[k] != 0;
    return !any;
}

static int widen(const float *from, int64_t count, double *to)
{
    for (int64_t k = 0; k < count; k++)
        to[k] = (double)from[k];
    return are_finite(to, count);
}

static int copy(const double *from, int64_t count, double *to)
{
    memcpy(to, from, (size_t)count * sizeof(*to));
    return are_finite(to, count);
}

static int subtract(const double *from, int64_t count, double *minus)
{
    for (int64_t k = 0; k < count; k++)
        minus[k] = from[k] - minus[k];
    return are_finite(minus, count);
}

static void weigh(const double *weight, const unsigned char *left_out, int64_t count, double *to)
{
    for (int64_t k = 0; k < count; k++) {
        double w = weight[k] > 0 && weight[k] <= DBL_MAX && !left_out[k] ? weight[k] : 0;
        to[2 * k] = w;
        to[2 * k + 1] = w;
    }
}

/* How many samples count, their power, and that of the residuals. */
INLINE void add_power(const grove_normal_block *block, double *sums, double *residuals)
{
    const double *residual = block->column + block->stride * block->columns;
    const vec one = (vec){0} + 1.0;
    vec used = load(sums), power = load(sums + GROVE_NORMAL_SUM), chi2 = load(residuals);

    for (int64_t k = 0; k < 2 * block->count; k += LANES) {
        vec w = load(block->weight + k), x = load(block->measured + k), y = load(residual + k);
        used += (vec)((integers)(w > 0) & (integers)one);
        power += w * x * x;
        chi2 += w * y * y;
    }
    store(residuals, chi2);
    store(sums, used);
    store(sums + GROVE_NORMAL_SUM, power);
}

/* Products of column a with `width` others, which follow each other. */
INLINE void add_products(const grove_normal_block *block, int a, int b, int width, double *sums)
{
    const double *left = block->column + block->stride * a;
    const double *right = block->column + block->stride * b;
    vec re[WIDTH], im[WIDTH];

    for (int j = 0; j < width; j++) {
        re[j] = load(sums + 2 * GROVE_NORMAL_SUM * j);
        im[j] = load(sums + 2 * GROVE_NORMAL_SUM * j + GROVE_NORMAL_SUM);
    }
    for (int64_t k = 0; k < 2 * block->count; k += LANES) {
        const vec x = load(block->weight + k) * load(left + k), swapped = SWAP(x);
        for (int j = 0; j < width; j++) {
            const vec y = load(right + block->stride * j + k);
            re[j] += x * y;
            im[j] += swapped * y;
        }
    }
    for (int j = 0; j < width; j++) {
        store(sums + 2 * GROVE_NORMAL_SUM * j, re[j]);
        store(sums + 2 * GROVE_NORMAL_SUM * j + GROVE_NORMAL_SUM, im[j]);
    }
}

static void add(const grove_normal_block *block, double *sums)
{
    const ptrdiff_t each = (ptrdiff_t)2 * GROVE_NORMAL_SUM;
    const int last = block->columns;
    double *next = sums + each;

    for (int a = 0; a < last; a++)
        for (int b = a, width; b <= last; b += width, next += each * width) {
            width = last + 1 - b < WIDTH ? last + 1 - b : WIDTH;
            switch (width) {
            case 1:
                add_products(block, a, b, 1, next);
                break;
            case 2:
                add_products(block, a, b, 2, next);
                break;
            case 3:
                add_products(block, a, b, 3, next);
                break;
            case 4:
                add_products(block, a, b, 4, next);
                break;
            case 5:
                add_products(block, a, b, WIDTH < 5 ? WIDTH : 5, next);
                break;
            default:
                add_products(block, a, b, WIDTH, next);
                break;
            }
        }
    add_power(block, sums, next);
}

const grove_normal_kernels KERNELS = {widen, copy, subtract, weigh, add};
