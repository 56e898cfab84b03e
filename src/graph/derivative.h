/* Derivatives of values with respect to parms, as nodes of the tree. */
#ifndef GROVE_GRAPH_DERIVATIVE_H
#define GROVE_GRAPH_DERIVATIVE_H

#include "graph/graph.h"

/* By which part of a complex number the derivative is; a real one has a real part only. */
typedef enum {
    GROVE_PART_REAL,
    GROVE_PART_IMAGINARY,
    GROVE_PART_BOTH,          /* that by the imaginary part is i times that by the real part */
    GROVE_PART_BOTH_CONJUGATE /* ... -i times it */
} grove_part;

/* How a value changes where one component of a parm changes by one unit: in the whole of the
 * interval, times what the term is there. */
typedef struct {
    grove_node *parm; /* the component: a value of the role GROVE_ROLE_PARM */
    char side;        /* 'p', 'q': as the parm of that station; 0: as the parm of the cell */
    /* Where a node above takes cells along an axis together, the parm of one station, source or
     * group of sources alone, along that axis of the coefficients; NULL: as the cell has it. */
    const grove_axis *axis;
    int64_t index;
    grove_part part;
    grove_node *node; /* the derivative, in the unit of the value; axes along which it is constant
                         may be missing */
    char role;        /* of which station it is, where the node varies with station: 'p', 'q', 0 */
} grove_slot;

typedef struct {
    grove_node *root;
    grove_slot *slots; /* in the tree's arena, by component, side and part */
    size_t count;
} grove_derivatives;

/* Makes the derivatives of a value by all parms that are not fixed, after grove_tree_finish and
 * before a session is opened. What does not depend on a component has no slot. 0, or a code with a
 * message. */
int grove_tree_derive(grove_tree *tree, grove_node *root, grove_derivatives *derivatives,
                      grove_error *error);

/* The cell of the slot's value that belongs to cell `cell` of the root's, both counted in order of
 * storage. */
int64_t grove_slot_cell(const grove_slot *slot, const grove_node *root, int64_t cell);

/* A node of the same class with the same options, and other inputs where `others`, one for each
 * input, is not NOTHING. NOTHING with a message in tree->error. */
grove_operand grove_tree_remake(grove_tree *tree, const grove_node *node,
                                const grove_operand *others);

#endif
