/* Sessions on emulated devices: what is copied and what is computed again, memory that is short,
 * faults of the driver, several devices. */
#include "tests/common/cuda-testing.h"
#include "tests/common/heap-testing.h"

#include "base/log.h"
#include "base/memory.h"
#include "device/array.h"
#include "run/state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- classes: a number that the test turns ---- */

static double knob_now;

static int open_knob(grove_node *node)
{
    grove_form form = {.shape = GROVE_SCALAR, .complex_ = true};

    return grove_node_add_member(node, "gain", "", &form, NULL, "a number that changes");
}

static int read_knob(const grove_call *call, const char *member, grove_array *out)
{
    (void)call, (void)member;
    if (out->form->precision == GROVE_PRECISION_DOUBLE)
        ((double *)out->data)[0] = knob_now, ((double *)out->data)[1] = -knob_now;
    else
        ((float *)out->data)[0] = (float)knob_now, ((float *)out->data)[1] = -(float)knob_now;
    return 0;
}

static const grove_class class_knob = {
    GROVE_CLASS_HEAD(knob), .doc = "For tests.", .kind = GROVE_CLASS_DATA, .object = "observation",
    .data = &(const grove_data_functions){.open = open_knob, .read = read_knob}};

/* Its first input, and 0 where all elements of the second are flagged. */
static int eval_wanted(const grove_call *call)
{
    const grove_args *args = call->args;
    const grove_view *flags = &args->in[1];
    unsigned all = (1u << flags->elements) - 1;

    grove_array_cast.single_precision(args, 0, grove_args_cells(args));
    for (int64_t cell = 0; cell < grove_args_cells(args); cell++) {
        int64_t index[GROVE_MAX_AXES], rest = cell;
        for (int d = args->axes - 1; d >= 0; d--) {
            index[d] = rest % args->size[d];
            rest /= args->size[d];
        }
        const char *at = grove_view_at(flags, index, args->axes);
        if (at && ((unsigned)*at & all) == all)
            memset(grove_view_at(&args->out, index, args->axes), 0,
                   (size_t)(args->out.elements * args->out.bytes) * 2);
    }
    return 0;
}

static int check_wanted(grove_node *node)
{
    grove_node_set_output(node, grove_node_input_form(node, 0));
    return 0;
}

static int device_wanted(const grove_call *call)
{
    return grove_call_launch(call, &grove_array_cast, call->args, call->double_precision);
}

static const grove_port wanted_inputs[] = {
    {"x", GROVE_VALUE, "what is handed on", .shapes = GROVE_ANY_SHAPE},
    {"skip", GROVE_VALUE, "flags", .handing = GROVE_AS_FLAGS, .shapes = GROVE_ANY_SHAPE},
    {0}};
static const grove_class class_wanted = {
    GROVE_CLASS_HEAD(wanted), .doc = "For tests.",   .inputs = wanted_inputs,  .eval = eval_wanted,
    .device = device_wanted,  .check = check_wanted, .output_doc = "the input"};

static void setup(void)
{
    cuda_testing_reset(0);
    session_test_begin();
    ck_assert_int_eq(grove_classes_add(now.classes, &class_knob, now.error), 0);
    ck_assert_int_eq(grove_classes_add(now.classes, &class_wanted, now.error), 0);
    heap_test_add();
}

/* ---- a simulation ---- */

static const char simulation[] =
    "obs = observe(array=\"%s/data/arrays/vla-c.array\", phase_centre=\"05h42m36.1s 49d51m07s\",\n"
    "  hour_angle=-0.2h..0.2h, integration=%s, frequency=1.4GHz, channels=%d,\n"
    "  channel_width=4MHz)\n"
    "S = sky_model(\"%s/examples/quickstart/3C147.skymodel\")\n"
    "E[s,p] = beam_airy(S, obs, diameter=25m)\n"
    "G[p] = gains(obs, kind=random_walk, amplitude=0.02, phase=5deg, seed=1)\n"
    "V[p,q] = G[p] * sum[s](E[s,p] * point(S, obs, smear=both) * E[s,q]^H) * G[q]^H\n"
    "  + noise(obs, sefd=420Jy, seed=2)\n"
    "keep = heap(V)\n";

