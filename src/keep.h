/* Classes that keep much memory from call to call, on devices or a part at a time, and accumulators
 * there: what they include beside plugin.h. */
#ifndef GROVE_KEEP_H
#define GROVE_KEEP_H

#include "plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Accumulators on devices. `accumulate_device_add` is called in place of accumulate_add for tiles
 * that are computed on a device, as .device is: call->args has the inputs over all of their axes,
 * the numbers of input k as in[k], their flags, a byte per cell, as in[count + k]; `out` is not for
 * the class. Each device has a state of its own, made by accumulate_new. It adds all or, with a
 * code, nothing; GROVE_MISSING (base/error.h): the host is to add it. `accumulate_device_merge`
 * adds to `state`, which the host has, what `other` was given on the device of the call, and is
 * called for each device before accumulate_finish.
 *
 * `accumulate_device_finish` is called instead, if there is one, where a single device was given
 * all tiles, with its state: call->args->out is the value, in the memory of the device, and stays
 * there for those who use it. It does all that merging and finishing do, warnings too. With a code
 * these are called after all. */

/* Only in check: bytes that the class keeps on each device, at most. Values of tiles leave them
 * free. Where they take more than half of the memory, the host computes the class. */
void grove_node_set_device_memory(grove_node *node, uint64_t bytes);

/* Only in check: of this input of an accumulator devices need the flags alone. Its numbers are not
 * sent there: the input is not given. */
void grove_node_use_flags_only(grove_node *node, int input);

/* As grove_call_launch and those beside it. Memory on the device of the call that stays as it is
 * from call to call: until the run ends or, of an accumulator, its states are freed. Not zeroed. */
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
 * too; 0: that is not known. Of what accumulators have made. */
uint64_t grove_call_serial(const grove_call *call, int k);

/* Work a part at a time.
 *
 * `accumulate_walk`, of accumulators without merge, is called after each walk over all tiles, with
 * the value as the walk before has left it. It adds to `out` what is known now, and sets *again to
 * be given all tiles once more, for other parts of the state. In the end accumulate_finish
 * completes the value. */

/* Only in check, after grove_node_set_memory: of those bytes, what is taken by parts that the class
 * can do one after the other, at the cost of time. Where memory is short, call->memory leaves room
 * for some of them at a time: an accumulator has accumulate_walk, and is given all tiles for each
 * group of parts; .eval makes them anew for each tile. Copied. */
void grove_node_set_pieces(grove_node *node, const uint64_t *bytes, int count);
/* Only in check, of a class whose output has the run's precision: what grove_node_set_memory,
 * _pieces, _device_memory and _scratch have told is of runs in single precision, and what they tell
 * from here on of runs in double precision. Without it they tell of both. */
void grove_node_tell_double(grove_node *node);
/* Only in check: an accumulator with accumulate_walk asks for so many walks before those of the
 * pieces. */
void grove_node_set_first_walks(grove_node *node, int count);

#ifdef __cplusplus
}
#endif

#endif
