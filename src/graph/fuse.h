/* One sum over sources of a product as a call of the class that does it at once. */
#ifndef GROVE_GRAPH_FUSE_H
#define GROVE_GRAPH_FUSE_H

#include "graph/chain.h"

typedef struct {
    grove_tree *tree;
    const grove_node *sum;
    const grove_axis *source; /* the axis that it sums over */
    const bool *flagged;      /* by node id: its value may have flags */
    const bool *fitted;       /* by node id: it depends on a parm */
    size_t known;             /* number of nodes that have these; new ones are made of them */
    const char *why; /* NULL, or why it cannot be fused, with advice; in the tree's arena */
} grove_fusion;

bool grove_fusion_is_flagged(const grove_fusion *fusion, const grove_node *node);
bool grove_fusion_is_fitted(const grove_fusion *fusion, const grove_node *node);

/* The sum over sources of this product: factors without source around a call of the class that the
 * product's source, or phase, names. NULL with `why`. */
grove_node *grove_fuse(grove_fusion *fusion, const grove_chain *product);

#endif
