/* Finds, opens and closes OpenCL devices. */
#include "device/opencl/opencl.h"

#include "base/memory.h"
#include "base/text.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEVICES = 64, COLLECT_MIN = 512 };

static const char *text_of(cl_int result, char number[24])
{
    static const struct {
        cl_int code;
        const char *text;
    } texts[] = {{CL_DEVICE_NOT_AVAILABLE, "the device is not available"},
                 {CL_COMPILER_NOT_AVAILABLE, "its driver has no compiler"},
                 {CL_MEM_OBJECT_ALLOCATION_FAILURE, "out of memory"},
                 {CL_OUT_OF_RESOURCES, "out of resources"},
                 {CL_OUT_OF_HOST_MEMORY, "out of memory of the host"},
                 {CL_INVALID_WORK_GROUP_SIZE, "its blocks have fewer threads"}};

    for (size_t k = 0; k < sizeof(texts) / sizeof(*texts); k++)
        if (texts[k].code == result)
            return texts[k].text;
    snprintf(number, 24, "OpenCL error %d", (int)result);
    return number;
}

int opencl_check(opencl_device *opencl, cl_int result, const char *doing, grove_error *error)
{
    char number[24];
    bool memory = result == CL_MEM_OBJECT_ALLOCATION_FAILURE || result == CL_OUT_OF_RESOURCES ||
                  result == CL_OUT_OF_HOST_MEMORY;

    return result ? grove_fail(error, memory ? GROVE_NO_MEMORY : GROVE_DEVICE, "%s: %s: %s",
                               opencl->device.name, doing, text_of(result, number))
                  : 0;
}

/* ---- times ---- */

/* Reads the times of complete work. Requires the lock. */
static void collect(opencl_device *opencl)
{
    size_t left = 0;

    for (size_t k = 0; k < opencl->span_count; k++) {
        const opencl_span *span = &opencl->spans[k];
        cl_ulong began = 0, ended = 0;
        cl_int status = CL_COMPLETE;
        if (!clGetEventInfo(span->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status,
                            NULL) &&
            status > CL_COMPLETE) {
            opencl->spans[left++] = *span;
            continue;
        }
        if (!clGetEventProfilingInfo(span->event, CL_PROFILING_COMMAND_START, sizeof(began), &began,
                                     NULL) &&
            !clGetEventProfilingInfo(span->event, CL_PROFILING_COMMAND_END, sizeof(ended), &ended,
                                     NULL))
            grove_timing_add(&opencl->device.timing, span->to, span->kind,
                             1e-9 * (double)(ended - began));
        clReleaseEvent(span->event);
    }
    opencl->span_count = left;
}

void opencl_timed(opencl_device *opencl, cl_event event, grove_busy_kind kind)
{
    if (event && !opencl->device.timing.enabled)
        clReleaseEvent(event);
    if (!event || !opencl->device.timing.enabled)
        return;
    pthread_mutex_lock(&opencl->lock);
    if (opencl->span_count >= COLLECT_MIN && opencl->span_count == opencl->span_capacity)
        collect(opencl);
    grove_grow((void **)&opencl->spans, &opencl->span_capacity, opencl->span_count,
               sizeof(*opencl->spans));
    opencl->spans[opencl->span_count++] =
        (opencl_span){event, kind, grove_timing_attributed(&opencl->device.timing)};
    pthread_mutex_unlock(&opencl->lock);
}

static void attribute(grove_device *device, grove_busy *to)
{
    opencl_device *opencl = opencl_of(device);

    pthread_mutex_lock(&opencl->lock);
    grove_timing_set(&device->timing, to);
    pthread_mutex_unlock(&opencl->lock);
}

static int collect_all(grove_device *device, grove_error *error)
{
    opencl_device *opencl = opencl_of(device);
    int code = grove_device_wait(device, error);

    pthread_mutex_lock(&opencl->lock);
    collect(opencl);
    pthread_mutex_unlock(&opencl->lock);
    return code;
}

/* ---- the devices ---- */

typedef struct {
    cl_device_id id;
    bool gpu, generic;
    const char *options;
} candidate;

static bool has(cl_device_id id, cl_device_info what, cl_ulong bits)
{
    cl_ulong found = 0;

    return !clGetDeviceInfo(id, what, sizeof(found), &found, NULL) && (found & bits) == bits;
}