static void simulate(const char *integration, int channels, const char *more)
{
    const char *source = getenv("GROVE_SOURCE") ? getenv("GROVE_SOURCE") : ".";
    char text[3072];
    int length = snprintf(text, sizeof(text), simulation, source, integration, channels, source);

    snprintf(text + length, sizeof(text) - (size_t)length, "%s", more);
    session_test_tree(text);
}

LOOP_TEST(simulation_in_tiles, 0, 2)
{
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = 2, .double_precision = _i);
    grove_counters c = {0};

    simulate("120s", 4, "");
    heap truth = heap_test_run("cpu", options, &c);
    ck_assert_uint_eq(c.launches, 0);
    heap got = heap_test_run("cuda", options, &c);
    ck_assert_double_lt(heap_distance(&got, &truth), _i ? 1e-11 : 1e-5);
    /* each visibility comes back once; noise and all else is made there */
    ck_assert_uint_eq(c.bytes_down, truth.count * (_i ? 16 : 8));
    /* up go uvw and its rate, once, and little else: [time baseline] vectors of 3 doubles */
    size_t cells = truth.count / 4 / 4;
    ck_assert_uint_ge(c.bytes_up, cells * 2 * 24);
    ck_assert_uint_le(c.bytes_up, cells * 2 * 24 + 60000);
    ck_assert_uint_gt(c.launches, 0);
    ck_assert_int_gt(c.tiles, 4);
}

/* A folder of kernels like that of the other tests, but what is arithmetic is of other headers. */
static void make_stale_folder(char *folder, size_t size)
{
    const char *usual = getenv("GROVE_DEVICE_KERNELS");
    char command[20000];

    snprintf(folder, size, "%s-stale", usual);
    snprintf(command, sizeof(command),
             "rm -rf '%s' && mkdir '%s' && cd '%s' && ln -s '%s'/*.fatbin . && "
             "ln -sf '%s'/stale.fatbin arithmetic.fatbin",
             folder, folder, folder, usual, usual);
    ck_assert_int_eq(system(command), 0);
}

TEST(stale_code_is_left_to_the_host)
{
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = 2, .double_precision = true);
    grove_counters fresh = {0}, stale = {0};
    char folder[2048], usual[4096];

    if (!cuda_testing_control())
        return;
    snprintf(usual, sizeof(usual), "%s", getenv("GROVE_DEVICE_KERNELS"));
    simulate("60s", 3, "");
    heap truth = heap_test_run("cpu", options, NULL);
    heap got = heap_test_run("cuda", options, &fresh);
    make_stale_folder(folder, sizeof(folder));
    setenv("GROVE_DEVICE_KERNELS", folder, 1);
    cuda_testing_may_fall_back();
    got = heap_test_run("cuda", options, &stale);
    setenv("GROVE_DEVICE_KERNELS", usual, 1);
    ck_assert_double_lt(heap_distance(&got, &truth), 1e-11);
    ck_assert_uint_gt(stale.launches, 0);
    ck_assert_uint_lt(stale.launches, fresh.launches);
}

/* Of several runs of one session only the first takes memory from the driver. */
TEST(memory_is_taken_once)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = 2);

    simulate("120s", 4, "");
    grove_session *session = heap_test_session("cuda", options);
    uint64_t before = 0;
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(grove_session_run(session), 0);
        ck_assert(i < 2 || grove_session_counters(session)->system_allocations == before);
        before = grove_session_counters(session)->system_allocations;
    }
    heap_test_close(session);
}

/* ---- a loop that turns one parm ---- */

