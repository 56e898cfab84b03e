/* World coordinates of FITS images, by WCSLIB.
 * The conventions: Greisen & Calabretta 2002 (A&A 395, 1061), Calabretta & Greisen 2002 (A&A 395,
 * 1077), Greisen et al. 2006 (A&A 446, 747). */
#include "nodes/imaging/fits/fits_private.h"

#include "util.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wcslib/wcs.h>
#include <wcslib/wcsfix.h>
#include <wcslib/wcshdr.h>
#include <wcslib/wcsmath.h>

enum { CARD = 80 };

static double radians(double degrees)
{
    return degrees * acos(-1) / 180;
}

/* ---- the sky ---- */

static void name_system(grove_image_sky *sky, const struct wcsprm *wcs)
{
    const char *axis = wcs->ctype[wcs->lng];

    if (!strncmp(axis, "GLON", 4))
        snprintf(sky->system, sizeof(sky->system), "GALACTIC");
    else if (strncmp(axis, "RA--", 4) != 0 && strcmp(axis, "RA") != 0)
        snprintf(sky->system, sizeof(sky->system), "%.4s", axis);
    else if (wcs->radesys[0])
        snprintf(sky->system, sizeof(sky->system), "%.20s", wcs->radesys);
    else if (undefined(wcs->equinox))
        snprintf(sky->system, sizeof(sky->system), "ICRS");
    else
        snprintf(sky->system, sizeof(sky->system), wcs->equinox < 1984 ? "FK4" : "FK5");
    sky->frame = grove_frame_named(sky->system, strlen(sky->system));
    /* other equinoxes of the same systems are not converted */
    bool usual = undefined(wcs->equinox) || wcs->equinox == 2000 || wcs->equinox == 1950;
    if (sky->frame != GROVE_FRAME_GALACTIC && !usual)
        sky->frame = GROVE_FRAME_UNKNOWN;
}

static bool is_finite(const grove_image_sky *sky)
{
    double sum = sky->centre[0] + sky->centre[1];

    for (int i = 0; i < 2; i++)
        sum += sky->reference[i] + sky->matrix[i][0] + sky->matrix[i][1];
    return isfinite(sum);
}

/* Where the middle of the first plane is. */
static void find_middle(grove_image *image, struct wcsprm *wcs)
{
    double pixel[GROVE_FITS_AXES], plane[GROVE_FITS_AXES], world[GROVE_FITS_AXES], phi, theta;
    int stat[1] = {0};

    for (int d = 0; d < wcs->naxis; d++)
        pixel[d] = wcs->crpix[d];
    pixel[0] = (double)(image->columns / 2) + 1;
    pixel[1] = (double)(image->rows / 2) + 1;
    bool known = !wcsp2s(wcs, 1, wcs->naxis, pixel, plane, &phi, &theta, world, stat) && !stat[0];
    image->sky.middle[0] = known ? radians(world[wcs->lng]) : NAN;
    image->sky.middle[1] = known ? radians(world[wcs->lat]) : NAN;
}

/* From the axes of the projection to east and north, where LONPOLE is not 180 degrees: its default
 * about the north pole is 0. */
static void turn_north_up(grove_image_sky *sky, double pole)
{
    const double sine = sin(radians(pole)), cosine = cos(radians(pole));

    for (int j = 0; j < 2; j++) {
        const double x = sky->matrix[0][j], y = sky->matrix[1][j];
        sky->matrix[0][j] = -cosine * x - sine * y;
        sky->matrix[1][j] = sine * x - cosine * y;
    }
}

