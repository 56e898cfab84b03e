/* Compressed sums against sums over cells in long double: every shape, precision and form, flags,
 * weights, numbers that are not finite. Normal equations and chi-squared from them against the same
 * sums. */
#include "compression-testing.h"
#include "tests/common/suite.h"

enum { TIMES = 3, PAIRS = 70, MAX_COLUMNS = 6 };

/* ---- random input ---- */

typedef struct {
    grove_compression_input input;
    int64_t channels;
    void *memory[2 * (MAX_GROUPS + 2)];
    int count;
} world;

static void *keep(world *w, size_t bytes)
{
    void *memory = calloc(bytes + 1, 1);

    ck_assert_ptr_nonnull(memory);
    return w->memory[w->count++] = memory;
}

static void put(void *to, size_t at, double x, int bytes)
{
    if (bytes == 4)
        ((float *)to)[at] = (float)x;
    else
        ((double *)to)[at] = x;
}

static const double odd[] = {NAN, INFINITY, -INFINITY};

/* An array of numbers that may lack axes; some are not finite, some flagged. */
static grove_compression_array draw_array(world *w, int elements, int reals, int bytes, int axes,
                                          bool spoilt)
{
    const int64_t size[3] = {TIMES, PAIRS, w->channels};
    grove_compression_array a = {.elements = elements, .bytes = bytes};
    int64_t cells = 1;

    for (int d = 2; d >= 0; d--)
        if (axes >> d & 1) {
            a.stride[d] = cells * elements * reals * bytes;
            a.flag_stride[d] = cells;
            cells *= size[d];
        }
    size_t count = (size_t)(cells * elements * reals);
    void *data = keep(w, count * (size_t)bytes);
    for (size_t k = 0; k < count; k++)
        put(data, k, reals == 1 ? draw() + 0.8 : draw(), bytes);
    a.data = data;
    if (spoilt) {
        unsigned char *flags = keep(w, (size_t)cells);
        for (int64_t k = 0; k < cells; k++)
            flags[k] = draw() > 0.6 ? (unsigned char)draw_below(256) : 0;
        for (size_t k = 0; k < count; k++)
            if (draw() > 0.97)
                put(data, k, odd[draw_below(3)], bytes);
        a.flags = flags;
    }
    return a;
}

static void free_world(world *w)
{
    for (int k = 0; k < w->count; k++)
        free(w->memory[k]);
}

static int draw_elements(void)
{
    const int elements[] = {1, 2, 4, 4};

    return elements[draw_below(4)];
}

static world draw_world(int form, int groups, bool spoilt)
{
    world w = {.input = {.form = (grove_compression_form)form, .groups = groups}};

    w.channels = draw() > 0 ? 41 : 1 + draw_below(16);
    int elements = draw_elements();

    if (form == GROVE_COMPRESSION_FULL && elements == 1)
        elements = 2;
    w.input.data = draw_array(&w, elements, 2, 4 + 4 * draw_below(2), 7, spoilt);
    if (draw() > -0.5)
        w.input.weights = draw_array(&w, draw_elements(), 1, 4 + 4 * draw_below(2),
                                     draw() > 0 ? 7 : draw_below(8), spoilt);
    w.input.weights.flags = NULL;
    for (int g = 0; g < groups; g++)
        w.input.model[g] = draw_array(&w, draw_elements(), 2, 4 + 4 * draw_below(2),
                                      draw() > -0.4 ? 7 : draw_below(8), spoilt && draw() > 0);
    return w;
}

/* What is summed as it is read: single precision, four elements, one model, flags of the data
 * alone. By turns baselines have cells that are flagged as a whole, some of them not finite;
 * numbers that are not finite; flags of elements; weights of their own for elements. */
