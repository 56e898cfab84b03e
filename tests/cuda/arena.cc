// Device memory: pages that are inaccessible except while a copy or a kernel runs.
#include "tests/common/emulation.h"

#include <cstring>
#include <iterator>
#include <map>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(at, bytes)   ((void)(at), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(at, bytes) ((void)(at), (void)(bytes))
#endif

namespace emulated
{
namespace
{
// What a block takes: with a page that is never open before and after it. It ends as near to the
// closed page behind as CUDA's alignment allows.
struct block {
    char *pages;
    size_t page_bytes, bytes;
    int device;
};
std::map<uintptr_t, block> blocks;
std::map<int, uint64_t> in_use;
int depth;

enum { ALIGN = 256, RUBBISH = 0xff };

size_t page()
{
    static const size_t size = (size_t)sysconf(_SC_PAGESIZE);
    return size;
}

// That takes a system call for each block, most of the time of small kernels: later in a process,
// only one time in so many.
enum { ALWAYS_CLOSED = 32, SELDOM = 8 };
bool closed = true;
uint64_t closings;

void protect(int how)
{
    closed = how == PROT_NONE;
    for (auto &each : blocks)
        mprotect(each.second.pages, each.second.page_bytes, how);
}
} // namespace

opened::opened()
{
    if (depth++ == 0 && closed)
        protect(PROT_READ | PROT_WRITE);
}

opened::~opened()
{
    if (--depth == 0 && (closings++ < ALWAYS_CLOSED || draw(SELDOM) == 0))
        protect(PROT_NONE);
}

void *arena_allocate(int device, size_t bytes, result *code)
{
    size_t open = (bytes + page() - 1) / page() * page();

    *code = out_of_memory;
    if (bytes == 0 || open < bytes) {
        *code = invalid_value;
        return nullptr;
    }
    if (in_use[device] + bytes > control.memory || in_use[device] + bytes < bytes)
        return nullptr;
    char *whole = (char *)mmap(nullptr, open + 2 * page(), PROT_NONE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (whole == MAP_FAILED)
        return nullptr;
    char *pages = whole + page(), *at = pages + (open - bytes) / ALIGN * ALIGN;
    if (!closed)
        mprotect(pages, open, PROT_READ | PROT_WRITE);
    blocks[(uintptr_t)at] = {pages, open, bytes, device};
    in_use[device] += bytes;
    control.blocks++;
    control.block_bytes += (int64_t)bytes;
    opened now;
    // What was never written shows: NaN as a number.
    memset(at, RUBBISH, bytes < ((size_t)1 << 26) ? bytes : (size_t)1 << 26);
    ASAN_POISON_MEMORY_REGION(pages, (size_t)(at - pages));
    ASAN_POISON_MEMORY_REGION(at + bytes, (size_t)(pages + open - at) - bytes);
    *code = success;
    return at;
}

bool arena_free(void *at)
{
    auto found = blocks.find((uintptr_t)at);

    if (found == blocks.end())
        return false;
    block b = found->second;
    blocks.erase(found);
    in_use[b.device] -= b.bytes;
    control.blocks--;
    control.block_bytes -= (int64_t)b.bytes;
    ASAN_UNPOISON_MEMORY_REGION(b.pages, b.page_bytes);
    munmap(b.pages - page(), b.page_bytes + 2 * page());
    return true;
}

static const std::pair<const uintptr_t, block> *find(const void *at)
{
    auto after = blocks.upper_bound((uintptr_t)at);

    return after == blocks.begin() ? nullptr : &*std::prev(after);
}

bool arena_has(const void *at, size_t bytes)
{
    auto *found = find(at);
    size_t offset = found ? (uintptr_t)at - found->first : 0;

    return found && offset <= found->second.bytes && bytes <= found->second.bytes - offset;
}

int arena_device(const void *at)
{
    return arena_has(at, 1) ? find(at)->second.device : -1;
}

// An address a little before a block counts too: views of parts of axes begin there.
bool is_device(const void *at)
{
    for (auto &each : blocks)
        if ((uintptr_t)at + ((size_t)1 << 20) >= each.first &&
            (uintptr_t)at <= each.first + each.second.bytes)
            return true;
    return false;
}

void arena_clear()
{
    while (!blocks.empty())
        arena_free((void *)blocks.begin()->first);
}
} // namespace emulated
