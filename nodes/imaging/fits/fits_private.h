/* Reading and writing FITS images: declarations that the files share. */
#ifndef GROVE_NODES_IMAGING_FITS_FITS_PRIVATE_H
#define GROVE_NODES_IMAGING_FITS_FITS_PRIVATE_H

#include "nodes/imaging/fits/image.h"

/* Which axes of the file have which meaning, counted from 0; -1: none. */
typedef struct {
    int freq, stokes;
} grove_fits_axes;

enum { GROVE_FITS_AXES = 9 };

/* Around all calls of cfitsio and WCSLIB: by one thread at a time. */
void grove_fits_begin(void);
void grove_fits_end(void);

/* Finds where the pixels are from the cards of a header: sky, axes, frequencies, Stokes parameters.
 * `axes` sizes are size[0] (columns) to size[axes - 1]. Coordinates that WCSLIB does not understand
 * become a note. 0, or a code after a message. */
int grove_fits_world(grove_image *image, char *cards, int count, int axes, const int64_t *size,
                     grove_fits_axes *found, const char *path, grove_error *error);
/* Adds a note on an unusual property. */
void grove_fits_note(grove_image *image, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Takes the beams of channels from the table BEAMS of a fitsfile, if it has one. */
void grove_fits_read_beams(void *file, grove_image *image);

#endif
