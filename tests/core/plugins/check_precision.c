/* Its check sets an unknown precision. */
#include "plain.h"

static int check(grove_node *node)
{
    grove_form form = {.shape = GROVE_SCALAR, .precision = (grove_precision)5};

    grove_node_set_output(node, &form);
    return 0;
}

GROVE_CLASS(check_precision) = {GROVE_CLASS_HEAD(check_precision), PLAIN, .check = check};
