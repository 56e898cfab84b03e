/* Faults of the CUDA code that was published with Baxter's thesis (the node PSVTensor for GPUs),
 * each of which would be seen here if it came back. Truth is a closed form wherever there is one.
 */
#include "tests/common/cuda-testing.h"
#include "tests/common/session-testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SKY "lessons.skymodel"
enum { BASELINES = 91 }; /* of 14 stations */

static void setup(void)
{
    cuda_testing_reset(3);
    session_test_begin();
}

static void teardown(void)
{
    session_test_end();
    remove(SKY);
}

/* Sources up to a degree from the phase centre, all different: the first has 1000 Jy, source k has
 * 1 + k / 1024 Jy, and so no part of their sum is like another. `shape`: of Gaussians, or "". */
static double write_sky(int sources, const char *shape)
{
    FILE *file = fopen(SKY, "w");
    double sum = 0;

    ck_assert_ptr_nonnull(file);
    fprintf(file, "format = Name, Type, Ra, Dec, I%s\n",
            *shape ? ", MajorAxis, MinorAxis, Orientation" : "");
    for (int k = 0; k < sources; k++) {
        double flux = k ? 1 + k / 1024.0 : 1000;
        fprintf(file, "s%d, %s, 5:%d:%d.0, 49.%02d.%02d.0, %.10g%s\n", k,
                *shape ? "GAUSSIAN" : "POINT", 42 + k % 3, k % 60, 30 + k / 60 % 25, k % 53, flux,
                shape);
        sum += flux;
    }
    fclose(file);
    return sum;
}

/* An observation and its sky model, then `more`. */
static void build(const char *integration, int channels, const char *width, const char *more)
{
    const char *source = getenv("GROVE_SOURCE") ? getenv("GROVE_SOURCE") : ".";
    char text[3072];

    snprintf(text, sizeof(text),
             "obs = observe(array=\"%s/data/arrays/wsrt.array\",\n"
             "  phase_centre=\"05h42m36.1s 49d51m07s\", hour_angle=-0.1h..0.1h, integration=%s,\n"
             "  frequency=1.4GHz, channels=%d, channel_width=%s)\n"
             "S = sky_model(\"" SKY "\")\n%s\n",
             source, integration, channels, width, more);
    session_test_tree(text);
}

static grove_session *open_session(const char *device, grove_session_options options)
{
    options.device = cuda_testing_device(device);
    options.threads = 1;
    grove_session *session = grove_session_new(now.tree, &options, now.error);
    if (!session)
        ck_abort_msg("%s", grove_error_message(now.error, 0));
    return session;
}

static void close_session(grove_session *session)
{
    const emulated_control *c = cuda_testing_control();

    grove_session_free(session);
    ck_assert(!c || (c->blocks == 0 && c->pinned == 0 && c->contexts == 0));
}

/* All numbers of a node, real and imaginary parts where it is complex. The caller frees. */
static double *numbers_of(grove_session *session, const char *node, int64_t *count)
{
    grove_value *value = NULL;
    int code = grove_session_value(session, node, &value);

    ck_assert_msg(!code, "%s", code ? grove_error_message(now.error, 0) : "");
    bool complex_ = grove_value_is_complex(value);
    double *numbers = grove_value_numbers(value, count, now.error);
    ck_assert_ptr_nonnull(numbers);
    for (int64_t k = 0; !complex_ && k < *count; k++)
        numbers[k] = numbers[2 * k];
    *count *= complex_ ? 2 : 1;
    grove_value_unref(value);
    return numbers;
}

static double *numbers_on(const char *device, const char *node, bool double_precision,
                          int64_t *count, grove_counters *counters)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.double_precision = double_precision);
    grove_session *session = open_session(device, options);
    double *numbers = numbers_of(session, node, count);

    if (counters)
        *counters = *grove_session_counters(session);
    close_session(session);
    return numbers;
}

