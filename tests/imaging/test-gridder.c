/* The gridder against the Fourier sum in long double, over random images and samples; the adjoint;
 * the same bits for any threads. GROVE_TEST_CONFIGURATIONS is how many configurations there are,
 * GROVE_TEST_SEED where they begin. */
#include "gridder-testing.h"
#include "gridder-truth.h"
#include "tests/common/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CONFIGURATIONS = 20 };

static grove_gridder_samples samples_of(const world *w)
{
    return (grove_gridder_samples){.rows = w->rows,
                                   .channels = w->channels,
                                   .uvw = w->uvw,
                                   .freq = w->freq,
                                   .data = w->data,
                                   .weight = w->weight};
}

static grove_gridder_plan plan_of(const world *w)
{
    grove_gridder_plan plan;

    ck_assert_msg(grove_gridder_plan_choose(&w->image, &w->bounds, w->epsilon, &plan) == 0,
                  "%s: no plan", w->name);
    ck_assert_double_le(plan.error, w->epsilon);
    grove_gridder_plan coarse = plan;
    if (w->oversampling > 0 && !w->bounds.exact &&
        grove_gridder_find_coarse(&coarse, w->oversampling))
        plan = coarse;
    return plan;
}

static grove_gridder *make_gridder(const world *w)
{
    const grove_gridder_plan plan = plan_of(w);

    return grove_gridder_new(&plan, w->isa);
}

/* Planes from `first` on, if not all at a time. */
static void open_window(const world *w, grove_gridder *g, int64_t first, int64_t planes,
                        uint64_t limit)
{
    const int64_t end = first + w->window < planes ? first + w->window : planes;

    if (w->window)
        grove_gridder_set_window(g, first, end, limit);
}

static grove_gridder_pixels pixels_of(const world *w, void *image)
{
    return (grove_gridder_pixels){image, 1, w->image.size[0]};
}

static int add_samples(const world *w, grove_gridder *g, const grove_gridder_threads *threads,
                       grove_gridder_outside *outside)
{
    const int64_t piece = w->piece ? w->piece : w->channels;
    const size_t real = w->bounds.double_precision ? sizeof(double) : sizeof(float);
    grove_gridder_samples s = samples_of(w);
    int code = 0;

    s.rows = w->piece ? 1 : w->rows;
    for (int64_t row = w->rows - s.rows; row >= 0; row -= s.rows)
        for (int64_t first = 0; first < w->channels && !code; first += piece) {
            const size_t at = (size_t)(row * w->channels + first) * real;
            s.channels = w->channels - first < piece ? w->channels - first : piece;
            s.uvw = w->uvw + 3 * row;
            s.freq = w->freq + first;
            s.data = (char *)w->data + at * 2 * (size_t)w->bounds.polarisations;
            s.weight = (char *)w->weight + at;
            code = grove_gridder_add(g, &s, threads, outside);
        }
    return code;
}

static void *make_image(const world *w, int pol, const grove_gridder_threads *threads)
{
    grove_gridder *g = make_gridder(w);
    grove_gridder_outside outside = {0};
    void *image = calloc((size_t)(w->image.size[0] * w->image.size[1]), sizeof(double));
    const grove_gridder_pixels to = pixels_of(w, image);
    const int64_t planes = plan_of(w).planes;

    if (w->bounds.exact) /* weights and parts of numbers are at most 2 and 1 */
        grove_gridder_set_exact(g, 3, 3 * (double)(w->rows * w->channels));
    for (int64_t first = 0; first < planes; first = grove_gridder_window_end(g)) {
        open_window(w, g, first, planes, w->limit);
        ck_assert_int_eq(add_samples(w, g, threads, &outside), 0);
        ck_assert_int_eq(grove_gridder_to_image(g, pol, &to, threads), 0);
    }
    ck_assert_msg(outside.samples == 0, "%s: %ld samples outside", w->name, (long)outside.samples);
    grove_gridder_free(g);
    return suite_keep(image);
}

