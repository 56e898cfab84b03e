/* Gridding by given functions against its definition, cell by cell in long double: the block of one
 * visibility, its adjoint, weights, planes of w, what leaves the grid; the same bits for any order
 * of the tiles. Random functions, odd and even supports and oversampling, all instruction sets.
 * GROVE_TEST_CONFIGURATIONS is 20 times how many configurations there are beside the fixed ones,
 * GROVE_TEST_SEED where they begin. */
#include "../kernels/imaging/convolution/convolution.h"
#include "../kernels/imaging/convolution/convolution_fit.h"
#include "gridder-testing.h"
#include "random-numbers.h"
#include "tests/common/suite.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const long double light = 299792458.0L, turn = 2 * 3.14159265358979323846264338327950288L;

typedef struct {
    int64_t grid[2];
    int support, oversampling;
    int64_t functions, planes;
    int visibilities, images;
    double turn[3];
    bool gradient, double_precision, linear;
} configuration;

static const configuration cases[] = {
    {{64, 64}, 7, 8, 1, 1, 1, 1, {0}, false, false, false},
    {{96, 64}, 8, 5, 1, 3, 1, 1, {1e-3, -2e-3, -1e-4}, false, true, false},
    {{50, 61}, 1, 1, 1, 2, 1, 1, {0}, false, true, false},
    {{128, 96}, 33, 3, 1, 2, 1, 1, {0, 0, 1e-4}, false, true, false},
    {{64, 70}, 17, 2, 1, 1, 1, 1, {1e-4}, false, false, false},
    {{33, 32}, 31, 1, 1, 2, 1, 1, {0}, false, true, false},
    {{64, 60}, 7, 4, 5, 2, 4, 4, {1e-3, 2e-3, 1e-4}, true, true, false},
    {{64, 60}, 6, 3, 9, 1, 4, 1, {0}, false, true, false},
    {{40, 60}, 9, 2, 3, 2, 2, 2, {0}, true, false, false},
    {{40, 60}, 5, 3, 4, 1, 1, 3, {0, 1e-3}, true, true, false},
    {{48, 48}, 11, 2, 2, 1, 3, 4, {0}, false, true, false},
    {{48, 48}, 3, 2, 6, 3, 2, 1, {0}, true, false, false},
    {{64, 64}, 7, 8, 1, 1, 1, 1, {0}, false, false, true},
    {{50, 61}, 5, 3, 2, 3, 2, 2, {1e-3, 0, 1e-4}, true, true, true},
    {{48, 60}, 9, 1, 1, 2, 1, 1, {0}, false, true, true},
};

enum { ROWS = 60, CHANNELS = 5, SETS = 4 /* of rows 0 and 1, of channels 0 and 2 */ };

typedef struct {
    grove_convolution_plan plan;
    size_t real;
    int64_t fine;
    double uvw[3 * ROWS], freq[CHANNELS];
    void *functions, *data, *weight;
    int32_t index[SETS * 2 * 16], row[ROWS], channel[CHANNELS];
    double gradient[2 * ROWS * CHANNELS];
    grove_convolution_mueller mueller;
    long double complex *grid; /* by the definition */
    long double sums[4];       /* of weights by functions */
    int64_t outside;
    long double outside_weight;
} world;

