/* A default of its leaf names the leaf itself, which is not yet there. */
#include "plain.h"

static const grove_port options[] = {
    {"width", GROVE_LENGTH, "how wide, m", .initial = "tower"},
    {0},
};

static int open_leaf(grove_node *node)
{
    (void)node;
    return 0;
}

GROVE_CLASS(own_default) = {
    GROVE_CLASS_HEAD(own_default),
    PLAIN_TEXTS,
    .options = options,
    .kind = GROVE_CLASS_DATA,
    .object = "tower",
    .data = &(const grove_data_functions){.open = open_leaf},
};
