// The functions of the driver that the device module uses, under their own names.
#include "tests/common/emulation.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace emulated
{
emulated_control control = {};

static uint64_t number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);

    return text && *text ? strtoull(text, nullptr, 0) : otherwise;
}

uint64_t draw(uint64_t below)
{
    static uint64_t state, seed;

    if (seed != control.seed)
        state = seed = control.seed;
    uint64_t x = state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return below ? (x ^ x >> 31) % below : 0;
}

bool fails(emulated_fault kind)
{
    return ++control.calls[kind] == control.fault_at && control.fault == kind;
}

namespace
{
struct module {
    void *library;
    std::string path;       // a copy of its own, so that it has its own variables
    void *global = nullptr; // the variable asked for last
    size_t global_bytes = 0;
};
struct function {
    kernel what;
    std::vector<size_t> sizes;
};
struct context {
    int device, references;
};

std::recursive_mutex lock;
std::map<void *, std::shared_ptr<event>> events;
std::map<void *, size_t> pinned;
std::set<module *> modules;
std::map<std::pair<module *, std::string>, function *> functions;
std::map<int, context *> contexts;
thread_local std::vector<context *> current;

using guard = std::lock_guard<std::recursive_mutex>;

// The begin of every call that needs a context.
result enter()
{
    if (current.empty())
        return invalid_context;
    return run_some();
}

// Addresses of the host among the arguments: 8 aligned bytes that point to mapped memory which is
// not the device's. Programs and their memory lie above 2^45; AddressSanitizer maps all below 2^44
// to itself, where two sizes of 32 bits may point.
bool has_host_address(const char *bytes, size_t count)
{
    unsigned char resident;

    for (size_t k = 0; k + 8 <= count; k += 8) {
        uintptr_t at;
        memcpy(&at, bytes + k, 8);
        if (at < (uintptr_t)1 << 45 || at >= (uintptr_t)1 << 47 || is_device((void *)at))
            continue;
        if (mincore((void *)(at & ~(uintptr_t)4095), 1, &resident) == 0)
            return true;
    }
    return false;
}
} // namespace
} // namespace emulated

using namespace emulated;

#define ENTER()                                                                                    \
    guard held(emulated::lock);                                                                    \
    result entered = enter();                                                                      \
    if (entered != success)                                                                        \
    return entered

