/* Bytes on the host and on a device. */
#include "value/value.h"

#include "base/memory.h"

#include <pthread.h>
#include <stdlib.h>

struct grove_buffer {
    int references;
    bool borrowed; /* host belongs to somebody else */
    bool on_host, on_device;
    size_t bytes;
    grove_device *device; /* home: where it was made */
    void *host, *at;      /* `at` is on the device, where that has memory of its own */
    pthread_mutex_t lock;
};

static grove_buffer *bare(grove_device *device, size_t bytes)
{
    grove_buffer *buffer = grove_alloc(sizeof(*buffer));

    buffer->references = 1;
    buffer->device = device;
    buffer->bytes = bytes;
    pthread_mutex_init(&buffer->lock, NULL);
    return buffer;
}

grove_buffer *grove_buffer_new(grove_device *device, size_t bytes, grove_error *error)
{
    grove_buffer *buffer = bare(device, bytes);
    bool shares = device->shares_host_memory;

    if (device->allocate(device, bytes, shares ? &buffer->host : &buffer->at, error)) {
        pthread_mutex_destroy(&buffer->lock);
        free(buffer);
        return NULL;
    }
    buffer->on_host = shares;
    buffer->on_device = !shares;
    return buffer;
}

grove_buffer *grove_buffer_borrow(grove_device *device, const void *data, size_t bytes)
{
    grove_buffer *buffer = bare(device, bytes);

    buffer->host = (void *)data;
    buffer->borrowed = buffer->on_host = true;
    return buffer;
}

grove_buffer *grove_buffer_ref(grove_buffer *buffer)
{
    if (buffer)
        __atomic_fetch_add(&buffer->references, 1, __ATOMIC_RELAXED);
    return buffer;
}

void grove_buffer_unref(grove_buffer *buffer)
{
    if (!buffer || __atomic_sub_fetch(&buffer->references, 1, __ATOMIC_ACQ_REL))
        return;
    grove_device *device = buffer->device;
    if (buffer->at)
        device->release(device, buffer->at, buffer->bytes);
    if (buffer->host && !buffer->borrowed) {
        if (device->shares_host_memory)
            device->release(device, buffer->host, buffer->bytes);
        else
            free(buffer->host);
    }
    pthread_mutex_destroy(&buffer->lock);
    free(buffer);
}

size_t grove_buffer_bytes(const grove_buffer *buffer)
{
    return buffer->bytes;
}

static int fetch(grove_buffer *buffer, grove_error *error)
{
    if (!buffer->host && posix_memalign(&buffer->host, 64, buffer->bytes ? buffer->bytes : 1)) {
        buffer->host = NULL;
        return grove_fail(error, GROVE_NO_MEMORY, "no memory for %zu bytes from %s", buffer->bytes,
                          buffer->device->name);
    }
    return buffer->device->download(buffer->device, buffer->host, buffer->at, buffer->bytes, error);
}

void *grove_buffer_host(grove_buffer *buffer, grove_error *error)
{
    if (__atomic_load_n(&buffer->on_host, __ATOMIC_ACQUIRE))
        return buffer->host;
    pthread_mutex_lock(&buffer->lock);
    if (!buffer->on_host && !fetch(buffer, error))
        __atomic_store_n(&buffer->on_host, true, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&buffer->lock);
    return buffer->on_host ? buffer->host : NULL;
}

static int send(grove_buffer *buffer, grove_error *error)
{
    grove_device *device = buffer->device;
    int code = buffer->at ? 0 : device->allocate(device, buffer->bytes, &buffer->at, error);

    return code ? code : device->upload(device, buffer->at, buffer->host, buffer->bytes, error);
}

void *grove_buffer_at(grove_buffer *buffer, grove_device *device, grove_error *error)
{
    if (!device || device->shares_host_memory)
        return grove_buffer_host(buffer, error);
    if (device != buffer->device) {
        grove_fail(error, GROVE_INTERNAL, "a value of %s is asked for on %s", buffer->device->name,
                   device->name);
        return NULL;
    }
    if (__atomic_load_n(&buffer->on_device, __ATOMIC_ACQUIRE))
        return buffer->at;
    pthread_mutex_lock(&buffer->lock);
    if (!buffer->on_device && !send(buffer, error))
        __atomic_store_n(&buffer->on_device, true, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&buffer->lock);
    return buffer->on_device ? buffer->at : NULL;
}
