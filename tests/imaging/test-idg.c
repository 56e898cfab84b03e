/* Image-domain gridding against direct Fourier sums in long double, within the error that the plan
 * says; its adjoint; the same bits for any threads; several layers give what one does; the same as
 * w-stacking. Tracks of baselines, all instruction sets. GROVE_TEST_CONFIGURATIONS is 20 times how
 * many random configurations there are beside the fixed ones, GROVE_TEST_SEED where they begin. */
#include "../kernels/imaging/gridder/gridder_device.h"
#include "../kernels/imaging/idg/idg.h"
#include "gridder-testing.h"
#include "random-numbers.h"
#include "tests/common/suite.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double light = 299792458.0, turn = 2 * 3.14159265358979323846;

typedef struct {
    int64_t size[2];
    double field;     /* of the first side, rad */
    double centre[2]; /* direction cosines */
    double reach;     /* longest |w| over what a pixel resolves */
    double epsilon;
    int side;
    int64_t layers;
    int times, channels;
    bool double_precision, without_w, weights, uneven;
    int terms;     /* elements of Jones terms; 0: none */
    bool tiles;    /* w-tiles */
    bool may_fail; /* there need not be a plan */
} configuration;

static const configuration cases[] = {
    {{64, 64}, 0.02, {0}, 0.5, 1e-3, 0, 0, 30, 4, false, false, true, false, false},
    {{96, 64}, 0.05, {0}, 0.5, 1e-4, 0, 0, 40, 3, false, false, false, false, false},
    {{64, 50}, 0.1, {0.02, -0.05}, 0.7, 1e-5, 0, 0, 20, 40, true, false, true, false, false},
    {{63, 65}, 0.3, {0}, 0.4, 1e-4, 0, 0, 20, 5, true, false, false, true, false},
    {{64, 64}, 0.02, {0.01, 0}, 0.5, 1e-8, 48, 0, 30, 4, true, false, false, false, false},
    {{48, 48}, 0.05, {0}, 0.5, 1e-4, 24, 7, 20, 4, false, false, false, true, false},
    {{64, 80}, 0.2, {0}, 0.5, 1e-5, 32, 0, 20, 1, true, true, true, false, false},
    {{8, 8}, 0.01, {0}, 0.2, 1e-4, 0, 0, 10, 2, false, false, true, false, false},
    /* subgrids as large as the grid */
    {{20, 20}, 0.01, {0}, 0.3, 1e-4, 64, 0, 10, 2, false, false, false, false, false},
    {{60, 64}, 0.05, {0.01, 0}, 0.5, 1e-5, 32, 3, 20, 5, true, false, true, false, 1},
    {{64, 64}, 0.02, {0}, 0.5, 1e-4, 0, 0, 20, 4, false, false, false, false, 1},
    {{40, 44}, 0.05, {0.01, 0}, 0.5, 1e-5, 32, 3, 12, 3, true, false, true, false, 2},
    {{40, 36}, 0.02, {0}, 0.5, 1e-4, 0, 0, 12, 4, false, false, false, false, 4},
    /* w-tiles */
    {{64, 80}, 0.05, {0}, 0.7, 1e-4, 16, 6, 20, 4, false, false, true, false, 0, true},
    {{80, 64}, 0.1, {0.02, -0.05}, 0.5, 1e-6, 16, 0, 20, 4, true, false, false, true, 0, true},
    {{100, 120}, 0.05, {0}, 0.5, 1e-3, 16, 0, 10, 3, false, true, false, false, 0, true},
    {{60, 64}, 0.05, {0.01, 0}, 0.5, 1e-5, 24, 5, 12, 3, true, false, true, false, 2, true},
    /* whose error vanishes at pixels of subgrids, and is large between them */
    {{150, 150}, 0.07, {0}, 6.5, 1e-5, 0, 0, 150, 10, true, false, false, false, 0, true},
};

enum { BASELINES = 6, PIXELS = 24 };

typedef struct {
    configuration c;
    grove_idg_plan plan;
    size_t real;
    int64_t rows, cells;
    double *uvw, *freq;
    void *data, *weight;
    grove_gridder_samples samples;
    const grove_idg_terms *terms; /* NULL: 1 */
    grove_idg_terms of_terms;
    void *numbers;
    int32_t *time_block, *channel_block, left[BASELINES], right[BASELINES];
} world;

/* ---- terms ---- */

