/* Samples that need not be computed because nobody looks at them. */
#ifndef GROVE_GRAPH_SKIP_H
#define GROVE_GRAPH_SKIP_H

#include "graph/graph.h"

/* A node with an unused input of handing GROVE_AS_FLAGS whose value meets data with flags, and then
 * ends in a reduction only, gets those data for that input. The nodes are in order, and marked as
 * used. */
void grove_tree_skip_flagged(grove_tree *tree);

#endif
