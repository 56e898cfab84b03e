/* Runs with too little device memory: tiles, and sections of sums over sources, give the same
 * results as with unlimited memory. GROVE_TEST_SIZE=full takes the workloads of the benchmarks and
 * 64 MiB, as GROVE_TEST_CUDA=real does; otherwise everything is smaller. */
#include "tests/common/cuda-testing.h"
#include "tests/common/heap-testing.h"

#include "base/log.h"
#include "base/memory.h"
#include "run/pipeline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void setup(void)
{
    cuda_testing_reset(0);
    session_test_begin();
    heap_test_add();
}

static bool is_full(void)
{
    const char *size = getenv("GROVE_TEST_SIZE"), *cuda = getenv("GROVE_TEST_CUDA");

    return size ? !strcmp(size, "full") : cuda && !strcmp(cuda, "real");
}

/* ---- workloads ---- */

static const char *const sums[] = {
    "sum[s](point(S, obs, smear=both))",
    /* Jones terms of source, time, station and channel */
    "G[p] * sum[s](matrix(E[s,p], 0.1 * E[s,p], 0.2, 1) * point(S, obs, smear=both) * "
    "matrix(E[s,q], 0.2, 0.1 * E[s,q], 1)^H) * G[q]^H",
    /* what is not fused */
    "sum[s](abs(point(S, obs, smear=none)))",
    /* products of stations by sources */
    "sum[s](matrix(E[s,p], 0.1 * E[s,p], 0.2, 1) * point(S, obs, smear=none) * "
    "matrix(E[s,q], 0.2, 0.1 * E[s,q], 1)^H)",
    "abs(sum[s](point(S, obs, smear=both)))",
};
enum { PLAIN, JONES, APART, STATIONS, MODULUS };

typedef struct {
    const char *name;
    int sum, sources, times, channels;
    int small[3]; /* the same at a small size */
} workload;

static const workload workloads[] = {
    {"P1", PLAIN, 1000, 16, 64, {100, 4, 12}},
    {"P1, Jones", JONES, 1000, 16, 64, {100, 4, 12}},
    {"P2", PLAIN, 10000, 16, 1, {1000, 4, 1}},
    {"P2, Jones", JONES, 10000, 16, 1, {1000, 4, 1}},
    {"50,000 sources", PLAIN, 50000, 2, 16, {5000, 2, 3}},
    {"50,000 sources, Jones", JONES, 50000, 2, 4, {5000, 2, 2}},
    {"50,000 sources, stations", STATIONS, 50000, 2, 4, {2000, 2, 2}},
    {"not fused", APART, 1000, 4, 16, {100, 2, 4}},
};
enum { WORKLOADS = sizeof(workloads) / sizeof(*workloads) };

static const char tree[] =
    "obs = observe(array=\"%s/data/arrays/%s.array\", phase_centre=\"05h42m36.1s 49d51m07s\",\n"
    "  hour_angle=%gs..%gs, integration=10s, frequency=1GHz, channels=%d, channel_width=8MHz)\n"
    "S = sky_model(\"memory.skymodel\")\n"
    "G[p] = gains(obs, kind=random_walk, amplitude=0.02, phase=5deg, seed=1)\n"
    "E[s,p] = beam_airy(S, obs, diameter=13.5m * norm(G[p]))\n"
    "V[p,q] = %s\n"
    "keep = heap(V)\n";

static void make_workload(const workload *w, bool full)
{
    const char *source = getenv("GROVE_SOURCE") ? getenv("GROVE_SOURCE") : ".";
    int sources = full ? w->sources : w->small[0], times = full ? w->times : w->small[1];
    int channels = full ? w->channels : w->small[2];
    char text[2048];

    heap_test_sources("memory.skymodel", sources);
    snprintf(text, sizeof(text), tree, source, full ? "meerkat" : "kat-7", -5.0 * times,
             5.0 * times, channels, sums[w->sum]);
    session_test_tree(text);
}

