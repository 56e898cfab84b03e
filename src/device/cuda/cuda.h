/* The CUDA device: declarations that its files share. It has three streams: kernels, uploads,
 * downloads. Events order them where they use the same block. */
#ifndef GROVE_DEVICE_CUDA_CUDA_H
#define GROVE_DEVICE_CUDA_CUDA_H

#include "device/code.h"
#include "device/cuda/driver.h"
#include "device/cuda/libraries.h"
#include "device/device.h"
#include "device/launch.h"
#include "device/pool.h"

#include <pthread.h>

/* Two events around work on a stream, and the counters to which its time is added. */
typedef struct {
    cuda_event began, ended;
    grove_busy_kind kind;
    grove_busy *to; /* or NULL */
} cuda_span;

typedef struct {
    pthread_mutex_t lock;    /* the innermost lock */
    cuda_span *spans, *free; /* spans not read yet; events to be reused */
    size_t count, capacity, free_count, free_capacity;
    size_t collect_at; /* at this number of spans, complete ones are read */
} cuda_timing;

typedef grove_pool_block cuda_block; /* its event is a cuda_event */

/* A pinned staging buffer for copies. */
typedef struct {
    void *at;
    cuda_event event;
    bool recorded;
} cuda_staging;

enum { CUDA_STAGING_COUNT = 4 };
#define CUDA_STAGING_BYTES ((size_t)4 << 20)
/* Copies of this size or more need no staging if the host's memory is pinned. */
#define CUDA_DIRECT_DOWN ((size_t)1 << 20)
#define CUDA_DIRECT_UP   (CUDA_STAGING_COUNT * CUDA_STAGING_BYTES)

typedef struct {
    cuda_stream stream;
    pthread_mutex_t lock; /* one copy in each direction at a time */
    cuda_staging staging[CUDA_STAGING_COUNT];
} cuda_copier;

typedef struct {
    grove_device device;
    cuda_driver driver;
    int handle;
    int capability;   /* 90: compute 9.0 */
    uint64_t peers;   /* bits of the handles of devices to which access was asked for */
    uint64_t threads; /* that can be resident on all multiprocessors together */
    uint64_t stack;   /* bytes of local memory of a thread that the context has from the start */
    cuda_context context;
    cuda_stream compute;
    cuda_copier up, down;

    pthread_mutex_t launching; /* for kernels and index arrays; the outermost lock */
    pthread_mutex_t lock;      /* for the pool and the counters; innermost */
    grove_pool pool;
    int arriving; /* number of blocks in use; read without the lock */

    grove_code code;
    grove_index_arrays index_arrays;

    cuda_libraries libraries; /* with the lock `launching` held */
    cuda_timing timing;
} cuda_device;

static inline cuda_device *cuda_of(grove_device *device)
{
    return (cuda_device *)(void *)device;
}

/* Makes the device's context current in this thread, and restores the previous one. */
int cuda_enter(cuda_device *cuda, grove_error *error);
void cuda_leave(cuda_device *cuda);
/* 0, or a message "cuda:0: DOING: reason" and GROVE_NO_MEMORY or GROVE_DEVICE. */
int cuda_check(cuda_device *cuda, int result, const char *doing, grove_error *error);

/* The pool (pool.c). The block that holds an address, or NULL: with the lock held. */
cuda_block *cuda_find(cuda_device *cuda, const void *at);
void cuda_pool_open(cuda_device *cuda);
int cuda_allocate(grove_device *device, size_t bytes, bool staging, void **at, grove_error *error);
void cuda_release(grove_device *device, void *at, size_t bytes);
void cuda_trim(grove_device *device);
size_t cuda_extent(grove_device *device, const void *at);
/* Counts local memory of `each` bytes for each thread; GROVE_NO_MEMORY if the budget forbids it. */
int cuda_count_local(cuda_device *cuda, int each, grove_error *error);
/* Records the block's event in a stream. Requires the lock and the context. */
int cuda_record(cuda_device *cuda, cuda_block *block, cuda_stream stream, grove_error *error);

/* Copies (copy.c). */
int cuda_copier_open(cuda_device *cuda, cuda_copier *copier, grove_error *error);
void cuda_copier_close(cuda_device *cuda, cuda_copier *copier);
int cuda_upload(grove_device *device, void *to, const void *from, size_t bytes, grove_error *error);
int cuda_download(grove_device *device, void *to, const void *from, size_t bytes,
                  grove_error *error);
int cuda_copy(grove_device *device, void *to, grove_device *source, const void *from, size_t bytes,
              grove_error *error);
int cuda_ready(grove_device *device, void *at, grove_error *error);
int cuda_clear(grove_device *device, void *at, size_t bytes, grove_error *error);
int cuda_pin(grove_device *device, void *at, size_t bytes, bool pinned);

/* Kernels (launch.c). */
int cuda_launch(grove_device *device, const grove_kernel *kernel, const grove_args *args,
                bool double_precision, grove_error *error);
int cuda_prepare(grove_device *device, const grove_kernel *kernel, bool double_precision,
                 grove_error *error);
void cuda_drop_index_arrays(cuda_device *cuda);
void cuda_unload(cuda_device *cuda);
/* The kernel's function; loads its module if needed. Requires the context. */
int cuda_kernel_find(cuda_device *cuda, const grove_kernel *kernel,
                     const int32_t tuned[GROVE_TUNABLES], bool double_precision,
                     cuda_function *function, grove_error *error);

/* NVIDIA's compiler (compiler.c), with the lock `launching` held. Whether it is there, for the
 * driver's version. */
bool cuda_compiler_exists(cuda_device *cuda);
/* Machine code for the device of the text in a file, after constants ("#define BLOCK 64" a line).
 * It is kept in the user's cache folder. Caller frees. NULL with a message. */
char *cuda_compile(cuda_device *cuda, const char *path, const char *constants, grove_error *error);

/* Times (timing.c): begin and end of work on a stream, in the context. False when times are not
 * measured; end is then not called. */
bool cuda_timing_begin(cuda_device *cuda, cuda_stream stream, cuda_span *span);
void cuda_timing_end(cuda_device *cuda, cuda_stream stream, cuda_span *span, grove_busy_kind kind);
void cuda_timing_attribute(grove_device *device, grove_busy *to);
int cuda_timing_collect(grove_device *device, grove_error *error);
void cuda_timing_close(cuda_device *cuda);

/* Algebra (algebra.c). */
extern const grove_algebra cuda_algebra;
void cuda_algebra_close(cuda_device *cuda);

#endif
