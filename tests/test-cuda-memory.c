/* Device memory that is too small for a run: tiles, and sections of sums over sources, give what
 * unlimited memory gives. GROVE_TEST_SIZE=full takes the workloads of the benchmarks and 64 MiB, as
 * GROVE_TEST_CUDA=real does; otherwise all is smaller. */
#include "cuda-testing.h"
#include "heap-testing.h"

#include "base/log.h"
#include "base/memory.h"
#include "eval/state.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void setup(void)
{
    cuda_testing_reset(0);
    session_test_begin();
    heap_test_add();
}

static void teardown(void)
{
    heap_test_end();
    session_test_end();
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
};
enum { PLAIN, JONES, APART };

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

/* With so much memory; the device is to do it all. */
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
    free(got.numbers);
}

START_TEST(limited_memory_changes_nothing)
{
    const workload *w = &workloads[_i % WORKLOADS];
    bool full = is_full();
    grove_session_options options = {.threads = 1, .double_precision = _i >= WORKLOADS};
    uint64_t limit = full ? (uint64_t)64 << 20 : (uint64_t)1 << 18;

    make_workload(w, full);
    heap truth = heap_test_run("cuda", options, NULL);
    compare(w->name, &truth, options, limit);
    compare(w->name, &truth, options, limit / 4);
    free(truth.numbers);
    remove("memory.skymodel");
}
END_TEST

/* So little that sections have few sources. */
START_TEST(few_sources_at_a_time)
{
    static const workload tiny = {"tiny", JONES, 0, 0, 0, {30, 1, 2}};
    grove_session_options options = {.threads = 1};

    make_workload(&tiny, false);
    heap truth = heap_test_run("cuda", options, NULL);
    compare("few sources at a time", &truth, options, 28000);
    free(truth.numbers);
    remove("memory.skymodel");
}
END_TEST

static void add_case(Suite *suite, const char *name, const TTest *test, int count)
{
    TCase *tests = tcase_create(name);

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 600);
    tcase_add_loop_test(tests, test, 0, count);
    suite_add_tcase(suite, tests);
}

int main(void)
{
    Suite *suite = suite_create("cuda memory");
    SRunner *runner = srunner_create(suite);

    cuda_testing_begin();
    add_case(suite, "limited", limited_memory_changes_nothing, 2 * WORKLOADS);
    add_case(suite, "tiny", few_sources_at_a_time, 1);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
