/* Small host allocations that end the process when they fail, and arenas. Bulk data comes from
 * devices. */
#ifndef GROVE_BASE_MEMORY_H
#define GROVE_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* For descriptors, names, lists: a failure ends the process with a message. Sizes that come from
 * user files must use grove_try_alloc. The memory is zeroed. */
void *grove_alloc(size_t bytes);
void *grove_realloc(void *old, size_t bytes);
void *grove_copy(const void *from, size_t bytes);

/* count * size bytes, zeroed, or NULL when the product overflows or memory is short. */
void *grove_try_alloc(size_t count, size_t size);
/* The same of `bytes` bytes, in small pages: pages that are never written take no memory, even
 * where the system prefers large pages, or has less memory than all of them. Freed by
 * grove_free_gaps. */
void *grove_try_alloc_gaps(size_t bytes);
void grove_free_gaps(void *at); /* NULL is fine */

/* For growing arrays: makes room for one more item than `count` in *items (item_size bytes each) by
 * doubling; *capacity is maintained here. */
void grove_grow(void **items, size_t *capacity, size_t count, size_t item_size);

/* An arena: all its allocations live until it is freed. */
typedef struct grove_arena grove_arena;
grove_arena *grove_arena_new(void);
void grove_arena_free(grove_arena *arena);
void *grove_arena_alloc(grove_arena *arena, size_t bytes); /* zeroed, aligned for any type */
void *grove_arena_copy(grove_arena *arena, const void *from, size_t bytes);
char *grove_arena_text(grove_arena *arena, const char *text);
char *grove_arena_format(grove_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* For qsort: doubles in ascending order. */
int grove_compare_numbers(const void *a, const void *b);

/* Bytes that this process may still use without swapping: the minimum of the free memory of the
 * system, the control group and the resource limits. */
uint64_t grove_memory_available(void);
/* Whether memory that is not written to counts for nothing: not where the system, or a resource
 * limit, counts addresses. */
bool grove_memory_supports_gaps(void);
/* Gives memory that was freed back to the system: larger blocks could not use it. */
void grove_memory_trim(void);
/* Resident bytes of this process, without memory that was freed, which is used again. */
uint64_t grove_memory_resident(void);

#endif