/* With so much memory; the device must compute everything. */
static void compare(const char *name, const heap *truth, grove_session_options options,
                    uint64_t limit)
{
    grove_counters c = {0};

    options.device_memory = limit;
    heap got = heap_test_run("cuda", options, &c);
    printf("%s%s: %.2f of %.2f MiB, %ld tiles, %ld launches: %.1g\n", name,
           options.double_precision ? ", double" : "", (double)c.device_peak_bytes / 1048576,
           (double)limit / 1048576, (long)c.tiles, (long)c.launches, heap_distance(&got, truth));
    ck_assert_uint_le(c.device_peak_bytes, limit);
    ck_assert(!heap_test_helped());
    ck_assert_double_lt(heap_distance(&got, truth), options.double_precision ? 1e-14 : 5e-7);
}

LOOP_TEST(limited_memory_changes_nothing, 0, 2 * WORKLOADS)
{
    const workload *w = &workloads[_i % WORKLOADS];
    bool full = is_full();
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.threads = 1, .double_precision = _i >= WORKLOADS);
    uint64_t limit = full ? (uint64_t)64 << 20 : (uint64_t)1 << 18;
    grove_counters c = {0};

    make_workload(w, full);
    heap truth = heap_test_run("cuda", options, &c);
    compare(w->name, &truth, options, c.device_local_bytes + limit);
    compare(w->name, &truth, options, c.device_local_bytes + limit / 4);
    remove("memory.skymodel");
}

/* So little that sections have few sources. */
TEST(few_sources_at_a_time)
{
    static const workload tiny = {"tiny", JONES, 0, 0, 0, {30, 1, 2}};
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1);
    grove_counters c = {0};

    make_workload(&tiny, false);
    heap truth = heap_test_run("cuda", options, &c);
    compare("few sources at a time", &truth, options, c.device_local_bytes + 28000);
    remove("memory.skymodel");
}

/* ---- memory that others take in mid-run ---- */

static int writes, shrink_at;
static uint64_t shrink_to;

static void shrink(grove_session *session)
{
    emulated_control *control = cuda_testing_control();

    if (++writes < shrink_at)
        return;
    grove_device_trim(session->devices[0]); /* what was kept for reuse is lost, too */
    control->memory = shrink_to;
}

/* Lines on standard error during a run, by way of a file. */
static int count_warnings(void (*run)(void *context), void *context)
{
    char line[1024];
    int count = 0, old = dup(2);

    fflush(stderr);
    FILE *file = fopen("warnings.txt", "w+");
    ck_assert_ptr_nonnull(file);
    dup2(fileno(file), 2);
    run(context);
    fflush(stderr);
    dup2(old, 2);
    close(old);
    rewind(file);
    while (fgets(line, sizeof(line), file)) {
        fputs(line, stderr);
        count += strstr(line, "warning:") != NULL;
    }
    fclose(file);
    remove("warnings.txt");
    return count;
}

typedef struct {
    grove_session_options options;
    grove_counters counters;
    heap got;
} shrinking;

static void run_shrinking(void *context)
{
    shrinking *s = context;

    writes = 0;
    heap_written = shrink;
    s->got = heap_test_run("cuda", s->options, &s->counters);
    heap_written = NULL;
}

static const workload wide = {"wide", PLAIN, 0, 0, 0, {40, 16, 12}};
/* a tile takes more than what the one before gives back */
static const workload wide_modulus = {"wide", MODULUS, 0, 0, 0, {40, 16, 12}};

/* Smaller tiles suffice, and no number changes. */
LOOP_TEST(tiles_are_halved, 0, 6)
{
    /* in turn with the run, so that the moment does not depend on which thread is faster */
    shrinking s = {.options = TESTING_OPTIONS(.threads = 1, .tile_times = 8, .serial = true)};
    grove_counters all = {0};

    if (!cuda_testing_control())
        return;
    make_workload(_i % 2 ? &wide_modulus : &wide, false);
    s.options.tile_channels = _i % 2 ? 6 : 0;
    heap truth = heap_test_run("cuda", s.options, &all);
    shrink_at = 1;
    shrink_to = (uint64_t[]){80000, 64000, 60000, 60000, 40000, 54000}[_i];
    cuda_testing_reset((uint64_t)_i);
    ck_assert_int_eq(count_warnings(run_shrinking, &s), 0);
    ck_assert(!heap_test_helped());
    ck_assert_int_gt(s.counters.tiles, all.tiles);
    ck_assert_uint_gt(s.counters.launches, all.launches);
    ck_assert_uint_eq(s.counters.visibilities, all.visibilities);
    ck_assert(heap_equal(&s.got, &truth));
    remove("memory.skymodel");
}

