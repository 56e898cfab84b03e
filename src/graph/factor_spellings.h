/* Other spellings of Jones terms with parms, in a fit: parts that do not depend on parms become
 * factors of their own. */
#ifndef GROVE_GRAPH_FACTOR_SPELLINGS_H
#define GROVE_GRAPH_FACTOR_SPELLINGS_H

#include "graph/chain.h"

/* The term with exponentials of station q as hermitians of p's, where they depend on parms, and
 * with diagonal(b, d) diagonal(u, v) in place of diagonal(b u, d v), where b and d do not. `known`:
 * whether a value depends on no parm. */
grove_chain grove_factor_respell(const grove_chain *term, const grove_axis *baseline,
                                 grove_chain_test *known, void *context);

/* The product with its constant, or the constant alone, in double precision. *failed is set if it
 * cannot be made. */
grove_operand grove_factor_make(const grove_chain *product, const grove_node *like, bool *failed);

#endif
