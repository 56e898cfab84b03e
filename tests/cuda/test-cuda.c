/* The CUDA device: memory, copies, launches, in many orders that CUDA allows, and faults. */
#include "tests/common/cuda-testing.h"
#include "value/value.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SEEDS = 24, MIB = 1 << 20 };

static grove_error *errors;

static void setup(void)
{
    errors = grove_error_new();
}

static void teardown(void)
{
    grove_error_free(errors);
}

static void fill(unsigned char *at, size_t bytes, unsigned seed)
{
    uint64_t x = 0;

    for (size_t k = 0; k < bytes; k++) {
        if (k % 8 == 0)
            x = grove_random_bits(seed, k, 0, 0, 0);
        at[k] = (unsigned char)(x >> k % 8 * 8);
    }
}

LOOP_TEST(test_bytes_come_back, 0, 4)
{
    static const size_t sizes[] = {1,           511,          4096,     4 * MIB - 1,  4 * MIB,
                                   4 * MIB + 1, 16 * MIB + 8, 16 * MIB, 20 * MIB + 77};
    cuda_testing_reset((uint64_t)_i);
    grove_device *device = cuda_testing_open(0);
    unsigned char *sent = malloc(21 * MIB), *got = malloc(21 * MIB);

    for (size_t k = 0; device && k < sizeof(sizes) / sizeof(*sizes); k++) {
        void *at;
        fill(sent, sizes[k], (unsigned)k);
        ck_assert_int_eq(grove_device_allocate(device, sizes[k], &at, errors), 0);
        ck_assert_int_eq(grove_device_upload(device, at, sent, sizes[k], errors), 0);
        memset(sent, 0, sizes[k]); /* it was taken */
        ck_assert_int_eq(grove_device_download(device, got, at, sizes[k], errors), 0);
        fill(sent, sizes[k], (unsigned)k);
        ck_assert_int_eq(memcmp(sent, got, sizes[k]), 0);
        grove_device_release(device, at, sizes[k]);
    }
    ck_assert_uint_eq(grove_error_count(errors), 0);
    if (device) {
        ck_assert_uint_eq(device->budget.in_use, 0);
        cuda_testing_close(device);
    }
    free(sent);
    free(got);
}

/* Blocks are released while what was queued on them has not run, and used again at once. */
/* Large blocks of the cpu are pinned when bytes are first copied, once, and copied as they lie. */
LOOP_TEST(test_blocks_of_the_cpu_are_pinned, 0, SEEDS)
{
    enum { BYTES = 17 * MIB, ROUNDS = 3 };
    const emulated_control *c = cuda_testing_control();
    cuda_testing_reset((uint64_t)_i);
    grove_device *device = cuda_testing_open(0), *host = grove_device_cpu(1);
    void *sent = NULL, *got = NULL, *at;

    for (int round = 0; device && round < ROUNDS; round++) {
        int64_t registered = c ? c->registered : 0;
        device->host = host;
        ck_assert_int_eq(grove_device_allocate(host, BYTES, &sent, errors), 0);
        ck_assert_int_eq(grove_device_allocate(host, BYTES, &got, errors), 0);
        ck_assert_int_eq(grove_device_allocate(device, BYTES, &at, errors), 0);
        fill(sent, BYTES, (unsigned)round);
        ck_assert_int_eq(grove_device_upload(device, at, sent, BYTES, errors), 0);
        memset(sent, 0, BYTES);
        /* into the middle of a block */
        ck_assert_int_eq(grove_device_download(device, (char *)got + 8, at, BYTES - 8, errors), 0);
        fill(sent, BYTES, (unsigned)round);
        ck_assert_int_eq(memcmp(sent, (char *)got + 8, BYTES - 8), 0);
        ck_assert(grove_device_pinned(host, device, got, BYTES));
        ck_assert(!grove_device_pinned(host, device, got, 2 * BYTES));
        ck_assert(!grove_device_pinned(host, device, &at, 1));
        if (c && round == 0)
            ck_assert_int_eq(c->registered - registered, 2);
        grove_device_release(device, at, BYTES);
        if (round == ROUNDS - 1) /* pinned blocks outlive the device */
            cuda_testing_close(device);
        grove_device_release(host, sent, BYTES);
        grove_device_release(host, got, BYTES);
        if (c && round == 0) {
            grove_device_trim(host);
            ck_assert_int_le(c->pinned, 8); /* the device's pieces alone */
        }
    }
    ck_assert_uint_eq(grove_error_count(errors), 0);
    grove_device_free(host);
}

