/* Charts: layout and drawing of one chart, and of many small ones with the same axes. */
#ifndef GROVE_NODES_PLOT_CHART_H
#define GROVE_NODES_PLOT_CHART_H

#include "nodes/plot/canvas.h"
#include "nodes/plot/ticks.h"

/* Draws the chart into the box. */
int grove_chart_draw(const grove_chart *chart, grove_canvas *canvas, grove_box box,
                     grove_error *error);
/* Draws the charts of a figure as panels: with the axes, labels, legend and colour bar of the first
 * chart, once for all. */
int grove_panels_draw(const grove_figure *figure, grove_canvas *canvas, grove_box box,
                      grove_error *error);

/* ---- parts ---- */

/* Where the parts of a chart are. */
typedef struct {
    const grove_chart *chart;
    grove_canvas *canvas;
    grove_box plot;         /* the area of the data */
    grove_scale x, y;       /* of the data */
    grove_scale range, bar; /* colours of the image; equal along the colour bar */
    grove_ticks x_ticks, y_ticks, bar_ticks;
    double header, legend; /* heights of the parts */
    double left, right;    /* widths of the parts next to the data */
} grove_chart_layout;

/* Ranges that hold the data of all `count` charts, or the ranges that the first chart gives. */
void grove_chart_fit(const grove_chart *charts, size_t count, grove_scale *x, grove_scale *y);
/* Places the parts in the box; x and y have their ranges. */
void grove_chart_arrange(grove_chart_layout *l, grove_box box);
/* Places both axes along the sides of the area of the data. */
void grove_chart_place(grove_chart_layout *l, double x_spacing, double y_spacing);
int grove_chart_draw_data(grove_chart_layout *l, grove_error *error);
int grove_series_draw(grove_chart_layout *l, const grove_series *series, grove_colour colour,
                      grove_error *error);
/* Axes with their ticks; labels below extend at most `beyond` pixels beyond the ends. */
void grove_chart_draw_ticks(grove_chart_layout *l, double beyond, bool x_labels, bool y_labels);
void grove_chart_draw_labels(grove_chart_layout *l); /* of the axes */
void grove_chart_draw_bar(grove_chart_layout *l);
void grove_chart_draw_header(grove_chart_layout *l, grove_box box);
int grove_chart_too_small(grove_box box, grove_error *error);

#endif
