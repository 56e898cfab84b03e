/* Pictures of charts, as PNG or SVG files. */
#ifndef GROVE_NODES_PLOT_FIGURE_H
#define GROVE_NODES_PLOT_FIGURE_H

#include "nodes/plot/plot.h"

#include "base/error.h"

#include <stdio.h>

/* Without cairo, both fail with GROVE_MISSING. */
/* Writes into the stream, as PNG or SVG by the ending of `path`, which also names the file in
 * messages. GROVE_INVALID for another ending, sizes beyond 16384 pixels and the like. */
int grove_figure_write(const grove_figure *figure, const char *path, FILE *stream,
                       grove_error *error);
/* Draws to `path`; an existing file is replaced when the picture is complete. */
int grove_figure_draw(const grove_figure *figure, const char *path, grove_error *error);

#endif