LOOP_TEST(test_blocks_used_again_wait_for_what_was_queued, 0, SEEDS)
{
    enum { COUNT = 3000, ROUNDS = 12, KEPT = 4 };
    cuda_testing_reset((uint64_t)_i);
    grove_device *device = cuda_testing_open(0);
    static double numbers[ROUNDS][COUNT], result[COUNT];
    void *sums[KEPT] = {0};

    for (int round = 0; device && round < ROUNDS; round++) {
        void *a, *b, *out;
        if (sums[round % KEPT]) {
            const double *first = numbers[round - KEPT], *second = numbers[(round - KEPT) / 2];
            ck_assert_int_eq(
                grove_device_download(device, result, sums[round % KEPT], sizeof(result), errors),
                0);
            for (int k = 0; k < COUNT; k++)
                ck_assert_double_eq(result[k], first[k] + second[k]);
            grove_device_release(device, sums[round % KEPT], sizeof(result));
        }
        for (int k = 0; k < COUNT; k++)
            numbers[round][k] = 1000 * round + k;
        ck_assert_int_eq(grove_device_allocate(device, sizeof(result), &a, errors), 0);
        ck_assert_int_eq(grove_device_upload(device, a, numbers[round], sizeof(result), errors), 0);
        ck_assert_int_eq(grove_device_allocate(device, sizeof(result), &b, errors), 0);
        ck_assert_int_eq(grove_device_upload(device, b, numbers[round / 2], sizeof(result), errors),
                         0);
        ck_assert_int_eq(grove_device_ready(device, a, errors), 0);
        ck_assert_int_eq(grove_device_ready(device, b, errors), 0);
        ck_assert_int_eq(grove_device_allocate(device, sizeof(result), &out, errors), 0);
        grove_args args = cuda_testing_sum(out, a, b, COUNT);
        ck_assert_int_eq(grove_device_launch(device, &cuda_testing_add, &args, true, errors), 0);
        grove_device_release(device, a, sizeof(result));
        grove_device_release(device, b, sizeof(result));
        sums[round % KEPT] = out;
    }
    for (int k = 0; device && k < KEPT; k++)
        grove_device_release(device, sums[k], sizeof(result));
    if (device) {
        ck_assert_uint_eq(device->launches, ROUNDS);
        ck_assert_uint_le(device->budget.system_allocations, KEPT + 2);
        ck_assert_uint_eq(device->bytes_up, 2 * ROUNDS * sizeof(result));
        ck_assert_uint_eq(device->bytes_down, (ROUNDS - KEPT) * sizeof(result));
        cuda_testing_close(device);
    }
}

/* An upload may still be on its way when its block is released and written by somebody else. */
LOOP_TEST(test_blocks_released_with_an_upload_on_its_way, 0, SEEDS)
{
    enum { COUNT = 5000 };
    static double numbers[COUNT], result[COUNT];
    const size_t bytes = sizeof(numbers);
    void *a, *b, *out;

    cuda_testing_reset((uint64_t)_i);
    grove_device *device = cuda_testing_open(0);
    if (!device)
        return;
    for (int k = 0; k < COUNT; k++)
        numbers[k] = k;
    ck_assert_int_eq(grove_device_allocate(device, bytes, &a, errors), 0);
    ck_assert_int_eq(grove_device_upload(device, a, numbers, bytes, errors), 0);
    ck_assert_int_eq(grove_device_ready(device, a, errors), 0);
    ck_assert_int_eq(grove_device_allocate(device, bytes, &b, errors), 0);
    ck_assert_int_eq(grove_device_upload(device, b, numbers, bytes, errors), 0);
    grove_device_release(device, b, bytes);
    ck_assert_int_eq(grove_device_allocate(device, bytes, &out, errors), 0);
    ck_assert_ptr_eq(b, out);
    grove_args args = cuda_testing_sum(out, a, a, COUNT);
    ck_assert_int_eq(grove_device_launch(device, &cuda_testing_add, &args, true, errors), 0);
    ck_assert_int_eq(grove_device_download(device, result, out, bytes, errors), 0);
    for (int k = 0; k < COUNT; k++)
        ck_assert_double_eq(result[k], 2 * numbers[k]);
    grove_device_release(device, a, bytes);
    grove_device_release(device, out, bytes);
    cuda_testing_close(device);
}

