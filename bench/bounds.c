#include "bounds.h"

#include "grove.h"
#include "nodes/plot/service.h"
#include "unstable/module.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Multiply-adds for each pixel and visibility of image-domain gridding, beside one sine and cosine.
 */
enum { IMAGE_DOMAIN = 17 };

/* More than the palette has. */
static const unsigned colours[] = {0x0072b2, 0x56b4e9, 0x332288, 0x88ccee, 0x4c4c9d, 0x117733,
                                   0x44aa99, 0xd55e00, 0xe69f00, 0xaa4499, 0xcc79a7, 0x882255,
                                   0xddcc77, 0x999933, 0x661100, 0x6699cc};
enum { COLOURS = sizeof(colours) / sizeof(colours[0]) };

double bench_mixed_bound(const bench_limits *limits, double each)
{
    if (!(limits->phases > 0) || isinf(each))
        return limits->peak;
    return limits->peak / (1 + limits->peak / limits->phases / each);
}

double bench_bound(const bench_limits *limits, const bench_work *work, bench_reason *reason)
{
    const double each = work->phases > 0 ? work->operations / work->phases : INFINITY;
    double bound = bench_mixed_bound(limits, each);
    const struct {
        double rate, bytes;
        bench_reason reason;
    } moves[] = {{limits->cache, work->cache, BENCH_BY_CACHE},
                 {limits->memory, work->memory, BENCH_BY_MEMORY}};

    *reason = limits->phases > 0 && each * limits->phases <= limits->peak ? BENCH_BY_PHASES
                                                                          : BENCH_BY_PEAK;
    for (int k = 0; k < 2; k++)
        if (moves[k].rate > 0 && moves[k].bytes > 0 &&
            moves[k].rate * work->operations / moves[k].bytes < bound) {
            bound = moves[k].rate * work->operations / moves[k].bytes;
            *reason = moves[k].reason;
        }
    return bound;
}

const char *bench_reason_text(bench_reason reason)
{
    static const char *const texts[] = {"multiply-adds", "sines and cosines", "cache", "memory"};

    return texts[reason];
}

/* Memory's slope up to the peak, and the bound of image-domain gridding. */
static size_t add_roofs(const bench_limits *limits, double low, double high, double x[5],
                        double y[5], grove_series *series)
{
    const double ridge = limits->peak / limits->memory;
    size_t count = 1;

    x[0] = low;
    x[1] = ridge;
    x[2] = high;
    for (int k = 0; k < 3; k++)
        y[k] = fmin(limits->peak, x[k] * limits->memory);
    series[0] = (grove_series){.kind = GROVE_SERIES_LINE,
                               .label = "what the core and its memory allow",
                               .x = x,
                               .y = y,
                               .count = 3,
                               .colour = 0x222222,
                               .size = 2};
    if (limits->phases > 0) {
        y[3] = y[4] = bench_mixed_bound(limits, IMAGE_DOMAIN);
        x[3] = y[3] / limits->memory;
        x[4] = high;
        series[count++] = (grove_series){.kind = GROVE_SERIES_LINE,
                                         .label = "17 multiply-adds for each sine and cosine",
                                         .x = x + 3,
                                         .y = y + 3,
                                         .count = 2,
                                         .colour = 0xd62728,
                                         .size = 2};
    }
    return count;
}

/* The bounds of kernels, above their points. */
static size_t add_bounds(const bench_roofline *r, double *x, double *y, grove_series *series)
{
    size_t count = 0;

    for (int k = 0; k < r->count; k++)
        if (r->points[k].bound > 0) {
            x[count] = r->points[k].intensity;
            y[count++] = r->points[k].bound;
        }
    *series = (grove_series){.label = "the bound of each kernel",
                             .x = x,
                             .y = y,
                             .count = count,
                             .colour = 0x999999,
                             .size = 5};
    return count > 0;
}

static grove_chart chart_roofs(const bench_roofline *r, double low, double high, double bottom)
{
    return (grove_chart){.title = r->title,
                         .subtitle = r->subtitle,
                         .x = {"multiply-adds per byte of inputs and output",
                               GROVE_SCALE_LOGARITHMIC, low, high, false},
                         .y = {"multiply-adds per second", GROVE_SCALE_LOGARITHMIC, bottom,
                               r->limits.peak * 1.5, false}};
}

static grove_chart chart_mixtures(const bench_roofline *r, double x[2][BENCH_MIXTURES],
                                  double y[2][BENCH_MIXTURES], grove_series series[2])
{
    const size_t count = (size_t)r->mixture_count;

    for (size_t k = 0; k < count; k++) {
        x[0][k] = x[1][k] = r->mixtures[k].each;
        y[0][k] = bench_mixed_bound(&r->limits, r->mixtures[k].each);
        y[1][k] = r->mixtures[k].rate;
    }
    series[0] = (grove_series){.kind = GROVE_SERIES_LINE,
                               .label = "bound: peak / (1 + c / r)",
                               .x = x[0],
                               .y = y[0],
                               .count = count,
                               .colour = 0xd62728,
                               .size = 2};
    series[1] =
        (grove_series){.label = "measured", .x = x[1], .y = y[1], .count = count, .size = 8};
    return (grove_chart){
        .title = "Multiply-adds between sines and cosines",
        .x = {"multiply-adds for each sine and cosine", GROVE_SCALE_LOGARITHMIC, 0, 0, false},
        .y = {"multiply-adds per second", GROVE_SCALE_LOGARITHMIC, 0, 0, false},
        .series = series,
        .series_count = 2};
}

int bench_roofline_draw(const bench_roofline *r, const char *path)
{
    grove_series series[BENCH_MOST_POINTS + 3], mixed[2];
    double ridge = r->limits.peak / r->limits.memory, low = ridge / 8, high = ridge * 8;
    double x[5], y[5], bound_x[BENCH_MOST_POINTS], bound_y[BENCH_MOST_POINTS];
    double bottom = r->limits.peak / 8, mixed_x[2][BENCH_MIXTURES], mixed_y[2][BENCH_MIXTURES];

    for (int k = 0; k < r->count; k++) {
        high = fmax(high, 2 * r->points[k].intensity);
        low = fmin(low, r->points[k].intensity / 2);
        bottom = fmin(bottom, r->points[k].rate / 2);
    }
    size_t count = add_roofs(&r->limits, low, high, x, y, series);
    count += add_bounds(r, bound_x, bound_y, &series[count]);
    for (int k = 0; k < r->count; k++)
        series[count++] = (grove_series){.label = r->points[k].label,
                                         .x = &r->points[k].intensity,
                                         .y = &r->points[k].rate,
                                         .count = 1,
                                         .colour = colours[(size_t)k % COLOURS],
                                         .size = 9};
    grove_chart charts[2] = {chart_roofs(r, low, high, fmin(bottom, y[0]))};
    charts[0].series = series;
    charts[0].series_count = count;
    if (r->mixture_count)
        charts[1] = chart_mixtures(r, mixed_x, mixed_y, mixed);
    grove_figure figure = {.charts = charts, .count = r->mixture_count ? 2 : 1};
    grove_error *error = grove_error_new();
    const grove_plot *plot = grove_service_open("plot", GROVE_PLOT_VERSION, error);
    bool failed = !plot || plot->draw(&figure, path, error) != 0;
    if (failed) {
        char *text = grove_error_text(error);
        fprintf(stderr, "%s", text);
        free(text);
    }
    grove_error_free(error);
    return failed;
}
