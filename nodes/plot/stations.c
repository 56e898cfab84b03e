/* Solutions against time or frequency, with a panel for each station, or against station; a colour
 * for each polarisation. */
#include "nodes/plot/picture.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>

enum { COLOURS = 4 };
static const unsigned colours[COLOURS] = {0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7};
/* The same, pale: bars of errors are behind the points. */
static const unsigned pale[COLOURS] = {0xa6cfe6, 0xf2c6a3, 0xa6dccb, 0xeccfde};

typedef struct {
    const grove_solutions *s;
    int against;
    size_t points;        /* of a station and a polarisation */
    double *x;            /* [points]; against station [elements][stations][points] */
    double *y;            /* [elements][stations][points] */
    double *bar[2];       /* x and y of error bars, [elements][stations][3 points]; NULL: none */
    double low, high;     /* of y */
    double error;         /* the largest */
    size_t outside;       /* points beyond low and high */
    size_t flagged;       /* points */
    const char **names;   /* [stations] */
    grove_series *series; /* [stations][2 elements] of bars and of points */
    grove_chart *charts;  /* [stations] */
} drawing;

/* ---- axes ---- */

grove_chart_axis grove_picture_axis(const grove_cube *cube, int axis)
{
    double unit = axis == GROVE_CUBE_FREQ ? 1e-6 : 1, low = INFINITY, high = -INFINITY;

    for (int64_t k = 0; k < grove_cube_size(cube, axis); k++) {
        double at = grove_cube_place(cube, axis, k), half = grove_cube_width(cube, axis, k) / 2;
        low = fmin(low, unit * (at - half));
        high = fmax(high, unit * (at + half));
    }
    return (grove_chart_axis){.kind =
                                  axis == GROVE_CUBE_TIME ? GROVE_SCALE_CLOCK : GROVE_SCALE_LINEAR,
                              .low = low,
                              .high = high};
}

void grove_picture_range(double *low, double *high, bool angle, bool logarithmic)
{
    if (!(*low <= *high))
        return;
    if (angle) {
        double most = fmax(-*low, *high);
        *high = most > 165 ? 187 : 10 * ceil(most / 10 + 0.1); /* points at 180 are whole */
        *low = -*high;
    } else if (!logarithmic) {
        double room = *high > *low ? 0.04 * (*high - *low) : fmax(1e-9, 0.1 * fabs(*high));
        *low -= room;
        *high += room;
    } else if (*low > 0) {
        double room = pow(*high / *low, 0.04);
        *low /= room;
        *high *= room;
    }
}

void grove_picture_panels(grove_figure *figure, int count)
{
    double columns = ceil(sqrt(count)), width = fmin(420, fmax(150, round(1240 / columns)));
    double rows = ceil(count / columns), height = round(0.6 * width);

    if (count == 1) {
        width = 820;
        height = 480;
    }
    figure->panels = true;
    figure->columns = (size_t)columns;
    figure->width = (int)(columns * width) + 100;
    figure->height = (int)(rows * height) + 130;
}

/* ---- numbers ---- */

static int allocate(drawing *d)
{
    const grove_solutions *s = d->s;
    size_t stations = (size_t)s->stations, all = stations * (size_t)s->elements;
    bool by_station = d->against == GROVE_CUBE_STATION, short_;

    d->points = (size_t)(grove_cube_size(&s->values, GROVE_CUBE_TIME) *
                         grove_cube_size(&s->values, GROVE_CUBE_FREQ));
    d->x = grove_try_alloc(by_station ? all : 1, d->points * sizeof(double));
    d->y = grove_try_alloc(all, d->points * sizeof(double));
    d->names = grove_try_alloc(stations, sizeof(char *));
    d->series = grove_try_alloc(2 * all, sizeof(grove_series));
    d->charts = grove_try_alloc(stations, sizeof(grove_chart));
    short_ = !d->x || !d->y || !d->names || !d->series || !d->charts;
    for (int k = 0; k < 2 && s->errors.grid; k++)
        short_ |= !(d->bar[k] = grove_try_alloc(all, 3 * d->points * sizeof(double)));
    return short_ ? grove_fail(s->error, GROVE_NO_MEMORY,
                               "%s: no memory for the points of a picture", s->path)
                  : 0;
}

static void release(drawing *d)
{
    free(d->x);
    free(d->y);
    free(d->bar[0]);
    free(d->bar[1]);
    free(d->names);
    free(d->series);
    free(d->charts);
}

/* The place of a point along x; polarisations of a station are next to each other. */
static double place(const drawing *d, int station, int element, int64_t time, int64_t freq)
{
    const grove_solutions *s = d->s;

    if (d->against == GROVE_CUBE_STATION)
        return station + 0.5 * ((element + 0.5) / s->elements - 0.5);
    return d->against == GROVE_CUBE_TIME ? grove_cube_place(&s->values, d->against, time)
                                         : 1e-6 * grove_cube_place(&s->values, d->against, freq);
}