LOOP_TEST(test_cleared_memory_is_zero, 0, SEEDS)
{
    cuda_testing_reset((uint64_t)_i);
    grove_device *device = cuda_testing_open(0);
    unsigned char bytes[1000], zeros[1000] = {0};
    void *at;

    if (!device)
        return;
    memset(bytes, 1, sizeof(bytes));
    ck_assert_int_eq(grove_device_allocate(device, sizeof(bytes), &at, errors), 0);
    ck_assert_int_eq(grove_device_upload(device, at, bytes, sizeof(bytes), errors), 0);
    ck_assert_int_eq(grove_device_clear(device, at, sizeof(bytes), errors), 0);
    ck_assert_int_eq(grove_device_download(device, bytes, at, sizeof(bytes), errors), 0);
    ck_assert_int_eq(memcmp(bytes, zeros, sizeof(bytes)), 0);
    grove_device_release(device, at, sizeof(bytes));
    cuda_testing_close(device);
}

LOOP_TEST(test_buffers_have_sides, 0, SEEDS)
{
    cuda_testing_reset((uint64_t)_i);
    grove_device *device = cuda_testing_open(0), *cpu = grove_device_cpu(1);
    double numbers[100];

    if (!device) {
        grove_device_free(cpu);
        return;
    }
    for (int k = 0; k < 100; k++)
        numbers[k] = k;
    grove_buffer *a = grove_buffer_new(cpu, sizeof(numbers), errors);
    grove_buffer *b = grove_buffer_borrow(cpu, numbers, sizeof(numbers));
    grove_buffer *out = grove_buffer_new(device, sizeof(numbers), errors);
    memcpy(grove_buffer_host(a, errors), numbers, sizeof(numbers));
    ck_assert(!grove_buffer_is_on(a, device));
    grove_args args = cuda_testing_sum(grove_buffer_write(out, device, errors),
                                       grove_buffer_at(a, device, errors),
                                       grove_buffer_at(b, device, errors), 100);
    ck_assert_int_eq(grove_device_launch(device, &cuda_testing_add, &args, true, errors), 0);
    const double *sums = grove_buffer_host(out, errors);
    for (int k = 0; k < 100; k++)
        ck_assert_double_eq(sums[k], 2 * k);

    /* What is there is not copied again. */
    uint64_t up = device->bytes_up, down = device->bytes_down;
    ck_assert_ptr_eq(grove_buffer_at(a, device, errors), args.in[0].data);
    ck_assert_ptr_eq(grove_buffer_host(out, errors), sums);
    ck_assert_ptr_eq(grove_buffer_at(out, device, errors), args.out.data);
    ck_assert_uint_eq(device->bytes_up, up);
    ck_assert_uint_eq(device->bytes_down, down);

    /* Writing one side ends the others; dropping keeps the last. */
    double *host = grove_buffer_write(out, NULL, errors);
    host[7] = -1;
    ck_assert(!grove_buffer_is_on(out, device));
    grove_buffer_drop(out, NULL);
    ck_assert(grove_buffer_is_on(out, NULL));
    ck_assert_ptr_nonnull(grove_buffer_at(out, device, errors));
    grove_buffer_drop(out, NULL);
    ck_assert(!grove_buffer_is_on(out, NULL));
    host = grove_buffer_host(out, errors);
    ck_assert_double_eq(host[7], -1);
    ck_assert_double_eq(host[8], 16);
    grove_buffer_drop(a, device);
    ck_assert(!grove_buffer_is_on(a, device));
    grove_buffer_unref(a);
    grove_buffer_unref(b);
    grove_buffer_unref(out);
    ck_assert_uint_eq(device->budget.in_use, 0);
    ck_assert_uint_eq(grove_error_count(errors), 0);
    cuda_testing_close(device);
    grove_device_free(cpu);
}

