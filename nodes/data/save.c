/* A value into a file: CSV, or NumPy's .npy with its axes in a text file next to it. */
#include "nodes/common/form.h"
#include "nodes/common/grid.h"
#include "nodes/common/npy.h"
#include "nodes/common/report.h"
#include "nodes/data/rows.h"
#include "unstable/record.h"
#include "util.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const grove_port inputs[] = {
    {"x", GROVE_VALUE, "value to save", .shapes = GROVE_ANY_SHAPE},
    {0},
};

static const grove_port options[] = {
    {"to", GROVE_TEXT,
     "the file: .csv, a line for each cell; or .npy, with the axes in a file .npy.axes next to it; "
     "to=none removes the action"},
    {"overwrite", GROVE_BOOL, "replace an existing file with this name", .initial = "false"},
    {0},
};

enum { MAX_CELLS = 4096 }; /* converted at a time */

/* Of a run. */
typedef struct {
    grove_rows rows;
    bool csv, single; /* single: of the numbers that come */
    bool begun;       /* some have come */
    const char *path; /* borrowed from the tree */
    /* Numbers in order of storage, flagged ones NaN, behind room for the header of .npy: tiles come
     * in another order than the rows. Of .csv a file that is dropped in the end. */
    grove_file *numbers;
    grove_file *text; /* the .csv, or the .axes */
} saving;

static int set_target(grove_node *node, const char *path)
{
    grove_rows rows = grove_rows_of(node, 0);
    char *axes = grove_format("%s.axes", path);
    double numbers = (double)rows.cells * (double)rows.elements * (rows.form->complex_ ? 2 : 1);
    /* double precision; in .csv some 20 characters each, besides the numbers kept until the end */
    bool csv = grove_ends_with(path, ".csv");
    double bytes = csv ? numbers * 28 + (double)rows.cells * rows.axes * 16 : numbers * 8;
    int code = grove_node_set_target(
        node, &(grove_target){.path = path,
                              .second_path = csv ? NULL : axes,
                              .overwrite = grove_node_bool(node, "overwrite"),
                              .bytes = GROVE_NPY_HEADER + (uint64_t)fmin(bytes, 9e18)});

    free(axes);
    return code;
}

static int check(grove_node *node)
{
    const char *path = grove_node_text(node, "to");

    if (!grove_ends_with(path, ".csv") && !grove_ends_with(path, ".npy"))
        return grove_node_fail_option(node, "to", "'%s': the name ends in .csv or .npy%s", path,
                                      grove_grid_is_hdf5(path) ? "; HDF5 files can only be read"
                                                               : "");
    grove_node_set_memory(node, (uint64_t)1 << 20);
    return set_target(node, path);
}

static int start(const grove_node *node, void **run)
{
    saving *s = grove_alloc(sizeof(*s));

    s->rows = grove_rows_of(node, 0);
    s->path = grove_node_text(node, "to");
    s->csv = grove_ends_with(s->path, ".csv");
    *run = s;
    return 0;
}

static void stop(const grove_node *node, void *run)
{
    (void)node;
    free(run);
}

static void abort_run(const grove_call *call)
{
    saving *s = call->run;

    grove_file_discard(s->numbers);
    grove_file_discard(s->text);
    s->numbers = s->text = NULL;
}

static int begin(const grove_call *call)
{
    const grove_node *node = call->node;
    saving *s = call->run;
    grove_error *error = grove_error_new();
    char *axes = grove_format("%s.axes", s->path);
    grove_record *record = grove_call_record(call);
    const bool overwrite = grove_node_bool(node, "overwrite");
    int code = 0;

    s->begun = false;
    /* numbers of .csv are dropped in the end, so they must not be sent to a stream at its path */
    s->numbers = grove_record_create(record, s->csv ? axes : s->path, s->csv || overwrite, error);
    if (s->numbers)
        s->text = grove_record_create(record, s->csv ? s->path : axes, overwrite, error);
    if (!s->text)
        code = grove_error_code(error);
    free(axes);
    if (code) {
        abort_run(call);
        return report_output(node, error);
    }
    grove_error_free(error);
    return 0;
}

/* ---- numbers, tile by tile ---- */

static size_t cell_bytes(const saving *s)
{
    size_t number = s->single ? sizeof(float) : sizeof(double);

    return number * (s->rows.form->complex_ ? 2 : 1) * (size_t)s->rows.elements;
}

static int io_fault(const grove_node *node, const saving *s)
{
    return grove_node_fail_option(node, "to", "%s: cannot write: %s", s->path, strerror(errno));
}

static int seek(const saving *s, int64_t cell)
{
    return fseeko(grove_file_stream(s->numbers),
                  (off_t)GROVE_NPY_HEADER + (off_t)cell * (off_t)cell_bytes(s), SEEK_SET);
}

