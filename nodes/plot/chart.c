#include "nodes/plot/chart.h"
#include "nodes/plot/layer.h"
#include "util.h"
#include <math.h>
#include <stdlib.h>

enum { GAP = 6, TICK = 4, PAD = 16, BAR = 14, BAR_GAP = 14 };

static const double title_size = 15, text_size = 12, tick_size = 11;
static const grove_colour ink = 0xff222222, soft = 0xff5c5c5c, axis_ink = 0xff444444,
                          grid_ink = 0xffe9e9e9;

/* ---- ranges ---- */

static void widen(grove_scale_kind kind, const double *numbers, size_t count, double *low,
                  double *high)
{
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(numbers[i]) || (kind == GROVE_SCALE_LOGARITHMIC && numbers[i] <= 0))
            continue;
        *low = fmin(*low, numbers[i]);
        *high = fmax(*high, numbers[i]);
    }
}

static void fit(const grove_chart *charts, size_t count, grove_scale *scale, bool vertical)
{
    const grove_chart_axis *axis = vertical ? &charts->y : &charts->x;
    double low = INFINITY, high = -INFINITY, room = 0.04;

    scale->kind = axis->kind;
    scale->names = axis->names;
    scale->name_count = axis->name_count;
    for (const grove_chart *chart = charts; chart < charts + count; chart++) {
        const grove_raster *raster = chart->raster;
        for (size_t k = 0; k < chart->series_count && !raster; k++)
            widen(axis->kind, vertical ? chart->series[k].y : chart->series[k].x,
                  chart->series[k].count, &low, &high);
        if (raster) {
            double edges[2] = {vertical ? raster->y0 : raster->x0,
                               vertical ? raster->y1 : raster->x1};
            widen(axis->kind, edges, 2, &low, &high);
            room = 0;
        }
    }
    if (axis->low < axis->high) {
        low = axis->low;
        high = axis->high;
        room = 0;
    }
    grove_scale_fit(scale, low, high, room);
}

void grove_chart_fit(const grove_chart *charts, size_t count, grove_scale *x, grove_scale *y)
{
    fit(charts, count, x, false);
    fit(charts, count, y, true);
}

/* ---- layout ---- */

static double widest(grove_chart_layout *l, const grove_ticks *ticks)
{
    double max = 0;

    for (int k = 0; k < ticks->count; k++)
        max = fmax(max, grove_canvas_text_width(l->canvas, ticks->tick[k].label, tick_size, 0));
    return max;
}

static double entry_width(grove_chart_layout *l, const grove_series *series)
{
    return 24 + grove_canvas_text_width(l->canvas, series->label, text_size, false) + 18;
}

static double legend_height(grove_chart_layout *l, double width)
{
    double at = 0, height = 0;

    for (size_t k = 0; k < l->chart->series_count; k++) {
        if (!l->chart->series[k].label)
            continue;
        double entry = entry_width(l, &l->chart->series[k]);
        if (height == 0 || at + entry > width) {
            height += 19;
            at = 0;
        }
        at += entry;
    }
    return height ? height + 3 : 0;
}

static void stretch(grove_scale *scale, double length)
{
    double extra = (length - (scale->high - scale->low)) / 2;

    scale->low -= extra;
    scale->high += extra;
}

/* Makes units equally long along x and y: an image gets a smaller box, a chart without one wider
 * ranges. */
static void make_equal(grove_chart_layout *l)
{
    double across = l->x.high - l->x.low, down = l->y.high - l->y.low;
    double unit = fmin(l->plot.width / across, l->plot.height / down);

    if (!l->chart->raster) {
        stretch(&l->x, l->plot.width / unit);
        stretch(&l->y, l->plot.height / unit);
        return;
    }
    l->plot.x = round(l->plot.x + (l->plot.width - unit * across) / 2);
    l->plot.width = round(unit * across);
    l->plot.height = round(unit * down);
}

