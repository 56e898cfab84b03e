/* Terms of values that are written and fitted. */
#ifndef GROVE_GRAPH_TERMS_H
#define GROVE_GRAPH_TERMS_H

#include "graph/graph.h"

/* Warns where a value V_pq = J_p M_pq J_q^H that an action writes or fits has a term of one station
 * only, one without its hermitian, or terms of both stations in one order; where a parm is the same
 * for all stations and occurs at both sides; of models that are made of the data; and of images of
 * other frequencies without a spectrum. Before the tree is rewritten. */
void grove_tree_check_terms(grove_tree *tree);

#endif
