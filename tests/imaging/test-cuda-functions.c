/* grid and degrid with convolution functions on emulated devices: the numbers of the host, what is
 * copied, memory that is short, faults of the driver, several devices. That the numbers are right
 * say test-nodes-convolution and test-nodes-mueller. */
#include "tests/common/cuda-testing.h"
#include "tests/common/heap-testing.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void setup(void)
{
    cuda_testing_reset(0);
    cuda_testing_libraries(true);
    session_test_begin();
    heap_test_add();
}

enum { TIMES = 4 };

/* Visibilities V of a source, some with w < 0, and further lines. */
static void simulate(int channels, const char *lines)
{
    const char *source = getenv("GROVE_SOURCE") ? getenv("GROVE_SOURCE") : ".";
    char text[4000];

    snprintf(text, sizeof(text),
             "obs = observe(array=\"%s/data/arrays/wsrt.array\",\n"
             "  phase_centre=\"05h42m36.1s 49d51m07s\", hour_angle=-0.2h..0.2h,\n"
             "  integration=360s, frequency=1.4GHz, channels=%d, channel_width=4MHz)\n"
             "S = sky_model(\"%s/examples/quickstart/3C147.skymodel\")\n"
             "V[p,q] = sum[s](point(S, obs))\n%s",
             source, channels, source, lines);
    session_test_tree(text);
}

typedef struct {
    const char *line;
    double epsilon;
    int channels, tile_times;
    bool double_precision;
} one_case;

#define FIELD ", obs, size=[40, 33], cell=6arcsec"
#define NEAR  ", max_uvw=[1km, 1km, 50m]"
#define FAR   ", obs, size=[40, 33], cell=60arcsec"
static const char *const of_functions[] = {
    "plain = convolution_functions(1" FIELD ", oversampling=8)",
    "near = convolution_functions(1" FIELD NEAR ", oversampling=8)",
    "broad = convolution_functions(1" FIELD ", oversampling=3, support=17, w_planes=3)",
    "R = sky_grid(obs, size=33, cell=12arcsec)",
    "beam = beam_airy(R, obs, diameter=25m, freq=1.4GHz)",
    "beams = convolution_functions(beam" FIELD ", oversampling=4)",
    ("hues = convolution_functions(beam_airy(R, obs, diameter=25m)" FIELD
     ", oversampling=3, channels=2)"),
    "angle = select(obs.parallactic, axis=station, index=0)",
    ("leaks = convolution_functions(rotation(2 * angle) * constant([1, 0.1i, 0.2, 1], "
     "shape=matrix) * beam" FIELD ", oversampling=4, times=3, stokes=\"IQUV\")"),
    ("pairs = convolution_functions(gains(obs, kind=sine, jones=diagonal)" FIELD
     ", oversampling=1, times=2, channels=3, stokes=\"IV\")"),
    "means = convolution_functions(1" FIELD ", oversampling=6, w_planes=3, samples=linear)",
    "level = convolution_functions(1" FIELD ", oversampling=5, w_planes=1, samples=linear)",
    ("blurs = convolution_functions(rotation(2 * angle) * constant([1, 0.1i, 0.2, 1], "
     "shape=matrix) * beam" FIELD ", oversampling=3, times=3, stokes=\"IQUV\", samples=linear)"),
    "flat = grid(V" FIELD ", w_terms=false)",
    "four = grid(V" FIELD ", functions=leaks)",
    "two = grid(V" FIELD ", functions=pairs)",
    "cube = grid(V" FIELD ", functions=leaks, bands=3)",
    "coarse = convolution_functions(1" FAR ", oversampling=2)",
    "half = (obs.freq - mean(obs.freq, over=freq)) / 1MHz",
    ("slope = vector(1e-9 * select(obs.uvw, element=\"x\") / 1m, 1e-9 * select(obs.uvw, "
     "element=\"y\") / 1m)"),
    "nothing = table(\"flagged.csv\", obs)",
    "own = constant([0, -1, -1, 3, -1, -1, -1, 2], shape=vector)",
    "other = constant([3, -1, -1, 0, 1, -1, -1, -1], shape=vector)",
};
enum { OF_FUNCTIONS = sizeof(of_functions) / sizeof(*of_functions) };

