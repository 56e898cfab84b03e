/* uv coverage, and visibilities against time, frequency and distance: one chart for each
 * correlation, and for a few baselines chosen by name a curve for each. */
#include "cell.h"
#include "nodes/plot/figure.h"
#include "nodes/plot/picture.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Maximum number of points drawn, and of numbers read for them. */
static const double most_points = 2e6, most_rows = 4e6, most_visibilities = 40e6;

typedef struct {
    size_t count, room;
    double *x, *y;
    double share;
} points;

static int make_room(points *p, size_t more)
{
    if (p->count + more <= p->room)
        return 0;
    size_t room = 2 * p->room + more;
    double **list[] = {&p->x, &p->y};
    for (int k = 0; k < 2; k++) {
        double *grown =
            room < SIZE_MAX / sizeof(double) ? realloc(*list[k], room * sizeof(double)) : NULL;
        if (!grown)
            return GROVE_NO_MEMORY;
        *list[k] = grown;
    }
    p->room = room;
    return 0;
}

static void free_points(points *p)
{
    free(p->x);
    free(p->y);
}

static int no_memory(const grove_set *set)
{
    return grove_fail(set->error, GROVE_NO_MEMORY, "%s: no memory for the points of a picture",
                      set->path);
}

/* The number of a sample in the whole set, which decides whether it is chosen. */
static uint64_t sample_number(const grove_set *set, const grove_set_samples *s, int64_t row,
                              int64_t channel)
{
    int64_t time = s->first_time + row / s->baselines;
    int64_t baseline = s->first_baseline + row % s->baselines;

    return (uint64_t)((time * set->layout->baselines + baseline) * set->layout->channels + channel);
}

/* ---- uv coverage ---- */

static int add_uv(void *context, const grove_set *set, const grove_set_samples *s)
{
    points *p = context;
    int64_t channels = set->layout->channels ? set->layout->channels : 1;

    for (int64_t row = 0; row < s->times * s->baselines; row++) {
        const double *uvw = s->uvw + 3 * row;
        if (!isfinite(uvw[0]) || !isfinite(uvw[1]) || (uvw[0] == 0 && uvw[1] == 0) ||
            !set->chosen[s->first_baseline + row % s->baselines])
            continue;
        if (make_room(p, 2 * (size_t)channels))
            return no_memory(set);
        for (int64_t k = 0; k < channels; k++) {
            if (!grove_set_chosen(sample_number(set, s, row, k), p->share))
                continue;
            /* thousands of wavelengths; metres if there are no frequencies */
            double scale =
                set->layout->channels ? set->layout->frequency[k] / GROVE_SPEED_OF_LIGHT * 1e-3 : 1;
            for (int sign = -1; sign <= 1; sign += 2) {
                p->x[p->count] = sign * scale * uvw[0];
                p->y[p->count++] = sign * scale * uvw[1];
            }
        }
    }
    return 0;
}

/* The number of samples in a walk. */
static double samples_of(const grove_set *set)
{
    int64_t channels = set->layout->channels ? set->layout->channels : 1;

    return ceil((double)set->layout->times / (double)set->every) * (double)set->chosen_count *
           (double)channels;
}

int grove_picture_uv(grove_set *set, const char *to)
{
    points p = {0};
    char band[64];

    grove_set_limit(set, most_rows, false);
    p.share = most_points / (2 * samples_of(set));
    int code = grove_set_walk(set, GROVE_SET_UVW, add_uv, &p);
    char *title = grove_format("%s: uv coverage", set->name);
    char *note = grove_set_note(set, p.share, "points");
    char *subtitle =
        grove_format("%s, %d stations, %s%s", set->layout->telescope, set->layout->station_count,
                     grove_show_band(band, set->layout), note);
    bool metres = !set->layout->channels;
    grove_series series = {.x = p.x, .y = p.y, .count = p.count};
    grove_chart chart = {.title = title,
                         .subtitle = subtitle,
                         .x.label = metres ? "u (m)" : "u (kλ)",
                         .y.label = metres ? "v (m)" : "v (kλ)",
                         .equal = true,
                         .series = &series,
                         .series_count = 1};
    grove_figure figure = {.width = 700, .height = 700, .charts = &chart, .count = 1};
    if (!code)
        code = grove_figure_draw(&figure, to, set->error);
    free_points(&p);
    free(title);
    free(note);
    free(subtitle);
    return code;
}

