/* Fits on emulated devices: the solutions of the cpu, and what an iteration copies. */
#include "solve-world.h"
#include "tests/common/cuda-testing.h"

#include "base/text.h"
#include "device/array.h"
#include "run/state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static solve_world w;

/* ---- a set: noise of which a third is flagged and some is not finite, with weights and uvw ----
 */

static const grove_port record_inputs[] = {
    {"obs", GROVE_OBJECT, "whose times, baselines and channels", .object = "observation"}, {0}};

static int open_record(grove_node *node)
{
    const grove_node *obs = grove_node_object(node, "obs");
    const grove_form data = {.shape = GROVE_MATRIX,
                             .complex_ = true,
                             .precision = GROVE_PRECISION_SINGLE,
                             .unit = {.Jy = 1},
                             .flags = true},
                     weight = {.shape = GROVE_MATRIX, .precision = GROVE_PRECISION_SINGLE},
                     uvw = {.shape = GROVE_VECTOR,
                            .vector = 3,
                            .precision = GROVE_PRECISION_DOUBLE,
                            .unit = {.m = 1}};

    grove_node_take_axis(node, obs, "time");
    grove_node_take_axis(node, obs, "station");
    grove_node_take_axis(node, obs, "baseline");
    grove_node_take_axis(node, obs, "freq");
    int code = grove_node_add_member(node, "data", "time baseline freq", &data, NULL, "noise");
    if (!code)
        code =
            grove_node_add_member(node, "weight", "time baseline freq", &weight, NULL, "weights");
    return code ? code : grove_node_add_member(node, "uvw", "time baseline", &uvw, NULL, "uvw");
}

static uint32_t mix(int64_t time, int64_t baseline, int64_t channel)
{
    uint32_t x = (uint32_t)(time * 7919 + baseline * 104729 + channel * 1299709 + 12345);

    for (int i = 0; i < 3; i++)
        x = (x ^ x >> 15) * 2654435761u;
    return x >> 4;
}

static int read_record(const grove_call *call, const char *member, grove_array *out)
{
    float *single = out->data;
    double *both = out->data;
    int64_t channels = out->axes > 2 ? out->range[2].count : 1;

    (void)call;
    for (int64_t i = 0; i < out->cells; i++) {
        int64_t f = i % channels + (out->axes > 2 ? out->range[2].first : 0),
                b = i / channels % out->range[1].count + out->range[1].first,
                t = i / channels / out->range[1].count + out->range[0].first;
        uint32_t x = mix(t, b, f);
        if (!strcmp(member, "uvw")) {
            both[3 * i] = 10.0 * (double)b;
            both[3 * i + 1] = 5.0 * (double)t;
            both[3 * i + 2] = 1;
            continue;
        }
        for (int e = 0; e < 4; e++)
            if (!strcmp(member, "weight"))
                *single++ = x % 11 == 3 ? (float)(e - 2) : 1 + (float)(x >> e & 7) / 4;
            else
                *single++ = x % 13 == 5 && e == 1 ? NAN : (float)(x >> (e + 1) & 255) / 128 - 1,
                *single++ = (float)(x >> (e + 7) & 255) / 128 - 1;
        if (out->flags)
            out->flags[i] = x % 3 ? 0 : (unsigned char)(x >> 8 & 15);
    }
    return 0;
}

static const grove_class class_record = {
    GROVE_CLASS_HEAD(record),
    .doc = "For tests.",
    .inputs = record_inputs,
    .object = "record",
    .kind = GROVE_CLASS_DATA,
    .data = &(const grove_data_functions){.open = open_record, .read = read_record}};

/* ---- the host's part of a model ---- */

/* So often it was computed; the time at which the device loses its memory, from 1 on; 0: never. */
static int handed, without;

/* Its input, by way of the host: once in each iteration. */
static int eval_handed(const grove_call *call)
{
    grove_array_cast.double_precision(call->args, 0, grove_args_cells(call->args));
    if (++handed == without) {
        grove_device_trim(w.session->device);
        w.session->device->budget.limit = 1;
    }
    return 0;
}

static int check_handed(grove_node *node)
{
    grove_node_set_output(node, grove_node_input_form(node, 0));
    return 0;
}

static const grove_port handed_inputs[] = {
    {"x", GROVE_VALUE, "what is handed on", .shapes = GROVE_ANY_SHAPE, .linear = GROVE_LINEAR},
    {0}};
static const grove_class class_handed = {GROVE_CLASS_HEAD(handed), .doc = "For tests.",
                                         .inputs = handed_inputs,  .eval = eval_handed,
                                         .check = check_handed,    .output_doc = "the input"};