extern "C" {
emulated_control *grove_emulated_control(void)
{
    guard held(emulated::lock);
    if (control.devices == 0) {
        control.seed = number("GROVE_EMULATED_SEED", 1);
        control.memory = number("GROVE_EMULATED_MEMORY", (uint64_t)4 << 30);
        control.devices = (int)number("GROVE_EMULATED_DEVICES", 1);
        control.version = (int)number("GROVE_EMULATED_VERSION", EMULATED_NEW);
    }
    return &control;
}

int cuInit(unsigned)
{
    grove_emulated_control();
    return control.devices > 0 ? success : no_device;
}

int cuDevicePrimaryCtxRetain(void **handle, int device)
{
    guard held(emulated::lock);
    if (fails(EMULATED_OTHER))
        return out_of_memory;
    context *&c = contexts[device];
    if (!c) {
        c = new context{device, 0};
        control.contexts++;
    }
    c->references++;
    *handle = c;
    return success;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
    guard held(emulated::lock);
    context *c = contexts[device];
    if (!c)
        return invalid_context;
    if (--c->references == 0) {
        delete c;
        contexts.erase(device);
        control.contexts--;
        if (contexts.empty())
            lose(success); // what was lost is gone with its last context
    }
    return success;
}

int cuCtxPushCurrent_v2(void *handle)
{
    current.push_back((context *)handle);
    return success;
}

int cuCtxPopCurrent_v2(void **handle)
{
    if (current.empty())
        return invalid_context;
    if (handle)
        *handle = current.back();
    current.pop_back();
    return success;
}

int cuCtxGetLimit(size_t *value, int limit)
{
    enum { STACK_SIZE = 0 };
    if (limit != STACK_SIZE)
        return invalid_value;
    *value = EMULATED_STACK;
    return success;
}

int cuMemGetInfo_v2(size_t *available, size_t *total)
{
    ENTER();
    *total = control.memory;
    *available = control.memory - (uint64_t)control.block_bytes;
    return success;
}

int cuMemAlloc_v2(unsigned long long *at, size_t bytes)
{
    ENTER();
    if (fails(EMULATED_ALLOCATION))
        return out_of_memory;
    result code;
    *at = (unsigned long long)(uintptr_t)arena_allocate(current.back()->device, bytes, &code);
    return code;
}

// Waits for all queued work, as the real driver may.
int cuMemFree_v2(unsigned long long at)
{
    guard held(emulated::lock);
    for (bool more = true; more && sticky() == success;)
        more = run_until([] { return false; }) == success;
    return arena_free((void *)(uintptr_t)at) ? success : invalid_value;
}

int cuMemHostAlloc(void **at, size_t bytes, unsigned)
{
    ENTER();
    if (fails(EMULATED_ALLOCATION))
        return out_of_memory;
    *at = malloc(bytes);
    pinned[*at] = bytes;
    control.pinned++;
    return success;
}

int cuMemFreeHost(void *at)
{
    guard held(emulated::lock);
    if (!pinned.erase(at))
        return invalid_value;
    control.pinned--;
    free(at);
    return success;
}

// Memory of the program; `pinned` is also that which was registered.
int cuMemHostRegister_v2(void *at, size_t bytes, unsigned)
{
    ENTER();
    if (fails(EMULATED_ALLOCATION))
        return out_of_memory;
    if (!at || !bytes || pinned.count(at))
        return invalid_value;
    pinned[at] = bytes;
    control.pinned++;
    control.registered++;
    return success;
}

int cuMemHostUnregister(void *at)
{
    guard held(emulated::lock);
    if (current.empty() || !pinned.erase(at))
        return invalid_value;
    control.pinned--;
    return success;
}

static bool is_pinned(const void *at, size_t bytes)
{
    auto after = pinned.upper_bound((void *)at);
    if (after == pinned.begin())
        return false;
    --after;
    size_t offset = (size_t)((const char *)at - (const char *)after->first);
    return offset + bytes <= after->second;
}

// Memory that is not pinned is copied before the call returns, pinned memory when its turn comes.
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t bytes, void *handle)
{
    ENTER();
    if (!stream_is(handle))
        return invalid_handle;
    if (fails(EMULATED_COPY) || !arena_has((void *)(uintptr_t)to, bytes))
        return invalid_value;
    std::shared_ptr<std::vector<char>> staged;
    if (!is_pinned(from, bytes))
        staged =
            std::make_shared<std::vector<char>>((const char *)from, (const char *)from + bytes);
    stream_push((stream *)handle, [=] {
        if (!arena_has((void *)(uintptr_t)to, bytes))
            return illegal_address;
        opened now;
        memcpy((void *)(uintptr_t)to, staged ? staged->data() : from, bytes);
        return success;
    });
    return success;
}

int cuCtxEnablePeerAccess(void *handle, unsigned flags)
{
    ENTER();
    context *own = current.back(), *other = (context *)handle;
    if (flags || own == other || own->device > 1 || other->device > 1)
        return invalid_value;
    control.peers_enabled++;
    return success;
}

int cuMemcpyPeerAsync(unsigned long long to, void *to_context, unsigned long long from,
                      void *from_context, size_t bytes, void *handle)
{
    ENTER();
    void *target = (void *)(uintptr_t)to, *source = (void *)(uintptr_t)from;
    if (!stream_is(handle))
        return invalid_handle;
    if (fails(EMULATED_COPY) || !arena_has(target, bytes) || !arena_has(source, bytes) ||
        arena_device(target) != ((context *)to_context)->device ||
        arena_device(source) != ((context *)from_context)->device)
        return invalid_value;
    control.peer_copies++;
    stream_push((stream *)handle, [=] {
        if (!arena_has(target, bytes) || !arena_has(source, bytes))
            return illegal_address;
        opened now;
        memcpy(target, source, bytes);
        return success;
    });
    return success;
}

