/* Compressed sums against sums over cells in long double: every shape, precision and form, flags,
 * weights, numbers that are not finite. Normal equations and chi-squared from them against the same
 * sums. Gains of stations recovered from them. */
#include "nodes/compression.h"
#include "nodes/stefcal.h"

#include "cell.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef double _Complex number;
typedef long double _Complex exact;

enum { TIMES = 3, CHANNELS = 41, PAIRS = 70, MAX_GROUPS = 3, MAX_COLUMNS = 6 };

static uint64_t counter;

static double draw(void)
{
    return 2 * grove_random_uniform(grove_random_bits(11, counter++, 0, 0, 0)) - 1;
}

static int draw_below(int n)
{
    return (int)(0.5 * (draw() + 1) * n) % n;
}

static number draw_number(void)
{
    double re = draw(), im = draw();

    return re + im * I;
}

/* ---- random input ---- */

typedef struct {
    grove_compression_input input;
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
    const int64_t size[3] = {TIMES, PAIRS, CHANNELS};
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
    int elements = draw_elements();

    if (form == GROVE_COMPRESSION_FULL && elements == 1)
        elements = 2;
    w.input.data = draw_array(&w, elements, 2, 4 + 4 * draw_below(2), 7, spoilt);
    if (draw() > -0.5)
        w.input.weights =
            draw_array(&w, draw_elements(), 1, 4 + 4 * draw_below(2), draw_below(8), spoilt);
    w.input.weights.flags = NULL;
    for (int g = 0; g < groups; g++)
        w.input.model[g] = draw_array(&w, draw_elements(), 2, 4 + 4 * draw_below(2),
                                      draw_below(2) ? 7 : draw_below(8), spoilt && draw() > 0);
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

/* L M R^H in long double. */
static void sandwich(const number *l, const number *m, const number *r, bool full, exact v[4])
{
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            v[2 * i + j] = 0;
            for (int a = 0; a < 2; a++)
                for (int b = 0; b < 2; b++)
                    if (full || (a == i && b == j))
                        v[2 * i + j] +=
                            (exact)l[2 * i + a] * (exact)m[2 * a + b] * (exact)conj(r[2 * j + b]);
        }
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
    double change = grove_compression_change(in->form, in->groups, sums,
                                             (grove_compression_sides){k.left, k.right},
                                             (grove_compression_sides){next.left, next.right});
    ck_assert_double_eq_tol(change, (double)(after.chi2 - t.chi2),
                            1e-18 * size + 1e-6 * 1e-12 * size);
}

START_TEST(test_sums)
{
    const int form = _i % 2 ? GROVE_COMPRESSION_FULL : GROVE_COMPRESSION_DIAGONAL;
    const int groups = 1 + _i / 2 % 3;

    counter = (uint64_t)_i << 32;
    const grove_compression_stretch box = {{draw_below(2), TIMES}, {draw_below(8), CHANNELS}};
    world w = draw_world(form, groups, _i % 5 != 0);
    int64_t size = grove_compression_size(w.input.form, groups);
    double *sums = calloc((size_t)(size * PAIRS), sizeof(*sums));

    ck_assert_int_eq(grove_compression_sum(&w.input, &box, 0, PAIRS, sums), 0);
    for (int64_t b = 0; b < PAIRS; b += 7)
        compare(&w, &box, b, sums + size * b);
    free(sums);
    free_world(&w);
}
END_TEST

