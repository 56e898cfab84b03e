/* Figures in a build without cairo. */
#include "nodes/plot/figure.h"

int grove_figure_write(const grove_figure *figure, const char *path, FILE *stream,
                       grove_error *error)
{
    (void)figure;
    (void)stream;
    return grove_fail(error, GROVE_MISSING,
                      "%s: this build cannot draw; build Grove with cairo (libcairo2-dev)", path);
}
