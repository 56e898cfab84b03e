/* Layers: what is drawn as pixels in PNG and SVG alike: images, and points too many to be shapes.
 */
#ifndef GROVE_PLOT_LAYER_H
#define GROVE_PLOT_LAYER_H

#include "plot/canvas.h"
#include "plot/ticks.h"

/* Points are gathered over the box and drawn at once: where many lie on each other it gets darker.
 * NULL with a message. */
typedef struct grove_density grove_density;
grove_density *grove_density_new(grove_box box, double scale, double diameter, grove_error *error);
void grove_density_add(grove_density *density, double x, double y);
/* Draws and frees. */
int grove_density_draw(grove_density *density, grove_canvas *canvas, grove_colour colour,
                       grove_error *error);

/* The range of colours that an image needs: low and high as given, or from its data. */
void grove_raster_range(const grove_raster *raster, grove_scale *range);
/* Draws the image into the box; `right_to_left`, `top_down`: where column 0 and row 0 are. */
int grove_raster_draw(const grove_raster *raster, const grove_scale *range, grove_canvas *canvas,
                      grove_box box, bool right_to_left, bool top_down, grove_error *error);

#endif
