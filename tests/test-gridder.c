/* The gridder against the Fourier sum in long double, over random images and samples; the adjoint;
 * the same bits for any threads. GROVE_TEST_CONFIGURATIONS is how many configurations there are
 * beside the fixed ones, GROVE_TEST_SEED where they begin. */
#include "../kernels/gridder/fourier.h"
#include "gridder-testing.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const long double turn = 2 * 3.14159265358979323846264338327950288L;
static const long double speed_of_light = 299792458.0L;

typedef struct {
    grove_gridder_image image;
    grove_gridder_bounds bounds;
    double epsilon;
    grove_isa isa;
    int64_t rows, channels;
    double *uvw, *freq;
    void *data, *weight; /* numbers of the precision */
    int64_t window;      /* planes at a time; 0: all */
    uint64_t limit;      /* bytes of them */
    bool exact;
    int64_t piece; /* channels of a row that are added at a time, the last row first; 0: all */
    char name[160];
} world;

/* ---- random numbers ---- */

static uint64_t state;

static double uniform(double low, double high)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(state >> 11) / 9007199254740992.0;
}

static int64_t whole(int64_t low, int64_t high)
{
    return low + (int64_t)uniform(0, (double)(high - low + 1));
}

static double number(const void *at, int64_t k, bool double_precision)
{
    return double_precision ? ((const double *)at)[k] : (double)((const float *)at)[k];
}

static void put(void *at, int64_t k, double x, bool double_precision)
{
    if (double_precision)
        ((double *)at)[k] = x;
    else
        ((float *)at)[k] = (float)x;
}

/* ---- configurations ---- */

static void fill(world *w, double longest)
{
    const bool double_precision = w->bounds.double_precision;
    const int64_t pols = w->bounds.polarisations;
    size_t real = double_precision ? sizeof(double) : sizeof(float);
    int64_t samples = w->rows * w->channels;
    double highest = 0;

    w->uvw = malloc((size_t)w->rows * 3 * sizeof(double));
    w->freq = malloc((size_t)w->channels * sizeof(double));
    w->data = malloc((size_t)(samples * pols) * 2 * real);
    w->weight = malloc((size_t)samples * real);
    int order = (int)whole(0, 3);
    for (int64_t k = 0; k < w->channels; k++) {
        double at = order == 0 ? (double)k : order == 1 ? (double)(w->channels - k) : uniform(0, 9);
        w->freq[k] = 1e8 + 2e6 * at;
        highest = fmax(highest, w->freq[k]);
    }
    double metres = longest * (double)speed_of_light / highest;
    for (int64_t k = 0; k < 3 * w->rows; k++)
        w->uvw[k] = whole(0, 30) ? uniform(-metres, metres) : 0;
    for (int64_t k = 0; k < samples; k++)
        put(w->weight, k, whole(0, 3) ? uniform(0.1, 2) : 0, double_precision);
    for (int64_t k = 0; k < 2 * samples * pols; k++)
        put(w->data, k,
            number(w->weight, k / (2 * pols), double_precision) > 0 ? uniform(-1, 1) : NAN,
            double_precision);
    w->bounds.samples = (double)samples;
    w->bounds.max_u = w->bounds.max_v = w->bounds.max_w = 0;
    for (int64_t r = 0; r < w->rows; r++) {
        const double *uvw = w->uvw + 3 * r, k = highest / (double)speed_of_light;
        w->bounds.max_u = fmax(w->bounds.max_u, fabs(uvw[0]) * k);
        w->bounds.max_v = fmax(w->bounds.max_v, fabs(uvw[1]) * k);
        w->bounds.max_w = fmax(w->bounds.max_w, fabs(uvw[2]) * k);
    }
}

static grove_isa random_isa(void)
{
    grove_isa isa = (grove_isa)whole(0, GROVE_ISAS - 1);

    return grove_isa_works(isa) ? isa : GROVE_ISA_PORTABLE;
}

