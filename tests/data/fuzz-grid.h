/* What every grid that a reader gives promises. */
#ifndef GROVE_TESTS_FUZZ_GRID_H
#define GROVE_TESTS_FUZZ_GRID_H

#include "nodes/common/grid.h"

#include <math.h>
#include <stdlib.h>

static inline void fuzz_check(int good)
{
    if (!good) {
        abort();
    }
}

static inline void fuzz_check_grid(const grove_grid *grid)
{
    int64_t cells = 1;

    for (int d = 0; d < grid->axes; d++) {
        const grove_grid_axis *axis = &grid->axis[d];
        cells *= axis->size;
        for (int64_t i = 0; i < axis->size; i++) {
            fuzz_check(!axis->number || isfinite(axis->number[i]));
            fuzz_check(!axis->width || (axis->width[i] > 0 && isfinite(axis->width[i])));
            fuzz_check(!axis->label || axis->label[i]);
            fuzz_check(!axis->other || axis->other[i]);
        }
    }
    fuzz_check(cells == grid->cells && grid->columns > 0);
    for (int k = 0; k < grid->columns; k++) {
        const grove_grid_column *column = &grid->column[k];
        int64_t numbers = cells * column->elements * (column->complex_ ? 2 : 1);
        fuzz_check(column->name && column->name[0] && column->elements > 0);
        for (int64_t i = 0; i < numbers; i++)
            fuzz_check(isfinite(column->numbers[i]));
    }
}

#endif