enum { STATIONS = 4, TIME_BLOCKS = 2, CHANNEL_BLOCKS = 2 };

/* A term at a direction: not linear along l and m, but smooth. */
static long double complex term_at(const world *w, int64_t term, long double l, long double m)
{
    const long double x = (l - w->c.centre[0]) / w->c.field, y = (m - w->c.centre[1]) / w->c.field;

    return (1 + 0.3L * x * (long double)(term % 3) - 0.5L * y * y) *
           cexpl(I * (0.5L * x * (long double)(term % 5) + 0.1L * (long double)term * y));
}

static int64_t term_of(const world *w, int64_t row, int64_t channel, bool right)
{
    const int64_t baseline = row % BASELINES;

    return ((int64_t)w->time_block[row / BASELINES] * STATIONS +
            (right ? w->right[baseline] : w->left[baseline])) *
               CHANNEL_BLOCKS +
           w->channel_block[channel];
}

/* Stokes parameters of XX XY YX YY: all of them through matrices; Q, and what YY, XY and XX have of
 * V, through diagonals. */
static void make_mix(world *w)
{
    static const double factor[4][4][2] = {{{0.5, 0}, {0, 0}, {0, 0}, {0.5, 0}},
                                           {{0.5, 0}, {0, 0}, {0, 0}, {-0.5, 0}},
                                           {{0, 0}, {0.5, 0}, {0.5, 0}, {0, 0}},
                                           {{0, 0}, {0, -0.5}, {0, 0.5}, {0, 0}}};
    grove_idg_mix *m = &w->plan.mix;

    if (w->c.terms == 4) {
        *m = (grove_idg_mix){.visibilities = 4, .images = 4, .element = {0, 1, 2, 3}};
        memcpy(m->factor, factor, sizeof(factor));
    } else if (w->c.terms == 2) {
        *m = (grove_idg_mix){.visibilities = 3, .images = 2, .element = {3, 1, 0}};
        for (int r = 0; r < 2; r++)
            for (int c = 0; c < 3; c++)
                memcpy(m->factor[r][c], factor[2 * r + 1][m->element[c]], sizeof(m->factor[r][c]));
    }
}

static void make_terms(world *w)
{
    const int64_t line = grove_idg_line(&w->plan), side = w->plan.side,
                  count = TIME_BLOCKS * STATIONS * CHANNEL_BLOCKS * w->c.terms;

    w->time_block = malloc((size_t)w->c.times * sizeof(int32_t));
    w->channel_block = malloc((size_t)w->c.channels * sizeof(int32_t));
    w->numbers = calloc((size_t)(count * side * 2 * line), w->real);
    for (int k = 0; k < w->c.times; k++)
        w->time_block[k] = k >= w->c.times / 3;
    for (int k = 0; k < w->c.channels; k++)
        w->channel_block[k] = k >= w->c.channels / 2;
    for (int k = 0; k < BASELINES; k++) {
        w->left[k] = k % STATIONS;
        w->right[k] = (k + 1 + k / STATIONS) % STATIONS;
    }
    for (int64_t i = 0; i < count * side * side; i++) {
        const int64_t term = i / side / side, x = i / side % side, y = i % side;
        const long double complex z = term_at(w, term, grove_idg_direction(&w->plan, 0, (int)x),
                                              grove_idg_direction(&w->plan, 1, (int)y));
        for (int part = 0; part < 2; part++) {
            const int64_t at = ((term * side + x) * 2 + part) * line + y;
            const double number = (double)(part ? cimagl(z) : creall(z));
            if (w->real == sizeof(double))
                ((double *)w->numbers)[at] = number;
            else
                ((float *)w->numbers)[at] = (float)number;
        }
    }
    w->of_terms = (grove_idg_terms){.numbers = w->numbers,
                                    .elements = w->c.terms,
                                    .stations = STATIONS,
                                    .channel_blocks = CHANNEL_BLOCKS,
                                    .time_block = w->time_block,
                                    .channel_block = w->channel_block,
                                    .left = w->left,
                                    .right = w->right};
    w->terms = &w->of_terms;
}

/* Tracks that turn about the pole, as baselines do. */
static void make_tracks(world *w, double longest)
{
    for (int b = 0; b < BASELINES; b++) {
        const double length = longest * (b + 1) / BASELINES, start = uniform(0, turn),
                     tilt = uniform(0.3, 1), pole = w->c.reach * length * uniform(-0.4, 0.4);
        for (int t = 0; t < w->c.times; t++) {
            double *uvw = w->uvw + 3 * (t * BASELINES + b);
            const double hour = start + 0.01 * t, y = length * sin(hour);
            uvw[0] = length * cos(hour);
            uvw[1] = tilt * y;
            uvw[2] = w->c.reach * sqrt(1 - tilt * tilt) * y + pole;
        }
    }
}

