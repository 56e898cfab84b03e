/* Launches: one kernel, or one call of a class, over one iteration space, on the session's device
 * or on the host. Only grove_launch_run decides where, copies what lies elsewhere, makes room, and
 * falls back to the host. */
#ifndef GROVE_RUN_LAUNCH_H
#define GROVE_RUN_LAUNCH_H

#include "run/devices.h"

typedef enum {
    GROVE_LAUNCH_ON_DEVICE, /* on the session's device, if it has code and memory for it */
    GROVE_LAUNCH_BY_INPUT, /* the same where the first input is on the device and not on the host */
    GROVE_LAUNCH_ON_HOST
} grove_placement;

/* A buffer, and where in it the first cell of the iteration space lies. The strides are in the view
 * of the same number in `args`. */
typedef struct {
    grove_buffer *buffer; /* NULL: not given */
    int64_t offset;       /* bytes; may be negative where stations are gathered */
} grove_launch_operand;

typedef struct grove_launch grove_launch;
struct grove_launch {
    const grove_kernel *kernel; /* NULL: `compute` does it */
    /* Computes it on that device, with addresses in `args`. 0, or a code: with a message of the
     * session's where `failed` is set; else one of `session->attempt`, and GROVE_NO_MEMORY asks for
     * room, GROVE_MISSING for the host. */
    int (*compute)(grove_session *session, grove_launch *launch, grove_device *device);
    const void *context;    /* for `compute` */
    uint64_t scratch_bytes; /* memory that `compute` needs beside; 0: none */
    void *scratch;          /* while it computes */
    bool failed;
    grove_placement placement;
    bool double_precision;
    const grove_range *space; /* borrowed: args.axes of them */
    /* Whose buffer the output is: if that is NULL, one of `out_bytes` is made where the launch
     * runs; else the kernel also reads it, and its numbers are nowhere else afterwards. */
    grove_buffer **out;
    size_t out_bytes;
    int64_t out_offset;
    grove_device *ran_on; /* set by grove_launch_run */
    grove_launch_operand in[GROVE_MAX_INPUTS];
    grove_buffer *table; /* of the class, see run/table.h; or NULL */
    grove_args args;     /* until the launch runs, data only tells whether an input is given */
};

/* Sets up a launch over `axes` ranges; inputs not set afterwards are not given. The state is for
 * the caller to set. */
void grove_launch_begin(grove_launch *launch, const grove_session *session,
                        const grove_kernel *kernel, grove_placement placement,
                        const grove_range *space, int axes, int inputs);
/* Operands: values as they are seen from the space (side 'p', 'q' or 0: see grove_value_layout).
 * Flags are bytes; where the value has none the input is not given. The output is the value's data,
 * or its flags, of which flag_axes says along which ranges they vary. Its precision is the
 * launch's. */
int grove_launch_input(grove_launch *launch, int k, const grove_value *value, char side,
                       grove_error *error);
int grove_launch_input_flags(grove_launch *launch, int k, const grove_value *value, char side,
                             grove_error *error);
int grove_launch_output(grove_launch *launch, grove_value *value, grove_error *error);
int grove_launch_output_flags(grove_launch *launch, grove_value *value, grove_error *error);
/* Operands that are no values. `view`: all but the address. */
void grove_launch_input_buffer(grove_launch *launch, int k, grove_buffer *buffer,
                               const grove_view *view, int64_t offset);
void grove_launch_output_buffer(grove_launch *launch, grove_buffer **buffer, size_t bytes,
                                const grove_view *view, int64_t offset);

/* Runs it, unless the output has no cells: that only gets its empty buffer. What is short of memory
 * on the device, scratch memory too, is computed on the host, after a warning; GROVE_AGAIN where a
 * smaller tile may do. Seconds are added to the session's kernel_seconds. */
int grove_launch_run(grove_session *session, grove_launch *launch);

/* Copies to the host what is only on a device; counted for the node that is being computed. NULL:
 * nothing. */
int grove_launch_to_host(grove_session *session, grove_buffer *buffer);
/* Address of a buffer on the host; from any thread, not counted. */
int grove_launch_host_address(grove_session *session, grove_buffer *buffer, void **at);

#endif
