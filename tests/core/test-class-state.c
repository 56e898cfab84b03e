/* Accumulators of classes: an image from time, baseline and freq, on the host and on emulated
 * devices. All numbers have few bits, so that sums are exact in any order. */
#include "tests/common/cuda-testing.h"
#include "tests/common/heap-testing.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATIONS = 4, BASELINES = 6, CHANNELS = 5, SOURCES = 3, ROWS = 4, COLUMNS = 3 };

/* What has happened to states, and what is to go wrong: the n-th add; the n-th new; merge; finish.
 */
static int states, most_states, adds, fail_add, fail_new, fail_merge, fail_finish;

static double number(int member, int64_t i, int64_t j, int64_t k, int part)
{
    return (double)((i * 31 + j * 17 + k * 7 + member * 5 + part * 3) % 64) / 8 - 3.875;
}

static bool flagged(int64_t i, int64_t j, int64_t k)
{
    return (i * 5 + j * 3 + k) % 7 == 0;
}

/* The pixel of a sample, -1: outside. The last pixel gets no samples. */
static int pixel(int64_t i, int64_t j, int64_t k)
{
    return (int)((i * 3 + j * 5 + k * 2) % (ROWS * COLUMNS + 1)) - 1 - (int)((i + j) % 2);
}

/* ---- an observation of any length ---- */

static int open_field(grove_node *node)
{
    static const int32_t left[] = {0, 0, 0, 1, 1, 2}, right[] = {1, 2, 3, 2, 3, 3};
    grove_axis axes[] = {{.name = "source", .size = SOURCES},
                         {.name = "time", .size = grove_node_integer(node, "times")},
                         {.name = "station", .size = STATIONS},
                         {.name = "baseline", .size = BASELINES, .left = left, .right = right},
                         {.name = "freq", .size = CHANNELS}};
    grove_form vis = {.shape = GROVE_SCALAR, .complex_ = true, .flags = true};
    grove_form real = {.shape = GROVE_SCALAR};
    int code = 0;

    for (int i = 0; i < 5 && !code; i++)
        code = grove_node_add_axis(node, &axes[i]);
    if (!code)
        code = grove_node_add_member(node, "vis", "time baseline freq", &vis, NULL, "samples");
    if (!code)
        code = grove_node_add_member(node, "weight", "time baseline", &real, NULL, "weights");
    if (!code)
        code = grove_node_add_member(node, "gain", "time station", &real, NULL, "gains");
    return code ? code
                : grove_node_add_member(node, "flux", "source", &real, NULL, "of each source");
}

static int read_field(const grove_call *call, const char *member, grove_array *out)
{
    int which = !strcmp(member, "vis")      ? 0
                : !strcmp(member, "weight") ? 1
                : !strcmp(member, "flux")   ? 2
                                            : 3;

    (void)call;
    for (int64_t cell = 0; cell < out->cells; cell++) {
        int64_t at[3] = {0}, rest = cell;
        int parts = out->form->complex_ ? 2 : 1;
        for (int d = out->axes - 1; d >= 0; d--) {
            at[d] = out->range[d].first + rest % out->range[d].count;
            rest /= out->range[d].count;
        }
        for (int part = 0; part < parts; part++) {
            double x = number(which, at[0], at[1], at[2], part);
            if (out->form->precision == GROVE_PRECISION_DOUBLE)
                ((double *)out->data)[cell * parts + part] = x;
            else
                ((float *)out->data)[cell * parts + part] = (float)x;
        }
        if (out->flags && flagged(at[0], at[1], at[2]))
            out->flags[cell] = 1;
    }
    return 0;
}

static const grove_port field_options[] = {{"times", GROVE_INTEGER, "how many", .initial = "7"},
                                           {0}};
static const grove_class class_field = {
    GROVE_CLASS_HEAD(field),
    .doc = "For tests.",
    .options = field_options,
    .kind = GROVE_CLASS_DATA,
    .object = "observation",
    .data = &(const grove_data_functions){.open = open_field, .read = read_field}};

