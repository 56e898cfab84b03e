/* Descriptions of FITS images, in words. */
#ifndef GROVE_NODES_IMAGING_FITS_DESCRIBE_IMAGE_H
#define GROVE_NODES_IMAGING_FITS_DESCRIBE_IMAGE_H

#include "base/error.h"

/* The text that `grove info` prints; the caller frees. NULL with a message. */
char *grove_image_describe(const char *path, grove_error *error);

#endif
