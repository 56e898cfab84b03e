/* The check of add and subtract. */
#ifndef GROVE_NODES_SUMS_H
#define GROVE_NODES_SUMS_H

#include "nodes/form.h"

/* Sets the form of a sum of inputs 0 and 1; *jones: their shapes differ. `action`: "add". */
static inline int sums_check(grove_node *node, const char *action, bool *jones)
{
    const grove_form *a = grove_node_input_form(node, 0), *b = grove_node_input_form(node, 1);
    grove_form form = a->shape >= b->shape ? *a : *b;
    grove_unit unit;
    int code = form_common_unit(node, 2, action, &unit);

    if (code)
        return code;
    *jones = a->shape != b->shape;
    if (form.shape == GROVE_VECTOR && (*jones || a->vector != b->vector))
        return grove_node_fail(node, GROVE_SHAPE,
                               "cannot %s a vector and something else than a vector as long",
                               action);
    form.complex_ = a->complex_ || b->complex_;
    form_set_unit(&form, unit);
    grove_node_set_output(node, &form);
    return 0;
}

#endif