/* ---- visibilities ---- */

/* Most baselines with a colour of their own, lines of each, and correlations. */
enum { COLOURS = 8, LINES = 32, CORRELATIONS = 4 };

typedef struct {
    double x, y[CORRELATIONS]; /* NaN: flagged */
    int colour;                /* number of its baseline among those chosen */
    int64_t curve;             /* channel or time slot of the line */
} visibility;

typedef struct {
    size_t count, room;
    visibility *list;
    double share;
    enum { TIME, FREQ, UVDIST } against;
    bool phase, by_baseline, lines;
    bool any;                   /* something is not flagged */
    int colours;                /* by_baseline: a colour for each */
    int64_t baselines[COLOURS]; /* of the colours */
} visibilities;

static double measure(const visibilities *v, const grove_set *set, const grove_set_samples *s,
                      int64_t sample, int which)
{
    int64_t at = sample * set->layout->correlations + set->shown[which];

    if (s->flag[at])
        return NAN;
    double re = (double)s->data[2 * at], im = (double)s->data[2 * at + 1];
    return v->phase ? atan2(im, re) * 180 / GROVE_PI : sqrt(re * re + im * im);
}

static double place(const visibilities *v, const grove_set *set, const grove_set_samples *s,
                    int64_t row, int64_t channel)
{
    const double *uvw = s->uvw + 3 * row;
    double frequency = set->layout->frequency[channel];

    if (v->against == TIME)
        return set->layout->time[s->first_time + row / s->baselines];
    if (v->against == FREQ)
        return frequency * 1e-6;
    return sqrt(uvw[0] * uvw[0] + uvw[1] * uvw[1]) * frequency / GROVE_SPEED_OF_LIGHT * 1e-3;
}

/* The offset along x of a point of many channels or times: baselines are next to each other. */
static double offset(const visibilities *v, const grove_set *set, int64_t time, int64_t channel,
                     int colour)
{
    double width = v->against == TIME ? set->layout->interval[time]
                                      : set->layout->channel_width[channel] * 1e-6;

    return v->by_baseline && !v->lines && v->against != UVDIST
               ? 0.6 * width * ((colour + 0.5) / v->colours - 0.5)
               : 0;
}

static int add_visibility(visibilities *v, const grove_set *set, const grove_set_samples *s,
                          int64_t row, int64_t channel)
{
    int64_t baseline = s->first_baseline + row % s->baselines;
    visibility one = {.x = place(v, set, s, row, channel)};
    bool any = false;

    for (int k = 0; k < set->shown_count; k++) {
        one.y[k] = measure(v, set, s, row * set->layout->channels + channel, k);
        any |= !isnan(one.y[k]);
    }
    if (!any && !v->by_baseline) /* flagged visibilities interrupt a line */
        return 0;
    v->any |= any;
    if (v->against != UVDIST)
        one.curve = v->against == TIME ? channel : s->first_time + row / s->baselines;
    for (int k = 0; k < v->colours; k++)
        if (v->by_baseline && v->baselines[k] == baseline)
            one.colour = k;
    one.x += offset(v, set, s->first_time + row / s->baselines, channel, one.colour);
    if (v->count == v->room) {
        size_t room = 2 * v->count + 1024;
        visibility *grown = realloc(v->list, room * sizeof(*grown));
        if (!grown)
            return no_memory(set);
        v->list = grown;
        v->room = room;
    }
    v->list[v->count++] = one;
    return 0;
}

static int add_visibilities(void *context, const grove_set *set, const grove_set_samples *s)
{
    visibilities *v = context;
    int code = 0;

    for (int64_t row = 0; row < s->times * s->baselines && !code; row++)
        for (int64_t k = 0; k < set->layout->channels && !code; k++)
            if (set->chosen[s->first_baseline + row % s->baselines] &&
                grove_set_chosen(sample_number(set, s, row, k), v->share))
                code = add_visibility(v, set, s, row, k);
    return code;
}

/* ---- charts of visibilities ---- */

/* By colour, curve and place. */
static int in_order(const void *a, const void *b)
{
    const visibility *one = a, *two = b;

    if (one->colour != two->colour)
        return one->colour - two->colour;
    if (one->curve != two->curve)
        return one->curve < two->curve ? -1 : 1;
    return (one->x > two->x) - (one->x < two->x);
}