/* ---- the accumulator ---- */

static int check_image(grove_node *node)
{
    const grove_axis rows = {.name = "m", .size = ROWS}, columns = {.name = "l", .size = COLUMNS};
    grove_form form = {.shape = GROVE_SCALAR,
                       .complex_ = true,
                       .flags = true,
                       .precision = GROVE_PRECISION_DOUBLE};

    grove_node_consume(node, GROVE_AXIS_SOURCE);
    grove_node_consume(node, GROVE_AXIS_TIME);
    grove_node_consume(node, GROVE_AXIS_BASELINE);
    if (!grove_node_bool(node, "spectral"))
        grove_node_consume(node, GROVE_AXIS_FREQ);
    grove_node_set_output(node, &form);
    grove_node_set_memory(node, (uint64_t)grove_node_integer(node, "bytes"));
    int code = grove_node_add_output_axis(node, &rows);
    return code ? code : grove_node_add_output_axis(node, &columns);
}

typedef struct {
    double sum[CHANNELS][ROWS * COLUMNS][2];
    int samples[CHANNELS][ROWS * COLUMNS];
} image;

static int new_image(const grove_call *call, void **state)
{
    if (fail_new && fail_new == states + 1)
        return grove_node_fail(call->node, -5, "no new image");
    *state = calloc(1, sizeof(image));
    states++;
    most_states = states > most_states ? states : most_states;
    return 0;
}

static const grove_range *range_of(const grove_array *array, int kind)
{
    for (int d = 0; d < array->axes; d++)
        if (array->range[d].axis->kind == kind)
            return &array->range[d];
    return NULL;
}

static int add_image(const grove_call *call, void *state, const grove_array *const *inputs,
                     int count)
{
    const grove_array *vis = inputs[0], *weight = inputs[1], *gain = inputs[2];
    const grove_range *time = range_of(vis, GROVE_AXIS_TIME);
    const grove_range *baseline = range_of(vis, GROVE_AXIS_BASELINE);
    const grove_range *freq = range_of(vis, GROVE_AXIS_FREQ);
    image *to = state;

    if (__atomic_add_fetch(&adds, 1, __ATOMIC_RELAXED) == fail_add)
        return grove_node_fail(call->node, -5, "no more of it");
    ck_assert(count == 3 && weight->axes == 2 && call->double_precision);
    ck_assert_int_eq(weight->cells, time->count * baseline->count);
    ck_assert(!gain->data || gain->cells == weight->cells); /* a baseline's station */
    for (int64_t cell = 0; cell < vis->cells; cell++) {
        int64_t k = cell % freq->count, j = cell / freq->count % baseline->count;
        int64_t i = cell / freq->count / baseline->count % time->count;
        int64_t row = i * baseline->count + j;
        int p = pixel(time->first + i, baseline->first + j, freq->first + k);
        double w = ((const double *)weight->data)[row];
        if (gain->data)
            w *= ((const double *)gain->data)[row];
        if (p < 0 || (vis->flags && vis->flags[cell]))
            continue;
        for (int part = 0; part < 2; part++)
            to->sum[freq->first + k][p][part] += w * ((const double *)vis->data)[2 * cell + part];
        to->samples[freq->first + k][p]++;
    }
    return 0;
}

/* Its axes are freq, if it has that, m, l. */
static int finish_image(const grove_call *call, void *state, grove_array *out)
{
    image *from = state;
    double *to = out->data;
    bool spectral = grove_node_bool(call->node, "spectral");

    if (fail_finish)
        return grove_node_fail(call->node, -5, "it does not end");
    ck_assert_int_eq(out->cells, (spectral ? CHANNELS : 1) * ROWS * COLUMNS);
    ck_assert(out->flags && out->form->precision == GROVE_PRECISION_DOUBLE);
    memset(out->flags, 1, (size_t)out->cells);
    for (int k = 0; k < CHANNELS; k++)
        for (int p = 0; p < ROWS * COLUMNS; p++) {
            int cell = spectral ? k * ROWS * COLUMNS + p : p;
            to[2 * cell] += from->sum[k][p][0];
            to[2 * cell + 1] += from->sum[k][p][1];
            if (from->samples[k][p])
                out->flags[cell] = 0;
        }
    if (!grove_node_bool(call->node, "transformed"))
        return 0;
    memset(out->flags, 0, (size_t)out->cells);
    return grove_call_transform(call,
                                &(grove_transform){.at = out->data,
                                                   .size = {ROWS, COLUMNS},
                                                   .count = spectral ? CHANNELS : 1,
                                                   .rank = 2,
                                                   .sign = 1},
                                call->double_precision);
}

