/* Any bytes as a table of numbers: the first chooses .csv or .npy, whose text of axes stands before
 * a byte 1. Either a grid that keeps its promises, or a message. */
#include "fuzz-grid.h"
#include "tests/common/fuzz.h"

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
    fuzz_check((grid == NULL) == (grove_error_count(error) > 0));
    if (grid)
        fuzz_check_grid(grid);
    grove_grid_free(grid);
    free(text);
    free(grove_error_text(error));
    grove_error_free(error);
    return 0;
}
