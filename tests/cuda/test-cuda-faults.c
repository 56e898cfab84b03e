/* Faults of the CUDA device's driver, one at a time; drivers that are too old; local
 * memory; copies between devices. */
#include "tests/common/cuda-testing.h"
#include "value/value.h"

#include <string.h>

/* A small run through buffers; 0 with the right sums, or the first error's code. */
static int small_run(grove_device *device, grove_device *cpu, grove_error *error)
{
    enum { COUNT = 700000 }; /* more than one piece of pinned memory */
    static int32_t order[COUNT];
    grove_buffer *a = grove_buffer_new(cpu, COUNT * 8, error), *out = NULL;
    double *numbers = grove_buffer_write(a, NULL, error);
    int code = 0;

    for (int k = 0; k < COUNT; k++) {
        numbers[k] = k;
        order[k] = k;
    }
    for (int round = 0; !code && round < 3; round++) {
        grove_buffer *next = grove_buffer_new(device, COUNT * 8, error);
        void *x = grove_buffer_at(a, device, error);
        void *y = out ? grove_buffer_at(out, device, error) : x;
        code = next && x && y ? 0 : grove_error_code(error);
        grove_args args =
            cuda_testing_sum(next ? grove_buffer_write(next, device, error) : NULL, x, y, COUNT);
        if (!code && round == 1) /* the first input in its own order, by way of an index array */
            args.in[0].gather = order;
        if (!code)
            code = grove_device_clear(device, args.out.data, COUNT * 8, error);
        if (!code)
            code = grove_device_launch(device, &cuda_testing_add, &args, true, error);
        grove_buffer_unref(out);
        out = next;
    }
    const double *sums = code ? NULL : grove_buffer_host(out, error);
    for (int k = 0; sums && k < COUNT; k += 997)
        ck_assert_double_eq(sums[k], 4.0 * k);
    code = code ? code : grove_error_code(error);
    ck_assert(code || sums);
    grove_buffer_unref(a);
    grove_buffer_unref(out);
    return code;
}

/* Each call of each kind fails once: an error with a message, or a right result; nothing is leaked.
 */
LOOP_TEST(test_faults, 0, 5)
{
    static const int kinds[] = {EMULATED_ALLOCATION, EMULATED_COPY, EMULATED_LAUNCH,
                                EMULATED_RUNNING, EMULATED_OTHER};
    grove_device *cpu = grove_device_cpu(1);
    emulated_control *control = cuda_testing_control();
    int failed = 0, worked = 0;

    for (int n = 1; control && n < 200; n++) {
        cuda_testing_reset((uint64_t)(n % 5));
        control->fault = kinds[_i];
        control->fault_at = n;
        grove_error *error = grove_error_new();
        grove_device *device = grove_device_open("cuda", 0, 0, error);
        int code = device ? small_run(device, cpu, error) : grove_error_code(error);
        bool reached = control->calls[kinds[_i]] >= n;
        if (code) {
            failed++;
            ck_assert(code == GROVE_DEVICE || code == GROVE_NO_MEMORY);
            ck_assert_ptr_nonnull(strstr(grove_error_message(error, 0), "cuda:0: "));
        } else {
            worked++;
        }
        if (device) {
            grove_device_trim(device);
            ck_assert_uint_eq(device->budget.in_use, 0);
            cuda_testing_close(device);
        }
        grove_error_free(error);
        if (!reached)
            break;
        ck_assert_int_lt(n, 199);
    }
    ck_assert(!control || failed > 0);
    ck_assert(!control || worked > 0);
    grove_device_free(cpu);
}

LOOP_TEST(test_small_run, 0, 8)
{
    cuda_testing_reset((uint64_t)_i);
    grove_device *device = cuda_testing_open(0), *cpu = grove_device_cpu(1);

    for (int again = 0; device && again < 2; again++) {
        uint64_t before = device->budget.system_allocations;
        ck_assert_int_eq(small_run(device, cpu, NULL), 0);
        ck_assert(again == 0 || device->budget.system_allocations == before);
    }
    if (device)
        cuda_testing_close(device);
    grove_device_free(cpu);
}

/* A driver that does not know the CUDA of the kernels is refused, with both versions. */
TEST(test_old_driver)
{
    emulated_control *control = cuda_testing_control();
    grove_error *error = grove_error_new();

    if (control) {
        cuda_testing_reset(1);
        control->version = 10020;
        ck_assert_int_eq(grove_device_count("cuda", error), 0);
        ck_assert_int_eq(grove_error_code(error), GROVE_DEVICE);
        const char *said = grove_error_message(error, 0);
        ck_assert_msg(strstr(said, "supports CUDA 10.2, but") && strstr(said, "built with CUDA 1"),
                      "%s", said);
        ck_assert_ptr_null(grove_device_open("cuda", 0, 0, error));
        control->version = EMULATED_NEW;
        ck_assert_int_eq(grove_device_count("cuda", error), 1);
    }
    grove_error_free(error);
}

