/* A leaf whose member cannot be read, with a message or without. */
#include "plain.h"

static int open_leaf(grove_node *node)
{
    grove_form form = {.shape = GROVE_SCALAR, .precision = GROVE_PRECISION_DOUBLE};
    grove_axis axis = {.name = "time", .size = 3};
    int code = grove_node_add_axis(node, &axis);

    if (!code)
        code = grove_node_add_member(node, "says", "time", &form, NULL, "fails, says why");
    return code ? code : grove_node_add_member(node, "silent", "time", &form, NULL, "fails");
}

static int read_leaf(const grove_call *call, const char *member, grove_array *out)
{
    (void)out;
    return member[1] == 'a' ? grove_node_fail(call->node, -5, "the tape is torn") : -5;
}

GROVE_CLASS(read_fails) = {
    GROVE_CLASS_HEAD(read_fails),
    PLAIN_TEXTS,
    .kind = GROVE_CLASS_DATA,
    .object = "observation",
    .data = &(const grove_data_functions){.open = open_leaf, .read = read_leaf},
};