/* Cells [first, first + count) of the array, flagged numbers as NaN. */
static void convert(const saving *s, const grove_array *array, int64_t first, int64_t count,
                    void *to)
{
    int parts = s->rows.form->complex_ ? 2 : 1;
    size_t bytes = cell_bytes(s);

    memcpy(to, (const char *)array->data + (size_t)first * bytes, (size_t)count * bytes);
    if (!array->flags)
        return;
    for (int64_t i = 0; i < count; i++)
        for (int e = 0; e < s->rows.elements; e++)
            for (int k = 0; k < parts && grove_rows_flagged(array, first + i, e); k++) {
                int64_t at = (i * s->rows.elements + e) * parts + k;
                if (s->single)
                    ((float *)to)[at] = NAN;
                else
                    ((double *)to)[at] = NAN;
            }
}

static int write_run(const saving *s, const grove_array *array, int64_t first, int64_t count,
                     void *buffer)
{
    size_t bytes = cell_bytes(s);

    for (int64_t done = 0; done < count; done += MAX_CELLS) {
        int64_t some = count - done < MAX_CELLS ? count - done : MAX_CELLS;
        convert(s, array, first + done, some, buffer);
        if (fwrite(buffer, bytes, (size_t)some, grove_file_stream(s->numbers)) != (size_t)some)
            return GROVE_IO;
    }
    return 0;
}

static int write_block(const grove_call *call, const grove_array *const *arrays, int count)
{
    const grove_node *node = call->node;
    saving *s = call->run;
    const grove_array *array = arrays[0];
    int64_t length = grove_rows_run(&s->rows, array);
    int code = 0;

    (void)count;
    s->single = array->form->precision == GROVE_PRECISION_SINGLE;
    s->begun = true;
    void *buffer = grove_try_alloc(MAX_CELLS, cell_bytes(s));
    if (!buffer)
        return grove_node_fail(node, GROVE_NO_MEMORY, "no memory to write numbers");
    for (int64_t n = 0; n * length < array->cells && !code; n++) {
        code = seek(s, grove_rows_of_run(&s->rows, array, length, n));
        code = code ? code : write_run(s, array, n * length, length, buffer);
    }
    free(buffer);
    return code ? io_fault(node, s) : 0;
}

/* ---- .csv ---- */

static void quoted(FILE *out, const char *text)
{
    bool plain = !text[strcspn(text, ",\"\r\n")] && text[0] != '#' && text[0] != ' ';

    if (plain) {
        fputs(text, out);
        return;
    }
    putc('"', out);
    for (; *text; text++)
        fprintf(out, *text == '"' ? "\"\"" : "%c", *text);
    putc('"', out);
}

static void write_heading(const saving *s, const char *unit, FILE *out)
{
    const char *comma = "";

    for (int d = 0; d < s->rows.axes; d++) {
        const grove_axis *axis = s->rows.axis[d];
        const char *of_axis = axis->centre ? grove_rows_unit(axis) : "";
        for (int k = 0; k < grove_rows_columns(axis); k++, comma = ",")
            fprintf(out, of_axis[0] ? "%s%s (%s)" : "%s%s", comma, grove_rows_column(axis, k),
                    of_axis);
    }
    for (int e = 0; e < s->rows.elements; e++)
        for (int k = 0; k < (s->rows.form->complex_ ? 2 : 1); k++, comma = ",") {
            fprintf(out, "%s%s%s", comma, grove_rows_element(&s->rows, e),
                    !s->rows.form->complex_ ? ""
                    : k                     ? "_im"
                                            : "_re");
            if (unit[0])
                fprintf(out, " (%s)", unit);
        }
    putc('\n', out);
}

/* The shortest text that is read back as the same number; of a single one in double precision. */
static void write_number(double x, FILE *out)
{
    char text[40];
    double back;

    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, x);
        if (grove_parse_number(text, &back) && back == x)
            break;
    }
    fputs(text, out);
}

static void write_coordinate(const saving *s, int d, int column, int64_t i, FILE *out)
{
    double number;
    const char *label = grove_rows_label(&s->rows, s->rows.axis[d], column, i, &number);

    if (label)
        quoted(out, label);
    else
        write_number(number, out);
}

static void write_row(const saving *s, int64_t row, const void *cell, FILE *out)
{
    int64_t index[GROVE_MAX_AXES];
    const char *comma = "";
    int numbers = s->rows.elements * (s->rows.form->complex_ ? 2 : 1);

    grove_rows_index(&s->rows, row, index);
    for (int d = 0; d < s->rows.axes; d++)
        for (int k = 0; k < grove_rows_columns(s->rows.axis[d]); k++, comma = ",") {
            fputs(comma, out);
            write_coordinate(s, d, k, index[d], out);
        }
    for (int k = 0; k < numbers; k++, comma = ",") {
        double x = s->single ? (double)((const float *)cell)[k] : ((const double *)cell)[k];
        fputs(comma, out);
        if (!isnan(x))
            write_number(x, out);
    }
    putc('\n', out);
}

/* Reads some of the written cells. */
static int read_back(const saving *s, int64_t cell, size_t count, char *to)
{
    size_t bytes = count * cell_bytes(s);
    off_t at = (off_t)GROVE_NPY_HEADER + (off_t)cell * (off_t)cell_bytes(s);
    ssize_t got;

    for (size_t have = 0; have < bytes; have += (size_t)got)
        if ((got = pread(fileno(grove_file_stream(s->numbers)), to + have, bytes - have,
                         at + (off_t)have)) <= 0)
            return GROVE_IO;
    return 0;
}

