/* Its check sets a vector without elements. */
#include "plain.h"

static int check(grove_node *node)
{
    grove_form form = {.shape = GROVE_VECTOR};

    grove_node_set_output(node, &form);
    return 0;
}

GROVE_CLASS(check_output) = {GROVE_CLASS_HEAD(check_output), PLAIN, .check = check};
