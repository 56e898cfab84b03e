/* Uses a field that is reserved. */
#include "plain.h"

static int drive(const grove_node *node, void *run)
{
    (void)node, (void)run;
    return 0;
}

GROVE_CLASS(reserved) = {GROVE_CLASS_HEAD(reserved), PLAIN, .drive = drive};
