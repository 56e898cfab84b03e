/* Charts with axes, points, lines and images. */
#ifndef GROVE_NODES_PLOT_PLOT_H
#define GROVE_NODES_PLOT_PLOT_H

#include <stdbool.h>
#include <stddef.h>

/* Everything in these structures is borrowed while a picture is drawn. Text is UTF-8. Zero is a
 * sensible default for all fields except data. */

typedef enum {
    GROVE_SCALE_LINEAR = 0,
    GROVE_SCALE_LOGARITHMIC, /* values not above 0 are left out */
    GROVE_SCALE_CLOCK, /* seconds, shown as hours and minutes of the day (UTC for MJD seconds) */
    GROVE_SCALE_NAMES, /* 0, 1, ...: shown as names */
    GROVE_SCALE_ANGLE  /* degrees: ticks at parts of a right angle */
} grove_scale_kind;

typedef struct {
    const char *label; /* with the unit: "frequency (MHz)"; NULL: none */
    grove_scale_kind kind;
    double low, high;         /* equal: from the data, with a margin */
    bool reversed;            /* grows to the left or downwards: l, right ascension */
    const char *const *names; /* [name_count] for GROVE_SCALE_NAMES */
    size_t name_count;
} grove_chart_axis;

typedef enum {
    GROVE_SERIES_POINTS = 0,
    GROVE_SERIES_LINE,
    GROVE_SERIES_CURVE /* points on a thin, pale line */
} grove_series_kind;

typedef struct {
    grove_series_kind kind;
    const char *label; /* in the legend; NULL: left out */
    const double *x,
        *y; /* [count]; points that are not finite are left out, and interrupt a line */
    size_t count;
    unsigned colour; /* 0xRRGGBB; 0: the next one of the palette */
    double size;     /* diameter of points, width of lines, in pixels; 0: chosen by the count */
} grove_series;

typedef enum {
    GROVE_MAP_LEAF = 0, /* dark violet, blue, green, yellow */
    GROVE_MAP_EMBER,    /* black, violet, red, orange, pale yellow */
    GROVE_MAP_BALANCE,  /* blue, white, red, for differences: centre it on 0 */
    GROVE_MAP_GREY,     /* black to white */
    GROVE_MAP_CYCLE /* dark, blue, white, red, dark, for angles in degrees: both ends are the same
                     */
} grove_map;

typedef struct {
    const float *data; /* [rows][columns]; row 0 is drawn at y0, column 0 at x0 */
    size_t rows, columns;
    double x0, x1, y0, y1; /* outer edges of the first and the last pixel */
    double low, high;      /* numbers at the ends of the colour map; equal: from the data */
    double clip;           /* if from the data: share of pixels outside each end, such as 0.001 */
    bool logarithmic;
    grove_map map;
    const char *label; /* next to the colour bar */
} grove_raster;

typedef struct {
    const char *title, *subtitle;
    grove_chart_axis x, y;
    bool equal; /* equal units along x and y: uv coverage, the sky */
    const grove_series *series;
    size_t series_count;
    const grove_raster *raster; /* below the series; NULL: none */
} grove_chart;

/* One or more charts, in rows of `columns`. */
typedef struct {
    int width, height; /* pixels; 0: 900 x 600 for each chart */
    double scale;      /* pixels of a PNG per pixel of the layout: 2 for dense screens; 0: 1 */
    const char *title; /* title above all charts */
    const grove_chart *charts;
    size_t count, columns; /* columns 0: 1 */
    /* Small charts of the same quantities: axes, legend and colour bar of the first chart hold for
     * all; a chart's title is above it, its subtitle within it. */
    bool panels;
    const char *subtitle; /* of panels */
} grove_figure;

#endif
