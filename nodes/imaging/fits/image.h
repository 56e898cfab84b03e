/* Images of the sky, and the FITS files that hold them, by cfitsio and WCSLIB. */
#ifndef GROVE_NODES_IMAGING_FITS_IMAGE_H
#define GROVE_NODES_IMAGING_FITS_IMAGE_H

#include "base/error.h"
#include "base/unit.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Stokes parameters and correlations as FITS counts them: 1 to 4 are I, Q, U, V, -1 to -4 RR, LL,
 * RL, LR, -5 to -8 XX, YY, XY, YX. */
enum { GROVE_IMAGE_STOKES = 8, GROVE_IMAGE_NOTES = 8 };

/* Where the pixels are. Pixel (column, row), counted from 0, is at matrix (column - reference[0],
 * row - reference[1]) in the plane of the projection: east and north of the centre, rad. In a plain
 * SIN projection these are the direction cosines l and m. */
typedef struct {
    char projection[4];  /* "SIN", "TAN", ...; "": the image has no coordinates on the sky */
    char axes[2][9];     /* CTYPE of both */
    char system[24];     /* "FK5", "ICRS", "FK4", "GALACTIC", ... */
    grove_frame frame;   /* UNKNOWN: of another system */
    double centre[2];    /* the reference point in that system, rad */
    double reference[2]; /* column and row */
    double matrix[2][2]; /* rad for each pixel */
    bool plain;          /* the projection has no further parameters, and north is up in it */
    double middle[2];    /* of the middle of the image, in its system, rad; NaN: not known */
} grove_image_sky;

/* Freed with grove_image_free, if grove_image_read has made it. Zero is a default for all. */
typedef struct {
    int64_t columns, rows, channels, stokes; /* at least 1 each */
    int stokes_code[GROVE_IMAGE_STOKES];     /* [stokes]; 0: the file does not say */
    double *freq, *width;                    /* [channels] Hz; NULL: not known */
    char spectral_frame[24];                 /* "TOPOCENT", "LSRK", ...; "": not known */
    grove_image_sky sky;
    double beam[3]; /* full widths at half maximum, position angle (north through east), rad; NaN:
                       none */
    double *beams;  /* [channels][3], where each channel has one of its own, NaN: none; NULL: not */
    char *unit, *object, *telescope, *observer; /* NULL: not known */
    double time[2];     /* first and last of the observation, UTC, MJD s; NaN: not known */
    double position[3]; /* of the telescope, ITRF, m; NaN: not known */
    char *history;      /* lines; only written */

    /* Pixels [stokes][channels][rows][columns], NaN where there is none; float or double. */
    bool wide; /* double */
    void *pixels;

    /* Of a file that was read. */
    int bits; /* BITPIX */
    bool compressed;
    int unit_number;                   /* of the header and data unit, 0: the first */
    char *note[GROVE_IMAGE_NOTES + 1]; /* unusual properties; NULL ends the list */
} grove_image;

/* Reads the first image of a FITS file. A file that is damaged or has no image is an error; missing
 * coordinates on the sky are not. NULL with a message. `bytes` NULL: the file `path`; else they are
 * the file, and `path` is its name in messages. */
grove_image *grove_image_read(const char *path, const char *bytes, size_t length,
                              grove_error *error);
void grove_image_free(grove_image *image); /* NULL is fine */

/* The header of a file with this image, whose pixels are not looked at: *length bytes, a multiple
 * of GROVE_FITS_BLOCK; `room`: the least length. Pixels follow it in the order above, with the
 * highest byte of each number first, and zeros up to a multiple. The caller frees. NULL with a
 * message. */
enum { GROVE_FITS_BLOCK = 2880 };
char *grove_image_header(const grove_image *image, size_t room, size_t *length, grove_error *error);

/* The table of the channels' beams, which follows the pixels: *length bytes, a multiple of
 * GROVE_FITS_BLOCK. The caller frees. */
char *grove_image_beams(const grove_image *image, size_t *length);

/* The name of a code of stokes_code; "?" for 0 and others. */
static inline const char *grove_image_stokes_name(int code)
{
    static const char *const names[] = {"YX", "XY", "YY", "XX", "LR", "RL", "LL",
                                        "RR", "?",  "I",  "Q",  "U",  "V"};

    return code < -8 || code > 4 ? "?" : names[code + 8];
}
/* Pixels of stokes s and channel f begin at this one. */
static inline int64_t grove_image_plane(const grove_image *image, int64_t s, int64_t f)
{
    return (s * image->channels + f) * image->rows * image->columns;
}
static inline double grove_image_at(const grove_image *image, int64_t i)
{
    return image->wide ? ((const double *)image->pixels)[i]
                       : (double)((const float *)image->pixels)[i];
}
/* Solid angle of a pixel in the plane of the projection, and of the beam, or of a channel's beam,
 * sr; NaN: not known. */
double grove_image_pixel_area(const grove_image *image);
double grove_image_beam_area(const grove_image *image, int64_t channel);
/* The direction of the reference point in J2000, rad; false: not known. */
static inline bool grove_image_centre(const grove_image *image, double radec[2])
{
    radec[0] = image->sky.centre[0];
    radec[1] = image->sky.centre[1];
    if (!image->sky.projection[0] || image->sky.frame == GROVE_FRAME_UNKNOWN)
        return false;
    grove_frame_to_j2000(image->sky.frame, radec);
    return true;
}

#endif
