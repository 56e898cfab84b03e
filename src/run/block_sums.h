/* Block sums: sums (or means, minima, maxima) of values over axes, in blocks and along a fixed tree
 * of blocks, as kernels/core/reduce.h defines them bit by bit. */
#ifndef GROVE_RUN_BLOCK_SUMS_H
#define GROVE_RUN_BLOCK_SUMS_H

#include "run/state.h"

typedef struct {
    grove_reduce how;
    int axes;
    grove_range range[GROVE_MAX_AXES];
    int elements, parts;    /* elements of a cell, each of 1 part or 2 (complex) */
    bool counted;           /* unflagged samples are counted; otherwise nothing is flagged */
    const grove_axis *axis; /* reduced in blocks; NULL: everything in the order of storage */
    int64_t begin;          /* its first cell, the begin of a block */
    int levels;             /* ranges of nodes kept between additions; 0: there are none */
    int node_axes;
    grove_range node_range[GROVE_MAX_AXES]; /* possibly fewer cells than the sums */
    grove_buffer *sum, *count, *nodes;      /* allocated where the first numbers are */
} grove_block_sums;

/* Without storage at first. `axis`, from cell `begin` on, may be NULL. Minima and maxima need no
 * blocks: their bits do not depend on the order. */
grove_block_sums *grove_block_sums_new(grove_reduce how, const grove_range *range, int axes,
                                       int elements, int parts, bool counted,
                                       const grove_axis *axis, int64_t begin);
void grove_block_sums_free(grove_block_sums *sums); /* NULL is fine */
/* The cells of the axis will come in several additions: keeps nodes over these ranges. */
void grove_block_sums_keep_nodes(grove_block_sums *sums, const grove_range *range, int axes);
/* Frees the nodes: all cells have been added. */
void grove_block_sums_drop_nodes(grove_block_sums *sums);
/* Bytes of the sums of `cells` cells, and of nodes kept for `node_cells` cells. */
uint64_t grove_block_sums_bytes(int elements, int parts, bool counted, uint64_t cells, int levels,
                                uint64_t node_cells);

/* Adds the block `space` of a value, which follows earlier blocks. `fresh`: nothing was added to
 * these cells yet, and they are undefined. Axes that `to` does not have are reduced. Runs where the
 * numbers are. `rows`: see grove_accumulator_add; only with counts. */
int grove_block_sums_add_value(grove_session *session, grove_block_sums *to,
                               const grove_value *value, const grove_value *rows,
                               const grove_range *space, int axes, bool fresh);
/* Adds complete sums. */
int grove_block_sums_add(grove_session *session, grove_block_sums *to, grove_block_sums *from,
                         const grove_range *space, int axes, bool fresh);
/* Adds sums over the blocks that follow, up to cell `end` of the axis; on the host. `from` is
 * invalid afterwards. */
int grove_block_sums_merge(grove_session *session, grove_block_sums *to, grove_block_sums *from,
                           int64_t end);
/* Allocates storage on the host, for the caller to fill in. */
int grove_block_sums_store(grove_session *session, grove_block_sums *sums);
/* Moves them to the host, for reading and writing there. */
int grove_block_sums_fetch(grove_session *session, grove_block_sums *sums);

/* Fills in the value over the same ranges, which has no storage yet, flagged where all samples were
 * flagged; `samples`: number of samples added to each cell if they were not counted. */
int grove_block_sums_finish(grove_session *session, grove_block_sums *sums, int64_t samples,
                            grove_value *value, bool flagged);

#endif