static bool is_parallel(const grove_set *set, int which)
{
    for (int k = 0; k < set->parallel_count; k++)
        if (set->parallel[k] == set->shown[which])
            return true;
    return false;
}

/* Parallel hands have one range, so that they can be compared, and the others another; columns of
 * the set have the same. */
static void find_range(const visibilities *columns, const grove_set *set, int which,
                       bool logarithmic, grove_chart_axis *axis)
{
    double low = INFINITY, high = -INFINITY;

    for (const visibilities *v = columns; v < columns + set->column_count; v++)
        for (int k = 0; k < set->shown_count; k++)
            for (size_t i = 0; is_parallel(set, k) == is_parallel(set, which) && i < v->count; i++)
                if (!logarithmic || v->list[i].y[k] > 0) {
                    low = fmin(low, v->list[i].y[k]);
                    high = fmax(high, v->list[i].y[k]);
                }
    if (!(low <= high))
        return;
    if (columns->phase) {
        high = fmin(180, 10 * ceil(fmax(-low, high) / 10 + 0.1));
        low = -high;
    } else if (!logarithmic) {
        double room = 0.04 * (high - low);
        low = fmax(0, low - room);
        high += room;
    }
    axis->low = low;
    axis->high = high;
}

/* The numbers of one colour and correlation, with a NaN between curves and where a phase passes 180
 * degrees. */
static size_t take_series(const visibilities *v, int colour, int which, double *x, double *y)
{
    const visibility *last = NULL;
    size_t count = 0;

    for (size_t i = 0; i < v->count; i++) {
        const visibility *one = &v->list[i];
        if (one->colour != colour)
            continue;
        bool wraps = last && v->phase && fabs(one->y[which] - last->y[which]) > 180;
        if (v->by_baseline && last && (last->curve != one->curve || wraps)) {
            x[count] = one->x;
            y[count++] = NAN;
        }
        x[count] = one->x;
        y[count++] = one->y[which];
        last = one;
    }
    return count;
}

/* The chart of one correlation; `numbers` has room for four of each visibility. */
static void make_chart(const visibilities *v, int which, double *numbers, char *const *labels,
                       grove_series *series, grove_chart *chart)
{
    static const unsigned colours[CORRELATIONS] = {0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7};
    double *x = numbers, *y = numbers + 2 * v->count;

    for (int k = 0; k < v->colours; k++) {
        series[k].x = x;
        series[k].y = y;
        series[k].count = take_series(v, k, which, x, y);
        x += series[k].count;
        y += series[k].count;
        if (!v->by_baseline)
            series[k].colour = colours[which];
        else if (v->lines)
            series[k].kind = GROVE_SERIES_CURVE;
        if (which == 0)
            series[k].label = labels[k];
    }
    chart->series = series;
    chart->series_count = (size_t)v->colours;
}

/* The axes of the chart of correlation `which`; the last row has the label of x. */
static void make_axes(const visibilities *columns, const grove_set *set, int which,
                      const char *label, bool logarithmic, grove_chart *chart)
{
    static const char *const x_labels[] = {"time (UTC)", "frequency (MHz)", "uv distance (kλ)"};

    chart->x.label = which == set->shown_count - 1 ? x_labels[columns->against] : NULL;
    chart->x.kind = columns->against == TIME ? GROVE_SCALE_CLOCK : GROVE_SCALE_LINEAR;
    chart->y.label = label;
    chart->y.kind = logarithmic      ? GROVE_SCALE_LOGARITHMIC
                    : columns->phase ? GROVE_SCALE_ANGLE
                                     : GROVE_SCALE_LINEAR;
    find_range(columns, set, which, logarithmic, &chart->y);
}