static int merge_image(const grove_call *call, void *state, void *other)
{
    image *to = state, *from = other;

    if (fail_merge)
        return grove_node_fail(call->node, -5, "they do not go together");
    for (int k = 0; k < CHANNELS; k++)
        for (int p = 0; p < ROWS * COLUMNS; p++) {
            to->samples[k][p] += from->samples[k][p];
            for (int part = 0; part < 2; part++)
                to->sum[k][p][part] += from->sum[k][p][part];
        }
    memset(from, 0xff, sizeof(*from));
    return 0;
}

static void free_image(const grove_node *node, void *state)
{
    (void)node;
    free(state);
    states--;
}

static const grove_port image_inputs[] = {
    {"x", GROVE_VALUE, "visibilities", .handing = GROVE_AS_COMPLEX},
    {"weight", GROVE_VALUE, "of each", .handing = GROVE_AS_DOUBLE},
    {0}};
static const grove_port image_options[] = {
    {"gain", GROVE_VALUE, "of a station", .initial = "none", .handing = GROVE_AS_DOUBLE},
    {"spectral", GROVE_BOOL, "an image for each channel", .initial = "false"},
    {"transformed", GROVE_BOOL, "by Fourier", .initial = "false"},
    {"bytes", GROVE_INTEGER, "that it keeps", .initial = "1920"},
    {0}};
#define IMAGE                                                                                      \
    .doc = "For tests.", .inputs = image_inputs, .options = image_options,                         \
    .kind = GROVE_CLASS_ACCUMULATOR, .check = check_image
#define STATES .create = new_image, .add = add_image, .finish = finish_image, .free = free_image
static const grove_accumulator_functions image_functions = {STATES};
static const grove_accumulator_functions merged_functions = {STATES, .merge = merge_image};
static const grove_class class_image = {GROVE_CLASS_HEAD(image), IMAGE,
                                        .accumulator = &image_functions};
static const grove_class class_merged = {GROVE_CLASS_HEAD(merged), IMAGE,
                                         .accumulator = &merged_functions};

/* ---- tests ---- */

static void setup(void)
{
    cuda_testing_reset(0);
    session_test_begin();
    ck_assert_int_eq(grove_classes_add(now.classes, &class_field, now.error), 0);
    ck_assert_int_eq(grove_classes_add(now.classes, &class_image, now.error), 0);
    ck_assert_int_eq(grove_classes_add(now.classes, &class_merged, now.error), 0);
    heap_test_add();
    states = most_states = adds = fail_add = fail_new = fail_merge = fail_finish = 0;
}

enum { PLAIN, SPECTRAL, WITH_SOURCES, WITH_GAIN, TREES };
static const char *const trees[] = {
    "v = field()\nkeep = record(%s(v.vis, v.weight))",
    "v = field()\nkeep = record(%s(v.vis, v.weight, spectral=true))",
    "v = field()\nkeep = record(%s(v.vis * v.flux, v.weight))",
    "v = field()\nkeep = record(%s(v.vis[p,q], v.weight[p,q], gain=v.gain[q]))",
};

static void build(int tree, const char *class_)
{
    char text[256];

    snprintf(text, sizeof(text), trees[tree], class_);
    session_test_tree(text);
}

