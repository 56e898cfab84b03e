#include "run/flags.h"

#include "device/array.h"

#include <string.h>

#include "../kernels/core/flag_rule.h"

static unsigned all_bits(int elements)
{
    return elements >= 8 ? 255 : (1u << elements) - 1;
}

/* ---- propagation of one flagged element ---- */

static unsigned transposed(unsigned bits, int shape)
{
    return shape == GROVE_MATRIX ? (bits & 9) | (bits & 2) << 1 | (bits & 4) >> 1 : bits;
}

static unsigned by_element(unsigned bits, const grove_value *in, const grove_value *out)
{
    if (in->shape == out->shape && in->elements == out->elements)
        return bits;
    if (in->shape == GROVE_DIAGONAL && out->shape == GROVE_MATRIX)
        return (bits & 1) | (bits & 2) << 2;
    if (in->shape == GROVE_MATRIX && out->shape == GROVE_DIAGONAL)
        return (bits & 1) | (bits & 8) >> 2;
    return all_bits(out->elements);
}

/* Bits of a factor as bits of a full matrix, XX XY YX YY; scalars and diagonals set the diagonal
 * only. */
static unsigned as_matrix(unsigned bits, int shape)
{
    if (shape == GROVE_SCALAR)
        return bits & 1 ? 9 : 0;
    return shape == GROVE_DIAGONAL ? (bits & 1) | (bits & 2) << 2 : bits & 15;
}

/* Factor k = 0 or 1 of a product of Jones terms, whose other factor has the shape `other`: element
 * ij is the sum over k of the products of ik and kj, so a full matrix spreads flags over a row or a
 * column. */
static unsigned by_product(unsigned bits, int k, int shape, int other, int out)
{
    unsigned to = as_matrix(bits, shape);

    if (other == GROVE_MATRIX && k == 0)
        to = (to & 3 ? 3u : 0u) | (to & 12 ? 12u : 0u);
    else if (other == GROVE_MATRIX)
        to = (to & 5 ? 5u : 0u) | (to & 10 ? 10u : 0u);
    if (out == GROVE_SCALAR)
        return to != 0;
    return out == GROVE_DIAGONAL ? (to & 1) | (to & 8) >> 2 : to;
}

static bool is_jones(const grove_value *value)
{
    return value && value->shape != GROVE_VECTOR;
}

static unsigned bits_of(const grove_node *node, grove_value *const *inputs, int k, int count,
                        unsigned bits, const grove_value *out)
{
    grove_flag_rule rule = node->class_->flag_rule;

    if (node->handing[k] == GROVE_AS_FLAGS)
        return all_bits(out->elements);
    if (rule == GROVE_FLAGS_PRODUCT && k < 2 && count >= 2 && is_jones(inputs[0]) &&
        is_jones(inputs[1]) && is_jones(out))
        return by_product(bits, k, inputs[k]->shape, inputs[1 - k]->shape, out->shape);
    if (rule == GROVE_FLAGS_MIX || rule == GROVE_FLAGS_PRODUCT)
        return all_bits(out->elements);
    bits = by_element(bits, inputs[k], out);
    return rule == GROVE_FLAGS_TRANSPOSE ? transposed(bits, out->shape) : bits;
}

/* ---- axes of flags ---- */

typedef struct {
    grove_view view[GROVE_MAX_INPUTS];
    int64_t offset[GROVE_MAX_INPUTS];
    grove_value *const *inputs;
    int count;
    const grove_value *rows; /* see grove_flags_combine */
} sources;

static int lay_out(sources *from, const char *side, const grove_range *space, int axes,
                   grove_error *error)
{
    int code = 0;

    for (int k = 0; k < from->count && !code; k++)
        if (from->inputs[k] && from->inputs[k]->flags)
            code = grove_value_flag_layout(from->inputs[k], space, axes, side[k], &from->view[k],
                                           &from->offset[k], error);
    return code;
}

static bool varies(const sources *from, int axis)
{
    for (int k = 0; k < from->count; k++)
        if (from->inputs[k] && from->inputs[k]->flags && from->view[k].stride[axis])
            return true;
    return false;
}

static int find_axis(const grove_value *value, const grove_axis *axis)
{
    for (int d = 0; d < value->axes; d++)
        if (value->range[d].axis == axis)
            return d;
    return -1;
}

/* The axes of the space along which flags vary: first the value's axes, along which its own flags
 * vary; then the others. Returns how many; `kept` is the number of the first kind.
 */
