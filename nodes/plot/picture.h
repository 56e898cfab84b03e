/* Pictures of data: reading and layout. A module does the drawing (plot.h). */
#ifndef GROVE_NODES_PLOT_PICTURE_H
#define GROVE_NODES_PLOT_PICTURE_H

#include "grove.h"

#include "nodes/common/layout.h"
#include "nodes/plot/figure.h"
#include "nodes/plot/set.h"
#include "nodes/plot/solutions.h"

/* Draws one picture of `path` into the file `to`. `path` is a Measurement Set, a file of solution
 * tables, or a layout by file or by a name found in `folders` (NULL-terminated). */
int grove_picture_draw(const char *path, const char *const *folders, const grove_picture *picture,
                       const char *to, grove_error *error);

/* As grove_picture_names. */
const char *const *grove_picture_list(size_t *count);
/* As grove_library_pictures. */
char *grove_picture_default(const char *path, const char *dataset, grove_error *error);

/* The kinds of picture of a set, each with its own file. */
int grove_picture_uv(grove_set *set, const char *to);
int grove_picture_scatter(grove_set *set, const grove_picture *picture, const char *to);
int grove_picture_image(grove_set *set, const grove_picture *picture, const char *to);
int grove_picture_layout(const grove_station *stations, int count, const char *name, const char *to,
                         grove_error *error);

/* The kinds of picture of solutions. `against`: GROVE_CUBE_TIME, _FREQ or _STATION. */
int grove_picture_stations(const grove_solutions *s, int against, const grove_picture *picture,
                           const char *to);
int grove_picture_waterfall(const grove_solutions *s, const grove_picture *picture, const char *to);
int grove_picture_chi2(const grove_solutions *s, const grove_picture *picture, const char *to);
int grove_picture_convergence(const grove_solutions *s, const char *to);
/* A chart's axis along time (UTC) or frequency (MHz), with half an interval at the ends; without a
 * label. */
grove_chart_axis grove_picture_axis(const grove_cube *cube, int axis);
/* A range for numbers from *low to *high: of an angle around 0, of others with a margin. */
void grove_picture_range(double *low, double *high, bool angle, bool logarithmic);
/* Columns and size of a figure of `count` panels. */
void grove_picture_panels(grove_figure *figure, int count);

/* "1.4 GHz", "150 MHz", or a range, into buf (at least 64 bytes). */
char *grove_show_band(char *buf, const grove_ms_layout *layout);

#endif
