/* OpenCL devices: declarations that their files share. Memory is coarse-grained shared virtual
 * memory, whose addresses kernels' arguments hold. One queue takes all work in order, so nothing
 * need wait for anything else. */
#ifndef GROVE_DEVICE_OPENCL_OPENCL_H
#define GROVE_DEVICE_OPENCL_OPENCL_H

#include "device/code.h"
#include "device/device.h"
#include "device/launch.h"
#include "device/pool.h"

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <pthread.h>

/* Work whose time has not been read yet. */
typedef struct {
    cl_event event;
    grove_busy_kind kind;
    grove_busy *to; /* or NULL */
} opencl_span;

typedef struct {
    grove_device device;
    cl_device_id id;
    cl_context context;
    cl_command_queue queue;
    bool generic;        /* pointers need no address space */
    const char *options; /* of its compiler */

    pthread_mutex_t launching; /* for kernels and index arrays; the outer lock */
    pthread_mutex_t lock;      /* for the pool, counters and times; inner */
    grove_pool pool;
    grove_code code;
    grove_index_arrays index_arrays;
    struct opencl_plan *plans; /* of Fourier transforms */
    int plan_count;
    opencl_span *spans;
    size_t span_count, span_capacity;
} opencl_device;

static inline opencl_device *opencl_of(grove_device *device)
{
    return (opencl_device *)(void *)device;
}

/* 0, or a message "opencl:0: DOING: reason" and GROVE_NO_MEMORY or GROVE_DEVICE. */
int opencl_check(opencl_device *opencl, cl_int result, const char *doing, grove_error *error);

/* Memory (memory.c). */
void opencl_memory_open(opencl_device *opencl);
int opencl_allocate(grove_device *device, size_t bytes, bool staging, void **at,
                    grove_error *error);
void opencl_release(grove_device *device, void *at, size_t bytes);
void opencl_trim(grove_device *device);
size_t opencl_extent(grove_device *device, const void *at);
int opencl_upload(grove_device *device, void *to, const void *from, size_t bytes,
                  grove_error *error);
int opencl_download(grove_device *device, void *to, const void *from, size_t bytes,
                    grove_error *error);
int opencl_copy(grove_device *device, void *to, grove_device *source, const void *from,
                size_t bytes, grove_error *error);
int opencl_clear(grove_device *device, void *at, size_t bytes, grove_error *error);

/* Kernels (kernels.c). */
int opencl_prepare(grove_device *device, const grove_kernel *kernel, bool double_precision,
                   grove_error *error);
int opencl_launch(grove_device *device, const grove_kernel *kernel, const grove_args *args,
                  bool double_precision, grove_error *error);
void opencl_drop_index_arrays(opencl_device *opencl);
void opencl_unload(opencl_device *opencl);

/* Fourier transforms and matrix products (algebra.c). */
extern const grove_algebra opencl_algebra;
void opencl_algebra_close(opencl_device *opencl);

/* Times (device.c): takes ownership of the event of work just queued, or NULL. */
void opencl_timed(opencl_device *opencl, cl_event event, grove_busy_kind kind);

#endif