static void put_bar(drawing *d, size_t at, double x, double y, double error)
{
    double ends[3] = {y - error, y + error, NAN};

    if (!isnan(y))
        d->error = fmax(d->error, error);
    for (int k = 0; k < 3; k++) {
        d->bar[0][3 * at + (size_t)k] = x;
        d->bar[1][3 * at + (size_t)k] = ends[k];
    }
}

/* The points of one station and polarisation. */
static void put_points(drawing *d, int station, int element)
{
    const grove_solutions *s = d->s;
    int64_t times = grove_cube_size(&s->values, GROVE_CUBE_TIME);
    int64_t freqs = grove_cube_size(&s->values, GROVE_CUBE_FREQ);
    size_t from = (size_t)(element * s->stations + station) * d->points, n = 0;
    bool by_station = d->against == GROVE_CUBE_STATION;
    int p = s->station[station], e = s->element[element];

    for (int64_t t = 0; t < times; t++)
        for (int64_t f = 0; f < freqs; f++, n++) {
            double x = place(d, station, element, t, f);
            double y = grove_solutions_value(s, p, t, f, e);
            d->x[by_station ? from + n : n] = x;
            d->y[from + n] = y;
            d->flagged += isnan(y);
            d->low = fmin(d->low, y);
            d->high = fmax(d->high, y);
            if (d->bar[0])
                put_bar(d, from + n, x, y, grove_solutions_error(s, p, t, f, e));
        }
}

/* A few numbers far from all others would leave no room for those: they are left outside. */
static void leave_outliers(drawing *d)
{
    enum { MOST = 1000000 };
    size_t all = d->points * (size_t)(d->s->stations * d->s->elements), step = all / MOST + 1;
    double *sorted = grove_try_alloc(all / step + 1, sizeof(double));
    size_t count = 0;

    for (size_t i = 0; sorted && i < all; i += step)
        if (!isnan(d->y[i]))
            sorted[count++] = d->y[i];
    if (count) {
        qsort(sorted, count, sizeof(double), grove_compare_numbers);
        size_t skip = count / 100, first = 0, last = count - 1;
        double far = 4 * (sorted[last - skip] - sorted[skip]);
        while (sorted[first] < sorted[skip] - far)
            first++;
        while (sorted[last] > sorted[count - 1 - skip] + far)
            last--;
        if (far > 0 && first)
            d->low = sorted[first];
        if (far > 0 && last < count - 1)
            d->high = sorted[last];
    }
    for (size_t i = 0; i < all; i++)
        d->outside += d->y[i] < d->low || d->y[i] > d->high;
    free(sorted);
}

/* ---- charts ---- */

/* Bars, and points on them, of one polarisation: of one station or from one on. */
static void make_series(const drawing *d, int element, int station, size_t count, double size,
                        grove_series series[2])
{
    const grove_solutions *s = d->s;
    size_t from = (size_t)(element * s->stations + station) * d->points;
    const char *name = grove_solutions_element(s, s->element[element]);
    int colour = s->element[element] % COLOURS;

    if (d->bar[0])
        series[0] = (grove_series){.kind = GROVE_SERIES_LINE,
                                   .x = d->bar[0] + 3 * from,
                                   .y = d->bar[1] + 3 * from,
                                   .count = 3 * count,
                                   .colour = pale[colour],
                                   .size = fmax(1, size / 2)};
    series[1] = (grove_series){.x = d->against == GROVE_CUBE_STATION ? d->x + from : d->x,
                               .y = d->y + from,
                               .count = count,
                               .label = s->elements > 1 && name[0] ? name : NULL,
                               .colour = colours[colour],
                               .size = size};
}

/* The diameter of points that have `room` pixels each along x; where that is enough, points of the
 * first polarisation are larger: they are visible below equal points of the last. */
static double point_size(double room, int element, int elements)
{
    double size = fmin(4.5, fmax(2, 0.6 * room));

    return size < 3 || elements < 2 ? size : size * (1.6 - 0.6 * element / (elements - 1.0));
}

static bool has_points(const grove_chart *chart)
{
    for (size_t k = 0; k < chart->series_count; k++)
        for (size_t i = 0; i < chart->series[k].count; i++)
            if (isfinite(chart->series[k].y[i]))
                return true;
    return false;
}

