/* Checks of dish diameters. */
#ifndef GROVE_NODES_DISH_H
#define GROVE_NODES_DISH_H

#include "base/error.h"
#include "plugin.h"

/* Fails when the diameter is a constant that is not a valid diameter; warns when the observation
 * does not have all diameters. */
static inline int dish_check(const grove_node *node)
{
    int k = grove_node_input(node, "diameter");
    const grove_node *obs = grove_node_object(node, "obs");
    const double *diameter = obs ? grove_node_member_data(obs, "station_diameter") : NULL;
    const grove_axis *station = obs ? grove_node_axis(obs, "station") : NULL;
    double number;

    if (!grove_node_input_form(node, k))
        return 0;
    if (grove_node_input_constant(node, k, &number))
        return number > 0
                   ? 0
                   : grove_node_fail_option(node, "diameter", "%g m is not a diameter", number);
    for (int64_t p = 0; diameter && station && p < station->size; p++)
        if (!(diameter[p] > 0)) {
            grove_node_warn(node,
                            "station %s has no diameter in its observation; give an option such as "
                            "diameter=25m",
                            station->labels ? station->labels[p] : "");
            break;
        }
    return 0;
}

#endif