static world draw_plain_world(int form, int64_t channels, int elements)
{
    world w = {.input = {.form = (grove_compression_form)form, .groups = 1}, .channels = channels};
    const int64_t cells = TIMES * PAIRS * channels;

    w.input.data = draw_array(&w, 4, 2, 4, 7, false);
    w.input.model[0] = draw_array(&w, 4, 2, 4, 7, false);
    if (elements)
        w.input.weights = draw_array(&w, elements, 1, 4, 7, false);
    float *data = (float *)(uintptr_t)w.input.data.data,
          *model = (float *)(uintptr_t)w.input.model[0].data,
          *weight = (float *)(uintptr_t)w.input.weights.data;
    unsigned char *flags = keep(&w, (size_t)cells);
    for (int64_t k = 0; k < cells; k++) {
        int kind = (int)(k / channels % PAIRS % 5);
        for (int e = 1; e < elements && kind < 4; e++)
            weight[4 * k + e] = weight[4 * k];
        flags[k] = draw() > 0.6 ? 15 : 0;
        if (kind == 1 && flags[k])
            data[8 * k + draw_below(8)] = NAN;
        if (kind == 2 && draw() > 0.97)
            (draw() > 0 ? data : model)[8 * k + draw_below(8)] = (float)odd[draw_below(3)];
        if (kind == 3)
            flags[k] = (unsigned char)draw_below(256);
        if (elements && draw() > 0.95)
            weight[elements * k] = (float)odd[draw_below(3)];
    }
    w.input.data.flags = flags;
    return w;
}

/* ---- sums over cells ---- */

static double real_at(const grove_compression_array *a, const int64_t at[3], int k)
{
    const char *p = a->data;

    for (int d = 0; d < 3; d++)
        p += a->stride[d] * at[d];
    return a->bytes == 4 ? (double)((const float *)(const void *)p)[k]
                         : ((const double *)(const void *)p)[k];
}

static int flags_at(const grove_compression_array *a, const int64_t at[3])
{
    return a->flags ? a->flags[a->flag_stride[0] * at[0] + a->flag_stride[1] * at[1] +
                               a->flag_stride[2] * at[2]]
                    : 0;
}

/* The 2x2 matrix of a cell, and which of its numbers count. */
static void matrix_at(const grove_compression_array *a, const int64_t at[3], number m[4],
                      bool good[4])
{
    int flags = flags_at(a, at);

    for (int c = 0; c < 4; c++) {
        int k = a->elements == 4 ? c : a->elements == 2 ? c / 2 : 0;
        bool outside = a->elements < 4 && (c == 1 || c == 2);
        double re = real_at(a, at, 2 * k), im = real_at(a, at, 2 * k + 1);
        m[c] = outside ? 0 : re + im * I;
        good[c] = outside ? !(flags & (a->elements == 2 ? 3 : 1))
                          : isfinite(re) && isfinite(im) && !(flags >> k & 1);
    }
}

static double weight_at(const grove_compression_input *in, const int64_t at[3], int c)
{
    const grove_compression_array *a = &in->weights;
    double w = 1;

    if (a->data && a->elements == 2 && (c == 1 || c == 2))
        return 0;
    if (a->data)
        w = real_at(a, at, a->elements == 4 ? c : a->elements == 2 ? c / 2 : 0);
    if (in->data.elements < 4 && (c == 1 || c == 2))
        return 0;
    if (in->data.elements == 1 && c)
        return 0;
    return isfinite(w) && w > 0 ? w : 0;
}

/* A cell: data, weights that are 0 for what is left out, models. */
typedef struct {
    number data[4], model[MAX_GROUPS][4];
    double weight[4];
} sample;

static sample sample_at(const grove_compression_input *in, const int64_t at[3])
{
    bool full = in->form == GROVE_COMPRESSION_FULL, good[4];
    sample s;

    matrix_at(&in->data, at, s.data, good);
    for (int c = 0; c < 4; c++)
        s.weight[c] = good[c] ? weight_at(in, at, c) : 0;
    for (int g = 0; g < in->groups; g++) {
        matrix_at(&in->model[g], at, s.model[g], good);
        bool all = good[0] && good[1] && good[2] && good[3];
        for (int c = 0; c < 4; c++)
            if (full ? !all : !good[c])
                s.weight[c] = 0;
    }
    return s;
}

