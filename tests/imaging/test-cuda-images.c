/* Dirty images and predictions on emulated devices: the numbers of the host, what is copied, memory
 * that is short, faults of the driver, several devices. That the numbers are right says
 * test-nodes-images, which test-cuda-sessions.sh has run on a device, too. */
#include "tests/common/cuda-testing.h"
#include "tests/common/heap-testing.h"

#include "base/text.h"
#include "device/array.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Its input, by way of the host. */
static int eval_host(const grove_call *call)
{
    (call->double_precision
         ? grove_array_cast.double_precision
         : grove_array_cast.single_precision)(call->args, 0, grove_args_cells(call->args));
    return 0;
}

static int check_host(grove_node *node)
{
    grove_node_set_output(node, grove_node_input_form(node, 0));
    return 0;
}

static const grove_port host_inputs[] = {
    {"x", GROVE_VALUE, "what is handed on", .shapes = GROVE_ANY_SHAPE}, {0}};
static const grove_class class_host = {GROVE_CLASS_HEAD(host), .doc = "For tests.",
                                       .inputs = host_inputs,  .eval = eval_host,
                                       .check = check_host,    .output_doc = "the input"};

static void setup(void)
{
    cuda_testing_reset(0);
    cuda_testing_libraries(true);
    session_test_begin();
    ck_assert_int_eq(grove_classes_add(now.classes, &class_host, now.error), 0);
    heap_test_add();
}

enum { TIMES = 4, BASELINES = 351, ROWS = TIMES * BASELINES };

/* Visibilities V of a few sources, and further lines. */
static void simulate(int channels, const char *lines)
{
    const char *source = getenv("GROVE_SOURCE") ? getenv("GROVE_SOURCE") : ".";
    char text[4000];

    snprintf(text, sizeof(text),
             "obs = observe(array=\"%s/data/arrays/vla-c.array\",\n"
             "  phase_centre=\"05h42m36.1s 49d51m07s\", hour_angle=-0.2h..0.2h,\n"
             "  integration=360s, frequency=1.4GHz, channels=%d, channel_width=4MHz)\n"
             "S = sky_model(\"%s/examples/quickstart/3C147.skymodel\")\n"
             "V[p,q] = sum[s](point(S, obs))\n%s",
             source, channels, source, lines);
    session_test_tree(text);
}

/* ---- the numbers of the host ---- */

typedef struct {
    const char *line;
    double epsilon;
    int channels, tile_times;
    bool double_precision;
} one_case;

