/* Has two members of the same name. */
#include "plain.h"

static int open_leaf(grove_node *node)
{
    const grove_form form = {.shape = GROVE_SCALAR};
    int code = grove_node_add_member(node, "gain", "", &form, NULL, "a number");

    return code ? code : grove_node_add_member(node, "gain", "", &form, NULL, "another");
}

GROVE_CLASS(same_members) = {GROVE_CLASS_HEAD(same_members), PLAIN_TEXTS, .kind = GROVE_CLASS_DATA,
                             .object = "observation",
                             .data = &(const grove_data_functions){.open = open_leaf}};
