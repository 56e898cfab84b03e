/* What the parts of run/ share: the inside of a session. */
#ifndef GROVE_RUN_STATE_H
#define GROVE_RUN_STATE_H

#include "base/record.h"
#include "plan/facts.h"
#include "run/cache.h"
#include "run/session.h"

#include <pthread.h>

/* Between the parts of run/: a device has no memory for the tile, and a smaller one may do. */
enum { GROVE_AGAIN = -100 };

/* What devices did: bytes copied to them and back, launches, blocks allocated. */
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

/* An observer of runs, which report/ installs. Each function may be NULL. */
typedef struct {
    void *context;
    int (*begin)(void *context, grove_error *error); /* of a run */
    /* Something was done with a node; from any thread, numbered from 0. */
    void (*event)(void *context, const char *name, const char *kind, int thread, double began,
                  double ended, const grove_range *range, int axes);
    void (*failed)(void *context, const grove_node *node, grove_value *const *inputs);
    int (*end)(void *context, grove_error *error); /* of a run, also one that failed */
    void (*close)(void *context);
} grove_observer;

struct grove_session {
    grove_tree *tree;
    grove_session_options options;
    grove_error *error;
    grove_device *host;   /* the cpu */
    grove_device *device; /* where classes compute in the present tile: the host, or one of these */
    grove_device **devices;
    int device_count;
    grove_error *attempt;    /* of a device, where the host may still do it */
    bool has_failed;         /* a device failed, and the message was written */
    bool fallen_back;        /* the warning that a device has too little memory was written */
    grove_buffer **resident; /* by node: constants and members' data, while there are devices */
    grove_buffer **tables;   /* by node: see run/table.h */
    grove_traffic counted;   /* what devices did, as far as it is counted for nodes */
    grove_busy *timed_for;   /* with profile: what devices' time is added to */
    uint64_t downloaded;     /* bytes copied to the host by the evaluating thread */
    grove_facts *facts;
    grove_cache *cache;
    grove_worker *worker;       /* reads ahead and writes behind; NULL: serial */
    uint64_t memory;            /* bytes for values on the host */
    uint64_t budget;            /* bytes for those of a pass, wherever they lie */
    bool may_yield;             /* the present tile may be given up for a smaller one */
    bool host_only;             /* no tile is small enough for the devices */
    bool parted;                /* devices have parts of members' data, as tiles need them */
    bool checks;                /* each hit is computed again and compared (GROVE_CHECK_CACHE) */
    int64_t generation;         /* of leaves' content, raised when that is not known */
    grove_node_counters *nodes; /* by id */
    void **runs;                /* by id: the state that start made */
    grove_record *record;       /* of the changes that the present run will make */
    bool *started;              /* by id */
    grove_counters counters;
    grove_observer observer; /* all NULL: none */
    double began;
};

/* Tells the observer, if there is one for events. */
static inline void grove_session_event(const grove_session *session, const char *name,
                                       const char *kind, int thread, double began, double ended,
                                       const grove_range *range, int axes)
{
    const grove_observer *observer = &session->observer;

    if (observer->event)
        observer->event(observer->context, name, kind, thread, began, ended, range, axes);
}

/* A call of a function of a node's class: what it reports goes to the session, and fails the call
 * whatever it returns. `io`: one of those that serial_io is about. */
typedef struct {
    grove_error_scope scope, *outer;
    const grove_node *node;
    bool io;
} grove_class_call;
void grove_class_call_begin(grove_class_call *call, const grove_session *session,
                            const grove_node *node, bool io);
/* 0 or a negative code; without a message of the class, `failure` is it. */
int grove_class_call_end(grove_class_call *call, int code, const char *failure);

int grove_io_read(grove_session *session, grove_node *member, grove_array *out);
int grove_io_write(grove_session *session, grove_node *action, const grove_array *inputs,
                   int count);

#endif
