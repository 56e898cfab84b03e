/* Exponentials in products: exp(a[s,p] - a[s,q]) as a factor of each station, and their other
 * spellings. */
#ifndef GROVE_GRAPH_EXPONENT_H
#define GROVE_GRAPH_EXPONENT_H

#include "graph/chain.h"

/* Opens the factor, a scalar of the role GROVE_ROLE_EXPONENTIAL: the terms of its exponent that are
 * of station p, of station q, of none, and of the baseline make an exponential each, that of q as
 * the hermitian of what it is for p. False, with nothing added, if a term varies with baseline and
 * along `axis`. */
bool grove_chain_open_exponential(grove_chain *product, const grove_factor *factor,
                                  const grove_axis *axis);
/* Opens the factor, a sum, a difference, or a complex number of its parts: c cos x + i c sin x with
 * a real scalar x is c exp(i x), in either order, with either sign, and with any factors c. False,
 * with nothing added, if it is another. */
bool grove_chain_open_cosine(grove_chain *product, const grove_factor *factor,
                             const grove_axis *axis);
/* Opens the factor, a scalar of the role GROVE_ROLE_POWER: a product to 2, -1 or -2 as its factors
 * to that power, and exponentials to any whole power up to 64. False, with nothing added, if it is
 * another. */
bool grove_chain_open_power(grove_chain *product, const grove_factor *factor,
                            const grove_axis *axis);

#endif
