#include "device/pool.h"

#include "base/memory.h"
#include "device/device.h"

#include <string.h>

/* Index of the first block after address `at`. */
static size_t find_after(const grove_pool *pool, uintptr_t at)
{
    size_t low = 0, high = pool->count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (pool->blocks[middle].at <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

grove_pool_block *grove_pool_find(grove_pool *pool, const void *at)
{
    uintptr_t address = (uintptr_t)at;
    size_t after = find_after(pool, address);

    if (after == 0 || address - pool->blocks[after - 1].at >= pool->blocks[after - 1].bytes)
        return NULL;
    return &pool->blocks[after - 1];
}

size_t grove_pool_extent(grove_pool *pool, const void *at)
{
    const grove_pool_block *block = grove_pool_find(pool, at);

    return block ? block->at + block->bytes - (uintptr_t)at : 0;
}

void grove_pool_drop(grove_pool *pool, grove_pool_block *block)
{
    size_t k = (size_t)(block - pool->blocks);

    pool->free(pool->device, block);
    grove_budget_drop(&pool->device->budget, block->bytes);
    memmove(block, block + 1, (pool->count - k - 1) * sizeof(*block));
    pool->count--;
}

bool grove_pool_drop_smallest(grove_pool *pool)
{
    grove_pool_block *found = NULL;

    for (size_t k = 0; k < pool->count; k++)
        if (!pool->blocks[k].busy && (!found || pool->blocks[k].bytes < found->bytes))
            found = &pool->blocks[k];
    if (found)
        grove_pool_drop(pool, found);
    return found != NULL;
}

static grove_pool_block *reuse(grove_pool *pool, size_t bytes, bool staging)
{
    grove_device *device = pool->device;
    grove_pool_block *best = NULL;

    for (size_t k = 0; k < pool->count; k++) {
        grove_pool_block *block = &pool->blocks[k];
        if (block->busy || (staging && block->epoch + 2 > device->epoch))
            continue;
        if (grove_block_is_better(&device->budget.rule, bytes, block->bytes,
                                  best ? best->bytes : 0) ||
            (best && block->bytes == best->bytes && block->epoch < best->epoch))
            best = block;
    }
    if (best) {
        best->busy = best->fresh = true;
        grove_budget_reuse(&device->budget, best->bytes);
    }
    return best;
}

/* 0, GROVE_NO_MEMORY without a message, or another code with one. */
static int new_block(grove_pool *pool, size_t bytes, grove_pool_block **block, grove_error *error)
{
    grove_budget *budget = &pool->device->budget;
    uintptr_t at = 0;
    int code;

    while (!grove_budget_allows(budget, bytes))
        if (!grove_pool_drop_smallest(pool))
            return GROVE_NO_MEMORY;
    while ((code = pool->allocate(pool->device, bytes, &at, error)) == GROVE_NO_MEMORY)
        if (!grove_pool_drop_smallest(pool))
            break;
    if (code)
        return code;
    size_t k = find_after(pool, at);
    grove_grow((void **)&pool->blocks, &pool->capacity, pool->count, sizeof(**block));
    memmove(&pool->blocks[k + 1], &pool->blocks[k], (pool->count - k) * sizeof(**block));
    pool->count++;
    pool->blocks[k] = (grove_pool_block){.at = at, .bytes = bytes, .busy = true, .fresh = true};
    grove_budget_take(budget, bytes);
    *block = &pool->blocks[k];
    return 0;
}

int grove_pool_take(grove_pool *pool, size_t bytes, bool staging, grove_pool_block **block,
                    grove_error *error)
{
    grove_device *device = pool->device;
    size_t taken = grove_device_block_bytes(device, bytes);
    int code = taken ? 0 : GROVE_NO_MEMORY;

    staging = staging && device->epoch && taken >= device->budget.rule.large &&
              grove_budget_allows(&device->budget, taken);
    *block = taken ? reuse(pool, taken, staging) : NULL;
    if (taken && !*block)
        code = new_block(pool, taken, block, error);
    if (code == GROVE_NO_MEMORY)
        grove_budget_fail(&device->budget, device->name, bytes, error);
    return code;
}

void grove_pool_release(grove_pool *pool, grove_pool_block *block)
{
    block->busy = false;
    block->epoch = pool->device->epoch;
    grove_budget_release(&pool->device->budget, block->bytes);
}
