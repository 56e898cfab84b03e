/* Rows that a set lacks take no memory: domains of fits, what is told, and what is allowed. */
#include "tests/common/foreign-sets.h"
#include "tests/common/probe.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TAKES_MORE_MEMORY 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define TAKES_MORE_MEMORY 1
#endif
#ifndef TAKES_MORE_MEMORY
#define TAKES_MORE_MEMORY 0
#endif

static void begin(testing *t)
{
    unsetenv("GROVE_CHECK_CACHE"); /* all rows would be computed, to compare */
    probe_begin(t);
}

TESTING_FIXTURE(begin(&t))

/* Fits to a set that lacks most rows take a domain in parts that are read once, where it has values
 * of more than 64 MiB, and not in others. */
LOOP_TEST(domains_of_gaps, 0, 2)
{
    const char *source = getenv("GROVE_SOURCE") ? getenv("GROVE_SOURCE") : ".";
    const int channels = _i ? 256 : 1024;
    char *path[4];
    grove_plan plan = GROVE_PLAN();

    for (int k = 0; k < 4; k++)
        path[k] = grove_format("%s/by-%d.ms", t.folder, 1 << k);
    testing_tree(
        &t,
        suite_text("obs = observe(array=\"%s/data/arrays/kat-7.array\", hour_angle=-10min..10min, "
                   "integration=10s, phase_centre=\"0deg -30deg\", frequency=1.4GHz, "
                   "channels=%d, channel_width=1kHz)\nV[p,q] = noise(obs, sigma=1Jy)\n"
                   "w = sink(V + 1Jy, obs, to=\"%s\")\n",
                   source, channels, path[0]));
    ck_assert(!probe_run(&t, NULL));
    for (int k = 0; k < 3; k++)
        foreign_reference(path[k], path[k + 1]);
    for (int k = 0; k < 4; k++) {
        testing_tree(&t, suite_text("obs = ms(\"%s\")\ng[p] = parm(\"g\", obs, jones=diagonal)\n"
                                    "f = solve(g[p] * g[q]^H * 1Jy, obs.data, max_iterations=3)\n",
                                    path[k]));
        grove_session *session = grove_session_new(
            t.tree, &GROVE_SESSION_OPTIONS(.device = "cpu", .memory = 1 << 30), t.error);
        ck_assert_msg(session && !grove_session_plan(session, &plan), "%s",
                      grove_error_message(t.error, 0));
        ck_assert(!plan.in_parts == (_i || k < 3));
        if (plan.in_parts) {
            ck_assert(plan.reads_once && !plan.undivided_bytes && plan.parts > 1);
            ck_assert_int_lt(plan.peak_bytes, 64 << 20);
        }
        ck_assert_msg(!grove_session_run(session), "%s", grove_error_message(t.error, 0));
        grove_session_free(session);
    }
    for (int k = 0; k < 4; k++)
        free(path[k]);
}

/* The set offsets.ms: seven stations, 120 times, each moved by one of 16 offsets. */
static void make_offsets(const char *visibilities)
{
    const char *source = getenv("GROVE_SOURCE") ? getenv("GROVE_SOURCE") : ".";
    char *path = suite_text("%s/offsets.ms", t.folder);

    testing_tree(
        &t, suite_text("obs = observe(array=\"%s/data/arrays/kat-7.array\", "
                       "hour_angle=-10min..10min, integration=10s, phase_centre=\"0deg -30deg\", "
                       "frequency=1.4GHz, channels=512, channel_width=1kHz)\n"
                       "n[p,q] = trace(noise(obs, sigma=0.1Jy))\nV[p,q] = %s\n"
                       "w = sink(V, obs, to=\"%s\")\n",
                       source, visibilities, path));
    ck_assert_msg(!probe_run(&t, NULL), "%s", grove_error_message(t.error, 0));
    foreign_offsets(path, 21, 16);
}

/* What a process of its own tells. */
typedef struct {
    grove_plan plan;
    bool ran;
} told;

/* Bytes of addresses that a process may have; 0: as many as it wants. */
static rlim_t addresses;

/* The plan of a robust fit, which reads its data again in each iteration, and, if it runs, the peak
 * of the memory of a process of its own, in bytes. */
