/* Other spellings of Jones terms with parms, in a fit: what does not depend on parms becomes a
 * factor of its own. */
#ifndef GROVE_GRAPH_FACTOR_SPELLINGS_H
#define GROVE_GRAPH_FACTOR_SPELLINGS_H

#include "graph/chain.h"

/* The term with exponentials of station q as hermitians of those that p has, where they depend on
 * parms, and with diagonal(b, d) diagonal(u, v) in place of diagonal(b u, d v), where b and d do
 * not. `known`: whether a value depends on no parm. */
grove_chain grove_factor_respell(const grove_chain *term, const grove_axis *baseline,
                                 grove_chain_test *known, void *context);

/* The product with its constant, or that alone, in double precision. With what cannot be made,
 * *failed is set. */
grove_operand grove_factor_make(const grove_chain *product, const grove_node *like, bool *failed);

#endif