static bool is_global(const void *at, size_t bytes)
{
    for (const module *m : modules)
        if (m->global == at && bytes <= m->global_bytes)
            return true;
    return false;
}

int cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, size_t bytes, void *handle)
{
    ENTER();
    if (!stream_is(handle))
        return invalid_handle;
    bool global = is_global((void *)(uintptr_t)from, bytes); // faults are for data
    if ((!global && fails(EMULATED_COPY)) || !(global || arena_has((void *)(uintptr_t)from, bytes)))
        return invalid_value;
    stream_push((stream *)handle, [=] {
        if (!global && !arena_has((void *)(uintptr_t)from, bytes))
            return illegal_address;
        opened now;
        memcpy(to, (void *)(uintptr_t)from, bytes);
        return success;
    });
    return is_pinned(to, bytes) ? success : stream_finish((stream *)handle);
}

int cuMemsetD8Async(unsigned long long at, unsigned char byte, size_t bytes, void *handle)
{
    ENTER();
    if (!stream_is(handle))
        return invalid_handle;
    if (fails(EMULATED_COPY) || !arena_has((void *)(uintptr_t)at, bytes))
        return invalid_value;
    stream_push((stream *)handle, [=] {
        opened now;
        memset((void *)(uintptr_t)at, byte, bytes);
        return success;
    });
    return success;
}

int cuStreamCreate(void **handle, unsigned)
{
    ENTER();
    if (fails(EMULATED_OTHER))
        return out_of_memory;
    *handle = stream_new();
    return success;
}

int cuStreamDestroy_v2(void *handle)
{
    guard held(emulated::lock);
    if (!stream_is(handle))
        return invalid_handle;
    stream_free((stream *)handle);
    return success;
}

int cuStreamSynchronize(void *handle)
{
    ENTER();
    return stream_is(handle) ? stream_finish((stream *)handle) : invalid_handle;
}

int cuEventCreate(void **handle, unsigned flags)
{
    ENTER();
    if (fails(EMULATED_OTHER))
        return out_of_memory;
    auto made = std::make_shared<event>();
    made->timed = !(flags & 2);
    *handle = made.get();
    events[*handle] = made;
    control.events++;
    return success;
}

int cuEventDestroy_v2(void *handle)
{
    guard held(emulated::lock);
    if (!events.erase(handle))
        return invalid_handle;
    control.events--;
    return success;
}

int cuEventRecord(void *handle, void *where)
{
    ENTER();
    auto found = events.find(handle);
    if (found == events.end() || !stream_is(where))
        return invalid_handle;
    stream_record((stream *)where, found->second);
    return success;
}

int cuStreamWaitEvent(void *where, void *handle, unsigned)
{
    ENTER();
    auto found = events.find(handle);
    if (found == events.end() || !stream_is(where))
        return invalid_handle;
    stream_wait((stream *)where, found->second);
    return success;
}

int cuEventSynchronize(void *handle)
{
    ENTER();
    auto found = events.find(handle);
    if (found == events.end())
        return invalid_handle;
    std::shared_ptr<event> e = found->second;
    uint64_t version = e->recorded;
    return run_until([e, version] { return e->done >= version; });
}

int cuEventElapsedTime(float *milliseconds, void *first, void *last)
{
    ENTER();
    auto from = events.find(first), to = events.find(last);
    if (from == events.end() || to == events.end() || !from->second->timed || !to->second->timed ||
        !from->second->recorded || !to->second->recorded)
        return invalid_handle;
    if (from->second->done < from->second->recorded || to->second->done < to->second->recorded)
        return not_ready;
    *milliseconds = (float)(1e3 * (to->second->seconds - from->second->seconds));
    return success;
}

int cuModuleLoad(void **handle, const char *path)
{
    ENTER();
    if (access(path, R_OK) != 0)
        return file_not_found;
    void *library = fails(EMULATED_OTHER) ? nullptr : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return invalid_value;
    module *m = new module{library, path};
    modules.insert(m);
    control.modules++;
    *handle = m;
    return success;
}

