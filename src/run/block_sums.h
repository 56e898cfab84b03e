/* Sums (or means, min, max) of values over axes, in blocks and along a fixed tree of blocks, as
 * kernels/reduce/reduce.h defines them bit by bit. */
#ifndef GROVE_RUN_BLOCK_SUMS_H
#define GROVE_RUN_BLOCK_SUMS_H

#include "run/state.h"

typedef struct {
    grove_reduce how;
    int axes;
    grove_range range[GROVE_MAX_AXES];
    int elements, parts;    /* numbers of a cell, each of 1 or 2 (complex) parts */
    bool counted;           /* good samples are; otherwise all are good */
    const grove_axis *axis; /* that is reduced in blocks; NULL: all in the order of storage */
    int64_t begin;          /* the first cell of it, a block's first */
    int levels; /* of nodes that wait for others from one addition to the next; 0: there are none */
    int node_axes;
    grove_range node_range[GROVE_MAX_AXES]; /* they may be of fewer cells than the sums */
    grove_buffer *sum, *count, *nodes;      /* made where the first numbers are */
} grove_block_sums;

/* Without storage as yet. `axis`, from cell `begin` on, may be NULL. Min and max have no blocks:
 * any order gives their bits. */
grove_block_sums *grove_block_sums_new(grove_reduce how, const grove_range *range, int axes,
                                       int elements, int parts, bool counted,
                                       const grove_axis *axis, int64_t begin);
void grove_block_sums_free(grove_block_sums *sums); /* NULL is fine */
/* Additions will not bring all cells of the axis at once: nodes are kept, of these ranges. */
void grove_block_sums_keep_nodes(grove_block_sums *sums, const grove_range *range, int axes);
/* They are of no use any more: all cells have come. */
void grove_block_sums_drop_nodes(grove_block_sums *sums);
/* Bytes of the sums of so many cells, and of the nodes that are kept of so many. */
uint64_t grove_block_sums_bytes(int elements, int parts, bool counted, uint64_t cells, int levels,
                                uint64_t node_cells);

/* Adds the part `space` of a value, which follows what was added; `fresh`: nothing was added to
 * these cells, which are undefined before. Axes that `to` does not have are reduced. Where the
 * numbers are. */
int grove_block_sums_add_value(grove_session *session, grove_block_sums *to,
                               const grove_value *value, const grove_range *space, int axes,
                               bool fresh);
/* The same with sums that are complete. */
int grove_block_sums_add(grove_session *session, grove_block_sums *to, grove_block_sums *from,
                         const grove_range *space, int axes, bool fresh);
/* Adds sums over the blocks that follow, until cell `end` of the axis; on the host. `from` is of no
 * use afterwards. */
int grove_block_sums_merge(grove_session *session, grove_block_sums *to, grove_block_sums *from,
                           int64_t end);
/* Makes storage on the host, for the caller to fill. */
int grove_block_sums_store(grove_session *session, grove_block_sums *sums);
/* Brings them to the host, for reading and writing there. */
int grove_block_sums_fetch(grove_session *session, grove_block_sums *sums);

/* The value over the same ranges, which has no storage yet, with flags where there was no good
 * sample; `samples`: what was added to each cell when not counted. */
int grove_block_sums_finish(grove_session *session, grove_block_sums *sums, int64_t samples,
                            grove_value *value, bool flagged);

#endif
