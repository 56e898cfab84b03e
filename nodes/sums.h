/* The check of add and subtract. */
#ifndef GROVE_NODES_SUMS_H
#define GROVE_NODES_SUMS_H

#include "nodes/form.h"

/* Kernels: number by number, of two complex matrices, of two shapes. */
typedef struct {
    const grove_kernel *elements, *matrices, *jones;
} sums_kernels;

/* Sets the form of a sum of inputs 0 and 1, and its kernel. `action`: "add". */
static inline int sums_check(grove_node *node, const char *action, const sums_kernels *kernels)
{
    const grove_form *a = grove_node_input_form(node, 0), *b = grove_node_input_form(node, 1);
    grove_form form = a->shape >= b->shape ? *a : *b;
    grove_unit unit;
    int code = form_common_unit(node, 2, action, &unit);

    if (code)
        return code;
    const bool jones = a->shape != b->shape;
    if (form.shape == GROVE_VECTOR && (jones || a->vector != b->vector))
        return grove_node_fail(node, GROVE_SHAPE,
                               "cannot %s a vector and something else than a vector as long",
                               action);
    form.complex_ = a->complex_ || b->complex_;
    form_set_unit(&form, unit);
    grove_node_set_output(node, &form);
    bool matrices = form.shape == GROVE_MATRIX && a->complex_ && b->complex_;
    grove_node_set_kernel(node, jones      ? kernels->jones
                                : matrices ? kernels->matrices
                                           : kernels->elements);
    return 0;
}

#endif
