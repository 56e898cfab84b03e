/* Devices: memory and kernels. `cpu`, the host, always exists. */
#ifndef GROVE_DEVICE_DEVICE_H
#define GROVE_DEVICE_DEVICE_H

#include "base/error.h"
#include "cell.h"
#include "device/algebra.h"
#include "device/budget.h"
#include "device/timing.h"
#include "unstable/threads.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct grove_tuned grove_tuned;
typedef struct grove_tuner grove_tuner;

/* The operations of a device: the same table for the host and for devices with memory of their own.
 * Functions that return int give 0 or a code with a message. Calls are safe from the evaluating,
 * the reading and the writing thread. */
typedef struct {
    /* Memory, 64-byte aligned, from a pool that keeps released blocks for reuse. GROVE_NO_MEMORY
     * when the budget or the system refuses. A new user's work waits for kernels that were queued
     * before the release. */
    int (*allocate)(grove_device *device, size_t bytes, bool staging, void **at,
                    grove_error *error);
    void (*release)(grove_device *device, void *at, size_t bytes);
    int (*upload)(grove_device *device, void *to, const void *from, size_t bytes,
                  grove_error *error);
    int (*download)(grove_device *device, void *to, const void *from, size_t bytes,
                    grove_error *error);
    int (*copy)(grove_device *device, void *to, grove_device *source, const void *from,
                size_t bytes, grove_error *error);
    int (*clear)(grove_device *device, void *at, size_t bytes, grove_error *error);
    int (*ready)(grove_device *device, void *at, grove_error *error);
    int (*prepare)(grove_device *device, const grove_kernel *kernel, bool double_precision,
                   grove_error *error);
    int (*launch)(grove_device *device, const grove_kernel *kernel, const grove_args *args,
                  bool double_precision, grove_error *error);
    int (*wait)(grove_device *device, grove_error *error);
    void (*trim)(grove_device *device);
    int (*pin)(grove_device *device, void *at, size_t bytes, bool pinned);
    /* Bytes from an address to the end of its block; NULL on the cpu. */
    size_t (*extent)(grove_device *device, const void *at);
    void (*free)(grove_device *device);
} grove_device_operations;

struct grove_device {
    char name[16];           /* "cpu", "cuda:0" */
    char description[96];    /* "NVIDIA H200, compute 9.0, 139 GiB"; empty for the cpu */
    char driver[48];         /* its version; empty for the cpu */
    char place[20];          /* on the PCI bus, "0000:3b:00.0"; empty where it has none */
    bool shares_host_memory; /* it uses the host's addresses: nothing need be copied */
    bool compiles;           /* kernels when they run, so that tunables can be constants */
    const grove_device_operations *operations;
    const grove_algebra *algebra;
    grove_threads *threads; /* cpu: its thread pool, owned */
    /* Devices with memory of their own: the cpu whose budget is charged for the host side of this
     * device's buffers, and which outlives them; NULL: none. */
    grove_device *host;
    grove_budget budget;
    /* The bytes in use that the driver takes for the local memory of threads: the maximum over the
     * kernels loaded so far. */
    uint64_t local_bytes;
    grove_timing timing;
    uint64_t launches, bytes_up, bytes_down; /* counters, so far */
    /* Incremented from tile to tile by the run; see grove_device_allocate_staging. */
    uint64_t epoch;
    grove_tuned *tuned; /* configurations of kernels, see device/tuned.h; NULL: not read yet */
    const grove_tuner *tuner; /* takes the place of launches; NULL: none */
};

static inline int grove_device_allocate(grove_device *device, size_t bytes, void **at,
                                        grove_error *error)
{
    return device->operations->allocate(device, bytes, false, at, error);
}

/* Memory for bytes that are uploaded at once. Kernels may still be reading large blocks released in
 * this epoch or the previous one, and an upload into them would wait; so they are not reused while
 * the budget allows new ones. In epoch 0 it is the same as grove_device_allocate. */
static inline int grove_device_allocate_staging(grove_device *device, size_t bytes, void **at,
                                                grove_error *error)
{
    return device->operations->allocate(device, bytes, true, at, error);
}

/* `bytes` as allocated; `at` may be NULL. */
static inline void grove_device_release(grove_device *device, void *at, size_t bytes)
{
    device->operations->release(device, at, bytes);
}

/* Uploads. The host's bytes may change as soon as it returns. */
static inline int grove_device_upload(grove_device *device, void *to, const void *from,
                                      size_t bytes, grove_error *error)
{
    return device->operations->upload(device, to, from, bytes, error);
}

