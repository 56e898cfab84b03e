/* Folds: reductions over axes, tile by tile and chunk by chunk, with the same bits for any tiles,
 * chunks and threads, on the host or where the numbers are.
 *
 * Each number is reduced in double. First come source, station and other axes, in the order of
 * storage; then freq, then baseline, then time; at each of these levels the partial results of the
 * level before are added to zero in the order of the index. */
#ifndef GROVE_RUN_ACCUMULATOR_H
#define GROVE_RUN_ACCUMULATOR_H

#include "plan/program.h"
#include "run/state.h"

typedef struct grove_accumulator grove_accumulator;

/* The reduction `node` over tiles of `block`, of which those axes are cut that have a bit in
 * `divided`. `counted`: the input has flags. */
grove_accumulator *grove_accumulator_new(grove_session *session, const grove_node *node,
                                         const grove_block *block, unsigned divided, bool counted);
void grove_accumulator_free(grove_accumulator *fold);

/* Adds the input of a tile; or a chunk of it along one of the axes that come first, then `chunk` is
 * true and grove_accumulator_end_chunks follows the last. Tiles in order: time slowest, then freq,
 * then baseline. `space`: the tile's ranges of the input. */
int grove_accumulator_add(grove_accumulator *fold, const grove_block *tile, grove_value *input,
                          const grove_range *space, int axes, bool chunk, grove_error *error);
int grove_accumulator_end_chunks(grove_accumulator *fold, const grove_block *tile,
                                 grove_error *error);

/* The result, over `space`: ranges of the node's axes. */
int grove_accumulator_value(grove_accumulator *fold, const grove_range *space, bool double_,
                            bool flagged, grove_value **value, grove_error *error);

/* Bytes that it takes beside its input at most, for tiles of that size. */
uint64_t grove_accumulator_bytes(const grove_node *node, const grove_range *space, int axes,
                                 const grove_block *block, unsigned divided, bool counted,
                                 bool chunks);

#endif
