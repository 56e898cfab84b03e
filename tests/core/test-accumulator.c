/* Reductions over tiled axes have the same bits for any tiles, threads and number of devices, and
 * for a run that two processes share along time. */
#include "tests/common/cuda-testing.h"
#include "tests/common/real-cuda.h"
#include "tests/common/session-testing.h"

#include "base/log.h"
#include "run/accumulator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TIMES = 180, REDUCTIONS = 7 };

static const char *const reductions[REDUCTIONS] = {
    "mean(V, over=time)",
    "sum(V, over=[time, freq])",
    "mean(V)",
    "sum(V, over=[time, baseline])",
    "min(real(V), over=[time, freq])",
    "sum(V, over=[freq, baseline])",
    "max(imag(V), over=freq)",
};

static void setup(void)
{
    cuda_testing_reset(3);
    session_test_begin();
}

static void teardown(void)
{
    session_test_end();
}

/* More than two blocks of times, more than one of channels. */
static void build(int reduction)
{
    const char *source = getenv("GROVE_SOURCE") ? getenv("GROVE_SOURCE") : ".";
    char text[2048];

    snprintf(text, sizeof(text),
             "obs = observe(array=\"%s/data/arrays/kat-7.array\", hour_angle=-0.1h..0.1h,\n"
             "  phase_centre=\"05h42m36.1s -49d51m07s\", integration=4s, frequency=1.4GHz,\n"
             "  channels=70, channel_width=1MHz)\n"
             "G[p] = gains(obs, kind=random_walk, amplitude=0.1, phase=30deg, seed=1)\n"
             "V[p,q] = G[p] * (obs.freq / 1.4GHz) * G[q]^H\n"
             "R = %s\n",
             source, reductions[reduction]);
    session_test_tree(text);
}

/* Those of R; cells * elements of them, complex. */
static double *numbers_of(const grove_session_options *options, int64_t *count)
{
    grove_session *session = grove_session_new(now.tree, options, now.error);
    grove_value *value = NULL;

    if (!session || grove_session_value(session, "R", &value))
        ck_abort_msg("%s", grove_error_message(now.error, 0));
    double *numbers = grove_value_numbers(value, count, now.error);
    grove_value_unref(value);
    grove_session_free(session);
    *count *= 2;
    return suite_keep(numbers);
}

static void check_options(const grove_session_options *options, const double *wanted,
                          int64_t wanted_count)
{
    int64_t count;
    double *numbers = numbers_of(options, &count);

    ck_assert_int_eq(count, wanted_count);
    for (int64_t i = 0; i < count; i++)
        ck_assert_msg(numbers[i] == wanted[i],
                      "tiles of %d times, %d channels, %d baselines on %s: number %ld is %.17g, "
                      "not %.17g",
                      (int)options->tile_times, (int)options->tile_channels,
                      (int)options->tile_baselines, options->device, (long)i, numbers[i],
                      wanted[i]);
}

static const int tiles[][3] = {{1, 0, 0},   {50, 0, 0}, {64, 0, 0},  {128, 64, 0},
                               {45, 9, 20}, {0, 50, 0}, {100, 0, 4}, {0, 0, 5}};
enum { TILES = sizeof(tiles) / sizeof(*tiles) };

static void check_tiles(const char *device, const char *devices)
{
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.device = device, .threads = 1, .double_precision = true);
    int64_t count;
    double *wanted = numbers_of(&options, &count);

    options.device = devices;
    for (int i = 0; i < TILES; i++) {
        options.threads = 1 + i % 3;
        options.tile_times = tiles[i][0];
        options.tile_channels = tiles[i][1];
        options.tile_baselines = tiles[i][2];
        check_options(&options, wanted, count);
    }
}

LOOP_TEST(tiles_and_threads_change_nothing, 0, REDUCTIONS)
{
    build(_i);
    check_tiles("cpu", "cpu");
}

LOOP_TEST(devices_change_nothing, 0, real_cuda_wanted() ? 0 : REDUCTIONS)
{
    build(_i);
    cuda_testing_control()->devices = 3;
    check_tiles("cuda", "cuda:all");
}

/* Numbers of R, and bits of the devices that launched. */
static double *numbers_and_devices(const grove_session_options *options, int64_t *count,
                                   unsigned *devices)
{
    grove_session *session = grove_session_new(now.tree, options, now.error);
    grove_value *value = NULL;

    ck_assert_int_eq(grove_session_evaluate(session, session_test_node("R"), NULL, 0, &value), 0);
    *devices = 0;
    for (int k = 0; k < session->device_count; k++)
        *devices |= (unsigned)(session->devices[k]->launches > 0) << k;
    double *numbers = grove_value_numbers(value, count, now.error);
    grove_value_unref(value);
    grove_session_free(session);
    return suite_keep(numbers);
}

/* Each device has a share of the times whatever the tiles: of three blocks of 64, or, where time is
 * not reduced, any number of times. Only a tile of all times is one device's. */
static const struct {
    int reduction, tile_times;
    unsigned devices; /* bits of those that take part */
} shares[] = {{0, 1, 7},  {0, 50, 7},  {0, 100, 7}, {1, 7, 7},   {4, 90, 7},
              {5, 11, 7}, {5, 100, 7}, {6, 90, 7},  {6, 179, 7}, {0, 180, 1}};