static void setup(void)
{
    cuda_testing_reset(0);
    handed = without = 0;
    cuda_testing_libraries(true);
    solve_world_begin(&w);
    ck_assert_int_eq(grove_classes_add(w.t.classes, &class_record, w.t.error), 0);
    ck_assert_int_eq(grove_classes_add(w.t.classes, &class_handed, w.t.error), 0);
}

static void teardown(void)
{
    solve_world_end(&w);
}

/* Runs the tree on the device, with so much memory of it (0: all), and keeps x by that number. */
static grove_counters run(const char *text, const char *device, int number, uint64_t memory)
{
    const grove_session_options options =
        GROVE_SESSION_OPTIONS(.device = cuda_testing_device(device), .double_precision = true,
                              .threads = 1, .device_memory = memory);
    char *all = suite_text("%sk = keep(x, number=%d)\n", text, number);

    if (solve_world_run(&w, all, &options))
        ck_abort_msg("%s\n%s", all, grove_error_text(w.t.error));
    return *grove_session_counters(w.session);
}

/* ---- solutions ---- */

#define TRUTH "T[p] = draw(obs, shape=diagonal, times=2, around=1).value\n"
#define GAINS "V[p,q] = G[p] * M[p,q] * G[q]^H\nD[p,q] = T[p] * M[p,q] * T[q]^H\n"

/* `more`: further options of solve. x: what is compared, in which phases common to all stations
 * cancel. */
static const struct {
    const char *tree, *more;
} fits[] = {
    {"G[p] = parm(\"G\", jones=diagonal, time=4min)\n" TRUTH GAINS "x = V\n", ""},
    {"G[p] = parm(\"G\", jones=diagonal, time=4min)\n" TRUTH GAINS "x = V\n", ", method=lm"},
    {"G[p] = parm(\"G\", jones=scalar, time=4min, freq=4MHz)\n"
     "T[p] = draw(obs, times=2, channels=2, around=1).value\n" GAINS "x = V\n",
     ", method=lm"},
    {"G[p] = parm(\"G\", jones=full, freq=6MHz)\n"
     "T[p] = draw(obs, shape=matrix, channels=3, around=1).value\n" GAINS "x = V\n",
     ", method=lm"},
    {"G[p] = parm(\"G\", jones=tec, time=4min)\n"
     "a = draw(obs, times=2, complex=false, spread=0.006).value\n"
     "T[p] = exp(-8.44797245e9i * a[p] * 1Hz / obs.freq)\n" GAINS "x = V\n",
     ""},
    /* two directions; a set's flags, weights and baselines */
    {"G[p] = parm(\"G\", jones=diagonal, time=12min)\nH[p] = parm(\"H\", jones=diagonal, "
     "time=6min)\n"
     "T[p] = draw(obs, shape=diagonal, times=6, around=1).value\n"
     "U[p] = draw(obs, shape=diagonal, times=3, around=1, seed=5).value\n"
     "L[p,q] = 1Jy * matrix(2, 1, 1, 3) * exp(1i * obs.freq / 9MHz)\n"
     "V[p,q] = G[p] * M[p,q] * G[q]^H + H[p] * L[p,q] * H[q]^H\n"
     "R = record(obs)\n"
     "D[p,q] = T[p] * M[p,q] * T[q]^H + U[p] * L[p,q] * U[q]^H + R.data\n"
     "x = V\n",
     ", method=lm, min_baseline=50m, max_baseline=120"},
    /* flags and numbers that are not finite in models, too */
    {"G[p] = parm(\"G\", jones=full, time=12min)\nR = record(obs)\n"
     "T[p] = draw(obs, shape=matrix, times=6, around=1).value\n"
     "V[p,q] = G[p] * (M[p,q] + 0.2 * R.data) * G[q]^H\n"
     "D[p,q] = T[p] * M[p,q] * T[q]^H + R.data\nx[p,q] = G[p] * M[p,q] * G[q]^H\n",
     ", method=lm, weights=obs.freq / 100MHz"},
    {"G[p] = parm(\"G\", jones=diagonal, time=8min)\nR = record(obs)\n"
     "T[p] = draw(obs, shape=diagonal, times=4, around=1).value\n"
     "V[p,q] = G[p] * (M[p,q] + 0.2 * R.data) * G[q]^H\n"
     "D[p,q] = T[p] * M[p,q] * T[q]^H + R.data\nx[p,q] = G[p] * M[p,q] * G[q]^H\n",
     ", method=lm, quota=0.5"},
    /* of data XX and YY alone; scalars */
    {"G[p] = parm(\"G\", jones=diagonal, time=8min)\nR = record(obs)\n"
     "T[p] = draw(obs, shape=diagonal, times=4, around=1).value\n"
     "L[p,q] = 1Jy * exp(1i * obs.freq / 9MHz)\n"
     "V[p,q] = G[p] * L[p,q] * G[q]^H\nD[p,q] = T[p] * L[p,q] * T[q]^H + R.data\nx = V\n",
     ", method=lm"},
    {"G[p] = parm(\"G\", jones=scalar, time=8min)\nT[p] = draw(obs, times=1, around=1).value\n"
     "L[p,q] = 1Jy * exp(1i * obs.freq / 9MHz)\n"
     "V[p,q] = G[p] * L[p,q] * G[q]^H\nD[p,q] = T[p] * L[p,q] * T[q]^H\nx = V\n",
     ", method=lm, weights=1 + obs.freq / 100MHz"},
    /* real numbers */
    {"G[p] = parm(\"G\", init=1, time=8min)\nR = record(obs)\n"
     "L[p,q] = 1Jy * obs.freq / 150MHz\nV[p,q] = G[p] * L[p,q] * G[q]\n"
     "D[p,q] = L[p,q] + real(select(R.data, element=XX))\nx = V\n",
     ""},
};
enum { FITS = sizeof(fits) / sizeof(fits[0]) };