static void set_scale(grove_scale *scale, double from, double to, bool reversed)
{
    scale->from = reversed ? to : from;
    scale->to = reversed ? from : to;
}

void grove_chart_place(grove_chart_layout *l, double x_spacing, double y_spacing)
{
    set_scale(&l->x, l->plot.x, l->plot.x + l->plot.width, l->chart->x.reversed);
    set_scale(&l->y, l->plot.y + l->plot.height, l->plot.y, l->chart->y.reversed);
    grove_ticks_make(&l->x_ticks, &l->x, x_spacing);
    grove_ticks_make(&l->y_ticks, &l->y, y_spacing);
}

void grove_chart_arrange(grove_chart_layout *l, grove_box box)
{
    const grove_chart *chart = l->chart;

    l->header = PAD + (chart->title ? 22 : 0) + (chart->subtitle ? 18 : 0);
    l->legend = legend_height(l, box.width - 4 * PAD);
    l->plot.y = round(box.y + l->header + l->legend + (chart->title || l->legend ? GAP : 0));
    double below = TICK + 4 + tick_size + 20 + 10;
    l->plot.height = round(box.y + box.height - below) - l->plot.y;

    /* The widths of the tick labels determine the width of the data's area. */
    set_scale(&l->y, l->plot.y + l->plot.height, l->plot.y, chart->y.reversed);
    grove_ticks_make(&l->y_ticks, &l->y, 46);
    l->left = TICK + 4 + widest(l, &l->y_ticks) + PAD;
    if (chart->y.label || l->y_ticks.factor[0])
        l->left += text_size + GAP + 2;
    l->right = PAD + 10; /* the last label along x may extend beyond the box by a half */
    if (chart->raster) {
        grove_raster_range(chart->raster, &l->range);
        l->bar = l->range;
        set_scale(&l->bar, l->plot.y + l->plot.height, l->plot.y, false);
        grove_ticks_make(&l->bar_ticks, &l->bar, 46);
        l->right = BAR_GAP + BAR + TICK + 4 + widest(l, &l->bar_ticks) + PAD;
        if (chart->raster->label || l->bar_ticks.factor[0])
            l->right += text_size + GAP + 2;
    }
    l->plot.x = round(box.x + l->left);
    l->plot.width = round(box.x + box.width - l->right) - l->plot.x;
    if (chart->equal)
        make_equal(l);

    grove_chart_place(l, 76, 46);
    set_scale(&l->bar, l->plot.y + l->plot.height, l->plot.y, false);
    if (chart->raster)
        grove_ticks_make(&l->bar_ticks, &l->bar, 46);
}

/* ---- drawing ---- */

static void straight(grove_chart_layout *l, double x0, double y0, double x1, double y1,
                     grove_colour colour)
{
    double points[2][2] = {{x0, y0}, {x1, y1}};
    grove_canvas_line(l->canvas, (const double(*)[2])points, 2, 1, colour);
}

/* Lines one pixel wide are sharp at the centres of pixels. */
static double sharp(double place)
{
    return floor(place) + 0.5;
}

static void draw_grid(grove_chart_layout *l)
{
    double right = l->plot.x + l->plot.width, bottom = l->plot.y + l->plot.height;

    for (int k = 0; k < l->x_ticks.count; k++)
        if (!l->x_ticks.tick[k].minor)
            straight(l, sharp(l->x_ticks.tick[k].place), l->plot.y, sharp(l->x_ticks.tick[k].place),
                     bottom, grid_ink);
    for (int k = 0; k < l->y_ticks.count; k++)
        if (!l->y_ticks.tick[k].minor)
            straight(l, l->plot.x, sharp(l->y_ticks.tick[k].place), right,
                     sharp(l->y_ticks.tick[k].place), grid_ink);
}

