/* A leaf whose open fails; close must be called nevertheless. */
#include "plain.h"

#include <stdlib.h>

static int open_leaf(grove_node *node)
{
    grove_node_set_user(node, malloc(64));
    return grove_node_fail(node, -2, "there is nothing to open");
}

static void close_leaf(grove_node *node)
{
    free(grove_node_user(node));
    grove_node_set_user(node, NULL);
}

GROVE_CLASS(open_fails) = {
    GROVE_CLASS_HEAD(open_fails),
    PLAIN_TEXTS,
    .kind = GROVE_CLASS_DATA,
    .object = "observation",
    .data = &(const grove_data_functions){.open = open_leaf},
    .close = close_leaf,
};