static grove_session *session_now;

static void shrink_at_read(void)
{
    if (now.reads != shrink_at)
        return;
    grove_device_trim(session_now->devices[0]);
    cuda_testing_control()->memory = shrink_to;
}

/* Accumulators over tiles are right, whenever memory is taken. */
LOOP_TEST(gathering_goes_on, 0, 3)
{
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = 3, .serial = true);
    int64_t halved = 0;

    if (!cuda_testing_control())
        return;
    session_test_tree("J[p] = o.jones\nx = J[p] * o.data * J[q]^H\n"
                      "keep = heap(x - mean(x, over=time) - sum(x * x, over=[time, freq]))");
    grove_counters all = {0}, less = {0};
    heap truth = heap_test_run("cuda", options, &all);
    int reads = now.reads;
    for (shrink_at = 1; shrink_at <= reads; shrink_at++) {
        cuda_testing_reset((uint64_t)_i);
        shrink_to = 8000 + 1000 * (uint64_t)_i;
        now.reads = 0;
        options.device = cuda_testing_kind();
        session_now = heap_test_session("cuda", options);
        now.read = shrink_at_read;
        ck_assert_int_eq(grove_session_run(session_now), 0);
        now.read = NULL;
        less = *grove_session_counters(session_now);
        halved += less.tiles > all.tiles;
        if (session_now->fallen_back) {
            ck_assert_double_lt(heap_distance(&kept, &truth), 1e-6);
        } else {
            ck_assert(heap_equal(&kept, &truth));
        }
        heap_test_close(session_now);
        kept = (heap){0};
    }
    printf("%d of %d runs had smaller tiles\n", (int)halved, reads);
    ck_assert_int_gt(halved, 0);
}

/* Down to nothing: the cpu continues, with one warning. */
LOOP_TEST(nothing_is_left, 0, 2)
{
    shrinking s = {.options = TESTING_OPTIONS(.threads = 1, .tile_times = 4, .serial = true)};

    if (!cuda_testing_control())
        return;
    make_workload(&wide, false);
    heap truth = heap_test_run("cuda", s.options, NULL);
    shrink_at = 2;
    shrink_to = 600;
    cuda_testing_reset((uint64_t)_i);
    ck_assert_int_eq(count_warnings(run_shrinking, &s), 1);
    ck_assert(heap_test_helped());
    ck_assert_uint_gt(s.counters.launches, 0);
    ck_assert_double_lt(heap_distance(&s.got, &truth), 1e-6);
    remove("memory.skymodel");
}

/* Before anything is written, the run can change to sections. */
LOOP_TEST(less_than_was_promised, 0, 2)
{
    static const workload many = {"many", JONES, 0, 0, 0, {300, 2, 2}};
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1);
    grove_counters c = {0};

    if (!cuda_testing_control())
        return;
    make_workload(&many, false);
    heap truth = heap_test_run("cuda", options, NULL);
    for (uint64_t memory = 200000; memory > 40000; memory /= 2) {
        cuda_testing_reset((uint64_t)_i);
        options.device_memory = 1 << 30;
        cuda_testing_control()->memory = memory;
        heap got = heap_test_run("cuda", options, &c);
        ck_assert(!heap_test_helped());
        ck_assert_double_lt(heap_distance(&got, &truth), 5e-7);
    }
    remove("memory.skymodel");
}

/* ---- the cache ---- */

static grove_value *value_on(grove_device *device, size_t bytes)
{
    static const grove_axis axis = {.name = "freq", .size = 1 << 20};
    grove_range range = {&axis, 0, (int64_t)bytes / 8};

    return grove_value_new(device, &range, 1, GROVE_SCALAR, 1, false, true, false, NULL);
}

