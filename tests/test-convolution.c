/* Gridding by given functions against its definition, cell by cell in long double: the block of one
 * visibility, its adjoint, weights, planes of w, what leaves the grid; the same bits for any order
 * of the tiles. Random functions, odd and even supports and oversampling, all instruction sets. */
#include "../kernels/convolution/convolution.h"
#include "../kernels/convolution/convolution_fit.h"
#include "gridder-testing.h"

#include <check.h>
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const long double light = 299792458.0L, turn = 2 * 3.14159265358979323846264338327950288L;

static const struct {
    int64_t grid[2];
    int support, oversampling;
    int64_t planes;
    double turn[3];
    bool double_precision;
} cases[] = {
    {{64, 64}, 7, 8, 1, {0}, false},     {{96, 64}, 8, 5, 3, {1e-3, -2e-3, -1e-4}, true},
    {{50, 61}, 1, 1, 2, {0}, true},      {{128, 96}, 33, 3, 2, {0, 0, 1e-4}, true},
    {{64, 70}, 17, 2, 1, {1e-4}, false}, {{33, 32}, 31, 1, 2, {0}, true},
};

enum { ROWS = 60, CHANNELS = 5 };

typedef struct {
    grove_convolution_plan plan;
    size_t real;
    int64_t fine;
    double uvw[3 * ROWS], freq[CHANNELS];
    void *functions, *data, *weight;
    long double complex *grid; /* by the definition */
    int64_t outside;
    long double outside_weight;
} world;

static uint64_t state = 1;

static double uniform(double low, double high)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(state >> 11) / 9007199254740992.0;
}

static double get(const void *at, int64_t k, size_t real)
{
    return real == sizeof(double) ? ((const double *)at)[k] : (double)((const float *)at)[k];
}

static void *random_numbers(int64_t count, double low, size_t real)
{
    void *at = malloc((size_t)count * real);

    for (int64_t k = 0; k < count; k++)
        if (real == sizeof(double))
            ((double *)at)[k] = uniform(low, 1);
        else
            ((float *)at)[k] = (float)uniform(low, 1);
    return at;
}

static void begin(world *w, int i)
{
    const double lambda = 0.2;

    *w = (world){.real = cases[i].double_precision ? sizeof(double) : sizeof(float),
                 .fine = (int64_t)cases[i].support * cases[i].oversampling};
    w->plan = (grove_convolution_plan){.grid = {cases[i].grid[0], cases[i].grid[1]},
                                       .scale = {0.01, 0.02},
                                       .support = cases[i].support,
                                       .oversampling = cases[i].oversampling,
                                       .planes = cases[i].planes,
                                       .step_w = cases[i].planes > 1 ? 500 : 0,
                                       .double_precision = cases[i].double_precision};
    memcpy(w->plan.turn, cases[i].turn, sizeof(w->plan.turn));
    for (int k = 0; k < CHANNELS; k++)
        w->freq[k] = (double)light / lambda * (1 + 0.01 * k);
    for (int r = 0; r < ROWS; r++)
        for (int k = 0; k < 3; k++) {
            const double reach = k < 2 ? 0.6 * (double)w->plan.grid[k] / w->plan.scale[k]
                                       : 500 * (double)w->plan.planes;
            w->uvw[3 * r + k] = uniform(-reach, reach) * lambda;
        }
    w->uvw[3] = NAN;
    w->uvw[3 * 2 + 2] = 0;
    memset(w->uvw + 3 * 3, 0, 3 * sizeof(double));
    w->functions = random_numbers(2 * w->plan.planes * w->fine * w->fine, -1, w->real);
    w->data = random_numbers(2 * ROWS * CHANNELS, -1, w->real);
    w->weight = random_numbers(ROWS * CHANNELS, 0.1, w->real);
    for (int k = 0; k < 4; k++) { /* not read */
        memset((char *)w->weight + (size_t)(20 + k) * w->real, 0, w->real);
        memset((char *)w->data + (size_t)(40 + 2 * k) * w->real, 0xff, w->real);
    }
    w->grid = calloc((size_t)(w->plan.grid[0] * w->plan.grid[1]), sizeof(*w->grid));
}

static void end(world *w)
{
    free(w->functions);
    free(w->data);
    free(w->weight);
    free(w->grid);
}

