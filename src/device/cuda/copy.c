/* Copies in both directions, through pinned memory and on streams of their own. */
#include "device/cuda/cuda.h"

#include <string.h>

int cuda_way_open(cuda_device *cuda, cuda_way *way, grove_error *error)
{
    const cuda_driver *driver = &cuda->driver;
    int code = cuda_check(cuda, driver->stream_create(&way->stream, CUDA_NON_BLOCKING),
                          "creating a stream", error);

    for (int k = 0; !code && k < CUDA_PIECES; k++) {
        cuda_piece *piece = &way->piece[k];
        code = cuda_check(cuda, driver->host_allocate(&piece->at, CUDA_PIECE_BYTES, CUDA_PORTABLE),
                          "allocating pinned memory", error);
        if (code)
            piece->at = NULL;
        else
            code = cuda_check(cuda, driver->event_create(&piece->event, CUDA_NO_TIMING),
                              "creating an event", error);
    }
    return code;
}

void cuda_way_close(cuda_device *cuda, cuda_way *way)
{
    const cuda_driver *driver = &cuda->driver;

    if (way->stream) {
        driver->stream_synchronize(way->stream);
        driver->stream_destroy(way->stream);
    }
    for (int k = 0; k < CUDA_PIECES; k++) {
        if (way->piece[k].event)
            driver->event_destroy(way->piece[k].event);
        if (way->piece[k].at)
            driver->host_free(way->piece[k].at);
    }
}