/* False: there is no plan, where there need not be. */
static bool begin(world *w, const configuration *c)
{
    const double cell = c->field / (double)c->size[0], longest = 0.45 / cell;
    grove_gridder_image image = {
        {c->size[0], c->size[1]}, {cell, 1.1 * cell}, {c->centre[0], c->centre[1]}};
    grove_gridder_bounds bounds = {.max_u = longest,
                                   .max_v = longest,
                                   .samples = 1e6,
                                   .polarisations = 1,
                                   .double_precision = c->double_precision,
                                   .without_w = c->without_w};
    const grove_idg_request request = {.side = c->side,
                                       .layers = c->layers,
                                       .support = c->terms ? 2 : 0,
                                       .tiles = c->tiles,
                                       .planes = !c->tiles};
    char said[200] = "";

    *w = (world){.c = *c,
                 .real = c->double_precision ? sizeof(double) : sizeof(float),
                 .rows = (int64_t)c->times * BASELINES};
    w->uvw = malloc((size_t)(3 * w->rows) * sizeof(double));
    w->freq = malloc((size_t)c->channels * sizeof(double));
    for (int k = 0; k < c->channels; k++)
        w->freq[k] = 1e9 * (0.9 + 0.1 * (k + (c->uneven ? 0.3 * sin(k) : 0)) / c->channels);
    make_tracks(w, longest * light / 1e9);
    for (int64_t r = 0; r < w->rows; r++)
        bounds.max_w = fmax(bounds.max_w, fabs(w->uvw[3 * r + 2]) * 1e9 / light);
    if (grove_idg_plan_choose(&image, &bounds, &request, c->epsilon, &w->plan, said)) {
        ck_assert_msg(c->may_fail, "%s", said);
        free(w->uvw);
        free(w->freq);
        return false;
    }
    make_mix(w);
    w->cells = w->plan.grid.planes * w->plan.grid.grid[0] * w->plan.grid.grid[1];
    w->data = random_numbers(2 * w->rows * c->channels * w->plan.mix.visibilities, -1, w->real);
    w->weight = c->weights ? random_numbers(w->rows * c->channels, 0, w->real) : NULL;
    w->samples = (grove_gridder_samples){.rows = w->rows,
                                         .channels = c->channels,
                                         .uvw = w->uvw,
                                         .freq = w->freq,
                                         .data = w->data,
                                         .weight = w->weight};
    if (c->terms)
        make_terms(w);
    return true;
}

static void end(world *w)
{
    free(w->uvw);
    free(w->freq);
    free(w->data);
    free(w->weight);
    free(w->numbers);
    free(w->time_block);
    free(w->channel_block);
}

static grove_idg *open_idg(const world *w, int isa)
{
    grove_idg *idg = grove_idg_new(&w->plan, (grove_isa)isa);

    ck_assert_ptr_nonnull(idg);
    return idg;
}

static void add(grove_idg *idg, const world *w, const grove_gridder_threads *threads)
{
    grove_gridder_outside outside = {0};
    grove_idg_counts counts = {0};

    ck_assert_int_eq(
        grove_idg_add(idg, &w->samples, BASELINES, w->terms, threads, &outside, &counts), 0);
    ck_assert_int_eq(outside.samples, 0);
    ck_assert_int_eq(counts.visibilities, w->rows * w->c.channels);
    ck_assert_int_gt(counts.subgrids, 0);
    ck_assert_int_eq(grove_idg_fold(idg, threads), 0);
}

/* ---- images ---- */

static void direction(const world *w, int64_t x, int64_t y, long double at[3])
{
    const grove_gridder_image *i = &w->plan.grid.image;

    at[0] = i->centre[0] + (long double)(x - i->size[0] / 2) * i->cell[0];
    at[1] = i->centre[1] + (long double)(y - i->size[1] / 2) * i->cell[1];
    at[2] = w->c.without_w ? 0 : sqrtl(1 - at[0] * at[0] - at[1] * at[1]) - 1;
}

