/* The cache: values by the hash of their content, under a budget of bytes. */
#ifndef GROVE_RUN_CACHE_H
#define GROVE_RUN_CACHE_H

#include "base/hash.h"
#include "value/value.h"

typedef struct grove_cache grove_cache;

grove_cache *grove_cache_new(uint64_t budget);
void grove_cache_free(grove_cache *cache);

/* Key of a node's value over some ranges. */
grove_hash grove_cache_key(grove_hash node, const grove_range *range, int axes);
/* A reference the caller drops, or NULL. */
grove_value *grove_cache_find(grove_cache *cache, grove_hash key);
/* Keeps `value` of the node with key `node`, which took `seconds` to compute. Where the budget is
 * exceeded, values of lowest worth leave. */
void grove_cache_put(grove_cache *cache, grove_hash key, grove_hash node, grove_value *value,
                     double seconds);
/* Drops all values of a node. */
void grove_cache_forget(grove_cache *cache, grove_hash node);
/* Drops values of lowest worth until `bytes` are free, or nothing is left, on the host (device
 * NULL) or on a device; true if any went. A device keeps what others use, and only gives up its
 * copy of what the host has too; the host keeps what only a device has. */
bool grove_cache_shrink(grove_cache *cache, grove_device *device, uint64_t bytes);

typedef struct {
    uint64_t hits, misses, evictions, bytes, budget;
} grove_cache_counters;
grove_cache_counters grove_cache_count(const grove_cache *cache);

#endif
