/* Takes an axis that its object lacks. */
#include "plain.h"

static const grove_port inputs[] = {
    {"obs", GROVE_OBJECT, "whose axes it takes", .object = "observation"},
    {0},
};

static int open_leaf(grove_node *node)
{
    return grove_node_take_axis(node, grove_node_object(node, "obs"), "weather");
}

GROVE_CLASS(takes_nothing) = {GROVE_CLASS_HEAD(takes_nothing),
                              PLAIN_TEXTS,
                              .inputs = inputs,
                              .kind = GROVE_CLASS_DATA,
                              .object = "table",
                              .data = &(const grove_data_functions){.open = open_leaf}};
