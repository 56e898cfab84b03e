/* The pool of a device's memory: blocks that were released are kept for reuse. */
#ifndef GROVE_DEVICE_POOL_H
#define GROVE_DEVICE_POOL_H

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct grove_device grove_device;

typedef struct {
    uintptr_t at;
    size_t bytes;
    bool busy;      /* in use */
    uint64_t epoch; /* the device's epoch at its release */
    /* Of devices with several queues. The event was recorded after the last write to the block by a
     * kernel, after its last upload, or when it was released (after everything queued before). */
    void *event;
    bool recorded; /* the event was recorded */
    bool arriving; /* it is in the queue of uploads, and kernels have not waited for it yet */
    bool fresh;    /* nothing was launched on the block since its allocation */
} grove_pool_block;

typedef struct {
    grove_device *device;     /* its budget is charged */
    grove_pool_block *blocks; /* by address */
    size_t count, capacity;
    /* A new block of the driver: 0, GROVE_NO_MEMORY without a message, or another code with one. */
    int (*allocate)(grove_device *device, size_t bytes, uintptr_t *at, grove_error *error);
    /* Returns a block to the driver, after its last use. */
    void (*free)(grove_device *device, grove_pool_block *block);
} grove_pool;

/* All functions require the device's lock.
 *
 * The block that holds an address, or NULL. */
grove_pool_block *grove_pool_find(grove_pool *pool, const void *at);
/* Bytes from an address to the end of its block; 0: there is none. */
size_t grove_pool_extent(grove_pool *pool, const void *at);
/* A block for a request, in use: the best-fitting free block (of equal ones the one released
 * first), else a new one. `staging`: not a block that kernels of this epoch or the previous one may
 * use. GROVE_NO_MEMORY when the budget or the driver refuses, or the driver's error. */
int grove_pool_take(grove_pool *pool, size_t bytes, bool staging, grove_pool_block **block,
                    grove_error *error);
/* A block in use is free for reuse. */
void grove_pool_release(grove_pool *pool, grove_pool_block *block);
/* Returns a free block to the driver; the smallest free block, false if there is none. */
void grove_pool_drop(grove_pool *pool, grove_pool_block *block);
bool grove_pool_drop_smallest(grove_pool *pool);

#endif
