/* Accumulators: reductions over axes, tile by tile and chunk by chunk, with the same bits for any
 * tiles, chunks, threads and number of devices, and for ranges of time that different processes
 * reduce. * Each element is reduced in double, level by level. First come source, station and other
 * axes, in the order of storage; then freq, then baseline, then time. Along these last three,
 * blocks of 64 cells are added in the order of the index, and the sums of blocks along a binary
 * tree; blocks are numbered from the begin of the whole axis (kernels/core/reduce.h). * For a
 * level whose axis tiles cut, the sum of the open block and at most log2(blocks) nodes of the tree
 * are kept; for other levels the sums only, until the next level receives them. Each device that
 * adds tiles has its own set of sums; they are merged on the host at the end. */
#ifndef GROVE_RUN_ACCUMULATOR_H
#define GROVE_RUN_ACCUMULATOR_H

#include "plan/program.h"
#include "run/state.h"

typedef struct grove_accumulator grove_accumulator;

/* The reduction `node` over tiles of `block`, whose axes with a bit in `divided` are cut.
 * `counted`: the input has flags. */
grove_accumulator *grove_accumulator_new(grove_session *session, const grove_node *node,
                                         const grove_block *block, unsigned divided, bool counted);
void grove_accumulator_free(grove_accumulator *accumulator); /* NULL is fine */

/* Adds the input of a tile, or a chunk of it along one of the first axes: then `chunk` is true, and
 * grove_accumulator_end_chunks follows the last chunk. Tiles must come in order: time slowest, then
 * freq, then baseline; tiles of the same times on the same device. `space`: the tile's ranges of
 * the input. `rows`: a value on the host along some of its axes, which flags rows that count as
 * flagged and are undefined in the input; NULL: none. */
int grove_accumulator_add(grove_accumulator *accumulator, const grove_block *tile,
                          grove_value *input, const grove_value *rows, const grove_range *space,
                          int axes, bool chunk);
int grove_accumulator_end_chunks(grove_accumulator *accumulator, const grove_block *tile);

/* Merges the sums of another accumulator over the times that follow. `from` is invalid afterwards.
 */
int grove_accumulator_merge(grove_accumulator *to, grove_accumulator *from);

/* The result, over `space`: ranges of the node's axes. */
int grove_accumulator_finish(grove_accumulator *accumulator, const grove_range *space, bool double_,
                             bool flagged, grove_value **value);

/* Its sums as bytes, for another process on a machine of the same kind; free with free(). NULL with
 * a message. */
void *grove_accumulator_save(grove_accumulator *accumulator, size_t *bytes);
/* Reads such bytes into a new accumulator made with the same arguments. */
int grove_accumulator_load(grove_accumulator *accumulator, const void *from, size_t bytes);

/* Maximum of bytes besides its input, on host and devices together, for tiles of that size. */
uint64_t grove_accumulator_bytes(const grove_node *node, const grove_range *space, int axes,
                                 const grove_block *block, unsigned divided, bool counted,
                                 bool chunks);

#endif