/* Functions of a term that the device computes differ by rounding, times 1e6 of the fit. */
static const one_case convolved[] = {
    {"grid(V" FIELD ", functions=plain)", 1e-5, 4, 0, false},
    {"grid(V" FIELD ", functions=broad)", 1e-11, 3, 2, true},
    {"grid(V" FIELD ", functions=beams, weights=half, normalise=true)", 1e-5, 5, 1, false},
    {"four", 1e-5, 3, 2, false},
    {"two", 1e-11, 4, 1, true},
    {"grid(V" FIELD ", functions=near, gradient=slope" NEAR ")", 1e-5, 4, 2, false},
    {"grid(V" FIELD ", functions=leaks, mueller=own, mueller_conjugate=other)", 1e-9, 2, 2, true},
    {"degrid(flat" FIELD ", functions=plain)", 1e-5, 4, 2, false},
    {"degrid(flat" FIELD ", functions=broad, gradient=slope)", 1e-11, 2, 0, true},
    {"degrid(four" FIELD ", functions=leaks)", 1e-5, 3, 2, false},
    {"degrid(grid(V" FIELD ", functions=near" NEAR ")" FIELD ", functions=near" NEAR ")", 1e-11, 4,
     1, true},
    {"degrid(two" FIELD ", functions=leaks, mueller=own)", 1e-5, 3, 2, false},
    {"grid(V - degrid(four" FIELD ", functions=leaks)" FIELD ", functions=leaks)", 1e-5, 2, 2,
     false},
    {"grid(V" FIELD ", functions=means, weights=half, normalise=true)", 1e-5, 4, 2, false},
    {"grid(V" FIELD ", functions=level, gradient=slope)", 1e-11, 3, 0, true},
    {"grid(V" FIELD ", functions=blurs)", 1e-9, 3, 2, true},
    {"degrid(flat" FIELD ", functions=means)", 1e-11, 3, 2, true},
    {"degrid(flat" FIELD ", functions=level, gradient=slope)", 1e-5, 3, 0, false},
    {"degrid(four" FIELD ", functions=blurs)", 1e-5, 3, 2, false},
    {"grid(V" FIELD ", functions=pairs, bands=3)", 1e-11, 4, 1, true},
    {"grid(V" FIELD ", functions=near, gradient=slope, weights=half, normalise=true, bands=2" NEAR
     ")",
     1e-5, 5, 2, false},
    {"degrid(cube" FIELD ", functions=leaks, gradient=slope)", 1e-11, 4, 2, true},
    {"degrid(cube" FIELD ", functions=leaks, interpolate=linear)", 1e-5, 4, 0, false},
    {"grid(V" FIELD ", functions=hues, bands=2)", 1e-5, 5, 2, false},
    {"degrid(grid(V" FIELD ", functions=hues, bands=2)" FIELD ", functions=hues)", 1e-9, 5, 2,
     true},
    {"dirty_image(V" FIELD ", method=aw, bands=2)", 1e-5, 4, 2, false},
};
enum { CONVOLVED = sizeof(convolved) / sizeof(*convolved) };

/* Line k is written where those after it, or the one that is kept, have its name. */
static void convolved_tree(const char *line, int channels)
{
    const char *wanted[OF_FUNCTIONS + 1] = {line};
    grove_text text = {0};
    int count = 1;

    for (int k = OF_FUNCTIONS; k-- > 0;) {
        char *name = suite_text("%.*s", (int)strcspn(of_functions[k], " "), of_functions[k]);
        bool found = false;
        for (int i = 0; i < count; i++)
            found = found || strstr(wanted[i], name);
        if (found)
            wanted[count++] = of_functions[k];
    }
    for (int i = count - 1; i > 0; i--)
        grove_text_add(&text, "%s\n", wanted[i]);
    grove_text_add(&text, "keep = heap(%s)\n", line);
    simulate(channels, text.at);
    free(text.at);
}

/* Sums are in no fixed order there: they differ by rounding. */
LOOP_TEST(numbers_are_those_of_the_host, 0, CONVOLVED)
{
    const one_case *c = &convolved[_i];
    const bool cube = strstr(c->line, "bands") || strstr(c->line, "cube");
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = c->tile_times,
                                                          .tile_channels = cube ? 3 : 0,
                                                          .double_precision = c->double_precision);
    grove_counters counters = {0};

    convolved_tree(c->line, c->channels);
    heap truth = heap_test_run("cpu", options, NULL);
    heap got = heap_test_run("cuda", options, &counters);
    ck_assert_double_lt(heap_distance(&got, &truth), c->epsilon);
    ck_assert(!heap_test_helped());
    ck_assert_uint_gt(counters.launches, 0);
}

/* What goes up for a tile beside visibilities is their frequencies, and which set a row has. */
TEST(functions_stay_on_device)
{
    enum { CHANNELS = 4, MORE = TIMES - 1 };
    static const char *const lines[] = {"two", "sum(degrid(two" FIELD
                                               ", functions=pairs), over=[time, baseline, freq])"};
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = TIMES);

    for (int k = 0; k < 2; k++) {
        grove_counters once = {0}, often = {0};
        convolved_tree(lines[k], CHANNELS);
        options.tile_times = TIMES;
        heap first = heap_test_run("cuda", options, &once);
        options.tile_times = 1;
        heap second = heap_test_run("cuda", options, &often);
        ck_assert_double_lt(heap_distance(&first, &second), 1e-5);
        ck_assert(!heap_test_helped());
        ck_assert_uint_lt(often.bytes_up, once.bytes_up + (uint64_t)(k + 1) * MORE * 2048);
        ck_assert_uint_gt(once.bytes_up, 64 * MORE * 2048);
        /* functions are put in order once; grids of degrid are taken anew */
        ck_assert_uint_le(often.launches, once.launches + (k ? 9 : 4) * MORE);
    }
}

