/* Memory budgets: rounding of requests, reuse of blocks, limits; on the host and on an emulated
 * CUDA device. */
#include "tests/common/cuda-testing.h"

#include <stdlib.h>
#include <string.h>

#define MIB ((size_t)1 << 20)

static grove_error *errors;

/* Loop index 0: the host; 1: the CUDA device, or NULL where there is none. */
static grove_device *start(int index, uint64_t limit)
{
    errors = grove_error_new();
    if (!index)
        return grove_device_open("cpu", 1, limit, errors);
    if (grove_device_count("cuda", errors) < 1)
        return NULL;
    cuda_testing_reset(3);
    return cuda_testing_open(limit);
}

static void end(int index, grove_device *device)
{
    if (index)
        cuda_testing_close(device);
    else
        grove_device_free(device);
    grove_error_free(errors);
}

LOOP_TEST(test_blocks_take_what_the_device_says, 0, 2)
{
    static const size_t sizes[] = {0,       1,           256,         257,         511,    513,
                                   4000,    65536,       524287,      524288,      524289, MIB - 1,
                                   MIB + 1, 3 * MIB + 7, 9 * MIB - 9, 9 * MIB + 9, 5};
    grove_device *device = start(_i, 0);

    for (size_t k = 0; device && k < sizeof(sizes) / sizeof(*sizes); k++) {
        size_t bytes = grove_device_block_bytes(device, sizes[k]);
        void *at;
        ck_assert_uint_ge(bytes, sizes[k]);
        grove_device_trim(device);
        ck_assert_int_eq(grove_device_allocate(device, sizes[k], &at, errors), 0);
        ck_assert_uint_eq(device->budget.in_use, bytes);
        ck_assert_uint_eq(device->budget.pooled, 0);
        grove_device_release(device, at, sizes[k]);
        ck_assert_uint_eq(device->budget.in_use, 0);
        ck_assert_uint_ge(device->budget.peak, bytes);
    }
    if (device)
        end(_i, device);
}

TEST(test_rounding)
{
    const grove_block_rule rule = {256, 1 << 19, 4096};

    ck_assert_uint_eq(grove_block_bytes(&rule, 0), 256);
    ck_assert_uint_eq(grove_block_bytes(&rule, 256), 256);
    ck_assert_uint_eq(grove_block_bytes(&rule, 257), 512);
    ck_assert_uint_eq(grove_block_bytes(&rule, (1 << 19) - 1), 1 << 19);
    ck_assert_uint_eq(grove_block_bytes(&rule, 1 << 19), 1 << 19);
    ck_assert_uint_eq(grove_block_bytes(&rule, (1 << 19) + 1), (1 << 19) + 4096);
    ck_assert_uint_eq(grove_block_bytes(&rule, SIZE_MAX), 0);
    /* small blocks fit exactly, large ones may be twice as large; the smallest is best */
    ck_assert(grove_block_is_better(&rule, 512, 512, 0));
    ck_assert(!grove_block_is_better(&rule, 512, 1024, 0));
    ck_assert(!grove_block_is_better(&rule, 512, 256, 0));
    ck_assert(grove_block_is_better(&rule, MIB, 2 * MIB, 0));
    ck_assert(!grove_block_is_better(&rule, MIB, 2 * MIB + 4096, 0));
    ck_assert(grove_block_is_better(&rule, MIB, MIB + 4096, 2 * MIB));
    ck_assert(!grove_block_is_better(&rule, MIB, 2 * MIB, MIB + 4096));
}

/* A block of 64 MiB, of which so many bytes are written to; `fresh`: with pages that nobody had. */
static void *take_gaps(grove_device *device, size_t written, int key, bool fresh)
{
    const grove_extent request = {64 * MIB, {written, grove_hash_integer(grove_hash_start(), key)}};
    const uint64_t before = device->budget.system_allocations;
    void *at = NULL;

    ck_assert_int_eq(grove_device_allocate_gaps(device, &request, &at, errors), 0);
    ck_assert(at && (device->budget.system_allocations > before) == fresh);
    memset(at, 1, written);
    return at;
}

/* Blocks with gaps count what is written to. Those with the same gaps are used again; one with
 * others is given back first, so that there are not the pages of both; and a block without gaps
 * takes the place of none. */