static const one_case cases[] = {
    {"dirty_image(V, obs, size=48, cell=10arcsec, epsilon=1e-4)", 1e-4, 4, 0, false},
    {"dirty_image(V, obs, size=48, cell=10arcsec, epsilon=1e-4)", 1e-4, 4, 2, false},
    {"dirty_image(V, obs, size=[33, 48], cell=10arcsec, epsilon=1e-5, stokes=\"IQUV\")", 1e-5, 3, 4,
     false},
    {"dirty_image(V, obs, size=40, cell=10arcsec, epsilon=1e-9, stokes=\"VI\")", 1e-9, 3, 4, true},
    /* many planes, more than shared memory holds of a tile; and the grid repeats itself */
    {"dirty_image(V, obs, size=40, cell=10arcmin, epsilon=1e-4)", 1e-4, 1, 0, false},
    {"dirty_image(V, obs, size=20, cell=20arcmin, epsilon=1e-12)", 1e-12, 1, 2, true},
    /* all samples in few tiles: several blocks share one */
    {"dirty_image(V, obs, size=16, cell=0.1arcsec, epsilon=1e-2)", 1e-2, 8, 0, false},
    {"dirty_image(V, obs, size=16, cell=0.1arcsec, epsilon=1e-7, w_terms=false)", 1e-7, 6, 0, true},
    /* bands, which tiles of 2 times and of all channels have together */
    {"dirty_image(V, obs, size=24, cell=10arcsec, epsilon=1e-4, bands=3, stokes=\"IQ\")", 1e-4, 8,
     2, false},
    {"psf_image(obs, size=48, cell=10arcsec, epsilon=1e-5)", 1e-5, 4, 4, false},
    {"predict_image(I, obs, epsilon=1e-4)", 1e-4, 4, 0, false},
    {"predict_image(I, obs, epsilon=1e-5)", 1e-5, 3, 2, false},
    {"predict_image(I, obs, epsilon=1e-9)", 1e-9, 2, 2, true},
    {"predict_image(wide, obs, epsilon=1e-4)", 1e-4, 1, 0, false},
    {"predict_image(wide, obs, epsilon=1e-10)", 1e-10, 1, 0, true},
    {"predict_image(narrow, obs, epsilon=1e-5)", 1e-5, 8, 0, false},
    /* cubes: the nearest plane, what is between two, one for each channel, in tiles of some */
    {"predict_image(cube, obs, epsilon=1e-4)", 1e-4, 4, 2, false},
    {"predict_image(cube, obs, epsilon=1e-4, interpolate=linear)", 1e-4, 5, 0, false},
    {"predict_image(cube, obs, epsilon=1e-8, interpolate=linear)", 1e-8, 3, 2, true},
    {"predict_image(each, obs, epsilon=1e-5)", 1e-5, 4, 1, false},
    {"predict_image(many, obs, epsilon=1e-4)", 1e-4, 18, 0, false},
    /* stages: planes of the grid */
    {"grid(V, obs, size=[40, 33], cell=10arcsec, epsilon=1e-4)", 1e-4, 4, 2, false},
    {"grid(V, obs, size=20, cell=20arcmin, epsilon=1e-7, stokes=\"Q\")", 1e-7, 2, 1, true},
    {"degrid(fft(sky), obs, size=[30, 27], cell=10arcsec)", 1e-4, 4, 2, false},
    {"degrid(planes, obs, size=20, cell=20arcmin, epsilon=1e-7)", 1e-7, 2, 1, true},
    /* the other stages, of planes and of images: shifted, cut, with zeros around them */
    {"grid_correction(fft(odd), obs, size=[33, 26], cell=10arcsec) / "
     "sum_of_weights(V, obs, weights=half, stokes=\"QU\")",
     1e-4, 4, 2, false},
    {"grid_correction(crop(fft(planes), size=20), obs, size=20, cell=20arcmin, epsilon=1e-7)", 1e-7,
     2, 0, true},
    {"fft(pad(crop(odd, size=[31, 29]), size=[50, 47]), sign=-1)", 1e-5, 4, 0, false},
    {"pad(crop(I, size=[21, 16]), size=[33, 24])", 1e-5, 4, 0, false},
    {"degrid(fft(pad(cut, size=96)), obs, size=[30, 27], cell=10arcsec)", 1e-4, 4, 0, false},
    /* baselines beyond a limit, which lies within a tile of the grid, in some channels of a row */
    {"dirty_image(V, obs, size=48, cell=10arcsec, max_uvw=limit)", 1e-4, 4, 2, false},
    {"predict_image(I, obs, max_uvw=limit)", 1e-4, 4, 2, false},
    {"predict_image(cube, obs, max_uvw=limit, interpolate=linear)", 1e-4, 4, 0, false},
    {"grid(V, obs, size=40, cell=10arcsec, max_uvw=[1km, 800m, 300m])", 1e-4, 4, 2, false},
    {"degrid(near, obs, size=20, cell=10arcsec, max_uvw=[1km, 800m, 300m])", 1e-4, 4, 2, false},
};
enum { CASES = sizeof(cases) / sizeof(*cases) };

