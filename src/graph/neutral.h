/* Nodes in place of others: casts and operands that change nothing. */
#ifndef GROVE_GRAPH_NEUTRAL_H
#define GROVE_GRAPH_NEUTRAL_H

#include "graph/graph.h"

/* The value behind casts; the node itself if it is no cast. NULL for NULL. */
grove_node *grove_node_behind_casts(const grove_node *node);

/* The input of that name behind casts; NULL: there is none. */
grove_node *grove_node_input_named(const grove_node *node, const char *name);

/* Whether it is this constant, in any unit. */
bool grove_node_is_number(grove_node *node, double number);

/* Whether both have one form, one role and the same axes, so that one can replace the other. */
bool grove_node_alike(const grove_node *a, const grove_node *b);

/* Makes the users of `old` use `new`. */
void grove_node_replace(grove_tree *tree, const grove_node *old, grove_node *new);
/* Gives it the other's name, where the text has that and not its own. */
void grove_node_take_name(grove_node *node, const grove_node *from);

/* Users of `x * 1`, `x / 1`, `x + 0`, `x - 0` and `scalar(x)` use x itself if it has the same form.
 */
void grove_tree_drop_neutral(grove_tree *tree);
/* x, where the node is one of these. */
grove_node *grove_node_behind_neutral(grove_node *node);

#endif