/* On the device, in double precision, what the cpu gives. */
static void check_both(const char *node)
{
    int64_t count, here_count;
    grove_counters c;
    double *there = numbers_on("cuda", node, true, &count, &c), error = 0, size = 0;
    double *here = numbers_on("cpu", node, true, &here_count, NULL);

    ck_assert_int_eq(count, here_count);
    for (int64_t k = 0; k < count; k++) {
        error += (there[k] - here[k]) * (there[k] - here[k]);
        size += here[k] * here[k];
    }
    ck_assert_uint_gt(c.launches, 0);
    ck_assert_msg(size > 0 && sqrt(error) <= 1e-11 * sqrt(size), "%g of %g", sqrt(error),
                  sqrt(size));
    free(there);
    free(here);
}

/* Where memory was short the number of sources taken at a time was to be reduced, but both branches
 * set it to all of them; and had it been reduced, the kernel that adds a slice to the result would
 * have assigned it, so that only the last slice was left. The modulus of each source's visibility
 * is its flux, wherever it is. */
TEST(sources_in_slices_are_all_added)
{
    enum { SOURCES = 60, CHANNELS = 4 };
    double sum = write_sky(SOURCES, "");
    grove_session_options options = GROVE_SESSION_OPTIONS(.double_precision = true);
    uint64_t launches = 0, peak = 0, local = 0;

    build("180s", CHANNELS, "1MHz", "A = sum[s](abs(point(S, obs, smear=none)))");
    for (int part = 1; part <= 4; part++) {
        options.device_memory = part > 1 ? local + (peak - local) / (uint64_t)part : 0;
        grove_session *session = open_session("cuda", options);
        int64_t count;
        double *numbers = numbers_of(session, "A", &count);
        const grove_counters *c = grove_session_counters(session);
        ck_assert_int_eq(count % (4 * BASELINES * CHANNELS), 0);
        for (int64_t k = 0; k < count; k++)
            ck_assert_double_eq_tol(numbers[k], k % 4 % 3 ? 0 : sum, 1e-9);
        if (part == 1) {
            launches = c->launches;
            peak = c->device_peak_bytes;
            local = c->device_local_bytes;
        } else {
            ck_assert_uint_le(c->device_peak_bytes, options.device_memory);
            ck_assert_uint_gt(c->launches, launches);
        }
        free(numbers);
        close_session(session);
    }
}

/* One array held all sources by times by channels (thesis: 2563 words per source and tile), and was
 * as large as there were sources. What is held at a time is now a part of it. */
TEST(no_array_of_all_sources_by_cells)
{
    enum { SOURCES = 1600, CHANNELS = 32 };
    int64_t count;
    grove_counters c;

    write_sky(SOURCES, "");
    build("180s", CHANNELS, "1MHz", "V[p,q] = sum[s](point(S, obs, smear=both))");
    free(numbers_on("cuda", "V", false, &count, &c));
    ck_assert_uint_gt(c.launches, 0);
    ck_assert_uint_lt(c.device_peak_bytes - c.device_local_bytes,
                      SOURCES * (uint64_t)count * sizeof(float) / 4);
}

/* Numbers of bytes were int, which is too small from 2 GiB on. */
TEST(sizes_of_more_than_2_gib)
{
    const size_t bytes = ((size_t)1 << 31) + 4096, last = bytes - 8;
    const double a[2] = {3, 5};
    double sums[2] = {0, 0};
    grove_error *error = grove_error_new();
    void *at = NULL;
    grove_device *device = cuda_testing_control() ? cuda_testing_open(0) : NULL;

    if (!device) {
        grove_error_free(error);
        return;
    }
    ck_assert_int_eq(grove_device_allocate(device, bytes, &at, error), 0);
    ck_assert_uint_ge(device->budget.in_use, bytes);
    grove_device_upload(device, at, &a[0], 8, error);
    grove_device_upload(device, (char *)at + last, &a[1], 8, error);
    grove_device_ready(device, at, error);
    grove_args args = cuda_testing_sum(at, at, at, 2);
    args.out.stride[0] = args.in[0].stride[0] = args.in[1].stride[0] = (int64_t)last;
    grove_device_launch(device, &cuda_testing_add, &args, true, error);
    grove_device_download(device, &sums[0], at, 8, error);
    grove_device_download(device, &sums[1], (char *)at + last, 8, error);
    ck_assert_msg(grove_error_count(error) == 0, "%s", grove_error_message(error, 0));
    ck_assert_double_eq(sums[0], 6);
    ck_assert_double_eq(sums[1], 10);
    grove_device_release(device, at, bytes);
    ck_assert_uint_eq(device->budget.in_use, 0);
    cuda_testing_close(device);
    grove_error_free(error);
}

