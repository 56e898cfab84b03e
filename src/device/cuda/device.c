/* Opens and closes a CUDA device. */
#include "device/cuda/cuda.h"

#include "base/memory.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cuda_check(cuda_device *cuda, int result, const char *doing, grove_error *error)
{
    if (!result)
        return 0;
    return grove_fail(error, result == CUDA_OUT_OF_MEMORY ? GROVE_NO_MEMORY : GROVE_DEVICE,
                      "%s: %s: %s", cuda->device.name, doing,
                      cuda_driver_text(&cuda->driver, result));
}

int cuda_enter(cuda_device *cuda, grove_error *error)
{
    return cuda_check(cuda, cuda->driver.context_push(cuda->context), "entering its context",
                      error);
}

void cuda_leave(cuda_device *cuda)
{
    cuda_context left;

    cuda->driver.context_pop(&left);
}

static int cuda_wait(grove_device *device, grove_error *error)
{
    cuda_device *cuda = cuda_of(device);
    int code = cuda_enter(cuda, error);

    if (code)
        return code;
    code =
        cuda_check(cuda, cuda->driver.stream_synchronize(cuda->up.stream), "waiting for it", error);
    if (!code)
        code = cuda_check(cuda, cuda->driver.stream_synchronize(cuda->compute), "waiting for it",
                          error);
    cuda_leave(cuda);
    return code;
}

/* Frees all parts of a device, also of one that was only partly opened. */
static void cuda_free(grove_device *device)
{
    cuda_device *cuda = cuda_of(device);

    if (device->host)
        grove_device_unpin(device->host, device);
    if (cuda->context && !cuda_enter(cuda, NULL)) {
        if (cuda->compute)
            cuda->driver.stream_synchronize(cuda->compute);
        cuda_algebra_close(cuda);
        cuda_trim(device);
        cuda_unload(cuda);
        cuda_copier_close(cuda, &cuda->up);
        cuda_copier_close(cuda, &cuda->down);
        cuda_timing_close(cuda);
        if (cuda->compute)
            cuda->driver.stream_destroy(cuda->compute);
        cuda_leave(cuda);
    }
    if (cuda->context)
        cuda->driver.context_release(cuda->handle);
    pthread_mutex_destroy(&cuda->up.lock);
    pthread_mutex_destroy(&cuda->down.lock);
    pthread_mutex_destroy(&cuda->launching);
    pthread_mutex_destroy(&cuda->lock);
    pthread_mutex_destroy(&cuda->timing.lock);
    free(cuda->pool.blocks);
    free(cuda);
}

static void describe(cuda_device *cuda)
{
    const cuda_driver *driver = &cuda->driver;
    char name[64] = "", size[32];
    int major = 0, minor = 0, multiprocessors = 0, threads = 0, version = 0;
    size_t available = 0, total = 0, stack = 0;

    driver->device_name(name, sizeof(name) - 1, cuda->handle);
    if (driver->device_place(cuda->device.place, sizeof(cuda->device.place), cuda->handle))
        cuda->device.place[0] = 0;
    driver->device_attribute(&major, CUDA_COMPUTE_MAJOR, cuda->handle);
    driver->device_attribute(&minor, CUDA_COMPUTE_MINOR, cuda->handle);
    driver->device_attribute(&multiprocessors, CUDA_MULTIPROCESSORS, cuda->handle);
    driver->device_attribute(&threads, CUDA_MAX_THREADS, cuda->handle);
    cuda->capability = 10 * major + minor;
    cuda->threads = (uint64_t)multiprocessors * (uint64_t)threads;
    if (!driver->context_limit(&stack, CUDA_STACK))
        cuda->stack = stack;
    if (!driver->memory_info(&available, &total) && !cuda->device.budget.limit)
        cuda->device.budget.limit = available / 10 * 9;
    if (!driver->version(&version))
        snprintf(cuda->device.driver, sizeof(cuda->device.driver), "%d.%d", version / 1000,
                 version % 1000 / 10);
    snprintf(cuda->device.description, sizeof(cuda->device.description), "%.48s, compute %d.%d, %s",
             name, major, minor, grove_show_bytes(size, (double)total));
}

/* Context, streams, pinned memory. */
static int start(cuda_device *cuda, grove_error *error)
{
    const cuda_driver *driver = &cuda->driver;
    int code = cuda_check(cuda, driver->context_retain(&cuda->context, cuda->handle),
                          "creating a context", error);

    if (code) {
        cuda->context = NULL;
        return code;
    }
    if ((code = cuda_enter(cuda, error)))
        return code;
    describe(cuda);
    cuda->device.compiles = cuda_compiler_exists(cuda);
    code = cuda_check(cuda, driver->stream_create(&cuda->compute, CUDA_NON_BLOCKING),
                      "creating a stream", error);
    if (!code)
        code = cuda_copier_open(cuda, &cuda->up, error);
    if (!code)
        code = cuda_copier_open(cuda, &cuda->down, error);
    cuda_leave(cuda);
    return code;
}

static const grove_device_operations operations = {
    .allocate = cuda_allocate,
    .release = cuda_release,
    .upload = cuda_upload,
    .download = cuda_download,
    .copy = cuda_copy,
    .clear = cuda_clear,
    .ready = cuda_ready,
    .prepare = cuda_prepare,
    .launch = cuda_launch,
    .wait = cuda_wait,
    .trim = cuda_trim,
    .pin = cuda_pin,
    .extent = cuda_extent,
    .free = cuda_free,
};

static grove_device *open_device(int index, uint64_t limit, grove_error *error)
{
    cuda_device *cuda = grove_alloc(sizeof(*cuda));
    grove_device *device = &cuda->device;
    double began = grove_now();

    pthread_mutex_init(&cuda->lock, NULL);
    pthread_mutex_init(&cuda->timing.lock, NULL);
    pthread_mutex_init(&cuda->launching, NULL);
    pthread_mutex_init(&cuda->up.lock, NULL);
    pthread_mutex_init(&cuda->down.lock, NULL);
    snprintf(device->name, sizeof(device->name), "cuda:%d", index);
    device->operations = &operations;
    device->algebra = &cuda_algebra;
    cuda_pool_open(cuda);
    device->budget.limit = limit;
    device->timing.attribute = cuda_timing_attribute;
    device->timing.collect = cuda_timing_collect;
    int code = cuda_driver_open(&cuda->driver, error);
    if (!code && (index < 0 || cuda->driver.device_get(&cuda->handle, index)))
        code = grove_fail(error, GROVE_MISSING, "%s: there is no such device", device->name);
    if (!code)
        code = start(cuda, error);
    device->timing.open_seconds = grove_now() - began;
    if (!code)
        return device;
    cuda_free(device);
    return NULL;
}

static int count_devices(grove_error *error)
{
    cuda_driver driver;
    int count = 0;

    if (cuda_driver_open(&driver, error) || driver.device_count(&count))
        return 0;
    return count;
}

static int first_gpu(grove_error *error)
{
    return count_devices(error) > 0 ? 0 : -1;
}

extern const grove_device_kind grove_cuda_api;
const grove_device_kind grove_cuda_api = {GROVE_DEVICE_KIND_VERSION, count_devices, first_gpu,
                                          open_device};
