/* Pictures of images of the sky. */
#ifndef GROVE_NODES_PLOT_SKY_IMAGE_H
#define GROVE_NODES_PLOT_SKY_IMAGE_H

#include "base/error.h"
#include "nodes/imaging/service.h"
#include <stdio.h>

/* Writes a picture of the image, called `name`, into the stream, as PNG or SVG by the ending of
 * `path`: a chart for each of its first four Stokes parameters, of the mean over its channels; the
 * beam in a corner. `logarithmic`: colours. */
int grove_sky_image_write(const grove_image *image, const char *name, bool logarithmic,
                          const char *path, FILE *stream, grove_error *error);

#endif