/* In a wide band the factor nu dt / 2 of smearing in time was a vector along time that was filled
 * from one along frequency. With other numbers of times than of channels, in either order: each
 * visibility is less by sinc(pi nu dt d(phase)/dt). */
LOOP_TEST(smearing_in_time_over_a_wide_band, 0, 2)
{
    enum { CHANNELS = 7 };
    int64_t count, geometry;
    char lines[] =
        "V[p,q] = sum[s](point(S, obs, smear=time))\nR = 2 * obs.uvw_rate\nL = lmn(S, obs)\n";
    double dt = _i ? 20 : 180; /* 36 times and 4 */

    write_sky(1, "");
    build(_i ? "20s" : "180s", CHANNELS, "200MHz", lines);
    double *v = numbers_on("cuda", "V", true, &count, NULL);
    double *rate = numbers_on("cpu", "R", true, &geometry, NULL);
    double *lmn = numbers_on("cpu", "L", true, &(int64_t){0}, NULL);
    int64_t rows = geometry / 3;
    ck_assert_int_eq(rows, BASELINES * (_i ? 36 : 4));
    ck_assert_int_eq(count, rows * CHANNELS * 8);
    double min = 1;
    for (int64_t row = 0; row < rows; row++)
        for (int k = 0; k < CHANNELS; k++) {
            const double *r = rate + 3 * row, *xx = v + (row * CHANNELS + k) * 8;
            double slope = 0.5 * (r[0] * lmn[0] + r[1] * lmn[1] + r[2] * lmn[2]) / 299792458.0;
            double x = acos(-1) * (1.4e9 + 2e8 * k) * dt * slope;
            double factor = x == 0 ? 1 : fabs(sin(x) / x);
            ck_assert_double_eq_tol(hypot(xx[0], xx[1]), 1000 * factor, 1e-8);
            min = factor < min ? factor : min;
        }
    ck_assert_double_lt(min, 0.999); /* there is something to be seen */
    free(v);
    free(rate);
    free(lmn);
}

/* Brightness, directions and frequencies were packed and sent again, into memory allocated and
 * freed again, for each baseline and tile: a fifth to a quarter of the time. */
TEST(nothing_is_sent_for_each_tile)
{
    uint64_t up[2];
    int64_t tiles[2];
    grove_session_options options = GROVE_SESSION_OPTIONS();

    write_sky(400, "");
    for (int i = 0; i < 2; i++) {
        options.tile_times = i ? 1 : 0;
        build("30s", 4, "1MHz", "V[p,q] = sum[s](point(S, obs, smear=none))");
        grove_session *session = open_session("cuda", options);
        int64_t count;
        free(numbers_of(session, "V", &count));
        up[i] = grove_session_counters(session)->bytes_up;
        tiles[i] = grove_session_counters(session)->tiles;
        close_session(session);
    }
    ck_assert_int_eq(tiles[0], 1);
    ck_assert_int_ge(tiles[1], 24);
    /* 400 sources are 400 * (32 + 24) bytes each time that they are sent */
    ck_assert_uint_le(up[1], up[0] + 400 * 56);
}

/* What failed was printed, and the run went on with whatever was in the result. */
LOOP_TEST(failures_fail_the_run, 0, 3)
{
    static const int kinds[] = {EMULATED_COPY, EMULATED_LAUNCH, EMULATED_RUNNING};
    emulated_control *control = cuda_testing_control();

    if (!control)
        return;
    write_sky(5, "");
    build("180s", 4, "1MHz", "V[p,q] = sum[s](point(S, obs, smear=both))");
    grove_session *session = open_session("cuda", GROVE_SESSION_OPTIONS());
    memset(control->calls, 0, sizeof(control->calls));
    control->fault = kinds[_i];
    control->fault_at = 1;
    grove_value *value = NULL;
    int code = grove_session_value(session, "V", &value);
    int64_t count; /* a kernel that is still running is asked for when its result is */
    double *numbers = code ? NULL : grove_value_numbers(value, &count, now.error);
    ck_assert_ptr_null(numbers);
    grove_value_unref(value);
    ck_assert_int_eq(grove_error_code(now.error), GROVE_DEVICE);
    ck_assert_int_ge(grove_error_count(now.error), 1);
    ck_assert_ptr_nonnull(strstr(grove_error_message(now.error, 0), "cuda:0: "));
    close_session(session);
    grove_error_clear(now.error);
    cuda_testing_reset(3); /* and the next one is not spoilt */
    check_both("V");
}

