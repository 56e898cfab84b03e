/* Values: dense arrays over ranges of axes, and views of them. */
#include "value/value.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int64_t grove_value_cells(const grove_value *value)
{
    int64_t cells = 1;

    for (int d = 0; d < value->axes; d++)
        cells *= value->range[d].count;
    return cells;
}

size_t grove_value_cell_bytes(const grove_value *value)
{
    return (value->double_ ? 8u : 4u) * (value->complex_ ? 2u : 1u) * (size_t)value->elements;
}

size_t grove_value_bytes(const grove_value *value)
{
    return grove_buffer_bytes(value->data) + (value->flags ? grove_buffer_bytes(value->flags) : 0);
}

grove_value *grove_value_bare(const grove_range *range, int axes, int shape, int elements,
                              bool complex_, bool double_)
{
    grove_value *value = grove_alloc(sizeof(*value));

    value->references = 1;
    value->axes = axes;
    if (axes)
        memcpy(value->range, range, (size_t)axes * sizeof(*range));
    value->shape = shape;
    value->elements = elements;
    value->complex_ = complex_;
    value->double_ = double_;
    return value;
}

bool grove_value_size(const grove_value *value, size_t *bytes)
{
    size_t n = 1;

    for (int d = 0; d < value->axes; d++)
        if (value->range[d].count < 0 ||
            __builtin_mul_overflow(n, (size_t)value->range[d].count, &n))
            return false;
    return !__builtin_mul_overflow(n, grove_value_cell_bytes(value), bytes);
}

int64_t grove_value_flag_cells(const grove_value *value)
{
    int64_t cells = 1;

    for (int d = 0; d < value->axes; d++)
        if (value->flag_axes >> d & 1)
            cells *= value->range[d].count;
    return cells;
}

int grove_value_add_flags(grove_value *value, grove_device *device, unsigned flag_axes,
                          grove_error *error)
{
    value->flag_axes = flag_axes;
    value->flags = grove_buffer_new(device, (size_t)grove_value_flag_cells(value), error);
    return value->flags ? 0 : GROVE_NO_MEMORY;
}

grove_value *grove_value_new(grove_device *device, const grove_range *range, int axes, int shape,
                             int elements, bool complex_, bool double_, bool with_flags,
                             grove_error *error)
{
    grove_value *value = grove_value_bare(range, axes, shape, elements, complex_, double_);
    size_t bytes;

    if (!grove_value_size(value, &bytes)) {
        grove_fail(error, GROVE_NO_MEMORY, "a value is larger than any memory");
        free(value);
        return NULL;
    }
    value->data = grove_buffer_new(device, bytes, error);
    if (value->data && with_flags &&
        !grove_value_add_flags(value, device, (1u << axes) - 1, error)) {
        void *flags = grove_buffer_write(value->flags, NULL, error);
        if (flags) {
            memset(flags, 0, grove_buffer_bytes(value->flags));
        } else {
            grove_buffer_unref(value->flags);
            value->flags = NULL;
        }
    }
    if (!value->data || (with_flags && !value->flags)) {
        grove_value_unref(value);
        return NULL;
    }
    return value;
}

grove_value *grove_value_ref(grove_value *value)
{
    if (value)
        __atomic_fetch_add(&value->references, 1, __ATOMIC_RELAXED);
    return value;
}

void grove_value_unref(grove_value *value)
{
    if (!value || __atomic_sub_fetch(&value->references, 1, __ATOMIC_ACQ_REL))
        return;
    grove_buffer_unref(value->data);
    grove_buffer_unref(value->flags);
    free(value);
}

/* The baseline axis of the space from which a station axis is seen, preferably of the same owner.
 */
static int baseline_of(const grove_axis *station, const grove_range *space, int axes)
{
    int found = -1;

    for (int d = 0; d < axes; d++)
        if (space[d].axis->kind == GROVE_AXIS_BASELINE && space[d].axis->left) {
            if (space[d].axis->owner == station->owner)
                return d;
            found = found < 0 ? d : found;
        }
    return found;
}