/* What lines use, by its name. */
static const char *const models[] = {
    "I = dirty_image(V, obs, size=[30, 27], cell=10arcsec, epsilon=1e-3, stokes=\"IQUV\")",
    "wide = dirty_image(V, obs, size=30, cell=10arcmin, epsilon=1e-3)",
    "narrow = dirty_image(V, obs, size=16, cell=0.1arcsec, epsilon=1e-3, stokes=\"QI\")",
    "cube = dirty_image(V, obs, size=[30, 27], cell=10arcsec, bands=2, stokes=\"IV\")",
    "each = dirty_image(V, obs, size=[30, 27], cell=10arcsec, bands=4)",
    "many = dirty_image(V, obs, size=16, cell=10arcsec, bands=18, stokes=\"IQ\")",
    "limit = 0.4 * max(abs(obs.uvw), over=[time, baseline])",
    ("sky = grid_correction(dirty_image(V, obs, size=[30, 27], cell=10arcsec), obs, "
     "size=[30, 27], cell=10arcsec)"),
    "planes = grid(V, obs, size=20, cell=20arcmin, epsilon=1e-7)",
    "odd = grid(V, obs, size=[33, 26], cell=10arcsec)",
    "half = (obs.freq - mean(obs.freq, over=freq)) / 1MHz",
    ("cut = grid_correction(dirty_image(V, obs, size=[30, 27], cell=10arcsec), obs, "
     "size=[30, 27], cell=10arcsec, pad=false)"),
    "near = grid(V, obs, size=20, cell=10arcsec, max_uvw=[1km, 800m, 300m])",
    ("nearest = convolution_functions(1, obs, size=16, cell=10arcsec, oversampling=3, "
     "samples=nearest)"),
    "taken = grid(V, obs, size=16, cell=10arcsec, functions=nearest)"};

static void tree_of(const char *line, int channels)
{
    grove_text text = {0};

    for (size_t k = 0; k < sizeof(models) / sizeof(*models); k++) {
        if (strstr(line, suite_text("%.*s", (int)strcspn(models[k], " "), models[k])))
            grove_text_add(&text, "%s\n", models[k]);
    }
    grove_text_add(&text, "keep = heap(%s)\n", line);
    simulate(channels, text.at);
    free(text.at);
}

LOOP_TEST(numbers_are_those_of_the_host, 0, CASES)
{
    const one_case *c = &cases[_i];
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = c->tile_times,
                                                          .double_precision = c->double_precision);
    grove_counters counters = {0};

    tree_of(c->line, c->channels);
    heap truth = heap_test_run("cpu", options, NULL);
    heap got = heap_test_run("cuda", options, &counters);
    ck_assert_double_lt(heap_distance(&got, &truth), c->epsilon / 10);
    ck_assert(!heap_test_helped());
    ck_assert_uint_gt(counters.launches, 0);
    if (_i % 3 == 0) { /* the order of all sums is fixed */
        cuda_testing_reset(7);
        heap again = heap_test_run("cuda", options, NULL);
        ck_assert(heap_equal(&got, &again));
    }
}

/* Integers are added on the host, also in a run with a device: the same bits. */
LOOP_TEST(exact_images_are_those_of_the_host, 0, 2)
{
    static const char *const lines[] = {
        "psf_image(obs, size=48, cell=10arcsec, weights=half^2, exact=true)",
        "dirty_image(half * (1 + 2i), obs, size=[40, 33], cell=10arcsec, stokes=\"I\", "
        "exact=true)"};
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = 2);

    tree_of(lines[_i], 4);
    heap truth = heap_test_run("cpu", options, NULL);
    options.tile_times = 3;
    heap got = heap_test_run("cuda", options, NULL);
    ck_assert(heap_equal(&got, &truth));
}

/* ---- what is copied ---- */

/* Visibilities that were made on the device stay there, and so do grid and planes: what goes up is
 * the order of the samples, what comes back the image, sums of weights, and how far baselines
 * reach. */
