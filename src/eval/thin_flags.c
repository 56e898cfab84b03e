/* Flags of a class node's value: per cell a byte, bit k for element k. */
#include "eval/thin_state.h"

#include <string.h>

typedef struct {
    const grove_value *value;
    grove_view view; /* of the flags */
} flag_input;

static unsigned all_bits(int elements)
{
    return elements >= 8 ? 0xff : (1u << elements) - 1;
}

/* Element by element; a scalar's flag is every element's, and a diagonal's are those of XX and YY.
 */
static unsigned elementwise(unsigned bits, int from_shape, int from_elements, int to_shape,
                            int to_elements)
{
    if (!bits || (from_shape == to_shape && from_elements == to_elements))
        return bits;
    if (from_shape == GROVE_DIAGONAL && to_shape == GROVE_MATRIX)
        return (bits & 1) | (bits & 2) << 2;
    if (from_shape == GROVE_MATRIX && to_shape == GROVE_DIAGONAL)
        return (bits & 1) | (bits >> 3 & 1) << 1;
    return all_bits(to_elements);
}

/* Bits of the full matrix that a product's operand leaves unknown, and those where it is not zero
 * by its shape. */
static void expand(unsigned bits, int shape, unsigned *flags, unsigned *full)
{
    *full = shape == GROVE_MATRIX ? 15 : 9;
    *flags = shape == GROVE_MATRIX     ? bits
             : shape == GROVE_DIAGONAL ? (bits & 1) | (bits & 2) << 2
             : bits                    ? 9u
                                       : 0;
}

/* (a b)_ij = sum_k a_ik b_kj is flagged when a flagged a_ik meets a b_kj that is not zero by shape,
 * or the other way round. */
static unsigned product(unsigned a, int a_shape, unsigned b, int b_shape, int to_shape)
{
    unsigned fa, ma, fb, mb, out = 0;

    if (!a && !b)
        return 0;
    expand(a, a_shape, &fa, &ma);
    expand(b, b_shape, &fb, &mb);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            for (int k = 0; k < 2; k++) {
                int left = 2 * i + k, right = 2 * k + j;
                if ((fa >> left & 1 && mb >> right & 1) || (fb >> right & 1 && ma >> left & 1))
                    out |= 1u << (2 * i + j);
            }
    return to_shape == GROVE_MATRIX     ? out
           : to_shape == GROVE_DIAGONAL ? (out & 1) | (out >> 3 & 1) << 1
                                        : (out != 0);
}

static unsigned transpose(unsigned bits, int shape)
{
    return shape == GROVE_MATRIX ? (bits & 9) | (bits & 2) << 1 | (bits & 4) >> 1 : bits;
}

static unsigned cell_flags(const grove_node *node, const flag_input *inputs, const int64_t *index,
                           int axes, const grove_value *out)
{
    unsigned bits[GROVE_MAX_INPUTS] = {0}, result = 0;
    uint32_t rules = node->class_->flags;

    for (int k = 0; k < node->input_count; k++)
        if (inputs[k].view.data)
            bits[k] = *(unsigned char *)grove_view_at(&inputs[k].view, index, axes);
    if (rules & GROVE_CLASS_PRODUCT_FLAGS && node->input_count >= 2 && inputs[0].value &&
        inputs[1].value)
        return product(bits[0], inputs[0].value->shape, bits[1], inputs[1].value->shape,
                       out->shape);
    for (int k = 0; k < node->input_count; k++) {
        if (!bits[k])
            continue;
        const grove_value *in = inputs[k].value;
        result |= rules & GROVE_CLASS_MIX_FLAGS
                      ? all_bits(out->elements)
                      : elementwise(bits[k], in->shape, in->elements, out->shape, out->elements);
    }
    return rules & GROVE_CLASS_TRANSPOSE_FLAGS ? transpose(result, out->shape) : result;
}

/* Which of the output's axes any of the inputs' flags vary along. */
static unsigned varying(const flag_input *inputs, int count, const grove_range *space, int axes,
                        const grove_value *out)
{
    unsigned mask = 0;

    for (int v = 0; v < out->axes; v++)
        for (int d = 0; d < axes; d++)
            for (int k = 0; k < count; k++)
                if (space[d].axis == out->range[v].axis && inputs[k].view.data &&
                    inputs[k].view.stride[d])
                    mask |= 1u << v;
    return mask;
}

static void fill(const grove_node *node, const flag_input *inputs, const grove_range *space,
                 int axes, grove_value *out, unsigned char *to)
{
    int64_t index[GROVE_MAX_AXES] = {0}, size[GROVE_MAX_AXES];
    size_t cells = grove_buffer_bytes(out->flags);

    for (int d = 0; d < axes; d++) {
        size[d] = 1;
        for (int v = 0; v < out->axes; v++)
            if (out->range[v].axis == space[d].axis && out->flag_axes >> v & 1)
                size[d] = space[d].count;
    }
    for (size_t i = 0; i < cells; i++) {
        to[i] = (unsigned char)cell_flags(node, inputs, index, axes, out);
        for (int d = axes - 1; d >= 0 && ++index[d] == size[d]; d--)
            index[d] = 0;
    }
}

int grove_combine_flags(grove_session *session, const grove_node *node, grove_value *const *inputs,
                        const grove_range *space, int axes, grove_value *value)
{
    flag_input flagged[GROVE_MAX_INPUTS];
    bool any = false;
    size_t cells = 1;

    memset(flagged, 0, sizeof(flagged));
    for (int k = 0; k < node->input_count; k++) {
        if (!inputs[k])
            continue;
        flagged[k].value = inputs[k];
        any = any || inputs[k]->flags;
        if (inputs[k]->flags && grove_value_flag_view(inputs[k], space, axes, node->inputs[k].side,
                                                      &flagged[k].view, session->error))
            return GROVE_DEVICE;
    }
    if (!any)
        return 0;
    value->flag_axes = varying(flagged, node->input_count, space, axes, value);
    for (int v = 0; v < value->axes; v++)
        if (value->flag_axes >> v & 1)
            cells *= (size_t)value->range[v].count;
    value->flags = grove_buffer_new(session->device, cells, session->error);
    if (!value->flags)
        return GROVE_NO_MEMORY;
    fill(node, flagged, space, axes, value, grove_buffer_host(value->flags, NULL));
    return 0;
}
