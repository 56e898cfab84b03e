/* How long kernels and copies take on the device: events before and behind them, which are read
 * later, when the device has passed them, so that nothing waits for that. */
#include "device/cuda/cuda.h"

#include "base/memory.h"

#include <stdlib.h>

enum { MANY = 512 };

static bool take_events(cuda_device *cuda, cuda_span *span)
{
    cuda_times *times = &cuda->times;
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

/* With the lock held. */
static void free_events(cuda_times *times, const cuda_span *span)
{
    grove_grow((void **)&times->free, &times->free_capacity, times->free_count, sizeof(*span));
    times->free[times->free_count++] = *span;
}

static void add(grove_busy *to, int kind, double seconds)
{
    if (kind == CUDA_KERNELS)
        to->kernels += seconds;
    else if (kind == CUDA_UP)
        to->up += seconds;
    else
        to->down += seconds;
}

/* Takes in what the device has passed; with the lock held, in the context. */
static void collect(cuda_device *cuda)
{
    cuda_times *times = &cuda->times;
    size_t left = 0;

    for (size_t k = 0; k < times->count; k++) {
        cuda_span *span = &times->spans[k];
        float milliseconds = 0;
        int result = cuda->driver.event_elapsed(&milliseconds, span->began, span->ended);
        if (result == CUDA_NOT_READY) {
            times->spans[left++] = *span;
            continue;
        }
        if (!result) {
            add(&cuda->device.busy, span->kind, 1e-3 * (double)milliseconds);
            if (span->to)
                add(span->to, span->kind, 1e-3 * (double)milliseconds);
        }
        free_events(times, span);
    }
    times->count = left;
    times->enough = 2 * left > MANY ? 2 * left : MANY;
}

/* With the lock held: who pays for what this thread asks for. */
static cuda_bill *find_bill(cuda_times *times)
{
    for (int k = 0; k < times->bill_count; k++)
        if (pthread_equal(times->bills[k].thread, pthread_self()))
            return &times->bills[k];
    return NULL;
}

bool cuda_time_begin(cuda_device *cuda, cuda_stream stream, cuda_span *span)
{
    if (!cuda->device.timed || !take_events(cuda, span))
        return false;
    if (!cuda->driver.event_record(span->began, stream))
        return true;
    pthread_mutex_lock(&cuda->times.lock);
    free_events(&cuda->times, span);
    pthread_mutex_unlock(&cuda->times.lock);
    return false;
}

void cuda_time_end(cuda_device *cuda, cuda_stream stream, cuda_span *span, int kind)
{
    cuda_times *times = &cuda->times;
    bool recorded = !cuda->driver.event_record(span->ended, stream);

    pthread_mutex_lock(&times->lock);
    const cuda_bill *bill = find_bill(times);
    span->kind = kind;
    span->to = bill ? bill->to : NULL;
    if (recorded) {
        grove_grow((void **)&times->spans, &times->capacity, times->count, sizeof(*span));
        times->spans[times->count++] = *span;
        if (times->count > times->enough)
            collect(cuda);
    } else {
        free_events(times, span);
    }
    pthread_mutex_unlock(&times->lock);
}

void cuda_time_bill(grove_device *device, grove_busy *to)
{
    cuda_times *times = &cuda_of(device)->times;

    pthread_mutex_lock(&times->lock);
    cuda_bill *bill = find_bill(times);
    if (!bill && times->bill_count < CUDA_BILLS) {
        bill = &times->bills[times->bill_count++];
        bill->thread = pthread_self();
    }
    if (bill)
        bill->to = to;
    pthread_mutex_unlock(&times->lock);
}

int cuda_time_settle(grove_device *device, grove_error *error)
{
    cuda_device *cuda = cuda_of(device);
    int code = device->wait(device, error);

    if (code || (code = cuda_enter(cuda, error)))
        return code;
    code = cuda_check(cuda, cuda->driver.stream_synchronize(cuda->down.stream), "waiting for it",
                      error);
    pthread_mutex_lock(&cuda->times.lock);
    collect(cuda);
    pthread_mutex_unlock(&cuda->times.lock);
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

void cuda_time_close(cuda_device *cuda)
{
    destroy(cuda, cuda->times.spans, cuda->times.count);
    destroy(cuda, cuda->times.free, cuda->times.free_count);
    free(cuda->times.spans);
    free(cuda->times.free);
}
