/* Times of devices: measured only on request, and attributed to the right nodes. */
#include "tests/common/cuda-testing.h"
#include "tests/common/session-testing.h"

#include "run/state.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void setup(void)
{
    cuda_testing_reset(0);
    session_test_begin();
}

static void teardown(void)
{
    session_test_end();
}

static bool is_zero(const grove_busy *busy)
{
    return busy->kernels == 0 && busy->up == 0 && busy->down == 0;
}

/* ---- devices ---- */

enum { COUNT = 1200000 }; /* doubles: more than two pieces of pinned memory */

/* Copies `count` doubles there, adds them to themselves, and copies the sums back. */
static void work(grove_device *device, int count)
{
    static double numbers[COUNT], sums[COUNT];
    size_t bytes = (size_t)count * 8;
    void *a, *out;

    for (int k = 0; k < count; k++)
        numbers[k] = k;
    ck_assert_int_eq(grove_device_allocate(device, bytes, &a, now.error), 0);
    ck_assert_int_eq(grove_device_allocate(device, bytes, &out, now.error), 0);
    ck_assert_int_eq(grove_device_upload(device, a, numbers, bytes, now.error), 0);
    ck_assert_int_eq(grove_device_ready(device, a, now.error), 0);
    grove_args args = cuda_testing_sum(out, a, a, count);
    ck_assert_int_eq(grove_device_launch(device, &cuda_testing_add, &args, true, now.error), 0);
    ck_assert_int_eq(grove_device_download(device, sums, out, bytes, now.error), 0);
    ck_assert_double_eq(sums[count - 1], 2.0 * (count - 1));
    grove_device_release(device, a, bytes);
    grove_device_release(device, out, bytes);
}

TEST(nothing_is_measured_unasked)
{
    grove_busy busy = {0};
    grove_device *device = cuda_testing_open(0);
    const emulated_control *control = cuda_testing_control();

    grove_timing_attribute(device, &busy);
    int64_t events = control ? control->events : 0;
    for (int k = 0; k < 5; k++)
        work(device, 1000);
    ck_assert(!control || control->events <= events + 2); /* of two blocks */
    ck_assert_int_eq(grove_timing_collect(device, now.error), 0);
    ck_assert(is_zero(&device->timing.busy) && is_zero(&busy));
    cuda_testing_close(device);
}

/* What is done for each of two adds up to what the device did; later work costs no more events. */
LOOP_TEST(each_pays_for_its_own, 0, 6)
{
    grove_busy busy[2] = {0};
    const emulated_control *control = cuda_testing_control();

    cuda_testing_reset((uint64_t)_i);
    grove_device *device = cuda_testing_open(0);
    work(device, 1000); /* loads what is to be loaded */
    device->timing.enabled = true;
    for (int k = 0; k < 2; k++) {
        grove_timing_attribute(device, &busy[k]);
        work(device, k ? COUNT : 1000);
    }
    ck_assert_int_eq(grove_timing_collect(device, now.error), 0);
    for (int k = 0; k < 2; k++)
        ck_assert(busy[k].kernels > 0 && busy[k].up > 0 && busy[k].down > 0);
    ck_assert_double_eq_tol(busy[0].kernels + busy[1].kernels, device->timing.busy.kernels, 1e-12);
    ck_assert_double_eq_tol(busy[0].up + busy[1].up, device->timing.busy.up, 1e-12);
    ck_assert_double_eq_tol(busy[0].down + busy[1].down, device->timing.busy.down, 1e-12);
    grove_busy before = device->timing.busy, first = busy[0], second = busy[1];
    int64_t events = control ? control->events : 0;
    grove_timing_attribute(device, NULL);
    work(device, 1000);
    ck_assert_int_eq(grove_timing_collect(device, now.error), 0);
    ck_assert(device->timing.busy.kernels > before.kernels && device->timing.busy.up > before.up &&
              device->timing.busy.down > before.down);
    ck_assert(!memcmp(&first, &busy[0], sizeof(first)) &&
              !memcmp(&second, &busy[1], sizeof(second)));
    ck_assert(!control || control->events == events);
    cuda_testing_close(device);
}

