/* The inside of a session, shared by the parts of run/. */
#ifndef GROVE_RUN_STATE_H
#define GROVE_RUN_STATE_H

#include "grove.h"
#include "plan/facts.h"
#include "run/cache.h"
#include "unstable/record.h"
#include "value/value.h"

#include <pthread.h>
#include <string.h>

/* A code used inside run/: a device has too little memory for the tile; a smaller one may fit. */
enum { GROVE_AGAIN = -100 };

/* Work of devices: bytes copied to them and from them, launches, blocks allocated. */
typedef struct {
    uint64_t bytes_up, bytes_down, launches, allocations;
} grove_traffic;

typedef struct {
    uint64_t calls; /* computed or read */
    uint64_t hits;  /* kept or cached values that were found */
    uint64_t bytes;
    grove_traffic device;
    uint64_t device_hits; /* hits whose value was on a device */
    double seconds;
    grove_busy busy;      /* of devices for the node, where they are timed */
    double joules;        /* with energy: the node's share of the host's */
    double device_joules; /* and of devices' */
} grove_node_counters;

/* An observer of runs, which report/ installs. Functions may be NULL. */
typedef struct {
    void *context;
    int (*begin)(void *context, grove_error *error); /* of a run */
    /* An event concerning a node; from any thread, threads are numbered from 0. */
    void (*event)(void *context, const char *name, const char *kind, int thread, double began,
                  double ended, const grove_range *range, int axes);
    void (*failed)(void *context, const grove_node *node, grove_value *const *inputs);
    int (*end)(void *context, grove_error *error); /* at the end of a run, also after a failure */
    void (*close)(void *context);
} grove_observer;

/* The reason why devices cannot compute a node, so that no further tile is tried there. */
typedef struct {
    const grove_kernel *kernel; /* the kernel without code for them, if it is one */
    char *reason;               /* NULL: nothing */
} grove_unsupported;

/* A block of memory that a class keeps from call to call. */
typedef struct grove_kept {
    grove_device *device;
    void *at;
    size_t bytes;
    struct grove_kept *next;
} grove_kept;

struct grove_session {
    grove_tree *tree;
    grove_session_options options;
    grove_error *error;
    grove_device *host;   /* the cpu */
    grove_device *device; /* where the current tile is computed: the host or a device */
    grove_device **devices;
    int device_count;
    grove_error *attempt;    /* a device has refused memory, but the host may compute it */
    bool has_failed;         /* a device failed, and this was reported */
    bool fallen_back;        /* the warning about memory of a device was written */
    grove_buffer **resident; /* by node: constants and members' data, while there are devices */
    grove_buffer **tables;   /* by node: see run/table.h */
    grove_traffic counted;   /* work of devices counted for nodes so far */
    grove_busy *timed_for;   /* where they are timed: the counters to which device time is added */
    uint64_t downloaded;     /* bytes copied to the host by the evaluating thread */
    grove_facts *facts;
    char *tuned; /* as the last plan gave it; NULL: none did */
    grove_cache *cache;
    grove_worker *worker; /* reads ahead and writes behind; NULL: serial */
    uint64_t memory;      /* bytes for values on the host */
    uint64_t budget;      /* bytes for values of a pass, wherever they are */
    bool may_yield;       /* the current tile may be abandoned for a smaller one */
    bool host_only;       /* the smallest tile does not fit the devices */
    bool members_by_tile; /* tiles copy only their part of members' data to devices */
    bool checks;          /* recompute each hit and compare (GROVE_CHECK_CACHE) */
    const char *poison;   /* where nobody reads: "nan", flagged, or "number", not flagged; NULL: as
                             it comes (GROVE_POISON_ROWS) */
    int64_t generation;   /* incremented whenever a leaf's content changes in an unknown way */
    grove_node_counters *nodes;     /* by id */
    void **runs;                    /* by id: the state that start returned */
    uint64_t *grants;               /* by id: bytes for classes that can do with less */
    grove_kept **kept;              /* by id: memory on devices, see grove_call_keep */
    grove_record *record;           /* of the changes that this run will make */
    bool *started;                  /* by id */
    bool *begun;                    /* by id: actions that are to be aborted or committed */
    bool has_ended;                 /* an action has found that nothing is left to do */
    grove_unsupported *unsupported; /* by id */
    size_t node_count;              /* of the tree, which may go before the session */
    grove_counters counters;
    const grove_tuner *tuner; /* this run only tunes kernels: it writes nothing; NULL: a run */
    grove_observer observer;  /* its functions are NULL if there is none */
    double began;
};

/* Whether the work of devices is timed. */
static inline bool grove_session_times(const grove_session *session)
{
    return session->options.profile || session->options.energy;
}

/* Whether values are looked at whole, though nobody in the tree reads some rows of them. */
static inline bool grove_session_shows_all(const grove_session *session)
{
    return session->observer.failed || session->checks;
}

/* Poisons numbers, or flags, before they are made. */
static inline void grove_session_poison(const grove_session *session, void *at, size_t bytes,
                                        bool flags)
{
    if (session->poison && *session->poison == 'n' && session->poison[1] == 'a')
        memset(at, 0xff, bytes);
    else if (session->poison)
        memset(at, flags ? 0 : 0x3f, bytes);
}

/* Reports an event to the observer, if any. */
static inline void grove_session_event(const grove_session *session, const char *name,
                                       const char *kind, int thread, double began, double ended,
                                       const grove_range *range, int axes)
{
    const grove_observer *observer = &session->observer;

    if (observer->event)
        observer->event(observer->context, name, kind, thread, began, ended, range, axes);
}

/* Whether the run continues one that did not end; and lines "NAME: VALUE" of all that its numbers
 * depend on, to be freed (resume.c). */
bool grove_resume_requested(const grove_session *session);
/* 0, or a message: it is to go on, and no fit of the tree has a checkpoint. */
int grove_resume_check(const grove_session *session, grove_error *error);
char *grove_resume_key(const grove_session *session);

/* Brackets a call of a function of a node's class: its messages go to the session, and any of them
 * fails the call. `io`: one of the functions that serial_io serialises. */
typedef struct grove_class_call {
    grove_error_scope scope, *outer;
    grove_call call; /* for functions of data leaves and actions, on the host */
    grove_session *session;
    bool io;
    struct grove_write_call *drive; /* of a drive: see drive.c ... */
    pthread_t driver;               /* ... and its thread */
    bool ends_run;                  /* grove_call_end_run */
} grove_class_call;
/* Sets *call, whose address must stay; its member `call` refers to it. */
void grove_class_call_begin(grove_class_call *call, grove_session *session, const grove_node *node,
                            bool io);
/* The bracket of `call`, or NULL after a message: there is none, as outside of runs. */
grove_class_call *grove_class_call_of(const grove_call *call, const char *function);
/* 0 or a negative code; `failure` is the message if the class gave none. */
int grove_class_call_end(grove_class_call *call, int code, const char *failure);

int grove_io_read(grove_session *session, grove_node *member, grove_array *out);
int grove_io_write(grove_session *session, grove_node *action, const grove_array *inputs,
                   int count);

#endif