enum { TIMES = 12, STATIONS = 8, BASELINES = 28, CHANNELS = 6 };
enum { BYTES = TIMES * BASELINES * CHANNELS * 4 * 16 }; /* of visibilities */

/* Chi-squared per degree of freedom, as the last fit said. */
static double chi2(void)
{
    const char *at = strstr(solve_world_said, "freedom ");

    return at ? atof(at + 8) : NAN;
}

/* After two steps, and at the end. Loop index: which; bit 0: compressed. */
LOOP_TEST(solutions_are_those_of_the_cpu, 0, 2 * FITS)
{
    for (int steps = 2; steps <= 200; steps += 198) {
        char *text =
            grove_format("%sfit = solve(V, D, tolerance=1e-11, max_iterations=%d, "
                         "compress=%s%s)\n",
                         fits[_i / 2].tree, steps, _i % 2 ? "true" : "false", fits[_i / 2].more);
        run(text, "cpu", 0, 0);
        double expected = chi2();
        grove_counters c = run(text, "cuda", 1, 0);
        ck_assert_double_lt(solve_world_distance(0, 1), 1e-8);
        ck_assert_msg(fabs(chi2() - expected) <= 1e-3 * expected + 1e-12, "%s%g, not %g", text,
                      chi2(), expected);
        if (steps == 2) /* the host is not given what is summed */
            ck_assert_uint_lt(c.bytes_down, 8 * BYTES);
        free(text);
    }
}

/* Tiles are smaller, or the host does what the device has no memory for. Loop index: bit 0:
 * compressed.
 */
LOOP_TEST(little_memory_changes_nothing, 0, 2)
{
    char *text = suite_text("%sfit = solve(V, D, tolerance=1e-11, max_iterations=200, "
                            "compress=%s)\n",
                            fits[0].tree, _i % 2 ? "true" : "false");

    cuda_testing_may_fall_back();
    run(text, "cpu", 0, 0);
    uint64_t all = run(text, "cuda", 1, 0).device_peak_bytes;
    for (uint64_t k = 2; k <= 64; k *= 2) {
        grove_counters c = run(text, "cuda", 1, all / k);
        ck_assert_double_lt(solve_world_distance(0, 1), 1e-8);
        ck_assert_uint_le(c.device_peak_bytes, all / k);
    }
}

/* The device's memory goes in the middle of a fit: the host goes on from there to the same minimum.
 */
TEST(memory_that_goes)
{
    static const char text[] =
        "G[p] = parm(\"G\", jones=diagonal, time=4min)\nH[p] = handed(G[p])\n"
        "T[p] = draw(obs, shape=diagonal, times=2, around=1).value\nR = record(obs)\n"
        "V[p,q] = H[p] * M[p,q] * H[q]^H\nD[p,q] = T[p] * M[p,q] * T[q]^H + R.data\n"
        "fit = solve(V, D, method=lm, tolerance=1e-11, max_iterations=200, compress=false)\n"
        "x = V\n";

    run(text, "cpu", 0, 0);
    double expected = chi2();
    handed = 0;
    grove_counters all = run(text, "cuda", 1, 0);
    int usual = handed;
    cuda_testing_may_fall_back();
    handed = 0;
    without = usual * 2 / 3;
    grove_counters some = run(text, "cuda", 2, 0);
    ck_assert_double_lt(solve_world_distance(0, 2), 1e-8);
    ck_assert_double_le(fabs(chi2() - expected), 1e-3 * expected);
    ck_assert_uint_lt(some.launches, all.launches);
    /* from the start it would be 5 / 3 */
    ck_assert_int_lt(handed, usual * 4 / 3);
}

