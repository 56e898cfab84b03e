/* Copies between host and device, through pinned memory and on streams of their own, and between
 * devices. */
#include "device/cuda/cuda.h"

#include <string.h>

int cuda_copier_open(cuda_device *cuda, cuda_copier *copier, grove_error *error)
{
    const cuda_driver *driver = &cuda->driver;
    int code = cuda_check(cuda, driver->stream_create(&copier->stream, CUDA_NON_BLOCKING),
                          "creating a stream", error);

    for (int k = 0; !code && k < CUDA_STAGING_COUNT; k++) {
        cuda_staging *staging = &copier->staging[k];
        code =
            cuda_check(cuda, driver->host_allocate(&staging->at, CUDA_STAGING_BYTES, CUDA_PORTABLE),
                       "allocating pinned memory", error);
        if (code)
            staging->at = NULL;
        else
            code = cuda_check(cuda, driver->event_create(&staging->event, CUDA_NO_TIMING),
                              "creating an event", error);
    }
    return code;
}

void cuda_copier_close(cuda_device *cuda, cuda_copier *copier)
{
    const cuda_driver *driver = &cuda->driver;

    if (copier->stream) {
        driver->stream_synchronize(copier->stream);
        driver->stream_destroy(copier->stream);
    }
    for (int k = 0; k < CUDA_STAGING_COUNT; k++) {
        if (copier->staging[k].event)
            driver->event_destroy(copier->staging[k].event);
        if (copier->staging[k].at)
            driver->host_free(copier->staging[k].at);
    }
}

/* Before an upload: waits for kernels launched on the block. */
static int before_upload(cuda_device *cuda, void *to, size_t bytes, grove_error *error)
{
    int code = 0;

    pthread_mutex_lock(&cuda->lock);
    cuda_block *block = cuda_find(cuda, to);
    if (!block || bytes > block->bytes - (size_t)((uintptr_t)to - block->at))
        code = grove_fail(error, GROVE_INTERNAL, "%s: an upload to unallocated memory",
                          cuda->device.name);
    if (!code && !block->fresh)
        code = cuda_record(cuda, block, cuda->compute, error);
    if (!code && block->recorded && !block->arriving)
        code = cuda_check(cuda, cuda->driver.stream_wait(cuda->up.stream, block->event, 0),
                          "waiting for an event", error);
    pthread_mutex_unlock(&cuda->lock);
    return code;
}

static int after_upload(cuda_device *cuda, void *to, size_t bytes, grove_error *error)
{
    pthread_mutex_lock(&cuda->lock);
    int code = cuda_record(cuda, cuda_find(cuda, to), cuda->up.stream, error);
    cuda->device.bytes_up += bytes;
    pthread_mutex_unlock(&cuda->lock);
    return code;
}

static int upload_staged(cuda_device *cuda, char *to, const char *from, size_t bytes,
                         grove_error *error)
{
    const cuda_driver *driver = &cuda->driver;
    cuda_span span;
    int code = 0;

    for (int k = 0; !code && bytes; k = (k + 1) % CUDA_STAGING_COUNT) {
        cuda_staging *staging = &cuda->up.staging[k];
        size_t part = bytes < CUDA_STAGING_BYTES ? bytes : CUDA_STAGING_BYTES;
        if (staging->recorded)
            code =
                cuda_check(cuda, driver->event_synchronize(staging->event), "copying to it", error);
        if (code)
            return code;
        memcpy(staging->at, from, part);
        bool timed = cuda_timing_begin(cuda, cuda->up.stream, &span);
        code = cuda_check(cuda, driver->copy_up((uintptr_t)to, staging->at, part, cuda->up.stream),
                          "copying to it", error);
        if (timed)
            cuda_timing_end(cuda, cuda->up.stream, &span, GROVE_BUSY_UP);
        if (!code)
            code = cuda_check(cuda, driver->event_record(staging->event, cuda->up.stream),
                              "recording an event", error);
        staging->recorded = staging->recorded || !code;
        to += part;
        from += part;
        bytes -= part;
    }
    return code;
}

/* Whether the host's bytes can be copied directly: they are many and in pinned memory. */
static bool is_direct(cuda_device *cuda, const void *host, size_t bytes, size_t many)
{
    return bytes >= many && cuda->device.host &&
           grove_device_pinned(cuda->device.host, &cuda->device, host, bytes);
}

/* ... which changes when the caller learns that the copy is complete. */
static int upload_direct(cuda_device *cuda, void *to, const void *from, size_t bytes,
                         grove_error *error)
{
    const cuda_driver *driver = &cuda->driver;
    cuda_span span;
    bool timed = cuda_timing_begin(cuda, cuda->up.stream, &span);
    int code = cuda_check(cuda, driver->copy_up((uintptr_t)to, from, bytes, cuda->up.stream),
                          "copying to it", error);

    if (timed)
        cuda_timing_end(cuda, cuda->up.stream, &span, GROVE_BUSY_UP);
    if (!code)
        code =
            cuda_check(cuda, driver->stream_synchronize(cuda->up.stream), "copying to it", error);
    return code;
}