LOOP_TEST(test_values_with_flags, 0, SEEDS)
{
    const grove_axis time = {"time", GROVE_AXIS_TIME, 100};
    const grove_range range = {&time, 0, 100};
    unsigned char down[100];

    cuda_testing_reset((uint64_t)_i);
    grove_device *device = cuda_testing_open(0);
    if (!device)
        return;
    grove_value *value =
        grove_value_new(device, &range, 1, GROVE_SCALAR, 1, false, true, true, errors);
    unsigned char *flags = grove_buffer_host(value->flags, errors);
    for (int k = 0; k < 100; k++)
        ck_assert_int_eq(flags[k], 0);
    flags[3] = 1;
    void *at = grove_buffer_at(value->flags, device, errors);
    ck_assert_int_eq(grove_device_download(device, down, at, 100, errors), 0);
    for (int k = 0; k < 100; k++)
        ck_assert_int_eq(down[k], k == 3);
    ck_assert_uint_eq(device->bytes_up, 100);
    grove_value_unref(value);
    cuda_testing_close(device);
}

/* Station values seen from baselines, of a part of the stations and of the baselines. */
LOOP_TEST(test_gathered_inputs, 0, SEEDS)
{
    enum { STATIONS = 9, PAIRS = STATIONS * (STATIONS - 1) / 2, TIMES = 5, FIRST = 3 };
    int32_t left[PAIRS], right[PAIRS];
    double numbers[TIMES][STATIONS], result[TIMES][PAIRS];
    void *at, *out;
    int n = 0;

    cuda_testing_reset((uint64_t)_i);
    grove_device *device = cuda_testing_open(0);
    if (!device)
        return;
    for (int p = FIRST; p < FIRST + STATIONS; p++)
        for (int q = p + 1; q < FIRST + STATIONS; q++, n++) {
            left[n] = p;
            right[n] = q;
        }
    for (int t = 0; t < TIMES; t++)
        for (int p = 0; p < STATIONS; p++)
            numbers[t][p] = 100 * t + p * p;
    ck_assert_int_eq(grove_device_allocate(device, sizeof(numbers), &at, errors), 0);
    ck_assert_int_eq(grove_device_upload(device, at, numbers, sizeof(numbers), errors), 0);
    ck_assert_int_eq(grove_device_allocate(device, sizeof(result), &out, errors), 0);
    grove_args args = cuda_testing_sum(out, (char *)at - 8 * FIRST, (char *)at - 8 * FIRST, 0);
    args.axes = 2;
    args.size[0] = TIMES;
    args.size[1] = PAIRS;
    args.axis[1] = GROVE_AXIS_BASELINE;
    args.out.stride[0] = 8 * PAIRS;
    args.out.stride[1] = 8;
    for (int k = 0; k < 2; k++) {
        args.in[k].stride[0] = 8 * STATIONS;
        args.in[k].stride[1] = 8;
        args.in[k].gather = k ? right : left;
        args.in[k].gather_axis = 1;
    }
    for (int again = 0; again < 2; again++) {
        ck_assert_int_eq(grove_device_ready(device, at, errors), 0);
        ck_assert_int_eq(grove_device_launch(device, &cuda_testing_add, &args, true, errors), 0);
    }
    ck_assert_int_eq(grove_device_download(device, result, out, sizeof(result), errors), 0);
    for (int t = 0; t < TIMES; t++)
        for (int k = 0; k < PAIRS; k++)
            ck_assert_double_eq(result[t][k],
                                numbers[t][left[k] - FIRST] + numbers[t][right[k] - FIRST]);
    /* Both index arrays went up once. */
    ck_assert_uint_eq(device->bytes_up, sizeof(numbers) + sizeof(left) + sizeof(right));
    grove_device_release(device, at, sizeof(numbers));
    grove_device_release(device, out, sizeof(result));
    cuda_testing_close(device);
}

