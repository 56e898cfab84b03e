/* Correct: numbers along the time and stations of the observation that it is given. */
#include "plain.h"

static const grove_port inputs[] = {
    {"obs", GROVE_OBJECT, "whose axes it takes", .object = "observation"},
    {0},
};

static int open_table(grove_node *node)
{
    const grove_node *obs = grove_node_object(node, "obs");
    grove_form form = {.shape = GROVE_SCALAR, .precision = GROVE_PRECISION_DOUBLE};
    int code = grove_node_take_axis(node, obs, "time");

    if (!code)
        code = grove_node_take_axis(node, obs, "station");
    return code ? code : grove_node_add_member(node, "gain", "time station", &form, NULL, "gains");
}

static int read_table(const grove_call *call, const char *member, grove_array *out)
{
    (void)call, (void)member;
    for (int64_t t = 0; t < out->range[0].count; t++)
        for (int64_t p = 0; p < out->range[1].count; p++)
            ((double *)out->data)[t * out->range[1].count + p] =
                (double)(100 * (out->range[0].first + t) + out->range[1].first + p);
    return 0;
}

GROVE_CLASS(table) = {
    GROVE_CLASS_HEAD(table),
    PLAIN_TEXTS,
    .kind = GROVE_CLASS_DATA,
    .object = "table",
    .inputs = inputs,
    .data = &(const grove_data_functions){.open = open_table, .read = read_table},
};