int cuModuleLoadData(void **handle, const void *binary)
{
    const auto *elf = (const Elf64_Ehdr *)binary;
    char path[] = "/tmp/grove-module-XXXXXX";

    if (memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0)
        return invalid_value;
    const size_t bytes = elf->e_shoff + (size_t)elf->e_shnum * elf->e_shentsize;
    int file = mkstemp(path);
    bool written = file >= 0 && write(file, binary, bytes) == (ssize_t)bytes;
    if (file >= 0)
        close(file);
    int code = written ? cuModuleLoad(handle, path) : invalid_value;
    unlink(path);
    return code;
}

int cuModuleUnload(void *handle)
{
    guard held(emulated::lock);
    module *m = (module *)handle;
    if (!modules.erase(m))
        return invalid_handle;
    for (auto each = functions.begin(); each != functions.end();)
        if (each->first.first == m) {
            delete each->second;
            each = functions.erase(each);
        } else {
            ++each;
        }
    dlclose(m->library);
    delete m;
    control.modules--;
    return success;
}

int cuModuleGetFunction(void **handle, void *which, const char *name)
{
    ENTER();
    module *m = (module *)which;
    if (!modules.count(m))
        return invalid_handle;
    void *run = dlsym(m->library, ("emulated_run_" + std::string(name)).c_str());
    void *sizes = dlsym(m->library, ("emulated_sizes_" + std::string(name)).c_str());
    if (!run || !sizes)
        return not_found;
    function *&f = functions[{m, name}];
    if (!f) {
        size_t found[16];
        f = new function;
        f->what.run = (void (*)(void **))run;
        f->what.fill_shared = (void (*)(int))dlsym(m->library, "emulated_shared_fill");
        f->what.now = (void **)dlsym(m->library, "emulated_now");
        size_t count = ((size_t(*)(size_t *))sizes)(found);
        f->sizes.assign(found, found + count);
    }
    *handle = f;
    return success;
}

int cuFuncGetAttribute(int *value, int attribute, void *handle)
{
    enum { LOCAL_BYTES = 3 };
    if (attribute != LOCAL_BYTES || !handle)
        return invalid_value;
    *value = control.local_bytes;
    return success;
}

int cuModuleGetGlobal_v2(unsigned long long *at, size_t *bytes, void *which, const char *name)
{
    ENTER();
    module *m = (module *)which;
    ElfW(Sym) *symbol = nullptr;
    Dl_info info;
    if (!modules.count(m))
        return invalid_handle;
    m->global = dlsym(m->library, name);
    if (!m->global || !dladdr1(m->global, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
        return not_found;
    *bytes = m->global_bytes = symbol->st_size;
    *at = (uintptr_t)m->global;
    return success;
}

int cuLaunchKernel(void *handle, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned, void *where, void **arguments, void **)
{
    ENTER();
    function *f = (function *)handle;
    if (!stream_is(where))
        return invalid_handle;
    if (fails(EMULATED_LAUNCH) || !gx || !gy || !gz || !bx || !by || !bz || gy > 65535 ||
        gz > 65535 || gx > 0x7fffffffu || (uint64_t)bx * by * bz > 1024 || bz > 64)
        return invalid_value;
    auto values = std::make_shared<std::vector<std::vector<char>>>();
    size_t total = 0;
    for (size_t k = 0; k < f->sizes.size(); k++) {
        const char *at = (const char *)arguments[k];
        values->emplace_back(at, at + f->sizes[k]);
        total += f->sizes[k];
        control.host_addresses += has_host_address(at, f->sizes[k]);
    }
    if (total > 4096)
        return invalid_value;
    bool breaks = fails(EMULATED_RUNNING);
    kernel what = f->what;
    stream_push((stream *)where, [=] {
        unsigned grid[] = {gx, gy, gz}, block[] = {bx, by, bz};
        std::vector<void *> pointers;
        for (auto &value : *values)
            pointers.push_back(value.data());
        if (breaks)
            return launch_failed;
        opened now;
        return run_grid(what, grid, block, pointers.data());
    });
    return success;
}
}