/* What the tree gives, from the numbers of the observation alone. */
static void compute(int tree, int times, image *truth)
{
    static const int right[] = {1, 2, 3, 2, 3, 3};
    double fluxes = 0;

    memset(truth, 0, sizeof(*truth));
    for (int s = 0; s < SOURCES; s++)
        fluxes += number(2, s, 0, 0, 0);
    for (int i = 0; i < times; i++)
        for (int j = 0; j < BASELINES; j++)
            for (int k = 0; k < CHANNELS; k++) {
                int p = pixel(i, j, k), channel = tree == SPECTRAL ? k : 0;
                double w = number(1, i, j, 0, 0) * (tree == WITH_SOURCES ? fluxes : 1) *
                           (tree == WITH_GAIN ? number(3, i, right[j], 0, 0) : 1);
                if (p < 0 || flagged(i, j, k))
                    continue;
                for (int part = 0; part < 2; part++)
                    truth->sum[channel][p][part] += w * number(0, i, j, k, part);
                truth->samples[channel][p]++;
            }
}

static const grove_session_options ways[] = {
    TESTING_OPTIONS(.threads = 1, .device = "cpu"),
    TESTING_OPTIONS(.threads = 1, .device = "cpu", .serial = true, .tile_times = 1),
    TESTING_OPTIONS(.threads = 3, .device = "cpu", .tile_times = 2, .tile_baselines = 4),
    TESTING_OPTIONS(.threads = 2, .device = "cpu", .tile_channels = 2),
    TESTING_OPTIONS(.threads = 2, .device = "cpu", .tile_times = 3, .tile_channels = 3,
                    .tile_baselines = 1, .cache_off = true),
    TESTING_OPTIONS(.threads = 1, .device = "cuda"),
    TESTING_OPTIONS(.threads = 1, .device = "cuda", .tile_times = 2, .tile_channels = 2),
    TESTING_OPTIONS(.threads = 2, .device = "cuda:all", .tile_times = 1),
};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

/* Where a class can merge its states each thread has one, and adds its piece of each tile. */
LOOP_TEST(test_sums, 0, 2 * TREES * WAYS)
{
    int tree = _i / WAYS % TREES, tiles = 1;
    bool merges = _i >= WAYS * TREES;
    grove_session_options options = ways[_i % WAYS];
    image truth;

    if (cuda_testing_control())
        cuda_testing_control()->devices = 2;
    build(tree, merges ? "merged" : "image");
    options.double_precision = true;
    compute(tree, 7, &truth);
    grove_session *session = heap_test_session(options.device, options);
    int code = grove_session_run(session);
    ck_assert_msg(!code, "%s", code ? grove_error_message(now.error, 0) : "");
    heap_test_close(session);
    ck_assert_int_eq(states, 0);
    tiles = options.tile_times ? (7 + (int)options.tile_times - 1) / (int)options.tile_times : 1;
    ck_assert_int_ge(adds, tiles * most_states);
    ck_assert_int_eq(most_states, merges ? options.threads : 1);
    for (int c = 0; c < (tree == SPECTRAL ? CHANNELS : 1) * ROWS * COLUMNS; c++) {
        int k = c / (ROWS * COLUMNS), p = c % (ROWS * COLUMNS);
        ck_assert_int_eq(now.places[c], 1);
        ck_assert_double_eq(now.numbers[c][0], truth.sum[k][p][0]);
        ck_assert_double_eq(now.numbers[c][1], truth.sum[k][p][1]);
        ck_assert_int_eq(now.flags[c], truth.samples[k][p] == 0);
    }
}

/* Against the direct sum. */
TEST(test_finish_transforms)
{
    image truth;

    session_test_tree("v = field()\nkeep = record(image(v.vis, v.weight, transformed=true))");
    compute(PLAIN, 7, &truth);
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1, .double_precision = true);
    grove_session *session = heap_test_session("cpu", options);
    int code = grove_session_run(session);
    ck_assert_int_eq(code, 0);
    heap_test_close(session);
    for (int c = 0; c < ROWS * COLUMNS; c++) {
        double complex sum = 0;
        for (int p = 0; p < ROWS * COLUMNS; p++) {
            double turns = (double)(c / COLUMNS * (p / COLUMNS)) / ROWS +
                           (double)(c % COLUMNS * (p % COLUMNS)) / COLUMNS;
            const double *x = truth.sum[0][p];
            sum += (x[0] + x[1] * I) * cexp(2 * acos(-1) * turns * I);
        }
        ck_assert_double_eq_tol(now.numbers[c][0], creal(sum), 1e-9);
        ck_assert_double_eq_tol(now.numbers[c][1], cimag(sum), 1e-9);
    }
}