TEST(visibilities_stay_on_device)
{
    enum { CHANNELS = 8, SIZE = 40, TILES = TIMES / 2 };
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = 2);
    grove_counters sum = {0}, image = {0};
    const size_t runs = (size_t)ROWS * CHANNELS / 2; /* at most, here */

    simulate(CHANNELS, "keep = heap(sum(V, over=[time, baseline, freq]))\n");
    heap_test_run("cuda", options, &sum);
    simulate(CHANNELS, "keep = heap(dirty_image(V, obs, size=40, cell=10arcsec))\n");
    heap_test_run("cuda", options, &image);
    ck_assert_uint_le(image.bytes_down, SIZE * SIZE * sizeof(float) + 24 + 24);
    ck_assert_uint_ge(image.bytes_down, SIZE * SIZE * sizeof(float) + 24);
    const uint64_t visibilities = (uint64_t)ROWS * CHANNELS * 32,
                   more = image.bytes_up - sum.bytes_up;
    ck_assert_uint_gt(image.bytes_up, sum.bytes_up);
    ck_assert_uint_le(more, runs * 16 + 200000);
    ck_assert_uint_lt(more, visibilities / 4);
}

/* Those that the host has go up once, for an image and its point-spread function together. */
TEST(visibilities_go_up_once)
{
    enum { CHANNELS = 8 };
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = 2);
    grove_counters c = {0};
    const uint64_t visibilities = (uint64_t)ROWS * CHANNELS * 32;

    simulate(CHANNELS, "H = host(V)\nD = dirty_image(H, obs, size=32, cell=10arcsec)\n"
                       "P = psf_image(obs, data=H, size=32, cell=10arcsec)\n"
                       "keep = heap(D - 2Jy * P)\n");
    heap truth = heap_test_run("cpu", options, NULL), got = heap_test_run("cuda", options, &c);
    ck_assert_double_lt(heap_distance(&got, &truth), 1e-5);
    ck_assert_uint_gt(c.bytes_up, visibilities);
    ck_assert_uint_lt(c.bytes_up, visibilities * 3 / 2);
}

/* Of those of a point-spread function nothing but flags. */
TEST(of_a_psf_no_visibilities_go_up)
{
    enum { CHANNELS = 8 };
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = 2);
    grove_counters c = {0};
    const uint64_t visibilities = (uint64_t)ROWS * CHANNELS * 32;

    simulate(CHANNELS,
             "H = host(V)\nkeep = heap(psf_image(obs, data=H, size=32, cell=10arcsec))\n");
    heap truth = heap_test_run("cpu", options, NULL), got = heap_test_run("cuda", options, &c);
    ck_assert_double_lt(heap_distance(&got, &truth), 1e-5);
    ck_assert(!heap_test_helped());
    ck_assert_uint_lt(c.bytes_up, visibilities / 2);
}

/* Predicted visibilities stay on the device: of their sum only that comes back. The image, made
 * there before, goes up; its planes are made once. */
TEST(predictions_stay_on_device)
{
    enum { CHANNELS = 8 };
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = 2);
    grove_counters c = {0};
    const uint64_t image = (uint64_t)30 * 27 * 4 * sizeof(float);

    tree_of("sum(predict_image(I, obs), over=[time, baseline, freq])", CHANNELS);
    heap_test_run("cuda", options, &c);
    /* the image, sums of weights, the largest baselines, and one matrix */
    ck_assert_uint_le(c.bytes_down, image + 100 + 24 + 16 + 32);
    ck_assert_uint_lt(c.bytes_up, (uint64_t)ROWS * CHANNELS * 32);
}

/* Of a grid the planes come back at the end, once; of its visibilities, which the host has, nothing
 * goes up twice. */
TEST(the_grid_stays_on_device)
{
    enum { CHANNELS = 8 };
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = 1);
    grove_counters c = {0}, fewer = {0};
    const uint64_t visibilities = (uint64_t)ROWS * CHANNELS * 32;

    simulate(CHANNELS, "keep = heap(grid(host(V), obs, size=32, cell=10arcsec))\n");
    heap truth = heap_test_run("cpu", options, NULL), got = heap_test_run("cuda", options, &c);
    ck_assert_double_lt(heap_distance(&got, &truth), 1e-5);
    ck_assert(!heap_test_helped());
    ck_assert_uint_ge(c.bytes_up, visibilities);
    ck_assert_uint_lt(c.bytes_up, visibilities * 3 / 2);
    /* V, which host() has, and the planes of the grid near the baselines */
    const uint64_t planes = c.bytes_down - visibilities;
    ck_assert_uint_gt(c.bytes_down, visibilities);
    ck_assert_uint_lt(planes, truth.count * 2 * sizeof(float) * 3 / 2);
    options.tile_times = 4;
    got = heap_test_run("cuda", options, &fewer);
    ck_assert_uint_le(fewer.bytes_down, c.bytes_down);
    ck_assert_uint_ge(fewer.bytes_down + 1000, c.bytes_down);
}

