/* Adds an axis to its result, with a cell function. */
#include "plain.h"

static int check(grove_node *node)
{
    const grove_axis axis = {.name = "beam", .size = 2};

    return grove_node_add_output_axis(node, &axis);
}

GROVE_CLASS(cell_adds) = {GROVE_CLASS_HEAD(cell_adds), PLAIN, .check = check};