/* Element i, j of the term of a sample's station. */
static long double complex element_at(const world *w, int64_t term, int i, int j,
                                      const long double at[3])
{
    const int elements = w->c.terms;

    if (elements < 4 && i != j)
        return 0;
    return term_at(w,
                   term * elements + (elements == 4   ? 2 * i + j
                                      : elements == 2 ? i
                                                      : 0),
                   at[0], at[1]);
}

/* An image's part of a sample: its numbers through the terms of both stations, and the mix. */
static long double complex mixed(const world *w, int64_t sample, int image, const long double at[3])
{
    const grove_idg_mix *m = &w->plan.mix;
    const int64_t row = sample / w->c.channels, channel = sample % w->c.channels;
    const int64_t p = w->terms ? term_of(w, row, channel, false) : 0,
                  q = w->terms ? term_of(w, row, channel, true) : 0;
    long double complex sum = 0;

    for (int c = 0; c < m->visibilities; c++) {
        const int64_t k = 2 * (sample * m->visibilities + c);
        const long double complex v = get(w->data, k, w->real) + I * get(w->data, k + 1, w->real);
        const int i = m->element[c] / 2, j = m->element[c] % 2;
        if (w->c.terms <= 1)
            sum +=
                v * (m->factor[image][c][0] + I * m->factor[image][c][1]) *
                (w->terms ? conjl(term_at(w, p, at[0], at[1])) * term_at(w, q, at[0], at[1]) : 1);
        for (int d = 0; d < m->visibilities && w->c.terms > 1; d++)
            sum += v * (m->factor[image][d][0] + I * m->factor[image][d][1]) *
                   conjl(element_at(w, p, i, m->element[d] / 2, at)) *
                   element_at(w, q, j, m->element[d] % 2, at);
    }
    return sum;
}

/* The direct Fourier sum. */
static long double true_pixel(const world *w, int image, int64_t x, int64_t y)
{
    long double at[3], sum = 0;

    direction(w, x, y, at);
    for (int64_t i = 0; i < w->rows * w->c.channels; i++) {
        const double *uvw = w->uvw + 3 * (i / w->c.channels);
        const long double turns = (uvw[0] * at[0] + uvw[1] * at[1] + uvw[2] * at[2]) *
                                  w->freq[i % w->c.channels] / light,
                          phase = (turns - rintl(turns)) * turn;
        const long double complex value =
            mixed(w, i, image, at) * (w->weight ? get(w->weight, i, w->real) : 1);
        sum += creall(value) * cosl(phase) - cimagl(value) * sinl(phase);
    }
    return sum;
}

/* That of the planes, as fft and grid_correction make it. */
static double pixel_of(const world *w, const void *planes, int image, int64_t x, int64_t y)
{
    const grove_gridder_plan *p = &w->plan.grid;
    const double at[2] = {(double)(x - p->image.size[0] / 2) / (double)p->grid[0],
                          (double)(y - p->image.size[1] / 2) / (double)p->grid[1]};
    double complex sum = 0;
    long double sky[3];

    direction(w, x, y, sky);
    for (int64_t k = 0, i = image * w->cells; k < p->planes; k++) {
        double complex plane = 0;
        for (int64_t v = 0; v < p->grid[1]; v++) {
            double complex row = 0;
            for (int64_t u = 0; u < p->grid[0]; u++, i++)
                row += (get(planes, 2 * i, w->real) + I * get(planes, 2 * i + 1, w->real)) *
                       cexp(I * turn * (double)(u - p->grid[0] / 2) * at[0]);
            plane += row * cexp(I * turn * (double)(v - p->grid[1] / 2) * at[1]);
        }
        sum += plane * cexp(I * turn * (p->first_w + (double)k * p->step_w) *
                            ((double)sky[2] - p->middle_n));
    }
    return creal(sum) / grove_gridder_kernel_transform(&p->kernel, at[0]) /
           grove_gridder_kernel_transform(&p->kernel, at[1]);
}

/* The error of some pixels, the corners among them, root mean square. */
static double error_of(const world *w, const void *planes)
{
    const int64_t *size = w->plan.grid.image.size;
    double off = 0, all = 0;

    for (int k = 0; k < PIXELS; k++) {
        const int64_t x = k < 4 ? (k & 1) * (size[0] - 1) : (int64_t)uniform(0, (double)size[0]),
                      y = k < 4 ? (k >> 1) * (size[1] - 1) : (int64_t)uniform(0, (double)size[1]);
        const int image = k / 2 % w->plan.mix.images;
        const double is = (double)true_pixel(w, image, x, y),
                     found = pixel_of(w, planes, image, x, y);
        off += (found - is) * (found - is);
        all += is * is;
    }
    return sqrt(off / all);
}

