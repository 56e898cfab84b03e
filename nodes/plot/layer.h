/* Layers: parts that are drawn as pixels in PNG and SVG alike: images, and series with very many
 * points. */
#ifndef GROVE_NODES_PLOT_LAYER_H
#define GROVE_NODES_PLOT_LAYER_H

#include "nodes/plot/canvas.h"
#include "nodes/plot/ticks.h"

/* Points are collected over the box and drawn at once: darker where many overlap. NULL with a
 * message. */
typedef struct grove_density grove_density;
grove_density *grove_density_new(grove_box box, double scale, double diameter, grove_error *error);
void grove_density_add(grove_density *density, double x, double y);
/* Draws the layer and frees it. */
int grove_density_draw(grove_density *density, grove_canvas *canvas, grove_colour colour,
                       grove_error *error);

/* The range of colours of an image: low and high as given, or from its data. */
void grove_raster_range(const grove_raster *raster, grove_scale *range);
/* Draws the image into the box; `right_to_left`, `top_down`: directions of columns and rows. */
int grove_raster_draw(const grove_raster *raster, const grove_scale *range, grove_canvas *canvas,
                      grove_box box, bool right_to_left, bool top_down, grove_error *error);

#endif
