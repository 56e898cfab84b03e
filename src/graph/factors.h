/* A value per baseline as a sum of Jones products, sum_g L_g M_g R_g^H, in which fitted parms are
 * in L and R only. */
#ifndef GROVE_GRAPH_FACTORS_H
#define GROVE_GRAPH_FACTORS_H

#include "graph/graph.h"

typedef struct {
    grove_node *left, *middle, *right; /* left, right: per station, or the same for all; NULL: 1 */
    char side;                         /* where the middle is per station: 'p' or 'q' */
} grove_group;

typedef struct grove_factors {
    grove_group groups[GROVE_MAX_GROUPS]; /* the last one may depend on no parm */
    int count;
    const char *why; /* the value has not this form, and why; NULL: it has */
    /* Whether left or right vary inside the intervals of the parms, by something else. */
    bool each_time, each_channel;
    bool diagonal; /* no left or right is a matrix */
} grove_factors;

/* Finds the factors of a value, and makes nodes for them. */
void grove_tree_factor(grove_tree *tree, grove_node *value, const grove_node *const *parms,
                       int parm_count, grove_factors *factors);

#endif
