/* Devices: one small table per device; `cpu` is always there. */
#ifndef GROVE_DEVICE_DEVICE_H
#define GROVE_DEVICE_DEVICE_H

#include "base/error.h"
#include "base/threads.h"
#include "cell.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct grove_device grove_device;

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
    int (*wait)(grove_device *device, grove_error *error);
    void (*free)(grove_device *device);

    grove_threads *threads; /* cpu: its pool, owned */
    /* Counters and the budget, kept by allocate and release. Bytes in use by live buffers, kept for
     * reuse, and the highest sum of both; limit 0: none. */
    uint64_t in_use, pooled, peak, limit;
    uint64_t allocations, launches, bytes_up, bytes_down;
};

/* The cpu with `threads` threads (0: all). Never NULL. Safe for use from the evaluating, the
 * reading and the writing thread. */
grove_device *grove_device_cpu(int threads);
void grove_device_free(grove_device *device); /* NULL is fine */
/* Gives pooled blocks back to the system. */
void grove_device_trim(grove_device *device);

#endif