LOOP_TEST(loop_copies_the_parm_alone, 0, 2)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1, .double_precision = _i);
    grove_counters last = {0};

    simulate("120s", 4, "k = knob()\nx = (V + V) * k.gain\n");
    grove_session *session = heap_test_session("cuda", options);
    for (int i = 0; i < 10; i++) {
        grove_value *value = NULL;
        int64_t count = 0;
        knob_now = 1 + i;
        grove_session_renew(session, session_test_node("k"));
        ck_assert_int_eq(grove_session_value(session, "x", &value), 0);
        double *numbers = suite_keep(grove_value_numbers(value, &count, now.error));
        ck_assert_ptr_nonnull(numbers);
        static double first[2];
        if (!i)
            memcpy(first, numbers, sizeof(first));
        for (int k = 0; k < 2; k++)
            ck_assert_double_eq_tol(numbers[k], (1 + i) * first[k], 1e-5 * fabs(numbers[k]));
        size_t bytes = (size_t)count * (_i ? 16 : 8);
        grove_value_unref(value);
        ck_assert_int_eq(grove_session_value(session, "x", &value), 0); /* kept there */
        grove_value_unref(value);
        const grove_counters *c = grove_session_counters(session);
        if (i) {
            ck_assert_uint_eq(c->bytes_up - last.bytes_up, _i ? 16 : 8);
            ck_assert_uint_eq(c->bytes_down - last.bytes_down, bytes);
            ck_assert_uint_eq(c->system_allocations, last.system_allocations);
            ck_assert_uint_eq(c->launches - last.launches, 1);
            ck_assert_uint_eq(c->evaluations - last.evaluations, 2);
            ck_assert_uint_ge(c->device_hits - last.device_hits, 1);
        }
        last = *c;
    }
    ck_assert_ptr_nonnull(strstr(suite_keep(grove_session_profile(session)),
                                 suite_text("\n%s:0: ", cuda_testing_kind())));
    heap_test_close(session);
}

/* ---- reductions ---- */

/* The device keeps what is reduced: only results come back. */
LOOP_TEST(reductions_stay_on_device, 0, 8)
{
    static const char *const lines[] = {
        "R = mean(V, over=time)\n",
        "D[p,q] = V - mean(V, over=time)\nR = sum(D * D^H, over=[time, freq])\n",
        "R = max(norm(V), over=[baseline, freq])\n",
        "R = sum(norm(E) * obs.freq, over=source)\n",
    };
    enum { LINES = sizeof(lines) / sizeof(*lines) };
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.threads = 1, .double_precision = _i >= LINES);
    double *numbers[2];
    int64_t count[2];

    simulate("120s", 4, lines[_i % LINES]);
    for (int i = 0; i < 2; i++) {
        grove_session *session = heap_test_session(i ? "cuda" : "cpu", options);
        grove_value *value = NULL;
        options.tile_times = i ? 0 : 3;
        ck_assert_int_eq(grove_session_value(session, "R", &value), 0);
        numbers[i] = grove_value_numbers(value, &count[i], now.error);
        size_t bytes = grove_buffer_bytes(value->data);
        grove_value_unref(value);
        if (i) {
            grove_session_value(session, "R", &value); /* takes the counters */
            ck_assert_uint_le(grove_session_counters(session)->bytes_down, 2 * bytes);
            grove_value_unref(value);
        }
        heap_test_close(session);
    }
    ck_assert_int_eq(count[0], count[1]);
    heap a = {numbers[0], (size_t)count[0]}, b = {numbers[1], (size_t)count[1]};
    ck_assert_double_lt(heap_distance(&b, &a), options.double_precision ? 1e-11 : 1e-5);
    free(numbers[0]);
    free(numbers[1]);
}

/* ---- flags ---- */

/* What is not wanted is 0, on a device as on the cpu. */
LOOP_TEST(skipped_is_zero, 0, 3)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = _i);
    grove_counters c = {0};
    int zeros = 0;

    session_test_tree("J[p] = o.jones\nkeep = heap(wanted(J[p] * J[q]^H * o.gain, o.data))");
    heap truth = heap_test_run("cpu", options, NULL);
    heap got = heap_test_run("cuda", options, &c);
    for (size_t i = 0; i < truth.count; i++)
        zeros += truth.numbers[2 * i] == 0 && truth.numbers[2 * i + 1] == 0;
    ck_assert_int_gt(zeros, 0);
    ck_assert_uint_gt(c.launches, 0);
    ck_assert_double_lt(heap_distance(&got, &truth), 1e-6);
    for (size_t i = 0; i < truth.count; i++)
        ck_assert((truth.numbers[2 * i] == 0) == (got.numbers[2 * i] == 0));
}