/* To visibilities, which stay there, the planes go up once for all tiles. */
TEST(planes_go_up_once)
{
    enum { CHANNELS = 8, TILES = TIMES };
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = 1);
    grove_counters c = {0}, planes = {0};

    simulate(CHANNELS, "P = host(grid(V, obs, size=32, cell=10arcsec))\nkeep = heap(P)\n");
    heap grid = heap_test_run("cuda", options, &planes);
    simulate(CHANNELS, "P = host(grid(V, obs, size=32, cell=10arcsec))\n"
                       "keep = heap(sum(degrid(P, obs, size=32, cell=10arcsec), "
                       "over=[time, baseline, freq]))\n");
    heap truth = heap_test_run("cpu", options, NULL), got = heap_test_run("cuda", options, &c);
    ck_assert_double_lt(heap_distance(&got, &truth), 1e-5);
    ck_assert(!heap_test_helped());
    const uint64_t bytes = grid.count * sizeof(float), order = (uint64_t)ROWS * CHANNELS * 16;
    ck_assert_uint_lt(order + 200000, 2 * bytes);
    ck_assert_uint_ge(c.bytes_up, planes.bytes_up + bytes);
    ck_assert_uint_lt(c.bytes_up, planes.bytes_up + bytes + order + 200000);
    ck_assert_uint_lt(c.bytes_down, planes.bytes_down + 200);
}

/* From stage to stage nothing is copied: beyond what the grid alone takes nothing goes up, and what
 * comes back is the image. The other way the image goes up, and the visibilities' sum comes back.
 */
TEST(stages_stay_on_device)
{
    enum { CHANNELS = 4, SIZE = 32 };
    static const char chain[] = "keep = heap(grid_correction(crop(fft(P), size=32), obs, size=32, "
                                "cell=10arcsec) / sum_of_weights(V, obs))\n";
    static const char back[] =
        "keep = heap(sum(degrid(fft(pad(grid_correction(J, obs, size=32, "
        "cell=10arcsec, pad=false), size=96)), obs, size=32, cell=10arcsec), "
        "over=[time, baseline, freq]))\n";
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = 2);
    const uint64_t image = (uint64_t)SIZE * SIZE * sizeof(float), few = 4000;
    grove_counters alone = {0}, all = {0};
    char *lines = suite_text("P = grid(V, obs, size=32, cell=10arcsec)\n%s", chain);

    simulate(CHANNELS, "P = grid(V, obs, size=32, cell=10arcsec)\nkeep = heap(P)\n");
    heap grid = heap_test_run("cuda", options, &alone);
    const uint64_t planes = grid.count * 2 * sizeof(float);
    simulate(CHANNELS, lines);
    heap truth = heap_test_run("cpu", options, NULL), got = heap_test_run("cuda", options, &all);
    ck_assert_double_lt(heap_distance(&got, &truth), 1e-5);
    ck_assert(!heap_test_helped());
    ck_assert_uint_gt(planes, 4 * (image + few));
    ck_assert_uint_le(all.bytes_up, alone.bytes_up + few);
    ck_assert_uint_le(all.bytes_down + planes, alone.bytes_down + image + few);
    ck_assert_uint_ge(all.bytes_down + planes, alone.bytes_down + image);

    simulate(CHANNELS, "J = dirty_image(V, obs, size=32, cell=10arcsec)\nkeep = heap(J)\n");
    got = heap_test_run("cuda", options, &alone);
    simulate(CHANNELS, suite_text("J = dirty_image(V, obs, size=32, cell=10arcsec)\n%s", back));
    truth = heap_test_run("cpu", options, NULL);
    got = heap_test_run("cuda", options, &all);
    ck_assert_double_lt(heap_distance(&got, &truth), 1e-5);
    ck_assert(!heap_test_helped());
    /* the order of samples once more */
    ck_assert_uint_le(all.bytes_up, alone.bytes_up + 2 * image + ROWS * CHANNELS * 16 / 2 + 200000);
    ck_assert_uint_le(all.bytes_down, alone.bytes_down + few);
}