/* Errors over the image, and over the pixels of the outer twentieth. */
static void check_image(const world *w)
{
    int pol = (int)(w->bounds.polarisations - 1);
    void *image = make_image(w, pol, &in_order);
    long double error[2] = {0}, norm[2] = {0}, expected[2] = {0}, each = expected_square(w, pol);

    for (int64_t y = 0; y < w->image.size[1]; y++)
        for (int64_t x = 0; x < w->image.size[0]; x++) {
            const int64_t at = y * w->image.size[0] + x;
            long double truth = true_pixel(w, pol, x, y);
            long double got = number(image, at, w->bounds.double_precision) - truth;
            for (int part = 0; part <= is_outer(w, x, y); part++) {
                error[part] += got * got;
                norm[part] += truth * truth;
                expected[part] += each;
            }
        }
    for (int part = 0; part < 2; part++)
        ck_assert_msg(error[part] <= w->epsilon * w->epsilon * fmaxl(norm[part], expected[part]),
                      "%s: error %.3Le over %s", w->name,
                      sqrtl(error[part] / fmaxl(norm[part], expected[part])),
                      part ? "the outer twentieth" : "the image");
}

/* <A^T V, I> = <V, A I> for the image I of the samples themselves. */
static void check_adjoint(world *w)
{
    const bool d = w->bounds.double_precision;
    int64_t count = w->rows * w->channels, pixels = w->image.size[0] * w->image.size[1];
    int64_t pols = w->bounds.polarisations;
    grove_gridder_outside outside = {0};
    void *image = make_image(w, 0, &in_order);
    grove_gridder *g = make_gridder(w);
    if (w->bounds.exact)
        grove_gridder_set_exact(g, 1, 1);
    void *predicted = calloc((size_t)(2 * count * pols), sizeof(double));
    grove_gridder_samples samples = samples_of(w);
    long double left = 0, right = 0, norm = 0, norm_data = 0;

    samples.data = predicted;
    const grove_gridder_pixels from = pixels_of(w, image);
    const int64_t planes = plan_of(w).planes;
    for (int64_t first = 0; first < planes; first = grove_gridder_window_end(g)) {
        open_window(w, g, first, planes, UINT64_MAX);
        for (int pol = 0; pol < pols; pol++)
            ck_assert_int_eq(grove_gridder_from_image(g, pol, &from, &in_order), 0);
        ck_assert_int_eq(grove_gridder_predict(g, &samples, &in_order, &outside), 0);
    }
    for (int64_t k = 0; k < pixels; k++)
        left += (long double)number(image, k, d) * number(image, k, d);
    for (int64_t k = 0; k < count; k++)
        for (int part = 0; part < 2; part++) {
            long double weight = number(w->weight, k, d),
                        x = number(predicted, 2 * pols * k + part, d);
            if (weight <= 0)
                continue;
            long double y = weight * number(w->data, 2 * pols * k + part, d);
            right += x * y;
            norm += x * x;
            norm_data += y * y;
        }
    /* Of integers what is rounded is divided by kernels that are small at the image's edges. */
    const long double rounding = w->bounds.exact ? 1e-12L + 1e-3L * w->epsilon : d ? 1e-12L : 1e-5L;
    ck_assert_msg(fabsl(left - right) <= rounding * sqrtl(norm * norm_data),
                  "%s: adjoint: %.17Lg and %.17Lg, of %.3Lg", w->name, left, right,
                  sqrtl(norm * norm_data));
    grove_gridder_free(g);
    free(predicted);
}

static size_t bytes_of(const world *w)
{
    return (size_t)(w->image.size[0] * w->image.size[1]) *
           (w->bounds.double_precision ? sizeof(double) : sizeof(float));
}

static void check_threads(const world *w)
{
    void *image = make_image(w, 0, &in_order);

    for (int k = 0; k < 2; k++) {
        void *other = make_image(w, 0, k ? &three : &backwards);
        ck_assert_msg(memcmp(image, other, bytes_of(w)) == 0, "%s: other bits", w->name);
    }
}

/* Images of integers: the same bits in any order, in any calls, with any planes at a time. */
static void check_order(world *w)
{
    static const int64_t ways[][2] = {{0, 1}, {1, 0}, {3, 2}, {1000, 3}, {5, 5}};

    w->bounds.exact = true;
    for (int i = 0; i < 6; i++) {
        void *image = make_image(w, 0, &in_order);
        w->piece = ways[i % 5][0];
        w->window = ways[i % 5][1];
        void *other = make_image(w, 0, &backwards);
        ck_assert_msg(!memcmp(image, other, bytes_of(w)), "%s: other bits, %d", w->name, i);
    }
}

static void check_world(world *w, uint64_t seed)
{
    check_image(w);
    check_adjoint(w);
    if (seed % 4 == 0)
        check_threads(w);
    if (seed % 4 == 1 && w->bounds.double_precision) {
        w->bounds.exact = true;
        check_image(w);
        check_adjoint(w);
        check_order(w);
    }
    free_world(w);
}