/* Many launches that nobody waits for: times are read on the way, and the events used again. */
LOOP_TEST(times_are_read_on_the_way, 0, 6)
{
    enum { LAUNCHES = 4000 };
    const emulated_control *control = cuda_testing_control();
    void *at;

    cuda_testing_reset((uint64_t)_i);
    grove_device *device = cuda_testing_open(0);
    device->timing.enabled = true;
    ck_assert_int_eq(grove_device_allocate(device, 800, &at, now.error), 0);
    ck_assert_int_eq(grove_device_clear(device, at, 800, now.error), 0);
    grove_args args = cuda_testing_sum(at, at, at, 100);
    for (int k = 0; k < LAUNCHES; k++) {
        ck_assert_int_eq(grove_device_launch(device, &cuda_testing_add, &args, true, now.error), 0);
        if (k % 100 == 99)
            ck_assert_int_eq(grove_device_wait(device, now.error), 0);
    }
    ck_assert(!control || control->events < LAUNCHES);
    double read = device->timing.busy.kernels;
    ck_assert_double_gt(read, 0); /* before anybody asked */
    ck_assert_int_eq(grove_timing_collect(device, now.error), 0);
    ck_assert_double_ge(device->timing.busy.kernels, read);
    ck_assert_double_eq(device->timing.busy.up, 0);
    grove_device_release(device, at, 800);
    cuda_testing_close(device);
}

static grove_device *shared;
static grove_busy of_thread[2];

static void *work_on_device(void *which)
{
    grove_busy *busy = which;
    double number = 1;
    void *at = NULL;

    grove_timing_attribute(shared, busy);
    int code = grove_device_allocate(shared, 8, &at, NULL);
    for (int k = 0; !code && k < 20; k++)
        code = busy == &of_thread[0] ? grove_device_upload(shared, at, &number, 8, NULL)
                                     : grove_device_download(shared, &number, at, 8, NULL);
    grove_device_release(shared, at, 8);
    return (void *)(intptr_t)code;
}

LOOP_TEST(threads_are_told_apart, 0, 6)
{
    pthread_t thread[2];

    cuda_testing_reset((uint64_t)_i);
    memset(of_thread, 0, sizeof(of_thread));
    shared = cuda_testing_open(0);
    shared->timing.enabled = true;
    for (int k = 0; k < 2; k++)
        ck_assert_int_eq(pthread_create(&thread[k], NULL, work_on_device, &of_thread[k]), 0);
    for (int k = 0; k < 2; k++) {
        void *code;
        ck_assert_int_eq(pthread_join(thread[k], &code), 0);
        ck_assert_int_eq((intptr_t)code, 0);
    }
    ck_assert_int_eq(grove_timing_collect(shared, now.error), 0);
    ck_assert(of_thread[0].up > 0 && of_thread[0].down == 0);
    ck_assert(of_thread[1].down > 0 && of_thread[1].up == 0);
    ck_assert_double_eq_tol(of_thread[0].up, shared->timing.busy.up, 1e-12);
    ck_assert_double_eq_tol(of_thread[1].down, shared->timing.busy.down, 1e-12);
    cuda_testing_close(shared);
}

/* ---- sessions ---- */

static const char tree[] = "J[p] = o.jones\nm = mean(J[p] * o.data * J[q]^H, over=time)\n"
                           "d = J[p] * (o.data * o.gain) * J[q]^H - m\nkeep = record(d)\n";

static grove_session *run(const char *device, bool profile, bool serial)
{
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = 2, .profile = profile,
                              .device = cuda_testing_device(device), .serial = serial);

    session_test_tree(tree);
    grove_session *session = grove_session_new(now.tree, &options, now.error);
    ck_assert_msg(session && !grove_session_run(session), "%s", grove_error_message(now.error, 0));
    return session;
}

