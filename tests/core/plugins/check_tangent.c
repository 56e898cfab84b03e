/* Its check gives a rule of derivatives for an input that it does not have. */
#include "plain.h"

static int check(grove_node *node)
{
    grove_node_set_tangent(node, "y: dy");
    return 0;
}

GROVE_CLASS(check_tangent) = {GROVE_CLASS_HEAD(check_tangent), PLAIN, .check = check};
