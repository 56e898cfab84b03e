/* Calls of .eval and .device: the work of a class on the device that computes its value. */
#ifndef GROVE_RUN_CALL_H
#define GROVE_RUN_CALL_H

#include "run/launch.h"

#include <pthread.h>

/* The `work` of a grove_call. */
typedef struct grove_call_work {
    /* Set by the caller: the launch that the call is part of (NULL: it has no inputs that may be
     * elsewhere), and the list of blocks that the class keeps (NULL: it may not). */
    grove_session *session;
    const grove_launch *launch;
    grove_kept **kept;
    grove_device *device;
    grove_error *error; /* of the device and its libraries */
    char *scratch;      /* the rest of the scratch memory */
    uint64_t scratch_left;
    int pieces;         /* that were handed out */
    pthread_t thread;   /* of the call */
    int code;           /* of the first function that failed */
    const char *astray; /* a function that was called by another thread */
    /* Where the device has no code for a kernel: which one, and the code of grove_device_prepare.
     */
    const grove_kernel *unsupported_kernel;
    int unsupported_code;
    grove_kept *sent; /* blocks of grove_call_send */
} grove_call_work;

/* For call->work, before a call in this thread. `scratch`: on that device, as many bytes as
 * grove_node_scratch_bytes gives for its output; NULL: none. `error` is empty. */
void grove_call_begin(grove_call_work *work, grove_device *device, void *scratch,
                      uint64_t scratch_bytes, grove_error *error);
/* Calls .device, or .eval on the host where there is one. 0, the code of the first function that
 * failed, or the class's. If a device is short of memory, faults or has no code, only `error` has
 * the message; all other errors were reported at the node. */
int grove_call_run(const grove_call *call);
/* After another function of the class that was given `work`, with its code: the code that counts.
 */
int grove_call_end(const grove_call *call, int code);
/* Frees the memory that a class keeps, or has sent. */
void grove_call_drop_kept(grove_kept **kept);

#endif
