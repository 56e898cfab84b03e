/* Series: points and lines of a chart. */
#include "nodes/plot/chart.h"
#include "nodes/plot/layer.h"
#include "util.h"
#include <math.h>
#include <stdlib.h>

/* Series with more points than this, or than one for each 10 pixels, are drawn as pixels. */
enum { MANY = 20000 };

/* The position of a point; clamped if far outside, for the drawing libraries. */
static bool place(const grove_chart_layout *l, const grove_series *series, size_t i, double at[2])
{
    at[0] = fmin(3e4, fmax(-3e4, grove_scale_place(&l->x, series->x[i])));
    at[1] = fmin(3e4, fmax(-3e4, grove_scale_place(&l->y, series->y[i])));
    /* fmin and fmax ignore a NaN. */
    bool drawn = isfinite(series->x[i]) && isfinite(series->y[i]);
    drawn = drawn && (l->x.kind != GROVE_SCALE_LOGARITHMIC || series->x[i] > 0);
    drawn = drawn && (l->y.kind != GROVE_SCALE_LOGARITHMIC || series->y[i] > 0);
    if (!drawn)
        at[0] = at[1] = NAN;
    return drawn;
}

static int draw_points(grove_chart_layout *l, const grove_series *series, grove_colour colour,
                       grove_error *error)
{
    size_t count = series->count;
    double usual = count < 200 ? 6 : count < 2000 ? 4.5 : count <= MANY ? 3 : 1.8;
    double diameter = series->size > 0 ? series->size : usual;
    double at[2];

    if (count > MANY || (double)count > l->plot.width * l->plot.height / 10) {
        grove_density *density =
            grove_density_new(l->plot, grove_canvas_scale(l->canvas), diameter, error);
        if (!density)
            return GROVE_NO_MEMORY;
        for (size_t i = 0; i < count; i++)
            if (place(l, series, i, at))
                grove_density_add(density, at[0], at[1]);
        return grove_density_draw(density, l->canvas, colour, error);
    }
    double(*points)[2] = grove_alloc(sizeof *points * (count + 1));
    for (size_t i = 0; i < count; i++)
        place(l, series, i, points[i]);
    grove_canvas_points(l->canvas, (const double(*)[2])points, count, diameter,
                        grove_colour_fade(colour, count < 200 ? 0.9 : 0.7));
    free(points);
    return GROVE_OK;
}

/* Of consecutive points in one column of pixels only the first, the lowest, the highest and the
 * last are visible: drawing only these keeps a line of millions of points small. */
static void draw_line(grove_chart_layout *l, const grove_series *series, grove_colour colour)
{
    enum { AT_ONCE = 4096 };
    double(*points)[2] = grove_alloc(sizeof *points * (AT_ONCE + 8));
    double width = series->size > 0 ? series->size : 1.6;
    double fine = 2 * grove_canvas_scale(l->canvas);
    size_t count = 0;

    for (size_t i = 0; i < series->count;) {
        double first[2], lowest[2], highest[2], last[2], next[2];
        size_t run = 1;
        bool drawn = place(l, series, i, first);
        for (int k = 0; k < 2; k++)
            lowest[k] = highest[k] = last[k] = first[k];
        while (drawn && i + run < series->count && place(l, series, i + run, next) &&
               floor(next[0] * fine) == floor(first[0] * fine)) {
            for (int k = 0; k < 2; k++) {
                lowest[k] = next[1] > lowest[1] ? next[k] : lowest[k];
                highest[k] = next[1] < highest[1] ? next[k] : highest[k];
            }
            last[0] = next[0];
            last[1] = next[1];
            run++;
        }
        const double *seen[4] = {first, run > 2 ? lowest : NULL, run > 2 ? highest : NULL,
                                 run > 1 ? last : NULL};
        for (int k = 0; k < 4; k++)
            if (seen[k]) {
                points[count][0] = seen[k][0];
                points[count++][1] = seen[k][1];
            }
        i += run;
        if (count >= AT_ONCE) {
            grove_canvas_line(l->canvas, (const double(*)[2])points, count, width, colour);
            points[0][0] = points[count - 1][0];
            points[0][1] = points[count - 1][1];
            count = 1;
        }
    }
    grove_canvas_line(l->canvas, (const double(*)[2])points, count, width, colour);
    free(points);
}

int grove_series_draw(grove_chart_layout *l, const grove_series *series, grove_colour colour,
                      grove_error *error)
{
    grove_series line = *series;

    if (series->kind == GROVE_SERIES_POINTS)
        return draw_points(l, series, colour, error);
    if (series->kind == GROVE_SERIES_CURVE) {
        line.size = 0.8;
        draw_line(l, &line, grove_colour_fade(colour, 0.5));
        return draw_points(l, series, colour, error);
    }
    draw_line(l, series, colour);
    return GROVE_OK;
}
