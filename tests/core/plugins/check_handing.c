/* Its check sets the handing of an input that does not exist. */
#include "plain.h"

static int check(grove_node *node)
{
    grove_node_set_handing(node, 3, GROVE_AS_REAL);
    return 0;
}

GROVE_CLASS(check_handing) = {GROVE_CLASS_HEAD(check_handing), PLAIN, .check = check};