/* What normal equations say, over cells. */
typedef struct {
    long double count, power, chi2;
    exact normal[MAX_COLUMNS][MAX_COLUMNS], gradient[MAX_COLUMNS];
} truth;

typedef struct {
    number left[4 * MAX_GROUPS], right[4 * MAX_GROUPS];
} sides;

static void add_sample(truth *t, const grove_compression_input *in, const sample *s, const sides *k,
                       const grove_compression_column *column, int columns)
{
    bool full = in->form == GROVE_COMPRESSION_FULL;
    exact v[4] = {0}, part[4], dv[MAX_COLUMNS][4];

    for (int g = 0; g < in->groups; g++) {
        sandwich(k->left + 4 * g, s->model[g], k->right + 4 * g, full, part);
        for (int c = 0; c < 4; c++)
            v[c] += part[c];
    }
    for (int a = 0; a < columns; a++) {
        int g = column[a].group;
        bool p = column[a].side == 'p';
        sandwich(p ? column[a].matrix : k->left + 4 * g, s->model[g],
                 p ? k->right + 4 * g : column[a].matrix, full, dv[a]);
    }
    for (int c = 0; c < 4; c++) {
        if (s->weight[c] == 0)
            continue;
        long double w = s->weight[c];
        exact d = s->data[c], rest = d - v[c];
        t->count += 2;
        t->power += w * creall(d * conjl(d));
        t->chi2 += w * creall(rest * conjl(rest));
        for (int a = 0; a < columns; a++) {
            t->gradient[a] += w * conjl(dv[a][c]) * rest;
            for (int b = 0; b < columns; b++)
                t->normal[a][b] += w * conjl(dv[a][c]) * dv[b][c];
        }
    }
}

static truth add_cells(const grove_compression_input *in, const grove_compression_stretch *box,
                       int64_t baseline, const sides *k, const grove_compression_column *column,
                       int columns)
{
    truth t = {0};

    for (int64_t time = box->time[0]; time < box->time[1]; time++)
        for (int64_t freq = box->freq[0]; freq < box->freq[1]; freq++) {
            const int64_t at[3] = {time, baseline, freq};
            sample s = sample_at(in, at);
            add_sample(&t, in, &s, k, column, columns);
        }
    return t;
}

/* ---- comparisons ---- */

static sides draw_sides(int form)
{
    sides k = {{0}, {0}};

    for (int i = 0; i < 4 * MAX_GROUPS; i++)
        if (form == GROVE_COMPRESSION_FULL || i % 4 == 0 || i % 4 == 3) {
            k.left[i] = draw_number();
            k.right[i] = draw_number();
        }
    return k;
}

static void draw_columns(grove_compression_column *column, int form, int groups)
{
    for (int a = 0; a < MAX_COLUMNS; a++) {
        column[a] = (grove_compression_column){.group = draw_below(groups),
                                               .side = draw_below(2) ? 'p' : 'q'};
        for (int i = 0; i < 4; i++)
            if (form == GROVE_COMPRESSION_FULL || i % 3 == 0)
                column[a].matrix[i] = draw_number();
    }
}

static const double tolerance = 3e-14;