/* ---- names ---- */

TEST(devices_by_name)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1);
    const char *const wrong[] = {"tpu", "cuda:7"};

    if (strcmp(cuda_testing_kind(), "cuda") != 0)
        return; /* `auto` prefers CUDA, and takes no CPU of an OpenCL driver */

    session_test_tree("x = o.data * 2");
    for (int i = 0; i < 2; i++) {
        options.device = wrong[i];
        ck_assert_ptr_null(grove_session_new(now.tree, &options, now.error));
        ck_assert_int_eq(grove_error_count(now.error), 1);
        grove_error_clear(now.error);
    }
    grove_session *session = heap_test_session("auto", options);
    ck_assert_int_eq(session->device_count, 1);
    heap_test_close(session);
    cuda_testing_driver(false);
    session = heap_test_session("auto", options);
    ck_assert_int_eq(session->device_count, 0);
    heap_test_close(session);
    options.device = "cuda";
    ck_assert_ptr_null(grove_session_new(now.tree, &options, now.error));
    cuda_testing_driver(true);
    ck_assert_int_eq(grove_error_count(now.error), 1);
    ck_assert_ptr_nonnull(strstr(grove_error_message(now.error, 0), "there is no NVIDIA driver"));
}

/* ---- memory that is short ---- */

static const char many[] =
    "obs = observe(array=\"%s/data/arrays/vla-c.array\", phase_centre=\"05h42m36.1s 49d51m07s\",\n"
    "  hour_angle=-0.1h..0.1h, integration=60s, frequency=1.4GHz, channels=16,\n"
    "  channel_width=1MHz)\n"
    "S = sky_model(\"many.skymodel\")\n"
    "E[s,p] = beam_airy(S, obs, diameter=25m)\n"
    "G[p] = gains(obs, kind=random_walk, amplitude=0.02, phase=5deg, seed=1)\n"
    "V[p,q] = %s\n"
    "keep = heap(V)\n";

/* Plain sum over sources; Jones terms of each; what is not fused. */
static const char *const sums[] = {
    "sum[s](point(S, obs, smear=both))",
    "G[p] * sum[s](E[s,p] * point(S, obs) * E[s,q]^H) * G[q]^H",
    "sum[s](abs(point(S, obs, smear=none)))",
};

LOOP_TEST(limited_memory_changes_nothing, 0, 3)
{
    const char *source = getenv("GROVE_SOURCE") ? getenv("GROVE_SOURCE") : ".";
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1);
    grove_counters c = {0};
    char text[2048];

    heap_test_sources("many.skymodel", _i == 2 ? 40 : 400);
    snprintf(text, sizeof(text), many, source, sums[_i]);
    session_test_tree(text);
    heap truth = heap_test_run("cuda", options, &c);
    for (int k = 2; k <= 4; k++) {
        uint64_t peak = c.device_peak_bytes, local = c.device_local_bytes;
        options.device_memory = local + (peak - local) * 2 / (uint64_t)(k + 1);
        grove_counters less = {0};
        heap got = heap_test_run("cuda", options, &less);
        ck_assert_uint_le(less.device_peak_bytes, options.device_memory);
        ck_assert_uint_lt(less.device_peak_bytes, peak);
        ck_assert_uint_gt(less.launches, 0);
        ck_assert(less.tiles > c.tiles || _i == 2); /* there, chunks of sources are smaller */
        ck_assert(heap_equal(&got, &truth));
    }
    /* not even the smallest tile fits, and hardly anything: the cpu helps */
    cuda_testing_may_fall_back();
    options.device_memory = 100000;
    heap got = heap_test_run("cuda", options, NULL);
    ck_assert_double_lt(heap_distance(&got, &truth), 1e-5);
    remove("many.skymodel");
}

