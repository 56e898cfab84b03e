/* The service of the module plot for others: figures, and pictures of images of the sky. */
#ifndef GROVE_NODES_PLOT_SERVICE_H
#define GROVE_NODES_PLOT_SERVICE_H

#include "nodes/plot/plot.h"
#include "nodes/plot/sky_image.h"

enum { GROVE_PLOT_VERSION = 4 };

/* grove_service_open("plot", GROVE_PLOT_VERSION, error) */
typedef struct {
    int version;
    bool absent; /* drawing from this build */
    int (*draw)(const grove_figure *figure, const char *path, grove_error *error);
    int (*write_sky_image)(const grove_image *image, const char *name, bool logarithmic,
                           const char *path, FILE *stream, grove_error *error);
} grove_plot;
extern const grove_plot grove_plot_api;

#endif
