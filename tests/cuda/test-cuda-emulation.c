/* The emulated device itself: what it guarantees to kernels, and the errors that it must find. */
#include "tests/common/cuda-testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 96, BLOCKS = 7, SEEDS = 12 };

static int64_t threads(const grove_args *args)
{
    return args->size[0];
}

static const grove_kernel block_sum = {"block_sum", NULL, NULL, "probe.cu", threads, THREADS, 0};
static const grove_kernel no_barrier = {"no_barrier", NULL, NULL, "probe.cu", threads, THREADS, 0};
static const grove_kernel stuck = {"stuck", NULL, NULL, "probe.cu", threads, 32, 0};
static const grove_kernel shuffles = {"shuffles", NULL, NULL, "probe.cu", threads, 32, 0};

static grove_error *errors;
static grove_device *device;
static double numbers[BLOCKS * THREADS], result[BLOCKS * THREADS];
static void *in, *out;

static void setup(void)
{
    errors = grove_error_new();
    for (int k = 0; k < BLOCKS * THREADS; k++)
        numbers[k] = k % 11 + k / THREADS;
}

static void teardown(void)
{
    grove_error_free(errors);
}

static void begin(int seed)
{
    cuda_testing_reset((uint64_t)seed);
    device = cuda_testing_open(0);
    ck_assert_int_eq(grove_device_allocate(device, sizeof(numbers), &in, errors), 0);
    ck_assert_int_eq(grove_device_allocate(device, sizeof(result), &out, errors), 0);
    ck_assert_int_eq(grove_device_upload(device, in, numbers, sizeof(numbers), errors), 0);
    ck_assert_int_eq(grove_device_ready(device, in, errors), 0);
    ck_assert_int_eq(grove_device_clear(device, out, sizeof(result), errors), 0);
}

static int run(const grove_kernel *kernel, int64_t count)
{
    grove_args args = {.axes = 1, .inputs = 1, .size = {count}};

    args.in[0].data = in;
    args.out.data = out;
    int code = grove_device_launch(device, kernel, &args, true, errors);
    return code ? code : grove_device_download(device, result, out, sizeof(result), errors);
}

static void end(void)
{
    grove_device_release(device, in, sizeof(numbers));
    grove_device_release(device, out, sizeof(result));
    cuda_testing_close(device);
}

static double sum_of_block(int block)
{
    double sum = 0;

    for (int k = 0; k < THREADS; k++)
        sum += numbers[block * THREADS + k];
    return sum;
}

LOOP_TEST(test_barriers_and_shuffles, 0, SEEDS)
{
    double all = 0;

    begin(_i);
    ck_assert_int_eq(run(&block_sum, BLOCKS * THREADS), 0);
    for (int b = 0; b < BLOCKS; b++) {
        ck_assert_double_eq(result[b], sum_of_block(b));
        all += sum_of_block(b);
    }
    ck_assert_double_eq(result[BLOCKS], all);
    ck_assert_int_eq(run(&shuffles, 32), 0);
    for (int t = 0; t < 32; t++)
        ck_assert_double_eq(result[t], (t ^ 31) + 5000 + 1e6 * (t ? t - 1 : 0));
    end();
}

/* Shared memory that is read too early has random contents, whatever the order of threads. */
LOOP_TEST(test_a_missing_barrier_shows, 0, SEEDS)
{
    int wrong = 0;

    begin(_i);
    ck_assert_int_eq(run(&no_barrier, BLOCKS * THREADS), 0);
    for (int b = 0; b < BLOCKS; b++)
        wrong += !(fabs(result[b] - sum_of_block(b)) < 1e-9);
    ck_assert_int_gt(wrong, 0);
    end();
}

TEST(test_threads_that_wait_for_ever_are_an_error)
{
    begin(1);
    ck_assert_int_eq(run(&stuck, 32), GROVE_DEVICE);
    ck_assert_str_eq(grove_error_message(errors, 0),
                     "cuda:0: copying from it: the launch timed out and was terminated");
    end();
}

TEST(test_the_host_cannot_touch_device_memory)
{
    begin(1);
    ck_assert_int_eq(grove_device_wait(device, errors), 0);
    pid_t child = fork();
    if (child == 0) {
        close(STDERR_FILENO);
        volatile char byte = *(volatile char *)out;
        _exit(byte ? 0 : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ck_assert(!WIFEXITED(status) || WEXITSTATUS(status) != 0);
    end();
}

TEST(test_addresses_of_the_host_are_seen)
{
    begin(1);
    void *kept = in;
    in = numbers;
    ck_assert_int_eq(run(&no_barrier, 1), 0);
    in = kept;
    ck_assert_int_eq(cuda_testing_control()->host_addresses, 1);
    cuda_testing_control()->host_addresses = 0;
    end();
}

/* Bytes that nobody has written are not zero. */
TEST(test_new_memory_holds_rubbish)
{
    void *at;

    begin(1);
    ck_assert_int_eq(grove_device_allocate(device, 1 << 16, &at, errors), 0);
    ck_assert_int_eq(grove_device_download(device, result, at, sizeof(result), errors), 0);
    ck_assert(isnan(result[0]) && isnan(result[17]));
    grove_device_release(device, at, 1 << 16);
    end();
}

/* Code that was built with other headers would read wrong arguments. */
TEST(test_files_of_other_headers_are_refused)
{
    static const grove_kernel stale = {"add_elements", NULL, NULL, "stale.cu", threads, 32, 0};
    static const grove_kernel none = {"add_elements", NULL, NULL, "unstamped.cu", threads, 32, 0};
    const char *message;

    begin(1);
    ck_assert_int_eq(grove_device_prepare(device, &stale, true, errors), GROVE_ABI);
    ck_assert_int_eq(grove_error_count(errors), 1);
    message = grove_error_message(errors, 0);
    ck_assert_ptr_ne(strstr(message, "/stale.fatbin was built with headers of version"), NULL);
    ck_assert_ptr_ne(strstr(message, "build it again"), NULL);
    ck_assert_int_eq(grove_device_prepare(device, &stale, true, errors), GROVE_MISSING);
    ck_assert_int_eq(grove_error_count(errors), 1);
    grove_error_clear(errors);
    ck_assert_int_eq(grove_device_prepare(device, &none, true, errors), GROVE_ABI);
    ck_assert_ptr_ne(strstr(grove_error_message(errors, 0), "/unstamped.fatbin does not say"),
                     NULL);
    ck_assert_int_eq(grove_device_prepare(device, &block_sum, true, errors), 0);
    end();
}

int main(void)
{
    return cuda_testing_begin() ? suite_run(__FILE__, 120, setup, teardown) : 77;
}
