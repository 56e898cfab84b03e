/* Descriptions of FITS images, in words. */
#include "nodes/imaging/fits/describe_image.h"

#include "nodes/imaging/fits/image.h"
#include "util.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double degree = 0.017453292519943295;

/* "12.3 arcsec", into buf of at least 32 bytes. */
static const char *show_angle(char *buf, double radians)
{
    double size = fabs(radians);

    if (size >= degree)
        snprintf(buf, 32, "%.4g deg", radians / degree);
    else if (size >= degree / 60)
        snprintf(buf, 32, "%.4g arcmin", radians / degree * 60);
    else
        snprintf(buf, 32, "%.4g arcsec", radians / degree * 3600);
    return buf;
}

static void add_size(grove_text *text, const grove_image *image)
{
    grove_text_add(text, "FITS image: %lld x %lld pixels", (long long)image->columns,
                   (long long)image->rows);
    if (image->channels > 1)
        grove_text_add(text, ", %lld channels", (long long)image->channels);
    if (image->stokes > 1)
        grove_text_add(text, ", %lld Stokes parameters", (long long)image->stokes);
    grove_text_add(text, "; %s of %d bits%s", image->bits < 0 ? "floating point" : "integers",
                   abs(image->bits), image->compressed ? ", compressed" : "");
    if (image->unit_number)
        grove_text_add(text, "; in extension %d", image->unit_number);
    grove_text_add(text, "\n");
}

static void add_names(grove_text *text, const grove_image *image)
{
    char date[40];

    if (image->object || image->telescope || image->observer)
        grove_text_add(text, "of: %s%s%s%s%s\n", image->object ? image->object : "",
                       image->object && image->telescope ? ", " : "",
                       image->telescope ? image->telescope : "", image->observer ? ", " : "",
                       image->observer ? image->observer : "");
    if (isfinite(image->time[0]))
        grove_text_add(text, "observed: %s UTC\n", grove_show_date(date, image->time[0]));
}

static void add_sky(grove_text *text, const grove_image *image)
{
    const grove_image_sky *sky = &image->sky;
    const double(*m)[2] = sky->matrix;
    double width = hypot(m[0][0], m[1][0]), height = hypot(m[0][1], m[1][1]);
    bool hours = !strncmp(sky->axes[0], "RA", 2) || !strncmp(sky->axes[1], "RA", 2);
    char a[32], b[32];

    if (!sky->projection[0])
        return;
    if (hours)
        grove_text_add(text, "reference point: %s %s", grove_show_ra(a, sky->centre[0]),
                       grove_show_dec(b, sky->centre[1]));
    else
        grove_text_add(text, "reference point: %.6f %.6f deg", sky->centre[0] / degree,
                       sky->centre[1] / degree);
    grove_text_add(text, " (%s), at pixel %.7g, %.7g; projection %s\n", sky->system,
                   sky->reference[0] + 1, sky->reference[1] + 1, sky->projection);
    if (isfinite(sky->middle[0]) && hours)
        grove_text_add(text, "middle: %s %s\n", grove_show_ra(a, sky->middle[0]),
                       grove_show_dec(b, sky->middle[1]));
    grove_text_add(text, "pixels: %s x ", show_angle(a, width));
    grove_text_add(text, "%s, ", show_angle(a, height));
    grove_text_add(text, "field %s x ", show_angle(a, width * (double)image->columns));
    grove_text_add(text, "%s\n", show_angle(a, height * (double)image->rows));
}

static void add_one_beam(grove_text *text, const double beam[3])
{
    char a[32], b[32];

    grove_text_add(text, "%s x %s, position angle %.4g deg", show_angle(a, beam[0]),
                   show_angle(b, beam[1]), beam[2] / degree);
}

/* Of the channels, the first and the last that have one. */
static void add_beams(grove_text *text, const grove_image *image)
{
    int64_t first = -1, last = -1, count = 0;

    for (int64_t k = 0; k < image->channels; k++)
        if (image->beams[3 * k] > 0) {
            first = first < 0 ? k : first;
            last = k;
            count++;
        }
    grove_text_add(text, "beams of %lld of %lld channels", (long long)count,
                   (long long)image->channels);
    for (int k = 0; k < 2 && count; k++) {
        grove_text_add(text, k ? " to " : ": ");
        add_one_beam(text, image->beams + 3 * (k ? last : first));
    }
    grove_text_add(text, "\n");
}

