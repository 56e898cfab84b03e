/* Calls of classes on the host and on emulated devices: launches, scratch memory, transforms,
 * products, Cholesky factors; memory that is short, faults of the driver. */
#include "tests/common/cuda-testing.h"
#include "tests/common/heap-testing.h"

#include "device/array.h"
#include "run/state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- classes ---- */

extern const grove_class grove_class_delay_spectrum; /* of examples/new-node/device */

/* x x^H of matrices, by products alone. */
static int check_gram(grove_node *node)
{
    grove_node_set_output(node, grove_node_input_form(node, 0));
    return 0;
}

static int device_gram(const grove_call *call)
{
    const grove_args *args = call->args;
    const grove_product product = {.a = args->in[0].data,
                                   .b = args->in[0].data,
                                   .c = args->out.data,
                                   .rows = 2,
                                   .columns = 2,
                                   .inner = 2,
                                   .count = grove_args_cells(args),
                                   .stride_a = 4,
                                   .stride_b = 4,
                                   .stride_c = 4};

    return grove_call_product(call, &product, call->double_precision);
}

static const grove_port gram_inputs[] = {
    {"x", GROVE_VALUE, "matrices", .handing = GROVE_AS_COMPLEX, .shapes = GROVE_MATRIX}, {0}};
static const grove_class class_gram = {GROVE_CLASS_HEAD(gram),  .doc = "For tests.",
                                       .inputs = gram_inputs,   .check = check_gram,
                                       .device = device_gram,   .flag_rule = GROVE_FLAGS_MIX,
                                       .output_doc = "products"};

/* Solves m y = x along freq, m being n + 1 on the diagonal and 1 elsewhere: a table, copied to
 * scratch memory since the factor takes its place. */
enum { N = SAMPLES_CHANNELS };

static int check_solve(grove_node *node)
{
    double m[N * N];

    for (int k = 0; k < N * N; k++)
        m[k] = k % (N + 1) ? 1 : N + 1;
    grove_node_set_output(node,
                          GROVE_FORM(.shape = GROVE_SCALAR, .precision = GROVE_PRECISION_DOUBLE));
    grove_node_set_scratch(node, sizeof(m) + sizeof(int32_t), 0);
    return grove_node_set_table(node, m, sizeof(m));
}

static int device_solve(const grove_call *call)
{
    grove_args own = {.axes = 1, .inputs = 1, .size = {N * N}};
    grove_cholesky cholesky = {.right = call->args->out.data, .size = N, .count = 1};
    void *matrix, *info;

    grove_call_scratch(call, sizeof(double) * N * N, &matrix);
    grove_call_scratch(call, sizeof(int32_t), &info);
    cholesky.matrix = matrix;
    cholesky.info = info;
    grove_call_zero(call, info, sizeof(int32_t));
    grove_view_set_dense(&own.in[0], &own, 1, 0, 8);
    own.out = own.in[0];
    own.in[0].data = (void *)(uintptr_t)call->args->table;
    own.out.data = matrix;
    grove_call_launch(call, &grove_array_cast, &own, true);
    grove_call_launch(call, &grove_array_cast, call->args, true);
    return grove_call_cholesky(call, &cholesky);
}

static const grove_port solve_inputs[] = {{"x", GROVE_VALUE, "numbers", .handing = GROVE_AS_DOUBLE},
                                          {0}};
static const grove_class class_solve = {GROVE_CLASS_HEAD(solve), .doc = "For tests.",
                                        .inputs = solve_inputs,  .check = check_solve,
                                        .device = device_solve,  .output_doc = "solutions"};

/* On a device it is left to eval. */
static int eval_modest(const grove_call *call)
{
    ck_assert(!call->on_device);
    return grove_call_launch(call, &grove_array_cast, call->args, call->double_precision);
}

static int device_modest(const grove_call *call)
{
    ck_assert(call->on_device);
    return GROVE_MISSING;
}

static const grove_class class_modest = {GROVE_CLASS_HEAD(modest), .doc = "For tests.",
                                         .inputs = gram_inputs,    .check = check_gram,
                                         .eval = eval_modest,      .device = device_modest,
                                         .output_doc = "the input"};

static void setup(void)
{
    static const grove_class *const classes[] = {&grove_class_delay_spectrum, &class_gram,
                                                 &class_solve, &class_modest};

    cuda_testing_reset(0);
    cuda_testing_libraries(true);
    session_test_begin();
    for (size_t k = 0; k < sizeof(classes) / sizeof(*classes); k++)
        ck_assert_int_eq(grove_classes_add(now.classes, classes[k], now.error), 0);
    heap_test_add();
}

/* ---- delay spectra ---- */