static void begin(world *w, const configuration *c)
{
    const double lambda = 0.2;

    *w = (world){.real = c->double_precision ? sizeof(double) : sizeof(float),
                 .fine = (int64_t)c->support * (c->oversampling + c->linear)};
    w->plan = (grove_convolution_plan){.grid = {c->grid[0], c->grid[1]},
                                       .scale = {0.01, 0.02},
                                       .support = c->support,
                                       .oversampling = c->oversampling,
                                       .functions = c->functions,
                                       .planes = c->planes,
                                       .visibilities = c->visibilities,
                                       .images = c->images,
                                       .step_w = c->planes > 1 ? 500 : 0,
                                       .double_precision = c->double_precision,
                                       .linear = c->linear};
    memcpy(w->plan.turn, c->turn, sizeof(w->plan.turn));
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
    for (int k = 0; k < SETS * 2 * 16; k++)
        w->index[k] = c->visibilities * c->images > 1
                          ? (int32_t)floor(uniform(-1, (double)c->functions))
                          : (int32_t)(k % c->functions);
    for (int k = 0; k < ROWS; k++)
        w->row[k] = k * k % 2;
    for (int k = 0; k < CHANNELS; k++)
        w->channel[k] = 2 * (k > 2);
    for (int k = 0; k < 2 * ROWS * CHANNELS; k++)
        w->gradient[k] = k / 14 % 2 ? uniform(-0.3, 0.3) : 0;
    w->mueller =
        (grove_convolution_mueller){w->index, w->row, w->channel, c->gradient ? w->gradient : NULL};
    w->functions =
        random_numbers(2 * w->plan.functions * w->plan.planes * w->fine * w->fine, -1, w->real);
    w->data = random_numbers(2 * w->plan.visibilities * ROWS * CHANNELS, -1, w->real);
    w->weight = random_numbers(ROWS * CHANNELS, 0.1, w->real);
    for (int k = 0; k < 4; k++) { /* not read */
        memset((char *)w->weight + (size_t)(20 + k) * w->real, 0, w->real);
        memset((char *)w->data + (size_t)(2 * w->plan.visibilities * (20 + k)) * w->real, 0xff,
               w->real);
    }
    w->grid =
        calloc((size_t)(w->plan.images * w->plan.grid[0] * w->plan.grid[1]), sizeof(*w->grid));
}

static void end(world *w)
{
    free(w->functions);
    free(w->data);
    free(w->weight);
    free(w->grid);
}

typedef struct {
    int64_t at[2], plane; /* fine samples of the grid */
    long double part[3];  /* of the next ones, with linear interpolation */
    double sign;
    long double complex turned; /* the phase of the image's middle */
} place;

static bool find_place(const world *w, int64_t i, place *to)
{
    const grove_convolution_plan *p = &w->plan;
    const double *uvw = w->uvw + 3 * (i / CHANNELS), sign = uvw[2] < 0 ? -1 : 1;
    const long double wave = (long double)w->freq[i % CHANNELS] / light;
    long double turns = 0;

    *to = (place){.sign = sign};
    for (int d = 0; d < 3; d++)
        turns += sign * uvw[d] * wave * p->turn[d];
    to->turned = cexpl(I * turn * turns);
    const long double plane = p->step_w > 0 ? sign * uvw[2] * wave / p->step_w : 0;
    to->plane = p->linear ? (int64_t)floorl(plane) : llrintl(plane);
    to->part[2] = plane - to->plane;
    for (int d = 0; d < 2; d++) {
        const long double fine = sign * uvw[d] * wave * p->scale[d] * p->oversampling;
        if (!isfinite(uvw[d]))
            return false;
        to->at[d] = p->linear ? (int64_t)floorl(fine) : llrintl(fine);
        to->part[d] = fine - to->at[d];
        to->at[d] += p->grid[d] / 2 * p->oversampling;
    }
    return to->plane < p->planes - (p->linear && p->planes > 1);
}

/* Fine sample (k, j) from the first of a plane, or the mean of those about it: at the cells of that
 * sample. */
static long double complex interpolated(const world *w, const place *p, int64_t plane, int64_t k,
                                        int64_t j)
{
    const int64_t oversampling = w->plan.oversampling;
    long double complex sum = 0;

    for (int corner = 0; corner < (w->plan.linear ? 8 : 1); corner++) {
        const int64_t step[3] = {corner & 1, corner >> 1 & 1, corner >> 2};
        const int64_t at[2] = {k, j};
        int64_t fine[2], number;
        long double part = 1;
        for (int d = 0; d < 3 && w->plan.linear; d++)
            part *= step[d] ? p->part[d] : 1 - p->part[d];
        if (w->plan.planes == 1 && step[2])
            continue;
        for (int d = 0; d < 2; d++)
            fine[d] = at[d] / oversampling * (oversampling + w->plan.linear) +
                      at[d] % oversampling + (w->plan.linear ? 1 - step[d] : 0);
        number = 2 * (((plane + step[2]) * w->fine + fine[1]) * w->fine + fine[0]);
        sum += part *
               (get(w->functions, number, w->real) + I * get(w->functions, number + 1, w->real));
    }
    return sum;
}

