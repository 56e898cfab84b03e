#include "nodes/common/grid.h"

#include "nodes/data/service.h"
#include "util.h"

#include <stdlib.h>
#include <string.h>

#define MAX_BYTES ((size_t)1 << 30)

static void free_labels(char **labels, int64_t count)
{
    for (int64_t i = 0; labels && i < count; i++)
        free(labels[i]);
    free(labels);
}

void grove_grid_free(grove_grid *grid)
{
    if (!grid)
        return;
    for (int d = 0; d < grid->axes; d++) {
        free(grid->axis[d].name);
        free(grid->axis[d].number);
        free(grid->axis[d].width);
        free_labels(grid->axis[d].label, grid->axis[d].size);
        free_labels(grid->axis[d].other, grid->axis[d].size);
    }
    for (int k = 0; k < grid->columns; k++) {
        free(grid->column[k].name);
        free(grid->column[k].numbers);
        free(grid->column[k].flags);
    }
    free(grid->column);
    free(grid);
}

bool grove_grid_has_word(const char *list, const char *word, size_t length)
{
    for (const char *at = list; *at;) {
        size_t n = strcspn(at, " ");
        if (n == length && n && !strncmp(at, word, n))
            return true;
        at += n + strspn(at + n, " ");
    }
    return false;
}

int grove_grid_unit(const char *text, size_t length, grove_unit *unit, double *factor)
{
    const char *end = text + length;

    *unit = GROVE_UNIT_NONE;
    *factor = 1;
    for (const char *at = text; at < end;) {
        size_t n = 0;
        grove_unit one;
        double by, power = 1;
        while (at + n < end && at[n] != ' ' && at[n] != '^')
            n++;
        if (!n || n > 16 || !grove_unit_named(at, (int)n, &one, &by))
            return GROVE_INVALID;
        at += n;
        if (at < end && *at == '^') {
            bool negative = ++at < end && *at == '-';
            at += negative;
            if (at == end || *at < '1' || *at > '9')
                return GROVE_INVALID;
            power = negative ? -(*at - '0') : *at - '0';
            at++;
        }
        if (!grove_unit_power(one, power, &one))
            return GROVE_INVALID;
        *unit = grove_unit_multiply(*unit, one);
        for (int k = 0; k < (power < 0 ? -power : power); k++)
            *factor = power < 0 ? *factor / by : *factor * by;
        while (at < end && *at == ' ')
            at++;
    }
    return 0;
}

int64_t grove_grid_count(const grove_grid *grid, int64_t max)
{
    int64_t cells = 1;

    for (int d = 0; d < grid->axes; d++)
        if (grid->axis[d].size == 0)
            return 0;
    for (int d = 0; d < grid->axes; d++) {
        if (cells > max / grid->axis[d].size)
            return -1;
        cells *= grid->axis[d].size;
    }
    return cells;
}

bool grove_grid_room(const grove_grid *grid, grove_grid_column *column)
{
    size_t cells = (size_t)grid->cells + 1,
           cell = (size_t)column->elements * (column->complex_ ? 2 : 1) * sizeof(double);

    column->numbers = grove_try_alloc(cells, cell);
    column->flags = grove_try_alloc(cells, 1);
    return column->numbers && column->flags;
}

void grove_grid_settle(const grove_grid *grid, grove_grid_column *column)
{
    for (int64_t i = 0; i < grid->cells; i++)
        if (column->flags[i])
            return;
    free(column->flags);
    column->flags = NULL;
}

static grove_grid *read_npy(const char *path, const char *axes, grove_error *error)
{
    char *note_path = grove_format("%s.axes", path);
    size_t length = 0;
    char *bytes = grove_file_read(path, MAX_BYTES, false, &length, error), *note = NULL;
    grove_grid *grid = NULL;

    if (bytes && grove_path_exists(note_path))
        note = grove_file_read(note_path, MAX_BYTES, true, NULL, error);
    if (bytes && (note || !grove_path_exists(note_path)))
        grid = grove_grid_parse_npy(bytes, length, note, path, axes, error);
    free(note);
    free(note_path);
    free(bytes);
    return grid;
}

grove_grid *grove_grid_parse_hdf5(const char *bytes, size_t length, const char *name,
                                  const char *dataset, const char *axes, grove_error *error)
{
    const grove_hdf5_module *module = grove_hdf5_open_module("read", error);

    return module ? module->parse(bytes, length, name, dataset, axes, error) : NULL;
}

static grove_grid *read_hdf5(const char *path, const char *dataset, const char *axes,
                             grove_error *error)
{
    size_t length = 0;
    char *bytes = grove_file_read(path, MAX_BYTES, false, &length, error);
    grove_grid *grid =
        bytes ? grove_grid_parse_hdf5(bytes, length, path, dataset, axes, error) : NULL;

    free(bytes);
    return grid;
}

bool grove_grid_is_hdf5(const char *path)
{
    return grove_ends_with(path, ".h5") || grove_ends_with(path, ".hdf5");
}

grove_grid *grove_grid_read(const char *path, const char *dataset, const char *axes,
                            grove_error *error)
{
    grove_grid *grid = NULL;

    if (grove_grid_is_hdf5(path))
        return read_hdf5(path, dataset, axes, error);
    if (grove_ends_with(path, ".npy"))
        return read_npy(path, axes, error);
    if (!grove_ends_with(path, ".csv")) {
        grove_fail(error, GROVE_INVALID, "%s: the name ends in .csv, .npy, .h5 or .hdf5", path);
        return NULL;
    }
    char *text = grove_file_read(path, MAX_BYTES, true, NULL, error);
    if (text)
        grid = grove_grid_parse_csv(text, path, axes, error);
    free(text);
    return grid;
}
