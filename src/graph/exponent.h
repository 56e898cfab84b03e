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
/* Opens the exponentials of a product together, where their terms together make a phase; not values
 * for which `whole` is true. False, with nothing changed, if they make none. */
bool grove_chain_join_phases(grove_chain *product, const grove_axis *axis, grove_chain_test *whole,
                             void *context);
/* Opens the factor, a sum, a difference, or a complex number of its parts: c cos x + i c sin x with
 * a real scalar x is c exp(i x), and c real(z) + i c imag(z) is c z, in either order, with either
 * signs, and with any factors c. False, with nothing added, if it is another. */
bool grove_chain_open_cosine(grove_chain *product, const grove_factor *factor,
                             const grove_axis *axis);
enum { GROVE_MAX_TERMS = 16 };
/* The terms of a sum inside of the factor, multiplied out; one of them may be a number alone. How
 * many; -1: more than GROVE_MAX_TERMS. */
int grove_chain_open_sum(grove_chain *terms, const grove_factor *of, grove_edge edge, int depth);

#endif
