/* Exponentials in products: exp(a[s,p] - a[s,q]) as a factor of each station, and their other
 * spellings. */
#ifndef GROVE_GRAPH_EXPONENT_H
#define GROVE_GRAPH_EXPONENT_H

#include "graph/chain.h"

/* Opens the factor, a scalar of the role GROVE_ROLE_EXPONENTIAL: the terms of its exponent that are
 * of station p, of station q, of none, and of the baseline make an exponential each; q's is written
 * as a hermitian of p's. False, with nothing added, if a term varies with baseline and along
 * `axis`. */
bool grove_chain_open_exponential(grove_chain *product, const grove_factor *factor,
                                  const grove_axis *axis);
/* Opens the factor, cos x + i sin x or complex(cos x, sin x) of a real scalar x, as exp(i x); and
 * the same with -sin x. False, with nothing added, if it is another. */
bool grove_chain_open_cosine(grove_chain *product, const grove_factor *factor,
                             const grove_axis *axis);

#endif
