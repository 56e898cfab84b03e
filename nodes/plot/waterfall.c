/* Waterfalls: solutions over time and frequency, a panel for each station. */
#include "nodes/plot/picture.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>

/* Pixels along time or frequency, equally wide: gaps between intervals are pixels without data. */
typedef struct {
    int64_t count;
    int64_t *interval; /* [count] of the table; -1: a gap */
    double low, high;  /* outer edges */
} pixels;

typedef struct {
    const grove_solutions *s;
    pixels time, freq;
    int panels;           /* stations by polarisations */
    float *data;          /* [panels][freq][time] */
    grove_raster *raster; /* [panels] */
    grove_chart *charts;
    char **titles;
    double low, high;
    bool any;
} waterfall;

typedef struct {
    double at;
    int64_t interval;
} place;

static int by_place(const void *a, const void *b)
{
    const place *one = a, *two = b;

    return (one->at > two->at) - (one->at < two->at);
}

/* The usual width of an interval, and in *pixel the smallest, but not below a quarter of it. */
static double usual_width(const place *places, int64_t count, double *pixel)
{
    double *width = grove_alloc(sizeof(double) * (size_t)count);

    for (int64_t k = 0; k + 1 < count; k++)
        width[k] = places[k + 1].at - places[k].at;
    qsort(width, (size_t)count - 1, sizeof(double), grove_compare_numbers);
    double usual = width[(count - 1) / 2];
    *pixel = fmax(width[0], usual / 4);
    free(width);
    return usual;
}

/* `count`: at least 2 intervals. */
static void spread(pixels *p, const place *places, int64_t count)
{
    enum { MOST = 16384 };
    double pixel, usual = usual_width(places, count, &pixel);
    double span = places[count - 1].at - places[0].at;
    int64_t at = 0;

    pixel = fmax(pixel, span / MOST);
    p->count = pixel > 0 ? (int64_t)round(span / pixel) + 1 : 1;
    p->interval = grove_alloc(sizeof(int64_t) * (size_t)p->count);
    p->low = places[0].at - (pixel > 0 ? pixel : 1) / 2;
    p->high = places[0].at + ((double)p->count - 0.5) * (pixel > 0 ? pixel : 1);
    for (int64_t k = 0; k < p->count; k++) {
        double middle = places[0].at + (double)k * pixel;
        while (at + 1 < count && fabs(places[at + 1].at - middle) <= fabs(places[at].at - middle))
            at++;
        bool inside = fabs(places[at].at - middle) <= 0.51 * fmax(pixel, usual);
        p->interval[k] = inside ? places[at].interval : -1;
    }
}

static int find_pixels(const grove_cube *cube, int axis, pixels *p)
{
    int64_t count = grove_cube_size(cube, axis);
    place *places = grove_try_alloc((size_t)count, sizeof(place));

    if (!places)
        return GROVE_NO_MEMORY;
    for (int64_t k = 0; k < count; k++)
        places[k] = (place){grove_cube_place(cube, axis, k), k};
    qsort(places, (size_t)count, sizeof(place), by_place);
    spread(p, places, count);
    free(places);
    return 0;
}

static int no_memory(const waterfall *w)
{
    return grove_fail(w->s->error, GROVE_NO_MEMORY, "%s: no memory for the pixels of a picture",
                      w->s->path);
}

static int allocate(waterfall *w)
{
    size_t panels = (size_t)w->panels;

    if (find_pixels(&w->s->values, GROVE_CUBE_TIME, &w->time) ||
        find_pixels(&w->s->values, GROVE_CUBE_FREQ, &w->freq))
        return no_memory(w);
    w->data =
        grove_try_alloc(panels * (size_t)w->time.count, (size_t)w->freq.count * sizeof(float));
    w->raster = grove_try_alloc(panels, sizeof(grove_raster));
    w->charts = grove_try_alloc(panels, sizeof(grove_chart));
    w->titles = grove_try_alloc(panels, sizeof(char *));
    return w->data && w->raster && w->charts && w->titles ? 0 : no_memory(w);
}

static void release(waterfall *w)
{
    for (int k = 0; w->titles && k < w->panels; k++)
        free(w->titles[k]);
    free(w->titles);
    free(w->time.interval);
    free(w->freq.interval);
    free(w->data);
    free(w->raster);
    free(w->charts);
}

