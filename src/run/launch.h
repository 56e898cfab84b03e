/* Launches: one kernel, or one call of a class, over one iteration space, on the session's device
 * or on the host. Only grove_launch_run chooses the device, copies inputs from elsewhere, makes
 * room, and falls back to the host. */
#ifndef GROVE_RUN_LAUNCH_H
#define GROVE_RUN_LAUNCH_H

#include "run/devices.h"

typedef enum {
    GROVE_LAUNCH_ON_DEVICE, /* on the session's device, if it has the code and the memory */
    GROVE_LAUNCH_BY_INPUT,  /* the same if the first input is on the device and not on the host */
    GROVE_LAUNCH_ON_HOST
} grove_placement;

/* A buffer, and the offset of the iteration space's first cell. The strides are in the view of the
 * same number in `args`. */
typedef struct {
    grove_buffer *buffer; /* NULL: not given */
    int64_t offset;       /* bytes; may be negative for gathered stations */
} grove_launch_operand;

typedef struct grove_launch grove_launch;
struct grove_launch {
    const grove_kernel *kernel; /* NULL: `compute` does it */
    /* Computes it on that device, with addresses in `args`. 0, or a code: with a message of the
     * session's where `failed` is set; else one of `session->attempt`, and GROVE_NO_MEMORY asks for
     * room, GROVE_MISSING for the host. */
    int (*compute)(grove_session *session, grove_launch *launch, grove_device *device);
    const void *context;    /* for `compute` */
    uint64_t scratch_bytes; /* additional memory that `compute` needs; 0: none */
    void *scratch;          /* while it computes */
    bool failed;
    grove_placement placement;
    bool double_precision;
    const grove_range *space; /* borrowed: args.axes of them */
    /* Owner of the output's buffer. If it has none, a buffer of `out_bytes` is allocated where the
     * launch runs; else the kernel may also read it, and afterwards its bytes are valid there only.
     */
    grove_buffer **out;
    size_t out_bytes;
    grove_gaps out_gaps;
    int64_t out_offset;
    grove_device *ran_on; /* where it ran, set by grove_launch_run */
    grove_launch_operand in[GROVE_MAX_INPUTS];
    grove_buffer *table; /* the class's table, see run/table.h; or NULL */
    /* Flags of rows that the host need not compute, as seen from the space; buffer NULL: none. */
    grove_launch_operand rows;
    grove_view rows_view;
    bool rows_unread; /* `compute` may leave anything there */
    grove_args args;  /* before the launch runs, data only says whether an input is given */
};

/* Sets up a launch over `axes` ranges, without inputs. The caller sets the state. */
void grove_launch_begin(grove_launch *launch, const grove_session *session,
                        const grove_kernel *kernel, grove_placement placement,
                        const grove_range *space, int axes, int inputs);
/* Operands: values as seen from the space (side 'p', 'q' or 0: see grove_value_layout). Flags are
 * bytes; a value without flags counts as an input that is not given. The output is the value's
 * data, or its flags, along the ranges in flag_axes. The launch gets the output's precision. */
int grove_launch_input(grove_launch *launch, int k, const grove_value *value, char side,
                       grove_error *error);
int grove_launch_input_flags(grove_launch *launch, int k, const grove_value *value, char side,
                             grove_error *error);
/* Rows whose cells the host need not compute by a cell function: all elements are flagged. */
int grove_launch_leave_rows(grove_launch *launch, const grove_value *value, grove_error *error);
int grove_launch_output(grove_launch *launch, grove_value *value, grove_error *error);
int grove_launch_output_flags(grove_launch *launch, grove_value *value, grove_error *error);
/* Operands that are not values. `view`: everything except the address. */
void grove_launch_input_buffer(grove_launch *launch, int k, grove_buffer *buffer,
                               const grove_view *view, int64_t offset);
void grove_launch_output_buffer(grove_launch *launch, grove_buffer **buffer, size_t bytes,
                                const grove_view *view, int64_t offset);

/* Runs the launch; an output without cells only gets an empty buffer. When the device is short of
 * memory, also for scratch memory, it warns and runs on the host, or returns GROVE_AGAIN if a
 * smaller tile may help. Adds the time to the session's kernel_seconds. */
int grove_launch_run(grove_session *session, grove_launch *launch);

/* Copies bytes that are only on a device to the host; counted for the current node. NULL: nothing.
 */
int grove_launch_to_host(grove_session *session, grove_buffer *buffer);
/* Address of a buffer on the host; from any thread, not counted. */
int grove_launch_host_address(grove_session *session, grove_buffer *buffer, void **at);

#endif