TEST(test_gaps)
{
    grove_device *device = start(0, 90 * MIB);
    const grove_budget *budget = &device->budget;
    void *a = take_gaps(device, 10 * MIB, 1, true), *b = take_gaps(device, 20 * MIB, 2, true);

    ck_assert_uint_eq(budget->in_use, 30 * MIB);
    grove_device_release(device, a, 64 * MIB);
    grove_device_release(device, b, 64 * MIB);
    ck_assert_uint_eq(budget->in_use, 0);
    if (budget->pooled) { /* not with AddressSanitizer */
        ck_assert_uint_eq(budget->pooled, 30 * MIB);
        b = take_gaps(device, 19 * MIB, 2, false);
        ck_assert_uint_eq(budget->in_use, 20 * MIB);
        void *c = take_gaps(device, 9 * MIB, 3, true); /* in place of the first */
        ck_assert_uint_eq(budget->in_use, 29 * MIB);
        ck_assert_uint_eq(budget->pooled, 0);
        grove_device_release(device, b, 64 * MIB);
        grove_device_release(device, c, 64 * MIB);
        b = take_gaps(device, 30 * MIB, 2, true); /* more than before */
        ck_assert_uint_eq(budget->in_use + budget->pooled, 39 * MIB);
        ck_assert_int_eq(grove_device_allocate(device, 60 * MIB, &a, errors), 0);
        ck_assert_uint_eq(budget->in_use, 90 * MIB);
        ck_assert_int_eq(grove_device_allocate(device, MIB, &c, errors), GROVE_NO_MEMORY);
        grove_device_release(device, a, 60 * MIB);
        grove_device_release(device, b, 64 * MIB);
    }
    end(0, device);
}

LOOP_TEST(test_no_size_is_too_large_to_refuse, 0, 2)
{
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 65536, SIZE_MAX / 2, 4 * MIB + 1};
    grove_device *device = start(_i, 4 * MIB);

    for (size_t k = 0; device && k < sizeof(sizes) / sizeof(*sizes); k++) {
        void *at = device;
        grove_error_clear(errors);
        ck_assert_int_eq(grove_device_allocate(device, sizes[k], &at, errors), GROVE_NO_MEMORY);
        ck_assert_ptr_eq(at, NULL);
        ck_assert_ptr_ne(strstr(grove_error_message(errors, 0), "no memory for"), NULL);
        ck_assert_uint_eq(device->budget.in_use, 0);
    }
    if (device)
        end(_i, device);
}

LOOP_TEST(test_cleared_and_copied, 0, 2)
{
    grove_device *device = start(_i, 0);
    unsigned char sent[1000], got[1000];
    void *at;

    if (!device)
        return;
    memset(sent, 7, sizeof(sent));
    ck_assert_int_eq(grove_device_allocate(device, sizeof(sent), &at, errors), 0);
    ck_assert_int_eq(grove_device_upload(device, at, sent, sizeof(sent), errors), 0);
    ck_assert_int_eq(grove_device_ready(device, at, errors), 0);
    ck_assert_int_eq(grove_device_clear(device, at, 600, errors), 0);
    ck_assert_int_eq(grove_device_wait(device, errors), 0);
    ck_assert_int_eq(grove_device_download(device, got, at, sizeof(got), errors), 0);
    for (int k = 0; k < 1000; k++)
        ck_assert_int_eq(got[k], k < 600 ? 0 : 7);
    grove_device_release(device, at, sizeof(sent));
    end(_i, device);
}

LOOP_TEST(test_kernels_of_other_devices_are_missing, 0, 2)
{
    static const grove_kernel other = {.name = "other", .source = "nowhere.cu"};
    grove_device *device = start(_i, 0);

    if (!device)
        return;
    ck_assert_int_eq(grove_device_prepare(device, &cuda_testing_add, true, errors), 0);
    ck_assert_int_eq(grove_device_prepare(device, &other, true, errors), GROVE_MISSING);
    ck_assert_int_eq(grove_error_count(errors), 1);
    ck_assert_int_eq(grove_device_prepare(device, &other, true, errors), GROVE_MISSING);
    end(_i, device);
}

/* A staging block was not in the hands of kernels of this epoch or the one before. */
TEST(test_staging_blocks)
{
    enum { BYTES = 2 << 20, EPOCHS = 6 };
    grove_device *device = start(1, 7 * MIB);
    void *at[EPOCHS], *other;

    if (!device)
        return;
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        device->epoch++;
        ck_assert_int_eq(grove_device_allocate_staging(device, BYTES, &at[epoch], errors), 0);
        grove_device_release(device, at[epoch], BYTES);
    }
    ck_assert_ptr_ne(at[0], at[1]);
    ck_assert_ptr_eq(at[2], at[0]);
    ck_assert_ptr_eq(at[3], at[1]);
    ck_assert_uint_eq(device->budget.system_allocations, 2);
    ck_assert_int_eq(grove_device_allocate(device, BYTES, &other, errors), 0);
    ck_assert_ptr_eq(other, at[0]);
    /* where the budget does not allow another, blocks are reused at once */
    device->epoch = 0;
    grove_device_release(device, other, BYTES);
    device->epoch = 1;
    ck_assert_int_eq(grove_device_allocate_staging(device, BYTES, &at[0], errors), 0);
    ck_assert_int_eq(grove_device_allocate_staging(device, BYTES, &at[1], errors), 0);
    ck_assert_int_eq(grove_device_allocate_staging(device, BYTES, &at[2], errors), 0);
    for (int k = 0; k < 3; k++)
        grove_device_release(device, at[k], BYTES);
    ck_assert_int_eq(grove_device_allocate_staging(device, BYTES, &at[3], errors), 0);
    ck_assert_uint_eq(device->budget.system_allocations, 3);
    grove_device_release(device, at[3], BYTES);
    end(1, device);
}

CUDA_SUITE(60, NULL, NULL)