static int take_sky(grove_image *image, struct wcsprm *wcs, const char *path, grove_error *error)
{
    grove_image_sky *sky = &image->sky;
    const int axis[] = {wcs->lng, wcs->lat};

    if (wcs->lng < 0 || wcs->lat < 0) {
        grove_fits_note(image, "it has no coordinates on the sky");
        return 0;
    }
    if (wcs->lng > 1 || wcs->lat > 1)
        return grove_fail(error, GROVE_INVALID,
                          "%s: its axes on the sky are %d and %d; only images that have them first "
                          "are read",
                          path, wcs->lng + 1, wcs->lat + 1);
    for (int i = 0; i < 2; i++) {
        snprintf(sky->axes[i], sizeof(sky->axes[i]), "%.8s", wcs->ctype[axis[i]]);
        sky->centre[i] = radians(wcs->crval[axis[i]]);
        sky->reference[i] = wcs->crpix[i] - 1;
        for (int j = 0; j < 2; j++)
            sky->matrix[i][j] = radians(wcs->cdelt[axis[i]] * wcs->pc[axis[i] * wcs->naxis + j]);
    }
    snprintf(sky->projection, sizeof(sky->projection), "%.3s", wcs->cel.prj.code);
    name_system(sky, wcs);
    sky->plain = !strcmp(sky->projection, "SIN") && wcs->cel.prj.pv[1] == 0 &&
                 wcs->cel.prj.pv[2] == 0 && wcs->cel.theta0 == 90 && wcs->cel.offset == 0;
    if (sky->plain && fabs(wcs->cel.ref[2] - 180) > 1e-9)
        turn_north_up(sky, wcs->cel.ref[2]);
    if (!is_finite(sky) || !(grove_image_pixel_area(image) > 0)) {
        memset(sky, 0, sizeof(*sky));
        grove_fits_note(image,
                        "its coordinates on the sky are not numbers, or its pixels have no area");
        return 0;
    }
    find_middle(image, wcs);
    return 0;
}

/* ---- frequencies and Stokes parameters ---- */

static void take_frequencies(grove_image *image, struct wcsprm *wcs)
{
    int64_t count = image->channels;
    double pixel[GROVE_FITS_AXES], plane[GROVE_FITS_AXES], world[GROVE_FITS_AXES], phi, theta;
    double *freq = grove_try_alloc((size_t)count, sizeof(double));
    double *width = grove_try_alloc((size_t)count, sizeof(double));
    bool good = freq && width;
    int stat[1];

    for (int64_t k = 0; k < count && good; k++) {
        for (int d = 0; d < wcs->naxis; d++)
            pixel[d] = wcs->crpix[d];
        pixel[wcs->spec] = (double)k + 1;
        stat[0] = 0;
        good = !wcsp2s(wcs, 1, wcs->naxis, pixel, plane, &phi, &theta, world, stat) && !stat[0] &&
               isfinite(world[wcs->spec]) && world[wcs->spec] > 0;
        freq[k] = good ? world[wcs->spec] : 0;
    }
    for (int64_t k = 0; k < count && good; k++)
        width[k] = count == 1
                       ? fabs(wcs->cdelt[wcs->spec] * wcs->pc[wcs->spec * wcs->naxis + wcs->spec])
                   : k + 1 < count ? fabs(freq[k + 1] - freq[k])
                                   : width[k - 1];
    if (good) {
        image->freq = freq;
        image->width = width;
        return;
    }
    free(freq);
    free(width);
    grove_fits_note(image, "its spectral axis gives no frequencies");
}

static void take_spectrum(grove_image *image, struct wcsprm *wcs, int axes, const int64_t *size,
                          grove_fits_axes *found)
{
    char target[9] = "FREQ-???";
    int axis = wcs->spec;

    if (axis >= 0 && axis < 2) /* a spectrum: columns or rows are its channels */
        grove_fits_note(image, "its axis %d is a spectrum", axis + 1);
    if (axis < 2)
        return;
    if (axis < axes) {
        found->freq = axis;
        image->channels = size[axis];
    }
    snprintf(image->spectral_frame, sizeof(image->spectral_frame), "%.20s", wcs->specsys);
    if (strncmp(wcs->ctype[axis], "FREQ", 4) != 0 && (wcssptr(wcs, &axis, target) || wcsset(wcs)))
        grove_fits_note(image, "its spectral axis gives no frequencies");
    else
        take_frequencies(image, wcs);
}

static int take_stokes(grove_image *image, const struct wcsprm *wcs, int axes, const int64_t *size,
                       grove_fits_axes *found, const char *path, grove_error *error)
{
    for (int d = 2; d < wcs->naxis; d++) {
        if (strncmp(wcs->ctype[d], "STOKES", 6) != 0)
            continue;
        if (d < axes && size[d] > GROVE_IMAGE_STOKES)
            return grove_fail(error, GROVE_INVALID,
                              "%s: a Stokes axis of %lld elements; there are at most %d", path,
                              (long long)size[d], GROVE_IMAGE_STOKES);
        found->stokes = d < axes ? d : -1;
        image->stokes = d < axes ? size[d] : 1;
        double step = wcs->cdelt[d] * wcs->pc[d * wcs->naxis + d];
        for (int k = 0; k < image->stokes; k++) {
            double code = wcs->crval[d] + step * (k + 1 - wcs->crpix[d]);
            bool known = fabs(code) < 9 && fabs(code - rint(code)) < 1e-3;
            image->stokes_code[k] = known ? (int)lrint(code) : 0;
        }
        return 0;
    }
    return 0;
}