LOOP_TEST(each_device_has_a_share, 0, real_cuda_wanted() ? 0 : sizeof(shares) / sizeof(*shares))
{
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.device = "cuda", .threads = 1, .double_precision = true);
    int64_t count, wanted_count;
    unsigned devices;

    build(shares[_i].reduction);
    cuda_testing_control()->devices = 3;
    double *wanted = numbers_and_devices(&options, &wanted_count, &devices);
    options.device = "cuda:all";
    options.tile_times = shares[_i].tile_times;
    options.tile_channels = shares[_i].reduction > 4 ? 35 : 0;
    double *numbers = numbers_and_devices(&options, &count, &devices);
    ck_assert_int_eq(count, wanted_count);
    ck_assert_int_eq(memcmp(numbers, wanted, 2 * (size_t)count * sizeof(double)), 0);
    ck_assert_uint_eq(devices, shares[_i].devices);
}

/* ---- processes ---- */

static grove_accumulator *accumulator_for(grove_session *session, const grove_node *node)
{
    const grove_node *in = node->inputs[0].node;
    const int kinds[GROVE_CUTS] = {GROVE_AXIS_TIME, GROVE_AXIS_FREQ, GROVE_AXIS_BASELINE};
    grove_block block = {0};

    for (int d = 0; d < in->axis_count; d++)
        for (int k = 0; k < GROVE_CUTS; k++)
            if (in->axes[d]->kind == kinds[k]) {
                block.axis[k] = in->axes[d];
                block.count[k] = in->axes[d]->size;
            }
    return grove_accumulator_new(session, node, &block, 1u << GROVE_CUT_TIME, false);
}

/* Adds times [first, last) in tiles of 30. The code. */
static int add_times(grove_session *session, grove_accumulator *to, grove_node *in, int64_t first,
                     int64_t last)
{
    int code = 0;

    while (first < last && !code) {
        grove_range space[GROVE_MAX_AXES];
        grove_block tile = {0};
        grove_value *value = NULL;
        int64_t count = last - first < 30 ? last - first : 30;
        for (int d = 0; d < in->axis_count; d++) {
            space[d] = (grove_range){in->axes[d], 0, in->axes[d]->size};
            if (in->axes[d]->kind == GROVE_AXIS_TIME)
                space[d] = (grove_range){in->axes[d], first, count};
        }
        tile.first[GROVE_CUT_TIME] = first;
        tile.count[GROVE_CUT_TIME] = count;
        ck_assert_int_eq(grove_session_evaluate(session, in, space, in->axis_count, &value), 0);
        code = grove_accumulator_add(to, &tile, value, NULL, space, in->axis_count, false);
        grove_value_unref(value);
        first += count;
    }
    return code;
}

/* A process of its own writes what it has gathered; the reading end. */
static int start_process(const grove_session_options *options, int64_t first, int64_t last)
{
    int ends[2];

    ck_assert_int_eq(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (!child) {
        grove_session *session = grove_session_new(now.tree, options, now.error);
        grove_node *node = session_test_node("R");
        grove_accumulator *part = accumulator_for(session, node);
        size_t bytes = 0, done = 0;
        int code = add_times(session, part, node->inputs[0].node, first, last);
        char *from = code ? NULL : grove_accumulator_save(part, &bytes);
        while (from && done < bytes) {
            ssize_t n = write(ends[1], from + done, bytes - done);
            if (n <= 0)
                _exit(1);
            done += (size_t)n;
        }
        _exit(0);
    }
    close(ends[1]);
    return ends[0];
}

static char *read_all(int from, size_t *bytes)
{
    size_t capacity = 1 << 16;
    char *to = malloc(capacity);
    ssize_t n;

    for (*bytes = 0; (n = read(from, to + *bytes, capacity - *bytes)) > 0;) {
        *bytes += (size_t)n;
        if (*bytes == capacity)
            to = realloc(to, capacity *= 2);
    }
    close(from);
    ck_assert_int_gt(wait(NULL), 0);
    return suite_keep(to);
}

static const int64_t cuts[] = {64, 128};

LOOP_TEST(two_processes_give_the_bits_of_one, 0, 2 * 5)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.device = "cpu", .threads = 1,
                                                          .double_precision = true, .serial = true);
    int64_t count, merged_count;
    grove_range range[GROVE_MAX_AXES];
    grove_value *value = NULL;

    build(_i / 2);
    double *wanted = numbers_of(&options, &count);
    grove_session *session = grove_session_new(now.tree, &options, now.error);
    grove_node *node = session_test_node("R");
    grove_accumulator *parts[2];
    int64_t cut = cuts[_i % 2];
    for (int k = 1; k >= 0; k--) {
        size_t bytes;
        char *from = read_all(start_process(&options, k ? cut : 0, k ? TIMES : cut), &bytes);
        parts[k] = accumulator_for(session, node);
        ck_assert_int_eq(grove_accumulator_load(parts[k], from, bytes), 0);
    }
    ck_assert_int_eq(grove_accumulator_merge(parts[0], parts[1]), 0);
    for (int d = 0; d < node->axis_count; d++)
        range[d] = (grove_range){node->axes[d], 0, node->axes[d]->size};
    ck_assert_int_eq(grove_accumulator_finish(parts[0], range, true, false, &value), 0);
    double *merged = suite_keep(grove_value_numbers(value, &merged_count, now.error));
    ck_assert_int_eq(2 * merged_count, count);
    for (int64_t i = 0; i < count; i++)
        ck_assert_msg(merged[i] == wanted[i], "number %ld is %.17g, not %.17g", (long)i, merged[i],
                      wanted[i]);
    grove_value_unref(value);
    for (int k = 0; k < 2; k++)
        grove_accumulator_free(parts[k]);
    grove_session_free(session);
}

