#include "run/cache.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    grove_hash key, node;
    grove_value *value; /* NULL: an empty slot */
    uint64_t bytes;
    double worth; /* seconds per byte, plus the age at its last use */
    double seconds;
} entry;

/* A hash table with open addressing and linear probing. `age` is the worth of the last value
 * dropped: as it rises, unused values fall below new ones (the ageing of GreedyDual, Cao & Irani
 * 1997). */
struct grove_cache {
    entry *slots;
    size_t capacity, count; /* capacity: a power of two */
    double age;
    grove_cache_counters counters;
};

grove_cache *grove_cache_new(uint64_t budget)
{
    grove_cache *cache = grove_alloc(sizeof(*cache));

    cache->counters.budget = budget;
    cache->capacity = 64;
    cache->slots = grove_alloc(cache->capacity * sizeof(entry));
    return cache;
}

void grove_cache_free(grove_cache *cache)
{
    if (!cache)
        return;
    for (size_t i = 0; i < cache->capacity; i++)
        grove_value_unref(cache->slots[i].value);
    free(cache->slots);
    free(cache);
}

grove_hash grove_cache_key(grove_hash node, const grove_range *range, int axes)
{
    int64_t words[2 * GROVE_MAX_AXES];

    for (int d = 0; d < axes; d++) {
        words[2 * d] = range[d].first;
        words[2 * d + 1] = range[d].count;
    }
    return grove_hash_add(node, words, (size_t)axes * 2 * sizeof(int64_t));
}

/* The slot of the key, or the empty slot where it would be inserted. */
static size_t slot_of(const grove_cache *cache, grove_hash key)
{
    size_t at = (size_t)key.a & (cache->capacity - 1);

    while (cache->slots[at].value && !grove_hash_equal(cache->slots[at].key, key))
        at = (at + 1) & (cache->capacity - 1);
    return at;
}

static double worth_of(const grove_cache *cache, double seconds, uint64_t bytes)
{
    return cache->age + seconds / (double)(bytes + 1);
}

grove_value *grove_cache_find(grove_cache *cache, grove_hash key)
{
    entry *found = &cache->slots[slot_of(cache, key)];

    if (!found->value) {
        cache->counters.misses++;
        return NULL;
    }
    cache->counters.hits++;
    found->worth = worth_of(cache, found->seconds, found->bytes);
    return grove_value_ref(found->value);
}

/* Empties a slot and moves later entries of its probe sequence up. */
static void take_out(grove_cache *cache, size_t hole)
{
    size_t mask = cache->capacity - 1;

    cache->counters.bytes -= cache->slots[hole].bytes;
    cache->count--;
    grove_value_unref(cache->slots[hole].value);
    for (size_t at = (hole + 1) & mask; cache->slots[at].value; at = (at + 1) & mask) {
        size_t home = (size_t)cache->slots[at].key.a & mask;
        if (((at - home) & mask) < ((at - hole) & mask))
            continue;
        cache->slots[hole] = cache->slots[at];
        hole = at;
    }
    memset(&cache->slots[hole], 0, sizeof(entry));
}

/* Memory that dropping a value must free: any, its numbers on the host, or at least its flags on
 * the host. */
typedef enum { ANYWHERE, HOST_NUMBERS, HOST_FLAGS } hold;

static uint64_t held(const entry *e, hold place)
{
    if (place == HOST_NUMBERS)
        return grove_buffer_is_on(e->value->data, NULL) ? e->bytes : 0;
    if (place == HOST_FLAGS)
        return e->value->flags ? grove_buffer_bytes(e->value->flags) : 0;
    return e->bytes;
}

/* Drops the value of lowest worth that frees such memory; returns the freed bytes. */
static uint64_t evict(grove_cache *cache, hold place)
{
    size_t lowest = cache->capacity;

    for (size_t i = 0; i < cache->capacity; i++)
        if (cache->slots[i].value && held(&cache->slots[i], place) &&
            (lowest == cache->capacity || cache->slots[i].worth < cache->slots[lowest].worth))
            lowest = i;
    if (lowest == cache->capacity)
        return 0;
    uint64_t bytes = held(&cache->slots[lowest], place);
    cache->age = cache->slots[lowest].worth;
    cache->counters.evictions++;
    take_out(cache, lowest);
    return bytes;
}