START_TEST(test_split)
{
    const int form = _i % 2 ? GROVE_COMPRESSION_FULL : GROVE_COMPRESSION_DIAGONAL;
    const grove_compression_stretch box = {{0, TIMES}, {3, CHANNELS}};

    counter = (uint64_t)(_i + 1000) << 32;
    world w = draw_world(form, 1 + _i % 3, true);
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
    const grove_compression_stretch halves[2] = {{{0, 1}, {3, CHANNELS}},
                                                 {{1, TIMES}, {3, CHANNELS}}};
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
END_TEST

/* ---- gains of stations ---- */

enum { STATIONS = 12, BASELINES = STATIONS * (STATIONS + 1) / 2, STEPS = 4, BANDS = 5 };
enum { SILENT = 3 }; /* a station whose data are all flagged */

/* Data made of known Jones matrices, in double, [time][baseline][freq]. */
typedef struct {
    grove_compression_input input;
    int32_t left[BASELINES], right[BASELINES];
    number data[STEPS * BASELINES * BANDS][4], model[MAX_GROUPS][STEPS * BASELINES * BANDS][4];
    double weight[STEPS * BASELINES * BANDS][4];
    unsigned char flags[STEPS * BASELINES * BANDS];
    number truth[STATIONS][4 * MAX_GROUPS];
} array_;

static grove_compression_array view_of(const void *data, int numbers)
{
    const int64_t cell = 4 * numbers * 8;

    return (grove_compression_array){.data = data,
                                     .stride = {cell * BANDS * BASELINES, cell * BANDS, cell},
                                     .flag_stride = {BANDS * BASELINES, BANDS, 1},
                                     .elements = 4,
                                     .bytes = 8};
}

static number draw_gain(grove_stefcal_part part)
{
    double size = part == GROVE_STEFCAL_PHASE ? 1 : 1 + 0.3 * draw();
    double phase = part == GROVE_STEFCAL_AMPLITUDE ? 0 : draw();

    return size * (cos(phase) + sin(phase) * I);
}

static void draw_truth(array_ *a, const grove_stefcal_problem *p)
{
    for (int s = 0; s < STATIONS; s++)
        for (int g = 0; g < p->groups; g++) {
            number *k = a->truth[s] + 4 * g;
            k[0] = draw_gain(p->part);
            k[3] = p->jones == GROVE_STEFCAL_SCALAR ? k[0] : draw_gain(p->part);
            if (p->jones == GROVE_STEFCAL_FULL) {
                k[1] = 0.15 * draw_number();
                k[2] = 0.15 * draw_number();
            }
        }
}

/* A model that every baseline, time and channel sees otherwise; polarised, or a number times 1. */
static void draw_model(array_ *a, int groups, bool polarised)
{
    for (int g = 0; g < groups; g++)
        for (int k = 0; k < STEPS * BASELINES * BANDS; k++) {
            number i = 1.5 * (g == 0) + draw_number();
            for (int c = 0; c < 4; c++)
                a->model[g][k][c] = (c % 3 ? 0 : i) + (polarised ? 0.4 : 0) * draw_number();
        }
}

static void make_data(array_ *a, const grove_stefcal_problem *p)
{
    const bool full = p->jones == GROVE_STEFCAL_FULL;
    exact part[4];

    for (int k = 0; k < STEPS * BASELINES * BANDS; k++) {
        int b = k / BANDS % BASELINES;
        for (int g = 0; g < p->groups; g++) {
            sandwich(a->truth[a->left[b]] + 4 * g, a->model[g][k], a->truth[a->right[b]] + 4 * g,
                     full, part);
            for (int c = 0; c < 4; c++)
                a->data[k][c] += (number)part[c];
        }
        for (int c = 0; c < 4; c++)
            a->weight[k][c] = 0.2 + fabs(draw());
        a->flags[k] = draw() > 0.4 ? (unsigned char)draw_below(16) : 0;
        if (a->left[b] == SILENT || a->right[b] == SILENT || a->left[b] == a->right[b]) {
            a->flags[k] = a->left[b] == a->right[b] && a->left[b] != SILENT ? 0 : 15;
            a->data[k][0] = NAN; /* and of an autocorrelation, the whole is wrong */
            for (int c = 1; c < 4; c++)
                a->data[k][c] = 100;
        }
    }
}

static array_ *make_array(const grove_stefcal_problem *p, bool polarised)
{
    array_ *a = calloc(1, sizeof(*a));
    int b = 0;

    ck_assert_ptr_nonnull(a);
    for (int i = 0; i < STATIONS; i++)
        for (int j = i; j < STATIONS; j++, b++) { /* in both orders */
            a->left[b] = (i + j) % 3 ? i : j;
            a->right[b] = (i + j) % 3 ? j : i;
        }
    draw_truth(a, p);
    draw_model(a, p->groups, polarised);
    make_data(a, p);
    a->input.form =
        p->jones == GROVE_STEFCAL_FULL ? GROVE_COMPRESSION_FULL : GROVE_COMPRESSION_DIAGONAL;
    a->input.groups = p->groups;
    a->input.data = view_of(a->data, 2);
    a->input.data.flags = a->flags;
    a->input.weights = view_of(a->weight, 1);
    for (int g = 0; g < p->groups; g++)
        a->input.model[g] = view_of(a->model[g], 2);
    return a;
}

/* L M R^H of the solution against that of the truth: what degeneracies leave alone. */
static double error_of(const array_ *a, const grove_stefcal_problem *p, const number *jones)
{
    double error = 0, norm = 0;
    exact found[4], wanted[4];

    for (int k = 0; k < STEPS * BASELINES * BANDS; k++) {
        int l = a->left[k / BANDS % BASELINES], r = a->right[k / BANDS % BASELINES];
        if (l == SILENT || r == SILENT || l == r)
            continue;
        for (int g = 0; g < p->groups; g++) {
            const int64_t at = 4 * g, n = 4 * p->groups;
            bool full = p->jones == GROVE_STEFCAL_FULL;
            sandwich(jones + n * l + at, a->model[g][k], jones + n * r + at, full, found);
            sandwich(a->truth[l] + at, a->model[g][k], a->truth[r] + at, full, wanted);
            for (int c = 0; c < 4; c++) {
                error += (double)(creall((found[c] - wanted[c]) * conjl(found[c] - wanted[c])));
                norm += (double)creall(wanted[c] * conjl(wanted[c]));
            }
        }
    }
    return sqrt(error / norm);
}

static const struct {
    grove_stefcal_jones jones;
    grove_stefcal_part part;
    int groups;
    bool polarised;
} cases[] = {
    {GROVE_STEFCAL_SCALAR, GROVE_STEFCAL_COMPLEX, 1, false},
    {GROVE_STEFCAL_SCALAR, GROVE_STEFCAL_PHASE, 1, true},
    {GROVE_STEFCAL_DIAGONAL, GROVE_STEFCAL_COMPLEX, 1, false},
    {GROVE_STEFCAL_DIAGONAL, GROVE_STEFCAL_COMPLEX, 1, true},
    {GROVE_STEFCAL_DIAGONAL, GROVE_STEFCAL_PHASE, 1, false},
    {GROVE_STEFCAL_DIAGONAL, GROVE_STEFCAL_AMPLITUDE, 1, true},
    {GROVE_STEFCAL_FULL, GROVE_STEFCAL_COMPLEX, 1, false},
    {GROVE_STEFCAL_FULL, GROVE_STEFCAL_COMPLEX, 1, true},
    {GROVE_STEFCAL_SCALAR, GROVE_STEFCAL_COMPLEX, 2, false},
    {GROVE_STEFCAL_DIAGONAL, GROVE_STEFCAL_COMPLEX, 3, true},
    {GROVE_STEFCAL_DIAGONAL, GROVE_STEFCAL_PHASE, 2, true},
    {GROVE_STEFCAL_FULL, GROVE_STEFCAL_COMPLEX, 2, true},
};
enum { CASES = sizeof(cases) / sizeof(cases[0]) };

static grove_stefcal_problem problem_of(int k)
{
    return (grove_stefcal_problem){.jones = cases[k].jones,
                                   .part = cases[k].part,
                                   .groups = cases[k].groups,
                                   .stations = STATIONS,
                                   .baselines = BASELINES,
                                   .max_iterations = 2000,
                                   .tolerance = 1e-12};
}

static double *sum_of(const array_ *a)
{
    const grove_compression_stretch box = {{0, STEPS}, {0, BANDS}};
    int64_t size = grove_compression_size(a->input.form, a->input.groups);
    double *sums = calloc((size_t)(size * BASELINES), sizeof(*sums));

    ck_assert_ptr_nonnull(sums);
    ck_assert_int_eq(grove_compression_sum(&a->input, &box, 0, BASELINES, sums), 0);
    return sums;
}

START_TEST(test_stefcal)
{
    grove_stefcal_problem p = problem_of(_i);
    grove_stefcal_result result;
    number jones[STATIONS * 4 * MAX_GROUPS] = {0};
    bool solved[STATIONS];

    counter = (uint64_t)(_i + 2000) << 32;
    array_ *a = make_array(&p, cases[_i].polarised);
    p.left = a->left;
    p.right = a->right;
    double *sums = sum_of(a);
    for (int k = 0; k < STATIONS * p.groups; k++)
        jones[4 * k] = jones[4 * k + 3] = k / p.groups == SILENT ? 1.25 : 1;
    ck_assert_int_eq(grove_stefcal_solve(&p, sums, jones, solved, &result), 0);
    ck_assert_int_eq(result.outcome, GROVE_STEFCAL_CONVERGED);
    ck_assert_double_le(error_of(a, &p, jones), 1e-9);
    ck_assert_double_lt(result.change, 0);
    for (int s = 0; s < STATIONS; s++)
        ck_assert_int_eq(solved[s], s != SILENT);
    for (int k = 0; k < 4 * p.groups; k++)
        ck_assert(jones[SILENT * 4 * p.groups + k] == (k % 4 % 3 ? 0 : 1.25));
    free(sums);
    free(a);
}
END_TEST

/* A problem of one kind, solved from gains of 1 with the sums of a station (-1: of all) scaled; 0
 * takes the numbers of data as well. */
static grove_stefcal_result solve(grove_stefcal_problem *p, double scale, int station,
                                  number *jones)
{
    grove_stefcal_result result;

    counter = 77ull << 32;
    array_ *a = make_array(p, true);
    p->left = a->left;
    p->right = a->right;
    double *sums = sum_of(a);
    int64_t size = grove_compression_size(a->input.form, p->groups);
    for (int64_t b = 0; b < BASELINES; b++)
        for (int64_t k = scale == 0 ? 0 : 8; k < size; k++)
            if (station < 0 || a->left[b] == station || a->right[b] == station)
                sums[b * size + k] *= scale;
    for (int k = 0; k < STATIONS * p->groups; k++)
        jones[4 * k] = jones[4 * k + 3] = 1;
    ck_assert_int_eq(grove_stefcal_solve(p, sums, jones, NULL, &result), 0);
    free(sums);
    free(a);
    return result;
}

static void is_start(const number *jones)
{
    for (int k = 0; k < 4 * STATIONS; k++)
        ck_assert(jones[k] == (k % 4 % 3 ? 0 : 1));
}

START_TEST(test_outcomes)
{
    grove_stefcal_problem p = problem_of(_i);
    number jones[STATIONS * 4 * MAX_GROUPS] = {0};

    grove_stefcal_result r = solve(&p, 0, -1, jones);
    ck_assert_int_eq(r.outcome, GROVE_STEFCAL_NO_DATA);
    is_start(jones);
    r = solve(&p, 1e308, 5, jones);
    ck_assert_int_eq(r.outcome, GROVE_STEFCAL_DIVERGED);
    is_start(jones);
    p.max_iterations = 6;
    r = solve(&p, 1, -1, jones);
    ck_assert_int_eq(r.outcome, GROVE_STEFCAL_LIMIT);
    ck_assert_int_eq(r.iterations, 6);
    ck_assert_double_lt(r.change, 0);
    p.max_iterations = 2000;
    p.tolerance = 1e-300;
    p.patience = 3;
    r = solve(&p, 1, -1, jones);
    ck_assert_int_eq(r.outcome, GROVE_STEFCAL_LIMIT);
    ck_assert_int_lt(r.iterations, 100);
    ck_assert_double_le(r.increment, 1e-6);
}
END_TEST

/* Where nothing tells two polarisations or, with a full matrix, bases apart, iterations end all the
 * same; two stations alone, too. */
START_TEST(test_degenerate)
{
    grove_stefcal_problem p = problem_of(_i ? 6 : 2);
    grove_stefcal_result result;
    number jones[STATIONS * 4] = {0};

    counter = 99ull << 32;
    array_ *a = make_array(&p, false);
    for (int k = 0; k < STEPS * BASELINES * BANDS; k++)
        if (a->left[k / BANDS % BASELINES] > 1 || a->right[k / BANDS % BASELINES] > 1)
            a->flags[k] = 15;
    p.left = a->left;
    p.right = a->right;
    double *sums = sum_of(a);
    for (int k = 0; k < STATIONS; k++)
        jones[4 * k] = jones[4 * k + 3] = 1;
    ck_assert_int_eq(grove_stefcal_solve(&p, sums, jones, NULL, &result), 0);
    ck_assert_int_eq(result.outcome, GROVE_STEFCAL_CONVERGED);
    for (int k = 0; k < STEPS * BASELINES * BANDS; k++) {
        int l = a->left[k / BANDS % BASELINES], r = a->right[k / BANDS % BASELINES];
        exact v[4];
        if (l == r || l > 1 || r > 1)
            continue;
        sandwich(jones + 4 * l, a->model[0][k], jones + 4 * r, _i, v);
        for (int c = 0; c < 4; c++)
            ck_assert_double_le((double)cabsl(v[c] - a->data[k][c]), 1e-9);
    }
    for (int k = 4 * 2; k < 4 * STATIONS; k++)
        ck_assert(jones[k] == (k % 4 % 3 ? 0 : 1));
    free(sums);
    free(a);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *s = suite_create("compression");
    TCase *sums = tcase_create("sums"), *gains = tcase_create("gains");

    tcase_set_timeout(sums, 300);
    tcase_add_loop_test(sums, test_sums, 0, 120);
    tcase_add_loop_test(sums, test_split, 0, 12);
    suite_add_tcase(s, sums);
    tcase_set_timeout(gains, 300);
    tcase_add_loop_test(gains, test_stefcal, 0, CASES);
    tcase_add_loop_test(gains, test_outcomes, 0, 8);
    tcase_add_loop_test(gains, test_degenerate, 0, 2);
    suite_add_tcase(s, gains);
    return s;
}

int main(void)
{
    SRunner *runner = srunner_create(make_suite());

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