/* n - 1 was written into the kernel, whatever the third coordinate was asked to be. */
TEST(third_coordinate_is_the_one_given)
{
    int64_t count, geometry;

    write_sky(1, "");
    build("180s", 3, "1MHz",
          "V[p,q] = predict(S, obs, lmn=lmn(S, obs) + [0, 0, 1])\nU = 2 * obs.uvw\nL = lmn(S, "
          "obs)\n");
    double *v = numbers_on("cuda", "V", true, &count, NULL);
    double *uvw = numbers_on("cpu", "U", true, &geometry, NULL);
    double *l = numbers_on("cpu", "L", true, &(int64_t){0}, NULL);
    ck_assert_int_eq(count, geometry / 3 * 3 * 8);
    for (int64_t n = 0; n < count / 8; n++) {
        const double *u = uvw + n / 3 * 3;
        double turns = 0.5 * (u[0] * l[0] + u[1] * l[1] + u[2] * (l[2] + 1)) *
                       (1.4e9 + 1e6 * (double)(n % 3)) / 299792458.0;
        double phase = -2 * acos(-1) * (turns - rint(turns));
        ck_assert_double_eq_tol(v[8 * n], 1000 * cos(phase), 1e-6);
        ck_assert_double_eq_tol(v[8 * n + 1], 1000 * sin(phase), 1e-6);
    }
    free(v);
    free(uvw);
    free(l);
}

/* Only one pair of real Jones terms was computed, the shapes of Gaussians were taken and ignored,
 * and of variable Jones terms it was said that they are not implemented. */
LOOP_TEST(every_term_is_computed, 0, 2)
{
    static const char *const lines[] = {
        "V[p,q] = sum[s](point(S, obs, smear=both))",
        "E[s,p] = beam_airy(S, obs, diameter=25m)\n"
        "G[p] = gains(obs, kind=random_walk, amplitude=0.1, phase=20deg, seed=1)\n"
        "D[p] = gains(obs, kind=sine, amplitude=0.1, phase=50deg, seed=2)\n"
        "V[p,q] = sum[s](G[p] * D[p] * E[s,p] * point(S, obs, smear=both) * E[s,q]^H * D[q]^H * "
        "G[q]^H)"};
    int64_t count, points;

    write_sky(37, ", 40, 20, 30");
    build("180s", 5, "1MHz", lines[_i]);
    check_both("V");
    double *gaussians = numbers_on("cuda", "V", true, &count, NULL);
    write_sky(37, "");
    build("180s", 5, "1MHz", lines[_i]);
    double *others = numbers_on("cuda", "V", true, &points, NULL), distance = 0;
    ck_assert_int_eq(count, points);
    for (int64_t k = 0; k < count; k++)
        distance = fmax(distance, fabs(gaussians[k] - others[k]));
    ck_assert_double_gt(distance, 100); /* of 1000 Jy: resolved */
    free(gaussians);
    free(others);
}

/* Sources were taken in slots of 64, summed in pairs, and cells in blocks of 8 times by 16
 * channels: numbers just beside those are where the last block is cut off or counted twice. */
LOOP_TEST(numbers_that_fill_no_block, 0, 7)
{
    static const int sources[] = {1, 2, 15, 63, 64, 65, 129},
                     channels[] = {1, 3, 15, 16, 17, 9, 31};

    write_sky(sources[_i], "");
    build(_i % 2 ? "180s" : "80s", channels[_i], "1MHz", /* 4 times, and 9 */
          "V[p,q] = sum[s](point(S, obs, smear=both))");
    check_both("V");
}

CUDA_SUITE(240, setup, teardown)
