/* Normal equations over samples, by the kernels of each instruction set, against plain sums: every
 * number of elements and both precisions, elements that are 0, flags and odd weights, cells that do
 * not fill a vector, numbers that are not finite. */
#include "compression-testing.h"

#include "../kernels/fit/normal_simd.h"
#include "../kernels/simd/isa.h"
#include "tests/common/suite.h"

enum { CELLS = 24, DERIVATIVES = 9, PLANE = 2 * (CELLS + GROVE_NORMAL_SPARE) };

static void put(void *to, size_t at, double x, int bytes)
{
    if (bytes == 4)
        ((float *)to)[at] = (float)x;
    else
        ((double *)to)[at] = x;
}

static const double odd[] = {NAN, INFINITY, -INFINITY};

/* Numbers of a derivative, of which elements not in `which` are 0, or -0. */
static void draw_cells(void *to, int bytes, int cells, int elements, int which)
{
    for (int k = 0; k < 2 * cells * elements; k++) {
        double x = draw();
        put(to, (size_t)k, which >> k / 2 % elements & 1 ? x : x < 0 ? -0.0 : 0, bytes);
    }
}

static double number_of(const void *from, int bytes, int k)
{
    return bytes == 4 ? (double)((const float *)from)[k] : ((const double *)from)[k];
}

static int split_which(const grove_normal_kernels *kernels, const void *from, int bytes, int cells,
                       int elements, int which, const double *minus, double *to)
{
    return bytes == 4 ? kernels->split_single(from, cells, elements, which, minus, to, PLANE)
                      : kernels->split_double(from, cells, elements, which, minus, to, PLANE);
}

/* As solve has it: into planes of which some may be wanted in vain, and then into those found. */
static int split(const grove_normal_kernels *kernels, const void *from, int bytes, int cells,
                 int elements, const double *minus, double *to)
{
    int guess = minus ? 15 : draw_below(16);
    int found = split_which(kernels, from, bytes, cells, elements, guess, minus, to);

    if (found & ~guess)
        ck_assert_int_eq(split_which(kernels, from, bytes, cells, elements, found, minus, to),
                         found);
    for (int e = 0; e < elements; e++)
        memset(to + PLANE * e + 2 * cells, 0, 8 * sizeof(*to));
    return found;
}

typedef struct {
    double from[DERIVATIVES + 2][8 * CELLS]; /* the last two: measured, the model */
    double weights[4 * CELLS], planes[DERIVATIVES + 2][4 * PLANE], weight[4 * PLANE];
    double sums[2 * GROVE_NORMAL_SUM * (1 + DERIVATIVES * (DERIVATIVES + 3) / 2 + 1)];
    unsigned char flags[CELLS], which[DERIVATIVES];
    int cells, elements, columns, bytes;
} normal_world;

/* Number k of what is summed: derivatives, the residual. */
static double complex number_at(const normal_world *n, int column, int k)
{
    double x[2];

    for (int i = 0; i < 2; i++)
        x[i] = column < n->columns ? number_of(n->from[column], n->bytes, 2 * k + i)
                                   : number_of(n->from[DERIVATIVES], n->bytes, 2 * k + i) -
                                         number_of(n->from[DERIVATIVES + 1], n->bytes, 2 * k + i);
    return x[0] + x[1] * I;
}

static double weight_at(const normal_world *n, int k)
{
    double w = number_of(n->weights, n->bytes, k);

    return w > 0 && w < (double)INFINITY && !(n->flags[k / n->elements] >> k % n->elements & 1) ? w
                                                                                                : 0;
}

static void check_product(const normal_world *n, int a, int b, const double *sums)
{
    double complex truth = 0, found = 0;
    double size = 0;

    for (int k = 0; k < n->cells * n->elements; k++) {
        double complex x = weight_at(n, k) * conj(number_at(n, a, k)) * number_at(n, b, k);
        truth += x;
        size += cabs(x);
    }
    for (int k = 0; k < GROVE_NORMAL_SUM; k++)
        found += sums[k] + (k % 2 ? I : -I) * sums[GROVE_NORMAL_SUM + k];
    ck_assert_double_le(cabs(found - truth), 1e-14 * size);
}