/* Then it takes no more steps than it may in all. */
TEST(memory_that_goes_at_the_limit)
{
    static const char text[] =
        "G[p] = parm(\"G\", jones=diagonal, time=4min)\nH[p] = handed(G[p])\n"
        "T[p] = draw(obs, shape=diagonal, times=2, around=1).value\nR = record(obs)\n"
        "V[p,q] = H[p] * M[p,q] * H[q]^H\nD[p,q] = T[p] * M[p,q] * T[q]^H + R.data\n"
        "fit = solve(V, D, method=lm, tolerance=1e-15, max_iterations=4, compress=false)\n"
        "x = V\n";
    int usual = 0;

    for (int k = 0; k < 3; k++) {
        handed = 0;
        without = k * usual / 3;
        if (k)
            cuda_testing_may_fall_back();
        run(text, "cuda", 0, 0);
        usual = k ? usual : handed;
        ck_assert_msg(strstr(solve_world_said, "iteration limit; 4.0 iterations") != NULL, "%s",
                      solve_world_said);
    }
}

/* ---- traffic ---- */

/* Bytes copied in a run of so many iterations, all domains together. `more`: options of the parm.
 */
static grove_counters iterate(int iterations, bool compress, const char *method)
{
    grove_counters c =
        run(suite_text("G[p] = parm(\"G\", jones=phase, time=12min)\n" TRUTH GAINS "x = V\n"
                       "fit = solve(V, D, tolerance=1e-15, max_iterations=%d, method=%s, "
                       "compress=%s)\n",
                       iterations, method, compress ? "true" : "false"),
            "cuda", 0, 0);

    return c;
}

/* Once for the tile the sums come back, 20 doubles for each baseline and interval; in each
 * iteration the parm's numbers go up, and Jones terms and their two derivatives come back. Models
 * stay where they are; data that the host has not come to it once, to see which stations have
 * any. */
TEST(iterations_copy_jones_terms_alone)
{
    grove_counters few = iterate(3, true, "lm"), many = iterate(8, true, "lm");
    const uint64_t jones = 3 * TIMES * STATIONS * 2 * 16, sums = 2 * BASELINES * 20 * 8;

    ck_assert_uint_eq(many.bytes_up - few.bytes_up, 5 * 2 * STATIONS * 2 * 8);
    ck_assert_uint_eq(many.bytes_down - few.bytes_down, 5 * jones);
    ck_assert_uint_eq(few.bytes_down, 4 * jones + sums + 2 * BYTES);
}

/* Where data are not compressed, the parm's numbers go up, and for each domain which of its points
 * is the best one, with the damping; gradient, diagonal and step come back, with five sums, the
 * square of the step and the rank. At the end the matrix of one domain comes, for what is said of
 * it, and nothing at all where nothing is said. */
TEST(iterations_copy_steps_alone)
{
    grove_counters few = iterate(3, false, "lm"), many = iterate(8, false, "lm");
    const uint64_t unknowns = STATIONS * 2, parms = 2 * unknowns * 8, orders = 2 * 96;
    const uint64_t points = 2 * (5 + 2 * unknowns) * 8, steps = 2 * (2 + unknowns) * 8;

    ck_assert_uint_eq(many.bytes_up - few.bytes_up, 5 * (parms + orders));
    ck_assert_uint_eq(many.bytes_down - few.bytes_down, 5 * (points + steps));
    ck_assert_uint_ge(few.bytes_down, 4 * points + 3 * steps + 8 * unknowns * unknowns + 2 * BYTES);
    ck_assert_uint_le(few.bytes_down,
                      4 * points + 4 * steps + 8 * unknowns * unknowns + 64 + 2 * BYTES);
}

/* Blocks of stations are solved on the host: there normal equations come back, of four columns, for
 * each baseline and interval. */
TEST(iterations_copy_normal_equations_alone)
{
    grove_counters few = iterate(3, false, "block"), many = iterate(8, false, "block");
    const uint64_t normal = 2 * BASELINES * (5 + 2 * 4 * 5) * 8;

    ck_assert_uint_eq(many.bytes_up - few.bytes_up, 5 * 2 * STATIONS * 2 * 8);
    ck_assert_uint_eq(many.bytes_down - few.bytes_down, 5 * normal);
    ck_assert_uint_eq(few.bytes_down, 4 * normal + 2 * BYTES);
}

CUDA_SUITE(120, setup, teardown)