/* Whether there was a plan. */
static bool check_image(const configuration *c, int isa)
{
    world w;

    if (!begin(&w, c))
        return false;
    grove_idg *idg = open_idg(&w, isa);
    add(idg, &w, &in_order);
    const double error = error_of(&w, grove_idg_planes(idg));
    ck_assert_msg(error < c->epsilon && error < 2 * w.plan.error,
                  "%g > %g: %d pixels, %lld layers, taper of %d, predicted %g", error, c->epsilon,
                  w.plan.side, (long long)w.plan.layers, w.plan.grid.kernel.width, w.plan.error);
    if (getenv("IDG_TELL"))
        printf("%d: error %.2e of %.0e, predicted %.2e; %d pixels, %lld layers of %lld, taper %d, "
               "reach %.3g cells, w %.3g, tile %d of %d\n",
               isa, error, c->epsilon, w.plan.error, w.plan.side, (long long)w.plan.layers,
               (long long)w.plan.grid.grid[0], w.plan.grid.kernel.width, w.plan.reach,
               w.plan.reach_w, w.plan.tile, w.plan.padded);
    grove_idg_free(idg);
    end(&w);
    return true;
}

LOOP_TEST(test_images, 0, sizeof(cases) / sizeof(*cases))
{
    for (int isa = 0; isa < GROVE_ISAS; isa++) {
        state = 1;
        if (grove_isa_works((grove_isa)isa))
            check_image(&cases[_i], isa);
    }
}

/* Any field, size, precision, subgrids, number of layers, with w-tiles and without. Half of the
 * sizes have their edges at pixels of some transforms. */
TEST(test_random_images)
{
    const char *many = getenv("GROVE_TEST_CONFIGURATIONS"), *seed = getenv("GROVE_TEST_SEED");
    const int count = many ? (atoi(many) + 19) / 20 : 24;
    int made = 0;

    for (int i = 0; i < count; i++) {
        state = 77 + (seed ? strtoull(seed, NULL, 10) : 0) + (uint64_t)i;
        uniform(0, 1);
        const bool both = uniform(0, 1) < 0.5, tiles = uniform(0, 1) < 0.6;
        const int64_t fifth = uniform(0, 1) < 0.5 ? 25 : 1, sides[] = {0, 0, 16, 24, 32};
        const configuration c = {
            .size = {(int64_t)uniform(32, 105) / fifth * fifth,
                     (int64_t)uniform(32, 105) / fifth * fifth},
            .field = pow(10, uniform(-3, -0.7)),
            .centre = {uniform(-0.1, 0.1), uniform(-0.1, 0.1)},
            .reach = uniform(0.1, 1),
            .epsilon = pow(10, uniform(both ? -9 : -5, -2)),
            .side = (int)sides[(int)uniform(0, 5)],
            .layers = uniform(0, 1) < 0.5 ? 0 : (int64_t)uniform(1, tiles ? 30 : 6),
            .tiles = tiles,
            .may_fail = true,
            .times = (int)uniform(1, 30),
            .channels = (int)uniform(1, 20),
            .double_precision = both,
            .without_w = uniform(0, 1) < 0.2,
            .weights = uniform(0, 1) < 0.5,
            .uneven = uniform(0, 1) < 0.5,
        };
        made += check_image(&c, (int)grove_isa_best());
    }
    ck_assert_int_gt(4 * made, count);
}

/* ---- the adjoint, and the same bits ---- */