/* Lack of memory on the host does not drop values that only a device has. */
TEST(host_and_device_apart)
{
    grove_device *device = cuda_testing_open(0);

    if (!device)
        return;
    grove_device *cpu = grove_device_cpu(1);
    grove_cache *cache = grove_cache_new(1 << 20);
    grove_value *there = value_on(device, 4096), *here = value_on(cpu, 8192);
    grove_hash keys[] = {{1, 1}, {2, 2}};

    grove_cache_put(cache, keys[0], keys[0], there, 1e-9); /* worth less */
    grove_cache_put(cache, keys[1], keys[1], here, 1);
    grove_value_unref(there);
    grove_value_unref(here);
    ck_assert(grove_cache_shrink(cache, NULL, 100));
    ck_assert_uint_eq(grove_cache_count(cache).evictions, 1);
    ck_assert_uint_eq(grove_cache_count(cache).bytes, 4096);
    ck_assert(!grove_cache_shrink(cache, NULL, 100));
    ck_assert_ptr_eq(grove_cache_find(cache, keys[0]), there);
    grove_value_unref(there);
    ck_assert_ptr_null(grove_cache_find(cache, keys[1]));
    ck_assert(grove_cache_shrink(cache, device, 100));
    ck_assert_uint_eq(grove_cache_count(cache).bytes, 0);
    grove_cache_free(cache);
    grove_device_trim(device);
    cuda_testing_close(device);
    grove_device_free(cpu);
}

/* A kernel that fails while it runs gives one message, from whoever waits for it. */
LOOP_TEST(late_faults_are_said_once, 0, 8)
{
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.threads = 1, .device = cuda_testing_kind());
    emulated_control *control = cuda_testing_control();
    int failed = 0;

    if (!control)
        return;
    session_test_tree("J[p] = o.jones\nx = J[p] * o.data * J[q]^H");
    for (int n = 1; n < 4; n++) {
        grove_value *value = NULL;
        cuda_testing_reset((uint64_t)_i);
        control->fault = EMULATED_RUNNING;
        control->fault_at = n;
        grove_error_clear(now.error);
        grove_session *session = grove_session_new(now.tree, &options, now.error);
        int code = grove_session_value(session, "x", &value);
        if (code) {
            failed++;
            ck_assert_int_eq(code, GROVE_DEVICE);
            ck_assert_int_eq(grove_error_count(now.error), 1);
            ck_assert_ptr_null(value);
        } else {
            int64_t count = 0;
            double *numbers = suite_keep(grove_value_numbers(value, &count, now.error));
            ck_assert_ptr_nonnull(numbers);
        }
        grove_value_unref(value);
        heap_test_close(session);
    }
    ck_assert_int_gt(failed, 0);
}

/* ---- more than 32 bits ---- */

/* There and back in one piece. */
static void copy_whole(grove_device *device, void *at, size_t bytes)
{
    size_t last = bytes / sizeof(double) - 1;
    double *numbers = calloc(last + 1, sizeof(double));

    if (!numbers)
        return;
    numbers[last] = 1;
    ck_assert_int_eq(grove_device_upload(device, at, numbers, bytes, NULL), 0);
    numbers[last] = 2;
    ck_assert_int_eq(grove_device_download(device, numbers, at, bytes, NULL), 0);
    ck_assert_double_eq(numbers[last], 1);
    free(numbers);
}

/* Cells 180 MiB apart in blocks of more than 4 GiB: the last one is right, too. */
TEST(far_apart)
{
    enum { COUNT = 30 };
    const int64_t apart = (int64_t)180 << 20;
    size_t bytes = (size_t)apart * COUNT;
    emulated_control *control = cuda_testing_control();
    double x = 0;
    void *at[3];

    if (control)
        control->memory = (uint64_t)64 << 30;
    grove_device *device = cuda_testing_open(control ? (uint64_t)60 << 30 : 0);
    if (!device || device->budget.limit < 4 * (uint64_t)bytes) {
        grove_device_free(device);
        return; /* a smaller GPU */
    }
    for (int k = 0; k < 3; k++)
        ck_assert_int_eq(grove_device_allocate(device, bytes, &at[k], NULL), 0);
    ck_assert_uint_ge(device->budget.in_use, 3 * (uint64_t)bytes);
    for (int n = 0; n < COUNT; n++)
        for (int k = 0; k < 2; k++) {
            x = k ? 0.5 : n;
            ck_assert_int_eq(
                grove_device_upload(device, (char *)at[k] + n * apart, &x, sizeof(x), NULL), 0);
        }
    grove_args args = cuda_testing_sum(at[2], at[0], at[1], COUNT);
    args.out.stride[0] = args.in[0].stride[0] = args.in[1].stride[0] = apart;
    ck_assert_int_eq(grove_device_ready(device, at[0], NULL), 0);
    ck_assert_int_eq(grove_device_ready(device, at[1], NULL), 0);
    ck_assert_int_eq(grove_device_launch(device, &cuda_testing_add, &args, true, NULL), 0);
    for (int n = 0; n < COUNT; n++) {
        ck_assert_int_eq(
            grove_device_download(device, &x, (char *)at[2] + n * apart, sizeof(x), NULL), 0);
        ck_assert_double_eq(x, n + 0.5);
    }
    if (is_full())
        copy_whole(device, at[0], (size_t)5 << 30);
    for (int k = 0; k < 3; k++)
        grove_device_release(device, at[k], bytes);
    grove_device_trim(device);
    ck_assert_uint_eq(device->budget.in_use + device->budget.pooled, 0);
    cuda_testing_close(device);
}