/* Images of up to 40 x 40 pixels, fields from small to the whole sky, w up to many turns. */
static void make_random(world *w, uint64_t seed)
{
    memset(w, 0, sizeof(*w));
    state = seed * 0x9e3779b97f4a7c15u + 1;
    uniform(0, 1);
    w->isa = random_isa();
    w->bounds.double_precision = whole(0, 1);
    w->bounds.without_w = whole(0, 5) == 0;
    w->bounds.polarisations = whole(1, 4);
    w->epsilon = pow(10, uniform(w->bounds.double_precision ? -12 : -5, -1));
    double field = pow(10, uniform(-3, -0.2));
    for (int d = 0; d < 2; d++) {
        w->image.size[d] = whole(0, 3) ? whole(1, 40) : whole(1, 3);
        w->image.cell[d] = field / (double)w->image.size[d];
        w->image.centre[d] = whole(0, 2) ? 0 : uniform(-0.2, 0.2);
    }
    w->rows = whole(0, 3) ? whole(1, 60) : 1;
    w->channels = whole(0, 3) ? whole(1, 40) : 1;
    /* Now and then beyond what the pixels resolve. */
    double finest = fmax(w->image.cell[0], w->image.cell[1]);
    fill(w, (whole(0, 5) ? 0.45 : 1.7) / finest);
    w->window = whole(0, 2) ? whole(1, 12) : 0;
    w->limit = whole(0, 2) ? UINT64_MAX : 1 << 20;
    snprintf(w->name, sizeof(w->name),
             "seed %lu: %s, %s, %ld x %ld pixels of %.2g, %ld x %ld samples, epsilon %.1e, %ld "
             "planes at a time",
             (unsigned long)seed, grove_isa_name(w->isa),
             w->bounds.double_precision ? "double" : "single", (long)w->image.size[0],
             (long)w->image.size[1], w->image.cell[0], (long)w->rows, (long)w->channels, w->epsilon,
             (long)w->window);
}

static void free_world(world *w)
{
    free(w->uvw);
    free(w->freq);
    free(w->data);
    free(w->weight);
}

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

    if (w->exact) /* weights and parts of numbers are at most 2 and 1 */
        grove_gridder_set_exact(g, 3, 3 * (double)(w->rows * w->channels));
    for (int64_t first = 0; first < planes; first = grove_gridder_window_end(g)) {
        open_window(w, g, first, planes, w->limit);
        ck_assert_int_eq(add_samples(w, g, threads, &outside), 0);
        ck_assert_int_eq(grove_gridder_to_image(g, pol, &to, &grove_fourier, threads), 0);
    }
    ck_assert_msg(outside.samples == 0, "%s: %ld samples outside", w->name, (long)outside.samples);
    grove_gridder_free(g);
    return image;
}

/* ---- the truth ---- */

static long double phase(const world *w, int64_t x, int64_t y, int64_t row)
{
    const int64_t *size = w->image.size;
    long double l = w->image.centre[0] + (long double)(x - size[0] / 2) * w->image.cell[0];
    long double m = w->image.centre[1] + (long double)(y - size[1] / 2) * w->image.cell[1];
    long double r = l * l + m * m, n = -r / (1 + sqrtl(1 - r));

    if (r >= 1)
        return NAN;
    if (w->bounds.without_w)
        n = 0;
    return (w->uvw[3 * row] * l + w->uvw[3 * row + 1] * m + w->uvw[3 * row + 2] * n) /
           speed_of_light;
}

static long double true_pixel(const world *w, int pol, int64_t x, int64_t y)
{
    const bool d = w->bounds.double_precision;
    long double sum = 0;

    for (int64_t row = 0; row < w->rows; row++) {
        long double delay = phase(w, x, y, row);
        for (int64_t k = 0; k < w->channels && !isnan(delay); k++) {
            int64_t at = row * w->channels + k;
            long double weight = number(w->weight, at, d), angle = delay * w->freq[k];
            if (weight <= 0)
                continue;
            int64_t element = 2 * (at * w->bounds.polarisations + pol);
            angle = turn * (angle - rintl(angle));
            sum += weight * (number(w->data, element, d) * cosl(angle) -
                             number(w->data, element + 1, d) * sinl(angle));
        }
    }
    return sum;
}

/* The mean square of a pixel if samples were independent: over few pixels the true image may be
 * much smaller by chance. */
static long double expected_square(const world *w, int pol)
{
    const bool d = w->bounds.double_precision;
    long double sum = 0;

    for (int64_t k = 0; k < w->rows * w->channels; k++)
        for (int part = 0; part < 2; part++) {
            double weight = number(w->weight, k, d);
            double x = number(w->data, 2 * (k * w->bounds.polarisations + pol) + part, d);
            sum += weight > 0 ? weight * weight * x * x / 2 : 0;
        }
    return sum;
}