static void check_adjoint(const configuration *c, int isa)
{
    world w;

    begin(&w, c);
    grove_idg *idg = open_idg(&w, isa);
    const int64_t each = w.plan.mix.visibilities, numbers = 2 * w.cells * w.plan.mix.images,
                  count = w.rows * c->channels * each;
    void *planes = random_numbers(numbers, -1, w.real),
         *predicted = malloc((size_t)(2 * count) * w.real),
         *first = malloc((size_t)numbers * w.real);
    grove_gridder_samples samples = w.samples;
    grove_gridder_outside outside = {0};
    long double sums[2] = {0, 0}, sizes[2] = {0, 0};

    add(idg, &w, &in_order);
    memcpy(first, grove_idg_planes(idg), (size_t)numbers * w.real);
    for (int64_t k = 0; k < numbers; k++) {
        sums[0] += (long double)get(first, k, w.real) * get(planes, k, w.real);
        sizes[0] += powl(get(first, k, w.real), 2);
        sizes[1] += powl(get(planes, k, w.real), 2);
    }
    memset(grove_idg_planes(idg), 0, (size_t)numbers * w.real);
    add(idg, &w, &backwards);
    ck_assert_mem_eq(first, grove_idg_planes(idg), (size_t)numbers * w.real);
    memset(grove_idg_planes(idg), 0, (size_t)numbers * w.real);
    add(idg, &w, &three);
    ck_assert_mem_eq(first, grove_idg_planes(idg), (size_t)numbers * w.real);
    memcpy(grove_idg_planes(idg), planes, (size_t)numbers * w.real);
    grove_idg_unfold(idg);
    samples.data = predicted;
    ck_assert_int_eq(grove_idg_predict(idg, &samples, BASELINES, w.terms, &three, &outside, NULL),
                     0);
    for (int64_t i = 0; i < 2 * count; i++)
        sums[1] += (long double)get(predicted, i, w.real) * get(w.data, i, w.real) *
                   (w.weight ? get(w.weight, i / 2 / each, w.real) : 1);
    const double off = (double)(fabsl(sums[0] - sums[1]) / sqrtl(sizes[0] * sizes[1]));
    ck_assert_msg(off < (c->double_precision ? 1e-14 : 3e-7), "adjoint off by %g", off);
    free(planes);
    free(predicted);
    free(first);
    grove_idg_free(idg);
    end(&w);
}

LOOP_TEST(test_adjoints, 0, sizeof(cases) / sizeof(*cases))
{
    for (int isa = 0; isa < GROVE_ISAS; isa++)
        if (grove_isa_works((grove_isa)isa))
            check_adjoint(&cases[_i], isa);
}

/* Where tracks and bands fill squares of the uv plane, subgrids are larger than where each
 * visibility has one of its own, and hold about as many as counted. */
TEST(test_shares)
{
    const grove_gridder_image image = {{4096, 4096}, {4.26e-6, 4.26e-6}, {0, 0}};
    const grove_gridder_bounds bounds = {
        .max_u = 60e3, .max_v = 60e3, .max_w = 44e3, .samples = 2e7, .polarisations = 1};
    int side[2];

    for (int many = 0; many < 2; many++) {
        grove_idg_request request = {0};
        grove_idg_plan plan;
        char said[200];
        for (int k = 0; k < 2; k++) {
            const grove_idg_plan square = grove_idg_square(&image, k, &request.share_side[k]);
            const double cells = 2 * square.reach - 1;
            ck_assert_double_eq_tol(request.share_side[k] * 6144 * 4.26e-6, cells, 1e-9);
            request.share[k] = many ? fmax(0.14 * cells * cells, 1) : 1;
        }
        ck_assert_int_eq(grove_idg_plan_choose(&image, &bounds, &request, 1e-4, &plan, said), 0);
        side[many] = plan.side;
    }
    ck_assert_int_eq(side[0], 16);
    ck_assert_int_gt(side[1], side[0]);
}

/* Of each visibility, as bench/RESULTS-gpu-counted.md has them: the mean of both directions. */
TEST(test_costs_of_a_gpu)
{
    static const struct {
        int side, channels;
        bool double_precision;
        double picoseconds;
    } counted[] = {{32, 16, false, 79.7}, {64, 16, false, 244}, {32, 1, false, 133.3},
                   {32, 16, true, 415},   {64, 16, true, 1404}, {32, 1, true, 460}};

    for (size_t k = 0; k < sizeof(counted) / sizeof(*counted); k++) {
        const grove_idg_plan plan = {.side = counted[k].side,
                                     .mix = {.visibilities = 1, .images = 1},
                                     .grid.bounds.double_precision = counted[k].double_precision};
        const double off = grove_idg_device_seconds(&plan, 1e12, 0, 0, counted[k].channels) /
                               counted[k].picoseconds -
                           1;
        ck_assert_msg(fabs(off) < 0.02, "%zu: off by %g", k, off);
    }
    const grove_gridder_plan stack = {
        .kernel.width = 6, .kernel_w.width = 5, .bounds = {.polarisations = 1, .samples = 1e12}};
    ck_assert_double_eq_tol(grove_gridder_device_seconds(&stack), (168 + 144) / 2.0, 3);
}

SUITE(300, NULL, NULL)
