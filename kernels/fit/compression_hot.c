/* Sums over cells. A cell is a vector of eight doubles, or two vectors of four. For each cell the
 * diagonal form takes about 10 operations on eight doubles, the full form 27 with equal weights. */
#include "compression_simd.h"

#include "compression_full.h"
#include "compression_row.h"

#include <stddef.h>
#include <string.h>

#define KERNELS PASTE(grove_compression_, GROVE_ISA_SUFFIX)

/* ---- loading ---- */

INLINE int load_floats(const char *from, int64_t step, int64_t count, double *to)
{
    masks check[PIECES] = {{0}};

#pragma GCC unroll 4
    for (int64_t k = 0; k < count; k++, from += step) {
        __builtin_prefetch(from + AHEAD);
        EACH
        {
            const floats y = *(const unaligned_floats *)(const void *)(from + 4 * LANES * i);
            store_vec(to + 8 * k + LANES * i, widen(y));
            check[i] |= (masks)(y - y); /* NaN if it is not finite */
        }
    }
    for (int i = 1; i < PIECES; i++)
        check[0] |= check[i];
    for (int i = 1; i < LANES; i++)
        check[0][0] |= check[0][i];
    return !check[0][0];
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

INLINE sample sample_of(const grove_compression_block *block, int64_t k)
{
    return (sample){load(block->weight + 8 * k), load(block->data + 8 * k),
                    load(block->model[0] + 8 * k)};
}

/* Numbers, power, and products with the first model; in the full form with its four rotations. With
 * `pair` also products of the model with itself for equal weights. The cells are of a block, or of
 * a row, which are read here for the only time. Of a row false, and nothing is added: some number
 * is not finite. */
INLINE int add_first(const grove_compression_block *block, const cells_of_row *from, int rotations,
                     int pair, double *sums, double *pairs)
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

/* How many partners a number has at once: their running sums are in registers. */
enum { WIDTH = 5 };

/* Products of a with `width` others. With `self` the first is a itself, whose are real. */
INLINE void add_partners(const grove_compression_block *block, const double *a,
                         double *const *others, int width, int self, double *sums)
{
    for (int i = 0; i < 8; i += LANES, sums += LANES) {
        vec re[WIDTH], im[WIDTH];
        for (int j = 0; j < width; j++) {
            re[j] = load_vec(sums + 16 * j);
            im[j] = load_vec(sums + 16 * j + 8);
        }
        for (int64_t k = i; k < 8 * (int64_t)block->count; k += 8) {
            const vec x = load_vec(block->weight + k) * load_vec(a + k), turned = swap_vec(x);
            for (int j = 0; j < width; j++) {
                const vec y = load_vec(others[j] + k);
                re[j] += x * y;
                if (j || !self)
                    im[j] += turned * y;
            }
        }
        for (int j = 0; j < width; j++) {
            store_vec(sums + 16 * j, re[j]);
            store_vec(sums + 16 * j + 8, im[j]);
        }
    }
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
            add_partners(block, a, next, 4, self, to);
        else if (width == 3)
            add_partners(block, a, next, 3, self, to);
        else if (width == 2)
            add_partners(block, a, next, 2, self, to);
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

/* How many weights are positive, and the power. */
INLINE void add_numbers(const grove_compression_block *block, double *sums)
{
    cell numbers = load(sums), power = load(sums + 8);

    for (int64_t k = 0; k < block->count; k++) {
        const cell w = load(block->weight + 8 * k), d = load(block->data + 8 * k);
        EACH numbers.part[i] += (vec)((integers)(w.part[i] > 0) & (integers)((vec){0} + 1.0));
        power = add_product(power, times(w, d), d);
    }
    store(sums, numbers);
    store(sums + 8, power);
}

/* Weights of a row that differ within cells, as doubles. */
INLINE void put_own(cells_of_row *r)
{
    for (int64_t k = 0; k < r->count; k++)
        for (int c = 0; c < 4; c++)
            r->own[k][c] = (double)r->kept[k][c];
}

#if defined(__AVX512F__)
INLINE cell model_at(const cells_of_row *r, int64_t k)
{
    cell x;

    x.part[0] = widen(*(const unaligned_floats *)(const void *)(r->model + k * r->model_step));
    return x;
}

/* As add_unequal of a row of models with themselves. */
INLINE void add_own_row(const cells_of_row *from, double *sums)
{
    const vec even = (signs() + 1) * 0.5;
    cell sum[4][3] = {{{{{0}}}}};

    for (int64_t k = 0; k < from->count; k++) {
        const cell y = model_at(from, k), next = rotate(y, 1), other = rotate(y, 2);
        const factor x = factor_of(y);
        const cell product[3] = {times(y, y), conjugate_product(x, next),
                                 conjugate_product(x, other)};
        for (int c = 0; c < 4; c++)
            for (int r = 0; r < 3; r++)
                sum[c][r] = add_scaled(sum[c][r], product[r], from->own[k][c]);
    }
    for (int c = 0; c < 4; c++) {
        const vec imaginary = swap_vec(sum[c][0].part[0]);
        sum[c][0].part[0] = (sum[c][0].part[0] + imaginary) * even;
        for (int r = 0; r < 3; r++) {
            double *to = sums + 8 * (ptrdiff_t)(4 * c + r);
            store_vec(to, load_vec(to) + sum[c][r].part[0]);
        }
    }
}

/* A row of the full form; false as in add_first. */
INLINE int add_full_row(cells_of_row *r, int equal, double *sums)
{
    double *pair = sums + 16 * (1 + 4);

    if (equal)
        return add_first(NULL, r, 4, 1, sums, pair);
    put_own(r);
    if (!add_first(NULL, r, 4, 0, sums, pair))
        return 0;
    add_own_row(r, pair + 8 * GROVE_COMPRESSION_OWN);
    return 1;
}

INLINE void add_first_full(const grove_compression_block *block, int equal, double *sums)
{
    double *pair = sums + 16 * (1 + 4 * block->groups);

    if (equal)
        add_first(block, NULL, 4, 1, sums, pair);
    else
        add_first(block, NULL, 4, 0, sums, pair);
}

INLINE void add_unequal_self(const grove_compression_block *block, const double *a, double *sums)
{
    add_unequal(block, a, a, 3, sums);
}
#else
/* Cells of a row as doubles, data and models with their weights, too. */
typedef struct {
    double data[8 * GROVE_COMPRESSION_CELLS], model[8 * GROVE_COMPRESSION_CELLS],
        models[8 * GROVE_COMPRESSION_CELLS];
} loaded_cells;

/* Cells of a row from `first` on, and their power; false: some number is not finite. */
INLINE int load_cells(const cells_of_row *r, int equal, int64_t first, int64_t count,
                      loaded_cells *to, cell *power)
{
    cell models = {{{0}}};
    integers check[PIECES] = {{0}};

    for (int64_t k = 0; k < count; k++) {
        const sample x = sample_at(r, equal, first + k);
        const cell wd = times(x.w, x.d);
        *power = add_product(*power, wd, x.d);
        models = add_scaled(models, x.m, 0); /* NaN if one is not finite */
        store(to->data + 8 * k, wd);
        store(to->model + 8 * k, x.m);
        if (equal)
            store(to->models + 8 * k, times(x.w, x.m));
    }
    EACH check[i] |= (integers)(power->part[i] - power->part[i]) | (integers)models.part[i];
    return is_zero(check);
}

/* Some cells of a row of the full form; false as in add_first. */
INLINE int add_cells(const cells_of_row *r, int equal, int64_t first, int64_t count, double *sums)
{
    double *pair = sums + 16 * (1 + 4);
    cell power = load(sums + 8);
    loaded_cells x;

    if (!load_cells(r, equal, first, count, &x, &power))
        return 0;
    store(sums + 8, power);
    add_rotations(NULL, x.data, x.model, count, sums + 16);
    if (equal)
        add_self(NULL, x.models, x.model, count, pair);
    else
        add_own(r->own[first], 1, x.model, count, pair + 8 * GROVE_COMPRESSION_OWN);
    return 1;
}

/* A row of the full form; false as in add_first. */
INLINE int add_full_row(cells_of_row *r, int equal, double *sums)
{
    enum { CELLS = GROVE_COMPRESSION_CELLS };
    double before[8 * (2 + 8 + GROVE_COMPRESSION_PAIR)];

    if (r->count > CELLS)
        memcpy(before, sums, sizeof(before));
    if (!equal)
        put_own(r);
    for (int64_t k = 0; k < r->count; k += CELLS)
        if (!add_cells(r, equal, k, r->count - k < CELLS ? r->count - k : CELLS, sums)) {
            if (k)
                memcpy(sums, before, sizeof(before));
            return 0;
        }
    add_counted(r, sums);
    return 1;
}

INLINE void add_first_full(const grove_compression_block *block, int equal, double *sums)
{
    const double *model = block->model[0];

    add_numbers(block, sums);
    add_rotations(block->weight, block->data, model, block->count, sums + 16);
    if (equal)
        add_self(block->weight, model, model, block->count, sums + 16 * (1 + 4 * block->groups));
}

INLINE void add_unequal_self(const grove_compression_block *block, const double *a, double *sums)
{
    add_own(block->weight, 2, a, block->count, sums);
}
#endif

static void add_diagonal(const grove_compression_block *block, double *sums)
{
    const int groups = block->groups;
    double *pair = sums + 16 * (1 + groups);

    if (groups == 1) {
        add_first(block, NULL, 1, 1, sums, pair);
        return;
    }
    add_numbers(block, sums);
    add_all_partners(block, block->data, block->model, groups, 0, sums + 16);
    for (int g = 0; g < groups; pair += 16 * (groups - g), g++)
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

    add_first_full(block, equal, sums);
    for (int g = 1; g < groups; g++)
        add_rotations(block->weight, block->data, block->model[g], block->count,
                      sums + 16 * (1 + 4 * g));
    for (int g = 0; g < groups; g++)
        for (int h = g; h < groups; h++, pair += 8 * GROVE_COMPRESSION_PAIR) {
            const double *a = block->model[g], *b = block->model[h];
            if (!equal && g == h)
                add_unequal_self(block, a, pair + 8 * GROVE_COMPRESSION_OWN);
            else if (!equal)
                add_unequal(block, a, b, 4, pair + 8 * GROVE_COMPRESSION_OWN);
            else if (g || h)
                add_rotations(block->weight, a, b, block->count, pair);
        }
}

static void add_block(const grove_compression_block *block, double *sums)
{
    if (block->full)
        add_full(block, sums);
    else
        add_diagonal(block, sums);
}

INLINE int64_t add_each(const grove_compression_rows *rows, int elements, int rotations,
                        double *sums)
{
    int64_t i = 0;
    cells_of_row r;

    for (; i < rows->rows; i++, sums += rows->size) {
        find_row(rows, i, &r);
        keep_weights(&r, elements);
        const four_masks differ = r.differ;
        const int equal = !(differ[0] | differ[1] | differ[2] | differ[3]);
        if (rotations == 1 ? !add_first(NULL, &r, 1, 1, sums, sums + 32)
            : equal        ? !add_full_row(&r, 1, sums)
                           : !add_full_row(&r, 0, sums))
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