static void add_beam(grove_text *text, const grove_image *image)
{
    if (image->beams)
        add_beams(text, image);
    if (image->beams || !(image->beam[0] > 0))
        return;
    grove_text_add(text, "beam: ");
    add_one_beam(text, image->beam);
    double pixels = grove_image_beam_area(image, 0) / grove_image_pixel_area(image);
    grove_text_add(text, isfinite(pixels) ? ", %.4g pixels in it\n" : "\n", pixels);
}

static void add_spectrum(grove_text *text, const grove_image *image)
{
    int64_t last = image->channels - 1;

    if (image->freq) {
        double low = fmin(image->freq[0], image->freq[last]) * 1e-6;
        double high = fmax(image->freq[0], image->freq[last]) * 1e-6;
        grove_text_add(text, last ? "frequencies: %.9g to %.9g MHz" : "frequency: %.9g MHz", low,
                       high);
        grove_text_add(text, ", %.6g MHz wide%s%s\n", image->width[0] * 1e-6,
                       image->spectral_frame[0] ? ", " : "", image->spectral_frame);
    }
    if (!image->stokes_code[0])
        return;
    grove_text_add(text, "Stokes:");
    for (int k = 0; k < image->stokes; k++)
        grove_text_add(text, " %s", grove_image_stokes_name(image->stokes_code[k]));
    grove_text_add(text, "\n");
}

/* ---- numbers ---- */

typedef struct {
    double min, max, squares;
    int64_t count, missing, infinite, at_max;
} summary;

static summary summarise(const grove_image *image)
{
    summary s = {.min = INFINITY, .max = -INFINITY};
    int64_t pixels = image->columns * image->rows * image->channels * image->stokes;

    for (int64_t i = 0; i < pixels; i++) {
        double x = grove_image_at(image, i);
        s.missing += isnan(x);
        s.infinite += isinf(x) != 0;
        if (!isfinite(x))
            continue;
        s.count++;
        s.squares += x * x;
        s.min = fmin(s.min, x);
        if (x > s.max) {
            s.max = x;
            s.at_max = i;
        }
    }
    return s;
}

static void add_numbers(grove_text *text, const grove_image *image, const summary *s)
{
    const char *unit = image->unit ? image->unit : "(no unit)";

    if (!s->count) {
        grove_text_add(text, "no pixel is a number\n");
        return;
    }
    grove_text_add(text, "from %.6g to %.6g %s, maximum at pixel %lld, %lld; rms %.6g\n", s->min,
                   s->max, unit, (long long)(s->at_max % image->columns + 1),
                   (long long)(s->at_max / image->columns % image->rows + 1),
                   sqrt(s->squares / (double)s->count));
}

/* Adds properties that make the image less useful than others. */
static void add_unusual(grove_text *text, const grove_image *image, const summary *s)
{
    const grove_image_sky *sky = &image->sky;
    const double(*m)[2] = sky->matrix;
    double slant = fabs(m[0][1]) + fabs(m[1][0]);
    bool per_beam = image->unit && strcasestr(image->unit, "/beam");

    for (int k = 0; image->note[k]; k++)
        grove_text_add(text, "unusual: %s\n", image->note[k]);
    if (s->missing)
        grove_text_add(text, "unusual: %lld pixels (%.3g %%) are not numbers\n",
                       (long long)s->missing,
                       100 * (double)s->missing / (double)(s->missing + s->count));
    if (s->infinite)
        grove_text_add(text, "unusual: %lld pixels are infinite\n", (long long)s->infinite);
    if (sky->projection[0] && slant > 1e-3 * sqrt(grove_image_pixel_area(image)))
        grove_text_add(text, "unusual: rows and columns are not along %s and %s\n", sky->axes[0],
                       sky->axes[1]);
    else if (sky->projection[0] && m[0][0] > 0)
        grove_text_add(text, "unusual: east is on the side of higher columns\n");
    if (sky->projection[0] && sky->frame == GROVE_FRAME_UNKNOWN)
        grove_text_add(text, "unusual: coordinates of the system %s\n", sky->system);
    if (!strcmp(sky->projection, "SIN") && !sky->plain)
        grove_text_add(text, "unusual: a slanted SIN projection\n");
    if (per_beam && !(image->beam[0] > 0) && !image->beams)
        grove_text_add(text, "unusual: numbers per beam, but no beam\n");
}

char *grove_image_describe(const char *path, grove_error *error)
{
    grove_image *image = grove_image_read(path, NULL, 0, error);
    grove_text text = {0};

    if (!image)
        return NULL;
    summary s = summarise(image);
    add_size(&text, image);
    add_names(&text, image);
    add_sky(&text, image);
    add_spectrum(&text, image);
    add_beam(&text, image);
    add_numbers(&text, image, &s);
    add_unusual(&text, image, &s);
    grove_image_free(image);
    return text.at;
}