/* Local memory of kernels, for all threads that can be resident, is part of the budget. */
LOOP_TEST(test_local_memory_counts, 0, 8)
{
    enum { EACH = 100, LOCAL = EACH * EMULATED_PROCESSORS * EMULATED_THREADS, LIMIT = 1 << 20 };
    emulated_control *control = cuda_testing_control();
    grove_error *errors = grove_error_new();
    void *at, *other;

    if (!control) {
        grove_error_free(errors);
        return;
    }
    cuda_testing_reset((uint64_t)_i);
    control->local_bytes = EMULATED_STACK + EACH;
    grove_device *device = cuda_testing_open(LIMIT);
    /* blocks kept for reuse make room for it */
    ck_assert_int_eq(grove_device_allocate(device, LIMIT / 2, &at, errors), 0);
    grove_device_release(device, at, LIMIT / 2);
    ck_assert_int_eq(grove_device_prepare(device, &cuda_testing_add, true, errors), 0);
    ck_assert_uint_eq(device->budget.in_use, LOCAL);
    ck_assert_uint_eq(device->budget.pooled, 0);
    ck_assert_int_eq(grove_device_prepare(device, &cuda_testing_add, false, errors), 0);
    ck_assert_uint_eq(device->budget.in_use, LOCAL); /* not once for each kernel */
    ck_assert_int_eq(grove_device_allocate(device, LIMIT / 8, &at, errors), 0);
    ck_assert_int_eq(grove_device_allocate(device, LIMIT / 8, &other, errors), GROVE_NO_MEMORY);
    grove_device_release(device, at, LIMIT / 8);
    ck_assert_uint_eq(device->budget.in_use, LOCAL);
    cuda_testing_close(device);
    /* not for ever: with more memory the kernel is found */
    grove_error_clear(errors);
    control->local_bytes = EMULATED_STACK + 2 * EACH;
    device = cuda_testing_open(LIMIT);
    ck_assert_int_eq(grove_device_prepare(device, &cuda_testing_add, true, errors),
                     GROVE_NO_MEMORY);
    ck_assert_uint_eq(device->budget.in_use, 0);
    device->budget.limit *= 2;
    ck_assert_int_eq(grove_device_prepare(device, &cuda_testing_add, true, errors), 0);
    ck_assert_uint_eq(device->budget.in_use, 2 * LOCAL);
    cuda_testing_close(device);
    grove_error_free(errors);
}

/* Bytes go from device to device without the host, after the kernels that write them, and before
 * the source's block has other uses. */
LOOP_TEST(test_between_devices, 0, 24)
{
    enum { COUNT = 5000, DEVICES = 3 };
    emulated_control *control = cuda_testing_control();
    grove_error *error = grove_error_new();
    grove_device *device[DEVICES], *cpu = grove_device_cpu(1);

    cuda_testing_reset((uint64_t)_i);
    if (control)
        control->devices = DEVICES;
    for (int k = 0; control && k < DEVICES; k++)
        ck_assert_ptr_nonnull(device[k] = grove_device_open("cuda", k, 0, error));
    for (int round = 1; control && round <= 4; round++) {
        grove_buffer *a = grove_buffer_new(cpu, COUNT * 8, error);
        double *numbers = grove_buffer_write(a, NULL, error);
        for (int k = 0; k < COUNT; k++)
            numbers[k] = round * k;
        grove_buffer *sum = grove_buffer_new(device[0], COUNT * 8, error);
        void *x = grove_buffer_at(a, device[0], error);
        grove_args args = cuda_testing_sum(grove_buffer_write(sum, device[0], error), x, x, COUNT);
        ck_assert_int_eq(grove_device_launch(device[0], &cuda_testing_add, &args, true, error), 0);
        uint64_t down = device[0]->bytes_down;
        for (int k = 1; k < DEVICES; k++) {
            grove_buffer *twice = grove_buffer_new(device[k], COUNT * 8, error);
            x = grove_buffer_at(sum, device[k], error);
            if (k == DEVICES - 1) { /* what was copied last is the source, and written again */
                void *source = grove_buffer_write(sum, device[k - 1], error);
                grove_device_clear(device[k - 1], source, COUNT * 8, error);
            }
            args = cuda_testing_sum(grove_buffer_write(twice, device[k], error), x, x, COUNT);
            ck_assert_int_eq(grove_device_launch(device[k], &cuda_testing_add, &args, true, error),
                             0);
            const double *got = grove_buffer_host(twice, error);
            for (int n = 0; n < COUNT; n++)
                ck_assert_double_eq(got[n], 4.0 * round * n);
            grove_buffer_unref(twice);
        }
        ck_assert_uint_eq(device[0]->bytes_down, down);
        ck_assert_int_eq(control->peer_copies, 2 * round);
        grove_buffer_unref(sum);
        grove_buffer_unref(a);
    }
    ck_assert_uint_eq(grove_error_count(error), 0);
    if (control)
        ck_assert_int_eq(control->peers_enabled, 1); /* once, and with device 1 alone */
    for (int k = 0; control && k < DEVICES; k++)
        k < DEVICES - 1 ? grove_device_free(device[k]) : cuda_testing_close(device[k]);
    grove_device_free(cpu);
    grove_error_free(error);
}

CUDA_SUITE(240, NULL, NULL)