/* Of visibilities that are left out. */
TEST(warnings_are_those_of_the_host)
{
    static const char *const lines[] = {"grid(V" FAR ", functions=coarse, weights=half)",
                                        "degrid(grid(V" FAR ", functions=coarse)" FAR
                                        ", functions=coarse)"};
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = 2);

    for (int k = 0; k < 2; k++) {
        char *said[2];
        for (int device = 0; device < 2; device++) {
            convolved_tree(lines[k], 4);
            grove_error_clear(now.error);
            heap_test_run(device ? "cuda" : "cpu", options, NULL);
            said[device] = grove_error_text(now.error);
        }
        ck_assert_msg(strstr(said[0], "leave the grid") != NULL, "%s", said[0]);
        ck_assert_str_eq(said[0], said[1]);
        free(said[0]);
        free(said[1]);
    }
}

/* ---- what can go wrong ---- */

static const char *const lines[] = {"grid(V" FIELD ", functions=pairs)",
                                    "degrid(flat" FIELD ", functions=plain)"};
enum { LINES = sizeof(lines) / sizeof(*lines) };

/* Bad numbers are the same errors, and nothing is left there. */
LOOP_TEST(errors_are_those_of_the_host, 0, 7)
{
    static const struct {
        const char *line, *message;
    } wrong[] = {
        {"grid(V" FIELD ", functions=pairs / (pairs - pairs))", "functions: have "},
        {"degrid(flat" FIELD ", functions=plain / (plain - plain))", "functions: have "},
        {"grid(V" FIELD ", functions=leaks, mueller=constant([-1, -1, -1, -1], shape=vector))",
         "mueller: is -1, no function, for each"},
        {"degrid(flat" FIELD ", functions=leaks, mueller=constant([-1, -1], shape=vector))",
         "mueller: is -1, no function, for each"},
        {"grid(V" FIELD ", functions=leaks, mueller=1e6 * own)", "which is not a function"},
        {"grid(V" FIELD ", functions=leaks, mueller=own * sqrt(-1))", "which is not a function"},
        {"grid(V" FIELD ", functions=plain, gradient=vector(1rad * nothing.value, 0rad))",
         "gradient: has flagged numbers"},
    };
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = 2);
    FILE *file = fopen("flagged.csv", "w");

    ck_assert_ptr_nonnull(file);
    fprintf(file, "freq (MHz), value\n1300, 0\n1500, nan\n");
    fclose(file);

    for (int device = 0; device < 2; device++) {
        convolved_tree(wrong[_i].line, 2);
        grove_error_clear(now.error);
        grove_session *session = heap_test_session(device ? "cuda" : "cpu", options);
        ck_assert_int_ne(grove_session_run(session), 0);
        heap_test_close(session);
        char *said = suite_messages(now.error);
        ck_assert_msg(strstr(said, wrong[_i].message) != NULL, "%s", said);
    }
    remove("flagged.csv");
}

/* Without memory for grids and functions the host does it. */
LOOP_TEST(the_host_helps, 0, LINES)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = 4);

    convolved_tree(lines[_i], 2);
    heap truth = heap_test_run("cpu", options, NULL);
    options.device_memory = 1 << 20;
    cuda_testing_may_fall_back();
    heap got = heap_test_run("cuda", options, NULL);
    ck_assert_double_lt(heap_distance(&got, &truth), 1e-5);
}

LOOP_TEST(each_fault, 0, 3)
{
    static const int kinds[] = {EMULATED_ALLOCATION, EMULATED_COPY, EMULATED_LAUNCH};
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = 4);
    int failed, worked;

    if (!cuda_testing_control())
        return;
    convolved_tree("degrid(grid(V" FIELD ", functions=plain)" FIELD ", functions=plain)", 1);
    heap truth = heap_test_run("cpu", options, NULL);
    heap_test_each_fault(kinds[_i], options, &truth, &failed, &worked);
    ck_assert_int_gt(failed + worked, 10);
    ck_assert(kinds[_i] != EMULATED_ALLOCATION || worked > 5);
}

/* Each device has grids of its own, which are added. */
LOOP_TEST(several_devices, 0, LINES)
{
    emulated_control *control = cuda_testing_control();
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = 1);

    if (!control)
        return;
    convolved_tree(lines[_i], 3);
    heap truth = heap_test_run("cpu", options, NULL);
    control->devices = 3;
    heap got = heap_test_run("cuda:all", options, NULL);
    ck_assert_double_lt(heap_distance(&got, &truth), 1e-5);
    ck_assert(!heap_test_helped());
}

CUDA_SUITE(600, setup, session_test_end)
