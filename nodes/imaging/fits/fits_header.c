/* Headers of FITS images. The standard: Pence et al. 2010 (A&A 524, A42). */
#include "nodes/imaging/fits/fits_private.h"

#include "util.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wcslib/wcs.h>
#include <wcslib/wcserr.h>
#include <wcslib/wcshdr.h>

enum { CARD = 80 };

static double degrees(double radians)
{
    return radians * 180 / acos(-1);
}

/* One card of 80 characters; any character but printable ASCII becomes a question mark. */
static void add_card(grove_text *to, const char *text)
{
    char card[CARD + 1];

    snprintf(card, sizeof(card), "%-80.80s", text);
    for (char *at = card; *at; at++)
        *at = *at < 32 || *at > 126 ? '?' : *at;
    grove_text_append(to, card, CARD);
}

static void add_number(grove_text *to, const char *name, double number, const char *comment)
{
    char card[CARD + 40];

    snprintf(card, sizeof(card), "%-8s= %20.13E / %s", name, number, comment);
    add_card(to, card);
}

static void add_integer(grove_text *to, const char *name, int64_t number, const char *comment)
{
    char card[CARD + 40];

    snprintf(card, sizeof(card), "%-8s= %20lld / %s", name, (long long)number, comment);
    add_card(to, card);
}

/* Texts that are too long for a card are cut; quotes are doubled. */
static void add_text(grove_text *to, const char *name, const char *text)
{
    char card[CARD + 40], inside[69];
    size_t used = 0;

    for (const char *at = text ? text : ""; *at && used < 67; at++) {
        inside[used++] = *at;
        if (*at == '\'')
            inside[used++] = '\'';
    }
    inside[used] = 0;
    snprintf(card, sizeof(card), "%-8s= '%-8s'", name, inside);
    if (text && text[0])
        add_card(to, card);
}

static void add_history(grove_text *to, const char *lines)
{
    for (const char *line = lines; line && *line;) {
        size_t length = strcspn(line, "\n");
        for (size_t done = 0; done < length; done += CARD - 8) {
            char card[CARD + 1];
            snprintf(card, sizeof(card), "HISTORY %.*s",
                     (int)(length - done < CARD - 8 ? length - done : CARD - 8), line + done);
            add_card(to, card);
        }
        line += length + (line[length] == '\n');
    }
}

/* ---- coordinates ---- */

static void set_axis(struct wcsprm *wcs, int d, const char *type, const char *unit, double value,
                     double step, double pixel)
{
    snprintf(wcs->ctype[d], sizeof(wcs->ctype[d]), "%s", type);
    snprintf(wcs->cunit[d], sizeof(wcs->cunit[d]), "%s", unit);
    wcs->crval[d] = value;
    wcs->cdelt[d] = step;
    wcs->crpix[d] = pixel;
}

/* Rounding to pixels or halves of them where no more than rounding is between. */
static double near_pixel(double pixel)
{
    double half = rint(2 * pixel) / 2;

    return fabs(pixel - half) < 1e-6 ? half : pixel;
}

static void set_times(struct wcsprm *wcs, const grove_image *image)
{
    char date[40];

    if (isfinite(image->time[0])) {
        snprintf(wcs->dateobs, sizeof(wcs->dateobs), "%s", grove_show_date(date, image->time[0]));
        wcs->mjdobs = image->time[0] / 86400;
        snprintf(wcs->timesys, sizeof(wcs->timesys), "UTC");
    }
    if (isfinite(image->time[1]))
        snprintf(wcs->dateend, sizeof(wcs->dateend), "%s", grove_show_date(date, image->time[1]));
    for (int k = 0; k < 3; k++)
        if (isfinite(image->position[k]))
            wcs->obsgeo[k] = image->position[k];
}

