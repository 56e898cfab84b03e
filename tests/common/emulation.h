// The emulated CUDA driver: a library with the symbols of libcuda.so.1 that the device module uses.
// What is queued on streams runs in a seeded order that respects only what CUDA guarantees; device
// memory cannot be touched outside copies and kernels. For tests only.
#ifndef GROVE_TESTS_CUDA_EMULATION_H
#define GROVE_TESTS_CUDA_EMULATION_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    EMULATED_NEW = 99000,    /* a version of CUDA newer than any */
    EMULATED_STACK = 1024,   /* bytes of a thread that contexts have */
    EMULATED_PROCESSORS = 4, /* multiprocessors of a device ... */
    EMULATED_THREADS = 2048  /* ... and threads that can be resident on each */
};

enum emulated_fault {
    EMULATED_NO_FAULT,
    EMULATED_ALLOCATION, /* of device or pinned memory */
    EMULATED_COPY,
    EMULATED_LAUNCH,
    EMULATED_RUNNING, /* a kernel fails while it runs: the context is lost */
    EMULATED_OTHER,   /* creating a stream, an event, a context; loading a module */
    EMULATED_HANDLE   /* of a library */
};

/* Set by tests before a device is opened; initial values come from the environment:
 * GROVE_EMULATED_SEED, GROVE_EMULATED_MEMORY (bytes per device), GROVE_EMULATED_DEVICES,
 * GROVE_EMULATED_VERSION. */
typedef struct {
    uint64_t seed;   /* of every order; modulo 8, 0 runs everything at once, 1 to 4 as late as
                         possible, others at any moment */
    uint64_t memory; /* bytes of each device */
    int devices;
    int local_bytes; /* of a thread, of each kernel */
    int version;     /* of CUDA that the driver supports, as cuDriverGetVersion counts */
    int fault;       /* emulated_fault: the call number `fault_at` (from 1) of that kind fails */
    int64_t fault_at;
    /* Counted since the start: calls of each kind; set to 0 at will. */
    int64_t calls[7];
    /* What exists now. */
    int64_t blocks, block_bytes, pinned, streams, events, modules, contexts;
    /* Copies between devices so far, and how often access to another device was enabled. */
    int64_t peer_copies, peers_enabled;
    /* Registered so far, as pinned memory. */
    int64_t registered;
    /* Launches with an argument that is an address of the host. */
    int64_t host_addresses;
} emulated_control;

emulated_control *grove_emulated_control(void);

#ifdef __cplusplus
}

#include <functional>
#include <memory>

namespace emulated
{
// CUresult
enum result {
    success = 0,
    invalid_value = 1,
    out_of_memory = 2,
    not_initialized = 3,
    no_device = 100,
    invalid_device = 101,
    invalid_context = 201,
    file_not_found = 301,
    invalid_handle = 400,
    not_found = 500,
    not_ready = 600,
    illegal_address = 700,
    launch_timeout = 702,
    launch_failed = 719
};

extern emulated_control control;

uint64_t draw(uint64_t below);
bool fails(emulated_fault kind);

// Device memory: closed but while a copy or a kernel has it open.
struct opened {
    opened();
    ~opened();
};
void *arena_allocate(int device, size_t bytes, result *code);
bool arena_free(void *at);
bool arena_has(const void *at, size_t bytes); // within one live block
int arena_device(const void *at);             // whose block it is in; -1: in none
bool is_device(const void *at);
void arena_clear(); // frees everything

// Streams: queues of operations.
struct event {
    uint64_t recorded = 0, done = 0;
    bool timed = false;
    double seconds = 0; // that its stream had worked when it was passed
};
struct stream;
stream *stream_new();
void stream_free(stream *which); // runs what is left
bool stream_is(const void *handle);
void stream_push(stream *which, std::function<result()> run);
void stream_wait(stream *which, std::shared_ptr<event> what);
void stream_record(stream *which, std::shared_ptr<event> what);
result run_until(const std::function<bool()> &done); // of any stream, in any order
result stream_finish(stream *which);
result run_some(); // a few operations, or none, as the seed says
result sticky();   // the fault that has lost the context
void lose(result code);

// Runs a kernel over its grid.
struct kernel {
    void (*run)(void **arguments);
    void (*fill_shared)(int byte);
    void **now; // where the module looks for its thread
};
result run_grid(const kernel &what, const unsigned grid[3], const unsigned block[3],
                void **arguments);
} // namespace emulated
#endif

#endif