/* Frees a value's memory on a device: its copy there if the host has it too, else the whole value.
 */
static void drop_from(grove_cache *cache, size_t at, grove_device *device)
{
    entry *e = &cache->slots[at];

    grove_buffer_drop(e->value->data, device);
    if (!grove_buffer_is_on(e->value->data, device))
        return;
    cache->age = e->worth > cache->age ? e->worth : cache->age;
    cache->counters.evictions++;
    take_out(cache, at);
}

static bool shrink_on(grove_cache *cache, grove_device *device, uint64_t bytes)
{
    uint64_t gone = 0;

    while (gone < bytes) {
        size_t lowest = cache->capacity;
        for (size_t i = 0; i < cache->capacity; i++) {
            const entry *e = &cache->slots[i];
            if (e->value && e->value->references == 1 && grove_buffer_is_sole(e->value->data) &&
                grove_buffer_is_on(e->value->data, device) &&
                (lowest == cache->capacity || e->worth < cache->slots[lowest].worth))
                lowest = i;
        }
        if (lowest == cache->capacity)
            break;
        gone += grove_buffer_bytes(cache->slots[lowest].value->data);
        drop_from(cache, lowest, device);
    }
    return gone > 0;
}

/* First drops copies on the host of values on devices, then any value. */
static uint64_t drop_host_copies(grove_cache *cache, uint64_t bytes)
{
    uint64_t gone = 0;

    for (size_t i = 0; i < cache->capacity && gone < bytes; i++) {
        grove_value *value = cache->slots[i].value;
        if (!value || value->references != 1 || !grove_buffer_is_sole(value->data) ||
            !grove_buffer_is_on(value->data, NULL))
            continue;
        grove_buffer_drop(value->data, NULL);
        if (!grove_buffer_is_on(value->data, NULL))
            gone += grove_buffer_bytes(value->data);
    }
    return gone;
}

bool grove_cache_shrink(grove_cache *cache, grove_device *device, uint64_t bytes)
{
    if (device)
        return shrink_on(cache, device, bytes);
    uint64_t gone = drop_host_copies(cache, bytes), more = 1;
    for (hold place = HOST_NUMBERS; place <= HOST_FLAGS; place++, more = 1)
        while (gone < bytes && (more = evict(cache, place)))
            gone += more;
    return gone > 0;
}

static void enlarge(grove_cache *cache)
{
    entry *old = cache->slots;
    size_t count = cache->capacity;

    cache->capacity *= 2;
    cache->slots = grove_alloc(cache->capacity * sizeof(entry));
    for (size_t i = 0; i < count; i++)
        if (old[i].value)
            cache->slots[slot_of(cache, old[i].key)] = old[i];
    free(old);
}

void grove_cache_forget(grove_cache *cache, grove_hash node)
{
    for (size_t i = 0; i < cache->capacity;)
        if (cache->slots[i].value && grove_hash_equal(cache->slots[i].node, node))
            take_out(cache, i); /* it may hold another entry now */
        else
            i++;
}

void grove_cache_put(grove_cache *cache, grove_hash key, grove_hash node, grove_value *value,
                     double seconds)
{
    uint64_t bytes = grove_value_bytes(value);
    entry new = {key, node, value, bytes, worth_of(cache, seconds, bytes), seconds};

    if (bytes > cache->counters.budget || cache->slots[slot_of(cache, key)].value)
        return;
    while (cache->counters.bytes + bytes > cache->counters.budget && evict(cache, ANYWHERE))
        ;
    if (2 * (cache->count + 1) > cache->capacity)
        enlarge(cache);
    grove_value_ref(value);
    cache->slots[slot_of(cache, key)] = new;
    cache->count++;
    cache->counters.bytes += bytes;
}

grove_cache_counters grove_cache_count(const grove_cache *cache)
{
    return cache->counters;
}
