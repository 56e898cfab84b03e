/* Rewriting: known shapes of the graph become fused nodes. */
#ifndef GROVE_GRAPH_REWRITE_H
#define GROVE_GRAPH_REWRITE_H

#include "graph/graph.h"

/* Every sum over one source axis of a product with one `point` in it becomes a `predict` (with the
 * left and the right factors as station Jones terms); a sum of sums is taken term by term. Where
 * that cannot be, the sum's note says why. */
int grove_tree_rewrite(grove_tree *tree);

/* Users of `x * 1`, `x / 1`, `x + 0` and `x - 0` take x itself where that is of the same form. */
void grove_tree_drop_neutral(grove_tree *tree);

/* The users of `old` take `new`. */
void grove_node_replace(grove_tree *tree, const grove_node *old, grove_node *new);

#endif