/* A row of charts for each correlation, a column for each column of the set. */
static int draw_charts(const visibilities *columns, const grove_set *set,
                       const grove_picture *picture, char *const *titles, const char *subtitle,
                       const char *to)
{
    enum { CHARTS = CORRELATIONS * GROVE_SET_COLUMNS };
    grove_chart charts[CHARTS] = {{0}};
    grove_series series[CHARTS][COLOURS] = {{{0}}};
    int across = set->column_count, count = set->shown_count * across;
    grove_figure figure = {.charts = charts, .count = (size_t)count, .columns = (size_t)across};
    char *labels[COLOURS] = {0}, *names[CORRELATIONS] = {0};
    bool logarithmic = !columns->phase && picture->logarithmic;
    double *numbers[CHARTS] = {0};
    int code = 0;

    for (int k = 0; k < columns->colours && columns->by_baseline; k++)
        labels[k] = grove_set_baseline_name(set, columns->baselines[k]);
    for (int n = 0; n < count && !code; n++) {
        int which = n / across;
        const visibilities *v = &columns[n % across];
        if (n % across == 0)
            names[which] = grove_format("%s %s", grove_set_correlation(set, set->shown[which]),
                                        v->phase ? "phase (deg)" : "amplitude (Jy)");
        if (!(numbers[n] = grove_try_alloc(v->count, 4 * sizeof(double))))
            code = no_memory(set);
        make_axes(columns, set, which, names[which], logarithmic, &charts[n]);
        if (!code)
            make_chart(v, which, numbers[n], labels, series[n], &charts[n]);
        charts[n].title = which ? NULL : titles[n];
        charts[n].subtitle = which ? NULL : subtitle;
    }
    if (across > 1)
        figure.width = 700 * across;
    if (set->shown_count > 1)
        figure.height = 380 * set->shown_count;
    if (!code)
        code = grove_figure_draw(&figure, to, set->error);
    for (int k = 0; k < COLOURS; k++)
        free(labels[k]);
    for (int k = 0; k < CORRELATIONS; k++)
        free(names[k]);
    for (int n = 0; n < CHARTS; n++)
        free(numbers[n]);
    return code;
}

/* A few baselines that were named have a colour each. */
static void choose_colours(visibilities *v, const grove_set *set)
{
    v->colours = 1;
    v->by_baseline = set->named && set->chosen_count <= COLOURS;
    if (!v->by_baseline)
        return;
    if (v->against != UVDIST)
        v->lines = (v->against == TIME ? set->layout->channels : set->layout->times) <= LINES;
    v->colours = 0;
    for (int64_t b = 0; b < set->layout->baselines; b++)
        if (set->chosen[b])
            v->baselines[v->colours++] = b;
}

/* Reads the visibilities of column k. */
static int read_column(visibilities *v, grove_set *set, int k)
{
    set->column = set->columns[k];
    int code = grove_set_walk(set, GROVE_SET_UVW | GROVE_SET_DATA, add_visibilities, v);
    if (!code && !v->any)
        code = grove_fail(set->error, GROVE_INVALID, "%s: all of %s is flagged", set->path,
                          set->column);
    if (v->by_baseline && v->count)
        qsort(v->list, v->count, sizeof(*v->list), in_order);
    return code;
}

int grove_picture_scatter(grove_set *set, const grove_picture *picture, const char *to)
{
    static const char *const axes[] = {"time", "freq", "uvdist"};
    static const char *const words[] = {"time", "frequency", "uv distance"};
    visibilities v[GROVE_SET_COLUMNS] = {{.phase = !strncmp(picture->what, "phase", 5)}};
    char band[64], *titles[GROVE_SET_COLUMNS] = {0};
    int code = 0;

    for (int k = 0; k < 3; k++)
        if (grove_ends_with(picture->what, axes[k]))
            v->against = k == 0 ? TIME : k == 1 ? FREQ : UVDIST;
    choose_colours(v, set);
    grove_set_limit(set, most_visibilities / set->column_count, true);
    v->share = most_points / set->shown_count / set->column_count / samples_of(set);
    char *what = grove_format("%s against %s", v->phase ? "phase" : "amplitude", words[v->against]);
    for (int k = 1; k < set->column_count; k++)
        v[k] = v[0];
    for (int k = 0; k < set->column_count && !code; k++) {
        titles[k] = grove_set_title(set, what, k);
        code = read_column(&v[k], set, k);
    }
    char *note = grove_set_note(set, v->share, "visibilities");
    bool one = set->column_count == 1;
    char *subtitle =
        grove_format("%s, %s%s%s%s", set->layout->telescope, grove_show_band(band, set->layout),
                     one ? ", " : "", one ? set->column : "", note);
    if (!code)
        code = draw_charts(v, set, picture, titles, subtitle, to);
    for (int k = 0; k < set->column_count; k++) {
        free(v[k].list);
        free(titles[k]);
    }
    free(what);
    free(note);
    free(subtitle);
    return code;
}
