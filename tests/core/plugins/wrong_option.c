/* Its check asks for an option that it does not have. */
#include "plain.h"

static int check(grove_node *node)
{
    return grove_node_number(node, "width") > 1;
}

GROVE_CLASS(wrong_option) = {GROVE_CLASS_HEAD(wrong_option), PLAIN, .check = check};