static void draw_axis_label(grove_chart_layout *l, const char *label, const char *factor, double x,
                            double y, bool upright)
{
    grove_text text = {0};
    grove_lettering lettering = {text_size, false, upright, 0.5, ink};

    if (label)
        grove_text_add(&text, "%s", label);
    if (factor[0])
        grove_text_add(&text, "%s%s", label ? "  " : "", factor);
    if (text.at)
        grove_canvas_text(l->canvas, x, y, text.at, &lettering);
    free(text.at);
}

void grove_chart_draw_ticks(grove_chart_layout *l, double beyond, bool x_labels, bool y_labels)
{
    double left = l->plot.x, bottom = l->plot.y + l->plot.height, right = left + l->plot.width;
    grove_lettering centred = {tick_size, false, false, 0.5, soft};
    grove_lettering ended = {tick_size, false, false, 1, soft};

    straight(l, left, sharp(bottom), right, sharp(bottom), axis_ink);
    straight(l, sharp(left) - 1, l->plot.y, sharp(left) - 1, bottom + 1, axis_ink);
    for (int k = 0; k < l->x_ticks.count; k++) {
        const grove_tick *tick = &l->x_ticks.tick[k];
        double half = grove_canvas_text_width(l->canvas, tick->label, tick_size, false) / 2;
        straight(l, sharp(tick->place), bottom, sharp(tick->place),
                 bottom + (tick->minor ? TICK / 2 : TICK) + 1, axis_ink);
        if (x_labels && tick->place - half >= left - beyond && tick->place + half <= right + beyond)
            grove_canvas_text(l->canvas, tick->place, bottom + TICK + 4 + tick_size, tick->label,
                              &centred);
    }
    for (int k = 0; k < l->y_ticks.count; k++) {
        const grove_tick *tick = &l->y_ticks.tick[k];
        straight(l, left - (tick->minor ? TICK / 2 : TICK) - 1, sharp(tick->place), left,
                 sharp(tick->place), axis_ink);
        if (y_labels)
            grove_canvas_text(l->canvas, left - TICK - 4, tick->place + 0.36 * tick_size,
                              tick->label, &ended);
    }
}

void grove_chart_draw_labels(grove_chart_layout *l)
{
    draw_axis_label(l, l->chart->x.label, l->x_ticks.factor, l->plot.x + l->plot.width / 2,
                    l->plot.y + l->plot.height + TICK + 4 + tick_size + 20, false);
    draw_axis_label(l, l->chart->y.label, l->y_ticks.factor,
                    l->plot.x - TICK - 4 - widest(l, &l->y_ticks) - GAP - 4,
                    l->plot.y + l->plot.height / 2, true);
}

void grove_chart_draw_bar(grove_chart_layout *l)
{
    grove_box box = {l->plot.x + l->plot.width + BAR_GAP, l->plot.y, BAR, l->plot.height};
    double right = box.x + box.width, label;
    grove_colour table[GROVE_MAP_SIZE], column[GROVE_MAP_SIZE];
    grove_lettering lettering = {tick_size, false, false, 0, soft};

    grove_map_table(l->chart->raster->map, table);
    for (int k = 0; k < GROVE_MAP_SIZE; k++)
        column[k] = table[GROVE_MAP_SIZE - 1 - k];
    grove_canvas_image(l->canvas, box, column, 1, GROVE_MAP_SIZE);
    for (int k = 0; k < l->bar_ticks.count; k++) {
        const grove_tick *tick = &l->bar_ticks.tick[k];
        straight(l, right, sharp(tick->place), right + (tick->minor ? TICK / 2 : TICK),
                 sharp(tick->place), axis_ink);
        grove_canvas_text(l->canvas, right + TICK + 4, tick->place + 0.36 * tick_size, tick->label,
                          &lettering);
    }
    label = right + TICK + 4 + widest(l, &l->bar_ticks) + GAP + text_size;
    draw_axis_label(l, l->chart->raster->label, l->bar_ticks.factor, label, box.y + box.height / 2,
                    true);
}

static grove_colour series_colour(const grove_chart *chart, size_t k)
{
    unsigned colour = chart->series[k].colour;
    return colour ? 0xff000000u | colour : grove_palette(k);
}