LOOP_TEST(nodes_add_up_to_the_device, 0, 2)
{
    const grove_session *session = run("cuda", true, _i);
    const grove_counters *c = grove_session_counters(session);
    grove_busy sum = {0};

    for (size_t k = 0; k < now.tree->node_count; k++) {
        const grove_busy *busy = &session->nodes[now.tree->nodes[k]->id].busy;
        const grove_traffic *traffic = &session->nodes[now.tree->nodes[k]->id].device;
        sum.kernels += busy->kernels;
        sum.up += busy->up;
        sum.down += busy->down;
        ck_assert_int_eq(busy->kernels > 0, traffic->launches > 0);
        ck_assert_int_eq(busy->up > 0, traffic->bytes_up > 0);
        ck_assert(busy->down > 0 || !traffic->bytes_down);
    }
    ck_assert(sum.kernels > 0 && sum.up > 0 && sum.down > 0);
    ck_assert_double_eq_tol(sum.kernels, c->device_kernel_seconds, 1e-12);
    ck_assert_double_eq_tol(sum.up, c->device_up_seconds, 1e-12);
    ck_assert_double_eq_tol(sum.down, c->device_down_seconds, 1e-12);
    ck_assert_double_gt(session->nodes[session_test_node("keep")->id].busy.down, 0);
    ck_assert_double_gt(session->nodes[session_test_node("m")->id].busy.kernels, 0);
    ck_assert_double_le(c->write_seconds, c->io_seconds);
    ck_assert_ptr_nonnull(strstr(suite_keep(grove_session_profile(session)),
                                 suite_text("%s:0 was busy with kernels ", cuda_testing_kind())));
    grove_session_free((grove_session *)session);
}

TEST(several_devices_add_up)
{
    emulated_control *control = cuda_testing_control();

    if (!control)
        return;
    control->devices = 2;
    grove_session *session = run("cuda:all", true, false);
    const grove_counters *c = grove_session_counters(session);
    const grove_busy *a = &session->devices[0]->timing.busy, *b = &session->devices[1]->timing.busy;
    ck_assert(a->kernels > 0 && b->kernels > 0 && a->down > 0 && b->down > 0);
    ck_assert_double_eq_tol(a->kernels + b->kernels, c->device_kernel_seconds, 1e-12);
    ck_assert_double_eq_tol(a->up + b->up, c->device_up_seconds, 1e-12);
    ck_assert_double_eq_tol(a->down + b->down, c->device_down_seconds, 1e-12);
    grove_session_free(session);
}

TEST(sessions_without_profiles_measure_nothing)
{
    for (int i = 0; i < 2; i++) { /* nor does the cpu with one */
        grove_session *session = run(i ? "cpu" : "cuda", i, false);
        const grove_counters *c = grove_session_counters(session);
        ck_assert_double_eq(c->device_kernel_seconds, 0);
        ck_assert_double_eq(c->device_up_seconds, 0);
        ck_assert_double_eq(c->device_down_seconds, 0);
        for (size_t k = 0; k < now.tree->node_count; k++)
            ck_assert(is_zero(&session->nodes[k].busy));
        grove_session_free(session);
    }
}

/* Each event that cannot be had fails a run or leaves its times out, but not its numbers. */
TEST(events_that_fail)
{
    emulated_control *control = cuda_testing_control();
    int worked = 0;

    for (int n = 1; control && n < 300; n++) {
        grove_session_options options =
            GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = 4, .profile = true,
                                  .device = cuda_testing_kind());
        cuda_testing_reset((uint64_t)(n % 5));
        control->fault = EMULATED_OTHER;
        control->fault_at = n;
        session_test_tree(tree);
        grove_error_clear(now.error);
        grove_session *session = grove_session_new(now.tree, &options, now.error);
        int code = session ? grove_session_run(session) : grove_error_code(now.error);
        bool reached = control->calls[EMULATED_OTHER] >= n;
        worked += !code;
        ck_assert_int_eq(grove_error_count(now.error), code ? 1 : 0);
        grove_session_free(session);
        ck_assert_int_eq(control->events, 0);
        ck_assert_int_eq(control->contexts, 0);
        if (!reached)
            break;
    }
    ck_assert(!control || worked > 10);
}

CUDA_SUITE(120, setup, teardown)
