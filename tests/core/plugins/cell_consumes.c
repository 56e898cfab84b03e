/* Consumes an axis, with a cell function. */
#include "plain.h"

static int check(grove_node *node)
{
    grove_node_consume(node, GROVE_AXIS_TIME);
    return 0;
}

GROVE_CLASS(cell_consumes) = {GROVE_CLASS_HEAD(cell_consumes), PLAIN, .check = check};