/* The major version of OpenCL: N of "OpenCL N.M ...". */
static int version_of(cl_device_id id)
{
    char text[256] = "";
    int major = 0;

    if (clGetDeviceInfo(id, CL_DEVICE_VERSION, sizeof(text), text, NULL) ||
        sscanf(text, "OpenCL %d.", &major) != 1)
        return 0;
    return major;
}

/* Whether Grove can use a device: 64-bit addresses, double precision, shared virtual memory, and
 * pointers without address space, or, on CPUs, one memory. */
static bool is_usable(candidate *found)
{
    const int version = version_of(found->id);
    cl_uint bits = 0;
    cl_bool generic = CL_FALSE, little = CL_FALSE, compiler = CL_FALSE;

    clGetDeviceInfo(found->id, CL_DEVICE_ADDRESS_BITS, sizeof(bits), &bits, NULL);
    clGetDeviceInfo(found->id, CL_DEVICE_ENDIAN_LITTLE, sizeof(little), &little, NULL);
    clGetDeviceInfo(found->id, CL_DEVICE_COMPILER_AVAILABLE, sizeof(compiler), &compiler, NULL);
    if (version >= 3)
        clGetDeviceInfo(found->id, CL_DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT, sizeof(generic),
                        &generic, NULL);
    found->gpu = has(found->id, CL_DEVICE_TYPE, CL_DEVICE_TYPE_GPU);
    found->generic = version == 2 || generic;
    found->options = version >= 3 ? "-cl-std=CL3.0" : "-cl-std=CL2.0";
    return version >= 2 && bits == 64 && little && compiler &&
           has(found->id, CL_DEVICE_DOUBLE_FP_CONFIG, CL_FP_FMA) &&
           has(found->id, CL_DEVICE_SVM_CAPABILITIES, CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) &&
           (found->generic || has(found->id, CL_DEVICE_TYPE, CL_DEVICE_TYPE_CPU));
}

/* The usable devices of all drivers, in their order; 0 with the reason. */
static int list(candidate found[MAX_DEVICES], grove_error *error)
{
    cl_platform_id platforms[MAX_DEVICES];
    cl_uint platform_count = 0, all = 0;
    int count = 0;

    if (clGetPlatformIDs(MAX_DEVICES, platforms, &platform_count))
        platform_count = 0;
    for (cl_uint p = 0; p < platform_count && p < MAX_DEVICES; p++) {
        cl_device_id ids[MAX_DEVICES];
        cl_uint ids_count = 0;
        if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MAX_DEVICES, ids, &ids_count))
            continue;
        for (cl_uint k = 0; k < ids_count && k < MAX_DEVICES; k++, all++) {
            candidate one = {.id = ids[k]};
            if (count < MAX_DEVICES && is_usable(&one))
                found[count++] = one;
        }
    }
    if (!count && !platform_count)
        grove_fail(error, GROVE_MISSING, "opencl: there is no OpenCL driver");
    else if (!count)
        grove_fail(error, GROVE_MISSING,
                   "opencl: of %u devices none has 64-bit addresses, double precision, shared "
                   "virtual memory and pointers without address space (OpenCL 2 or 3)",
                   (unsigned)all);
    return count;
}

static int count_devices(grove_error *error)
{
    candidate found[MAX_DEVICES];

    return list(found, error);
}

/* Linux has a file for each GPU that is not only a screen. Without one no driver need be loaded,
 * which takes a tenth of a second and 60 MB where PoCL is installed. */
static bool has_gpu(void)
{
    glob_t files = {0};
    bool found = !glob("/dev/dri/renderD*", GLOB_NOSORT, NULL, &files);

    globfree(&files);
    return found;
}

/* CPUs are slower than Grove's own code for them. */
static int first_gpu(grove_error *error)
{
    candidate found[MAX_DEVICES];
    int count = 0, k = 0;

    if (has_gpu())
        count = list(found, error);
    else
        grove_fail(error, GROVE_MISSING, "opencl: there is no GPU: no file /dev/dri/renderD*");
    while (k < count && !found[k].gpu)
        k++;
    if (count && k == count)
        grove_fail(error, GROVE_MISSING, "opencl: none of its devices is a GPU");
    return k < count ? k : -1;
}

/* ---- opening ---- */

static int opencl_wait(grove_device *device, grove_error *error)
{
    opencl_device *opencl = opencl_of(device);

    return opencl_check(opencl, clFinish(opencl->queue), "waiting for it", error);
}

