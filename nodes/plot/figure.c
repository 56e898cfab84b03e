/* Checks a figure, draws its charts and writes the file. */
#include "nodes/plot/figure.h"
#include "nodes/plot/chart.h"
#include "util.h"
#include <math.h>

enum { MAX_PIXELS = 16384 };

static int check_chart(const grove_chart *chart, const char *path, grove_error *error)
{
    const grove_raster *raster = chart->raster;

    if (raster && (!raster->data || !raster->rows || !raster->columns))
        return grove_fail(error, GROVE_INVALID, "%s: an image without pixels", path);
    if (raster && (!isfinite(raster->x0 + raster->x1 + raster->y0 + raster->y1) ||
                   raster->x0 == raster->x1 || raster->y0 == raster->y1))
        return grove_fail(error, GROVE_INVALID, "%s: an image without extent", path);
    if (chart->x.kind == GROVE_SCALE_LOGARITHMIC || chart->y.kind == GROVE_SCALE_LOGARITHMIC)
        if (raster || chart->equal)
            return grove_fail(error, GROVE_INVALID,
                              "%s: logarithmic axes with %s; they can only be linear", path,
                              raster ? "an image" : "equal units");
    return GROVE_OK;
}

static int draw_charts(const grove_figure *figure, grove_canvas *canvas, grove_box box,
                       grove_error *error)
{
    size_t columns = figure->columns ? figure->columns : 1;
    size_t rows = (figure->count + columns - 1) / columns;

    if (figure->panels && figure->count)
        return grove_panels_draw(figure, canvas, box, error);
    if (figure->title) {
        grove_lettering title = {18, true, false, 0.5, 0xff222222};
        grove_canvas_text(canvas, box.width / 2, 32, figure->title, &title);
        box.y += 38;
        box.height -= 38;
    }
    for (size_t k = 0; k < figure->count; k++) {
        double width = box.width / (double)columns, height = box.height / (double)rows;
        grove_box part = {(double)(k % columns) * width, box.y + (double)(k / columns) * height,
                          width, height};
        int code = grove_chart_draw(&figure->charts[k], canvas, part, error);
        if (code)
            return code;
    }
    return GROVE_OK;
}

int grove_figure_write(const grove_figure *figure, const char *path, FILE *stream,
                       grove_error *error)
{
    size_t columns = figure->columns ? figure->columns : 1;
    size_t rows = (figure->count + columns - 1) / columns;
    double width = figure->width ? figure->width : 900 * fmin(100, (double)columns);
    double height = figure->height ? figure->height : 600 * fmin(100, (double)rows);
    double scale = figure->scale > 0 ? figure->scale : 1;
    bool svg = grove_ends_with(path, ".svg");
    const char *title = figure->title        ? figure->title
                        : figure->count == 1 ? figure->charts[0].title
                                             : NULL;
    int code = GROVE_OK;

    if (!svg && !grove_ends_with(path, ".png"))
        return grove_fail(error, GROVE_INVALID, "%s: the name of a picture ends in .png or .svg",
                          path);
    if (!(width >= 1 && height >= 1 && width * scale <= MAX_PIXELS && height * scale <= MAX_PIXELS))
        return grove_fail(error, GROVE_INVALID,
                          "%s: a picture of %.0f x %.0f pixels; it can have 1 to %d each", path,
                          width * scale, height * scale, MAX_PIXELS);
    for (size_t k = 0; k < figure->count && !code; k++)
        code = check_chart(&figure->charts[k], path, error);
    if (code)
        return code;

    grove_canvas *canvas = grove_canvas_new(width, height, scale, svg, title, error);
    if (!canvas)
        return GROVE_NO_MEMORY;
    code = draw_charts(figure, canvas, (grove_box){0, 0, width, height}, error);
    if (!code)
        code = grove_canvas_write(canvas, stream, error);
    grove_canvas_free(canvas);
    return code;
}
