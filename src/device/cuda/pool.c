/* The pool of device memory: blocks are kept for reuse. A released block may be reused at once: its
 * next user waits, on the device, for work queued before. */
#include "device/cuda/cuda.h"

#include "base/memory.h"

#include <string.h>

#define LARGE ((size_t)1 << 20) /* requests below it are rounded to powers of two */

const grove_block_rule cuda_block_rule = {.smallest = 512, .large = LARGE, .page = 1 << 16};

/* Index of the first block after address `at`. */
static size_t find_after(const cuda_device *cuda, cuda_address at)
{
    size_t low = 0, high = cuda->block_count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (cuda->blocks[middle].at <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

cuda_block *cuda_find(cuda_device *cuda, const void *at)
{
    cuda_address address = (uintptr_t)at;
    size_t after = find_after(cuda, address);

    if (after == 0 || address - cuda->blocks[after - 1].at >= cuda->blocks[after - 1].bytes)
        return NULL;
    return &cuda->blocks[after - 1];
}

int cuda_record(cuda_device *cuda, cuda_block *block, cuda_stream stream, grove_error *error)
{
    const cuda_driver *driver = &cuda->driver;
    int code = 0;

    if (!block->event)
        code = cuda_check(cuda, driver->event_create(&block->event, CUDA_NO_TIMING),
                          "creating an event", error);
    if (!code)
        code = cuda_check(cuda, driver->event_record(block->event, stream), "recording an event",
                          error);
    if (code)
        return code;
    cuda->arriving += (stream == cuda->up.stream) - block->arriving;
    block->arriving = stream == cuda->up.stream;
    block->recorded = true;
    block->fresh = false;
    return 0;
}

/* Returns the block's memory to the driver. */
static void drop(cuda_device *cuda, size_t k)
{
    cuda_block *block = &cuda->blocks[k];

    if (block->recorded)
        cuda->driver.event_synchronize(block->event);
    if (block->event)
        cuda->driver.event_destroy(block->event);
    cuda->driver.memory_free(block->at);
    if (block->arriving)
        cuda->arriving--;
    if (!block->busy)
        grove_budget_drop(&cuda->device.budget, block->bytes);
    memmove(block, block + 1, (cuda->block_count - k - 1) * sizeof(*block));
    cuda->block_count--;
}

static bool drop_smallest(cuda_device *cuda)
{
    size_t found = cuda->block_count;

    for (size_t k = 0; k < cuda->block_count; k++)
        if (!cuda->blocks[k].busy &&
            (found == cuda->block_count || cuda->blocks[k].bytes < cuda->blocks[found].bytes))
            found = k;
    if (found == cuda->block_count)
        return false;
    drop(cuda, found);
    return true;
}

/* The best-fitting free block; among equal ones that released first. `staging`: kernels of this
 * epoch and the previous one must not use it. */
static cuda_block *reuse(cuda_device *cuda, size_t bytes, bool staging)
{
    const grove_device *device = &cuda->device;
    cuda_block *best = NULL;

    for (size_t k = 0; k < cuda->block_count; k++) {
        cuda_block *block = &cuda->blocks[k];
        if (block->busy || (staging && block->epoch + 2 > device->epoch))
            continue;
        if (grove_block_is_better(&device->budget.rule, bytes, block->bytes,
                                  best ? best->bytes : 0) ||
            (best && block->bytes == best->bytes && block->epoch < best->epoch))
            best = block;
    }
    if (best) {
        best->busy = best->fresh = true;
        grove_budget_reuse(&cuda->device.budget, best->bytes);
    }
    return best;
}

/* A new block from the driver; 0, CUDA_OUT_OF_MEMORY or the driver's error. */
static int new_block(cuda_device *cuda, size_t bytes, cuda_block **block)
{
    cuda_address at = 0;
    int result;

    while (!grove_budget_allows(&cuda->device.budget, bytes))
        if (!drop_smallest(cuda))
            return CUDA_OUT_OF_MEMORY;
    while ((result = cuda->driver.memory_allocate(&at, bytes)) == CUDA_OUT_OF_MEMORY)
        if (!drop_smallest(cuda))
            break;
    if (result)
        return result;
    size_t k = find_after(cuda, at);
    grove_grow((void **)&cuda->blocks, &cuda->block_capacity, cuda->block_count,
               sizeof(cuda_block));
    memmove(&cuda->blocks[k + 1], &cuda->blocks[k], (cuda->block_count - k) * sizeof(cuda_block));
    cuda->block_count++;
    cuda->blocks[k] = (cuda_block){.at = at, .bytes = bytes, .busy = true, .fresh = true};
    grove_budget_take(&cuda->device.budget, bytes);
    *block = &cuda->blocks[k];
    return 0;
}

/* The driver keeps local memory for as many threads as can be resident, however few a launch has,
 * besides the context's own from the start. */
int cuda_count_local(cuda_device *cuda, int each, grove_error *error)
{
    grove_device *device = &cuda->device;
    uint64_t own = (uint64_t)(each > 0 ? each : 0), bytes = 0;
    int code = 0;

    if (own > cuda->stack)
        bytes = cuda->threads * (own - cuda->stack);
    pthread_mutex_lock(&cuda->lock);
    if (bytes > device->local_bytes) {
        uint64_t more = bytes - device->local_bytes;
        while (!code && !grove_budget_allows(&device->budget, more))
            if (!drop_smallest(cuda))
                code = grove_budget_fail(&device->budget, device->name, more, error);
        if (!code) {
            grove_budget_reserve(&device->budget, more);
            device->local_bytes = bytes;
        }
    }
    pthread_mutex_unlock(&cuda->lock);
    return code;
}

int cuda_allocate(grove_device *device, size_t bytes, bool staging, void **at, grove_error *error)
{
    cuda_device *cuda = cuda_of(device);
    size_t taken = grove_device_block_bytes(device, bytes);
    int code = cuda_enter(cuda, error), result = 0;

    *at = NULL;
    if (code)
        return code;
    pthread_mutex_lock(&cuda->lock);
    staging =
        staging && device->epoch && taken >= LARGE && grove_budget_allows(&device->budget, taken);
    cuda_block *block = taken ? reuse(cuda, taken, staging) : NULL;
    if (taken && !block)
        result = new_block(cuda, taken, &block);
    if (block)
        *at = (void *)(uintptr_t)block->at;
    else if (result && result != CUDA_OUT_OF_MEMORY)
        code = cuda_check(cuda, result, "allocating memory", error);
    else
        code = grove_budget_fail(&device->budget, device->name, bytes, error);
    pthread_mutex_unlock(&cuda->lock);
    cuda_leave(cuda);
    return code;
}

void cuda_release(grove_device *device, void *at, size_t bytes)
{
    cuda_device *cuda = cuda_of(device);

    (void)bytes;
    if (!at || cuda_enter(cuda, NULL))
        return;
    pthread_mutex_lock(&cuda->lock);
    cuda_block *block = cuda_find(cuda, at);
    if (block && block->busy) {
        /* Kernels may still be reading it, and an upload may be under way. */
        bool lost =
            block->arriving && cuda->driver.stream_wait(cuda->compute, block->event, 0) != 0;
        if (cuda_record(cuda, block, cuda->compute, NULL))
            lost = true;
        block->busy = false;
        block->epoch = device->epoch;
        grove_budget_release(&device->budget, block->bytes);
        if (lost) /* without an event its end of use is unknown: it is not reused */
            drop(cuda, (size_t)(block - cuda->blocks));
    }
    pthread_mutex_unlock(&cuda->lock);
    cuda_leave(cuda);
}

void cuda_trim(grove_device *device)
{
    cuda_device *cuda = cuda_of(device);

    if (cuda_enter(cuda, NULL))
        return;
    cuda_drop_gathers(cuda);
    pthread_mutex_lock(&cuda->lock);
    while (drop_smallest(cuda))
        ;
    pthread_mutex_unlock(&cuda->lock);
    cuda_leave(cuda);
}
