/* Invocations: the kernel, eval or device of a node called on whole inputs, outside any session,
 * with memory around the output that must not change. */
#ifndef GROVE_CONFORMANCE_INVOCATION_H
#define GROVE_CONFORMANCE_INVOCATION_H

#include "conformance/conformance.h"
#include "device/device.h"

/* A dense array, cells in order of the node's axes. */
typedef struct {
    const grove_axis *axes[GROVE_MAX_AXES];
    int axis_count;
    int64_t cells;
    int shape, elements;
    int parts, bytes; /* 2 parts for complex; bytes of a part (flags: 1) */
    void *data;       /* NULL: an optional input that was not given */
} grove_invocation_array;

typedef struct {
    grove_node *node;
    bool double_;
    grove_args args; /* args.out.data is set by grove_invocation_run */
    const grove_axis *space[GROVE_MAX_AXES];
    grove_invocation_array in[GROVE_MAX_INPUTS], out;
    grove_device *host;
    void *run; /* of the class's start */
    bool started;
} grove_invocation;

/* The array of a node's value, without data. */
grove_invocation_array grove_invocation_array_of(const grove_node *node, bool double_precision);
/* The iteration space of a node: the axes of its value and the axes that it consumes, in order of
 * storage. Returns how many. */
int grove_invocation_space(const grove_node *node, const grove_axis **space);
/* The view of an array from an iteration space. side 'p' or 'q': the station axis is gathered along
 * the baseline axis. flags: the array has one byte per cell. */
grove_view grove_invocation_view(const grove_invocation_array *a, const grove_args *args,
                                 const grove_axis *const *space, char side, bool flags);

/* Evaluates the inputs in a session on the cpu, and allocates the result. 0, or a code with
 * messages in the fixture's error. Call grove_invocation_end in both cases. */
int grove_invocation_begin(grove_fixture *fixture, grove_node *node, bool double_precision,
                           int threads, grove_invocation *call);
void grove_invocation_end(grove_invocation *call);
size_t grove_invocation_cell_bytes(const grove_invocation *call);
size_t grove_invocation_bytes(const grove_invocation *call); /* of the result */
/* Calls the class on `args`, which may be a part of call->args, with the caller's addresses. */
int grove_invocation_call(const grove_invocation *call, const grove_args *args);
/* Calls it on the whole; the result is in call->out. */
int grove_invocation_run(grove_invocation *call);
/* Whether the class can be called so on this node: it has a function for the host. */
bool grove_invocation_is_possible(const grove_node *node);
/* Number `i` of an array; real and imaginary parts count separately. */
double grove_invocation_number(const grove_invocation_array *array, int64_t i);
/* A cell of the iteration space as "freq 2, source 0"; caller frees. */
char *grove_invocation_place(const grove_invocation *call, const int64_t *index);
/* The indices in the iteration space of output cell `cell`; 0 along consumed axes. */
void grove_invocation_index(const grove_invocation *call, int64_t cell, int64_t *index);

#endif
