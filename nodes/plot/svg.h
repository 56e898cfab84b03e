/* SVG output. */
#ifndef GROVE_NODES_PLOT_SVG_H
#define GROVE_NODES_PLOT_SVG_H

#include "base/text.h"
#include "nodes/plot/canvas.h"

typedef struct grove_svg grove_svg;
grove_svg *grove_svg_new(double width, double height, const char *title);
void grove_svg_free(grove_svg *svg); /* NULL is fine */

void grove_svg_clip(grove_svg *svg, grove_box box);
void grove_svg_unclip(grove_svg *svg);
void grove_svg_fill(grove_svg *svg, grove_box box, grove_colour colour);
void grove_svg_line(grove_svg *svg, const double (*points)[2], size_t count, double width,
                    grove_colour colour);
void grove_svg_points(grove_svg *svg, const double (*points)[2], size_t count, double diameter,
                      grove_colour colour);
void grove_svg_image(grove_svg *svg, grove_box box, const char *png, size_t length);
void grove_svg_write(grove_svg *svg, double x, double y, const char *text,
                     const grove_lettering *lettering);
int grove_svg_finish(grove_svg *svg, FILE *stream); /* the stream keeps write errors */

/* A copy of `text` as valid UTF-8 without control characters: invalid characters become "?". Names
 * of sources come from users' files. Caller frees. */
char *grove_svg_clean(const char *text);

#endif