/* When memory is short, sources come in parts, and inputs that do not vary along them with each
 * part. */
TEST(test_parts_of_sources)
{
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.threads = 1, .double_precision = true, .memory = 1 << 20);
    image truth;

    session_test_tree("v = field(times=200)\nkeep = record(image(v.vis * v.flux, v.weight))");
    compute(WITH_SOURCES, 200, &truth);
    grove_session *session = session_test_session(&options);
    ck_assert_int_eq(grove_session_run(session), 0);
    ck_assert_int_eq(grove_session_counters(session)->tiles, 2); /* one, and that of the action */
    grove_session_free(session);
    ck_assert_int_eq(adds, SOURCES);
    for (int p = 0; p < ROWS * COLUMNS; p++)
        for (int part = 0; part < 2; part++)
            ck_assert_double_eq(now.numbers[p][part], truth.sum[0][p][part]);
}

/* A later pass over tiles of the same observation reads it. */
TEST(test_the_image_is_given_to_later_tiles)
{
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = 2, .double_precision = true);
    image truth;

    session_test_tree(
        "v = field()\nI = image(v.vis, v.weight)\n"
        "keep = heap(v.weight * select(select(I, axis=m, index=1), axis=l, index=2))");
    compute(PLAIN, 7, &truth);
    heap got = heap_test_run("cpu", options, NULL);
    ck_assert_uint_eq(got.count, 7 * BASELINES);
    for (int c = 0; c < 7 * BASELINES; c++)
        for (int part = 0; part < 2; part++)
            ck_assert_double_eq(got.numbers[2 * c + part],
                                number(1, c / BASELINES, c % BASELINES, 0, 0) *
                                    truth.sum[0][COLUMNS + 2][part]);
    ck_assert_int_eq(adds, 4);
}

static grove_plan plan_of(const char *text, grove_session_options options)
{
    grove_plan plan = GROVE_PLAN();

    session_test_tree(text);
    grove_session *session = session_test_session(&options);
    ck_assert_int_eq(grove_session_plan(session, &plan), 0);
    grove_session_free(session);
    return plan;
}

/* Memory is that of the image and a few tiles, however long the observation. */
TEST(test_memory)
{
    static const char small[] = "v = field(times=64)\nkeep = record(image(v.vis, v.weight))";
    static const char large[] = "v = field(times=64000)\nkeep = record(image(v.vis, v.weight))";
    static const char more[] =
        "v = field(times=64)\nkeep = record(image(v.vis, v.weight, bytes=1001920))";
    grove_session_options tiles = GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = 8);
    grove_session_options limited = GROVE_SESSION_OPTIONS(.threads = 1, .memory = 1 << 20);
    grove_plan plan = plan_of(small, tiles);

    ck_assert_int_eq(plan.passes, 2);
    ck_assert_uint_eq(plan_of(large, tiles).peak_bytes, plan.peak_bytes);
    ck_assert_uint_eq(plan_of(more, tiles).peak_bytes, plan.peak_bytes + 1000000);
    plan = plan_of(large, limited);
    ck_assert_uint_le(plan.peak_bytes, 1 << 20);
    ck_assert_int_gt(plan.tiles, 10);
}

/* A state for each thread, where an eighth of the memory has room for them; none of it is a
 * device's. */