/* The number of a function at a cell; false where it has none. */
static bool number_at(const world *w, int64_t i, const place *p, int32_t function, int64_t u,
                      int64_t v, long double complex *c, long double complex *unturned)
{
    const int64_t oversampling = w->plan.oversampling, k = u * oversampling - p->at[0],
                  j = v * oversampling - p->at[1], all = w->plan.support * oversampling,
                  half = all / 2;
    const long double part[2] = {w->plan.linear ? p->part[0] : 0, w->plan.linear ? p->part[1] : 0};

    if (j < -half || j >= all - half || k < -half || k >= all - half)
        return false;
    *c = *unturned = interpolated(w, p, function * w->plan.planes + p->plane, k + half, j + half);
    if (w->mueller.gradient)
        *c *= cexpl(-I * turn *
                    (w->gradient[2 * i] * (k - part[0]) + w->gradient[2 * i + 1] * (j - part[1])) /
                    oversampling);
    return true;
}

/* Cells that lie in the grid: all of them, or the sample is left out. */
static bool is_within(const world *w, const place *p)
{
    int64_t cells = 0;
    long double complex c;

    for (int64_t v = 0; v < w->plan.grid[1]; v++)
        for (int64_t u = 0; u < w->plan.grid[0]; u++)
            cells += number_at(w, 0, p, 0, u, v, &c, &c);
    return cells == (int64_t)w->plan.support * w->plan.support;
}

static int32_t function_of(const world *w, int64_t i, const place *p, int j, int r)
{
    const int64_t set = w->row[i / CHANNELS] + w->channel[i % CHANNELS];

    return w->index[((2 * set + (p->sign < 0)) * w->plan.visibilities + j) * w->plan.images + r];
}

/* Polarisation j of a sample and image r: adds to the grid, or (`grid`) sums what it sees. */
static void join(world *w, int64_t i, const place *p, int j, int r, const void *grid,
                 long double complex *seen)
{
    const int32_t function = function_of(w, i, p, j, r);
    const int64_t numbers = w->plan.grid[0] * w->plan.grid[1],
                  at = 2 * (i * w->plan.visibilities + j);
    const long double weight = get(w->weight, i, w->real);
    long double complex value = (get(w->data, at, w->real) +
                                 I * p->sign * get(w->data, at + 1, w->real)) *
                                weight * p->turned,
                        sum = 0, all = 0, c, unturned;

    for (int64_t v = 0; v < w->plan.grid[1] && function >= 0; v++)
        for (int64_t u = 0; u < w->plan.grid[0]; u++) {
            const int64_t cell = r * numbers + v * w->plan.grid[0] + u;
            if (!number_at(w, i, p, function, u, v, &c, &unturned))
                continue;
            if (grid)
                sum += conjl(c) *
                       (get(grid, 2 * cell, w->real) + I * get(grid, 2 * cell + 1, w->real));
            else
                w->grid[cell] += c * value;
            all += unturned;
        }
    sum *= conjl(p->turned);
    if (grid)
        *seen += p->sign < 0 ? conjl(sum) : sum;
    else
        w->sums[r] += weight * cabsl(all);
}

/* Adds one sample to the grids by the definition, or sums what it sees of `grid`. */
static bool one(world *w, int64_t i, const void *grid, long double complex *seen)
{
    place p;

    if (!find_place(w, i, &p) || !is_within(w, &p))
        return false;
    for (int j = 0; j < w->plan.visibilities; j++)
        for (int r = 0; r < w->plan.images; r++)
            join(w, i, &p, j, r, grid, seen ? seen + j : NULL);
    return true;
}

