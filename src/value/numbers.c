/* Numbers, flags and axes of values for programs that use Grove. */
#include "grove.h"

#include "base/memory.h"
#include "base/text.h"
#include "device/array.h"
#include "value/value.h"

#include <stdlib.h>
#include <string.h>

int grove_value_axes(const grove_value *value)
{
    return value->axes;
}

const char *grove_value_axis(const grove_value *value, int k, int64_t *size)
{
    if (k < 0 || k >= value->axes)
        return NULL;
    if (size)
        *size = value->range[k].count;
    return value->range[k].axis->name;
}

int grove_value_elements(const grove_value *value)
{
    return value->elements;
}

const double *grove_value_coordinates(const grove_value *value, int k)
{
    if (k < 0 || k >= value->axes || !value->range[k].axis->centre)
        return NULL;
    return value->range[k].axis->centre + value->range[k].first;
}

const char *const *grove_value_labels(const grove_value *value, int k)
{
    if (k < 0 || k >= value->axes || !value->range[k].axis->labels)
        return NULL;
    return value->range[k].axis->labels + value->range[k].first;
}

const int32_t *grove_value_stations(const grove_value *value, int k, char side)
{
    if (k < 0 || k >= value->axes)
        return NULL;
    const grove_range *range = &value->range[k];
    const int32_t *numbers = side == 'q' ? range->axis->right : range->axis->left;

    return numbers ? numbers + range->first : NULL;
}

char *grove_value_unit(const grove_value *value)
{
    char text[64];

    return grove_strdup(grove_unit_show(text, value->unit));
}

bool grove_value_is_complex(const grove_value *value)
{
    return value->complex_;
}

double *grove_value_numbers(grove_value *value, int64_t *count, grove_error *error)
{
    int64_t numbers = grove_value_cells(value) * value->elements;
    double *list = grove_try_alloc((size_t)numbers + 1, 2 * sizeof(double));
    const char *data = grove_buffer_host(value->data, error); /* reports why it is not available */
    int parts = value->complex_ ? 2 : 1;

    if (!list || !data) {
        free(list);
        if (data)
            grove_fail(error, GROVE_NO_MEMORY, "no memory for %lld numbers", (long long)numbers);
        return NULL;
    }
    for (int64_t i = 0; i < numbers * parts; i++)
        list[2 * (i / parts) + i % parts] = value->double_
                                                ? ((const double *)(const void *)data)[i]
                                                : (double)((const float *)(const void *)data)[i];
    if (count)
        *count = numbers;
    return list;
}

unsigned char *grove_value_flagged(grove_value *value, grove_error *error)
{
    int64_t cells = grove_value_cells(value), index[GROVE_MAX_AXES] = {0};
    unsigned char *list = grove_try_alloc((size_t)(cells * value->elements) + 1, 1);
    grove_view view;

    if (!list) {
        grove_fail(error, GROVE_NO_MEMORY, "no memory for %lld flags", (long long)cells);
        return NULL;
    }
    if (!value->flags)
        return list;
    if (grove_value_flag_view(value, value->range, value->axes, 0, &view, error)) {
        free(list);
        return NULL;
    }
    for (int64_t i = 0; i < cells; i++) {
        unsigned bits = *(unsigned char *)grove_view_at(&view, index, value->axes);
        for (int e = 0; e < value->elements; e++)
            list[i * value->elements + e] = bits >> (e < 7 ? e : 7) & 1;
        for (int d = value->axes - 1; d >= 0 && ++index[d] == value->range[d].count; d--)
            index[d] = 0;
    }
    return list;
}
