/* Jones matrices of stations recovered from compressed sums, without their degeneracies; what
 * becomes of stations without data, and how the iterations end. */
#include "compression-testing.h"

#include "nodes/fit/stefcal.h"
#include "tests/common/suite.h"

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

static number draw_gain(void)
{
    double size = 1 + 0.3 * draw(), phase = draw();

    return size * (cos(phase) + sin(phase) * I);
}

/* What iterations begin with: 1, or what is not solved for. */
static number start_of(grove_stefcal_part part, number truth)
{
    return part == GROVE_STEFCAL_PHASE       ? cabs(truth)
           : part == GROVE_STEFCAL_AMPLITUDE ? truth / cabs(truth)
                                             : 1;
}

static void draw_truth(array_ *a, const grove_stefcal_problem *p)
{
    for (int s = 0; s < STATIONS; s++)
        for (int g = 0; g < p->groups; g++) {
            number *k = a->truth[s] + 4 * g;
            k[0] = draw_gain();
            k[3] = p->jones == GROVE_STEFCAL_SCALAR ? k[0] : draw_gain();
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
    return suite_keep(a);
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
    return suite_keep(sums);
}

LOOP_TEST(test_stefcal, 0, CASES)
{
    grove_stefcal_problem p = problem_of(_i);
    grove_stefcal_result result;
    number jones[STATIONS * 4 * MAX_GROUPS] = {0};
    bool solved[STATIONS * 4 * MAX_GROUPS];

    counter = (uint64_t)(_i + 2000) << 32;
    array_ *a = make_array(&p, cases[_i].polarised);
    p.left = a->left;
    p.right = a->right;
    double *sums = sum_of(a);
    for (int k = 0; k < STATIONS * p.groups; k++)
        for (int e = 0; e < 4; e += 3)
            jones[4 * k + e] =
                k / p.groups == SILENT
                    ? 1.25
                    : start_of(p.part, a->truth[k / p.groups][4 * (k % p.groups) + e]);
    ck_assert_int_eq(grove_stefcal_solve(&p, sums, jones, solved, &result), 0);
    ck_assert_int_eq(result.outcome, GROVE_STEFCAL_CONVERGED);
    ck_assert_double_le(error_of(a, &p, jones), 1e-9);
    ck_assert_double_lt(result.change, 0);
    for (int k = 0; k < STATIONS * p.groups; k++)
        for (int e = 0; e < 4; e += 3)
            ck_assert_int_eq(solved[4 * k + e], k / p.groups != SILENT);
    for (int k = 0; k < 4 * p.groups; k++)
        ck_assert(jones[SILENT * 4 * p.groups + k] == (k % 4 % 3 ? 0 : 1.25));
    /* a solution is one at once */
    p.tolerance = 1e-9;
    ck_assert_int_eq(grove_stefcal_solve(&p, sums, jones, solved, &result), 0);
    ck_assert_int_eq(result.outcome, GROVE_STEFCAL_CONVERGED);
    ck_assert_int_eq(result.iterations, 1);
}

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
    return result;
}

static void is_start(const number *jones)
{
    for (int k = 0; k < 4 * STATIONS; k++)
        ck_assert(jones[k] == (k % 4 % 3 ? 0 : 1));
}

LOOP_TEST(test_outcomes, 0, 8)
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
    ck_assert_double_le(r.increment, 1e-5);
}

/* Where nothing tells two polarisations or, with a full matrix, bases apart, iterations end all the
 * same; two stations alone, too. */
LOOP_TEST(test_degenerate, 0, 2)
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
}

SUITE(300, NULL, NULL)
