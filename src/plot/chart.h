/* Charts: layout and drawing of one chart. */
#ifndef GROVE_PLOT_CHART_H
#define GROVE_PLOT_CHART_H

#include "plot/canvas.h"

/* Draws the chart into the box. */
int grove_chart_draw(const grove_chart *chart, grove_canvas *canvas, grove_box box,
                     grove_error *error);

#endif
