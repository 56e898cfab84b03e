/* A cell function that wants scratch memory. */
#include "plain.h"

static int check(grove_node *node)
{
    grove_node_set_scratch(node, 1024, 0);
    return 0;
}

GROVE_CLASS(cell_scratch) = {GROVE_CLASS_HEAD(cell_scratch), PLAIN, .check = check};
