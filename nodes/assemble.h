/* The check of scalar, diagonal and matrix: a cell from as many scalars as it has numbers. */
#ifndef GROVE_NODES_ASSEMBLE_H
#define GROVE_NODES_ASSEMBLE_H

#include "nodes/form.h"

static inline int assemble_check(grove_node *node, int shape)
{
    grove_form form = {.shape = shape};
    grove_unit unit;
    int code = form_common_unit(node, shape, "put together", &unit);

    for (int k = 0; k < shape; k++)
        form.complex_ = form.complex_ || grove_node_input_form(node, k)->complex_;
    form_set_unit(&form, unit);
    grove_node_set_output(node, &form);
    return code;
}

#endif