static const grove_convolution_mueller *mueller_of(const world *w)
{
    return w->plan.functions == 1 && w->plan.visibilities == 1 && w->plan.images == 1 &&
                   !w->mueller.gradient
               ? NULL
               : &w->mueller;
}

static void check_spread(world *w, grove_isa isa, const grove_gridder_samples *samples)
{
    const int64_t cells = w->plan.images * w->plan.grid[0] * w->plan.grid[1];
    const double tolerance = w->real == sizeof(double) ? 1e-13 : 1e-4;
    double sums[4] = {0}, others[4] = {0};
    grove_gridder_outside outside = {0}, again = {0};
    grove_convolution *a = grove_convolution_new(&w->plan, w->functions, isa),
                      *b = grove_convolution_new(&w->plan, w->functions, isa);

    ck_assert(a && b);
    ck_assert_int_eq(grove_convolution_add(a, samples, mueller_of(w), &in_order, &outside, sums),
                     0);
    ck_assert_int_eq(grove_convolution_add(b, samples, mueller_of(w), &backwards, &again, others),
                     0);
    ck_assert_int_eq(outside.samples, w->outside);
    ck_assert_double_eq_tol(outside.weight, w->outside_weight, 1e-5);
    ck_assert_mem_eq(sums, others, sizeof(sums));
    for (int r = 0; r < 4; r++)
        ck_assert_double_eq_tol(sums[r], (double)w->sums[r],
                                (w->real == sizeof(double) ? 1e-13 : 1e-5) * (1 + sums[r]));
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
    const int64_t cells = w->plan.images * w->plan.grid[0] * w->plan.grid[1];
    const int count = w->plan.visibilities;
    const double tolerance = w->real == sizeof(double) ? 1e-12 : 1e-3;
    void *grid = random_numbers(2 * cells, -1, w->real),
         *data = malloc((size_t)(2 * count * ROWS * CHANNELS) * w->real);
    grove_gridder_samples to = *samples;
    grove_gridder_outside outside = {0};
    grove_convolution *c = grove_convolution_new(&w->plan, w->functions, isa);
    int64_t left_out = 0;

    ck_assert_ptr_nonnull(c);
    to.data = data;
    memcpy(grove_convolution_grid(c), grid, (size_t)cells * 2 * w->real);
    ck_assert_int_eq(grove_convolution_predict(c, &to, mueller_of(w), &backwards, &outside), 0);
    for (int64_t i = 0; i < ROWS * CHANNELS; i++) {
        long double complex seen[4] = {0};
        left_out += !one(w, i, grid, seen);
        for (int j = 0; j < count; j++) {
            const int64_t at = 2 * (i * count + j);
            ck_assert_double_eq_tol(get(data, at, w->real), creall(seen[j]), tolerance);
            ck_assert_double_eq_tol(get(data, at + 1, w->real), cimagl(seen[j]), tolerance);
        }
    }
    ck_assert_int_eq(outside.samples, left_out);
    ck_assert_int_gt(left_out, 0);
    ck_assert_int_lt(left_out, ROWS * CHANNELS);
    free(grid);
    free(data);
    grove_convolution_free(c);
}

