/* Devices: one small table per device; `cpu` is always there. */
#ifndef GROVE_DEVICE_DEVICE_H
#define GROVE_DEVICE_DEVICE_H

#include "base/error.h"
#include "base/threads.h"
#include "cell.h"
#include "device/algebra.h"
#include <stdbool.h>
#include <stdint.h>

/* Seconds that a device was busy with kernels, with copies to it and with copies from it. */
typedef struct {
    double kernels, up, down;
} grove_busy;

struct grove_device {
    char name[16];           /* "cpu", "cuda:0" */
    bool shares_host_memory; /* buffers are plain host memory; upload and download are never called
                              */

    /* Memory, 64-byte aligned (large pages where that pays), from a pool: released blocks are kept
     * for reuse. Returns GROVE_NO_MEMORY with a message when `limit` would be exceeded or the
     * system refuses. */
    int (*allocate)(grove_device *device, size_t bytes, void **at, grove_error *error);
    void (*release)(grove_device *device, void *at, size_t bytes);
    int (*upload)(grove_device *device, void *to, const void *from, size_t bytes,
                  grove_error *error);
    int (*download)(grove_device *device, void *to, const void *from, size_t bytes,
                    grove_error *error);
    /* Runs a cell function over all cells of args. */
    int (*launch)(grove_device *device, const grove_kernel *kernel, const grove_args *args,
                  bool double_precision, grove_error *error);
    /* Loads a kernel before it is launched: GROVE_MISSING when the device has no code for it,
     * GROVE_DEVICE when it does not take the code. Why is said the first time, then it is
     * GROVE_MISSING without a message. NULL on the cpu, which runs every cell function. */
    int (*prepare)(grove_device *device, const grove_kernel *kernel, bool double_precision,
                   grove_error *error);
    int (*wait)(grove_device *device, grove_error *error);
    void (*free)(grove_device *device);

    grove_threads *threads; /* cpu: its pool, owned */
    /* Devices with memory of their own: the cpu whose budget pays for what buffers of this device
     * have on the host, which outlives them; NULL: nobody's. */
    grove_device *host;
    /* Counters and the budget, kept by allocate and release. Bytes in use by live buffers, kept for
     * reuse, and the highest sum of both; limit 0: none. */
    uint64_t in_use, pooled, peak, limit;
    uint64_t allocations, launches, bytes_up, bytes_down;

    /* Devices with memory of their own; NULL on others. `ready`: whatever is launched from now on
     * finds what was uploaded to `at`. `clear`: zeroes bytes. */
    int (*ready)(grove_device *device, void *at, grove_error *error);
    /* As allocate, for what is uploaded at once: large blocks that were released in this turn or
     * the one before, which kernels may still hold, are left alone where the limit allows new ones.
     * Turns are counted by whoever runs one tile after the other; while they are 0 it is allocate.
     */
    int (*allocate_apart)(grove_device *device, size_t bytes, void **at, grove_error *error);
    uint64_t turn;
    int (*clear)(grove_device *device, void *at, size_t bytes, grove_error *error);
    void (*trim)(grove_device *device);
    /* Makes memory of the host such that copies go straight there and from there, or, with `pinned`
     * false, what it was. 0, or the driver's code. */
    int (*pin)(grove_device *device, void *at, size_t bytes, bool pinned);
    /* While `timed` is set: `busy` is what settle has last found, which waits for all that was
     * queued. What a thread asks for after it has called `bill` is also added there (NULL:
     * nowhere), at a settle at the latest. */
    bool timed;
    grove_busy busy;
    /* Seconds of the host: opening it, and loading code for it since. */
    double open_seconds, load_seconds;
    void (*bill)(grove_device *device, grove_busy *to);
    int (*settle)(grove_device *device, grove_error *error);
    uint64_t system_allocations;  /* of those allocations, the ones the pool did not have */
    char description[96];         /* "NVIDIA H200, compute 9.0, 139 GiB"; empty: the cpu */
    const grove_algebra *algebra; /* NULL on the cpu */
};

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
enum { GROVE_CUDA_VERSION = 6 };

/* The cpu with `threads` threads (0: all). Never NULL. Safe for use from the evaluating, the
 * reading and the writing thread. */
grove_device *grove_device_cpu(int threads);
void grove_device_free(grove_device *device); /* NULL is fine */
/* Gives pooled blocks back to the system, and on a device what it keeps of index arrays. */
void grove_device_trim(grove_device *device);
/* Whether bytes of the host lie in a large block of the cpu that is pinned, by `device` if by none
 * yet; blocks stay so until they go back to the system. */
bool grove_device_pinned(grove_device *cpu, grove_device *device, const void *at, size_t bytes);
/* Before `device` goes: undoes what it has pinned. */
void grove_device_unpin(grove_device *cpu, const grove_device *device);

#endif