/* Two parts over times of a mean over no sources: neither has numbers. */
TEST(parts_to_which_nothing_was_added)
{
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.device = "cpu", .threads = 1, .double_precision = true);
    const char *source = getenv("GROVE_SOURCE") ? getenv("GROVE_SOURCE") : ".";
    char text[2048];
    int64_t count;
    grove_value *value = NULL;

    snprintf(text, sizeof(text),
             "obs = observe(array=\"%s/data/arrays/kat-7.array\", hour_angle=-0.1h..0.1h,\n"
             "  phase_centre=\"05h42m36.1s -49d51m07s\", integration=4s, frequency=1.4GHz,\n"
             "  channels=3, channel_width=1MHz)\n"
             "A = sky_model(\"%s/examples/new-node/accumulator/two.skymodel\", cutoff=1000000Jy)\n"
             "R = sum(A.stokes * obs.freq * obs.elevation, over=[source, time])\n",
             source, source);
    session_test_tree(text);
    grove_session *session = grove_session_new(now.tree, &options, now.error);
    grove_node *node = session_test_node("R"), *in = node->inputs[0].node;
    grove_accumulator *a = accumulator_for(session, node), *b = accumulator_for(session, node);
    ck_assert_int_eq(add_times(session, a, in, 0, 128), 0);
    ck_assert_int_eq(add_times(session, b, in, 128, TIMES), 0);
    ck_assert_int_eq(grove_accumulator_merge(a, b), 0);
    grove_range range[GROVE_MAX_AXES];
    for (int d = 0; d < node->axis_count; d++)
        range[d] = (grove_range){node->axes[d], 0, node->axes[d]->size};
    ck_assert_int_eq(grove_accumulator_finish(a, range, true, false, &value), 0);
    double *sum = suite_keep(grove_value_numbers(value, &count, now.error));
    ck_assert_int_gt(count, 0);
    for (int64_t i = 0; i < count; i++)
        ck_assert(sum[i] == 0);
    grove_value_unref(value);
    grove_accumulator_free(a);
    grove_accumulator_free(b);
    grove_session_free(session);
}

TEST(parts_that_do_not_fit)
{
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.device = "cpu", .threads = 1, .double_precision = true);

    build(0);
    grove_session *session = grove_session_new(now.tree, &options, now.error);
    grove_node *node = session_test_node("R"), *in = node->inputs[0].node;
    grove_accumulator *a = accumulator_for(session, node), *b = accumulator_for(session, node);
    ck_assert_int_ne(add_times(session, a, in, 50, 60), 0);
    ck_assert(strstr(grove_error_message(now.error, 0),
                     "'R': sums over time begin at cell 50; they must begin at multiples of 64"));
    grove_error_clear(now.error);
    ck_assert_int_eq(add_times(session, a, in, 0, 64), 0);
    ck_assert_int_eq(add_times(session, b, in, 128, TIMES), 0);
    ck_assert_int_ne(grove_accumulator_merge(a, b), 0);
    ck_assert(strstr(grove_error_message(now.error, 0),
                     "sums over times 128 to 180 cannot follow sums that end at 64"));
    grove_error_clear(now.error);
    grove_accumulator_free(b);
    b = accumulator_for(session, node);
    ck_assert_int_ne(grove_accumulator_load(b, "nothing", 7), 0);
    ck_assert(strstr(grove_error_message(now.error, 0), "these are not the bytes of its sums"));
    grove_accumulator_free(a);
    grove_accumulator_free(b);
    grove_session_free(session);
}

/* What a pass gathers that does not vary along all the axes that its tiles cut is added once. */
TEST(a_tile_is_added_once)
{
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.device = "cpu", .threads = 1, .double_precision = true,
                              .tile_channels = 1);
    int64_t count;

    session_test_tree("R = sum(abs(o.data), over=freq) * 0 + sum(real(o.gain))\n");
    double *cut = numbers_of(&options, &count);
    options.tile_channels = 0;
    check_options(&options, cut, count);
    session_test_tree("A = sum(o.data, over=[time, freq])\n"
                      "R = sum(o.jones, over=time) * sum(abs(o.data))\n");
    double *whole = numbers_of(&options, &count);
    options.tile_channels = 2;
    options.tile_times = 3;
    check_options(&options, whole, count);
}

CUDA_SUITE(300, setup, teardown)