/* Adds one sample to the grid by the definition, or (`seen`) sums what it sees of `grid`. */
static bool one(world *w, int64_t i, const void *grid, long double complex *seen)
{
    const grove_convolution_plan *p = &w->plan;
    const double *uvw = w->uvw + 3 * (i / CHANNELS), sign = uvw[2] < 0 ? -1 : 1;
    const long double wave = (long double)w->freq[i % CHANNELS] / light;
    long double turns = 0;
    long double complex value =
        get(w->data, 2 * i, w->real) + I * sign * get(w->data, 2 * i + 1, w->real);
    int64_t at[2], plane = 0;

    for (int d = 0; d < 3; d++)
        turns += sign * uvw[d] * wave * p->turn[d];
    value *= get(w->weight, i, w->real) * cexpl(I * turn * turns);
    if (p->step_w > 0)
        plane = llrintl(sign * uvw[2] * wave / p->step_w);
    for (int d = 0; d < 2; d++) {
        if (!isfinite(uvw[d]))
            return false;
        at[d] = llrintl(sign * uvw[d] * wave * p->scale[d] * p->oversampling) +
                p->grid[d] / 2 * p->oversampling;
    }
    if (plane >= p->planes)
        return false;
    long double complex sum = 0;
    int64_t cells = 0;
    for (int pass = seen ? 1 : 0; pass < 2; pass++)
        for (int64_t v = -p->support; v < p->grid[1] + p->support; v++)
            for (int64_t u = -p->support; u < p->grid[0] + p->support; u++) {
                int64_t j = v * p->oversampling - at[1] + w->fine / 2,
                        k = u * p->oversampling - at[0] + w->fine / 2;
                if (j < 0 || j >= w->fine || k < 0 || k >= w->fine)
                    continue;
                bool within = u >= 0 && v >= 0 && u < p->grid[0] && v < p->grid[1];
                cells += (seen || !pass) && within;
                if (!within && seen)
                    return false;
                if (!within || !pass || (!seen && cells < (int64_t)p->support * p->support))
                    continue;
                const int64_t number = 2 * ((plane * w->fine + j) * w->fine + k),
                              cell = v * p->grid[0] + u;
                long double complex c =
                    get(w->functions, number, w->real) + I * get(w->functions, number + 1, w->real);
                if (seen)
                    sum += conjl(c) *
                           (get(grid, 2 * cell, w->real) + I * get(grid, 2 * cell + 1, w->real));
                else
                    w->grid[cell] += c * value;
            }
    if (seen) {
        sum *= cexpl(-I * turn * turns);
        *seen = sign < 0 ? conjl(sum) : sum;
    }
    return cells == (int64_t)p->support * p->support;
}

static void check_spread(world *w, grove_isa isa, const grove_gridder_samples *samples)
{
    const int64_t cells = w->plan.grid[0] * w->plan.grid[1];
    const double tolerance = w->real == sizeof(double) ? 1e-13 : 1e-4;
    grove_gridder_outside outside = {0}, again = {0};
    grove_convolution *a = grove_convolution_new(&w->plan, w->functions, isa),
                      *b = grove_convolution_new(&w->plan, w->functions, isa);

    ck_assert(a && b);
    ck_assert_int_eq(grove_convolution_add(a, samples, &in_order, &outside), 0);
    ck_assert_int_eq(grove_convolution_add(b, samples, &backwards, &again), 0);
    ck_assert_int_eq(outside.samples, w->outside);
    ck_assert_double_eq_tol(outside.weight, w->outside_weight, 1e-5);
    ck_assert_mem_eq(grove_convolution_grid(a), grove_convolution_grid(b),
                     (size_t)cells * 2 * w->real);
    for (int64_t k = 0; k < cells; k++) {
        ck_assert_double_eq_tol(get(grove_convolution_grid(a), 2 * k, w->real), creall(w->grid[k]),
                                tolerance);
        ck_assert_double_eq_tol(get(grove_convolution_grid(a), 2 * k + 1, w->real),
                                cimagl(w->grid[k]), tolerance);
    }
    grove_convolution_free(a);
    grove_convolution_free(b);
}