TEST(random_images)
{
    const char *count = getenv("GROVE_TEST_CONFIGURATIONS"), *seed = getenv("GROVE_TEST_SEED");
    const uint64_t first = seed ? strtoull(seed, NULL, 10) : 1,
                   configurations = count ? strtoull(count, NULL, 10) : CONFIGURATIONS;

    for (uint64_t i = 0; i < configurations; i++) {
        world w;
        make_random(&w, first + i);
        check_world(&w, first + i);
    }
}

/* What lies outside is folded in with at most epsilon of its flux over the image, and over its
 * outer twentieth, and at most 3 epsilon in each pixel, wherever it is. Among many samples and
 * pixels nothing is left to chance. */
TEST(sources_outside)
{
    const char *count = getenv("GROVE_TEST_CONFIGURATIONS");

    for (uint64_t seed = 1; seed <= (count ? 275 : 10); seed++) {
        world w;
        double sum = 0, worst = 0, error[3];
        make_outside(&w, seed == 10 ? 275 : seed); /* a small field at high accuracy, too */
        void *image = make_image(&w, 0, &in_order);
        for (int64_t k = 0; k < w.rows * w.channels; k++)
            sum += number(w.weight, k, w.bounds.double_precision);
        for (int k = 0; k < 40; k++) { /* corners, and pixels beside the edges and elsewhere */
            const int64_t *size = w.image.size,
                          near = k < 4    ? 1
                                 : k < 20 ? 4
                                          : 200,
                          x = k & 1 ? size[0] - whole(1, near) : whole(0, near - 1),
                          y = k & 2 ? size[1] - whole(1, near) : whole(0, near - 1);
            const double got = number(image, y * size[0] + x, w.bounds.double_precision);
            worst = fmax(worst, fabs(got - (double)true_pixel(&w, 0, x, y)));
        }
        find_errors(&w, image, error);
        worst = fmax(worst, error[2]);
        ck_assert_msg(worst <= 3 * w.epsilon * sum, "%s: %.2g epsilon", w.name,
                      worst / sum / w.epsilon);
        for (int part = 0; part < 2; part++)
            ck_assert_msg(error[part] <= w.epsilon * sum, "%s: %.2g epsilon over %s", w.name,
                          error[part] / sum / w.epsilon,
                          part ? "the outer twentieth" : "the image");
        free_world(&w);
    }
}

/* Where rows are few, planes become an image several at a time, but not those of integers. */
TEST(large_image_in_any_order)
{
    world w = {.image = {{256, 200}, {1e-3, 1e-3}, {0, 0}},
               .bounds = {.polarisations = 2, .double_precision = true},
               .epsilon = 1e-6,
               .isa = grove_isa_best(),
               .rows = 20,
               .channels = 5,
               .limit = UINT64_MAX,
               .name = "large image"};

    state = 5;
    fill(&w, 30);
    ck_assert_int_gt(plan_of(&w).planes, 5);
    check_order(&w);
    free_world(&w);
}

/* Coarse images, of which pixels are interpolated. */
TEST(coarse_images)
{
    int coarse = 0;

    for (uint64_t k = 1; k <= 16; k++) {
        world w;
        make_compact(&w, 3000 + k);
        coarse += plan_of(&w).taps > 0;
        check_world(&w, k);
    }
    ck_assert_int_gt(coarse, 8);
}

/* Fields near the horizon, and w far above u and v: planes are turned in the coarse pixels beside
 * the image, too. */
TEST(coarse_images_of_large_w)
{
    static const struct {
        int64_t size[2];
        double cell[2], longest, max_w, epsilon;
    } worlds[] = {{{307, 286}, {1.2e-4, 2.9e-4}, 10, 8600, 6e-7},
                  {{57, 81}, {0.016, 0.011}, 0.35, 0.04, 1.9e-8},
                  {{241, 120}, {0.0038, 0.0077}, 0.4, 4.8, 1.6e-5}};
    int coarse = 0;

    for (size_t k = 0; k < sizeof(worlds) / sizeof(*worlds); k++) {
        world w = {.image = {{worlds[k].size[0], worlds[k].size[1]},
                             {worlds[k].cell[0], worlds[k].cell[1]},
                             {0, 0}},
                   .bounds = {.polarisations = 1, .double_precision = true},
                   .epsilon = worlds[k].epsilon,
                   .isa = grove_isa_best(),
                   .rows = 12,
                   .channels = 2,
                   .limit = UINT64_MAX,
                   .oversampling = 1.25,
                   .name = "large w"};
        const double stretch = worlds[k].max_w / worlds[k].longest;
        state = 11 + k;
        fill(&w, worlds[k].longest);
        for (int64_t row = 0; row < w.rows; row++)
            w.uvw[3 * row + 2] *= stretch;
        w.bounds.max_w *= stretch;
        coarse += plan_of(&w).taps > 0;
        check_image(&w);
        free_world(&w);
    }
    ck_assert_int_gt(coarse, 0);
}

