/* One sum over sources of a product as a call of the class that does it at once. */
#ifndef GROVE_GRAPH_FUSE_H
#define GROVE_GRAPH_FUSE_H

#include "graph/chain.h"

typedef struct {
    grove_tree *tree;
    const grove_node *sum;
    const grove_axis *source; /* the axis that it sums over */
    const char *why; /* NULL, or why it cannot be fused, with advice; in the tree's arena */
} grove_fusion;

/* The sum over sources of this product: factors without source around a call of the class that the
 * product's source, or phase, names. NULL with `why`. */
grove_node *grove_fuse(grove_fusion *fusion, const grove_chain *product);

#endif
