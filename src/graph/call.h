/* Steps of making a node from a call; internal to graph/. */
#ifndef GROVE_GRAPH_CALL_H
#define GROVE_GRAPH_CALL_H

#include "graph/graph.h"

/* Binds arguments to the class's inputs and options, fills in defaults; reports all faults. roles:
 * of the bound inputs' station axes, [GROVE_MAX_INPUTS]. */
int grove_bind_arguments(grove_node *node, const grove_argument *arguments, size_t count,
                         char *roles);
/* Axes, sides and role of the node from its inputs. */
int grove_infer_axes(grove_node *node, const char *roles);
/* Which axes a reduction consumes; which part a selection takes. */
int grove_infer_reduction(grove_node *node);
int grove_infer_selection(grove_node *node);
/* Checks units and shapes of the inputs against what the class declares. */
int grove_infer_forms(grove_node *node);
/* Puts casts where an input's numbers are not as the class wants them. */
void grove_infer_casts(grove_node *node);

/* Does a number of unit `unit` fit the kind? Plain numbers fit angles when computed (not written).
 */
bool grove_kind_fits(grove_kind kind, grove_unit unit, bool written);
/* "a length", "one of: none, time, freq, both", ... into the arena. */
const char *grove_kind_describe(grove_arena *arena, grove_kind kind, const char *choices);
bool grove_kind_is_value(grove_kind kind);

/* The node with this key, or NULL. */
grove_node *grove_tree_find_key(const grove_tree *tree, grove_hash key);

#endif