static int write_csv(const saving *s, const char *unit)
{
    FILE *out = grove_file_stream(s->text);
    size_t bytes = cell_bytes(s);
    char *buffer = grove_alloc(MAX_CELLS * bytes);
    int code = fflush(grove_file_stream(s->numbers));

    write_heading(s, unit, out);
    for (int64_t row = 0; row < s->rows.cells && !code; row += MAX_CELLS) {
        int64_t left = s->rows.cells - row;
        size_t some = left < MAX_CELLS ? (size_t)left : MAX_CELLS;
        code = read_back(s, row, some, buffer);
        for (size_t i = 0; i < some && !code; i++)
            write_row(s, row + (int64_t)i, buffer + i * bytes, out);
    }
    free(buffer);
    return code || ferror(out) ? GROVE_IO : 0;
}

/* ---- .npy ---- */

static void write_axes(const saving *s, const char *unit)
{
    FILE *out = grove_file_stream(s->text);
    grove_text shape = {0};

    grove_rows_shape(&shape, &s->rows);
    fprintf(out, "# axes of the .npy file, slowest first, each with a line for each cell\n");
    fprintf(out, "cell %s\n", shape.at);
    if (unit[0])
        fprintf(out, "unit %s\n", unit);
    for (int d = 0; d < s->rows.axes; d++) {
        const grove_axis *axis = s->rows.axis[d];
        const char *of_axis = axis->centre ? grove_rows_unit(axis) : "";
        fprintf(out, "axis %s %lld%s%s\n", axis->name, (long long)axis->size, of_axis[0] ? " " : "",
                of_axis);
        for (int64_t i = 0; i < axis->size; i++)
            for (int k = 0, columns = grove_rows_columns(axis); k < columns; k++) {
                write_coordinate(s, d, k, i, out);
                putc(k + 1 < columns ? ',' : '\n', out);
            }
    }
    free(shape.at);
}

static int write_npy(const saving *s, const char *unit)
{
    grove_npy npy = {.complex_ = s->rows.form->complex_, .bytes = s->single ? 4 : 8};
    FILE *out = grove_file_stream(s->numbers);
    char header[GROVE_NPY_HEADER];

    for (int d = 0; d < s->rows.axes; d++)
        npy.size[npy.axes++] = s->rows.axis[d]->size;
    for (int k = 0; k < 2 && s->rows.form->shape == GROVE_MATRIX; k++)
        npy.size[npy.axes++] = 2;
    if (s->rows.form->shape == GROVE_DIAGONAL || s->rows.form->shape == GROVE_VECTOR)
        npy.size[npy.axes++] = s->rows.elements;
    grove_npy_header(&npy, header);
    write_axes(s, unit);
    if (fseeko(out, 0, SEEK_SET) || fwrite(header, 1, sizeof(header), out) != sizeof(header))
        return GROVE_IO;
    return 0;
}

/* The files are put in place with all else that the run writes. */
static int prepare(const grove_call *call)
{
    const grove_node *node = call->node;
    saving *s = call->run;
    char unit[48];

    grove_unit_show(unit, grove_node_input_form(node, 0)->unit);
    int code = s->csv ? write_csv(s, unit) : write_npy(s, unit);
    if (code || fflush(grove_file_stream(s->text)) || fflush(grove_file_stream(s->numbers)))
        return io_fault(node, s);
    grove_error *error = grove_error_new();
    grove_record *record = grove_call_record(call);
    grove_file *first = s->text, *second = s->csv ? NULL : s->numbers;
    bool replaces = grove_node_bool(node, "overwrite");
    if (s->csv)
        grove_file_discard(s->numbers);
    s->text = s->numbers = NULL;
    code = grove_record_add_file(record, first, replaces, error);
    if (second && !code)
        code = grove_record_add_file(record, second, replaces, error);
    else
        grove_file_discard(second);
    if (code)
        return report_output(node, error);
    grove_error_free(error);
    return 0;
}

static const grove_action_functions functions = {
    .begin = begin,
    .write = write_block,
    .prepare = prepare,
    .abort = abort_run,
};

GROVE_CLASS(save) = {
    GROVE_CLASS_HEAD(save),
    .doc = "Saves a value with its axes: as CSV, or for NumPy.\nCSV has a line for each cell: its "
           "coordinates, times in s (UTC, modified Julian date), and its numbers, which are read "
           "back as the same bits; flagged ones are left empty. A .npy file has the axes of the "
           "value, then the axes of a cell (2 x 2 of a matrix, 2 of a diagonal); flagged numbers "
           "are NaN; the axes' coordinates are in the file .npy.axes. The class table reads both. "
           "An existing file is unchanged until the run ends successfully.",
    .output_doc = "an action: runs when the tree runs",
    .group = "actions",
    .inputs = inputs,
    .options = options,
    .kind = GROVE_CLASS_ACTION,
    .check = check,
    .start = start,
    .stop = stop,
    .action = &functions,
    .example = "save(V, to=\"visibilities.npy\")",
};
