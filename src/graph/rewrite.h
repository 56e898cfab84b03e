/* Rewriting: replaces patterns in the graph by fused nodes. */
#ifndef GROVE_GRAPH_REWRITE_H
#define GROVE_GRAPH_REWRITE_H

#include "graph/graph.h"

/* Each sum or mean over one source axis of a product with one `point` becomes a `predict`, with the
 * left and the right factors as station Jones terms; a sum of sums is rewritten term by term, and
 * operations linear in the product are applied to the sum. Where that is not possible, the sum's
 * note says why. */
int grove_tree_rewrite(grove_tree *tree);

/* Users of `x * 1`, `x / 1`, `x + 0`, `x - 0` and `scalar(x)` use x itself if it has the same form.
 */
void grove_tree_drop_neutral(grove_tree *tree);
/* x, where the node is one of these. */
grove_node *grove_node_behind_neutral(grove_node *node);

/* Matrices that are made of their elements with zeros off the diagonal, and adjoints, inverses and
 * products of these, become diagonals where they are multiplied with another matrix. True: there
 * are such; new nodes are not sorted in. */
bool grove_tree_find_diagonals(grove_tree *tree);

/* Whether both have one form, one role and the same axes, so that one can replace the other. */
bool grove_node_alike(const grove_node *a, const grove_node *b);

/* The value behind casts; the node itself if it is no cast. NULL for NULL. */
grove_node *grove_node_behind_casts(grove_node *node);

/* Whether it is this constant, in any unit. */
bool grove_node_is_number(grove_node *node, double number);

/* The class of an operator, or NULL. */
const grove_class *grove_tree_operator(grove_tree *tree, grove_role role);

/* Makes the users of `old` use `new`. */
void grove_node_replace(grove_tree *tree, const grove_node *old, grove_node *new);
/* Gives it the other's name, where the text has that and not its own. */
void grove_node_take_name(grove_node *node, const grove_node *from);

#endif
