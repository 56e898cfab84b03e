#include "nodes/data/rows.h"

#include <stdio.h>
#include <string.h>

grove_rows grove_rows_of(const grove_node *node, int k)
{
    const grove_form *form = grove_node_input_form(node, k);
    grove_rows rows = {.cells = 1, .form = form};

    rows.axes = grove_node_input_axes(node, k, rows.axis);
    rows.elements = form->shape == GROVE_VECTOR ? form->vector : form->shape;
    for (int d = 0; d < rows.axes; d++) {
        const grove_node *owner = rows.axis[d]->owner;
        const double *feed = owner ? grove_node_member_data(owner, "feed") : NULL;
        rows.cells *= rows.axis[d]->size;
        rows.circular = rows.circular || (feed && *feed != 0);
        if (owner && rows.axis[d]->kind == GROVE_AXIS_BASELINE)
            rows.stations = grove_node_axis(owner, "station");
    }
    return rows;
}

void grove_rows_index(const grove_rows *rows, int64_t row, int64_t index[GROVE_MAX_AXES])
{
    for (int d = rows->axes - 1; d >= 0; d--) {
        index[d] = row % rows->axis[d]->size;
        row /= rows->axis[d]->size;
    }
}

int64_t grove_rows_run(const grove_rows *rows, const grove_array *array)
{
    int64_t run = 1;

    for (int d = array->axes - 1; d >= 0; d--) {
        run *= array->range[d].count;
        if (array->range[d].count != rows->axis[d]->size)
            break;
    }
    return run;
}

int64_t grove_rows_of_run(const grove_rows *rows, const grove_array *array, int64_t run,
                          int64_t number)
{
    int64_t cell = run * number, row = 0, step = 1;

    for (int d = array->axes - 1; d >= 0; d--) {
        row += (array->range[d].first + cell % array->range[d].count) * step;
        cell /= array->range[d].count;
        step *= rows->axis[d]->size;
    }
    return row;
}

const char *grove_rows_element(const grove_rows *rows, int element)
{
    static const char *const names[2][4] = {{"XX", "XY", "YX", "YY"}, {"RR", "RL", "LR", "LL"}};
    static _Thread_local char number[16];

    switch (rows->form->shape) {
    case GROVE_SCALAR:
        return "value";
    case GROVE_DIAGONAL:
        return names[rows->circular][3 * element];
    case GROVE_MATRIX:
        return names[rows->circular][element];
    default:
        snprintf(number, sizeof(number), "%d", element);
        return number;
    }
}

void grove_rows_shape(grove_text *text, const grove_rows *rows)
{
    const grove_form *form = rows->form;

    grove_text_add(text, "%s ", form->complex_ ? "complex" : "real");
    if (form->shape == GROVE_VECTOR)
        grove_text_add(text, "vector of %d", form->vector);
    else
        grove_text_add(text, "%s",
                       form->shape == GROVE_SCALAR     ? "scalar"
                       : form->shape == GROVE_DIAGONAL ? "diagonal"
                                                       : "matrix");
}

const char *grove_rows_unit(const grove_axis *axis)
{
    return axis->kind == GROVE_AXIS_TIME ? "s" : axis->kind == GROVE_AXIS_FREQ ? "Hz" : "";
}

int grove_rows_columns(const grove_axis *axis)
{
    return axis->kind == GROVE_AXIS_BASELINE && axis->left && axis->right ? 2 : 1;
}

const char *grove_rows_column(const grove_axis *axis, int column)
{
    if (grove_rows_columns(axis) == 1)
        return axis->name;
    return column ? "q" : "p";
}

const char *grove_rows_label(const grove_rows *rows, const grove_axis *axis, int column, int64_t i,
                             double *number)
{
    if (grove_rows_columns(axis) == 2) {
        int32_t station = column ? axis->right[i] : axis->left[i];
        *number = station;
        return rows->stations && rows->stations->labels ? rows->stations->labels[station] : NULL;
    }
    *number = axis->centre ? axis->centre[i] : (double)i;
    return axis->labels && !axis->centre ? axis->labels[i] : NULL;
}

void grove_rows_number(const grove_array *array, int64_t i, int e, double value[2])
{
    int parts = array->form->complex_ ? 2 : 1;
    int64_t at = parts * (i * array->elements + e);

    value[1] = 0;
    for (int k = 0; k < parts; k++)
        value[k] = array->form->precision == GROVE_PRECISION_SINGLE
                       ? (double)((const float *)array->data)[at + k]
                       : ((const double *)array->data)[at + k];
}

bool grove_rows_flagged(const grove_array *array, int64_t i, int e)
{
    return array->flags && array->flags[i] >> (e < 7 ? e : 7) & 1;
}