/* Strides and offset of an array over the value's ranges whose bit is set in `present`, with cells
 * of `bytes`. */
static int lay_out(const grove_value *value, unsigned present, int64_t bytes,
                   const grove_range *space, int axes, char side, grove_view *view, int64_t *offset,
                   grove_error *error)
{
    int64_t step = bytes;

    *offset = 0;
    for (int d = value->axes - 1; d >= 0; d--) {
        const grove_range *own = &value->range[d];
        int at = -1;
        if (!(present >> d & 1))
            continue;
        for (int e = 0; e < axes; e++)
            if (space[e].axis == own->axis)
                at = e;
        if (at >= 0) {
            if (space[at].first < own->first ||
                space[at].first + space[at].count > own->first + own->count)
                return grove_fail(error, GROVE_INTERNAL, "a value does not cover axis %s",
                                  own->axis->name);
            view->stride[at] = step;
            *offset += (space[at].first - own->first) * step;
        } else if (own->axis->kind == GROVE_AXIS_STATION && side &&
                   (at = baseline_of(own->axis, space, axes)) >= 0) {
            const grove_axis *axis = space[at].axis;
            view->stride[at] = step;
            view->gather = (side == 'p' ? axis->left : axis->right) + space[at].first;
            view->gather_axis = at;
            *offset -= own->first * step;
        } else if (own->count != 1) {
            return grove_fail(error, GROVE_INTERNAL,
                              "a value varies along axis %s where it may not", own->axis->name);
        }
        step *= own->count;
    }
    return 0;
}

int grove_value_layout(const grove_value *value, const grove_range *space, int axes, char side,
                       grove_view *view, int64_t *offset, grove_error *error)
{
    memset(view, 0, sizeof(*view));
    view->elements = value->elements;
    view->shape = value->shape;
    view->complex_ = value->complex_;
    view->bytes = value->double_ ? 8 : 4;
    return lay_out(value, ~0u, (int64_t)grove_value_cell_bytes(value), space, axes, side, view,
                   offset, error);
}

int grove_value_flag_layout(const grove_value *value, const grove_range *space, int axes, char side,
                            grove_view *view, int64_t *offset, grove_error *error)
{
    memset(view, 0, sizeof(*view));
    view->elements = 1;
    view->shape = GROVE_SCALAR;
    view->bytes = 1;
    return lay_out(value, value->flag_axes, 1, space, axes, side, view, offset, error);
}

/* For gathered stations the offset counts from station 0, which may lie outside the buffer: it must
 * be computed as an integer. */
static int set_address(grove_buffer *buffer, grove_device *device, int64_t offset, grove_view *view,
                       grove_error *error)
{
    void *at;
    int code = grove_buffer_address(buffer, device, &at, error);

    if (!code)
        view->data = (void *)((uintptr_t)at + (uintptr_t)offset);
    return code;
}

int grove_value_flag_view(grove_value *value, const grove_range *space, int axes, char side,
                          grove_view *view, grove_error *error)
{
    int64_t offset;
    int code = grove_value_flag_layout(value, space, axes, side, view, &offset, error);

    if (value->flags)
        return code ? code : set_address(value->flags, NULL, offset, view, error);
    memset(view->stride, 0, sizeof(view->stride));
    return 0;
}

void grove_value_number(grove_value *value, const int64_t *index, int element, double *re,
                        double *im)
{
    const char *data = grove_buffer_host(value->data, NULL);
    int64_t cell = 0;

    for (int d = 0; d < value->axes; d++)
        cell = cell * value->range[d].count + index[d] - value->range[d].first;
    *re = *im = NAN;
    if (!data)
        return;
    int64_t at = (cell * value->elements + element) * (value->complex_ ? 2 : 1);
    *re = value->double_ ? ((const double *)data)[at] : (double)((const float *)data)[at];
    *im = !value->complex_ ? 0
          : value->double_ ? ((const double *)data)[at + 1]
                           : (double)((const float *)data)[at + 1];
}