/* Number (time, baseline, delay, element) of the spectra of o.data, by a direct sum. */
static void direct(int64_t i, int64_t j, int64_t k, int e, bool hann, double sum[2])
{
    const long double turn = 2 * 3.141592653589793238462643383279502884L / N;
    long double re = 0, im = 0;

    for (int64_t f = 0; f < N; f++) {
        long double weight = hann ? 0.5L - 0.5L * cosl(turn * ((long double)f + 0.5L)) : 1;
        long double angle = turn * (long double)(f * (k - N / 2));
        long double x = samples_number(0, i, j, f, e, 0), y = samples_number(0, i, j, f, e, 1);
        re += weight * (x * cosl(angle) - y * sinl(angle));
        im += weight * (x * sinl(angle) + y * cosl(angle));
    }
    sum[0] = (double)(re / N);
    sum[1] = (double)(im / N);
}

static heap direct_spectra(bool hann)
{
    heap truth = {calloc((size_t)SAMPLES_CELLS * 8, sizeof(double)), (size_t)SAMPLES_CELLS * 4};

    for (int64_t at = 0; at < SAMPLES_CELLS * 4; at++)
        direct(at / 4 / N / SAMPLES_BASELINES, at / 4 / N % SAMPLES_BASELINES, at / 4 % N,
               (int)(at % 4), hann, truth.numbers + 2 * at);
    return truth;
}

/* Loop index: bit 0: double; bit 1: on a device; bit 2: tiles; bit 3: a window. */
LOOP_TEST(spectra_are_right, 0, 16)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 2, .double_precision = _i & 1);
    grove_counters c = {0};

    if (_i & 4)
        options.tile_times = options.tile_baselines = 2;
    session_test_tree(_i & 8 ? "keep = heap(delay_spectrum(o.data, window=hann))"
                             : "keep = heap(delay_spectrum(o.data))");
    heap truth = direct_spectra(_i & 8), got = heap_test_run(_i & 2 ? "cuda" : "cpu", options, &c);
    ck_assert_double_lt(heap_distance(&got, &truth), _i & 1 ? 1e-14 : 1e-6);
    ck_assert_int_eq(c.tiles, _i & 4 ? 12 : 1);
    ck_assert(!heap_test_helped());
    /* copy, transform, copy; the numbers are moved once */
    ck_assert_uint_eq(c.launches, _i & 2 ? 3 * (uint64_t)c.tiles : 0);
    ck_assert_uint_eq(c.bytes_down, _i & 2 ? SAMPLES_CELLS * 4 * (_i & 1 ? 16 : 8) : 0);
    ck_assert_uint_eq(c.bytes_up, c.bytes_down);
}

/* The input is gathered by station; all delays together are the first channel. Loop index: on a
 * device. */
LOOP_TEST(gathered_inputs_have_spectra, 0, 2)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1, .double_precision = true);

    session_test_tree("J[p] = o.jones\nx = J[p] * o.gain\n"
                      "keep = heap(sum(delay_spectrum(x[p]), over=delay) * o.data)");
    heap got = heap_test_run(_i ? "cuda" : "cpu", options, NULL);
    session_test_tree("J[p] = o.jones\nx = J[p] * o.gain\n"
                      "keep = heap(select(x[p], axis=freq, index=0) * o.data)");
    heap truth = heap_test_run("cpu", options, NULL);
    ck_assert_double_lt(heap_distance(&got, &truth), 1e-14);
}

static void simulate(void)
{
    const char *source = getenv("GROVE_SOURCE") ? getenv("GROVE_SOURCE") : ".";
    char text[2048];

    snprintf(text, sizeof(text),
             "obs = observe(array=\"%s/data/arrays/vla-c.array\", "
             "phase_centre=\"05h42m36.1s 49d51m07s\",\n"
             "  hour_angle=-0.2h..0.2h, integration=120s, frequency=1.4GHz, channels=48,\n"
             "  channel_width=4MHz)\n"
             "keep = heap(delay_spectrum(noise(obs, sefd=420Jy, seed=2)))\n",
             source);
    session_test_tree(text);
}

/* Scratch memory is planned for: with less memory tiles are smaller, and the device does it all. */
TEST(limited_memory_changes_nothing)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1);
    grove_counters all = {0}, less = {0};

    simulate();
    heap truth = heap_test_run("cuda", options, &all);
    for (int k = 2; k <= 5; k++) {
        uint64_t local = all.device_local_bytes, values = all.device_peak_bytes - local;
        options.device_memory = local + values * 2 / (uint64_t)(k + 1);
        heap got = heap_test_run("cuda", options, &less);
        ck_assert(!heap_test_helped());
        ck_assert_uint_le(less.device_peak_bytes, options.device_memory);
        ck_assert_int_gt(less.tiles, all.tiles);
        ck_assert(heap_equal(&got, &truth));
    }
    options.device_memory = 100000; /* not enough for any tile */
    cuda_testing_may_fall_back();
    heap got = heap_test_run("cuda", options, NULL);
    ck_assert_double_lt(heap_distance(&got, &truth), 1e-6);
}

