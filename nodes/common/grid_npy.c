/* Grids from NumPy's .npy files, with a text that names their axes. */
#include "nodes/common/grid.h"
#include "nodes/common/grid_csv.h"
#include "nodes/common/npy.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    grove_scan scan; /* of the note */
    grove_grid *grid;
    grove_grid_column *column;
    const char *at; /* in the note */
    double factor;  /* of the numbers' unit */
} npy_reader;

/* ---- the note: lines "cell complex matrix", "unit Jy", "axis time 3 s" with 3 lines behind ----
 */

static bool next_line(npy_reader *in, grove_piece *line)
{
    if (!*in->at)
        return false;
    const char *end = in->at + strcspn(in->at, "\n");
    *line = grove_piece_trim(in->at, end);
    in->at = end + (*end == '\n');
    return true;
}

static void fault(npy_reader *in, grove_piece at, const char *text)
{
    grove_scan_fault(&in->scan, at.at, at.length, "%s", text);
}

static bool is_pair(const grove_grid_axis *axis)
{
    return !strcmp(axis->name, "baseline");
}

static void read_place(npy_reader *in, grove_grid_axis *axis, int64_t i, double factor)
{
    grove_piece line = {in->at, 0}, field[GROVE_CSV_FIELDS];
    int count = next_line(in, &line) ? grove_csv_split(line.at, line.at + line.length, field) : -1;

    if (count != (is_pair(axis) ? 2 : 1)) {
        fault(in, line, "this is not a coordinate of the axis; a baseline has two stations");
    } else if (axis->number) {
        if (grove_piece_number(field[0], &axis->number[i]))
            axis->number[i] *= factor;
        else if (strcmp(axis->name, "time") != 0 || !grove_piece_date(field[0], &axis->number[i]))
            fault(in, line, "not a number");
    } else {
        axis->label[i] = grove_csv_text(field[0]);
        if (axis->other)
            axis->other[i] = grove_csv_text(field[1]);
    }
}

/* Behind "axis ": a name, the number of lines, a unit. */
static void read_axis(npy_reader *in, grove_piece line)
{
    const char *end = line.at + line.length, *at = line.at, *behind;
    size_t name = 0;
    grove_unit unit;
    double factor;
    int64_t size = 0;

    while (at + name < end && at[name] != ' ')
        name++;
    behind = name && at + name < end ? grove_parse_integer(at + name + 1, &size) : NULL;
    /* each cell has a line of its own: no more cells than bytes left in the text */
    if (!behind || behind > end || size < 0 || size > (int64_t)strlen(in->at) + 1 ||
        in->grid->axes == GROVE_VALUE_AXES) {
        fault(in, line, "not an axis: a name, the number of its cells, and a unit");
        return;
    }
    while (behind < end && *behind == ' ')
        behind++;
    if (grove_grid_unit(behind, (size_t)(end - behind), &unit, &factor)) {
        fault(in, line, "the unit is not known");
        return;
    }
    grove_grid_axis *axis = &in->grid->axis[in->grid->axes++];
    axis->name = grove_strdup("");
    axis->name = grove_realloc(axis->name, name + 1);
    memcpy(axis->name, at, name);
    axis->name[name] = 0;
    axis->size = size;
    bool named = grove_grid_has_word("station source baseline", axis->name, name);
    if (named)
        axis->label = grove_alloc(((size_t)size + 1) * sizeof(char *));
    else
        axis->number = grove_alloc(((size_t)size + 1) * sizeof(double));
    if (is_pair(axis))
        axis->other = grove_alloc(((size_t)size + 1) * sizeof(char *));
    for (int64_t i = 0; i < size && !in->scan.faults; i++)
        read_place(in, axis, i, factor);
}

static void read_cell(npy_reader *in, grove_piece line)
{
    static const struct {
        const char *text;
        int shape, elements;
    } shapes[] = {
        {"scalar", GROVE_SCALAR, 1}, {"diagonal", GROVE_DIAGONAL, 2}, {"matrix", GROVE_MATRIX, 4}};
    char *text = grove_piece_copy(line), *shape = strchr(text, ' ');
    int64_t length = 0;

    shape = shape ? shape + 1 : text;
    for (int i = 0; i < 3; i++)
        if (!strcmp(shape, shapes[i].text)) {
            in->column->shape = shapes[i].shape;
            in->column->elements = shapes[i].elements;
        }
    if (!strncmp(shape, "vector of ", 10) && grove_parse_integer(shape + 10, &length) &&
        length >= 1 && length <= GROVE_MAX_VECTOR) {
        in->column->shape = GROVE_VECTOR;
        in->column->elements = (int)length;
    }
    if (!in->column->shape)
        fault(in, line, "a cell is a real or complex scalar, diagonal, matrix or vector of n");
    free(text);
}

static void read_note(npy_reader *in)
{
    grove_piece line;

    while (!in->scan.faults && next_line(in, &line)) {
        size_t word = 0;
        while (word < line.length && line.at[word] != ' ')
            word++;
        grove_piece rest = {line.at + word + (word < line.length), line.length - word};
        rest.length -= word < line.length;
        if (!line.length || *line.at == '#')
            continue;
        if (word == 4 && !strncmp(line.at, "axis", 4))
            read_axis(in, rest);
        else if (word == 4 && !strncmp(line.at, "cell", 4))
            read_cell(in, rest);
        else if (word != 4 || strncmp(line.at, "unit", 4) != 0 ||
                 grove_grid_unit(rest.at, rest.length, &in->column->unit, &in->factor))
            fault(in, line,
                  "expected a line that begins with axis, cell, or unit and a known unit");
    }
}

