/* The memory budget of a device: rounding of requests to blocks, reuse of free blocks, and the
 * bytes that are in use, kept for reuse, and allowed. */
#ifndef GROVE_DEVICE_BUDGET_H
#define GROVE_DEVICE_BUDGET_H

#include "base/error.h"
#include "unstable/hash.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Requests below `large` bytes are rounded up to a power of two, at least `smallest`; others to
 * whole pages of `page` bytes. */
typedef struct {
    size_t smallest, large, page;
} grove_block_rule;

typedef struct {
    grove_block_rule rule;
    uint64_t in_use;             /* bytes of blocks in use */
    uint64_t pooled;             /* bytes of free blocks kept for reuse */
    uint64_t peak;               /* maximum of used and kept bytes together */
    uint64_t limit;              /* of both together; 0: none */
    uint64_t allocations;        /* blocks allocated so far ... */
    uint64_t system_allocations; /* ... and those among them that were new to the pool */
} grove_budget;

/* Pages of a block that are never written, since they are of rows missing in a set: they take no
 * memory. */
typedef struct {
    uint64_t written; /* bytes in the other pages; 0: no gaps */
    grove_hash key;   /* blocks of the same size and key have the same gaps */
} grove_gaps;

/* A block, or a request for one. */
typedef struct {
    size_t bytes; /* of addresses */
    grove_gaps gaps;
} grove_extent;

/* The bytes that count. */
static inline size_t grove_extent_memory(const grove_extent *extent)
{
    return extent->gaps.written ? extent->gaps.written : extent->bytes;
}

/* Whether the block has the request's gaps, or the request has none. */
bool grove_extent_fills(const grove_extent *request, const grove_extent *block);
/* Whether a free block is a better fit for a request than `best` (NULL: none yet): one with gaps
 * for one with gaps, the same if possible. */
bool grove_extent_is_better(const grove_block_rule *rule, const grove_extent *request,
                            const grove_extent *block, const grove_extent *best);

/* The size of the block for a request; 0 if it overflows. */
size_t grove_block_bytes(const grove_block_rule *rule, size_t bytes);
/* Whether a free block of `block` bytes is a better fit for a request of `needed` bytes than one of
 * `best` bytes (0: none yet). Large blocks may be up to twice as large as requested. */
bool grove_block_is_better(const grove_block_rule *rule, size_t needed, size_t block, size_t best);

/* Whether the limit allows a new block of `bytes` bytes. */
bool grove_budget_allows(const grove_budget *budget, size_t bytes);
/* A block moves from the system to a user, from the pool to a user, from a user to the pool, or
 * from the pool to the system. */
void grove_budget_take(grove_budget *budget, size_t bytes);
void grove_budget_reuse(grove_budget *budget, size_t bytes);
void grove_budget_release(grove_budget *budget, size_t bytes);
void grove_budget_drop(grove_budget *budget, size_t bytes);
/* Bytes besides all blocks are in use from now on. */
void grove_budget_reserve(grove_budget *budget, uint64_t bytes);
/* GROVE_NO_MEMORY, with a message that names the request and the device. */
int grove_budget_fail(const grove_budget *budget, const char *device, size_t bytes,
                      grove_error *error);

#endif
