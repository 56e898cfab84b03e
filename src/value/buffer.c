/* Buffers: bytes on the host and on devices. */
#include "value/value.h"

#include "base/memory.h"

#include <pthread.h>
#include <stdlib.h>

/* A copy on a device with memory of its own. Sides are only added while the buffer lives. */
typedef struct side {
    struct side *next;
    grove_device *device;
    void *at;   /* NULL: not allocated */
    bool valid; /* the bytes are valid */
} side;

struct grove_buffer {
    int references;
    bool borrowed; /* the host's bytes are borrowed */
    bool on_host;  /* the host's bytes are valid */
    size_t bytes;
    uint64_t serial;
    grove_device *device; /* home: where the buffer was made */
    void *host;
    side *sides;
    pthread_mutex_t lock;
};

static uint64_t next_serial(void)
{
    static uint64_t last;

    return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

static grove_buffer *bare(grove_device *device, size_t bytes)
{
    grove_buffer *buffer = grove_alloc(sizeof(*buffer));

    buffer->references = 1;
    buffer->serial = next_serial();
    buffer->device = device;
    buffer->bytes = bytes;
    pthread_mutex_init(&buffer->lock, NULL);
    return buffer;
}

static side *find_side(grove_buffer *buffer, const grove_device *device)
{
    side *s = __atomic_load_n(&buffer->sides, __ATOMIC_ACQUIRE);

    while (s && s->device != device)
        s = s->next;
    return s;
}

/* Requires the lock, unless no one else sees the buffer yet. */
static side *add_side(grove_buffer *buffer, grove_device *device)
{
    side *s = grove_alloc(sizeof(*s));

    s->device = device;
    s->next = buffer->sides;
    __atomic_store_n(&buffer->sides, s, __ATOMIC_RELEASE);
    return s;
}

grove_buffer *grove_buffer_new(grove_device *device, size_t bytes, grove_error *error)
{
    return grove_buffer_new_gaps(device, &(grove_extent){.bytes = bytes}, error);
}

grove_buffer *grove_buffer_new_gaps(grove_device *device, const grove_extent *extent,
                                    grove_error *error)
{
    grove_buffer *buffer = bare(device, extent->bytes);
    bool shares = device->shares_host_memory;
    side *s = shares ? NULL : add_side(buffer, device);
    void **at = shares ? &buffer->host : &s->at;

    if (shares && extent->gaps.written ? grove_device_allocate_gaps(device, extent, at, error)
                                       : grove_device_allocate(device, extent->bytes, at, error)) {
        pthread_mutex_destroy(&buffer->lock);
        free(s);
        free(buffer);
        return NULL;
    }
    buffer->on_host = shares;
    if (s)
        s->valid = true;
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

/* The device that allocates the host side, or NULL: the system. */
static grove_device *host_of(const grove_buffer *buffer)
{
    return buffer->device->shares_host_memory ? buffer->device : buffer->device->host;
}

static void free_host(grove_buffer *buffer)
{
    grove_device *host = host_of(buffer);

    if (buffer->host && !buffer->borrowed) {
        if (host)
            grove_device_release(host, buffer->host, buffer->bytes);
        else
            free(buffer->host);
    }
    buffer->host = NULL;
}

void grove_buffer_unref(grove_buffer *buffer)
{
    if (!buffer || __atomic_sub_fetch(&buffer->references, 1, __ATOMIC_ACQ_REL))
        return;
    while (buffer->sides) {
        side *s = buffer->sides;
        buffer->sides = s->next;
        if (s->at)
            grove_device_release(s->device, s->at, buffer->bytes);
        free(s);
    }
    free_host(buffer);
    pthread_mutex_destroy(&buffer->lock);
    free(buffer);
}

uint64_t grove_buffer_serial(const grove_buffer *buffer)
{
    return buffer->serial;
}

size_t grove_buffer_bytes(const grove_buffer *buffer)
{
    return buffer->bytes;
}

static int allocate_host(grove_buffer *buffer, grove_error *error)
{
    grove_device *host = host_of(buffer);

    if (buffer->host)
        return 0;
    if (host)
        return grove_device_allocate(host, buffer->bytes, &buffer->host, error);
    if (posix_memalign(&buffer->host, 64, buffer->bytes ? buffer->bytes : 1)) {
        buffer->host = NULL;
        return grove_fail(error, GROVE_NO_MEMORY, "no memory for %zu bytes from %s", buffer->bytes,
                          buffer->device->name);
    }
    return 0;
}

/* A device that has the bytes, or NULL with a message. */
static side *valid_side(grove_buffer *buffer, grove_error *error)
{
    side *s = buffer->sides;

    while (s && !s->valid)
        s = s->next;
    if (!s)
        grove_fail(error, GROVE_INTERNAL, "a buffer has lost its bytes");
    return s;
}

/* Requires the lock. */
static int fetch(grove_buffer *buffer, grove_error *error)
{
    int code = 0;

    if (buffer->on_host)
        return 0;
    const side *s = valid_side(buffer, error);
    if (!s)
        return GROVE_INTERNAL;
    if ((code = allocate_host(buffer, error)))
        return code;
    code = grove_device_download(s->device, buffer->host, s->at, buffer->bytes, error);
    if (!code)
        __atomic_store_n(&buffer->on_host, true, __ATOMIC_RELEASE);
    return code;
}

static int host_address(grove_buffer *buffer, void **at, grove_error *error)
{
    int code = 0;

    if (!__atomic_load_n(&buffer->on_host, __ATOMIC_ACQUIRE)) {
        pthread_mutex_lock(&buffer->lock);
        code = fetch(buffer, error);
        pthread_mutex_unlock(&buffer->lock);
    }
    *at = code ? NULL : buffer->host;
    return code;
}

void *grove_buffer_host(grove_buffer *buffer, grove_error *error)
{
    void *at;

    host_address(buffer, &at, error);
    return at;
}

/* Requires the lock. From the host if it has the bytes, else from another device. */
static int send(grove_buffer *buffer, side *s, grove_error *error)
{
    grove_device *device = s->device;
    const side *from = s->valid || buffer->on_host ? NULL : valid_side(buffer, error);
    int code = from || s->valid || buffer->on_host ? 0 : GROVE_INTERNAL;

    if (code || s->valid)
        return code;
    if (!s->at)
        code = grove_device_allocate_staging(device, buffer->bytes, &s->at, error);
    if (!code)
        code = from ? grove_device_copy(device, s->at, from->device, from->at, buffer->bytes, error)
                    : grove_device_upload(device, s->at, buffer->host, buffer->bytes, error);
    if (!code)
        __atomic_store_n(&s->valid, true, __ATOMIC_RELEASE);
    return code;
}

int grove_buffer_address(grove_buffer *buffer, grove_device *device, void **at, grove_error *error)
{
    if (!device || device->shares_host_memory)
        return host_address(buffer, at, error);
    side *s = find_side(buffer, device);
    int code = 0;
    *at = NULL;
    if (!s || !__atomic_load_n(&s->valid, __ATOMIC_ACQUIRE)) {
        pthread_mutex_lock(&buffer->lock);
        if (!s && !(s = find_side(buffer, device)))
            s = add_side(buffer, device);
        code = send(buffer, s, error);
        pthread_mutex_unlock(&buffer->lock);
    }
    if (!code)
        code = grove_device_ready(device, s->at, error);
    *at = code ? NULL : s->at;
    return code;
}

void *grove_buffer_at(grove_buffer *buffer, grove_device *device, grove_error *error)
{
    void *at;

    grove_buffer_address(buffer, device, &at, error);
    return at;
}

void *grove_buffer_write(grove_buffer *buffer, grove_device *device, grove_error *error)
{
    bool host = !device || device->shares_host_memory;
    void *at = NULL;

    pthread_mutex_lock(&buffer->lock);
    side *target = host ? NULL : find_side(buffer, device);
    if (!host && !target)
        target = add_side(buffer, device);
    int code = host         ? allocate_host(buffer, error)
               : target->at ? 0
                            : grove_device_allocate(device, buffer->bytes, &target->at, error);
    if (!code) {
        buffer->serial = next_serial();
        for (side *s = buffer->sides; s; s = s->next)
            s->valid = s == target;
        buffer->on_host = host;
        at = host ? buffer->host : target->at;
    }
    pthread_mutex_unlock(&buffer->lock);
    return at;
}

bool grove_buffer_is_on(grove_buffer *buffer, const grove_device *device)
{
    if (!device || device->shares_host_memory)
        return __atomic_load_n(&buffer->on_host, __ATOMIC_ACQUIRE);
    const side *s = find_side(buffer, device);
    return s && __atomic_load_n(&s->valid, __ATOMIC_ACQUIRE);
}

void grove_buffer_drop(grove_buffer *buffer, grove_device *device)
{
    bool host = !device || device->shares_host_memory;

    pthread_mutex_lock(&buffer->lock);
    int valid = buffer->on_host;
    for (side *s = buffer->sides; s; s = s->next)
        valid += s->valid;
    side *s = host ? NULL : find_side(buffer, device);
    if (host && !buffer->borrowed && valid - buffer->on_host > 0) {
        free_host(buffer);
        buffer->on_host = false;
    } else if (s && s->at && valid - s->valid > 0) {
        grove_device_release(device, s->at, buffer->bytes);
        s->at = NULL;
        s->valid = false;
    }
    pthread_mutex_unlock(&buffer->lock);
}

bool grove_buffer_is_sole(const grove_buffer *buffer)
{
    return __atomic_load_n(&buffer->references, __ATOMIC_ACQUIRE) == 1;
}
