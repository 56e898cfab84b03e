// Blocks of threads: each thread of a block that has to wait is a fiber of its own; between two
// waits threads run in a random order.
#include "tests/common/emulation.h"
#define emulated_shared_fill emulated_shared_fill_unused
#include "emulated.h"

#include <algorithm>
#include <memory>
#include <sys/mman.h>
#include <ucontext.h>
#include <vector>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

#define UNSANITIZED __attribute__((noinline, no_sanitize("address")))

namespace emulated
{
namespace
{
enum { WARP = 32, STACK = 256 << 10, SLOT = 32 };
enum state { idle, ready, at_barrier, at_exchange, ended };

struct fiber {
    void *place[5]; // where it waits, of __builtin_setjmp
    bool is_new = false;
    ucontext_t context; // where it begins
    char *stack = nullptr;
    void *fake_stack = nullptr; // for AddressSanitizer
    ~fiber()
    {
        if (stack)
            munmap(stack, STACK);
    }
};

struct thread {
    state now = idle;
    fiber *runs_on = nullptr;
    unsigned mask = 0;
    int parity = 0;
};

struct slot {
    char bytes[SLOT];
};

fiber host;
std::vector<std::unique_ptr<fiber>> fibers;
std::vector<fiber *> spare;
std::vector<thread> threads;
std::vector<int> order;
std::vector<int> able;      // threads to resume before any other is released
std::vector<slot> slots[2]; // by thread
size_t begun;
int current;
fiber *running, *left; // now, and before it
emulated_thread place;
const kernel *what;
void **launch_arguments;
#ifdef __SANITIZE_ADDRESS__
const void *host_bottom;
size_t host_size;
#endif

// In place of swapcontext, which sets the signal mask, and whose version in AddressSanitizer clears
// the shadow of a whole stack.
UNSANITIZED void go_on_with(fiber *to)
{
    if (to->is_new) {
        to->is_new = false;
        setcontext(&to->context);
    }
    __builtin_longjmp(to->place, 1);
}

void arrive(fiber *at)
{
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(at->fake_stack, left == &host ? &host_bottom : nullptr,
                                    left == &host ? &host_size : nullptr);
#endif
    (void)at;
}

UNSANITIZED void switch_to(fiber *from, fiber *to)
{
    running = to;
    left = from;
#ifdef __SANITIZE_ADDRESS__
    const void *bottom = to == &host ? host_bottom : to->stack;
    size_t size = to == &host ? host_size : (size_t)STACK;
    __sanitizer_start_switch_fiber(&from->fake_stack, bottom, size);
#endif
    if (!__builtin_setjmp(from->place))
        go_on_with(to);
    arrive(from);
}

// A random one of those that are able, or the host.
fiber *next()
{
    if (able.empty())
        return &host;
    size_t pick = (size_t)draw(able.size());
    int t = able[pick];

    able[pick] = able.back();
    able.pop_back();
    return threads[(size_t)t].runs_on;
}

void place_thread(int t)
{
    const dim3 &b = place.block;

    current = t;
    place.thread_at = {(unsigned)t % b.x, (unsigned)t / b.x % b.y, (unsigned)t / b.x / b.y};
}

void run_thread(int t)
{
    place_thread(t);
    threads[(size_t)t].runs_on = running;
    threads[(size_t)t].now = ready;
    what->run(launch_arguments);
    threads[(size_t)current].now = ended;
}

// A fiber runs threads that have not begun until one of them waits; when that has ended, more.
void fiber_main()
{
    arrive(running);
    for (;;) {
        fiber *self = running;
        while (begun < order.size())
            run_thread(order[begun++]);
        spare.push_back(self);
        switch_to(self, next());
    }
}

void prepare(fiber *f)
{
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = f->stack;
    f->context.uc_stack.ss_size = STACK;
    f->context.uc_link = nullptr;
    makecontext(&f->context, fiber_main, 0);
    f->is_new = true;
}

fiber *take_fiber()
{
    if (!spare.empty()) {
        fiber *f = spare.back();
        spare.pop_back();
        return f;
    }
    fibers.push_back(std::make_unique<fiber>());
    fiber *f = fibers.back().get();
    f->stack = (char *)mmap(nullptr, STACK, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    prepare(f);
    return f;
}

void pause(state why)
{
    int self = current;
    fiber *own = running;

    threads[(size_t)self].now = why;
    switch_to(own, next());
    place_thread(self);
    threads[(size_t)self].now = ready;
}

void barrier()
{
    pause(at_barrier);
}

int lane()
{
    return current % WARP;
}

void exchange(unsigned mask, const void *in, size_t bytes, int from, void *out)
{
    size_t self = (size_t)current, warp = self / WARP * WARP;
    int parity = threads[self].parity;

    threads[self].parity = !parity;
    threads[self].mask = mask;
    memcpy(slots[parity][self].bytes, in, bytes);
    pause(at_exchange);
    memcpy(out, slots[parity][warp + (size_t)from % WARP].bytes, bytes);
}

void share(const void *in, size_t bytes, void *all)
{
    size_t self = (size_t)current, warp = self / WARP * WARP;
    int parity = threads[self].parity;

    threads[self].parity = !parity;
    threads[self].mask = 0xffffffffu;
    memcpy(slots[parity][self].bytes, in, bytes);
    pause(at_exchange);
    for (size_t k = 0; k < WARP; k++)
        memcpy((char *)all + k * bytes, slots[parity][warp + k].bytes, bytes);
}

// Resumes every thread whose barrier is complete.
bool release()
{
    size_t n = threads.size(), waiting = 0, over = 0;
    bool any = false;

    for (auto &t : threads) {
        waiting += t.now == at_barrier;
        over += t.now == ended;
    }
    if (waiting && waiting + over == n) {
        for (auto &t : threads)
            t.now = t.now == at_barrier ? ready : t.now;
        return true;
    }
    for (size_t first = 0; first < n; first += WARP) {
        const size_t end = std::min(first + WARP, n);
        for (size_t i = first; i < end; i++) {
            if (threads[i].now != at_exchange)
                continue;
            const unsigned mask = threads[i].mask;
            bool all = true;
            for (size_t k = first; all && k < end; k++)
                if (mask >> (k - first) & 1)
                    all = threads[k].now == at_exchange && threads[k].mask == mask;
            for (size_t k = first; all && k < end; k++)
                if (mask >> (k - first) & 1)
                    threads[k].now = ready;
            any = any || all;
        }
    }
    return any;
}

// Without an end when threads wait for such that have ended or wait elsewhere.
bool run_block(size_t count)
{
    threads.assign(count, thread());
    slots[0].resize(count);
    slots[1].resize(count);
    order.resize(count);
    begun = 0;
    for (size_t k = 0; k < count; k++)
        order[k] = (int)k;
    for (size_t k = count; k > 1; k--)
        std::swap(order[k - 1], order[(size_t)draw(k)]);
    able.clear();
    while (begun < count)
        switch_to(&host, take_fiber());
    while (release()) {
        for (size_t k = 0; k < count; k++)
            if (threads[k].now == ready)
                able.push_back((int)k);
        switch_to(&host, next());
    }
    for (auto &t : threads)
        if (t.now != ended)
            return false;
    return true;
}

uint64_t common_factor(uint64_t a, uint64_t b)
{
    return b ? common_factor(b, a % b) : a;
}
} // namespace

result run_grid(const kernel &kernel_, const unsigned grid[3], const unsigned block[3],
                void **arguments)
{
    uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2], step = 1 + draw(blocks);
    uint64_t at = draw(blocks);

    while (common_factor(step, blocks) != 1)
        step++;
    what = &kernel_;
    launch_arguments = arguments;
    place.grid = dim3(grid[0], grid[1], grid[2]);
    place.block = dim3(block[0], block[1], block[2]);
    place.barrier = barrier;
    place.exchange = exchange;
    place.lane = lane;
    place.share = share;
    *kernel_.now = &place;
    for (uint64_t k = 0; k < blocks; k++, at = (at + step) % blocks) {
        place.block_at = {(unsigned)(at % grid[0]), (unsigned)(at / grid[0] % grid[1]),
                          (unsigned)(at / grid[0] / grid[1])};
        if (kernel_.fill_shared)
            kernel_.fill_shared(0xff);
        if (!run_block((size_t)block[0] * block[1] * block[2]))
            return launch_timeout;
    }
    return success;
}
} // namespace emulated