void grove_chart_draw_header(grove_chart_layout *l, grove_box box)
{
    double left = l->plot.x, y = box.y + PAD, at = 0, row = 0;
    grove_lettering title = {title_size, true, false, 0, ink};
    grove_lettering text = {text_size, false, false, 0, soft};

    if (l->chart->title)
        grove_canvas_text(l->canvas, left, y += title_size - 2, l->chart->title, &title);
    if (l->chart->subtitle)
        grove_canvas_text(l->canvas, left, y += 19, l->chart->subtitle, &text);
    text.colour = ink;
    for (size_t k = 0; k < l->chart->series_count; k++) {
        const grove_series *series = &l->chart->series[k];
        grove_colour colour = series_colour(l->chart, k);
        if (!series->label)
            continue;
        double entry = entry_width(l, series);
        if (at > 0 && at + entry > box.width - 4 * PAD) {
            at = 0;
            row += 19;
        }
        double x = left + at, middle = box.y + l->header + row + 11;
        double mark[2][2] = {{x, middle}, {x + 18, middle}}, dot[1][2] = {{x + 9, middle}};
        if (series->kind != GROVE_SERIES_POINTS)
            grove_canvas_line(l->canvas, (const double(*)[2])mark, 2,
                              series->kind == GROVE_SERIES_LINE ? 2.5 : 0.8, colour);
        if (series->kind != GROVE_SERIES_LINE)
            grove_canvas_points(l->canvas, (const double(*)[2])dot, 1, 8, colour);
        grove_canvas_text(l->canvas, x + 24, middle + 0.36 * text_size, series->label, &text);
        at += entry;
    }
}

/* ---- the whole ---- */

static int draw_image(grove_chart_layout *l, grove_error *error)
{
    const grove_raster *raster = l->chart->raster;
    double x0 = grove_scale_place(&l->x, raster->x0), x1 = grove_scale_place(&l->x, raster->x1);
    double y0 = grove_scale_place(&l->y, raster->y0), y1 = grove_scale_place(&l->y, raster->y1);
    grove_box box = {fmin(x0, x1), fmin(y0, y1), fabs(x1 - x0), fabs(y1 - y0)};

    return grove_raster_draw(raster, &l->range, l->canvas, box, x0 > x1, y0 < y1, error);
}

int grove_chart_draw_data(grove_chart_layout *l, grove_error *error)
{
    const grove_chart *chart = l->chart;
    int code = GROVE_OK;

    if (!chart->raster)
        draw_grid(l);
    grove_canvas_clip(l->canvas, l->plot);
    if (chart->raster)
        code = draw_image(l, error);
    for (size_t k = 0; !code && k < chart->series_count; k++)
        code = grove_series_draw(l, &chart->series[k], series_colour(chart, k), error);
    grove_canvas_unclip(l->canvas);
    return code;
}

int grove_chart_too_small(grove_box box, grove_error *error)
{
    return grove_fail(
        error, GROVE_INVALID,
        "a chart of %.0f x %.0f pixels: too small for its labels; it needs at least 240 x 180",
        box.width, box.height);
}

int grove_chart_draw(const grove_chart *chart, grove_canvas *canvas, grove_box box,
                     grove_error *error)
{
    grove_chart_layout l = {.chart = chart, .canvas = canvas};
    int code = GROVE_OK;

    grove_chart_fit(chart, 1, &l.x, &l.y);
    grove_chart_arrange(&l, box);
    if (l.plot.width < 20 || l.plot.height < 20)
        return grove_chart_too_small(box, error);
    code = grove_chart_draw_data(&l, error);
    if (code)
        return code;
    grove_chart_draw_ticks(&l, INFINITY, true, true);
    grove_chart_draw_labels(&l);
    if (chart->raster)
        grove_chart_draw_bar(&l);
    grove_chart_draw_header(&l, box);
    return GROVE_OK;
}