TEST(test_budget)
{
    grove_error *no = grove_error_new();
    void *at[64];
    int n = 0;

    cuda_testing_reset(2);
    grove_device *device = cuda_testing_open(64 * MIB);
    if (!device) {
        grove_error_free(no);
        return;
    }
    while (n < 64 && grove_device_allocate(device, 5 * MIB, &at[n], no) == 0)
        n++;
    ck_assert_int_eq(n, 12);
    ck_assert_int_eq(grove_error_code(no), GROVE_NO_MEMORY);
    ck_assert_str_eq(
        grove_error_message(no, 0),
        "cuda:0: no memory for 5.0 MiB: 60.0 MiB in use of 64.0 MiB; allow more, or less at "
        "a time");
    for (int k = 0; k < n; k++)
        grove_device_release(device, at[k], 5 * MIB);
    ck_assert_uint_eq(device->budget.in_use, 0);
    ck_assert_uint_eq(device->budget.pooled, 60 * MIB);
    /* What the pool keeps makes place for another size. */
    ck_assert_int_eq(grove_device_allocate(device, 40 * MIB, &at[0], no), 0);
    ck_assert_uint_le(device->budget.in_use + device->budget.pooled, 64 * MIB);
    ck_assert_uint_le(device->budget.peak, 64 * MIB);
    grove_device_release(device, at[0], 40 * MIB);
    grove_device_trim(device);
    ck_assert_uint_eq(device->budget.pooled, 0);
    /* Sizes that no device has. */
    ck_assert_int_eq(grove_device_allocate(device, SIZE_MAX, &at[0], no), GROVE_NO_MEMORY);
    ck_assert_int_eq(grove_device_allocate(device, (size_t)1 << 62, &at[0], no), GROVE_NO_MEMORY);
    cuda_testing_close(device);
    grove_error_free(no);
}

/* Offsets beyond what 32 bits hold. */
TEST(test_more_than_four_gigabytes)
{
    const size_t far = ((size_t)5 << 30) + 4096;
    double numbers[2] = {1, 2}, result[2];
    void *at, *out;

    cuda_testing_reset(3);
    if (cuda_testing_control())
        cuda_testing_control()->memory = (uint64_t)16 << 30;
    grove_device *device = cuda_testing_open(0);
    if (!device)
        return;
    ck_assert_int_eq(grove_device_allocate(device, far + 8, &at, errors), 0);
    ck_assert_int_eq(grove_device_allocate(device, far + 8, &out, errors), 0);
    ck_assert_int_eq(grove_device_upload(device, at, &numbers[0], 8, errors), 0);
    ck_assert_int_eq(grove_device_upload(device, (char *)at + far, &numbers[1], 8, errors), 0);
    ck_assert_int_eq(grove_device_ready(device, at, errors), 0);
    grove_args args = cuda_testing_sum(out, at, at, 2);
    args.out.stride[0] = args.in[0].stride[0] = args.in[1].stride[0] = (int64_t)far;
    ck_assert_int_eq(grove_device_launch(device, &cuda_testing_add, &args, true, errors), 0);
    ck_assert_int_eq(grove_device_download(device, &result[0], out, 8, errors), 0);
    ck_assert_int_eq(grove_device_download(device, &result[1], (char *)out + far, 8, errors), 0);
    ck_assert_double_eq(result[0], 2);
    ck_assert_double_eq(result[1], 4);
    grove_device_release(device, at, far + 8);
    grove_device_release(device, out, far + 8);
    cuda_testing_close(device);
}

TEST(test_missing_parts_are_reported)
{
    cuda_testing_reset(1);
    ck_assert_ptr_null(grove_device_open("cuda", 7, 0, errors));
    if (cuda_testing_control())
        ck_assert_str_eq(grove_error_message(errors, 0), "cuda:7: there is no such device");
    ck_assert_ptr_null(grove_device_open("abacus", 0, 0, errors));
    ck_assert_str_eq(grove_error_message(errors, 1),
                     "there is no kind of device 'abacus'; it can be cpu, cuda or opencl");
    ck_assert_int_eq(grove_device_count("cpu", errors), 1);
    if (!cuda_testing_control())
        return;
    ck_assert_int_eq(grove_device_count("cuda", errors), 1);

    grove_device *device = cuda_testing_open(0);
    ck_assert_str_eq(device->description, "Emulated device, compute 9.0, 4.0 GiB");
    const grove_kernel unknown = {"nothing", NULL, NULL, "../kernels/nowhere.h", NULL, 0, 0};
    const grove_kernel missing = {"nothing", NULL, NULL, "../kernels/arithmetic/arithmetic.h",
                                  NULL,      0,    0};
    grove_args args = cuda_testing_sum(NULL, NULL, NULL, 1);
    ck_assert_int_ne(grove_device_launch(device, &unknown, &args, true, errors), 0);
    ck_assert_int_ne(grove_device_launch(device, &missing, &args, true, errors), 0);
    cuda_testing_close(device);

    cuda_testing_driver(false);
    ck_assert_ptr_null(grove_device_open("cuda", 0, 0, errors));
    cuda_testing_driver(true);
    size_t last = grove_error_count(errors) - 1;
    ck_assert_int_eq(
        strncmp(grove_error_message(errors, last), "cuda: there is no NVIDIA driver: ", 33), 0);
}