/* What the tree `keep = heap(CLASS(o.data))` takes, in one tile. */
static uint64_t planned_bytes(const char *class_)
{
    char text[64];
    grove_plan plan = GROVE_PLAN();

    snprintf(text, sizeof(text), "keep = heap(%s(o.data))", class_);
    session_test_tree(text);
    grove_session *session = heap_test_session("cpu", GROVE_SESSION_OPTIONS(.threads = 1));
    ck_assert_int_eq(grove_session_plan(session, &plan), 0);
    heap_test_close(session);
    return plan.peak_bytes;
}

/* Both have a result as large as the input; one of them needs as much again. */
TEST(scratch_memory_is_planned)
{
    ck_assert_uint_ge(planned_bytes("delay_spectrum"),
                      planned_bytes("gram") + SAMPLES_CELLS * 4 * 8);
}

/* The device has less than its budget says: smaller tiles, then the host. */
LOOP_TEST(less_than_was_promised, 0, 2)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = 4);
    bool helped = false;

    if (!cuda_testing_control())
        return;
    simulate();
    heap truth = heap_test_run("cpu", options, NULL);
    for (int k = 0; k < 12; k++) {
        cuda_testing_reset((uint64_t)_i);
        cuda_testing_control()->memory = ((uint64_t)64 << 20) >> k;
        heap got = heap_test_run("cuda", options, NULL);
        ck_assert_double_lt(heap_distance(&got, &truth), 1e-6);
        helped = helped || heap_test_helped();
    }
    ck_assert(helped);
}

/* Each call of a kind fails once: the right result or one clear error; nothing is left. */
LOOP_TEST(each_fault, 0, 6)
{
    static const int kinds[] = {EMULATED_ALLOCATION, EMULATED_COPY,  EMULATED_LAUNCH,
                                EMULATED_RUNNING,    EMULATED_OTHER, EMULATED_HANDLE};
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = 4, .device = cuda_testing_kind());
    int failed, worked, kind = kinds[_i];

    if (!cuda_testing_control())
        return;
    session_test_tree("keep = heap(delay_spectrum(gram(o.data)))");
    heap truth = heap_test_run("cpu", options, NULL);
    heap_test_each_fault(kind, options, &truth, &failed, &worked);
    ck_assert_int_gt(worked, kind == EMULATED_ALLOCATION || kind == EMULATED_HANDLE ? 1 : 0);
    ck_assert_int_gt(failed, kind == EMULATED_HANDLE ? -1 : 0);
}

/* What a device lacks the host computes; the device is not asked again. */
TEST(what_is_missing_is_left_to_the_host)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = 1);
    grove_counters c = {0};

    session_test_tree("keep = heap(delay_spectrum(o.data))");
    if (!cuda_testing_control())
        return;
    heap truth = direct_spectra(false);
    cuda_testing_libraries(false);
    heap got = heap_test_run("cuda", options, &c);
    cuda_testing_libraries(true);
    ck_assert_double_lt(heap_distance(&got, &truth), 1e-6);
    ck_assert_int_eq(c.tiles, SAMPLES_TIMES);
    ck_assert_uint_eq(c.launches, 1);
    session_test_tree("keep = heap(modest(o.data))");
    got = heap_test_run("cuda", options, &c);
    ck_assert_uint_eq(c.launches, 0);
}

/* ---- products and Cholesky factors ---- */

/* Loop index: bit 0: double; bit 1: on a device. */
LOOP_TEST(products_are_right, 0, 4)
{
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.threads = 1, .double_precision = _i & 1, .tile_times = 2);
    grove_counters c = {0};

    session_test_tree("keep = heap(gram(o.data))");
    heap got = heap_test_run(_i & 2 ? "cuda" : "cpu", options, &c);
    session_test_tree("keep = heap(o.data * o.data^H)");
    heap truth = heap_test_run("cpu", options, NULL);
    ck_assert_double_lt(heap_distance(&got, &truth), _i & 1 ? 1e-14 : 1e-6);
    ck_assert_uint_eq(c.launches, _i & 2 ? 4 : 0);
}

/* With m = n 1 + u u^T, u all ones: y = (x - mean(x) / 2) / n. */
LOOP_TEST(solutions_are_right, 0, 2)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1);
    grove_value *value = NULL;
    int64_t count = 0;
    double mean = 0;

    session_test_tree("y = solve(real(o.gain))\nkeep = heap(y)");
    grove_session *session = heap_test_session(_i ? "cuda" : "cpu", options);
    ck_assert_int_eq(grove_session_value(session, "y", &value), 0);
    double *numbers = suite_keep(grove_value_numbers(value, &count, now.error));
    ck_assert_int_eq(count, N);
    for (int k = 0; k < N; k++)
        mean += samples_number(3, k, 0, 0, 0, 0) / N;
    for (int k = 0; k < N; k++)
        ck_assert_double_eq_tol(numbers[2 * k], (samples_number(3, k, 0, 0, 0, 0) - mean / 2) / N,
                                1e-14);
    grove_value_unref(value);
    /* two copies and the factor */
    ck_assert_uint_eq(session->nodes[session_test_node("y")->id].device.launches, _i ? 3 : 0);
    heap_test_close(session);
}

CUDA_SUITE(240, setup, session_test_end)