static int order_axes(const sources *from, const grove_range *space, int axes, grove_value *value,
                      int *order, int *kept)
{
    int n = 0;

    *kept = 0;
    value->flag_axes = 0;
    for (int behind = 0; behind < 2; behind++) {
        for (int d = 0; d < axes; d++) {
            int own = find_axis(value, space[d].axis);
            if ((own < 0) != behind || !varies(from, d))
                continue;
            if (own >= 0)
                value->flag_axes |= 1u << own;
            order[n++] = d;
        }
        *kept = behind ? *kept : n;
    }
    return n;
}

/* The view with its axes in that order. */
static grove_view reordered(const grove_view *view, const int *order, int count)
{
    grove_view to = *view;

    memset(to.stride, 0, sizeof(to.stride));
    for (int d = 0; d < count; d++) {
        to.stride[d] = view->stride[order[d]];
        if (view->gather && view->gather_axis == order[d])
            to.gather_axis = d;
    }
    return to;
}

/* ---- rules ---- */

/* Whether a space has all axes of a value. */
static bool has_axes(const grove_range *space, int axes, const grove_value *value)
{
    int found = 0;

    for (int d = 0; d < axes; d++)
        found += find_axis(value, space[d].axis) >= 0;
    return found == value->axes;
}

static int apply(grove_session *session, grove_flag_marks *rule, sources *from,
                 const grove_range *space, int axes, grove_value *value)
{
    grove_range own[GROVE_MAX_AXES];
    grove_launch launch;
    bool none = false; /* nothing is reduced */
    int order[GROVE_MAX_AXES], kept, count = order_axes(from, space, axes, value, order, &kept);

    for (int d = 0; d < count; d++) {
        own[d] = space[order[d]];
        none = none || (d >= kept && !own[d].count);
    }
    grove_launch_begin(&launch, session, &grove_array_flag_rule, GROVE_LAUNCH_ON_HOST, own, count,
                       from->count);
    for (int k = 0; k < from->count && !none; k++) {
        if (!from->inputs[k] || !from->inputs[k]->flags)
            continue;
        grove_view view = reordered(&from->view[k], order, count);
        grove_launch_input_buffer(&launch, k, from->inputs[k]->flags, &view, from->offset[k]);
    }
    int code = grove_launch_output_flags(&launch, value, session->error);
    if (!code && from->rows && kept == count && has_axes(own, count, from->rows))
        code = grove_launch_leave_rows(&launch, from->rows, session->error);
    launch.args.axes = kept;
    rule->folded = count - kept;
    memcpy(launch.args.state.bytes, rule, sizeof(*rule));
    return code ? code : grove_launch_run(session, &launch);
}

int grove_flags_combine(grove_session *session, const grove_node *node, grove_value *const *inputs,
                        const char *side, int count, const grove_value *rows,
                        const grove_range *space, int axes, grove_value *value)
{
    sources from = {.inputs = inputs, .count = count, .rows = rows};
    grove_flag_marks rule = {.folded = 0};
    int code = lay_out(&from, side, space, axes, session->error);

    for (int k = 0; k < count; k++) {
        if (!inputs[k] || !inputs[k]->flags)
            continue;
        if (node->handing[k] == GROVE_AS_FLAGS)
            rule.whole[k] = (uint8_t)all_bits(inputs[k]->elements);
        for (int e = 0; e < 8; e++)
            rule.marks[k] |= (uint64_t)bits_of(node, inputs, k, count, 1u << e, value) << 8 * e;
    }
    return code ? code : apply(session, &rule, &from, space, axes, value);
}

int grove_flags_select(grove_session *session, grove_value *from, int element,
                       const grove_value *rows, const grove_range *space, int axes,
                       grove_value *value)
{
    sources one = {.inputs = &from, .count = 1, .rows = rows};
    grove_flag_marks rule = {.marks = {(uint64_t)1 << 8 * (element < 7 ? element : 7)}};
    int code = lay_out(&one, "", space, axes, session->error);

    return code ? code : apply(session, &rule, &one, space, axes, value);
}

int grove_flags_merge(grove_session *session, grove_value *from, grove_value *to)
{
    const uint64_t same = 0x8040201008040201u;
    grove_flag_marks rule = {.marks = {same, same}};
    grove_launch launch;

    grove_launch_begin(&launch, session, &grove_array_flag_rule, GROVE_LAUNCH_ON_HOST, to->range,
                       to->axes, 2);
    memcpy(launch.args.state.bytes, &rule, sizeof(rule));
    int code = grove_launch_input_flags(&launch, 0, from, 0, session->error);
    if (!code)
        code = grove_launch_input_flags(&launch, 1, to, 0, session->error);
    if (!code)
        code = grove_launch_output_flags(&launch, to, session->error);
    return code ? code : grove_launch_run(session, &launch);
}