/* ---- all of it ---- */

/* Axes without a meaning have one cell. */
static int check_others(const struct wcsprm *wcs, int axes, const int64_t *size,
                        const grove_fits_axes *found, const char *path, grove_error *error)
{
    for (int d = 2; d < axes; d++) {
        const char *name = wcs && d < wcs->naxis ? wcs->ctype[d] : "";
        if (size[d] == 1 || d == found->freq || d == found->stokes)
            continue;
        char *shown = grove_shown(name, "");
        grove_fail(error, GROVE_INVALID,
                   "%s: axis %d%s%s has %lld cells; besides the sky, only frequency and Stokes "
                   "parameters are supported",
                   path, d + 1, shown[0] ? ", " : "", shown, (long long)size[d]);
        free(shown);
        return GROVE_INVALID;
    }
    return 0;
}

/* Where the value of a card ends, or -1 where it is none: a text in quotes, which are doubled in
 * it, or a word. */
static int value_end(const char *card)
{
    int at = 10;

    if (card[8] != '=' || card[9] != ' ')
        return -1;
    while (at < CARD && card[at] == ' ')
        at++;
    if (at < CARD && card[at] == '\'') {
        for (at++; at < CARD; at++)
            if (card[at] == '\'' && (at + 1 == CARD || card[++at] != '\''))
                return at;
        return -1;
    }
    while (at < CARD && (isalnum((unsigned char)card[at]) || strchr("+-.", card[at])))
        at++;
    return at;
}

/* WCSLIB (7.12) allocates as many axes as any card says, also a second NAXIS of a damaged
 * header. */
static bool too_many_axes(const char *card)
{
    bool axes = !strncmp(card, "NAXIS   ", 8) || !strncmp(card, "WCSAXES", 7);

    return axes && !(strtod(card + 10, NULL) <= GROVE_FITS_AXES);
}

/* WCSLIB (7.12) writes beyond its memory where the text of a card has no end in it. It gets sound
 * cards alone, without their comments. */
static void clean_card(char *card)
{
    for (int k = 0; k < CARD; k++)
        if (card[k] < 32 || card[k] > 126)
            card[k] = ' ';
    int end = value_end(card), rest = end < 0 ? CARD : end;
    while (rest < CARD && card[rest] == ' ')
        rest++;
    if (!strncmp(card, "END     ", 8))
        return;
    if (end < 0 || (rest < CARD && card[rest] != '/') || too_many_axes(card))
        end = 0;
    memset(card + end, ' ', (size_t)(CARD - end));
}

int grove_fits_world(grove_image *image, char *cards, int count, int axes, const int64_t *size,
                     grove_fits_axes *found, const char *path, grove_error *error)
{
    struct wcsprm *all = NULL;
    int rejected = 0, versions = 0, stat[NWCSFIX], code = 0;

    for (int k = 0; k < count; k++)
        clean_card(cards + CARD * k);
    bool good = !wcspih(cards, count, WCSHDR_all, 0, &rejected, &versions, &all) && versions > 0 &&
                all[0].naxis >= 2 && all[0].naxis <= GROVE_FITS_AXES;

    image->sky.middle[0] = image->sky.middle[1] = NAN;
    if (good) {
        wcsfix(7, NULL, &all[0], stat);
        good = !wcsset(&all[0]);
    }
    if (good) {
        code = take_sky(image, &all[0], path, error);
        code = code ? code : take_stokes(image, &all[0], axes, size, found, path, error);
        if (!code)
            take_spectrum(image, &all[0], axes, size, found);
    } else {
        grove_fits_note(image, "WCSLIB does not support its coordinates");
    }
    code = code ? code : check_others(good ? &all[0] : NULL, axes, size, found, path, error);
    wcsvfree(&versions, &all);
    return code;
}
