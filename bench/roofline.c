#include "roofline.h"

#include "draw.h"

#include <math.h>

int bench_roofline_draw(const bench_roofline *roofline, const char *path)
{
    grove_series series[BENCH_MOST_POINTS + 1];
    double ridge = roofline->peak / roofline->bandwidth, low = ridge / 8, high = ridge * 8;
    double x[3], y[3], bottom = roofline->peak / 8;

    for (int k = 0; k < roofline->count; k++) {
        const bench_point *point = &roofline->points[k];
        series[k + 1] = (grove_series){.label = point->workload,
                                       .x = &point->intensity,
                                       .y = &point->rate,
                                       .count = 1,
                                       .size = 9};
        high = fmax(high, 2 * point->intensity);
        low = fmin(low, point->intensity / 2);
        bottom = fmin(bottom, point->rate / 2);
    }
    x[0] = low;
    x[1] = ridge;
    x[2] = high;
    for (int k = 0; k < 3; k++)
        y[k] = fmin(roofline->peak, x[k] * roofline->bandwidth);
    series[0] = (grove_series){.kind = GROVE_SERIES_LINE,
                               .label = "what the core and its memory allow",
                               .x = x,
                               .y = y,
                               .count = 3,
                               .colour = 0x222222,
                               .size = 2};
    grove_chart chart = {.title = "Sums over sources below the roofline of one core",
                         .subtitle = roofline->subtitle,
                         .x = {"multiply-adds per byte of inputs and output",
                               GROVE_SCALE_LOGARITHMIC, low, high, false},
                         .y = {"multiply-adds per second", GROVE_SCALE_LOGARITHMIC,
                               fmin(bottom, y[0]), roofline->peak * 1.5, false},
                         .series = series,
                         .series_count = (size_t)roofline->count + 1};
    grove_figure figure = {.charts = &chart, .count = 1};
    return bench_draw(&figure, path);
}
