/* Phases that are written out: exp(-2 pi i nu/c (u l + v m + w (n - 1))). */
#ifndef GROVE_GRAPH_PHASES_H
#define GROVE_GRAPH_PHASES_H

#include "graph/chain.h"

/* Finds the terms of -2 pi i freq/c (uvw . scale x) among the terms of an exponent, with the
 * elements of one vector x and a real scale, such as -1: one term for each of its three elements;
 * `found` gets their positions. x, or NULL. */
grove_node *grove_phases_find(const grove_chain *const *terms, int count, const grove_node *uvw,
                              const grove_node *freq, int found[3], double *scale);

/* Calls a class of sources or phases with the objects that two axes belong to, of the sources and
 * of the stations or baselines, and with `more` arguments. NULL: it cannot be made. */
grove_node *grove_phases_call(grove_tree *tree, const grove_class *class_,
                              const grove_axis *const axes[2], const grove_argument *more,
                              size_t count, const grove_place *place);

#endif
