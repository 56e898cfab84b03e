/* Its check chooses a kernel without functions. */
#include "plain.h"

static int check(grove_node *node)
{
    static const grove_kernel none = {"none", 0, 0, 0, 0, 0, 0};

    grove_node_set_kernel(node, &none);
    return 0;
}

GROVE_CLASS(check_kernel) = {GROVE_CLASS_HEAD(check_kernel), PLAIN, .check = check};