int cuda_pin(grove_device *device, void *at, size_t bytes, bool pinned)
{
    cuda_device *cuda = cuda_of(device);
    int code = cuda_enter(cuda, NULL);

    if (code)
        return code;
    code = pinned ? cuda->driver.host_register(at, bytes, CUDA_PORTABLE)
                  : cuda->driver.host_unregister(at);
    cuda_leave(cuda);
    return code;
}

int cuda_upload(grove_device *device, void *to, const void *from, size_t bytes, grove_error *error)
{
    cuda_device *cuda = cuda_of(device);
    int code = bytes ? cuda_enter(cuda, error) : 0;

    if (code || !bytes)
        return code;
    pthread_mutex_lock(&cuda->up.lock);
    code = before_upload(cuda, to, bytes, error);
    if (!code)
        code = is_direct(cuda, from, bytes, CUDA_DIRECT_UP)
                   ? upload_direct(cuda, to, from, bytes, error)
                   : upload_staged(cuda, to, from, bytes, error);
    if (!code)
        code = after_upload(cuda, to, bytes, error);
    else /* no copy may be under way when the block is reused */
        cuda->driver.stream_synchronize(cuda->up.stream);
    pthread_mutex_unlock(&cuda->up.lock);
    cuda_leave(cuda);
    return code;
}

int cuda_ready(grove_device *device, void *at, grove_error *error)
{
    cuda_device *cuda = cuda_of(device);
    int code = 0;

    if (!__atomic_load_n(&cuda->arriving, __ATOMIC_RELAXED))
        return 0;
    if ((code = cuda_enter(cuda, error)))
        return code;
    pthread_mutex_lock(&cuda->lock);
    cuda_block *block = cuda_find(cuda, at);
    if (block && block->arriving) {
        code = cuda_check(cuda, cuda->driver.stream_wait(cuda->compute, block->event, 0),
                          "waiting for an event", error);
        if (!code) {
            block->arriving = false;
            cuda->arriving--;
        }
    }
    pthread_mutex_unlock(&cuda->lock);
    cuda_leave(cuda);
    return code;
}

/* Before bytes are taken on a stream: waits for the kernel or copy that wrote the block. */
static int before_download(cuda_device *cuda, const void *from, size_t bytes, cuda_stream stream,
                           grove_error *error)
{
    int code = 0;

    pthread_mutex_lock(&cuda->lock);
    cuda_block *block = cuda_find(cuda, from);
    if (!block || bytes > block->bytes - (size_t)((uintptr_t)from - block->at))
        code = grove_fail(error, GROVE_INTERNAL, "%s: a download from unallocated memory",
                          cuda->device.name);
    if (!code && !block->recorded)
        code = cuda_record(cuda, block, cuda->compute, error);
    if (!code)
        code = cuda_check(cuda, cuda->driver.stream_wait(stream, block->event, 0),
                          "waiting for an event", error);
    pthread_mutex_unlock(&cuda->lock);
    return code;
}

/* Empties one staging buffer while copies into all others are under way. */
static int download_staged(cuda_device *cuda, char *to, const char *from, size_t bytes,
                           grove_error *error)
{
    const cuda_driver *driver = &cuda->driver;
    size_t sent = 0, taken = 0;
    cuda_span span;
    int code = 0;

    while (!code && taken < bytes) {
        while (!code && sent < bytes && sent - taken < CUDA_STAGING_COUNT * CUDA_STAGING_BYTES) {
            cuda_staging *staging =
                &cuda->down.staging[sent / CUDA_STAGING_BYTES % CUDA_STAGING_COUNT];
            size_t part = bytes - sent < CUDA_STAGING_BYTES ? bytes - sent : CUDA_STAGING_BYTES;
            bool timed = cuda_timing_begin(cuda, cuda->down.stream, &span);
            code = cuda_check(
                cuda,
                driver->copy_down(staging->at, (uintptr_t)(from + sent), part, cuda->down.stream),
                "copying from it", error);
            if (timed)
                cuda_timing_end(cuda, cuda->down.stream, &span, GROVE_BUSY_DOWN);
            if (!code)
                code = cuda_check(cuda, driver->event_record(staging->event, cuda->down.stream),
                                  "recording an event", error);
            sent += part;
        }
        if (code)
            break;
        cuda_staging *staging =
            &cuda->down.staging[taken / CUDA_STAGING_BYTES % CUDA_STAGING_COUNT];
        size_t part = bytes - taken < CUDA_STAGING_BYTES ? bytes - taken : CUDA_STAGING_BYTES;
        code =
            cuda_check(cuda, driver->event_synchronize(staging->event), "copying from it", error);
        if (!code)
            memcpy(to + taken, staging->at, part);
        taken += part;
    }
    if (code)
        driver->stream_synchronize(cuda->down.stream);
    return code;
}

