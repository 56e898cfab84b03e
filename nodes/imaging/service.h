/* The service of the module imaging for others: images of the sky in FITS files. */
#ifndef GROVE_NODES_IMAGING_SERVICE_H
#define GROVE_NODES_IMAGING_SERVICE_H

#include "nodes/imaging/fits/image.h"

enum { GROVE_IMAGES_VERSION = 1 };

/* grove_service_open("images", GROVE_IMAGES_VERSION, error); as in the header of images. */
typedef struct {
    int version;
    bool absent; /* FITS from this build: reading fails, and names the needed packages */
    grove_image *(*read)(const char *path, const char *bytes, size_t length, grove_error *error);
    void (*free)(grove_image *image);
} grove_images;
extern const grove_images grove_images_api;

#endif