static void make_charts(drawing *d, const grove_chart *model, grove_figure *figure)
{
    const grove_solutions *s = d->s;
    bool one = d->against == GROVE_CUBE_STATION;
    int charts = one ? 1 : s->stations;
    size_t across = one ? (size_t)s->stations : (size_t)grove_cube_size(&s->values, d->against);

    if (one) {
        figure->width = (int)fmin(2400, fmax(900, 120 + 16 * s->stations));
        figure->height = 600;
    } else {
        grove_picture_panels(figure, charts);
    }
    double room = figure->width / (double)(figure->columns ? figure->columns : 1) / (double)across;
    for (int k = 0; k < charts; k++) {
        grove_series *series = d->series + 2 * k * s->elements;
        d->charts[k] = *model;
        d->charts[k].series = series;
        d->charts[k].series_count = 2 * (size_t)s->elements;
        for (int e = 0; e < s->elements; e++) {
            grove_series pair[2] = {{0}};
            make_series(d, e, k, one ? d->points * (size_t)s->stations : d->points,
                        point_size(room, e, s->elements), pair);
            series[e] = pair[0]; /* all bars are behind all points */
            series[s->elements + e] = pair[1];
        }
        if (!one)
            d->charts[k].title = d->names[k];
        if (!has_points(&d->charts[k]))
            d->charts[k].subtitle = "no solutions";
    }
    figure->charts = d->charts;
    figure->count = (size_t)charts;
}

static char *make_subtitle(const drawing *d)
{
    double all = (double)d->points * d->s->elements * d->s->stations;
    grove_text text = {0};
    char *note = grove_solutions_note(d->s);

    grove_text_add(&text, "%s", note);
    if (d->flagged)
        grove_text_add(&text, ", %.3g %% flagged", 100 * (double)d->flagged / all);
    if (d->outside)
        grove_text_add(&text, ", %zu point%s beyond the scale", d->outside,
                       d->outside == 1 ? "" : "s");
    free(note);
    return text.at;
}

static int draw(drawing *d, const grove_picture *picture, const char *to)
{
    static const char *const words[] = {"time", "frequency", "station"};
    static const char *const labels[] = {"time (UTC)", "frequency (MHz)", "station"};
    const grove_solutions *s = d->s;
    bool logarithmic = picture->logarithmic && !s->angle && d->low >= 0;
    char *title = grove_format("%s: %s against %s", s->name, s->table->title, words[d->against]);
    grove_chart model = {.y = {.label = s->label}};
    grove_figure figure = {.title = title};

    if (!s->angle && !logarithmic) { /* room for bars that are not too long */
        leave_outliers(d);
        double room = fmin(d->error, d->high > d->low ? 0.3 * (d->high - d->low) : INFINITY);
        d->low -= room;
        d->high += room;
    }
    grove_picture_range(&d->low, &d->high, s->angle, logarithmic);
    model.y.low = d->low;
    model.y.high = d->high;
    model.y.kind = logarithmic ? GROVE_SCALE_LOGARITHMIC
                   : s->angle  ? GROVE_SCALE_ANGLE
                               : GROVE_SCALE_LINEAR;
    if (d->against == GROVE_CUBE_STATION)
        model.x = (grove_chart_axis){.kind = GROVE_SCALE_NAMES,
                                     .low = -0.6,
                                     .high = s->stations - 0.4,
                                     .names = d->names,
                                     .name_count = (size_t)s->stations};
    else
        model.x = grove_picture_axis(&s->values, d->against);
    model.x.label = labels[d->against];
    make_charts(d, &model, &figure);
    char *subtitle = make_subtitle(d);
    figure.subtitle = subtitle;
    if (!figure.panels) {
        figure.title = NULL;
        d->charts[0].title = title;
        d->charts[0].subtitle = subtitle;
    }
    int code = grove_figure_draw(&figure, to, s->error);
    free(title);
    free(subtitle);
    return code;
}

int grove_picture_stations(const grove_solutions *s, int against, const grove_picture *picture,
                           const char *to)
{
    static const char *const words[] = {"time", "frequency"}, *const ends[] = {"time", "freq"};
    drawing d = {.s = s, .against = against, .low = INFINITY, .high = -INFINITY};

    if (against != GROVE_CUBE_STATION && s->values.axis[against] < 0)
        return grove_fail(s->error, GROVE_INVALID,
                          "%s: %s does not vary with %s; --what %s-%s draws it", s->path, s->where,
                          words[against],
                          s->table->kind == GROVE_SOLUTION_OTHER ? "value" : s->table->title,
                          s->values.axis[!against] < 0 ? "station" : ends[!against]);
    int code = allocate(&d);
    for (int k = 0; k < s->stations && !code; k++) {
        d.names[k] = grove_solutions_station(s, s->station[k]);
        for (int e = 0; e < s->elements; e++)
            put_points(&d, k, e);
    }
    if (!code && !(d.low <= d.high))
        code = grove_solutions_fail_flagged(s);
    if (!code)
        code = draw(&d, picture, to);
    release(&d);
    return code;
}
