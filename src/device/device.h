/* Devices: where arrays live and kernels run. `cpu`, the host, is always there. */
#ifndef GROVE_DEVICE_DEVICE_H
#define GROVE_DEVICE_DEVICE_H

#include "base/error.h"
#include "base/threads.h"
#include "cell.h"
#include "device/algebra.h"
#include "device/budget.h"
#include "device/timing.h"
#include <stdbool.h>
#include <stdint.h>

/* What every device can do: the same table for the host and for devices with memory of their own.
 * Functions that return int give 0 or a code, with a message. Calls are safe from the evaluating,
 * the reading and the writing thread. */
typedef struct {
    /* Memory, 64-byte aligned, from a pool: released blocks are kept for reuse. GROVE_NO_MEMORY
     * where the budget or the system refuses. Kernels that were queued before the release finish
     * before a new user's work begins. */
    int (*allocate)(grove_device *device, size_t bytes, bool staging, void **at,
                    grove_error *error);
    void (*release)(grove_device *device, void *at, size_t bytes);
    int (*upload)(grove_device *device, void *to, const void *from, size_t bytes,
                  grove_error *error);
    int (*download)(grove_device *device, void *to, const void *from, size_t bytes,
                    grove_error *error);
    int (*clear)(grove_device *device, void *at, size_t bytes, grove_error *error);
    int (*ready)(grove_device *device, void *at, grove_error *error);
    int (*prepare)(grove_device *device, const grove_kernel *kernel, bool double_precision,
                   grove_error *error);
    int (*launch)(grove_device *device, const grove_kernel *kernel, const grove_args *args,
                  bool double_precision, grove_error *error);
    int (*wait)(grove_device *device, grove_error *error);
    void (*trim)(grove_device *device);
    int (*pin)(grove_device *device, void *at, size_t bytes, bool pinned);
    void (*free)(grove_device *device);
} grove_device_operations;

struct grove_device {
    char name[16];           /* "cpu", "cuda:0" */
    char description[96];    /* "NVIDIA H200, compute 9.0, 139 GiB"; empty: the cpu */
    bool shares_host_memory; /* its addresses are the host's: nothing need be copied */
    const grove_device_operations *operations;
    const grove_algebra *algebra;
    grove_threads *threads; /* cpu: its pool, owned */
    /* Devices with memory of their own: the cpu whose budget pays for what buffers of this device
     * have on the host, which outlives them; NULL: nobody's. */
    grove_device *host;
    grove_budget budget;
    grove_timing timing;
    uint64_t launches, bytes_up, bytes_down; /* so far */
    /* Counted by whoever runs one tile after the other; see grove_device_allocate_staging. */
    uint64_t epoch;
};

static inline int grove_device_allocate(grove_device *device, size_t bytes, void **at,
                                        grove_error *error)
{
    return device->operations->allocate(device, bytes, false, at, error);
}

/* For bytes that are uploaded at once: large blocks released in this epoch or in the one before
 * are not reused while the budget allows new ones, since kernels may still read those and the
 * upload would wait for them. In epoch 0 it is grove_device_allocate. */
static inline int grove_device_allocate_staging(grove_device *device, size_t bytes, void **at,
                                                grove_error *error)
{
    return device->operations->allocate(device, bytes, true, at, error);
}

/* `bytes` as allocated; `at` NULL is fine. */
static inline void grove_device_release(grove_device *device, void *at, size_t bytes)
{
    device->operations->release(device, at, bytes);
}

/* The bytes of the host may change when it returns. */
static inline int grove_device_upload(grove_device *device, void *to, const void *from,
                                      size_t bytes, grove_error *error)
{
    return device->operations->upload(device, to, from, bytes, error);
}

/* The bytes are there when it returns, after all that was queued before. */
static inline int grove_device_download(grove_device *device, void *to, const void *from,
                                        size_t bytes, grove_error *error)
{
    return device->operations->download(device, to, from, bytes, error);
}

/* Zeroes bytes, queued behind what was launched. */
static inline int grove_device_clear(grove_device *device, void *at, size_t bytes,
                                     grove_error *error)
{
    return device->operations->clear(device, at, bytes, error);
}

/* Orders kernels behind copies: what is launched from now on finds what was uploaded to the block
 * that holds `at`. */
static inline int grove_device_ready(grove_device *device, void *at, grove_error *error)
{
    return device->operations->ready(device, at, error);
}

/* Loads a kernel before it is launched: GROVE_MISSING when the device has no code for it,
 * GROVE_DEVICE when it does not take the code, GROVE_ABI when the code is for another Grove. Why is
 * said the first time, then it is GROVE_MISSING without a message. */
static inline int grove_device_prepare(grove_device *device, const grove_kernel *kernel,
                                       bool double_precision, grove_error *error)
{
    return device->operations->prepare(device, kernel, double_precision, error);
}

/* Queues a kernel over all cells of args, whose views hold addresses of this device. */
static inline int grove_device_launch(grove_device *device, const grove_kernel *kernel,
                                      const grove_args *args, bool double_precision,
                                      grove_error *error)
{
    return device->operations->launch(device, kernel, args, double_precision, error);
}

/* Until all that was queued is done. */
static inline int grove_device_wait(grove_device *device, grove_error *error)
{
    return device->operations->wait(device, error);
}

/* Gives pooled blocks back to the system, and on a device what it keeps of index arrays. */
static inline void grove_device_trim(grove_device *device)
{
    device->operations->trim(device);
}

/* Makes memory of the host such that copies go straight there and from there, or, with `pinned`
 * false, what it was. 0, or the driver's code. */
static inline int grove_device_pin(grove_device *device, void *at, size_t bytes, bool pinned)
{
    return device->operations->pin(device, at, bytes, pinned);
}

/* What a request of so many bytes really takes of the device's budget; 0 where none can hold it. */
static inline size_t grove_device_block_bytes(const grove_device *device, size_t bytes)
{
    return grove_block_bytes(&device->budget.rule, bytes);
}

/* A device by kind: "cpu" (index: threads, 0 for all) or "cuda" (index counts from 0), with a
 * budget in bytes for allocate (0: cpu none, cuda nine tenths of what is free now). NULL with the
 * reason when it is not there: GROVE_MISSING no such kind, module, driver or device;
 * GROVE_NO_MEMORY, GROVE_DEVICE when it fails. */
grove_device *grove_device_open(const char *kind, int index, uint64_t limit, grove_error *error);
/* How many devices of a kind there are; 0 with the reason. */
int grove_device_count(const char *kind, grove_error *error);

/* What the module cuda.so exports as grove_cuda_api. */
typedef struct {
    int version; /* GROVE_CUDA_VERSION */
    int (*count)(grove_error *error);
    grove_device *(*open)(int index, uint64_t limit, grove_error *error);
} grove_cuda;
enum { GROVE_CUDA_VERSION = 7 };

/* The cpu with `threads` threads (0: all). Never NULL. */
grove_device *grove_device_cpu(int threads);
void grove_device_free(grove_device *device); /* NULL is fine */
/* Whether bytes of the host lie in a large block of the cpu that is pinned, by `device` if by none
 * yet; blocks stay so until they go back to the system. */
bool grove_device_pinned(grove_device *cpu, grove_device *device, const void *at, size_t bytes);
/* Before `device` goes: undoes what it has pinned. */
void grove_device_unpin(grove_device *cpu, const grove_device *device);

#endif
