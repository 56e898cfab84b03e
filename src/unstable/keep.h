/* Classes that keep much memory from call to call, on devices or a part at a time, and accumulators
 * on devices include this besides plugin.h. */
#ifndef GROVE_KEEP_H
#define GROVE_KEEP_H

#include "../plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Accumulators on devices. `device_add` is called in place of `add` for tiles that are computed on
 * a device, like .device: call->args has the inputs over all of their axes, the numbers of input k
 * as in[k], their flags, a byte per cell, as in[count + k]; the class must not use `out`. Each
 * device has a state of its own, made by `create`. It adds all or, with a code, nothing;
 * GROVE_MISSING (base/error.h): the host is to add it. `device_merge` adds the sums of `other`, on
 * the device of the call, to `state` on the host, and is called for each device before `finish`.
 *
 * `device_finish` is called instead, if there is one, where a single device was given all tiles,
 * with its state: call->args->out is the value, in the memory of the device, and stays there for
 * its users. It replaces merging and finishing, warnings too. If it returns a code, these are
 * called after all. */

/* Only in check: bytes that the class keeps on each device, at most. Values of tiles leave them
 * free. Where they take more than half of the memory, the host computes the class. */
void grove_node_set_device_memory(grove_node *node, uint64_t bytes);

/* Only in check: of this input of an accumulator devices need the flags alone. Its numbers are not
 * sent there: the input is not given. */
void grove_node_use_flags_only(grove_node *node, int input);

/* These behave as grove_call_launch and the functions after it. Memory on the device of the call
 * that keeps its content from call to call: until the run ends or, of an accumulator, its states
 * are freed. Not zeroed. */
int grove_call_keep(const grove_call *call, uint64_t bytes, void **at);
/* A copy of the host's bytes (NULL: memory alone) on the device of the call, until the call ends.
 */
int grove_call_send(const grove_call *call, const void *from, uint64_t bytes, const void **at);
/* Copies the host's bytes to memory that the class keeps, after all that was asked for before. They
 * may change as soon as it returns. */
int grove_call_put(const grove_call *call, void *to, const void *from, uint64_t bytes);
/* Copies from the device to the host, after all that was asked for before; complete when it
 * returns. */
int grove_call_fetch(const grove_call *call, void *to, const void *from, uint64_t bytes);
/* Where the host has the numbers of call->args->in[k], with the same strides; they are copied if
 * they are on the device only. NULL: the input is not given. */
int grove_call_host(const grove_call *call, int k, const void **at);
/* While this is the same number from call to call, the numbers of call->args->in[k] are the same,
 * too; 0: unknown. For values of accumulators. */
uint64_t grove_call_serial(const grove_call *call, int k);

/* Work a part at a time.
 *
 * `walk`, of accumulators without `merge`, is called after each walk over all tiles, with the value
 * as the walk before has left it. It adds the parts that are complete to `out`, and sets *again to
 * get all tiles once more, for other parts of the state. Then `finish` completes the value. */

/* Only in check, after grove_node_set_memory: the bytes among them of each part that the class can
 * do one after the other, at the cost of time. Where memory is short, call->memory leaves room for
 * some parts at a time: an accumulator has `walk`, and gets all tiles for each group of parts;
 * .eval makes the parts anew for each tile. Copied. */
void grove_node_set_pieces(grove_node *node, const uint64_t *bytes, int count);
/* Only in check, of a class whose output has the run's precision: the bytes of earlier calls of
 * grove_node_set_memory, _pieces, _device_memory and _scratch are for runs in single precision, the
 * bytes of later calls for double precision. Without it they are for both. */
void grove_node_begin_double_sizes(grove_node *node);
/* Only in check: an accumulator with `walk` asks for `count` walks before those for its pieces. */
void grove_node_set_first_walks(grove_node *node, int count);

#ifdef __cplusplus
}
#endif

#endif
