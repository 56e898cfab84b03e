/* Panels: many small charts with the same axes. */
#include "nodes/plot/chart.h"
#include <math.h>

enum { GAP = 10, STRIP = 17 }; /* between panels; the title above each */

static const grove_colour ink = 0xff222222, soft = 0xff5c5c5c;

/* The area of the data of panel k. */
static grove_box panel_box(const grove_chart_layout *frame, size_t columns, size_t rows, size_t k)
{
    double width = (frame->plot.width + GAP) / (double)columns;
    double height = (frame->plot.height + GAP / 2.0) / (double)rows;
    double left = round(frame->plot.x + (double)(k % columns) * width);
    double top = round(frame->plot.y + (double)(k / columns) * height);

    return (grove_box){left, top + STRIP, floor(width) - GAP, floor(height) - STRIP - GAP / 2.0};
}

static int draw_panel(const grove_chart_layout *frame, const grove_chart *chart, grove_box box,
                      bool x_labels, bool y_labels, grove_error *error)
{
    grove_lettering title = {11, true, false, 0, ink}, note = {11, false, false, 0.5, soft};
    grove_chart own = *chart;
    grove_chart_layout l = {.chart = &own, .canvas = frame->canvas, .plot = box};

    own.x.reversed = frame->chart->x.reversed;
    own.y.reversed = frame->chart->y.reversed;
    l.x = frame->x;
    l.y = frame->y;
    l.range = frame->range;
    grove_chart_place(&l, 60, 32);
    int code = grove_chart_draw_data(&l, error);
    if (code)
        return code;
    grove_chart_draw_ticks(&l, GAP / 2.0, x_labels, y_labels);
    if (chart->title)
        grove_canvas_text(l.canvas, box.x, box.y - 5, chart->title, &title);
    if (chart->subtitle)
        grove_canvas_text(l.canvas, box.x + box.width / 2, box.y + box.height / 2 + 4,
                          chart->subtitle, &note);
    return GROVE_OK;
}

int grove_panels_draw(const grove_figure *figure, grove_canvas *canvas, grove_box box,
                      grove_error *error)
{
    size_t columns = figure->columns ? figure->columns : 1;
    size_t rows = (figure->count + columns - 1) / columns;
    grove_chart shared = figure->charts[0];
    grove_chart_layout frame = {.chart = &shared, .canvas = canvas};

    shared.title = figure->title;
    shared.subtitle = figure->subtitle;
    shared.equal = false;
    grove_chart_fit(figure->charts, figure->count, &frame.x, &frame.y);
    grove_chart_arrange(&frame, box);
    for (size_t k = 0; k < figure->count; k++) {
        grove_box panel = panel_box(&frame, columns, rows, k);
        if (panel.width < 20 || panel.height < 20)
            return grove_chart_too_small(box, error);
        int code = draw_panel(&frame, &figure->charts[k], panel, k + columns >= figure->count,
                              k % columns == 0, error);
        if (code)
            return code;
    }
    grove_chart_draw_labels(&frame);
    if (shared.raster)
        grove_chart_draw_bar(&frame);
    grove_chart_draw_header(&frame, box);
    return GROVE_OK;
}