/* Kernels that need more local memory than is reserved: tiles are smaller, the sums the same. */
LOOP_TEST(local_memory_is_counted, 0, 2)
{
    const char *source = getenv("GROVE_SOURCE") ? getenv("GROVE_SOURCE") : ".";
    emulated_control *control = cuda_testing_control();
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1);
    grove_counters c = {0};
    char text[2048];

    if (!control)
        return;
    heap_test_sources("many.skymodel", 400);
    snprintf(text, sizeof(text), many, source, sums[_i]);
    session_test_tree(text);
    heap truth = heap_test_run("cuda", options, &c);
    cuda_testing_reset(1);
    options.device_memory = c.device_peak_bytes;
    control->local_bytes = EMULATED_STACK + (int)(options.device_memory / 2 /
                                                  (EMULATED_PROCESSORS * EMULATED_THREADS));
    ck_assert_int_gt(control->local_bytes, EMULATED_STACK);
    grove_session *session = heap_test_session("cuda", options);
    ck_assert_int_eq(grove_session_run(session), 0);
    ck_assert_uint_ge(session->devices[0]->budget.peak, options.device_memory / 2);
    ck_assert_uint_le(session->devices[0]->budget.peak, options.device_memory);
    ck_assert_uint_eq(grove_session_counters(session)->device_local_bytes,
                      (uint64_t)(control->local_bytes - EMULATED_STACK) * EMULATED_PROCESSORS *
                          EMULATED_THREADS);
    ck_assert(!session->fallen_back);
    heap_test_close(session);
    ck_assert(heap_equal(&kept, &truth));
    kept = (heap){0};
    remove("many.skymodel");
}

/* What others take in the middle of a run: the device has less than its budget says. */
LOOP_TEST(less_than_was_promised, 0, 3)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = 2);
    emulated_control *control = cuda_testing_control();

    if (!control)
        return;
    simulate("120s", 4, "");
    heap truth = heap_test_run("cpu", options, NULL);
    for (uint64_t kib = 64; kib <= 4096; kib *= 4) {
        cuda_testing_reset((uint64_t)_i);
        grove_session *session = heap_test_session("cuda", options);
        control->memory = kib << 10;
        ck_assert_int_eq(grove_session_run(session), 0);
        ck_assert(kib > 64 || session->fallen_back);
        heap_test_close(session);
        ck_assert_double_lt(heap_distance(&kept, &truth), 1e-5);
        kept = (heap){0};
    }
}

/* ---- faults ---- */

/* Each call of a kind fails once: the right result or one clear error; nothing is left. */
LOOP_TEST(each_fault, 0, 10)
{
    static const int kinds[] = {EMULATED_ALLOCATION, EMULATED_COPY, EMULATED_LAUNCH,
                                EMULATED_RUNNING, EMULATED_OTHER};
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = 4, .serial = _i % 2);
    int failed, worked, kind = kinds[_i / 2];

    if (!cuda_testing_control())
        return;
    session_test_tree("J[p] = o.jones\nm = mean(J[p] * o.data * J[q]^H, over=time)\n"
                      "keep = heap(select(J[p] * (o.data * o.gain) * J[q]^H - m, element=XY))");
    heap truth = heap_test_run("cpu", options, NULL);
    heap_test_each_fault(kind, options, &truth, &failed, &worked);
    ck_assert_int_gt(failed, 0);
    ck_assert_int_gt(worked, kind == EMULATED_ALLOCATION ? 5 : 0);
}

/* ---- several devices ---- */

LOOP_TEST(any_number_of_devices, 0, 5)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = 1);
    emulated_control *control = cuda_testing_control();

    if (!control)
        return;
    simulate("120s", 4, "");
    heap truth = heap_test_run("cuda", options, NULL);
    for (int devices = 1; devices < 4; devices++) {
        cuda_testing_reset((uint64_t)_i);
        control->devices = devices;
        heap got = heap_test_run("cuda:all", options, NULL);
        ck_assert(heap_equal(&got, &truth));
    }
}

int main(void)
{
    cuda_testing_begin();
    int failed = suite_run(__FILE__, 240, setup, session_test_end);
    remove("many.skymodel"); /* of a test that failed */
    return failed;
}
