/* A value as a table on standard output. */
#include "nodes/common/form.h"
#include "nodes/data/rows.h"
#include "util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const grove_port inputs[] = {
    {"x", GROVE_VALUE, "value to print", .shapes = GROVE_ANY_SHAPE},
    {0},
};

static const grove_port options[] = {
    {"rows", GROVE_INTEGER, "maximum number of rows: half of them the first, half the last; 0: all",
     .initial = "20"},
    {"digits", GROVE_INTEGER, "significant digits of the numbers, 1 to 17", .initial = "6"},
    {"title", GROVE_TEXT, "its name in the first line; none: its name in the tree",
     .initial = "none"},
    {0},
};

enum { WIDEST = 64 }; /* of a column, bytes */

/* Of a run: the rows that are printed. */
typedef struct {
    grove_rows rows;
    int64_t head, tail; /* rows from the first on, and up to the last */
    double *numbers;    /* [head + tail][elements][2] */
    bool *flagged;      /* [head + tail][elements] */
    bool any_flagged;
} printing;

static void choose_rows(const grove_node *node, printing *p)
{
    int64_t most = grove_node_integer(node, "rows");

    p->rows = grove_rows_of(node, 0);
    if (most == 0 || p->rows.cells <= most) {
        p->head = p->rows.cells;
        return;
    }
    p->tail = most / 2;
    p->head = most - p->tail;
}

static size_t numbers_of(const printing *p)
{
    return (size_t)(p->head + p->tail) * (size_t)p->rows.elements;
}

static int check(grove_node *node)
{
    int64_t digits = grove_node_integer(node, "digits");
    printing p = {0};

    if (grove_node_integer(node, "rows") < 0)
        return grove_node_fail_option(node, "rows", "a number of rows, or 0 for all");
    if (digits < 1 || digits > 17)
        return grove_node_fail_option(node, "digits", "from 1 to 17 digits");
    choose_rows(node, &p);
    grove_node_set_memory(node, numbers_of(&p) * (2 * sizeof(double) + sizeof(bool)));
    return 0;
}

static void stop(const grove_node *node, void *run)
{
    printing *p = run;

    (void)node;
    free(p->numbers);
    free(p->flagged);
    free(p);
}

static int start(const grove_node *node, void **run)
{
    printing *p = grove_alloc(sizeof(*p));

    choose_rows(node, p);
    p->numbers = grove_try_alloc(2 * numbers_of(p) + 1, sizeof(double));
    p->flagged = grove_try_alloc(numbers_of(p) + 1, sizeof(bool));
    if (!p->numbers || !p->flagged) {
        int code = grove_node_fail(node, GROVE_NO_MEMORY,
                                   "no memory for %lld rows; give a smaller number as option rows",
                                   (long long)(p->head + p->tail));
        stop(node, p);
        return code;
    }
    *run = p;
    return 0;
}

static int begin(const grove_call *call)
{
    ((printing *)call->run)->any_flagged = false;
    return 0;
}

/* Where a row is kept, or -1. */
static int64_t place_of(const printing *p, int64_t row)
{
    int64_t from_end = p->rows.cells - row;

    if (row < p->head)
        return row;
    return from_end <= p->tail ? p->head + p->tail - from_end : -1;
}

static int write_block(const grove_call *call, const grove_array *const *arrays, int count)
{
    printing *p = call->run;
    const grove_array *array = arrays[0];
    int64_t length = grove_rows_run(&p->rows, array), elements = p->rows.elements;

    (void)count;
    for (int64_t n = 0; n * length < array->cells; n++) {
        int64_t row = grove_rows_of_run(&p->rows, array, length, n);
        if (place_of(p, row) < 0 && place_of(p, row + length - 1) < 0)
            continue;
        for (int64_t i = 0; i < length; i++) {
            int64_t at = place_of(p, row + i), cell = n * length + i;
            for (int e = 0; at >= 0 && e < elements; e++) {
                grove_rows_number(array, cell, e, p->numbers + 2 * (at * elements + e));
                p->flagged[at * elements + e] = grove_rows_flagged(array, cell, e);
                p->any_flagged = p->any_flagged || p->flagged[at * elements + e];
            }
        }
    }
    return 0;
}

/* ---- printing ---- */

static void show_number(char text[WIDEST], const printing *p, int64_t at, int e, int digits)
{
    const double *number = p->numbers + 2 * (at * p->rows.elements + e);
    const char *mark = p->flagged[at * p->rows.elements + e] ? "*" : "";

    if (p->rows.form->complex_)
        snprintf(text, WIDEST, "%.*g%+.*gi%s", digits, number[0], digits, number[1], mark);
    else
        snprintf(text, WIDEST, "%.*g%s", digits, number[0], mark);
}

