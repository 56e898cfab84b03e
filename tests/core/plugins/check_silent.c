/* Its check fails without a message. */
#include "plain.h"

static int check(grove_node *node)
{
    (void)node;
    return -1;
}

GROVE_CLASS(check_silent) = {GROVE_CLASS_HEAD(check_silent), PLAIN, .check = check};
