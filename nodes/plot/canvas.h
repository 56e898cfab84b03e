/* A canvas: the shapes that charts consist of, drawn into a PNG by cairo or written as SVG. SVG is
 * written directly, so that its text can be searched, copied and edited. */
#ifndef GROVE_NODES_PLOT_CANVAS_H
#define GROVE_NODES_PLOT_CANVAS_H

#include "base/error.h"
#include "nodes/plot/colour.h"
#include <stdio.h>

typedef struct grove_canvas grove_canvas;

typedef struct {
    double x, y, width, height;
} grove_box;

/* A white canvas. Lengths are in pixels of the layout, y downwards; a PNG has `scale` times as many
 * pixels. NULL with a message. */
grove_canvas *grove_canvas_new(double width, double height, double scale, bool svg,
                               const char *title, grove_error *error);
void grove_canvas_free(grove_canvas *canvas);          /* NULL is fine */
double grove_canvas_scale(const grove_canvas *canvas); /* pixels per unit for sharp images */

/* Between begin and end, drawing is clipped to the box. Not nested. */
void grove_canvas_clip(grove_canvas *canvas, grove_box box);
void grove_canvas_unclip(grove_canvas *canvas);

void grove_canvas_fill(grove_canvas *canvas, grove_box box, grove_colour colour);
/* Lines through points[0..count), x and y each; interrupted where either is NaN. */
void grove_canvas_line(grove_canvas *canvas, const double (*points)[2], size_t count, double width,
                       grove_colour colour);
/* Round points; those with NaN are left out. */
void grove_canvas_points(grove_canvas *canvas, const double (*points)[2], size_t count,
                         double diameter, grove_colour colour);
/* An image of `columns` x `rows` pixels (top row first), stretched to the box; enlarged pixels stay
 * sharp. */
void grove_canvas_image(grove_canvas *canvas, grove_box box, const grove_colour *pixels,
                        int columns, int rows);

typedef struct {
    double size;
    bool bold, upright; /* upright: reads from bottom to top */
    double anchor;      /* share of the text before (x, y): 0, 0.5 or 1; y is the base line */
    grove_colour colour;
} grove_lettering;
void grove_canvas_text(grove_canvas *canvas, double x, double y, const char *text,
                       const grove_lettering *lettering);
double grove_canvas_text_width(grove_canvas *canvas, const char *text, double size, bool bold);

/* Writes the whole picture. */
int grove_canvas_write(grove_canvas *canvas, FILE *stream, grove_error *error);

#endif