static void compare(const world *w, const grove_compression_stretch *box, int64_t baseline,
                    const double *sums)
{
    const grove_compression_input *in = &w->input;
    grove_compression_column column[MAX_COLUMNS];
    number normal[MAX_COLUMNS * MAX_COLUMNS], gradient[MAX_COLUMNS];
    sides k = draw_sides((int)in->form), next = k;

    draw_columns(column, (int)in->form, in->groups);
    truth t = add_cells(in, box, baseline, &k, column, MAX_COLUMNS);
    double size = (double)(t.power + t.chi2) + 1e-300;
    double chi2 = grove_compression_normal(in->form, in->groups, sums, k.left, k.right, column,
                                           MAX_COLUMNS, normal, gradient);
    ck_assert_double_eq(grove_compression_count(sums), (double)t.count);
    ck_assert_double_eq_tol(grove_compression_power(sums), (double)t.power, tolerance * size);
    ck_assert_double_eq_tol(chi2, (double)t.chi2, 10 * tolerance * size);
    for (int a = 0; a < MAX_COLUMNS; a++) {
        double of_a = sqrt((double)creall(t.normal[a][a]));
        ck_assert_double_le((double)cabsl(gradient[a] - t.gradient[a]),
                            10 * tolerance * of_a * sqrt(size));
        for (int b = 0; b < MAX_COLUMNS; b++) {
            double of_b = sqrt((double)creall(t.normal[b][b]));
            ck_assert_double_le((double)cabsl(normal[a * MAX_COLUMNS + b] - t.normal[a][b]),
                                tolerance * of_a * of_b);
        }
    }
    /* a small step: the difference of the two chi-squareds in long double */
    for (int i = 0; i < 4 * MAX_GROUPS; i++) {
        next.left[i] *= 1 + 1e-6 * draw_number();
        next.right[i] *= 1 + 1e-6 * draw_number();
    }
    truth after = add_cells(in, box, baseline, &next, column, 0);
    grove_compression_sides from = {k.left, k.right}, to = {next.left, next.right};
    double change = grove_compression_change(grove_compression_kernels_now(), in->form, in->groups,
                                             sums, from, to);
    ck_assert_double_eq_tol(change, (double)(after.chi2 - t.chi2),
                            1e-18 * size + 1e-6 * 1e-12 * size);
}

static void check_sums(world *w)
{
    const int64_t from = draw() > 0 ? draw_below((int)w->channels) : 0;
    const grove_compression_stretch box = {{draw_below(2), TIMES}, {from, w->channels}};
    int64_t size = grove_compression_size(w->input.form, w->input.groups);
    double *sums = calloc((size_t)(size * PAIRS), sizeof(*sums));

    ck_assert_int_eq(grove_compression_sum(&w->input, &box, 0, PAIRS, sums), 0);
    for (int64_t b = 0; b < PAIRS; b += 7)
        compare(w, &box, b, sums + size * b);
    free(sums);
    free_world(w);
}

LOOP_TEST(test_sums, 0, 120)
{
    const int form = _i % 2 ? GROVE_COMPRESSION_FULL : GROVE_COMPRESSION_DIAGONAL;

    counter = (uint64_t)_i << 32;
    world w = draw_world(form, 1 + _i / 2 % 3, _i % 5 != 0);
    check_sums(&w);
}

LOOP_TEST(test_plain, 0, 24)
{
    const int form = _i % 2 ? GROVE_COMPRESSION_FULL : GROVE_COMPRESSION_DIAGONAL;
    const int64_t channels[] = {300, 19, 16, 1};

    counter = (uint64_t)(_i + 2000) << 32;
    world w = draw_plain_world(form, channels[_i / 2 % 4], (const int[]){4, 1, 0}[_i / 8]);
    check_sums(&w);
}

LOOP_TEST(test_split, 0, 12)
{
    const int form = _i % 2 ? GROVE_COMPRESSION_FULL : GROVE_COMPRESSION_DIAGONAL;

    counter = (uint64_t)(_i + 1000) << 32;
    world w = _i % 4 < 2 ? draw_world(form, 1 + _i % 3, true) : draw_plain_world(form, 300, 4);
    const int64_t from = w.channels > 16 ? 3 : 0;
    const grove_compression_stretch box = {{0, TIMES}, {from, w.channels}};
    int64_t size = grove_compression_size(w.input.form, w.input.groups);
    double *whole = calloc((size_t)(size * PAIRS), sizeof(*whole));
    double *part = calloc((size_t)(size * PAIRS), sizeof(*part));
    ck_assert_int_eq(grove_compression_sum(&w.input, &box, 0, PAIRS, whole), 0);
    for (int64_t first = 0, last; first < PAIRS; first = last) {
        last = first + 1 + draw_below(40);
        last = last < PAIRS ? last : PAIRS;
        ck_assert_int_eq(grove_compression_sum(&w.input, &box, first, last, part + size * first),
                         0);
    }
    ck_assert_mem_eq(whole, part, sizeof(*whole) * (size_t)(size * PAIRS));

    /* two boxes make the third */
    const grove_compression_stretch halves[2] = {{{0, 1}, {from, w.channels}},
                                                 {{1, TIMES}, {from, w.channels}}};
    double *other = calloc((size_t)(size * PAIRS), sizeof(*other));
    grove_compression_sum(&w.input, &halves[0], 0, PAIRS, part);
    grove_compression_sum(&w.input, &halves[1], 0, PAIRS, other);
    grove_compression_add(part, other, size * PAIRS);
    for (int64_t k = 0; k < size * PAIRS; k++)
        ck_assert_double_eq_tol(part[k], whole[k], 1e-12 * (1 + fabs(whole[k])));
    free(whole);
    free(part);
    free(other);
    free_world(&w);
}

