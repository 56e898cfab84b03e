/* The cpu: memory pool and the launching of cell functions on threads. */
#include "device/device.h"

#include "base/memory.h"
#include "base/text.h"

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
/* With AddressSanitizer nothing is pooled or rounded up, so that it sees every wrong access. */
#ifndef EVERY_BLOCK_ITS_OWN
#define EVERY_BLOCK_ITS_OWN 0
#endif

enum { ALIGN = 64, SMALLEST = 256, SMALL_CLASSES = 12, PROBE = 32 };
#define LARGE ((size_t)1 << 19) /* from here on blocks have a place in the list of large ones */
#define HUGE  ((size_t)1 << 21)
#define PAGE  ((size_t)1 << 12)

typedef struct small {
    struct small *next;
} small;

typedef struct {
    void *at;
    size_t bytes;
    bool busy;
    bool tried;           /* to pin it */
    grove_device *pinner; /* NULL: it is not pinned */
} large;

typedef struct {
    grove_device device;
    pthread_mutex_t lock;
    small *free_blocks[SMALL_CLASSES]; /* of 256 B, 512 B, ... */
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

/* What a request really takes. */
static size_t block_bytes(size_t bytes)
{
    if (EVERY_BLOCK_ITS_OWN)
        return bytes ? bytes : 1;
    if (bytes < LARGE)
        return (size_t)SMALLEST << small_class(bytes);
    return (bytes + PAGE - 1) / PAGE * PAGE;
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
        block->pinner->pin(block->pinner, block->at, block->bytes, false);
    block->pinner = NULL;
    block->tried = false;
}

static void add_large(cpu *c, void *at, size_t bytes)
{
    grove_grow((void **)&c->blocks, &c->block_capacity, c->block_count, sizeof(large));
    c->blocks[c->block_count++] = (large){.at = at, .bytes = bytes, .busy = true};
}

static void remove_large(cpu *c, size_t k)
{
    unpin(&c->blocks[k]);
    c->blocks[k] = c->blocks[--c->block_count];
}

/* Gives a free large block back: the smallest first, since the large ones are worth more. */
static bool drop_one(cpu *c)
{
    size_t found = c->block_count;

    for (size_t i = 0; i < c->block_count; i++)
        if (!c->blocks[i].busy &&
            (found == c->block_count || c->blocks[i].bytes < c->blocks[found].bytes))
            found = i;
    if (found == c->block_count)
        return false;
    large block = c->blocks[found];
    remove_large(c, found);
    munmap(block.at, block.bytes);
    c->device.pooled -= block.bytes;
    return true;
}

static void drop_small(cpu *c)
{
    for (int k = 0; k < SMALL_CLASSES; k++)
        while (c->free_blocks[k]) {
            small *block = c->free_blocks[k];
            c->free_blocks[k] = block->next;
            c->device.pooled -= (size_t)SMALLEST << k;
            free(block);
        }
}

static bool make_room(cpu *c, size_t bytes)
{
    grove_device *device = &c->device;

    while (device->limit && device->in_use + device->pooled + bytes > device->limit) {
        if (!device->pooled)
            return false;
        if (!drop_one(c))
            drop_small(c);
    }
    return true;
}

static void *new_small(cpu *c, size_t bytes)
{
    int k = small_class(bytes);
    small *block = c->free_blocks[k];
    void *at;

    if (block) {
        c->free_blocks[k] = block->next;
        c->device.pooled -= bytes;
        return block;
    }
    return make_room(c, bytes) && !posix_memalign(&at, ALIGN, bytes) ? at : NULL;
}

/* The free block that fits best, if it is not more than twice as large; else a new one. */
static void *new_large(cpu *c, size_t *bytes)
{
    large *best = NULL;

    for (size_t i = 0; i < c->block_count; i++) {
        large *block = &c->blocks[i];
        if (!block->busy && block->bytes >= *bytes && block->bytes / 2 <= *bytes &&
            (!best || block->bytes < best->bytes))
            best = block;
    }
    if (best) {
        best->busy = true;
        *bytes = best->bytes;
        c->device.pooled -= best->bytes;
        return best->at;
    }
    void *at = make_room(c, *bytes) ? map_pages(*bytes) : NULL;
    if (!at)
        return NULL;
    add_large(c, at, *bytes);
    return at;
}

static int cpu_allocate(grove_device *device, size_t bytes, void **at, grove_error *error)
{
    cpu *c = (cpu *)device;
    size_t taken = block_bytes(bytes);
    void *found = NULL;

    pthread_mutex_lock(&c->lock);
    if (EVERY_BLOCK_ITS_OWN) {
        found = make_room(c, taken) && !posix_memalign(&found, ALIGN, taken) ? found : NULL;
        if (found && taken >= LARGE)
            add_large(c, found, taken);
    } else if (bytes < LARGE)
        found = new_small(c, taken);
    else if (taken >= bytes)
        found = new_large(c, &taken);
    if (found) {
        device->allocations++;
        device->in_use += taken;
        if (device->in_use + device->pooled > device->peak)
            device->peak = device->in_use + device->pooled;
    }
    uint64_t in_use = device->in_use, limit = device->limit;
    pthread_mutex_unlock(&c->lock);
    *at = found;
    if (found)
        return 0;
    char want[32], have[32], most[32];
    return grove_fail(error, GROVE_NO_MEMORY,
                      "%s: no memory for %s: %s in use%s%s; allow more, or less at a time",
                      device->name, grove_show_bytes(want, (double)bytes),
                      grove_show_bytes(have, (double)in_use), limit ? " of " : "",
                      limit ? grove_show_bytes(most, (double)limit) : "");
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
    size_t taken = block_bytes(bytes);

    if (!at)
        return;
    pthread_mutex_lock(&c->lock);
    if (EVERY_BLOCK_ITS_OWN) {
        if (taken >= LARGE)
            remove_large(c, (size_t)(find_large(c, at) - c->blocks));
        free(at);
    } else if (bytes < LARGE) {
        small *block = at;
        block->next = c->free_blocks[small_class(taken)];
        c->free_blocks[small_class(taken)] = block;
        device->pooled += taken;
    } else {
        large *block = find_large(c, at);
        taken = block->bytes;
        block->busy = false;
        device->pooled += taken;
    }
    device->in_use -= taken;
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
        if (first < (uintptr_t)block->at || offset >= block->bytes || bytes > block->bytes - offset)
            continue;
        if (!block->tried && !pinner->pin(pinner, block->at, block->bytes, true))
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

/* A few cells are computed here and timed: what is left goes to the threads only if that pays. */
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
    int64_t rest = cells - PROBE, least = rest / (16 * threads) + 1;
    if ((double)rest * each < 1.5 * piece) {
        launch.fn(args, PROBE, cells);
        return 0;
    }
    double grain = piece / each;
    grove_parallel(device->threads, rest,
                   grain < (double)least  ? least
                   : grain < (double)rest ? (int64_t)grain
                                          : rest,
                   run_piece, &launch);
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

grove_device *grove_device_cpu(int threads)
{
    cpu *c = grove_alloc(sizeof(*c));
    grove_device *device = &c->device;

    strcpy(device->name, "cpu");
    device->shares_host_memory = true;
    device->allocate = cpu_allocate;
    device->release = cpu_release;
    device->upload = device->download = cpu_copy;
    device->launch = cpu_launch;
    device->wait = cpu_wait;
    device->free = cpu_free;
    device->trim = cpu_trim;
    device->threads = grove_threads_new(threads);
    pthread_mutex_init(&c->lock, NULL);
    return device;
}