/* Errors over the image, and over the pixels of the outer twentieth. */
static void check_image(const world *w)
{
    int pol = (int)(w->bounds.polarisations - 1);
    void *image = make_image(w, pol, &in_order);
    long double error[2] = {0}, norm[2] = {0}, expected[2] = {0}, each = expected_square(w, pol);

    for (int64_t y = 0; y < w->image.size[1]; y++)
        for (int64_t x = 0; x < w->image.size[0]; x++) {
            const int64_t *size = w->image.size;
            long double truth = true_pixel(w, pol, x, y);
            long double got = number(image, y * size[0] + x, w->bounds.double_precision) - truth;
            long double off_x = fabsl((long double)(x - size[0] / 2)) / size[0];
            long double off_y = fabsl((long double)(y - size[1] / 2)) / size[1];
            bool outer = off_x > 0.475L || off_y > 0.475L;
            for (int part = 0; part <= outer; part++) {
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
    free(image);
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
    if (w->exact)
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
            ck_assert_int_eq(grove_gridder_from_image(g, pol, &from, &grove_fourier, &in_order), 0);
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
    ck_assert_msg(fabsl(left - right) <= (d ? 1e-12L : 1e-5L) * sqrtl(norm * norm_data),
                  "%s: adjoint: %.17Lg and %.17Lg, of %.3Lg", w->name, left, right,
                  sqrtl(norm * norm_data));
    grove_gridder_free(g);
    free(predicted);
    free(image);
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
        free(other);
    }
    free(image);
}

/* Images of integers: the same bits in any order, in any calls, with any planes at a time. */
static void check_order(world *w)
{
    static const int64_t ways[][2] = {{0, 1}, {1, 0}, {3, 2}, {1000, 3}, {5, 5}};

    w->exact = true;
    for (int i = 0; i < 6; i++) {
        void *image = make_image(w, 0, &in_order);
        w->piece = ways[i % 5][0];
        w->window = ways[i % 5][1];
        void *other = make_image(w, 0, &backwards);
        ck_assert_msg(!memcmp(image, other, bytes_of(w)), "%s: other bits, %d", w->name, i);
        free(other);
        free(image);
    }
}

START_TEST(random_images)
{
    const char *count = getenv("GROVE_TEST_CONFIGURATIONS"), *seed = getenv("GROVE_TEST_SEED");
    uint64_t first = seed ? strtoull(seed, NULL, 10) : 1;
    uint64_t last = first + (count ? strtoull(count, NULL, 10) : 20);

    for (uint64_t k = first; k < last; k++) {
        world w;
        make_random(&w, k);
        check_image(&w);
        check_adjoint(&w);
        if (k % 4 == 0)
            check_threads(&w);
        if (k % 4 == 1 && w.bounds.double_precision) {
            w.exact = true;
            check_image(&w);
            check_adjoint(&w);
            check_order(&w);
        }
        free_world(&w);
    }
}
END_TEST

/* Where rows are few, planes become an image several at a time, but not those of integers. */
START_TEST(large_image_in_any_order)
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
END_TEST

/* A source of 3 Jy at a pixel, predicted from an image and imaged again. */
START_TEST(one_source)
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
        ck_assert_int_eq(grove_gridder_from_image(g, 0, &from, &grove_fourier, &in_order), 0);
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
END_TEST

/* What lies beyond the bounds, or is no number, is counted and left out. */
START_TEST(beyond_bounds)
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
END_TEST

/* A source at the phase centre, where n - 1 is extreme, with w from one value to many turns. */
START_TEST(bright_centre)
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
        free(image);
        free_world(&w);
    }
}
END_TEST

/* Many samples in few cells: sums in single precision keep the accuracy. */
START_TEST(many_samples)
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
    free(image);
    free_world(&w);
}
END_TEST

/* Accuracies that a precision does not reach. */
START_TEST(impossible)
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
END_TEST

int main(void)
{
    Suite *suite = suite_create("gridder");
    TCase *tests = tcase_create("gridder");
    SRunner *runner = srunner_create(suite);

    suite_add_tcase(suite, tests);
    tcase_set_timeout(tests, 600);
    tcase_add_test(tests, random_images);
    tcase_add_test(tests, large_image_in_any_order);
    tcase_add_test(tests, one_source);
    tcase_add_test(tests, beyond_bounds);
    tcase_add_test(tests, bright_centre);
    tcase_add_test(tests, many_samples);
    tcase_add_test(tests, impossible);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