static void show_coordinate(char text[WIDEST], const printing *p, int d, int column, int64_t i)
{
    const grove_axis *axis = p->rows.axis[d];
    double number;
    const char *label = grove_rows_label(&p->rows, axis, column, i, &number);

    if (label) {
        snprintf(text, WIDEST, "%.*s", WIDEST - 1, label);
        for (char *at = text; *at; at++)
            *at = (unsigned char)*at < 32 || *at == 127 ? '?' : *at; /* nothing for terminals */
    } else if (axis->kind == GROVE_AXIS_TIME && axis->centre) {
        grove_show_date(text, number);
    } else {
        snprintf(text, WIDEST, "%.12g", number);
    }
}

static void show_heading(char text[WIDEST], const grove_axis *axis, int column)
{
    const char *unit = axis->kind == GROVE_AXIS_TIME ? "UTC" : grove_rows_unit(axis);

    snprintf(text, WIDEST, axis->centre && unit[0] ? "%.40s (%s)" : "%.40s",
             grove_rows_column(axis, column), unit);
}

/* The text of a column: of its heading where at is -1, else of the row kept there. */
static void show_cell(char text[WIDEST], const printing *p, int column, int64_t at, int digits)
{
    int64_t index[GROVE_MAX_AXES];

    for (int d = 0; d < p->rows.axes; d++) {
        int columns = grove_rows_columns(p->rows.axis[d]);
        if (column >= columns) {
            column -= columns;
            continue;
        }
        if (at < 0) {
            show_heading(text, p->rows.axis[d], column);
            return;
        }
        grove_rows_index(&p->rows, at < p->head ? at : p->rows.cells - (p->head + p->tail) + at,
                         index);
        show_coordinate(text, p, d, column, index[d]);
        return;
    }
    if (at < 0)
        snprintf(text, WIDEST, "%s", grove_rows_element(&p->rows, column));
    else
        show_number(text, p, at, column, digits);
}

/* The first line: the form of the value; of a single cell only its name. */
static void print_title(const grove_node *node, const printing *p, const char *unit)
{
    bool given = grove_node_given(node, "title");
    const char *title = given ? grove_node_text(node, "title") : grove_node_input_name(node, 0);
    grove_text text = {0};

    printf("%s%s", title, title[0] ? ": " : "");
    if (!p->rows.axes)
        return;
    grove_rows_shape(&text, &p->rows);
    printf("%s%s%s", text.at, unit[0] ? ", " : "", unit);
    for (int d = 0; d < p->rows.axes; d++)
        printf("%s%s %lld", d ? ", " : "; ", p->rows.axis[d]->name,
               (long long)p->rows.axis[d]->size);
    putchar('\n');
    free(text.at);
}

static void print_table(const printing *p, const char *unit, int digits)
{
    char text[WIDEST];
    int columns = p->rows.elements;
    int64_t kept = p->head + p->tail;

    for (int d = 0; d < p->rows.axes; d++)
        columns += grove_rows_columns(p->rows.axis[d]);
    int *width = grove_alloc((size_t)columns * sizeof(*width));
    for (int64_t at = -1; at < kept; at++)
        for (int k = 0; k < columns; k++) {
            show_cell(text, p, k, at, digits);
            width[k] = (int)strlen(text) > width[k] ? (int)strlen(text) : width[k];
        }
    for (int64_t at = p->rows.axes ? -1 : 0; at <= kept; at++) {
        if (at == p->head && kept < p->rows.cells)
            printf("... %lld more ...\n", (long long)(p->rows.cells - kept));
        if (at == kept)
            break;
        for (int k = 0; k < columns; k++) {
            show_cell(text, p, k, at, digits);
            if (k + 1 < columns)
                printf("%*s  ", -width[k], text);
            else
                printf("%s%s%s\n", text, p->rows.axes || !unit[0] ? "" : " ",
                       p->rows.axes ? "" : unit);
        }
    }
    free(width);
}

static int prepare(const grove_call *call)
{
    const grove_node *node = call->node;
    const printing *p = call->run;
    char unit[48];

    grove_unit_show(unit, grove_node_input_form(node, 0)->unit);
    print_title(node, p, unit);
    print_table(p, unit, (int)grove_node_integer(node, "digits"));
    if (p->any_flagged)
        puts("* flagged");
    fflush(stdout); /* before the run's files are put in place */
    return 0;
}

static const grove_action_functions functions = {
    .begin = begin,
    .write = write_block,
    .prepare = prepare,
};

GROVE_CLASS(print) = {
    GROVE_CLASS_HEAD(print),
    .doc = "Prints a value as a table: a row for each cell, with its coordinates and "
           "numbers.\nTimes are UTC; a * follows flagged numbers. For a large value the first and "
           "the last rows are printed.",
    .output_doc = "an action: a table on standard output",
    .group = "actions",
    .inputs = inputs,
    .options = options,
    .kind = GROVE_CLASS_ACTION,
    .check = check,
    .start = start,
    .stop = stop,
    .action = &functions,
    .example = "print(mean(V, over=time), rows=10)",
};