/* The pixels of a panel; false: all are flagged. */
static bool put_pixels(waterfall *w, int station, int element, float *to)
{
    bool any = false;

    for (int64_t f = 0; f < w->freq.count; f++)
        for (int64_t t = 0; t < w->time.count; t++) {
            int64_t time = w->time.interval[t], freq = w->freq.interval[f];
            double value = time < 0 || freq < 0
                               ? NAN
                               : grove_solutions_value(w->s, station, time, freq, element);
            *to++ = (float)value;
            w->low = fmin(w->low, value);
            w->high = fmax(w->high, value);
            any |= !isnan(value);
        }
    return any;
}

static void make_panel(waterfall *w, int panel, int station, int element)
{
    const grove_solutions *s = w->s;
    const char *name = grove_solutions_element(s, element);
    float *data = w->data + (int64_t)panel * w->freq.count * w->time.count;
    bool any = put_pixels(w, station, element, data);

    w->titles[panel] = s->elements > 1
                           ? grove_format("%s %s", grove_solutions_station(s, station), name)
                           : grove_strdup(grove_solutions_station(s, station));
    w->raster[panel] = (grove_raster){.data = data,
                                      .rows = (size_t)w->freq.count,
                                      .columns = (size_t)w->time.count,
                                      .x0 = w->time.low,
                                      .x1 = w->time.high,
                                      .y0 = 1e-6 * w->freq.low,
                                      .y1 = 1e-6 * w->freq.high,
                                      .map = s->angle ? GROVE_MAP_CYCLE : GROVE_MAP_LEAF,
                                      .label = s->label};
    w->charts[panel] = (grove_chart){.title = w->titles[panel],
                                     .subtitle = any ? NULL : "no solutions",
                                     .x = {.label = "time (UTC)", .kind = GROVE_SCALE_CLOCK},
                                     .y = {.label = "frequency (MHz)"},
                                     .raster = &w->raster[panel]};
    w->any |= any;
}

static int draw(waterfall *w, const grove_picture *picture, const char *to)
{
    const grove_solutions *s = w->s;
    bool logarithmic = picture->logarithmic && !s->angle && w->high > 0;
    char *title = grove_format("%s: %s over time and frequency", s->name, s->table->title);
    char *note = grove_solutions_note(s);
    const char *name = s->elements == 1 ? grove_solutions_element(s, s->element[0]) : "";
    char *subtitle = grove_format("%s%s%s", note, name[0] ? ", " : "", name);
    grove_figure figure = {.title = title, .subtitle = subtitle, .charts = w->charts};

    for (int k = 0; k < w->panels; k++) {
        w->raster[k].low = s->angle ? -180 : w->low;
        w->raster[k].high = s->angle ? 180 : w->high;
        w->raster[k].logarithmic = logarithmic;
    }
    grove_picture_panels(&figure, w->panels);
    figure.count = (size_t)w->panels;
    int code = grove_figure_draw(&figure, to, s->error);
    free(title);
    free(note);
    free(subtitle);
    return code;
}

int grove_picture_waterfall(const grove_solutions *s, const grove_picture *picture, const char *to)
{
    /* one polarisation, unless others are asked for */
    int elements = picture->correlations ? s->elements : 1;
    waterfall w = {.s = s, .panels = s->stations * elements, .low = INFINITY, .high = -INFINITY};
    grove_solutions own = *s;

    for (int axis = GROVE_CUBE_TIME; axis <= GROVE_CUBE_FREQ; axis++)
        if (grove_cube_size(&s->values, axis) < 2)
            return grove_fail(s->error, GROVE_INVALID,
                              "%s: %s does not vary with %s; a waterfall varies with time and "
                              "frequency",
                              s->path, s->where, axis ? "frequency" : "time");
    own.elements = elements;
    w.s = &own;
    int code = allocate(&w);
    for (int k = 0; k < w.panels && !code; k++)
        make_panel(&w, k, s->station[k / elements], s->element[k % elements]);
    if (!code && !w.any)
        code = grove_solutions_fail_flagged(&own);
    if (!code)
        code = draw(&w, picture, to);
    release(&w);
    return code;
}