TEST(test_memory_of_states)
{
    static const char small[] = "v = field(times=64)\nkeep = record(merged(v.vis, v.weight))";
    static const char large[] =
        "v = field(times=64)\nkeep = record(merged(v.vis, v.weight, bytes=1001920))";
    grove_session_options tiles =
        GROVE_SESSION_OPTIONS(.threads = 3, .tile_times = 8, .memory = 64 << 20);
    grove_plan plan = plan_of(small, tiles), other = plan_of(large, tiles);

    ck_assert_uint_eq(other.peak_bytes, plan.peak_bytes + 3000000);
    tiles.memory = 17 << 20;
    ck_assert_uint_eq(plan_of(large, tiles).peak_bytes, plan.peak_bytes + 2003840 - 3 * 1920);
    tiles.memory = 9 << 20;
    ck_assert_uint_eq(plan_of(large, tiles).peak_bytes, plan.peak_bytes + 1001920 - 3 * 1920);
    if (!cuda_testing_control())
        return;
    tiles = GROVE_SESSION_OPTIONS(.threads = 2, .device = "cuda", .device_memory = 1 << 20);
    plan = plan_of(small, tiles);
    other = plan_of(large, tiles);
    ck_assert_uint_eq(other.peak_bytes, plan.peak_bytes);
    ck_assert_uint_ge(other.process_bytes, plan.process_bytes + 1900000);
    session_test_tree("v = field(times=64)\n"
                      "keep = record(merged(2 * v.vis, v.weight, bytes=3000000))");
    grove_session *session = heap_test_session("cuda", tiles);
    ck_assert_int_eq(grove_session_run(session), 0);
    ck_assert_uint_gt(grove_session_counters(session)->launches, 0);
    heap_test_close(session);
}

/* Loop index: which call fails: the third add, finish, new, the first add. */
LOOP_TEST(test_failures_free_the_state, 0, 4)
{
    static const char *const says[] = {"no more of it", "it does not end", "no new image",
                                       "no more of it"};
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = 2, .device = "cpu",
                              .double_precision = true);

    fail_add = _i == 0 ? 3 : _i == 3 ? 1 : 0;
    fail_finish = _i == 1;
    fail_new = _i == 2;
    build(PLAIN, "image");
    grove_session *session = session_test_session(&options);
    ck_assert_int_ne(grove_session_run(session), 0);
    ck_assert_int_eq(states, 0);
    ck_assert_int_eq(adds, _i == 0 ? 3 : _i == 1 ? 4 : _i == 2 ? 0 : 1);
    ck_assert_int_eq(grove_error_count(now.error), 1);
    ck_assert_ptr_ne(strstr(grove_error_message(now.error, 0), says[_i]), NULL);
    ck_assert_int_eq(now.finishes, 0);
    ck_assert_int_eq(now.aborts, 1);
    /* and again, without a fault */
    fail_add = fail_finish = fail_new = 0;
    ck_assert_int_eq(grove_session_run(session), 0);
    ck_assert_int_eq(states, 0);
    ck_assert_int_eq(now.finishes, 1);
    grove_session_free(session);
}

/* Loop index: which call fails: the second new, an add of another thread, merge. */
LOOP_TEST(test_failures_free_all_states, 0, 3)
{
    static const char *const says[] = {"no new image", "no more of it", "they do not go together"};
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.threads = 3, .tile_times = 4, .device = "cpu",
                              .double_precision = true);

    fail_new = _i == 0 ? 2 : 0;
    fail_add = _i == 1 ? 2 : 0;
    fail_merge = _i == 2;
    build(PLAIN, "merged");
    grove_session *session = session_test_session(&options);
    ck_assert_int_ne(grove_session_run(session), 0);
    ck_assert_int_eq(states, 0);
    ck_assert_int_eq(most_states, _i == 0 ? 1 : 3);
    ck_assert_int_eq(grove_error_count(now.error), 1);
    ck_assert_ptr_ne(strstr(grove_error_message(now.error, 0), says[_i]), NULL);
    fail_add = fail_new = fail_merge = 0;
    ck_assert_int_eq(grove_session_run(session), 0);
    ck_assert_int_eq(states, 0);
    grove_session_free(session);
}

CUDA_SUITE(120, setup, session_test_end)
