#include "base/memory.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static void *must(void *at, size_t bytes)
{
    if (!at) {
        fprintf(stderr, "grove: out of memory for %zu bytes\n", bytes);
        abort();
    }
    return at;
}

void *grove_alloc(size_t bytes)
{
    return must(calloc(1, bytes ? bytes : 1), bytes);
}

void *grove_realloc(void *old, size_t bytes)
{
    return must(realloc(old, bytes ? bytes : 1), bytes);
}

void *grove_copy(const void *from, size_t bytes)
{
    void *to = grove_alloc(bytes);

    if (bytes)
        memcpy(to, from, bytes);
    return to;
}

void *grove_try_alloc(size_t count, size_t size)
{
    return calloc(count ? count : 1, size ? size : 1);
}

/* Before the memory is a page with its size. */
void *grove_try_alloc_gaps(size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), all = bytes + page;
    size_t *at = all < bytes ? MAP_FAILED
                             : mmap(NULL, all, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (at == MAP_FAILED)
        return NULL;
#ifdef MADV_NOHUGEPAGE
    madvise(at, all, MADV_NOHUGEPAGE);
#endif
    *at = all;
    return (char *)at + page;
}

void grove_free_gaps(void *memory)
{
    size_t *at = memory ? (size_t *)(void *)((char *)memory - sysconf(_SC_PAGESIZE)) : NULL;

    if (at)
        munmap(at, *at);
}

void grove_grow(void **items, size_t *capacity, size_t count, size_t item_size)
{
    if (count < *capacity)
        return;
    *capacity = count < 8 ? 8 : 2 * count;
    *items = grove_realloc(*items, *capacity * item_size);
}

/* ---- arenas ---- */

enum { BLOCK = 16384, ALIGN = 16 };

typedef struct block {
    struct block *next;
    size_t used, size;
    _Alignas(ALIGN) char bytes[];
} block;

struct grove_arena {
    block *blocks; /* only the first block has free space */
};

grove_arena *grove_arena_new(void)
{
    return grove_alloc(sizeof(grove_arena));
}

void grove_arena_free(grove_arena *arena)
{
    block *at = arena ? arena->blocks : NULL;

    while (at) {
        block *next = at->next;
        free(at);
        at = next;
    }
    free(arena);
}

void *grove_arena_alloc(grove_arena *arena, size_t bytes)
{
    block *first = arena->blocks;
    size_t size = (bytes + ALIGN - 1) / ALIGN * ALIGN;

    if (!size)
        size = ALIGN;
    if (first && first->size - first->used >= size) {
        void *at = first->bytes + first->used;
        first->used += size;
        return at;
    }
    size_t capacity = size > BLOCK / 4 ? size : BLOCK;
    block *new = grove_alloc(sizeof(block) + capacity);
    new->size = capacity;
    new->used = size;
    if (first &&
        capacity == size) { /* a large piece gets a block of its own; keep filling the first */
        new->next = first->next;
        first->next = new;
    } else {
        new->next = first;
        arena->blocks = new;
    }
    return new->bytes;
}

void *grove_arena_copy(grove_arena *arena, const void *from, size_t bytes)
{
    void *to = grove_arena_alloc(arena, bytes);

    if (bytes)
        memcpy(to, from, bytes);
    return to;
}

char *grove_arena_text(grove_arena *arena, const char *text)
{
    return grove_arena_copy(arena, text, strlen(text) + 1);
}

char *grove_arena_format(grove_arena *arena, const char *format, ...)
{
    va_list args, again;

    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = grove_arena_alloc(arena, (size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

/* ---- memory of the process ---- */

/* The number after `key` in a text file such as /proc/meminfo; -1 if there is none ("max"). */
static double read_number(const char *path, const char *key)
{
    char line[256];
    double value = -1;
    FILE *file = fopen(path, "r");

    while (file && fgets(line, sizeof(line), file)) {
        size_t length = key ? strlen(key) : 0;
        if (key && strncmp(line, key, length) != 0)
            continue;
        if (sscanf(line + length, " %lf", &value) != 1)
            value = -1;
        break;
    }
    if (file)
        fclose(file);
    return value;
}

static double smaller(double a, double b)
{
    return b < 0 || a < b ? a : b;
}

static double group_rest(const char *limit, const char *usage)
{
    double max = read_number(limit, NULL), used = read_number(usage, NULL);

    if (max < 0 || used < 0)
        return -1;
    return max > used ? max - used : 0;
}

static double limit_rest(int resource, double used)
{
    struct rlimit limit;

    if (getrlimit(resource, &limit) || limit.rlim_cur == RLIM_INFINITY)
        return -1;
    return (double)limit.rlim_cur > used ? (double)limit.rlim_cur - used : 0;
}

uint64_t grove_memory_available(void)
{
    double rest = read_number("/proc/meminfo", "MemAvailable:") * 1024;

    if (rest < 0)
        rest = 1024.0 * 1024 * 1024;
    rest = smaller(rest, group_rest("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"));
    rest = smaller(rest, group_rest("/sys/fs/cgroup/memory/memory.limit_in_bytes",
                                    "/sys/fs/cgroup/memory/memory.usage_in_bytes"));
    rest = smaller(rest, limit_rest(RLIMIT_AS, read_number("/proc/self/status", "VmSize:") * 1024));
    rest =
        smaller(rest, limit_rest(RLIMIT_DATA, read_number("/proc/self/status", "VmData:") * 1024));
    return (uint64_t)rest;
}

static bool has_limit(int resource)
{
    struct rlimit limit;

    return !getrlimit(resource, &limit) && limit.rlim_cur != RLIM_INFINITY;
}

bool grove_memory_supports_gaps(void)
{
    enum { NEVER = 2 };
    static int known; /* 1: no, 2: yes */
    int supported = __atomic_load_n(&known, __ATOMIC_RELAXED);

    if (!supported) {
        supported = 2 - (has_limit(RLIMIT_AS) || has_limit(RLIMIT_DATA) ||
                         read_number("/proc/sys/vm/overcommit_memory", NULL) == NEVER);
        __atomic_store_n(&known, supported, __ATOMIC_RELAXED);
    }
    return supported == 2;
}

void grove_memory_trim(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

uint64_t grove_memory_resident(void)
{
    grove_memory_trim();
    double kib = read_number("/proc/self/status", "VmRSS:");
    return kib > 0 ? (uint64_t)(kib * 1024) : 0;
}

int grove_compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}