/* The data less the last group, as it is: the same normal equations of the others. */
LOOP_TEST(test_subtract, 0, 12)
{
    enum { LAST = 2, COLUMNS = 2 * LAST };
    const grove_compression_form form =
        _i % 2 ? GROVE_COMPRESSION_FULL : GROVE_COMPRESSION_DIAGONAL;
    double _Complex left[4 * (LAST + 1)], right[4 * (LAST + 1)];
    double _Complex normal[2][COLUMNS * COLUMNS], gradient[2][COLUMNS];
    grove_compression_column columns[COLUMNS];
    double rest[1000], chi2[2];

    counter = (uint64_t)(_i + 3000) << 32;
    world w = draw_world((int)form, LAST + 1, _i % 3 != 0);
    const grove_compression_stretch box = {{0, TIMES}, {0, w.channels}};
    int64_t size = grove_compression_size(form, LAST + 1),
            less = grove_compression_size(form, LAST);
    double *sums = calloc((size_t)(size * PAIRS), sizeof(*sums));
    ck_assert_int_eq(grove_compression_sum(&w.input, &box, 0, PAIRS, sums), 0);
    ck_assert_int_le((int)less, (int)(sizeof(rest) / sizeof(rest[0])));
    for (int k = 0; k < 4 * LAST; k++) {
        bool zero = form == GROVE_COMPRESSION_DIAGONAL && k % 4 % 3;
        left[k] = zero ? 0 : draw() + I * draw();
        right[k] = zero ? 0 : draw() + I * draw();
        columns[k / 2] = (grove_compression_column){k / 4, k % 4 < 2 ? 'p' : 'q', {0}};
        columns[k / 2].matrix[k % 2 ? 3 : 0] = draw() + I * draw();
    }
    for (int k = 0; k < 4; k++)
        left[4 * LAST + k] = right[4 * LAST + k] = k % 3 == 0;
    for (int64_t b = 0; b < PAIRS; b += 5) {
        grove_compression_subtract_last(form, LAST + 1, sums + size * b, rest);
        chi2[0] = grove_compression_normal(form, LAST + 1, sums + size * b, left, right, columns,
                                           COLUMNS, normal[0], gradient[0]);
        chi2[1] = grove_compression_normal(form, LAST, rest, left, right, columns, COLUMNS,
                                           normal[1], gradient[1]);
        double scale = 1e-11 * (1 + grove_compression_power(sums + size * b) + fabs(chi2[0]));
        ck_assert_double_eq(grove_compression_count(rest),
                            grove_compression_count(sums + size * b));
        ck_assert_double_eq_tol(chi2[1], chi2[0], scale);
        for (int k = 0; k < COLUMNS; k++)
            ck_assert_double_le(cabs(gradient[1][k] - gradient[0][k]), scale);
        for (int k = 0; k < COLUMNS * COLUMNS; k++)
            ck_assert_double_le(cabs(normal[1][k] - normal[0][k]), scale);
    }
    free(sums);
    free_world(&w);
}

SUITE(300, NULL, NULL)
