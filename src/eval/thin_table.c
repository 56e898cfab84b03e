/* Values by key. Those of the present tile stay until they were read as often as they will be;
 * those that another tile can use stay under a byte budget, the least valuable per byte leaving
 * first. */
#include "eval/thin_state.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    grove_hash key;
    grove_value *value; /* NULL: an empty or deleted place */
    bool kept, deleted;
    int reads;
    double seconds; /* to compute it again */
    uint64_t bytes, used;
} entry;

struct grove_table {
    entry *entries; /* open addressing; the size is a power of two */
    size_t size, count, taken;
    uint64_t budget, bytes, clock, evictions;
};

grove_table *grove_table_new(uint64_t budget)
{
    grove_table *table = grove_alloc(sizeof(*table));

    table->size = 256;
    table->entries = grove_alloc(table->size * sizeof(entry));
    table->budget = budget;
    return table;
}

static entry *place(const grove_table *table, grove_hash key)
{
    entry *free_place = NULL;

    for (size_t i = key.a;; i++) {
        entry *at = &table->entries[i & (table->size - 1)];
        if (at->value && grove_hash_equal(at->key, key))
            return at;
        if (!at->value && !free_place)
            free_place = at;
        if (!at->value && !at->deleted)
            return free_place;
    }
}

static void drop(grove_table *table, entry *at)
{
    if (at->kept)
        table->bytes -= at->bytes;
    grove_value_unref(at->value);
    at->value = NULL;
    at->deleted = true;
    table->count--;
}

void grove_table_clear(grove_table *table)
{
    for (size_t i = 0; i < table->size; i++)
        if (table->entries[i].value)
            drop(table, &table->entries[i]);
    memset(table->entries, 0, table->size * sizeof(entry));
    table->taken = 0;
}

void grove_table_free(grove_table *table)
{
    if (!table)
        return;
    grove_table_clear(table);
    free(table->entries);
    free(table);
}

static void rebuild(grove_table *table)
{
    entry *old = table->entries;
    size_t size = table->size;

    while (table->size < 4 * table->count)
        table->size *= 2;
    table->entries = grove_alloc(table->size * sizeof(entry));
    table->taken = table->count;
    for (size_t i = 0; i < size; i++)
        if (old[i].value)
            *place(table, old[i].key) = old[i];
    free(old);
}

grove_value *grove_table_find(grove_table *table, grove_hash key)
{
    entry *at = place(table, key);

    if (!at->value)
        return NULL;
    grove_value *value = grove_value_ref(at->value);
    at->used = ++table->clock;
    if (at->reads > 0 && --at->reads == 0 && !at->kept)
        drop(table, at);
    return value;
}

/* Worth of keeping: seconds saved per byte, less for what was not used for long. */
static double worth(const grove_table *table, const entry *at)
{
    return (at->seconds + 1e-7) / (double)(at->bytes + 64) /
           (double)(1 + (table->clock - at->used) / 64);
}

static void evict(grove_table *table)
{
    while (table->bytes > table->budget) {
        entry *least = NULL;
        for (size_t i = 0; i < table->size; i++) {
            entry *at = &table->entries[i];
            if (at->value && at->kept && (!least || worth(table, at) < worth(table, least)))
                least = at;
        }
        if (!least)
            return;
        drop(table, least);
        table->evictions++;
    }
}

void grove_table_add(grove_table *table, grove_hash key, grove_value *value, bool kept, int reads,
                     double seconds)
{
    if (2 * table->taken >= table->size)
        rebuild(table);
    entry *at = place(table, key);
    if (at->value)
        return;
    table->taken += !at->deleted;
    *at = (entry){.key = key,
                  .value = grove_value_ref(value),
                  .kept = kept,
                  .reads = reads,
                  .seconds = seconds,
                  .bytes = grove_value_bytes(value),
                  .used = ++table->clock};
    table->count++;
    if (kept) {
        table->bytes += at->bytes;
        evict(table);
    }
}

void grove_table_end_tile(grove_table *table)
{
    for (size_t i = 0; i < table->size; i++)
        if (table->entries[i].value && !table->entries[i].kept)
            drop(table, &table->entries[i]);
}

uint64_t grove_table_evictions(const grove_table *table)
{
    return table->evictions;
}

uint64_t grove_table_bytes(const grove_table *table)
{
    return table->bytes;
}
