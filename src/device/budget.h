/* The memory budget of a device: how requests are rounded to blocks, which free block is reused,
 * and how many bytes are in use, kept for reuse, and allowed. */
#ifndef GROVE_DEVICE_BUDGET_H
#define GROVE_DEVICE_BUDGET_H

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Requests below `large` bytes take the next power of two, at least `smallest`; others take whole
 * pages of `page` bytes. */
typedef struct {
    size_t smallest, large, page;
} grove_block_rule;

typedef struct {
    grove_block_rule rule;
    uint64_t in_use;             /* bytes of blocks that are handed out */
    uint64_t pooled;             /* bytes of free blocks, kept for reuse */
    uint64_t peak;               /* highest sum of both */
    uint64_t limit;              /* of both; 0: none */
    uint64_t allocations;        /* blocks handed out so far ... */
    uint64_t system_allocations; /* ... and those among them that the pool did not have */
} grove_budget;

/* What a request really takes; 0 where no size can hold it. */
size_t grove_block_bytes(const grove_block_rule *rule, size_t bytes);
/* Whether a free block of `block` bytes is to be reused for a request that takes `wanted`, rather
 * than one of `best` bytes (0: none yet). Large blocks may be up to twice as large as wanted. */
bool grove_block_is_better(const grove_block_rule *rule, size_t wanted, size_t block, size_t best);

/* Whether the limit allows a new block of so many bytes beside all that are there. */
bool grove_budget_allows(const grove_budget *budget, size_t bytes);
/* A block goes from the system to a user, from the pool to a user, from a user to the pool, and
 * from the pool to the system. */
void grove_budget_take(grove_budget *budget, size_t bytes);
void grove_budget_reuse(grove_budget *budget, size_t bytes);
void grove_budget_release(grove_budget *budget, size_t bytes);
void grove_budget_drop(grove_budget *budget, size_t bytes);
/* GROVE_NO_MEMORY, with a message that says what was asked of which device. */
int grove_budget_fail(const grove_budget *budget, const char *device, size_t bytes,
                      grove_error *error);

#endif