static int opencl_ready(grove_device *device, void *at, grove_error *error)
{
    (void)device;
    (void)at;
    (void)error;
    return 0;
}

/* OpenCL cannot pin memory that it has not allocated. */
static int opencl_pin(grove_device *device, void *at, size_t bytes, bool pinned)
{
    (void)device;
    (void)at;
    (void)bytes;
    return pinned ? CL_INVALID_OPERATION : 0;
}

/* Frees all parts of a device, also of one that was only partly opened. */
static void opencl_free(grove_device *device)
{
    opencl_device *opencl = opencl_of(device);

    if (device->host)
        grove_device_unpin(device->host, device);
    if (opencl->queue) {
        clFinish(opencl->queue);
        collect(opencl);
        opencl_trim(device);
        opencl_unload(opencl);
        opencl_algebra_close(opencl);
        clReleaseCommandQueue(opencl->queue);
    }
    if (opencl->context)
        clReleaseContext(opencl->context);
    pthread_mutex_destroy(&opencl->launching);
    pthread_mutex_destroy(&opencl->lock);
    free(opencl->pool.blocks);
    free(opencl->spans);
    free(opencl);
}

static void describe(opencl_device *opencl)
{
    char name[128] = "", size[32];
    cl_ulong memory = 0;

    clGetDeviceInfo(opencl->id, CL_DEVICE_NAME, sizeof(name), name, NULL);
    clGetDeviceInfo(opencl->id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(memory), &memory, NULL);
    if (!opencl->device.budget.limit)
        opencl->device.budget.limit = memory / 10 * 9;
    clGetDeviceInfo(opencl->id, CL_DRIVER_VERSION, sizeof(opencl->device.driver) - 1,
                    opencl->device.driver, NULL);
    snprintf(opencl->device.description, sizeof(opencl->device.description), "%.64s, %s", name,
             grove_show_bytes(size, (double)memory));
}

static int start(opencl_device *opencl, const candidate *from, grove_error *error)
{
    const cl_queue_properties profiled[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
    cl_int result = 0;

    opencl->id = from->id;
    opencl->generic = from->generic;
    opencl->options = from->options;
    describe(opencl);
    opencl->context = clCreateContext(NULL, 1, &opencl->id, NULL, NULL, &result);
    if (result)
        return opencl_check(opencl, result, "creating a context", error);
    opencl->queue =
        clCreateCommandQueueWithProperties(opencl->context, opencl->id, profiled, &result);
    return opencl_check(opencl, result, "creating a queue", error);
}

static const grove_device_operations operations = {
    .allocate = opencl_allocate,
    .release = opencl_release,
    .upload = opencl_upload,
    .download = opencl_download,
    .copy = opencl_copy,
    .clear = opencl_clear,
    .ready = opencl_ready,
    .prepare = opencl_prepare,
    .launch = opencl_launch,
    .wait = opencl_wait,
    .trim = opencl_trim,
    .extent = opencl_extent,
    .pin = opencl_pin,
    .free = opencl_free,
};

static grove_device *open_device(int index, uint64_t limit, grove_error *error)
{
    candidate found[MAX_DEVICES];
    const int count = list(found, error);
    const double began = grove_now();
    int code = 0;

    if (!count)
        return NULL;
    opencl_device *opencl = grove_alloc(sizeof(*opencl));
    grove_device *device = &opencl->device;
    pthread_mutex_init(&opencl->launching, NULL);
    pthread_mutex_init(&opencl->lock, NULL);
    snprintf(device->name, sizeof(device->name), "opencl:%d", index);
    device->operations = &operations;
    device->compiles = true;
    device->algebra = &opencl_algebra;
    device->budget.limit = limit;
    device->timing.attribute = attribute;
    device->timing.collect = collect_all;
    opencl_memory_open(opencl);
    if (index < 0 || index >= count)
        code = grove_fail(error, GROVE_MISSING, "%s: there is no such device", device->name);
    else
        code = start(opencl, &found[index], error);
    device->timing.open_seconds = grove_now() - began;
    if (!code)
        return device;
    opencl_free(device);
    return NULL;
}

extern const grove_device_kind grove_opencl_api;
const grove_device_kind grove_opencl_api = {GROVE_DEVICE_KIND_VERSION, count_devices, first_gpu,
                                            open_device};
