#include "draw.h"

#include "grove.h"

#include <stdio.h>
#include <stdlib.h>

int bench_draw(const grove_figure *figure, const char *path)
{
    grove_error *error = grove_error_new();
    int failed = grove_figure_draw(figure, path, error) != 0;

    if (failed) {
        char *text = grove_error_text(error);
        fprintf(stderr, "%s", text);
        free(text);
    }
    grove_error_free(error);
    return failed;
}