/* Downloads, after all that was queued before; complete when it returns. */
static inline int grove_device_download(grove_device *device, void *to, const void *from,
                                        size_t bytes, grove_error *error)
{
    return device->operations->download(device, to, from, bytes, error);
}

/* Copies from another device of the same kind, not by way of the host where the driver can. After
 * all that was queued before on that device; complete when it returns. */
static inline int grove_device_copy(grove_device *device, void *to, grove_device *source,
                                    const void *from, size_t bytes, grove_error *error)
{
    return device->operations->copy(device, to, source, from, bytes, error);
}

/* Zeroes bytes; queued after earlier launches. */
static inline int grove_device_clear(grove_device *device, void *at, size_t bytes,
                                     grove_error *error)
{
    return device->operations->clear(device, at, bytes, error);
}

/* Makes later launches wait for uploads to the block that holds `at`. */
static inline int grove_device_ready(grove_device *device, void *at, grove_error *error)
{
    return device->operations->ready(device, at, error);
}

/* Loads a kernel before its launch: GROVE_MISSING when there is no code for the device,
 * GROVE_DEVICE when the device refuses the code, GROVE_ABI when the code was compiled for another
 * Grove. The first failure is reported; later ones are GROVE_MISSING without a message. */
static inline int grove_device_prepare(grove_device *device, const grove_kernel *kernel,
                                       bool double_precision, grove_error *error)
{
    return device->operations->prepare(device, kernel, double_precision, error);
}

/* Queues a kernel over all cells of args, whose views have addresses of this device, with the
 * configuration that `grove tune` has found, or the default one. */
int grove_device_launch(grove_device *device, const grove_kernel *kernel, const grove_args *args,
                        bool double_precision, grove_error *error);

/* Waits until all that was queued is done. */
static inline int grove_device_wait(grove_device *device, grove_error *error)
{
    return device->operations->wait(device, error);
}

/* Returns pooled blocks to the system, and frees a device's index arrays. */
static inline void grove_device_trim(grove_device *device)
{
    device->operations->trim(device);
}

/* Pins the host's memory for direct copies or, with `pinned` false, unpins it. 0, or the driver's
 * code. */
static inline int grove_device_pin(grove_device *device, void *at, size_t bytes, bool pinned)
{
    return device->operations->pin(device, at, bytes, pinned);
}

/* The bytes that a request takes of the device's budget; 0 if it overflows. */
static inline size_t grove_device_block_bytes(const grove_device *device, size_t bytes)
{
    return grove_block_bytes(&device->budget.rule, bytes);
}

/* Opens a device by kind: "cpu" (index: threads, 0 for all), "cuda" or "opencl" (index from 0),
 * with a budget in bytes (0: none for cpu, nine tenths of its free memory for others). NULL with
 * the reason: GROVE_MISSING when there is no such kind, module, driver or device; GROVE_NO_MEMORY
 * or GROVE_DEVICE when opening fails. */
grove_device *grove_device_open(const char *kind, int index, uint64_t limit, grove_error *error);
/* The number of devices of a kind; 0 with the reason. */
int grove_device_count(const char *kind, grove_error *error);
/* The first GPU of a kind, which `auto` takes: its index, or -1 with the reason. */
int grove_device_first_gpu(const char *kind, grove_error *error);
/* Kinds of devices with memory of their own, in the order in which `auto` tries them; NULL at the
 * end. */
extern const char *const grove_device_kinds[];

/* The table that the module KIND.so exports as grove_KIND_api. */
typedef struct {
    int version; /* GROVE_DEVICE_KIND_VERSION */
    int (*count)(grove_error *error);
    int (*first_gpu)(grove_error *error);
    grove_device *(*open)(int index, uint64_t limit, grove_error *error);
} grove_device_kind;
enum { GROVE_DEVICE_KIND_VERSION = 13 };

/* A cpu with `threads` threads (0: all). Never NULL. */
grove_device *grove_device_cpu(int threads);
void grove_device_free(grove_device *device); /* NULL is fine */
/* Whether a device is of a kind, "cpu", "cuda". */
bool grove_device_is(const grove_device *device, const char *kind);
/* As grove_device_allocate, and released as such: memory with gaps, in small pages. */
int grove_device_allocate_gaps(grove_device *cpu, const grove_extent *request, void **at,
                               grove_error *error);
/* Whether host bytes are in a large block of the cpu that is pinned, by `device` if by none yet.
 * Blocks stay pinned until they are returned to the system. */
bool grove_device_pinned(grove_device *cpu, grove_device *device, const void *at, size_t bytes);
/* Before `device` is closed: unpins the memory that it has pinned. */
void grove_device_unpin(grove_device *cpu, const grove_device *device);

#endif