static void check_collect(world *w, grove_isa isa, const grove_gridder_samples *samples)
{
    const int64_t cells = w->plan.grid[0] * w->plan.grid[1];
    const double tolerance = w->real == sizeof(double) ? 1e-12 : 1e-3;
    void *grid = random_numbers(2 * cells, -1, w->real),
         *data = malloc(2 * ROWS * CHANNELS * w->real);
    grove_gridder_samples to = *samples;
    grove_gridder_outside outside = {0};
    grove_convolution *c = grove_convolution_new(&w->plan, w->functions, isa);
    int64_t left_out = 0;

    ck_assert_ptr_nonnull(c);
    to.data = data;
    memcpy(grove_convolution_grid(c), grid, (size_t)cells * 2 * w->real);
    ck_assert_int_eq(grove_convolution_predict(c, &to, &backwards, &outside), 0);
    for (int64_t i = 0; i < ROWS * CHANNELS; i++) {
        long double complex seen = 0;
        if (!one(w, i, grid, &seen)) {
            left_out++;
            seen = 0;
        }
        ck_assert_double_eq_tol(get(data, 2 * i, w->real), creall(seen), tolerance);
        ck_assert_double_eq_tol(get(data, 2 * i + 1, w->real), cimagl(seen), tolerance);
    }
    ck_assert_int_eq(outside.samples, left_out);
    ck_assert_int_gt(left_out, 0);
    ck_assert_int_lt(left_out, ROWS * CHANNELS);
    free(grid);
    free(data);
    grove_convolution_free(c);
}

START_TEST(blocks_of_cells)
{
    world w;

    begin(&w, _i);
    const grove_gridder_samples samples = {.rows = ROWS,
                                           .channels = CHANNELS,
                                           .uvw = w.uvw,
                                           .freq = w.freq,
                                           .data = w.data,
                                           .weight = w.weight};
    for (int64_t i = 0; i < ROWS * CHANNELS; i++)
        if (get(w.weight, i, w.real) != 0 && !one(&w, i, NULL, NULL)) {
            w.outside++;
            w.outside_weight += get(w.weight, i, w.real);
        }
    for (int isa = 0; isa < GROVE_ISAS; isa++)
        if (grove_isa_works((grove_isa)isa)) {
            check_spread(&w, (grove_isa)isa, &samples);
            check_collect(&w, (grove_isa)isa, &samples);
        }
    end(&w);
}
END_TEST

/* Functions of a sky that one support can hold are found: those of the kernel itself, whose numbers
 * are its values; and of a shift by a cell. */
START_TEST(fits)
{
    enum { SUPPORT = 12, OVERSAMPLING = 4, PLACES = 81 };
    const int shift = _i - 1;
    grove_gridder_kernel kernel;
    double x[PLACES], seen[2 * SUPPORT];
    double complex *fit = malloc(sizeof(*fit) * SUPPORT * OVERSAMPLING * PLACES);

    grove_gridder_kernel_choose(8, 2, &kernel);
    for (int k = 0; k < PLACES; k++)
        x[k] = 0.5 * (k - 40) / (PLACES - 1);
    ck_assert_int_eq(
        grove_convolution_fit(&kernel, SUPPORT, OVERSAMPLING, x, PLACES, (double *)fit), 0);
    for (int q = 0; q < OVERSAMPLING; q++) {
        double complex c[SUPPORT];
        for (int i = 0; i < SUPPORT; i++) {
            c[i] = 0;
            for (int k = 0; k < PLACES; k++)
                c[i] +=
                    fit[(i * OVERSAMPLING + q) * PLACES + k] * cexp(2 * M_PI * I * shift * x[k]);
        }
        for (int k = 0; k < PLACES; k++) {
            double complex sum = 0;
            for (int i = 0; i < SUPPORT; i++) {
                double at = i + (q - SUPPORT * OVERSAMPLING / 2) / (double)OVERSAMPLING;
                sum += c[i] * cexp(2 * M_PI * I * at * x[k]) /
                       grove_gridder_kernel_transform(&kernel, x[k]);
            }
            ck_assert_double_lt(cabs(sum - cexp(2 * M_PI * I * shift * x[k])), 2e-5);
        }
        grove_convolution_see(&kernel, SUPPORT, OVERSAMPLING, x[3], seen);
        double complex first = 0;
        for (int i = 0; i < SUPPORT && !q; i++)
            first += c[i] * (seen[2 * i] + I * seen[2 * i + 1]);
        if (!q)
            ck_assert_double_lt(cabs(first - cexp(2 * M_PI * I * shift * x[3])), 2e-5);
    }
    free(fit);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("convolution");
    TCase *test = tcase_create("all");

    tcase_set_timeout(test, 120);
    tcase_add_loop_test(test, blocks_of_cells, 0, sizeof(cases) / sizeof(cases[0]));
    tcase_add_loop_test(test, fits, 0, 3);
    suite_add_tcase(suite, test);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