/* A source of 3 Jy at a pixel, predicted from an image and imaged again. */
TEST(one_source)
{
    for (int isa = 0; isa < GROVE_ISAS; isa++) {
        world w;
        grove_gridder_plan plan;
        float image[50 * 60] = {0};
        grove_gridder_outside outside = {0};
        make_random(&w, 5);
        free_world(&w);
        w.isa = grove_isa_works((grove_isa)isa) ? (grove_isa)isa : 0;
        w.image = (grove_gridder_image){{50, 60}, {1e-4, 2e-4}, {0, 0}};
        w.bounds = (grove_gridder_bounds){.polarisations = 1};
        w.epsilon = 1e-5;
        w.rows = 200;
        w.channels = 3;
        fill(&w, 2000);
        ck_assert_int_eq(grove_gridder_plan_choose(&w.image, &w.bounds, w.epsilon, &plan), 0);
        grove_gridder *g = grove_gridder_new(&plan, w.isa);
        grove_gridder_samples samples = samples_of(&w);
        image[40 * 50 + 7] = 3;
        memset(w.data, 0, (size_t)(w.rows * w.channels) * 2 * sizeof(float));
        const grove_gridder_pixels from = pixels_of(&w, image);
        ck_assert_int_eq(grove_gridder_from_image(g, 0, &from, &in_order), 0);
        ck_assert_int_eq(grove_gridder_predict(g, &samples, &in_order, &outside), 0);
        for (int64_t k = 0; k < w.rows * w.channels; k++) {
            long double angle = -turn * phase(&w, 7, 40, k / 3) * w.freq[k % 3];
            ck_assert_double_eq_tol(((float *)w.data)[2 * k], 3 * (double)cosl(angle), 1e-4);
            ck_assert_double_eq_tol(((float *)w.data)[2 * k + 1], 3 * (double)sinl(angle), 1e-4);
        }
        grove_gridder_free(g);
        free_world(&w);
    }
}

/* Planes are made where samples that are expected need them: less memory for the same numbers, and
 * no wrong ones for other samples. */
TEST(expected_samples)
{
    enum { SIDE = 256, EXPECTED = 4, ROWS = 8 };
    world w = {.image = {{SIDE, SIDE}, {1e-3, 1e-3}, {0, 0}},
               .bounds = {.polarisations = 1, .double_precision = true},
               .epsilon = 1e-6,
               .isa = grove_isa_best(),
               .rows = ROWS,
               .channels = 2,
               .name = "expected samples"};
    double image[SIDE * SIDE], predicted[2][2 * ROWS * 2] = {{0}};
    uint64_t bytes[2];
    grove_gridder_outside outside = {0};

    state = 7;
    fill(&w, 400);
    for (int64_t k = 0; k < SIDE * SIDE; k++)
        image[k] = uniform(-1, 1);
    grove_gridder_samples samples = samples_of(&w);
    const grove_gridder_pixels from = pixels_of(&w, image);
    for (int expects = 0; expects < 2; expects++) {
        grove_gridder *g = make_gridder(&w);
        samples.data = predicted[expects];
        samples.rows = EXPECTED;
        if (expects)
            ck_assert_int_eq(grove_gridder_expect(g, &samples, &three), 0);
        ck_assert_int_eq(grove_gridder_from_image(g, 0, &from, &in_order), 0);
        ck_assert_int_eq(grove_gridder_predict(g, &samples, &in_order, &outside), 0);
        bytes[expects] = grove_gridder_bytes(g);
        samples.rows = ROWS;
        samples.data = w.data;
        ck_assert_int_eq(grove_gridder_predict(g, &samples, &in_order, &outside), -expects);
        grove_gridder_free(g);
    }
    ck_assert_int_eq(memcmp(predicted[0], predicted[1], sizeof(predicted[0])), 0);
    ck_assert(predicted[0][0] != 0);
    ck_assert_uint_lt(4 * bytes[1], bytes[0]);
    free_world(&w);
}

