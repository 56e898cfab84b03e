/* Its check fails with a message. */
#include "plain.h"

static int check(grove_node *node)
{
    return grove_node_fail(node, -1, "%d is one too many", 3);
}

GROVE_CLASS(check_says) = {GROVE_CLASS_HEAD(check_says), PLAIN, .check = check};
