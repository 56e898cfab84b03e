/* Accumulators: reductions over axes, tile by tile and chunk by chunk, with the same bits for any
 * tiles, chunks, threads and number of devices, and for parts of the time axis that different
 * processes go through.
 *
 * Each number is reduced in double, level by level. First come source, station and other axes, in
 * the order of storage; then freq, then baseline, then time. Along each of these last three the
 * cells of blocks of 64 are added in the order of the index, and the sums of blocks along a binary
 * tree; blocks are numbered from the begin of the whole axis (kernels/reduce/reduce.h).
 *
 * What is kept: of a level whose axis tiles cut, the sum of the open block and at most log2(blocks)
 * nodes of the tree; of others the sums only, until the next level has them. There is one such set
 * on each device that adds tiles; they are merged on the host at the end. */
#ifndef GROVE_RUN_ACCUMULATOR_H
#define GROVE_RUN_ACCUMULATOR_H

#include "plan/program.h"
#include "run/state.h"

typedef struct grove_accumulator grove_accumulator;

/* The reduction `node` over tiles of `block`, of which those axes are cut that have a bit in
 * `divided`. `counted`: the input has flags. */
grove_accumulator *grove_accumulator_new(grove_session *session, const grove_node *node,
                                         const grove_block *block, unsigned divided, bool counted);
void grove_accumulator_free(grove_accumulator *accumulator); /* NULL is fine */

/* Adds the input of a tile; or a chunk of it along one of the axes that come first, then `chunk` is
 * true and grove_accumulator_end_chunks follows the last. Tiles in order: time slowest, then freq,
 * then baseline; those of the same times on one device. `space`: the tile's ranges of the input. */
int grove_accumulator_add(grove_accumulator *accumulator, const grove_block *tile,
                          grove_value *input, const grove_range *space, int axes, bool chunk);
int grove_accumulator_end_chunks(grove_accumulator *accumulator, const grove_block *tile);

/* Adds what another has gathered of the times that follow. `from` is of no use afterwards. */
int grove_accumulator_merge(grove_accumulator *to, grove_accumulator *from);

/* The result, over `space`: ranges of the node's axes. */
int grove_accumulator_finish(grove_accumulator *accumulator, const grove_range *space, bool double_,
                             bool flagged, grove_value **value);

/* What it has gathered, as bytes for another process on a machine of the same kind; free with
 * free(). NULL with a message. */
void *grove_accumulator_save(grove_accumulator *accumulator, size_t *bytes);
/* Into one that is new, and made with the same arguments. */
int grove_accumulator_load(grove_accumulator *accumulator, const void *from, size_t bytes);

/* Bytes that it takes beside its input at most, wherever they lie, for tiles of that size. */
uint64_t grove_accumulator_bytes(const grove_node *node, const grove_range *space, int axes,
                                 const grove_block *block, unsigned divided, bool counted,
                                 bool chunks);

#endif
