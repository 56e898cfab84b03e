/* uv coverage, and visibilities against time, frequency and distance, as points. */
#include "base/memory.h"
#include "base/text.h"
#include "cell.h"
#include "plot/picture.h"
#include "plot/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Maximum number of points drawn, and of numbers read for them. */
static const double most_points = 2e6, most_rows = 4e6, most_visibilities = 40e6;

typedef struct {
    size_t count, room;
    double *x, *y;  /* y: v of the uv coverage, or the first correlation */
    double *second; /* of the second correlation */
    double share;
    enum { TIME, FREQ, UVDIST } against;
    bool phase;
} points;

static int make_room(points *p, size_t more)
{
    if (p->count + more <= p->room)
        return 0;
    size_t room = 2 * p->room + more;
    double **list[] = {&p->x, &p->y, &p->second};
    for (int k = 0; k < 3; k++) {
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
    free(p->second);
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
        if (!isfinite(uvw[0]) || !isfinite(uvw[1]) || (uvw[0] == 0 && uvw[1] == 0))
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

    return ceil((double)set->layout->times / (double)set->every) * (double)set->layout->baselines *
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

static double measure(const points *p, const grove_set *set, const grove_set_samples *s,
                      int64_t sample, int which)
{
    if (which >= set->parallel_count)
        return NAN;
    int64_t at = sample * set->layout->correlations + set->parallel[which];
    if (s->flag[at])
        return NAN;
    double re = (double)s->data[2 * at], im = (double)s->data[2 * at + 1];
    return p->phase ? atan2(im, re) * 180 / GROVE_PI : sqrt(re * re + im * im);
}

static double place(const points *p, const grove_set *set, const grove_set_samples *s, int64_t row,
                    int64_t channel)
{
    const double *uvw = s->uvw + 3 * row;
    double frequency = set->layout->frequency[channel];

    if (p->against == TIME)
        return set->layout->time[s->first_time + row / s->baselines];
    if (p->against == FREQ)
        return frequency * 1e-6;
    return sqrt(uvw[0] * uvw[0] + uvw[1] * uvw[1]) * frequency / GROVE_SPEED_OF_LIGHT * 1e-3;
}

static int add_visibilities(void *context, const grove_set *set, const grove_set_samples *s)
{
    points *p = context;

    for (int64_t row = 0; row < s->times * s->baselines; row++) {
        int64_t baseline = s->first_baseline + row % s->baselines;
        if (set->layout->antenna1[baseline] == set->layout->antenna2[baseline])
            continue;
        if (make_room(p, (size_t)set->layout->channels))
            return no_memory(set);
        for (int64_t k = 0; k < set->layout->channels; k++) {
            if (!grove_set_chosen(sample_number(set, s, row, k), p->share))
                continue;
            double first = measure(p, set, s, row * set->layout->channels + k, 0);
            double second = measure(p, set, s, row * set->layout->channels + k, 1);
            if (isnan(first) && isnan(second))
                continue;
            p->x[p->count] = place(p, set, s, row, k);
            p->y[p->count] = first;
            p->second[p->count++] = second;
        }
    }
    return 0;
}

static const char *correlation_name(int code)
{
    return code == 5 ? "RR" : code == 8 ? "LL" : code == 9 ? "XX" : code == 12 ? "YY" : "I";
}

/* The range of phases rounded to tens of degrees, or all degrees. */
static double phase_limit(const points *p)
{
    double max = 0;

    for (size_t k = 0; k < p->count; k++)
        max = fmax(max, fmax(fabs(p->y[k]), fabs(p->second[k])));
    return fmin(180, 10 * ceil(max / 10 + 0.1));
}

static int draw_scatter(const grove_set *set, const points *p, const grove_picture *picture,
                        const char *title, const char *subtitle, const char *to)
{
    static const char *const x_labels[] = {"time (UTC)", "frequency (MHz)", "uv distance (kλ)"};
    grove_series series[2] = {{.x = p->x, .y = p->y, .count = p->count},
                              {.x = p->x, .y = p->second, .count = p->count}};
    grove_chart chart = {
        .title = title,
        .subtitle = subtitle,
        .x = {.label = x_labels[p->against],
              .kind = p->against == TIME ? GROVE_SCALE_CLOCK : GROVE_SCALE_LINEAR},
        .y = {.label = p->phase ? "phase (deg)" : "amplitude (Jy)"},
        .series = series,
        .series_count = (size_t)set->parallel_count,
    };
    grove_figure figure = {.charts = &chart, .count = 1};

    for (int k = 0; k < set->parallel_count; k++)
        series[k].label = correlation_name(set->layout->correlation[set->parallel[k]]);
    if (p->phase) {
        chart.y.high = phase_limit(p);
        chart.y.low = -chart.y.high;
    } else if (picture->logarithmic) {
        chart.y.kind = GROVE_SCALE_LOGARITHMIC;
    }
    return grove_figure_draw(&figure, to, set->error);
}

int grove_picture_scatter(grove_set *set, const grove_picture *picture, const char *to)
{
    static const char *const axes[] = {"time", "freq", "uvdist"};
    static const char *const words[] = {"time", "frequency", "uv distance"};
    points p = {.phase = !strncmp(picture->what, "phase", 5)};
    char band[64];

    for (int k = 0; k < 3; k++)
        if (grove_ends_with(picture->what, axes[k]))
            p.against = k == 0 ? TIME : k == 1 ? FREQ : UVDIST;
    grove_set_limit(set, most_visibilities, true);
    p.share = most_points / 2 / samples_of(set);
    int code = grove_set_walk(set, GROVE_SET_UVW | GROVE_SET_DATA, add_visibilities, &p);
    if (!code && !p.count)
        code = grove_fail(set->error, GROVE_INVALID, "%s: all of %s is flagged", set->path,
                          set->column);
    char *title = grove_format("%s: %s against %s", set->name, p.phase ? "phase" : "amplitude",
                               words[p.against]);
    char *note = grove_set_note(set, p.share, "visibilities");
    char *subtitle = grove_format("%s, %s, %s%s", set->layout->telescope,
                                  grove_show_band(band, set->layout), set->column, note);
    if (!code)
        code = draw_scatter(set, &p, picture, title, subtitle, to);
    free_points(&p);
    free(title);
    free(note);
    free(subtitle);
    return code;
}
