/* What the parts of run/ share: the inside of a session. */
#ifndef GROVE_RUN_STATE_H
#define GROVE_RUN_STATE_H

#include "plan/facts.h"
#include "run/cache.h"
#include "run/session.h"

#include <pthread.h>

/* Between the parts of run/: a device has no memory for the tile, and a smaller one may do. */
enum { GROVE_AGAIN = -100 };

/* What devices did: bytes there and back, launches, blocks asked for. */
typedef struct {
    uint64_t bytes_up, bytes_down, launches, allocations;
} grove_traffic;

typedef struct {
    uint64_t calls, hits, bytes; /* calls: computed or read; hits: found kept or cached */
    grove_traffic device;
    uint64_t device_hits; /* of the hits, those whose value was on the device */
    double seconds;
    grove_busy busy; /* with profile: of devices, for it */
} grove_node_counters;

typedef struct grove_trace grove_trace;

struct grove_session {
    grove_tree *tree;
    grove_session_options options;
    grove_error *error;
    grove_device *host;   /* the cpu */
    grove_device *device; /* where classes compute in the present tile: the host, or one of these */
    grove_device **devices;
    int device_count;
    grove_error *attempt;  /* what a device says that may yet be helped */
    bool has_failed;       /* a device has, and it was said */
    bool fallen_back;      /* it was said that a device's memory does not do */
    grove_buffer **kept;   /* by node: constants and members' data, while there are devices */
    grove_traffic claimed; /* of what devices did, as far as it was counted for a node */
    grove_busy *billed;    /* with profile: whom the evaluating thread has devices work for */
    uint64_t fetched;      /* bytes copied back by the evaluating thread */
    grove_facts *facts;
    grove_cache *cache;
    grove_worker *worker;       /* reads ahead and writes behind; NULL: serial */
    pthread_mutex_t io_lock;    /* held by classes of serial_io */
    uint64_t memory;            /* bytes for values on the host */
    uint64_t budget;            /* bytes for those of a pass, wherever they lie */
    bool may_yield;             /* the present tile may be given up for a smaller one */
    bool resigned;              /* no tile is small enough for the devices */
    bool parted;                /* devices have parts of members' data, as tiles need them */
    grove_node_counters *nodes; /* by id */
    void **runs;                /* by id: what classes keep for this run */
    bool *started;              /* by id */
    grove_counters counters;
    grove_trace *trace;
    double began;
};

/* Calls of classes that read or write, one at a time where they want that. */
int grove_io_read(grove_session *session, grove_node *member, grove_array *out);
int grove_io_write(grove_session *session, grove_node *action, const grove_array *inputs,
                   int count);

/* trace.c: a file for browsers' viewers, written as the run goes; lines on standard error. */
grove_trace *grove_trace_new(const char *path, grove_error *error); /* NULL with a message */
void grove_trace_event(grove_session *session, const char *name, const char *kind, int thread,
                       double began, double ended, const grove_range *range, int axes);
int grove_trace_finish(grove_trace *trace, grove_error *error); /* frees it */
void grove_trace_discard(grove_trace *trace);

/* The numbers that a node was to be made from, on standard error. */
void grove_dump_inputs(const grove_node *node, grove_value *const *inputs);

#endif
