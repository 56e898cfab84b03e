/* The pool of device memory: blocks are kept for reuse. A released block may be reused at once: its
 * next user waits, on the device, for work queued before. */
#include "device/cuda/cuda.h"

cuda_block *cuda_find(cuda_device *cuda, const void *at)
{
    return grove_pool_find(&cuda->pool, at);
}

int cuda_record(cuda_device *cuda, cuda_block *block, cuda_stream stream, grove_error *error)
{
    const cuda_driver *driver = &cuda->driver;
    cuda_event event = block->event;
    int code = 0;

    if (!event)
        code = cuda_check(cuda, driver->event_create(&event, CUDA_NO_TIMING), "creating an event",
                          error);
    block->event = event;
    if (!code)
        code = cuda_check(cuda, driver->event_record(event, stream), "recording an event", error);
    if (code)
        return code;
    cuda->arriving += (stream == cuda->up.stream) - block->arriving;
    block->arriving = stream == cuda->up.stream;
    block->recorded = true;
    block->fresh = false;
    return 0;
}

/* 0, GROVE_NO_MEMORY without a message, or the driver's error. */
static int allocate(grove_device *device, size_t bytes, uintptr_t *at, grove_error *error)
{
    cuda_device *cuda = cuda_of(device);
    cuda_address found = 0;
    int result = cuda->driver.memory_allocate(&found, bytes);

    *at = (uintptr_t)found;
    return result == CUDA_OUT_OF_MEMORY ? GROVE_NO_MEMORY
                                        : cuda_check(cuda, result, "allocating memory", error);
}

static void free_block(grove_device *device, cuda_block *block)
{
    cuda_device *cuda = cuda_of(device);

    if (block->recorded)
        cuda->driver.event_synchronize(block->event);
    if (block->event)
        cuda->driver.event_destroy(block->event);
    cuda->driver.memory_free(block->at);
    if (block->arriving)
        cuda->arriving--;
}

void cuda_pool_open(cuda_device *cuda)
{
    cuda->device.budget.rule =
        (grove_block_rule){.smallest = 512, .large = 1 << 20, .page = 1 << 16};
    cuda->pool = (grove_pool){.device = &cuda->device, .allocate = allocate, .free = free_block};
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
            if (!grove_pool_drop_smallest(&cuda->pool))
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
    int code = cuda_enter(cuda, error);

    *at = NULL;
    if (code)
        return code;
    pthread_mutex_lock(&cuda->lock);
    cuda_block *block = NULL;
    code = grove_pool_take(&cuda->pool, bytes, staging, &block, error);
    if (block)
        *at = (void *)block->at;
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
        grove_pool_release(&cuda->pool, block);
        if (lost) /* without an event its end of use is unknown: it is not reused */
            grove_pool_drop(&cuda->pool, block);
    }
    pthread_mutex_unlock(&cuda->lock);
    cuda_leave(cuda);
}

void cuda_trim(grove_device *device)
{
    cuda_device *cuda = cuda_of(device);

    if (cuda_enter(cuda, NULL))
        return;
    cuda_drop_index_arrays(cuda);
    pthread_mutex_lock(&cuda->lock);
    while (grove_pool_drop_smallest(&cuda->pool))
        ;
    pthread_mutex_unlock(&cuda->lock);
    cuda_leave(cuda);
}

size_t cuda_extent(grove_device *device, const void *at)
{
    cuda_device *cuda = cuda_of(device);

    pthread_mutex_lock(&cuda->lock);
    const size_t bytes = grove_pool_extent(&cuda->pool, at);
    pthread_mutex_unlock(&cuda->lock);
    return bytes;
}