static void check_normal(const normal_world *n)
{
    const double *next = n->sums + (ptrdiff_t)2 * GROVE_NORMAL_SUM;
    double used = 0, power = 0, chi2 = 0, model = 0, found[4] = {0};

    for (int a = 0; a < n->columns; a++)
        for (int b = a; b <= n->columns; b++, next += (ptrdiff_t)2 * GROVE_NORMAL_SUM)
            check_product(n, a, b, next);
    for (int k = 0; k < n->cells * n->elements; k++) {
        double x = number_of(n->from[DERIVATIVES], n->bytes, 2 * k),
               y = number_of(n->from[DERIVATIVES], n->bytes, 2 * k + 1), w = weight_at(n, k);
        used += w > 0 ? 2 : 0;
        power += w * (x * x + y * y);
        chi2 += w * pow(cabs(number_at(n, n->columns, k)), 2);
        x = number_of(n->from[DERIVATIVES + 1], n->bytes, 2 * k);
        y = number_of(n->from[DERIVATIVES + 1], n->bytes, 2 * k + 1);
        model += w * (x * x + y * y);
    }
    for (int k = 0; k < GROVE_NORMAL_SUM; k++) {
        found[0] += n->sums[k];
        found[1] += n->sums[GROVE_NORMAL_SUM + k];
        found[2] += next[k];
        found[3] += next[GROVE_NORMAL_SUM + k];
    }
    ck_assert_double_eq(found[0], used);
    ck_assert(fabs(found[1] - power) <= 1e-14 * power); /* 0 where all is flagged */
    ck_assert(fabs(found[2] - chi2) <= 1e-14 * chi2);
    ck_assert(fabs(found[3] - model) <= 1e-14 * (power + chi2));
}

static void add_cells(const grove_normal_kernels *kernels, normal_world *n)
{
    double *measured = n->planes[DERIVATIVES + 1], *residual = n->planes[n->columns];

    memset(n->sums, 0, sizeof(n->sums));
    memset(n->weight, 0, sizeof(n->weight));
    for (int c = 0; c < n->columns; c++)
        n->which[c] = (unsigned char)split(kernels, n->from[c], n->bytes, n->cells, n->elements,
                                           NULL, n->planes[c]);
    /* All of its planes are wanted. */
    memset(measured, 0, sizeof(n->planes[0]));
    split(kernels, n->from[DERIVATIVES], n->bytes, n->cells, n->elements, NULL, measured);
    split(kernels, n->from[DERIVATIVES + 1], n->bytes, n->cells, n->elements, measured, residual);
    if (n->bytes == 4)
        kernels->weigh_single((const float *)(const void *)n->weights, n->flags, n->cells,
                              n->elements, n->weight, PLANE);
    else
        kernels->weigh_double(n->weights, n->flags, n->cells, n->elements, n->weight, PLANE);
    for (int e = 0; e < n->elements; e++)
        memset(n->weight + PLANE * e + 2 * n->cells, 0, 8 * sizeof(double));
    const grove_normal_block block = {.cells = (n->cells + 3) / 4 * 4,
                                      .plane = PLANE,
                                      .stride = 4 * PLANE,
                                      .columns = n->columns,
                                      .elements = n->elements,
                                      .column = n->planes[0],
                                      .measured = measured,
                                      .weight = n->weight,
                                      .which = n->which};
    kernels->add(&block, n->sums);
}

/* Every instruction set, number of elements and precision; elements that are 0; cells that do not
 * fill a vector. */
LOOP_TEST(test_normal, 0, 160)
{
    static const grove_normal_kernels *const kernels[GROVE_ISAS] = {
        &grove_normal_portable, &grove_normal_avx2, &grove_normal_avx512};
    normal_world *n = calloc(1, sizeof(*n));

    ck_assert_ptr_nonnull(n);
    counter = (uint64_t)_i * 100000;
    *n = (normal_world){.cells = 1 + draw_below(CELLS),
                        .elements = 1 + _i % 4,
                        .columns = draw_below(DERIVATIVES + 1),
                        .bytes = _i / 4 % 2 ? 8 : 4};
    for (int c = 0; c < DERIVATIVES + 2; c++)
        draw_cells(n->from[c], n->bytes, n->cells, n->elements,
                   c < DERIVATIVES ? draw_below(16) : 15);
    for (int k = 0; k < n->cells * n->elements; k++)
        put(n->weights, (size_t)k, draw() > 0.9 ? odd[draw_below(3)] : draw() + 0.8, n->bytes);
    for (int k = 0; k < n->cells; k++)
        n->flags[k] = draw() > 0.5 ? (unsigned char)draw_below(256) : 0;
    for (int isa = 0; isa <= (int)grove_isa_usable(); isa++) {
        add_cells(kernels[isa], n);
        check_normal(n);
        const int numbers = 2 * n->cells * n->elements, at = draw_below(numbers);
        const double before = number_of(n->from[0], n->bytes, at);
        ck_assert_int_eq(
            split(kernels[isa], n->from[0], n->bytes, n->cells, n->elements, NULL, n->planes[0]) &
                GROVE_NORMAL_NOT_FINITE,
            0);
        put(n->from[0], (size_t)at, odd[draw_below(3)], n->bytes);
        ck_assert_int_ne(
            split(kernels[isa], n->from[0], n->bytes, n->cells, n->elements, NULL, n->planes[0]) &
                GROVE_NORMAL_NOT_FINITE,
            0);
        put(n->from[0], (size_t)at, before, n->bytes);
    }
    free(n);
}

SUITE(60, NULL, NULL)