static void check_configuration(const configuration *c)
{
    world w;

    begin(&w, c);
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

LOOP_TEST(blocks_of_cells, 0, sizeof(cases) / sizeof(cases[0]))
{
    check_configuration(&cases[_i]);
}

static int pick(int low, int high)
{
    return (int)floor(uniform(low, high + 1 - 1e-9));
}

TEST(random_blocks)
{
    const char *count = getenv("GROVE_TEST_CONFIGURATIONS"), *seed = getenv("GROVE_TEST_SEED");
    const uint64_t first = seed ? strtoull(seed, NULL, 10) : 1,
                   last = first + (count ? strtoull(count, NULL, 10) / 20 : 4);

    for (uint64_t k = first; k < last; k++) {
        state = k;
        uniform(0, 1);
        configuration c = {.support = pick(1, 14),
                           .oversampling = pick(1, 9),
                           .functions = pick(1, 6),
                           .planes = pick(1, 3),
                           .visibilities = pick(1, 4),
                           .images = pick(1, 4),
                           .gradient = pick(0, 1),
                           .linear = pick(0, 1),
                           .double_precision = pick(0, 1)};
        for (int d = 0; d < 2; d++)
            c.grid[d] = 2 * c.support + pick(6, 30);
        for (int d = 0; d < 3; d++)
            c.turn[d] = pick(0, 1) * uniform(-1e-3, 1e-3);
        check_configuration(&c);
    }
}

/* Functions of a sky that one support can hold are found: those of the kernel itself, whose numbers
 * are its values; and of a shift by a cell. */
/* Very many samples in a few cells: rounding does not grow with their number. */
TEST(sums_of_very_many)
{
    enum { MANY = 1 << 18, SUPPORT = 5, OVERSAMPLING = 4, FINE = SUPPORT * OVERSAMPLING };
    const grove_convolution_plan plan = {.grid = {32, 32},
                                         .scale = {0.01, 0.01},
                                         .support = SUPPORT,
                                         .oversampling = OVERSAMPLING,
                                         .functions = 1,
                                         .planes = 1,
                                         .visibilities = 1,
                                         .images = 1};
    grove_gridder_outside outside = {0};
    float *functions = random_numbers(2 * FINE * FINE, 0.5, sizeof(float)),
          *data = random_numbers(2 * MANY, 0.5, sizeof(float));
    double *uvw = calloc(3 * MANY, sizeof(*uvw)), freq = (double)light, sum = 0;
    grove_convolution *c = grove_convolution_new(&plan, functions, grove_isa_best());

    for (int i = 0; i < MANY; i++) {
        data[2 * i + 1] = 0;
        sum += data[2 * i];
    }
    const grove_gridder_samples samples = {
        .rows = MANY, .channels = 1, .uvw = uvw, .freq = &freq, .data = data};
    ck_assert_int_eq(grove_convolution_add(c, &samples, NULL, &in_order, &outside, NULL), 0);
    /* of place 0, at cell 16, the first cell is 2 before it, and has fine sample 2 */
    const float *grid = grove_convolution_grid(c);
    for (int y = 0; y < SUPPORT; y++)
        for (int k = 0; k < 2 * SUPPORT; k++) {
            const double got = grid[2 * ((14 + y) * 32 + 14) + k],
                         number = functions[2 * ((OVERSAMPLING * y + 2) * FINE +
                                                 OVERSAMPLING * (k / 2) + 2) +
                                            k % 2];
            ck_assert_double_eq_tol(got, number * sum, 3e-6 * number * sum);
        }
    grove_convolution_free(c);
    free(functions);
    free(data);
    free(uvw);
}

LOOP_TEST(fits, 0, 3)
{
    enum { SUPPORT = 12, OVERSAMPLING = 4, PLACES = 81 };
    const int shift = _i - 1;
    grove_gridder_kernel kernel;
    double x[PLACES], seen[2 * SUPPORT], f[OVERSAMPLING];
    double complex *fit = malloc(sizeof(*fit) * SUPPORT * OVERSAMPLING * PLACES);

    grove_gridder_kernel_choose(8, 2, &kernel);
    for (int k = 0; k < PLACES; k++)
        x[k] = 0.5 * (k - 40) / (PLACES - 1);
    for (int q = 0; q < OVERSAMPLING; q++)
        f[q] = grove_convolution_offset(SUPPORT, OVERSAMPLING, q);
    ck_assert_int_eq(
        grove_convolution_fit(&kernel, SUPPORT, f, OVERSAMPLING, x, PLACES, (double *)fit), 0);
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

SUITE(120, NULL, NULL)