/* What lies beyond the bounds, or is no number, is counted and left out. */
TEST(beyond_bounds)
{
    world w;
    make_random(&w, 11);
    grove_gridder_outside outside = {0};
    double weight = 0;
    grove_gridder *g = make_gridder(&w);
    grove_gridder_samples samples = samples_of(&w);

    w.uvw[0] = NAN;
    memset(w.weight, 0, w.bounds.double_precision ? sizeof(double) : sizeof(float));
    ck_assert_int_eq(grove_gridder_add(g, &samples, &in_order, &outside), 0);
    for (int64_t k = 0; k < w.channels; k++)
        weight += number(w.weight, k, w.bounds.double_precision);
    ck_assert_int_eq(outside.samples, w.channels - 1);
    ck_assert_double_eq_tol(outside.weight, weight, 1e-9);
    grove_gridder_free(g);
    free_world(&w);
}

/* A source at the phase centre, where n - 1 is extreme, with w from one value to many turns. */
TEST(bright_centre)
{
    for (int k = 0; k < 40; k++) {
        world w;
        make_random(&w, 900 + (uint64_t)k);
        free_world(&w);
        w.image = (grove_gridder_image){{64, 64}, {2e-3, 2e-3}, {0, 0}};
        w.bounds = (grove_gridder_bounds){.polarisations = 1, .double_precision = true};
        w.epsilon = pow(10, -1 - 0.25 * k);
        w.rows = 100;
        w.channels = 2;
        fill(&w, 200);
        for (int64_t i = 0; i < w.rows * w.channels; i++) {
            ((double *)w.weight)[i] = 1;
            ((double *)w.data)[2 * i] = 1;
            ((double *)w.data)[2 * i + 1] = 0;
        }
        for (int64_t row = 0; k % 2 && row < w.rows; row++)
            w.uvw[3 * row + 2] = 250;
        for (int64_t row = 0; row < w.rows; row++)
            w.bounds.max_w = fmax(w.bounds.max_w, fabs(w.uvw[3 * row + 2]));
        double *image = make_image(&w, 0, &in_order), off = image[32 * 64 + 32] / 200 - 1;
        ck_assert_msg(fabs(off) <= w.epsilon, "epsilon %.1e: %.2e", w.epsilon, off);
        snprintf(w.name, sizeof(w.name), "bright centre, epsilon %.1e", w.epsilon);
        check_image(&w);
        free_world(&w);
    }
}

/* Many samples in few cells: sums in single precision keep the accuracy. */
TEST(many_samples)
{
    enum { ROWS = 20000, CHANNELS = 50 };
    world w = {.image = {{16, 16}, {1e-5, 1e-5}, {0, 0}},
               .bounds = {.polarisations = 1},
               .epsilon = 1e-5,
               .isa = grove_isa_best(),
               .rows = ROWS,
               .channels = CHANNELS};

    state = 7;
    fill(&w, 3000);
    for (int64_t k = 0; k < ROWS * CHANNELS; k++) {
        ((float *)w.weight)[k] = 1;
        ((float *)w.data)[2 * k] = 1;
        ((float *)w.data)[2 * k + 1] = 0;
    }
    float *image = make_image(&w, 0, &in_order);
    /* Toward the middle all samples add up. */
    ck_assert_double_eq_tol(image[8 * 16 + 8] / (ROWS * CHANNELS), 1, 1e-5);
    for (int x = 2; x < 16; x += 5)
        ck_assert_double_eq_tol(image[3 * 16 + x] / (ROWS * CHANNELS),
                                (double)true_pixel(&w, 0, x, 3) / (ROWS * CHANNELS), 1e-5);
    free_world(&w);
}

/* Accuracies that a precision does not reach. */
TEST(impossible)
{
    grove_gridder_image image = {{100, 100}, {1e-4, 1e-4}, {0, 0}};
    grove_gridder_bounds bounds = {1000, 1000, 0, 1000, 1e6, 1, false, false};
    grove_gridder_plan plan;

    ck_assert_int_eq(grove_gridder_plan_choose(&image, &bounds, 1e-5, &plan), 0);
    ck_assert_int_eq(grove_gridder_plan_choose(&image, &bounds, 1e-9, &plan), -1);
    bounds.double_precision = true;
    ck_assert_int_eq(grove_gridder_plan_choose(&image, &bounds, 1e-12, &plan), 0);
    ck_assert_int_eq(grove_gridder_plan_choose(&image, &bounds, 1e-18, &plan), -1);
}

SUITE(600, NULL, NULL)