/* ---- several threads and devices ---- */

static grove_device *shared;

/* What the reading, the evaluating and the writing thread do, each to its own blocks. */
static void *work(void *which)
{
    enum { COUNT = 20000, ROUNDS = 6 };
    double *numbers = malloc(COUNT * 8), *result = malloc(COUNT * 8), base = *(const int *)which;
    int64_t wrong = 0;

    for (int round = 0; round < ROUNDS; round++) {
        void *a, *out;
        for (int k = 0; k < COUNT; k++)
            numbers[k] = base + round + k;
        int code = grove_device_allocate(shared, COUNT * 8, &a, NULL);
        code |= grove_device_allocate(shared, COUNT * 8, &out, NULL);
        code |= grove_device_upload(shared, a, numbers, COUNT * 8, NULL);
        code |= grove_device_ready(shared, a, NULL);
        grove_args args = cuda_testing_sum(out, a, a, COUNT);
        code |= grove_device_launch(shared, &cuda_testing_add, &args, true, NULL);
        grove_device_release(shared, a, COUNT * 8);
        code |= grove_device_download(shared, result, out, COUNT * 8, NULL);
        grove_device_release(shared, out, COUNT * 8);
        for (int k = 0; k < COUNT; k++)
            wrong += code || result[k] != 2 * numbers[k];
    }
    free(numbers);
    free(result);
    return (void *)(intptr_t)wrong;
}

LOOP_TEST(test_threads, 0, 8)
{
    int base[3] = {0, 1000, 2000000};
    pthread_t thread[3];

    cuda_testing_reset((uint64_t)_i);
    shared = cuda_testing_open(0);
    if (!shared)
        return;
    for (int k = 0; k < 3; k++)
        ck_assert_int_eq(pthread_create(&thread[k], NULL, work, &base[k]), 0);
    for (int k = 0; k < 3; k++) {
        void *wrong;
        ck_assert_int_eq(pthread_join(thread[k], &wrong), 0);
        ck_assert_int_eq((intptr_t)wrong, 0);
    }
    ck_assert_uint_eq(shared->budget.in_use, 0);
    ck_assert_uint_eq(shared->launches, 18);
    cuda_testing_close(shared);
}

LOOP_TEST(test_two_devices, 0, 8)
{
    double numbers[100];

    cuda_testing_reset((uint64_t)_i);
    if (!cuda_testing_control())
        return;
    cuda_testing_control()->devices = 2;
    ck_assert_int_eq(grove_device_count("cuda", errors), 2);
    grove_device *cpu = grove_device_cpu(1), *first = cuda_testing_open(0);
    grove_device *second = grove_device_open("cuda", 1, 0, errors);
    ck_assert_str_eq(second->name, "cuda:1");
    for (int k = 0; k < 100; k++)
        numbers[k] = k;
    grove_buffer *a = grove_buffer_borrow(cpu, numbers, sizeof(numbers));
    grove_buffer *sum = grove_buffer_new(first, sizeof(numbers), errors);
    grove_buffer *more = grove_buffer_new(second, sizeof(numbers), errors);
    void *at = grove_buffer_at(a, first, errors);
    grove_args args = cuda_testing_sum(grove_buffer_write(sum, first, errors), at, at, 100);
    ck_assert_int_eq(grove_device_launch(first, &cuda_testing_add, &args, true, errors), 0);
    args = cuda_testing_sum(grove_buffer_write(more, second, errors),
                            grove_buffer_at(a, second, errors),
                            grove_buffer_at(sum, second, errors), 100);
    ck_assert_int_eq(grove_device_launch(second, &cuda_testing_add, &args, true, errors), 0);
    const double *result = grove_buffer_host(more, errors);
    for (int k = 0; k < 100; k++)
        ck_assert_double_eq(result[k], 3 * k);
    grove_buffer_unref(a);
    grove_buffer_unref(sum);
    grove_buffer_unref(more);
    ck_assert_uint_eq(first->budget.in_use + second->budget.in_use, 0);
    grove_device_free(second);
    cuda_testing_close(first);
    grove_device_free(cpu);
}

CUDA_SUITE(120, setup, teardown)