/* Of visibilities beyond a limit those without weight do not count, here or there. */
TEST(warnings_are_those_of_the_host)
{
    static const char *const lines[] = {
        "dirty_image(V, obs, size=24, cell=10arcsec, weights=half, max_uvw=limit)",
        "grid(V, obs, size=24, cell=10arcsec, weights=half, max_uvw=[1km, 800m, 300m])"};
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = 2);

    for (int k = 0; k < 2; k++) {
        char *said[2];
        for (int device = 0; device < 2; device++) {
            tree_of(lines[k], 4);
            grove_error_clear(now.error);
            heap_test_run(device ? "cuda" : "cpu", options, NULL);
            ck_assert_uint_ge(grove_error_warnings(now.error), 1);
            said[device] = grove_error_text(now.error);
        }
        ck_assert_ptr_nonnull(strstr(said[0], "left out"));
        ck_assert_str_eq(said[0], said[1]);
        free(said[0]);
        free(said[1]);
    }
}

/* ---- what can go wrong ---- */

static const char *const lines[] = {
    "dirty_image(V, obs, size=24, cell=10arcsec, stokes=\"IV\")",
    "predict_image(dirty_image(V, obs, size=[20, 18], cell=10arcsec), obs)",
    "grid(V, obs, size=[20, 18], cell=10arcsec)",
    "degrid(near, obs, size=20, cell=10arcsec, max_uvw=[1km, 800m, 300m])",
    "g2g(taken, obs, size=16, cell=10arcsec, functions=nearest, method=g2g)"};
enum { LINES = sizeof(lines) / sizeof(*lines) };

/* Without the library, or the memory for the grid, the host does it. */
LOOP_TEST(the_host_helps, 0, 2 * LINES)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = 4);

    tree_of(lines[_i % LINES], 2);
    heap truth = heap_test_run("cpu", options, NULL);
    if (_i / LINES)
        options.device_memory = 3 << 20;
    else
        cuda_testing_libraries(false);
    cuda_testing_may_fall_back();
    heap got = heap_test_run("cuda", options, NULL);
    ck_assert_double_lt(heap_distance(&got, &truth), 1e-5);
}

LOOP_TEST(each_fault, 0, 3 * LINES)
{
    static const int kinds[] = {EMULATED_ALLOCATION, EMULATED_COPY, EMULATED_LAUNCH};
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = 4);
    int failed, worked;

    if (!cuda_testing_control())
        return;
    tree_of(lines[_i % LINES], 1);
    heap truth = heap_test_run("cpu", options, NULL);
    heap_test_each_fault(kinds[_i / LINES], options, &truth, &failed, &worked);
    ck_assert_int_gt(failed + worked, 10);
    ck_assert(kinds[_i / LINES] != EMULATED_ALLOCATION || worked > 5);
}

/* Each device has planes of its own; their images are added. */
LOOP_TEST(several_devices, 0, LINES)
{
    emulated_control *control = cuda_testing_control();
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = 1);
    grove_counters c = {0};

    if (!control)
        return;
    tree_of(lines[_i], 3);
    heap truth = heap_test_run("cpu", options, NULL);
    control->devices = 3;
    heap got = heap_test_run("cuda:all", options, &c);
    ck_assert_double_lt(heap_distance(&got, &truth), 1e-5);
    ck_assert(!heap_test_helped());
}

CUDA_SUITE(600, setup, session_test_end)
