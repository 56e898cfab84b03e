#include "nodes/plot/cube.h"

#include <math.h>
#include <string.h>

int grove_cube_read(grove_cube *cube, const char *path, const char *dataset, grove_error *error)
{
    static const char *const names[GROVE_CUBE_AXES] = {"time", "freq", "station", "source"};
    grove_grid *grid = grove_grid_read(path, dataset, "", error);
    int code = grid ? 0 : grove_error_code(error);

    cube->grid = grid;
    for (int a = 0; a < GROVE_CUBE_AXES; a++)
        cube->axis[a] = -1;
    for (int d = 0; grid && d < grid->axes && !code; d++) {
        int a = 0;
        while (a < GROVE_CUBE_AXES && strcmp(grid->axis[d].name, names[a]) != 0)
            a++;
        bool named = a >= GROVE_CUBE_STATION;
        if (a == GROVE_CUBE_AXES)
            code = grove_fail(error, GROVE_INVALID,
                              "%s: %s varies along '%s', which pictures do not have", path, dataset,
                              grid->axis[d].name);
        else if (named ? !grid->axis[d].label : !grid->axis[d].number)
            code = grove_fail(error, GROVE_INVALID, "%s: %s has no coordinates along '%s'", path,
                              dataset, grid->axis[d].name);
        else
            cube->axis[a] = d;
    }
    if (!code && grid->column->complex_)
        code = grove_fail(error, GROVE_INVALID,
                          "%s: %s is complex; solution tables have amplitudes and phases", path,
                          dataset);
    return code;
}

int64_t grove_cube_size(const grove_cube *cube, int axis)
{
    return cube->axis[axis] < 0 ? 1 : cube->grid->axis[cube->axis[axis]].size;
}

double grove_cube_at(const grove_cube *cube, const int64_t *index, int element)
{
    const grove_grid_column *column = cube->grid->column;
    int64_t cell = 0;

    for (int d = 0; d < cube->grid->axes; d++)
        for (int a = 0; a < GROVE_CUBE_AXES; a++)
            if (cube->axis[a] == d)
                cell = cell * cube->grid->axis[d].size + index[a];
    if (column->flags && column->flags[cell] >> (element < 7 ? element : 7) & 1)
        return NAN;
    return column->numbers[cell * column->elements + element];
}

double grove_cube_place(const grove_cube *cube, int axis, int64_t k)
{
    return cube->axis[axis] < 0 ? 0 : cube->grid->axis[cube->axis[axis]].number[k];
}

double grove_cube_width(const grove_cube *cube, int axis, int64_t k)
{
    int64_t size = grove_cube_size(cube, axis), from = k > 0 ? k - 1 : 0, to = from + 1;

    if (size < 2)
        return axis == GROVE_CUBE_FREQ ? 1e6 : 60;
    return fabs(grove_cube_place(cube, axis, to) - grove_cube_place(cube, axis, from));
}
