/* Products of values of baselines with as few operations as possible. */
#ifndef GROVE_GRAPH_PRODUCTS_H
#define GROVE_GRAPH_PRODUCTS_H

#include "graph/graph.h"

/* Nodes are in their order, and known to be used or not. Replaced nodes become unused. */
void grove_tree_gather_products(grove_tree *tree);

#endif
