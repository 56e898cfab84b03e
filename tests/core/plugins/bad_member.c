/* Its member has cells of an unknown shape. */
#include "plain.h"

static int open_leaf(grove_node *node)
{
    const grove_form form = {.shape = GROVE_MATRIX | GROVE_VECTOR};

    return grove_node_add_member(node, "gain", "", &form, NULL, "a number");
}

GROVE_CLASS(bad_member) = {GROVE_CLASS_HEAD(bad_member), PLAIN_TEXTS, .kind = GROVE_CLASS_DATA,
                           .object = "observation",
                           .data = &(const grove_data_functions){.open = open_leaf}};
