/* Has two axes of the same name. */
#include "plain.h"

static int open_leaf(grove_node *node)
{
    const grove_axis axis = {.name = "time", .size = 2};
    int code = grove_node_add_axis(node, &axis);

    return code ? code : grove_node_add_axis(node, &axis);
}

GROVE_CLASS(same_axes) = {GROVE_CLASS_HEAD(same_axes), PLAIN_TEXTS, .kind = GROVE_CLASS_DATA,
                          .object = "observation",
                          .data = &(const grove_data_functions){.open = open_leaf}};
