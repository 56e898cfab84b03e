/* The part of the CUDA driver API that is used. Its binary interface is stable, so it is declared
 * here: the module builds without CUDA's headers and libraries. */
#ifndef GROVE_DEVICE_CUDA_DRIVER_H
#define GROVE_DEVICE_CUDA_DRIVER_H

#include "base/error.h"
#include <stddef.h>

typedef unsigned long long cuda_address;
typedef struct CUctx_st *cuda_context;
typedef struct CUstream_st *cuda_stream;
typedef struct CUevent_st *cuda_event;
typedef struct CUmod_st *cuda_module;
typedef struct CUfunc_st *cuda_function;

enum {
    CUDA_OUT_OF_MEMORY = 2,
    CUDA_NOT_FOUND = 500,
    CUDA_NOT_READY = 600,
    CUDA_MULTIPROCESSORS = 16, /* device attributes */
    CUDA_MAX_THREADS = 39,     /* of a multiprocessor */
    CUDA_COMPUTE_MAJOR = 75,
    CUDA_COMPUTE_MINOR = 76,
    CUDA_LOCAL_BYTES = 3,  /* function attribute: of a thread */
    CUDA_STACK = 0,        /* limit of a context: local memory of a thread */
    CUDA_NON_BLOCKING = 1, /* streams */
    CUDA_NO_TIMING = 2,    /* events */
    CUDA_PORTABLE = 1      /* pinned memory, allocated or registered */
};

/* field name, symbol in the library, arguments; all return a CUresult, 0 for success. */
/* clang-format off */
#define CUDA_DRIVER_FUNCTIONS(f) \
    f(init, "cuInit", (unsigned flags)) \
    f(version, "cuDriverGetVersion", (int *version)) \
    f(error_string, "cuGetErrorString", (int code, const char **text)) \
    f(device_count, "cuDeviceGetCount", (int *count)) \
    f(device_get, "cuDeviceGet", (int *device, int number)) \
    f(device_name, "cuDeviceGetName", (char *name, int length, int device)) \
    f(device_place, "cuDeviceGetPCIBusId", (char *place, int length, int device)) \
    f(device_attribute, "cuDeviceGetAttribute", (int *value, int attribute, int device)) \
    f(context_retain, "cuDevicePrimaryCtxRetain", (cuda_context *context, int device)) \
    f(context_release, "cuDevicePrimaryCtxRelease_v2", (int device)) \
    f(context_push, "cuCtxPushCurrent_v2", (cuda_context context)) \
    f(context_pop, "cuCtxPopCurrent_v2", (cuda_context *context)) \
    f(context_limit, "cuCtxGetLimit", (size_t *value, int limit)) \
    f(memory_info, "cuMemGetInfo_v2", (size_t *available, size_t *total)) \
    f(memory_allocate, "cuMemAlloc_v2", (cuda_address *at, size_t bytes)) \
    f(memory_free, "cuMemFree_v2", (cuda_address at)) \
    f(host_allocate, "cuMemHostAlloc", (void **at, size_t bytes, unsigned flags)) \
    f(host_register, "cuMemHostRegister_v2", (void *at, size_t bytes, unsigned flags)) \
    f(host_unregister, "cuMemHostUnregister", (void *at)) \
    f(host_free, "cuMemFreeHost", (void *at)) \
    f(copy_up, "cuMemcpyHtoDAsync_v2", (cuda_address to, const void *from, size_t bytes, \
      cuda_stream stream)) \
    f(copy_down, "cuMemcpyDtoHAsync_v2", (void *to, cuda_address from, size_t bytes, \
      cuda_stream stream)) \
    f(copy_peer, "cuMemcpyPeerAsync", (cuda_address to, cuda_context to_context, \
      cuda_address from, cuda_context from_context, size_t bytes, cuda_stream stream)) \
    f(peer_possible, "cuDeviceCanAccessPeer", (int *possible, int device, int peer)) \
    f(peer_enable, "cuCtxEnablePeerAccess", (cuda_context peer, unsigned flags)) \
    f(clear, "cuMemsetD8Async", (cuda_address at, unsigned char byte, size_t bytes, \
      cuda_stream stream)) \
    f(stream_create, "cuStreamCreate", (cuda_stream *stream, unsigned flags)) \
    f(stream_destroy, "cuStreamDestroy_v2", (cuda_stream stream)) \
    f(stream_synchronize, "cuStreamSynchronize", (cuda_stream stream)) \
    f(stream_wait, "cuStreamWaitEvent", (cuda_stream stream, cuda_event event, unsigned flags)) \
    f(event_create, "cuEventCreate", (cuda_event *event, unsigned flags)) \
    f(event_destroy, "cuEventDestroy_v2", (cuda_event event)) \
    f(event_record, "cuEventRecord", (cuda_event event, cuda_stream stream)) \
    f(event_elapsed, "cuEventElapsedTime", (float *milliseconds, cuda_event from, \
      cuda_event to)) \
    f(event_synchronize, "cuEventSynchronize", (cuda_event event)) \
    f(module_load, "cuModuleLoad", (cuda_module *module, const char *path)) \
    f(module_load_data, "cuModuleLoadData", (cuda_module *module, const void *binary)) \
    f(module_unload, "cuModuleUnload", (cuda_module module)) \
    f(module_function, "cuModuleGetFunction", (cuda_function *function, cuda_module module, \
      const char *name)) \
    f(function_attribute, "cuFuncGetAttribute", (int *value, int attribute, \
      cuda_function function)) \
    f(module_global, "cuModuleGetGlobal_v2", (cuda_address *at, size_t *bytes, \
      cuda_module module, const char *name)) \
    f(launch, "cuLaunchKernel", (cuda_function function, unsigned grid_x, unsigned grid_y, \
      unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z, \
      unsigned shared_bytes, cuda_stream stream, void **arguments, void **extra))
/* clang-format on */

typedef struct {
    void *library;
#define CUDA_DRIVER_FIELD(name, symbol, arguments) int(*name) arguments;
    CUDA_DRIVER_FUNCTIONS(CUDA_DRIVER_FIELD)
#undef CUDA_DRIVER_FIELD
} cuda_driver;

/* Opens the driver: libcuda.so.1, or the file named by the environment variable GROVE_CUDA_DRIVER.
 * With the reason, GROVE_MISSING when there is no driver or no device, GROVE_DEVICE when the driver
 * is too old for the kernels of this build. */
int cuda_driver_open(cuda_driver *driver, grove_error *error);
/* Text of a CUresult; static or owned by the driver. */
const char *cuda_driver_text(const cuda_driver *driver, int result);

#endif