static double run_robust(const char *form, uint64_t memory, bool runs, grove_plan *plan)
{
    told *child =
        mmap(NULL, sizeof(*child), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char *text = suite_text("obs = ms(\"%s/offsets.ms\")\ng[p] = parm(\"g\", obs, jones=%s)\n"
                            "f = solve(g[p] * g[q]^H * 1Jy, obs.data, robust=student_t, "
                            "tolerance=0.1)\n",
                            t.folder, form);
    const grove_session_options options =
        GROVE_SESSION_OPTIONS(.device = "cpu", .threads = 1, .memory = memory);
    struct rusage usage;

    ck_assert(child != MAP_FAILED);
    child->plan.size = sizeof(child->plan);
    const pid_t id = fork();
    if (!id) {
        if (addresses)
            setrlimit(RLIMIT_AS, &(struct rlimit){addresses, addresses});
        testing_tree(&t, text);
        grove_session *session = grove_session_new(t.tree, &options, t.error);
        child->ran = session && !grove_session_plan(session, &child->plan) &&
                     (!runs || !grove_session_run(session));
        if (!child->ran)
            fprintf(stderr, "%s\n", grove_error_message(t.error, 0));
        _exit(0);
    }
    ck_assert(id > 0 && wait4(id, NULL, 0, &usage) == id);
    ck_assert(child->ran);
    *plan = child->plan;
    munmap(child, sizeof(*child));
    return 1024 * (double)usage.ru_maxrss;
}

/* Of 16 offsets of time, domains stay whole where their rows fit the memory, and take what is told.
 * As many numbers as one, two and four for each cell. */
LOOP_TEST(rows_fit_the_memory, 0, 3)
{
    static const char *const form[] = {"scalar", "diagonal", "full"};
    static const char *const visibilities[] = {"n + 1Jy", "diagonal(n + 1Jy, n + 1Jy)",
                                               "noise(obs, sigma=0.1Jy) + diagonal(1Jy, 1Jy)"};
    grove_plan plan = GROVE_PLAN(), least = GROVE_PLAN();

    make_offsets(visibilities[_i]);
    const double peak = run_robust(form[_i], (uint64_t)2 << 30, true, &plan);
    ck_assert(!plan.in_parts && plan.tiles == 1);
    ck_assert_int_eq(plan.tile_times, 16 * 120);
    ck_assert_uint_lt(plan.peak_bytes, (uint64_t)200 << 20);
    if (!TAKES_MORE_MEMORY) {
        ck_assert_double_lt(peak, 1.2 * (double)plan.process_bytes);
        ck_assert_double_gt(peak, 0.6 * (double)plan.process_bytes);
    }
    run_robust(form[_i], (uint64_t)(1.12 * (double)plan.peak_bytes), true, &least);
    ck_assert(!least.in_parts && least.tiles == 1);
    run_robust(form[_i], (uint64_t)(0.8 * (double)plan.peak_bytes), false, &least);
    ck_assert(least.in_parts);
}

/* Where the system counts addresses, they are counted. */
TEST(addresses_are_counted)
{
    grove_plan plan = GROVE_PLAN();

    if (TAKES_MORE_MEMORY)
        return;
    make_offsets("n + 1Jy");
    addresses = (rlim_t)8 << 30;
    run_robust("scalar", (uint64_t)2 << 30, false, &plan);
    ck_assert(!plan.in_parts);
    ck_assert_uint_gt(plan.peak_bytes, (uint64_t)200 << 20);
    run_robust("scalar", (uint64_t)150 << 20, true, &plan);
    ck_assert(plan.in_parts);
    addresses = 0;
}

static grove_hash identity_of(const char *set)
{
    testing_tree(&t,
                 suite_text("obs = ms(\"%s\")\nsave(obs.data, \"%s/data.npy\")\n", set, t.folder));
    for (size_t i = 0; i < t.tree->node_count; i++)
        if (t.tree->nodes[i]->identity.a)
            return t.tree->nodes[i]->identity;
    return (grove_hash){0};
}

/* A set that refers to another's rows is another set when those have changed. */
TEST(sets_are_known_by_all_their_tables)
{
    char *path = suite_text("%s/a.ms", t.folder), *some = suite_text("%s/some.ms", t.folder);
    testing_tree(
        &t,
        suite_text(
            "obs = observe(array=\"wsrt\", hour_angle=-1min..1min, phase_centre=\"0deg +60deg\")\n"
            "V[p,q] = noise(obs, sigma=1Jy)\nsink(V + 1Jy, obs, to=\"%s\")\n",
            path));
    ck_assert(!probe_run(&t, NULL));
    foreign_reference(path, some);
    const grove_hash before = identity_of(some), again = identity_of(some);
    foreign_flag(path, 1);
    const grove_hash after = identity_of(some);
    ck_assert(grove_hash_equal(before, again) && !grove_hash_equal(before, after));
}

SUITE(120, setup, teardown)
