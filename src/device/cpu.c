/* The cpu as a device: a memory pool, and cell functions on threads. */
#include "device/device.h"

#include "base/memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EVERY_BLOCK_ITS_OWN 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define EVERY_BLOCK_ITS_OWN 1
#endif
/* With AddressSanitizer nothing is pooled or rounded up, so that it sees every invalid access. The
 * budget counts as usual. */
#ifndef EVERY_BLOCK_ITS_OWN
#define EVERY_BLOCK_ITS_OWN 0
#endif

enum { ALIGN = 64, SMALLEST = 256, SMALL_CLASSES = 12, PROBE = 32 };
#define LARGE ((size_t)1 << 19) /* blocks from this size on are in the list of large ones */
#define HUGE  ((size_t)1 << 21)
#define PAGE  ((size_t)1 << 12)
static const grove_block_rule rule = {SMALLEST, LARGE, PAGE};

typedef struct small {
    struct small *next;
} small;

typedef struct {
    void *at;
    grove_extent extent;
    bool busy;
    bool tried;           /* the device that pins it */
    grove_device *pinner; /* NULL: not pinned */
} large;

typedef struct {
    grove_device device;
    pthread_mutex_t lock;
    small *free_blocks[SMALL_CLASSES]; /* free blocks of 256 B, 512 B, ... */
    large *blocks;
    size_t block_count, block_capacity;
} cpu;

static int small_class(size_t bytes)
{
    int k = 0;

    while (((size_t)SMALLEST << k) < bytes)
        k++;
    return k;
}

