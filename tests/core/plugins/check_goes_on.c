/* Its check reports an error, but returns 0. */
#include "plain.h"

static int check(grove_node *node)
{
    grove_node_fail(node, -1, "not in this weather");
    return 0;
}

GROVE_CLASS(check_goes_on) = {GROVE_CLASS_HEAD(check_goes_on), PLAIN, .check = check};
