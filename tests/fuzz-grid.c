/* Any bytes as a table of numbers: the first chooses .csv or .npy, whose text of axes stands before
 * a byte 1. Either a grid that keeps its promises, or a message. */
#include "fuzz.h"
#include "io/grid.h"

#include <math.h>

static void check(int good)
{
    if (!good) {
        abort();
    }
}

static void check_grid(const grove_grid *grid)
{
    int64_t cells = 1;

    for (int d = 0; d < grid->axes; d++) {
        const grove_grid_axis *axis = &grid->axis[d];
        cells *= axis->size;
        for (int64_t i = 0; i < axis->size; i++) {
            check(!axis->number || isfinite(axis->number[i]));
            check(!axis->label || axis->label[i]);
            check(!axis->other || axis->other[i]);
        }
    }
    check(cells == grid->cells && grid->columns > 0);
    for (int k = 0; k < grid->columns; k++) {
        const grove_grid_column *column = &grid->column[k];
        int64_t numbers = cells * column->elements * (column->complex_ ? 2 : 1);
        check(column->name && column->name[0] && column->elements > 0);
        for (int64_t i = 0; i < numbers; i++)
            check(isfinite(column->numbers[i]));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    char *text = fuzz_text(data + 1, size - 1);
    grove_error *error = grove_error_new();
    grove_grid *grid;
    char *split = data[0] == 'n' ? memchr(text, 1, size - 1) : NULL;
    if (split) {
        *split = 0;
        size_t length = size - 1 - (size_t)(split + 1 - text);
        grid = grove_grid_parse_npy(split + 1, length, text, "input", "", error);
    } else if (data[0] == 'a') {
        grid = grove_grid_parse_npy(text, size - 1, NULL, "input", "time station", error);
    } else {
        grid = grove_grid_parse_csv(text, "input", "term", error);
    }
    check((grid == NULL) == (grove_error_count(error) > 0));
    if (grid)
        check_grid(grid);
    grove_grid_free(grid);
    free(text);
    free(grove_error_text(error));
    grove_error_free(error);
    return 0;
}
