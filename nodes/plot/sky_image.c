/* Pictures of images of the sky. */
#include "nodes/plot/sky_image.h"

#include "nodes/plot/figure.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHARTS = 4, BEAM_POINTS = 73 };

typedef struct {
    const grove_image *image;
    bool on_sky;      /* axes are angles from the reference point, else pixels */
    double unit;      /* of angles, rad */
    const char *name; /* of that unit */
    double x0, x1, y0, y1;
    double beam[2][BEAM_POINTS];
    grove_series ellipse;
} scene;

/* ---- axes ---- */

/* An angle in degrees, minutes or seconds of arc for a field of this size. */
static void choose_unit(scene *s, double extent)
{
    static const double degree = 0.017453292519943295;

    s->unit = extent > 1.5 * degree ? degree : extent > degree / 40 ? degree / 60 : degree / 3600;
    s->name = s->unit == degree ? "deg" : s->unit < degree / 60 ? "arcsec" : "arcmin";
}

static void place(scene *s)
{
    const grove_image *image = s->image;
    const double(*m)[2] = image->sky.matrix;
    double columns = (double)image->columns, rows = (double)image->rows;
    double slant = fabs(m[0][1]) + fabs(m[1][0]);

    s->on_sky = image->sky.projection[0] && slant < 1e-3 * fabs(m[0][0]);
    s->x0 = s->y0 = -0.5;
    s->x1 = columns - 0.5;
    s->y1 = rows - 0.5;
    if (!s->on_sky)
        return;
    choose_unit(s, fmax(columns * fabs(m[0][0]), rows * fabs(m[1][1])));
    double column = m[0][0] / s->unit, row = m[1][1] / s->unit;
    s->x0 = (s->x0 - image->sky.reference[0]) * column;
    s->x1 = (s->x1 - image->sky.reference[0]) * column;
    s->y0 = (s->y0 - image->sky.reference[1]) * row;
    s->y1 = (s->y1 - image->sky.reference[1]) * row;
}

/* The outline of the beam's half power in the lower left corner, where east is. */
static void place_beam(scene *s)
{
    const double *beam = s->image->beam, turn = 2 * acos(-1);
    double a = beam[0] / 2 / s->unit, b = beam[1] / 2 / s->unit, pa = beam[2];
    double left = fmax(s->x0, s->x1), low = fmin(s->y0, s->y1);
    double gap = fmax(a, 0.03 * fabs(s->x1 - s->x0)) + 0.01 * fabs(s->x1 - s->x0);

    if (!s->on_sky || !(a > 0 && b > 0))
        return;
    for (int k = 0; k < BEAM_POINTS; k++) {
        double t = turn * k / (BEAM_POINTS - 1);
        s->beam[0][k] = left - gap + a * cos(t) * sin(pa) - b * sin(t) * cos(pa);
        s->beam[1][k] = low + gap + a * cos(t) * cos(pa) + b * sin(t) * sin(pa);
    }
    s->ellipse = (grove_series){.kind = GROVE_SERIES_LINE,
                                .x = s->beam[0],
                                .y = s->beam[1],
                                .count = BEAM_POINTS,
                                .colour = 0x40e0ff,
                                .size = 1.6};
}

static char *axis_label(const scene *s, int axis)
{
    static const char *const pixels[] = {"column", "row"}, *const cosines[] = {"l", "m"};
    const grove_image_sky *sky = &s->image->sky;

    if (!s->on_sky)
        return grove_strdup(pixels[axis]);
    if (sky->plain && s->image->sky.frame == GROVE_FRAME_J2000)
        return grove_format("%s (%s)", cosines[axis], s->name);
    return grove_format("%.8s (%s from the reference point)", sky->axes[axis], s->name);
}

/* ---- texts ---- */

/* Channels that are not blank. */
static int64_t count_channels(const grove_image *image)
{
    int64_t pixels = image->rows * image->columns, count = 0;

    for (int64_t f = 0; f < image->channels; f++) {
        bool blank = true;
        for (int e = 0; e < image->stokes && blank; e++)
            for (int64_t i = 0; i < pixels && blank; i++)
                blank = isnan(grove_image_at(image, grove_image_plane(image, e, f) + i));
        count += !blank;
    }
    return count;
}

static void add_channels(grove_text *text, const grove_image *image)
{
    int64_t count = count_channels(image);

    if (count == image->channels)
        grove_text_add(text, ", mean of %lld channels", (long long)count);
    else
        grove_text_add(text, ", mean of %lld of %lld channels", (long long)count,
                       (long long)image->channels);
}

