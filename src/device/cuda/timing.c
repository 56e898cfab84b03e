/* Times of kernels and copies on the device, by events before and after them. The events are read
 * after the device has passed them, so nothing waits. */
#include "device/cuda/cuda.h"

#include "base/memory.h"

#include <stdlib.h>

enum { COLLECT_MIN = 512 };

static bool take_events(cuda_device *cuda, cuda_span *span)
{
    cuda_timing *times = &cuda->timing;
    bool found;

    pthread_mutex_lock(&times->lock);
    found = times->free_count > 0;
    if (found)
        *span = times->free[--times->free_count];
    pthread_mutex_unlock(&times->lock);
    if (found)
        return true;
    *span = (cuda_span){0};
    if (cuda->driver.event_create(&span->began, 0))
        return false;
    if (!cuda->driver.event_create(&span->ended, 0))
        return true;
    cuda->driver.event_destroy(span->began);
    return false;
}

/* Requires the lock. */
static void free_events(cuda_timing *times, const cuda_span *span)
{
    grove_grow((void **)&times->free, &times->free_capacity, times->free_count, sizeof(*span));
    times->free[times->free_count++] = *span;
}

/* Reads the events that the device has passed. Requires the lock and the context. */
static void collect(cuda_device *cuda)
{
    cuda_timing *times = &cuda->timing;
    size_t left = 0;

    for (size_t k = 0; k < times->count; k++) {
        cuda_span *span = &times->spans[k];
        float milliseconds = 0;
        int result = cuda->driver.event_elapsed(&milliseconds, span->began, span->ended);
        if (result == CUDA_NOT_READY) {
            times->spans[left++] = *span;
            continue;
        }
        if (!result)
            grove_timing_add(&cuda->device.timing, span->to, span->kind,
                             1e-3 * (double)milliseconds);
        free_events(times, span);
    }
    times->count = left;
    times->collect_at = 2 * left > COLLECT_MIN ? 2 * left : COLLECT_MIN;
}

bool cuda_timing_begin(cuda_device *cuda, cuda_stream stream, cuda_span *span)
{
    if (!cuda->device.timing.enabled || !take_events(cuda, span))
        return false;
    if (!cuda->driver.event_record(span->began, stream))
        return true;
    pthread_mutex_lock(&cuda->timing.lock);
    free_events(&cuda->timing, span);
    pthread_mutex_unlock(&cuda->timing.lock);
    return false;
}

void cuda_timing_end(cuda_device *cuda, cuda_stream stream, cuda_span *span, grove_busy_kind kind)
{
    cuda_timing *times = &cuda->timing;
    bool recorded = !cuda->driver.event_record(span->ended, stream);

    pthread_mutex_lock(&times->lock);
    span->kind = kind;
    span->to = grove_timing_attributed(&cuda->device.timing);
    if (recorded) {
        grove_grow((void **)&times->spans, &times->capacity, times->count, sizeof(*span));
        times->spans[times->count++] = *span;
        if (times->count > times->collect_at)
            collect(cuda);
    } else {
        free_events(times, span);
    }
    pthread_mutex_unlock(&times->lock);
}

void cuda_timing_attribute(grove_device *device, grove_busy *to)
{
    cuda_timing *times = &cuda_of(device)->timing;

    pthread_mutex_lock(&times->lock);
    grove_timing_set(&device->timing, to);
    pthread_mutex_unlock(&times->lock);
}

int cuda_timing_collect(grove_device *device, grove_error *error)
{
    cuda_device *cuda = cuda_of(device);
    int code = grove_device_wait(device, error);

    if (code || (code = cuda_enter(cuda, error)))
        return code;
    code = cuda_check(cuda, cuda->driver.stream_synchronize(cuda->down.stream), "waiting for it",
                      error);
    pthread_mutex_lock(&cuda->timing.lock);
    collect(cuda);
    pthread_mutex_unlock(&cuda->timing.lock);
    cuda_leave(cuda);
    return code;
}

static void destroy(cuda_device *cuda, const cuda_span *spans, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        cuda->driver.event_destroy(spans[k].began);
        cuda->driver.event_destroy(spans[k].ended);
    }
}

void cuda_timing_close(cuda_device *cuda)
{
    destroy(cuda, cuda->timing.spans, cuda->timing.count);
    destroy(cuda, cuda->timing.free, cuda->timing.free_count);
    free(cuda->timing.spans);
    free(cuda->timing.free);
}
