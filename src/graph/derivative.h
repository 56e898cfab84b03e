/* Derivatives of values with respect to parms, as nodes of the tree. */
#ifndef GROVE_GRAPH_DERIVATIVE_H
#define GROVE_GRAPH_DERIVATIVE_H

#include "graph/graph.h"

/* How a value changes where one component of a parm changes by one unit: in the whole of the
 * interval, times the value of the term there. */
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
    char role;        /* its station, where the node varies with station: 'p', 'q', 0 */
} grove_slot;

typedef struct {
    grove_node *root;
    grove_slot *slots; /* in the tree's arena, by component, side and part */
    size_t count;
} grove_derivatives;

/* Makes the derivatives of a value by all parms that are not fixed, or by the leaves in the list
 * `parms` (NULL: all), after sums are fused and before a session is opened. Components on which the
 * value does not depend have no slot. 0, or a code with a message. */
int grove_tree_derive(grove_tree *tree, grove_node *root, const grove_node *const *parms,
                      int parm_count, grove_derivatives *derivatives, grove_error *error);

/* Gives actions that fit the derivatives as further inputs. 0, or a code with a message. */
int grove_tree_attach_derivatives(grove_tree *tree);

/* The cell of the slot's value that belongs to cell `cell` of the root's, both counted in order of
 * storage. */
int64_t grove_slot_cell(const grove_slot *slot, const grove_node *root, int64_t cell);

/* A member of the leaf, made on first use, with a number for each cell along the axis: 1 where the
 * cell, or its group if `group` has one for each, is number `index`; else 0. */
grove_operand grove_tree_indicator(grove_node *leaf, const char *name, const grove_axis *axis,
                                   const double *group, int64_t index, grove_unit unit,
                                   const grove_place *place);

#endif
