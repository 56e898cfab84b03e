/* Has a baseline of a station that does not exist. */
#include "plain.h"

static int open_leaf(grove_node *node)
{
    static const int32_t left[] = {0, 0}, right[] = {1, 2};
    const grove_axis station = {.name = "station", .size = 2};
    const grove_axis baseline = {.name = "baseline", .size = 2, .left = left, .right = right};
    int code = grove_node_add_axis(node, &station);

    return code ? code : grove_node_add_axis(node, &baseline);
}

GROVE_CLASS(far_baseline) = {GROVE_CLASS_HEAD(far_baseline), PLAIN_TEXTS, .kind = GROVE_CLASS_DATA,
                             .object = "observation",
                             .data = &(const grove_data_functions){.open = open_leaf}};
