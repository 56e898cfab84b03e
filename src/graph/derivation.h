/* One derivative: the walk from a value down to a component of a parm. */
#ifndef GROVE_GRAPH_DERIVATION_H
#define GROVE_GRAPH_DERIVATION_H

#include "graph/derivative.h"

/* The way in which a value depends on the complex number of a component. */
enum { GROVE_HOLOMORPHIC = 1, GROVE_ANTIHOLOMORPHIC = 2, GROVE_NOT_HOLOMORPHIC = 3 };

typedef struct {
    grove_operand operand; /* NOTHING: it does not change */
    unsigned ways;         /* bits */
} grove_change;

typedef struct {
    grove_tree *tree;
    grove_node *parm; /* the component's value */
    char side;        /* the parm of the station at that side of baselines; 0: all */
    bool imaginary;   /* by its imaginary part */
    /* Of one cell along this axis alone; NULL: where all cells of a value depend on their own. */
    const grove_axis *axis;
    const grove_axis *groups; /* cells along `axis` share the parm by groups; NULL: they do not */
    int64_t index;            /* of the cell, or of the group */
    grove_change *known;      /* by node id */
    bool *done;
    const grove_axis *mixed; /* cells along it are taken together, so it must be `axis` */
    const char *fault;       /* the first one; in the tree's arena; NULL: none */
    const grove_place *place;
} grove_derivation;

/* How the root changes; NOTHING where it does not, where `mixed` is set, or with a fault. */
grove_change grove_derivation_take(grove_derivation *derivation, grove_node *root);

#endif
