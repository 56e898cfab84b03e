/* Pictures of data: reading and layout. A module does the drawing (plot.h). */
#ifndef GROVE_PLOT_PICTURE_H
#define GROVE_PLOT_PICTURE_H

#include "grove.h"

#include "io/layout.h"
#include "plot/set.h"

/* Draws one picture of `path` into the file `to`. `path` is a Measurement Set, or a layout by file
 * or by a name found in `folders` (NULL-terminated). */
int grove_picture_draw(const char *path, const char *const *folders, const grove_picture *picture,
                       const char *to, grove_error *error);

/* The kinds of picture of a set, each with its own file. */
int grove_picture_uv(grove_set *set, const char *to);
int grove_picture_scatter(grove_set *set, const grove_picture *picture, const char *to);
int grove_picture_image(grove_set *set, const grove_picture *picture, const char *to);
int grove_picture_layout(const grove_station *stations, int count, const char *name, const char *to,
                         grove_error *error);

/* "1.4 GHz", "150 MHz", or a range, into buf (at least 64 bytes). */
char *grove_show_band(char *buf, const grove_ms_layout *layout);

#endif