/* The size of a run of many GiB is known in advance, and its tiles fit the budget. */
TEST(large_runs_are_counted)
{
    static const workload large = {"large", JONES, 0, 0, 0, {100, 20000, 20000}};
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.threads = 1, .memory = (uint64_t)1 << 50);
    grove_schedule *schedule = NULL;

    if (cuda_testing_control())
        cuda_testing_control()->memory = (uint64_t)1 << 50;
    make_workload(&large, false);
    for (int k = 0; k < 3; k++) {
        uint64_t limit = (uint64_t)1 << (45 - 5 * k);
        options.device_memory = limit;
        options.tile_times = k ? 0 : 1000;
        grove_session *session = heap_test_session("cuda", options);
        ck_assert_int_eq(grove_session_schedule(session, now.tree->actions, now.tree->action_count,
                                                NULL, 0, &schedule),
                         0);
        const grove_pass *pass = &schedule->passes[0];
        const int64_t *tile = pass->program->tile;
        double cells = 21, tiles = 1, output = 21 * 32;
        for (int cut = 0; cut < 2; cut++) {
            cells *= (double)tile[cut];
            tiles *= ceil((double)pass->program->block.count[cut] / (double)tile[cut]);
            output *= (double)pass->program->block.count[cut];
        }
        ck_assert_uint_le(pass->peak, limit);
        ck_assert_double_ge((double)pass->peak, 32 * cells);
        ck_assert_double_eq((double)pass->tiles, tiles);
        ck_assert_double_ge(tiles * 32 * cells, output);
        printf("%.3g of %.3g GiB, %.0f tiles\n", (double)pass->peak / (1 << 30),
               (double)limit / (1 << 30), tiles);
        grove_schedule_free(schedule);
        heap_test_close(session);
    }
    remove("memory.skymodel");
}

/* Values of a tile are as large as a twentieth of the run, the device's memory and 256 MiB allow;
 * on the cpu they stay in its cache. */
LOOP_TEST(tiles_follow_the_memory, 0, 5)
{
    static const workload large = {"large", PLAIN, 0, 0, 0, {100, 20000, 20000}};
    static const workload small = {"small", PLAIN, 0, 0, 0, {100, 1000, 2000}};
    static const struct {
        const workload *workload;
        const char *device;
        int limit; /* log2 of bytes */
        double max;
    } runs[] = {{&large, "cuda", 40, 1 << 28},
                {&large, "cuda", 31, 0.9 * (1 << 27)},
                {&large, "cuda", 29, 1 << 26},
                {&small, "cuda", 40, 21 * 32 * 1000.0 * 2000 / 20},
                {&small, "cpu", 40, 8 << 20}};
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.threads = 1, .memory = (uint64_t)1 << 50);
    grove_schedule *schedule = NULL;

    if (cuda_testing_control())
        cuda_testing_control()->memory = (uint64_t)1 << 50;
    make_workload(runs[_i].workload, false);
    options.device_memory = (uint64_t)1 << runs[_i].limit;
    grove_session *session = heap_test_session(runs[_i].device, options);
    ck_assert_int_eq(grove_session_schedule(session, now.tree->actions, now.tree->action_count,
                                            NULL, 0, &schedule),
                     0);
    ck_assert_double_le((double)schedule->passes[0].largest, runs[_i].max);
    ck_assert_double_gt((double)schedule->passes[0].largest, 0.8 * runs[_i].max);
    grove_schedule_free(schedule);
    heap_test_close(session);
    remove("memory.skymodel");
}

CUDA_SUITE(600, setup, session_test_end)
