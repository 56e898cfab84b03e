/* A value as a table: a row for each cell, in order of storage. Shared by print and save. */
#ifndef GROVE_NODES_ROWS_H
#define GROVE_NODES_ROWS_H

#include "base/text.h"
#include "plugin.h"

typedef struct {
    int axes;
    const grove_axis *axis[GROVE_MAX_AXES]; /* slowest first */
    const grove_axis *stations;             /* of the baselines; NULL: not known */
    int64_t cells;
    int elements;
    const grove_form *form;
    bool circular; /* elements are called RR, ... */
} grove_rows;

/* Of value input k of a node. */
grove_rows grove_rows_of(const grove_node *node, int k);
/* Indices along the axes. */
void grove_rows_index(const grove_rows *rows, int64_t row, int64_t index[GROVE_MAX_AXES]);
/* The row of the first cell of an array that is a part of the value, and how many rows on from it
 * its cells are in order (run): along the axes that it has whole, and along the next. */
int64_t grove_rows_run(const grove_rows *rows, const grove_array *array);
int64_t grove_rows_of_run(const grove_rows *rows, const grove_array *array, int64_t run,
                          int64_t number);

/* "value" of a scalar; XX, XY, ... or RR, ...; 0, 1, ... of a vector. Until the next call. */
const char *grove_rows_element(const grove_rows *rows, int element);
/* "complex matrix", into the text. */
void grove_rows_shape(grove_text *text, const grove_rows *rows);
/* "s", "Hz" or "". */
const char *grove_rows_unit(const grove_axis *axis);
/* Columns of an axis: 2 for baselines, one for each station; and their names. */
int grove_rows_columns(const grove_axis *axis);
const char *grove_rows_column(const grove_axis *axis, int column);
/* The label of cell i in that column, or NULL where it is a number, which is then in *number. */
const char *grove_rows_label(const grove_rows *rows, const grove_axis *axis, int column, int64_t i,
                             double *number);

/* Number e of cell i of an array, and whether it is flagged. */
void grove_rows_number(const grove_array *array, int64_t i, int e, double value[2]);
bool grove_rows_flagged(const grove_array *array, int64_t i, int e);

#endif