static void set_axes(struct wcsprm *wcs, const grove_image *image)
{
    const grove_image_sky *sky = &image->sky;
    int d = 2;

    set_axis(wcs, 0, "RA---SIN", "deg", degrees(sky->centre[0]), degrees(sky->matrix[0][0]),
             near_pixel(sky->reference[0] + 1));
    set_axis(wcs, 1, "DEC--SIN", "deg", degrees(sky->centre[1]), degrees(sky->matrix[1][1]),
             near_pixel(sky->reference[1] + 1));
    /* at a pole WCSLIB's default is another one */
    wcs->lonpole = 180;
    wcs->equinox = 2000;
    snprintf(wcs->radesys, sizeof(wcs->radesys), "FK5");
    if (image->freq) {
        int64_t last = image->channels - 1;
        double step = last ? (image->freq[last] - image->freq[0]) / (double)last : image->width[0];
        set_axis(wcs, d++, "FREQ", "Hz", image->freq[0], step, 1);
        wcs->restfrq = (image->freq[0] + image->freq[last]) / 2;
        snprintf(wcs->specsys, sizeof(wcs->specsys), "%s", image->spectral_frame);
    }
    int step = image->stokes > 1 ? image->stokes_code[1] - image->stokes_code[0] : 1;
    set_axis(wcs, d, "STOKES", "", image->stokes_code[0], step, 1);
}

static int add_world(grove_text *to, const grove_image *image, grove_error *error)
{
    struct wcsprm wcs = {.flag = -1};
    char *cards = NULL;
    int count = 0;

    grove_fits_begin();
    int status = wcsini(1, image->freq ? 4 : 3, &wcs);
    if (!status) {
        set_axes(&wcs, image);
        set_times(&wcs, image);
        status = wcsset(&wcs);
    }
    status = status ? status : wcshdo(WCSHDO_safe, &wcs, &count, &cards);
    for (int k = 0; k < count && !status; k++)
        grove_text_append(to, cards + k * CARD, CARD);
    int code =
        status ? grove_fail(error, GROVE_INVALID, "WCSLIB cannot describe these coordinates: %s",
                            wcs.err ? wcs.err->msg : "no reason given")
               : 0;
    free(cards);
    wcsfree(&wcs);
    grove_fits_end();
    return code;
}

/* ---- the header ---- */

static void add_sizes(grove_text *to, const grove_image *image)
{
    int axes = image->freq ? 4 : 3, d = 1;
    char name[24];
    const int64_t size[] = {image->columns, image->rows, image->channels, image->stokes};

    add_card(to, "SIMPLE  =                    T / FITS standard");
    add_integer(to, "BITPIX", image->wide ? -64 : -32, "floating-point numbers");
    add_integer(to, "NAXIS", axes, "");
    for (int k = 0; k < 4; k++) {
        if (k == 2 && !image->freq)
            continue;
        snprintf(name, sizeof(name), "NAXIS%d", d++);
        add_integer(to, name, size[k], "");
    }
    if (image->beams)
        add_card(to, "EXTEND  =                    T / a table follows");
}

char *grove_image_header(const grove_image *image, size_t room, size_t *length, grove_error *error)
{
    grove_text to = {0};

    add_sizes(&to, image);
    add_text(&to, "BUNIT", image->unit);
    add_text(&to, "OBJECT", image->object);
    add_text(&to, "TELESCOP", image->telescope);
    add_text(&to, "OBSERVER", image->observer);
    if (image->beams) {
        add_card(&to, "CASAMBM =                    T / beams of channels: the table BEAMS");
    } else if (image->beam[0] > 0 && image->beam[1] > 0) {
        add_number(&to, "BMAJ", degrees(image->beam[0]), "full width at half maximum, deg");
        add_number(&to, "BMIN", degrees(image->beam[1]), "deg");
        add_number(&to, "BPA", degrees(image->beam[2]), "north through east, deg");
    }
    if (add_world(&to, image, error)) {
        free(to.at);
        return NULL;
    }
    add_history(&to, image->history);
    while (to.length + CARD < room)
        add_card(&to, "");
    add_card(&to, "END");
    while (to.length % GROVE_FITS_BLOCK)
        add_card(&to, "");
    *length = to.length;
    return to.at;
}
