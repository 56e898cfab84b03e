/* Rewriting: replaces patterns in the graph by fused nodes. */
#ifndef GROVE_GRAPH_REWRITE_H
#define GROVE_GRAPH_REWRITE_H

#include "graph/graph.h"

/* Each sum or mean over one source axis of a product with one `point` becomes a `predict`, with the
 * left and the right factors as station Jones terms; a sum of sums is rewritten term by term, and
 * operations linear in the product are applied to the sum. Where that is not possible, the sum's
 * note says why. */
int grove_tree_rewrite(grove_tree *tree);

#endif