/* Directly into pinned memory. */
static int download_direct(cuda_device *cuda, void *to, const void *from, size_t bytes,
                           grove_error *error)
{
    const cuda_driver *driver = &cuda->driver;
    cuda_span span;
    bool timed = cuda_timing_begin(cuda, cuda->down.stream, &span);
    int code = cuda_check(cuda, driver->copy_down(to, (uintptr_t)from, bytes, cuda->down.stream),
                          "copying from it", error);

    if (timed)
        cuda_timing_end(cuda, cuda->down.stream, &span, GROVE_BUSY_DOWN);
    int ended = cuda_check(cuda, driver->stream_synchronize(cuda->down.stream), "copying from it",
                           code ? NULL : error);
    return code ? code : ended;
}

int cuda_download(grove_device *device, void *to, const void *from, size_t bytes,
                  grove_error *error)
{
    cuda_device *cuda = cuda_of(device);
    int code = bytes ? cuda_enter(cuda, error) : 0;

    if (code || !bytes)
        return code;
    pthread_mutex_lock(&cuda->down.lock);
    code = before_download(cuda, from, bytes, cuda->down.stream, error);
    if (!code)
        code = is_direct(cuda, to, bytes, CUDA_DIRECT_DOWN)
                   ? download_direct(cuda, to, from, bytes, error)
                   : download_staged(cuda, to, from, bytes, error);
    if (!code) {
        pthread_mutex_lock(&cuda->lock);
        device->bytes_down += bytes;
        pthread_mutex_unlock(&cuda->lock);
    }
    pthread_mutex_unlock(&cuda->down.lock);
    cuda_leave(cuda);
    return code;
}

/* With the context of `cuda`. Where it fails the driver copies by way of the host. */
static void enable_peer(cuda_device *cuda, const cuda_device *peer)
{
    uint64_t bit = peer->handle < 64 ? (uint64_t)1 << peer->handle : 0;
    int possible = 0;

    if (!(cuda->peers & bit) &&
        !cuda->driver.peer_possible(&possible, cuda->handle, peer->handle) && possible)
        cuda->driver.peer_enable(peer->context, 0);
    cuda->peers |= bit;
}

/* Both devices' blocks may be used for anything else when it returns, so no stream of the source
 * need wait. */
int cuda_copy(grove_device *device, void *to, grove_device *source, const void *from, size_t bytes,
              grove_error *error)
{
    cuda_device *cuda = cuda_of(device), *other = cuda_of(source);
    int code = bytes ? cuda_enter(other, error) : 0;

    if (code || !bytes)
        return code;
    code = before_download(other, from, bytes, cuda->up.stream, error);
    cuda_leave(other);
    if (code || (code = cuda_enter(cuda, error)))
        return code;
    pthread_mutex_lock(&cuda->up.lock);
    enable_peer(cuda, other);
    code = before_upload(cuda, to, bytes, error);
    if (!code)
        code = cuda_check(cuda,
                          cuda->driver.copy_peer((uintptr_t)to, cuda->context, (uintptr_t)from,
                                                 other->context, bytes, cuda->up.stream),
                          "copying from another device", error);
    int ended = cuda_check(cuda, cuda->driver.stream_synchronize(cuda->up.stream),
                           "copying from another device", code ? NULL : error);
    code = code ? code : ended;
    if (!code)
        code = after_upload(cuda, to, bytes, error);
    pthread_mutex_unlock(&cuda->up.lock);
    cuda_leave(cuda);
    return code;
}

int cuda_clear(grove_device *device, void *at, size_t bytes, grove_error *error)
{
    cuda_device *cuda = cuda_of(device);
    cuda_span span;
    int code = bytes ? cuda_enter(cuda, error) : 0;

    if (code || !bytes)
        return code;
    pthread_mutex_lock(&cuda->lock);
    cuda_block *block = cuda_find(cuda, at);
    if (!block || bytes > block->bytes - (size_t)((uintptr_t)at - block->at))
        code = grove_fail(error, GROVE_INTERNAL, "%s: a clear of unallocated memory", device->name);
    if (!code && block->arriving)
        code = cuda_check(cuda, cuda->driver.stream_wait(cuda->compute, block->event, 0),
                          "waiting for an event", error);
    bool timed = !code && cuda_timing_begin(cuda, cuda->compute, &span);
    if (!code)
        code = cuda_check(cuda, cuda->driver.clear((uintptr_t)at, 0, bytes, cuda->compute),
                          "clearing memory", error);
    if (timed)
        cuda_timing_end(cuda, cuda->compute, &span, GROVE_BUSY_KERNELS);
    if (!code)
        code = cuda_record(cuda, block, cuda->compute, error);
    pthread_mutex_unlock(&cuda->lock);
    cuda_leave(cuda);
    return code;
}