/* ---- without a note: the names that the user gives ---- */

static int take_names(npy_reader *in, const grove_npy *npy, const char *axes)
{
    for (const char *at = axes; *at && in->grid->axes < GROVE_VALUE_AXES;) {
        size_t n = strcspn(at, " ");
        if (n) {
            grove_grid_axis *axis = &in->grid->axis[in->grid->axes];
            axis->name = grove_format("%.*s", (int)n, at);
            axis->size = in->grid->axes < npy->axes ? npy->size[in->grid->axes] : 1;
            in->grid->axes++;
        }
        at += n + strspn(at + n, " ");
    }
    int left = npy->axes - in->grid->axes;
    const int64_t *size = npy->size + in->grid->axes;
    bool matrix = left == 2 && size[0] == 2 && size[1] == 2;
    if (left < 0 || left > 2 || (left == 2 && !matrix) ||
        (left == 1 && (size[0] < 1 || size[0] > GROVE_MAX_VECTOR)))
        return GROVE_INVALID;
    in->column->shape = matrix         ? GROVE_MATRIX
                        : left == 0    ? GROVE_SCALAR
                        : size[0] == 2 ? GROVE_DIAGONAL
                                       : GROVE_VECTOR;
    in->column->elements = matrix ? 4 : left ? (int)size[0] : 1;
    return 0;
}

/* ---- the numbers ---- */

/* Whether the axes and the cell match the file's shape. */
static bool fits(const npy_reader *in, const grove_npy *npy)
{
    int d = 0, cell = in->column->shape == GROVE_SCALAR   ? 0
                      : in->column->shape == GROVE_MATRIX ? 2
                                                          : 1;

    if (!in->column->shape || npy->axes != in->grid->axes + cell)
        return false;
    for (; d < in->grid->axes; d++)
        if (npy->size[d] != in->grid->axis[d].size)
            return false;
    return !cell || (cell == 1 ? npy->size[d] == in->column->elements
                               : npy->size[d] == 2 && npy->size[d + 1] == 2);
}

/* The place in the file of number `n` in C order. */
static int64_t place_of(const grove_npy *npy, int64_t n)
{
    int64_t index[GROVE_NPY_AXES], at = 0;

    if (!npy->fortran)
        return n;
    for (int d = npy->axes - 1; d >= 0; d--) {
        index[d] = n % npy->size[d];
        n /= npy->size[d];
    }
    for (int d = npy->axes - 1; d >= 0; d--)
        at = at * npy->size[d] + index[d];
    return at;
}

static double number_at(const grove_npy *npy, const char *bytes, int64_t number, int part)
{
    int parts = npy->complex_ ? 2 : 1;
    const char *at = bytes + npy->offset + (size_t)(number * parts + part) * (size_t)npy->bytes;
    union {
        float f;
        double d;
        int32_t i;
        int64_t l;
    } x;

    memcpy(&x, at, (size_t)npy->bytes);
    if (npy->integer)
        return npy->bytes == 4 ? (double)x.i : (double)x.l;
    return npy->bytes == 4 ? (double)x.f : x.d;
}

static void read_numbers(npy_reader *in, const grove_npy *npy, const char *bytes)
{
    int parts = npy->complex_ ? 2 : 1, elements = in->column->elements;

    for (int64_t cell = 0; cell < in->grid->cells; cell++)
        for (int e = 0; e < elements; e++) {
            int64_t at = place_of(npy, cell * elements + e);
            for (int part = 0; part < parts; part++)
                grove_grid_put(in->column, cell, e, part,
                               number_at(npy, bytes, at, part) * in->factor);
        }
    grove_grid_settle(in->grid, in->column);
}

static int read_all(npy_reader *in, const char *bytes, size_t length, const char *note,
                    const char *name, const char *axes, grove_error *error)
{
    grove_npy npy;
    int code = grove_npy_parse(&npy, bytes, length, name, error);

    if (code)
        return code;
    in->column->complex_ = npy.complex_;
    if (note)
        read_note(in);
    if (in->scan.code || in->scan.faults)
        return GROVE_INVALID;
    if (note ? !fits(in, &npy) : take_names(in, &npy, axes) || !fits(in, &npy))
        return grove_fail(error, GROVE_INVALID,
                          note ? "%s: its shape does not match the axes in %s.axes"
                               : "%s: name its axes; there is no file %s.axes next to it",
                          name, name);
    in->grid->cells = grove_grid_count(in->grid, INT64_MAX / 1024);
    if (!in->grid->cells)
        return grove_fail(error, GROVE_INVALID, "%s: it has no numbers", name);
    if (in->grid->cells < 0 || !grove_grid_room(in->grid, in->column))
        return grove_fail(error, GROVE_NO_MEMORY, "%s: no memory for its numbers", name);
    read_numbers(in, &npy, bytes);
    return 0;
}

grove_grid *grove_grid_parse_npy(const char *bytes, size_t length, const char *note,
                                 const char *name, const char *axes, grove_error *error)
{
    grove_grid *grid = grove_alloc(sizeof(*grid));
    char *note_name = grove_format("%s.axes", name);
    npy_reader in = {.grid = grid, .at = note, .factor = 1};

    in.scan = (grove_scan){.text = note, .name = note_name, .error = error};
    grid->column = in.column = grove_alloc(sizeof(*grid->column));
    grid->columns = 1;
    in.column->name = grove_strdup("value");
    int code = read_all(&in, bytes, length, note, name, axes, error);
    free(note_name);
    if (code)
        grove_grid_free(grid);
    return code ? NULL : grid;
}
