/* Memory of an OpenCL device: its pool, and copies. */
#include "device/opencl/opencl.h"

#include "base/memory.h"

#include <stdlib.h>

enum { COPY_BYTES = 4 << 20 }; /* from one device to another, at a time */

static int allocate(grove_device *device, size_t bytes, uintptr_t *at, grove_error *error)
{
    opencl_device *opencl = opencl_of(device);
    void *found = clSVMAlloc(opencl->context, CL_MEM_READ_WRITE, bytes, 0);

    (void)error; /* the driver gives no reason */
    *at = (uintptr_t)found;
    return found ? 0 : GROVE_NO_MEMORY;
}

static void free_block(grove_device *device, grove_pool_block *block)
{
    opencl_device *opencl = opencl_of(device);

    clFinish(opencl->queue);
    clSVMFree(opencl->context, (void *)block->at);
}

void opencl_memory_open(opencl_device *opencl)
{
    opencl->device.budget.rule =
        (grove_block_rule){.smallest = 512, .large = 1 << 20, .page = 1 << 16};
    opencl->pool =
        (grove_pool){.device = &opencl->device, .allocate = allocate, .free = free_block};
}

int opencl_allocate(grove_device *device, size_t bytes, bool staging, void **at, grove_error *error)
{
    opencl_device *opencl = opencl_of(device);
    grove_pool_block *block = NULL;

    (void)staging; /* uploads wait for kernels in any case */
    pthread_mutex_lock(&opencl->lock);
    int code = grove_pool_take(&opencl->pool, bytes, false, &block, error);
    *at = block ? (void *)block->at : NULL;
    pthread_mutex_unlock(&opencl->lock);
    return code;
}

void opencl_release(grove_device *device, void *at, size_t bytes)
{
    opencl_device *opencl = opencl_of(device);

    (void)bytes;
    pthread_mutex_lock(&opencl->lock);
    grove_pool_block *block = at ? grove_pool_find(&opencl->pool, at) : NULL;
    if (block && block->busy)
        grove_pool_release(&opencl->pool, block);
    pthread_mutex_unlock(&opencl->lock);
}

void opencl_trim(grove_device *device)
{
    opencl_device *opencl = opencl_of(device);

    opencl_drop_index_arrays(opencl);
    pthread_mutex_lock(&opencl->lock);
    while (grove_pool_drop_smallest(&opencl->pool))
        ;
    pthread_mutex_unlock(&opencl->lock);
}

/* GROVE_INTERNAL unless the bytes are in one block. */
static int check_range(opencl_device *opencl, const void *at, size_t bytes, const char *what,
                       grove_error *error)
{
    pthread_mutex_lock(&opencl->lock);
    const grove_pool_block *block = grove_pool_find(&opencl->pool, at);
    bool inside = block && bytes <= block->bytes - (size_t)((uintptr_t)at - block->at);
    pthread_mutex_unlock(&opencl->lock);
    return inside ? 0
                  : grove_fail(error, GROVE_INTERNAL, "%s: a %s of unallocated memory",
                               opencl->device.name, what);
}

/* Complete when it returns. */
static int copy(opencl_device *opencl, void *to, const void *from, size_t bytes,
                grove_busy_kind kind, grove_error *error)
{
    cl_event event = NULL;
    int code = opencl_check(
        opencl, clEnqueueSVMMemcpy(opencl->queue, CL_TRUE, to, from, bytes, 0, NULL, &event),
        kind == GROVE_BUSY_UP ? "copying to it" : "copying from it", error);

    opencl_timed(opencl, event, kind);
    pthread_mutex_lock(&opencl->lock);
    if (!code)
        *(kind == GROVE_BUSY_UP ? &opencl->device.bytes_up : &opencl->device.bytes_down) += bytes;
    pthread_mutex_unlock(&opencl->lock);
    return code;
}

int opencl_upload(grove_device *device, void *to, const void *from, size_t bytes,
                  grove_error *error)
{
    opencl_device *opencl = opencl_of(device);
    int code = bytes ? check_range(opencl, to, bytes, "upload", error) : 0;

    return code || !bytes ? code : copy(opencl, to, from, bytes, GROVE_BUSY_UP, error);
}

int opencl_download(grove_device *device, void *to, const void *from, size_t bytes,
                    grove_error *error)
{
    opencl_device *opencl = opencl_of(device);
    int code = bytes ? check_range(opencl, from, bytes, "download", error) : 0;

    return code || !bytes ? code : copy(opencl, to, from, bytes, GROVE_BUSY_DOWN, error);
}

/* Each device has its own context, so the host copies. */
int opencl_copy(grove_device *device, void *to, grove_device *source, const void *from,
                size_t bytes, grove_error *error)
{
    const size_t most = bytes < COPY_BYTES ? bytes : COPY_BYTES;
    char *part = grove_alloc(most);
    int code = 0;

    for (size_t done = 0; !code && done < bytes; done += most) {
        const size_t now = bytes - done < most ? bytes - done : most;
        code = opencl_download(source, part, (const char *)from + done, now, error);
        if (!code)
            code = opencl_upload(device, (char *)to + done, part, now, error);
    }
    free(part);
    return code;
}

int opencl_clear(grove_device *device, void *at, size_t bytes, grove_error *error)
{
    opencl_device *opencl = opencl_of(device);
    const cl_uchar zero = 0;
    cl_event event = NULL;
    int code = bytes ? check_range(opencl, at, bytes, "clear", error) : 0;

    if (code || !bytes)
        return code;
    code = opencl_check(opencl,
                        clEnqueueSVMMemFill(opencl->queue, at, &zero, 1, bytes, 0, NULL, &event),
                        "clearing memory", error);
    opencl_timed(opencl, event, GROVE_BUSY_KERNELS);
    return code;
}

size_t opencl_extent(grove_device *device, const void *at)
{
    opencl_device *opencl = opencl_of(device);

    pthread_mutex_lock(&opencl->lock);
    const size_t bytes = grove_pool_extent(&opencl->pool, at);
    pthread_mutex_unlock(&opencl->lock);
    return bytes;
}