static char *describe(const scene *s, const char *name)
{
    const grove_image *image = s->image;
    double radec[2];
    char ra[32], dec[32];
    grove_text text = {0};

    if (image->object && strcmp(image->object, name) != 0)
        grove_text_add(&text, ", %s", image->object);
    if (image->telescope)
        grove_text_add(&text, ", %s", image->telescope);
    if (grove_image_centre(image, radec))
        grove_text_add(&text, ", %s %s", grove_show_ra(ra, radec[0]),
                       grove_show_dec(dec, radec[1]));
    if (image->freq && image->channels > 1)
        grove_text_add(&text, ", %.6g–%.6g MHz", 1e-6 * image->freq[0],
                       1e-6 * image->freq[image->channels - 1]);
    else if (image->freq)
        grove_text_add(&text, ", %.6g MHz", 1e-6 * image->freq[0]);
    if (image->channels > 1)
        add_channels(&text, image);
    char *subtitle = grove_strdup(text.at ? text.at + 2 : "");
    free(text.at);
    return subtitle;
}

static char *title_of(const grove_image *image, const char *name, int stokes)
{
    int code = image->stokes_code[stokes];

    if (!code && image->stokes == 1)
        return grove_strdup(name);
    return grove_format("%s, %s%s", name, code > 0 ? "Stokes " : "", grove_image_stokes_name(code));
}

/* ---- pixels ---- */

/* The mean over channels, of the pixels that are numbers. */
static void fill_plane(const grove_image *image, int stokes, float *to)
{
    int64_t pixels = image->rows * image->columns;

    for (int64_t i = 0; i < pixels; i++) {
        double sum = 0;
        int64_t count = 0;
        for (int64_t f = 0; f < image->channels; f++) {
            double number = grove_image_at(image, grove_image_plane(image, stokes, f) + i);
            sum += isnan(number) ? 0 : number;
            count += !isnan(number);
        }
        to[i] = (float)(count ? sum / (double)count : NAN);
    }
}

static grove_raster raster_of(const scene *s, int stokes, bool logarithmic, float *pixels)
{
    fill_plane(s->image, stokes, pixels);
    return (grove_raster){.data = pixels,
                          .rows = (size_t)s->image->rows,
                          .columns = (size_t)s->image->columns,
                          .x0 = s->x0,
                          .x1 = s->x1,
                          .y0 = s->y0,
                          .y1 = s->y1,
                          .logarithmic = logarithmic,
                          .clip = logarithmic ? 1e-4 : 0,
                          .map = GROVE_MAP_EMBER,
                          .label = s->image->unit ? s->image->unit : "no unit"};
}

int grove_sky_image_write(const grove_image *image, const char *name, bool logarithmic,
                          const char *path, FILE *stream, grove_error *error)
{
    size_t count = (size_t)(image->stokes < CHARTS ? image->stokes : CHARTS);
    size_t plane = (size_t)(image->rows * image->columns), columns = count > 1 ? 2 : 1;
    scene s = {.image = image};
    grove_raster rasters[CHARTS];
    grove_chart charts[CHARTS];
    char *titles[CHARTS];
    float *pixels = grove_try_alloc(plane * count, sizeof(float));

    if (!pixels)
        return grove_fail(error, GROVE_NO_MEMORY, "%s: no memory for a picture", path);
    place(&s);
    place_beam(&s);
    char *labels[] = {axis_label(&s, 0), axis_label(&s, 1)}, *subtitle = describe(&s, name);
    for (size_t k = 0; k < count; k++) {
        titles[k] = title_of(image, name, (int)k);
        rasters[k] = raster_of(&s, (int)k, logarithmic, pixels + k * plane);
        charts[k] = (grove_chart){.title = titles[k],
                                  .subtitle = subtitle,
                                  .x = {.label = labels[0], .reversed = s.on_sky},
                                  .y = {.label = labels[1]},
                                  .equal = true,
                                  .series = &s.ellipse,
                                  .series_count = s.ellipse.count ? 1 : 0,
                                  .raster = &rasters[k]};
    }
    const grove_figure figure = {.width = 800 * (int)columns,
                                 .height = 740 * (int)((count + columns - 1) / columns),
                                 .charts = charts,
                                 .count = count,
                                 .columns = columns};
    int code = grove_figure_write(&figure, path, stream, error);
    for (size_t k = 0; k < count; k++)
        free(titles[k]);
    free(labels[0]);
    free(labels[1]);
    free(subtitle);
    free(pixels);
    return code;
}