static void *map_pages(size_t bytes)
{
    size_t spare = bytes >= HUGE ? HUGE : 0;
    char *at =
        mmap(NULL, bytes + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (at == MAP_FAILED)
        return NULL;
    if (!spare)
        return at;
    size_t before = (HUGE - (uintptr_t)at % HUGE) % HUGE;
    if (before)
        munmap(at, before);
    if (spare > before)
        munmap(at + before + bytes, spare - before);
    madvise(at + before, bytes, MADV_HUGEPAGE);
    return at + before;
}

static void unpin(large *block)
{
    if (block->pinner)
        grove_device_pin(block->pinner, block->at, block->extent.bytes, false);
    block->pinner = NULL;
    block->tried = false;
}

static void add_large(cpu *c, void *at, const grove_extent *extent)
{
    grove_grow((void **)&c->blocks, &c->block_capacity, c->block_count, sizeof(large));
    c->blocks[c->block_count++] = (large){.at = at, .extent = *extent, .busy = true};
}

static void remove_large(cpu *c, large *block)
{
    unpin(block);
    *block = c->blocks[--c->block_count];
}

/* Returns a free large block to the system. */
static void drop(cpu *c, large *free_block)
{
    const large block = *free_block;

    remove_large(c, free_block);
    if (block.extent.gaps.written)
        grove_free_gaps(block.at);
    else
        munmap(block.at, block.extent.bytes);
    grove_budget_drop(&c->device.budget, grove_extent_memory(&block.extent));
}

/* The smallest first: larger ones are more useful. */
static bool drop_one(cpu *c)
{
    size_t found = c->block_count;

    for (size_t i = 0; i < c->block_count; i++)
        if (!c->blocks[i].busy &&
            (found == c->block_count || c->blocks[i].extent.bytes < c->blocks[found].extent.bytes))
            found = i;
    if (found == c->block_count)
        return false;
    drop(c, &c->blocks[found]);
    return true;
}

static void drop_small(cpu *c)
{
    for (int k = 0; k < SMALL_CLASSES; k++)
        while (c->free_blocks[k]) {
            small *block = c->free_blocks[k];
            c->free_blocks[k] = block->next;
            grove_budget_drop(&c->device.budget, (size_t)SMALLEST << k);
            free(block);
        }
}

static bool make_room(cpu *c, size_t bytes)
{
    const grove_budget *budget = &c->device.budget;

    while (!grove_budget_allows(budget, bytes)) {
        if (!budget->pooled)
            return false;
        if (!drop_one(c))
            drop_small(c);
    }
    return true;
}

static void *reuse_small(cpu *c, size_t bytes)
{
    small **list = &c->free_blocks[small_class(bytes)], *block = *list;

    if (block) {
        *list = block->next;
        grove_budget_reuse(&c->device.budget, bytes);
    }
    return block;
}

/* A block from the pool, or NULL. A block with other gaps is not reused but freed: its pages would
 * stay in memory besides the written ones. */
static void *reuse_large(cpu *c, const grove_extent *request)
{
    large *best = NULL;

    for (size_t i = 0; i < c->block_count; i++) {
        large *block = &c->blocks[i];
        if (!block->busy &&
            grove_extent_is_better(&rule, request, &block->extent, best ? &best->extent : NULL))
            best = block;
    }
    if (!best)
        return NULL;
    if (!grove_extent_fills(request, &best->extent)) {
        drop(c, best);
        return NULL;
    }
    best->busy = true;
    grove_budget_reuse(&c->device.budget, grove_extent_memory(&best->extent));
    return best->at;
}

/* A new block for a request of `bytes`, or NULL. */
static void *new_block(cpu *c, const grove_extent *taken, size_t bytes)
{
    void *at = NULL;

    if (!make_room(c, grove_extent_memory(taken)))
        return NULL;
    if (EVERY_BLOCK_ITS_OWN || taken->bytes < LARGE) {
        if (posix_memalign(&at, ALIGN, EVERY_BLOCK_ITS_OWN ? bytes + !bytes : taken->bytes))
            return NULL;
    } else {
        at = taken->gaps.written ? grove_try_alloc_gaps(taken->bytes) : map_pages(taken->bytes);
    }
    if (at && taken->bytes >= LARGE)
        add_large(c, at, taken);
    if (at)
        grove_budget_take(&c->device.budget, grove_extent_memory(taken));
    return at;
}

int grove_device_allocate_gaps(grove_device *device, const grove_extent *request, void **at,
                               grove_error *error)
{
    cpu *c = (cpu *)device;
    const grove_extent taken = {grove_device_block_bytes(device, request->bytes), request->gaps};
    int code = 0;

    pthread_mutex_lock(&c->lock);
    *at = !taken.bytes          ? NULL
          : taken.bytes < LARGE ? reuse_small(c, taken.bytes)
                                : reuse_large(c, &taken);
    if (!*at && !(taken.bytes && (*at = new_block(c, &taken, request->bytes))))
        code = grove_budget_fail(&device->budget, device->name, request->bytes, error);
    pthread_mutex_unlock(&c->lock);
    return code;
}

/* The host needs no staging: a released block is free at once. */
static int cpu_allocate(grove_device *device, size_t bytes, bool staging, void **at,
                        grove_error *error)
{
    (void)staging;
    return grove_device_allocate_gaps(device, &(grove_extent){.bytes = bytes}, at, error);
}

static large *find_large(cpu *c, const void *at)
{
    for (size_t i = 0; i < c->block_count; i++)
        if (c->blocks[i].at == at)
            return &c->blocks[i];
    return NULL;
}

static void cpu_release(grove_device *device, void *at, size_t bytes)
{
    cpu *c = (cpu *)device;
    size_t taken = grove_device_block_bytes(device, bytes);

    if (!at)
        return;
    pthread_mutex_lock(&c->lock);
    large *block = taken >= LARGE ? find_large(c, at) : NULL;
    if (block)
        taken = grove_extent_memory(&block->extent);
    grove_budget_release(&device->budget, taken);
    if (EVERY_BLOCK_ITS_OWN) {
        if (block)
            remove_large(c, block);
        free(at);
        grove_budget_drop(&device->budget, taken);
    } else if (block) {
        block->busy = false;
    } else {
        small *first = at;
        first->next = c->free_blocks[small_class(taken)];
        c->free_blocks[small_class(taken)] = first;
    }
    pthread_mutex_unlock(&c->lock);
}

bool grove_device_pinned(grove_device *device, grove_device *pinner, const void *at, size_t bytes)
{
    cpu *c = (cpu *)device;
    uintptr_t first = (uintptr_t)at;
    bool pinned = false;

    pthread_mutex_lock(&c->lock);
    for (size_t k = 0; k < c->block_count; k++) {
        large *block = &c->blocks[k];
        uintptr_t offset = first - (uintptr_t)block->at;
        const size_t all = block->extent.bytes;
        if (first < (uintptr_t)block->at || offset >= all || bytes > all - offset)
            continue;
        if (!block->tried && !grove_device_pin(pinner, block->at, all, true))
            block->pinner = pinner;
        block->tried = true;
        pinned = block->pinner != NULL;
        break;
    }
    pthread_mutex_unlock(&c->lock);
    return pinned;
}

void grove_device_unpin(grove_device *device, const grove_device *pinner)
{
    cpu *c = (cpu *)device;

    pthread_mutex_lock(&c->lock);
    for (size_t k = 0; k < c->block_count; k++)
        if (c->blocks[k].pinner == pinner)
            unpin(&c->blocks[k]);
    pthread_mutex_unlock(&c->lock);
}

static void cpu_trim(grove_device *device)
{
    cpu *c = (cpu *)device;

    pthread_mutex_lock(&c->lock);
    while (drop_one(c))
        ;
    drop_small(c);
    pthread_mutex_unlock(&c->lock);
}

static int cpu_copy(grove_device *device, void *to, const void *from, size_t bytes,
                    grove_error *error)
{
    (void)device;
    (void)error;
    memcpy(to, from, bytes);
    return 0;
}

typedef struct {
    grove_cells_fn fn;
    const grove_args *args;
    int64_t first;
} launch_state;

static void run_piece(void *context, int64_t first, int64_t last)
{
    const launch_state *launch = context;

    launch->fn(launch->args, launch->first + first, launch->first + last);
}

/* Computes a few cells in this thread and times them. The rest goes to the threads only if that
 * pays. */
static int cpu_launch(grove_device *device, const grove_kernel *kernel, const grove_args *args,
                      bool double_precision, grove_error *error)
{
    int64_t cells = kernel->threads ? kernel->threads(args) : grove_args_cells(args);
    int64_t threads = grove_threads_count(device->threads);
    launch_state launch = {double_precision ? kernel->double_precision : kernel->single_precision,
                           args, PROBE};

    (void)error;
    device->launches++;
    if (threads == 1 || cells <= PROBE) {
        if (cells > 0)
            launch.fn(args, 0, cells);
        return 0;
    }
    const double piece = 20e-6;
    double began = grove_now();
    launch.fn(args, 0, PROBE);
    double each = (grove_now() - began) / PROBE + 1e-12;
    int64_t rest = cells - PROBE, min_grain = rest / (16 * threads) + 1;
    if ((double)rest * each < 1.5 * piece) {
        launch.fn(args, PROBE, cells);
        return 0;
    }
    double grain = piece / each;
    grove_parallel(device->threads, rest,
                   grain < (double)min_grain ? min_grain
                   : grain < (double)rest    ? (int64_t)grain
                                             : rest,
                   run_piece, &launch);
    return 0;
}

static int cpu_clear(grove_device *device, void *at, size_t bytes, grove_error *error)
{
    (void)device;
    (void)error;
    memset(at, 0, bytes);
    return 0;
}

/* Copies are complete when they return. */
static int cpu_ready(grove_device *device, void *at, grove_error *error)
{
    (void)device;
    (void)at;
    (void)error;
    return 0;
}

static int cpu_prepare(grove_device *device, const grove_kernel *kernel, bool double_precision,
                       grove_error *error)
{
    if (double_precision ? kernel->double_precision : kernel->single_precision)
        return 0;
    return grove_fail(error, GROVE_MISSING, "%s: %s is for other devices", device->name,
                      kernel->name);
}

/* Nothing to wait for. */
static int cpu_pin(grove_device *device, void *at, size_t bytes, bool pinned)
{
    (void)device;
    (void)at;
    (void)bytes;
    (void)pinned;
    return 0;
}

static int cpu_wait(grove_device *device, grove_error *error)
{
    (void)device;
    (void)error;
    return 0;
}

static void cpu_free(grove_device *device)
{
    cpu *c = (cpu *)device;

    grove_threads_free(device->threads);
    cpu_trim(device);
    pthread_mutex_destroy(&c->lock);
    free(c->blocks);
    free(c);
}

static int cpu_copy_between(grove_device *device, void *to, grove_device *source, const void *from,
                            size_t bytes, grove_error *error)
{
    (void)source;
    return cpu_copy(device, to, from, bytes, error);
}

static const grove_device_operations operations = {
    .allocate = cpu_allocate,
    .release = cpu_release,
    .upload = cpu_copy,
    .download = cpu_copy,
    .copy = cpu_copy_between,
    .clear = cpu_clear,
    .ready = cpu_ready,
    .prepare = cpu_prepare,
    .launch = cpu_launch,
    .wait = cpu_wait,
    .trim = cpu_trim,
    .pin = cpu_pin,
    .free = cpu_free,
};

grove_device *grove_device_cpu(int threads)
{
    cpu *c = grove_alloc(sizeof(*c));
    grove_device *device = &c->device;

    strcpy(device->name, "cpu");
    device->shares_host_memory = true;
    device->operations = &operations;
    device->algebra = &grove_algebra_host;
    device->budget.rule = rule;
    device->threads = grove_threads_new(threads);
    pthread_mutex_init(&c->lock, NULL);
    return device;
}
