/* Checks of the functions of one value, `x`. */
#ifndef GROVE_NODES_ELEMENTARY_H
#define GROVE_NODES_ELEMENTARY_H

#include "nodes/form.h"

/* Functions that a matrix does not have. */
enum { ELEMENTARY_SHAPES = GROVE_SCALAR | GROVE_DIAGONAL | GROVE_VECTOR };

/* The result is of the form of x. */
static inline int elementary_keep(grove_node *node)
{
    grove_node_set_output(node, grove_node_input_form(node, 0));
    return 0;
}

/* As x, but real. */
static inline int elementary_real(grove_node *node)
{
    grove_form form = *grove_node_input_form(node, 0);

    form.complex_ = false;
    grove_node_set_output(node, &form);
    return 0;
}

/* Plain numbers to plain numbers. */
static inline int elementary_number(grove_node *node)
{
    elementary_keep(node);
    return form_want_number(node, 0, "x", false);
}

/* Angles or plain numbers to plain numbers. */
static inline int elementary_from_angle(grove_node *node)
{
    grove_form form = *grove_node_input_form(node, 0);

    form_set_unit(&form, GROVE_UNIT_NONE);
    grove_node_set_output(node, &form);
    return form_want_number(node, 0, "x", true);
}

/* Real plain numbers to angles. */
static inline int elementary_to_angle(grove_node *node)
{
    grove_form form = *grove_node_input_form(node, 0);

    form_set_unit(&form, GROVE_UNIT_ANGLE);
    grove_node_set_output(node, &form);
    return form_want_number(node, 0, "x", false);
}

#endif
