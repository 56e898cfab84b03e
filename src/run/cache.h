/* The cache: values by the hash of their content, within a budget of bytes. */
#ifndef GROVE_RUN_CACHE_H
#define GROVE_RUN_CACHE_H

#include "unstable/hash.h"
#include "value/value.h"

typedef struct grove_cache grove_cache;

grove_cache *grove_cache_new(uint64_t budget);
void grove_cache_free(grove_cache *cache);

/* The key of a node's value over some ranges. */
grove_hash grove_cache_key(grove_hash node, const grove_range *range, int axes);
/* A reference the caller drops, or NULL. */
grove_value *grove_cache_find(grove_cache *cache, grove_hash key);
/* Caches `value` of the node with key `node`, which took `seconds` to compute. If the budget is
 * exceeded, values of lowest worth are dropped. */
void grove_cache_put(grove_cache *cache, grove_hash key, grove_hash node, grove_value *value,
                     double seconds);
/* Drops all values of a node. */
void grove_cache_forget(grove_cache *cache, grove_hash node);
/* Drops values of lowest worth until `bytes` are free, or nothing is left, on the host (device
 * NULL) or on a device; true if any were dropped. On a device, values in use stay, and only the
 * copy is dropped if the host has the value too; on the host, values that only a device has stay.
 */
bool grove_cache_shrink(grove_cache *cache, grove_device *device, uint64_t bytes);

typedef struct {
    uint64_t hits, misses, evictions, bytes, budget;
} grove_cache_counters;
grove_cache_counters grove_cache_count(const grove_cache *cache);

#endif