/* Before an upload: kernels that were launched on the block come first. */
static int before_upload(cuda_device *cuda, void *to, size_t bytes, grove_error *error)
{
    int code = 0;

    pthread_mutex_lock(&cuda->lock);
    cuda_block *block = cuda_find(cuda, to);
    if (!block || bytes > block->bytes - (size_t)((uintptr_t)to - block->at))
        code = grove_fail(error, GROVE_INTERNAL, "%s: an upload to where nothing was allocated",
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

static int send_pieces(cuda_device *cuda, char *to, const char *from, size_t bytes,
                       grove_error *error)
{
    const cuda_driver *driver = &cuda->driver;
    cuda_span span;
    int code = 0;

    for (int k = 0; !code && bytes; k = (k + 1) % CUDA_PIECES) {
        cuda_piece *piece = &cuda->up.piece[k];
        size_t part = bytes < CUDA_PIECE_BYTES ? bytes : CUDA_PIECE_BYTES;
        if (piece->recorded)
            code =
                cuda_check(cuda, driver->event_synchronize(piece->event), "copying to it", error);
        if (code)
            return code;
        memcpy(piece->at, from, part);
        bool timed = cuda_time_begin(cuda, cuda->up.stream, &span);
        code = cuda_check(cuda, driver->copy_up((uintptr_t)to, piece->at, part, cuda->up.stream),
                          "copying to it", error);
        if (timed)
            cuda_time_end(cuda, cuda->up.stream, &span, CUDA_UP);
        if (!code)
            code = cuda_check(cuda, driver->event_record(piece->event, cuda->up.stream),
                              "recording an event", error);
        piece->recorded = piece->recorded || !code;
        to += part;
        from += part;
        bytes -= part;
    }
    return code;
}

/* Whether the bytes on the host can be copied as they lie: many, and in memory that is pinned. */
static bool goes_straight(cuda_device *cuda, const void *host, size_t bytes, size_t many)
{
    return bytes >= many && cuda->device.host &&
           grove_device_pinned(cuda->device.host, &cuda->device, host, bytes);
}

/* ... which change when the caller is told that they are there. */
static int send_whole(cuda_device *cuda, void *to, const void *from, size_t bytes,
                      grove_error *error)
{
    const cuda_driver *driver = &cuda->driver;
    cuda_span span;
    bool timed = cuda_time_begin(cuda, cuda->up.stream, &span);
    int code = cuda_check(cuda, driver->copy_up((uintptr_t)to, from, bytes, cuda->up.stream),
                          "copying to it", error);

    if (timed)
        cuda_time_end(cuda, cuda->up.stream, &span, CUDA_UP);
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
        code = goes_straight(cuda, from, bytes, CUDA_STRAIGHT_UP)
                   ? send_whole(cuda, to, from, bytes, error)
                   : send_pieces(cuda, to, from, bytes, error);
    if (!code)
        code = after_upload(cuda, to, bytes, error);
    else /* nothing of it may be on its way when the block is used for something else */
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

/* Before a download: what wrote the block comes first. */
static int before_download(cuda_device *cuda, const void *from, size_t bytes, grove_error *error)
{
    int code = 0;

    pthread_mutex_lock(&cuda->lock);
    cuda_block *block = cuda_find(cuda, from);
    if (!block || bytes > block->bytes - (size_t)((uintptr_t)from - block->at))
        code = grove_fail(error, GROVE_INTERNAL, "%s: a download from where nothing was allocated",
                          cuda->device.name);
    if (!code && !block->recorded)
        code = cuda_record(cuda, block, cuda->compute, error);
    if (!code)
        code = cuda_check(cuda, cuda->driver.stream_wait(cuda->down.stream, block->event, 0),
                          "waiting for an event", error);
    pthread_mutex_unlock(&cuda->lock);
    return code;
}

/* Keeps all pieces but one on their way while that one is taken out. */
static int fetch_pieces(cuda_device *cuda, char *to, const char *from, size_t bytes,
                        grove_error *error)
{
    const cuda_driver *driver = &cuda->driver;
    size_t sent = 0, taken = 0;
    cuda_span span;
    int code = 0;

    while (!code && taken < bytes) {
        while (!code && sent < bytes && sent - taken < CUDA_PIECES * CUDA_PIECE_BYTES) {
            cuda_piece *piece = &cuda->down.piece[sent / CUDA_PIECE_BYTES % CUDA_PIECES];
            size_t part = bytes - sent < CUDA_PIECE_BYTES ? bytes - sent : CUDA_PIECE_BYTES;
            bool timed = cuda_time_begin(cuda, cuda->down.stream, &span);
            code = cuda_check(
                cuda,
                driver->copy_down(piece->at, (uintptr_t)(from + sent), part, cuda->down.stream),
                "copying from it", error);
            if (timed)
                cuda_time_end(cuda, cuda->down.stream, &span, CUDA_DOWN);
            if (!code)
                code = cuda_check(cuda, driver->event_record(piece->event, cuda->down.stream),
                                  "recording an event", error);
            sent += part;
        }
        if (code)
            break;
        cuda_piece *piece = &cuda->down.piece[taken / CUDA_PIECE_BYTES % CUDA_PIECES];
        size_t part = bytes - taken < CUDA_PIECE_BYTES ? bytes - taken : CUDA_PIECE_BYTES;
        code = cuda_check(cuda, driver->event_synchronize(piece->event), "copying from it", error);
        if (!code)
            memcpy(to + taken, piece->at, part);
        taken += part;
    }
    if (code)
        driver->stream_synchronize(cuda->down.stream);
    return code;
}

/* Straight into memory that is pinned. */
static int fetch_whole(cuda_device *cuda, void *to, const void *from, size_t bytes,
                       grove_error *error)
{
    const cuda_driver *driver = &cuda->driver;
    cuda_span span;
    bool timed = cuda_time_begin(cuda, cuda->down.stream, &span);
    int code = cuda_check(cuda, driver->copy_down(to, (uintptr_t)from, bytes, cuda->down.stream),
                          "copying from it", error);

    if (timed)
        cuda_time_end(cuda, cuda->down.stream, &span, CUDA_DOWN);
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
    code = before_download(cuda, from, bytes, error);
    if (!code)
        code = goes_straight(cuda, to, bytes, CUDA_STRAIGHT_DOWN)
                   ? fetch_whole(cuda, to, from, bytes, error)
                   : fetch_pieces(cuda, to, from, bytes, error);
    if (!code) {
        pthread_mutex_lock(&cuda->lock);
        device->bytes_down += bytes;
        pthread_mutex_unlock(&cuda->lock);
    }
    pthread_mutex_unlock(&cuda->down.lock);
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
        code = grove_fail(error, GROVE_INTERNAL, "%s: nothing was allocated where to clear",
                          device->name);
    if (!code && block->arriving)
        code = cuda_check(cuda, cuda->driver.stream_wait(cuda->compute, block->event, 0),
                          "waiting for an event", error);
    bool timed = !code && cuda_time_begin(cuda, cuda->compute, &span);
    if (!code)
        code = cuda_check(cuda, cuda->driver.clear((uintptr_t)at, 0, bytes, cuda->compute),
                          "clearing memory", error);
    if (timed)
        cuda_time_end(cuda, cuda->compute, &span, CUDA_KERNELS);
    if (!code)
        code = cuda_record(cuda, block, cuda->compute, error);
    pthread_mutex_unlock(&cuda->lock);
    cuda_leave(cuda);
    return code;
}
