#include "nodes/plot/canvas.h"
#include "nodes/plot/svg.h"
#include "util.h"
#include <cairo.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct grove_canvas {
    cairo_surface_t *surface; /* for SVG a dummy, used to measure text */
    cairo_t *cairo;
    double width, height, scale;
    bool failed; /* memory was short at least once */
    grove_svg *svg;
};

grove_canvas *grove_canvas_new(double width, double height, double scale, bool svg,
                               const char *title, grove_error *error)
{
    grove_canvas *canvas = grove_alloc(sizeof *canvas);
    int columns = svg ? 1 : (int)lround(width * scale),
        rows = svg ? 1 : (int)lround(height * scale);

    canvas->width = width;
    canvas->height = height;
    canvas->scale = scale;
    canvas->surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, columns, rows);
    canvas->cairo = cairo_create(canvas->surface);
    if (cairo_status(canvas->cairo)) {
        grove_fail(error, GROVE_NO_MEMORY, "a picture of %d x %d pixels: %s", columns, rows,
                   cairo_status_to_string(cairo_status(canvas->cairo)));
        grove_canvas_free(canvas);
        return NULL;
    }
    if (svg)
        canvas->svg = grove_svg_new(width, height, title);
    cairo_scale(canvas->cairo, svg ? 1 : scale, svg ? 1 : scale);
    grove_canvas_fill(canvas, (grove_box){0, 0, width, height}, 0xffffffff);
    return canvas;
}

void grove_canvas_free(grove_canvas *canvas)
{
    if (!canvas)
        return;
    cairo_destroy(canvas->cairo);
    cairo_surface_destroy(canvas->surface);
    grove_svg_free(canvas->svg);
    free(canvas);
}

double grove_canvas_scale(const grove_canvas *canvas)
{
    return canvas->svg ? 2 : canvas->scale;
}

static void set_colour(cairo_t *cairo, grove_colour colour)
{
    cairo_set_source_rgba(cairo, (colour >> 16 & 255) / 255.0, (colour >> 8 & 255) / 255.0,
                          (colour & 255) / 255.0, (colour >> 24) / 255.0);
}

void grove_canvas_clip(grove_canvas *canvas, grove_box box)
{
    if (canvas->svg) {
        grove_svg_clip(canvas->svg, box);
        return;
    }
    cairo_save(canvas->cairo);
    cairo_rectangle(canvas->cairo, box.x, box.y, box.width, box.height);
    cairo_clip(canvas->cairo);
}

void grove_canvas_unclip(grove_canvas *canvas)
{
    if (canvas->svg)
        grove_svg_unclip(canvas->svg);
    else
        cairo_restore(canvas->cairo);
}

void grove_canvas_fill(grove_canvas *canvas, grove_box box, grove_colour colour)
{
    if (canvas->svg) {
        grove_svg_fill(canvas->svg, box, colour);
        return;
    }
    set_colour(canvas->cairo, colour);
    cairo_rectangle(canvas->cairo, box.x, box.y, box.width, box.height);
    cairo_fill(canvas->cairo);
}

void grove_canvas_line(grove_canvas *canvas, const double (*points)[2], size_t count, double width,
                       grove_colour colour)
{
    /* cairo's time grows faster than the length of a path */
    enum { AT_ONCE = 512 };
    cairo_t *cairo = canvas->cairo;
    size_t drawn = 0;

    if (canvas->svg) {
        grove_svg_line(canvas->svg, points, count, width, colour);
        return;
    }
    set_colour(cairo, colour);
    cairo_new_path(cairo); /* drawing text moves the current point */
    cairo_set_line_width(cairo, width);
    cairo_set_line_join(cairo, CAIRO_LINE_JOIN_ROUND);
    cairo_set_line_cap(cairo, count > 2 ? CAIRO_LINE_CAP_ROUND : CAIRO_LINE_CAP_BUTT);
    for (size_t i = 0; i < count; i++) {
        if (isnan(points[i][0] + points[i][1])) {
            cairo_stroke(cairo);
            drawn = 0;
            continue;
        }
        cairo_line_to(cairo, points[i][0], points[i][1]);
        if (++drawn % AT_ONCE == 0) {
            cairo_stroke(cairo);
            cairo_move_to(cairo, points[i][0], points[i][1]);
        }
    }
    cairo_stroke(cairo);
}

void grove_canvas_points(grove_canvas *canvas, const double (*points)[2], size_t count,
                         double diameter, grove_colour colour)
{
    cairo_t *cairo = canvas->cairo;

    if (canvas->svg) {
        grove_svg_points(canvas->svg, points, count, diameter, colour);
        return;
    }
    set_colour(cairo, colour);
    cairo_new_path(cairo);
    for (size_t i = 0; i < count; i++)
        if (!isnan(points[i][0] + points[i][1])) {
            cairo_arc(cairo, points[i][0], points[i][1], diameter / 2, 0, 2 * M_PI);
            cairo_fill(cairo);
        }
}

/* A cairo surface with its own premultiplied copy of the pixels, or NULL. */
static cairo_surface_t *make_surface(const grove_colour *pixels, int columns, int rows)
{
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, columns, rows);

    if (cairo_surface_status(surface)) {
        cairo_surface_destroy(surface);
        return NULL;
    }
    unsigned char *data = cairo_image_surface_get_data(surface);
    int stride = cairo_image_surface_get_stride(surface);
    for (int row = 0; row < rows; row++)
        for (int column = 0; column < columns; column++) {
            grove_colour pixel = pixels[(size_t)row * (size_t)columns + (size_t)column];
            uint32_t alpha = pixel >> 24, bytes = alpha << 24;
            for (int shift = 0; shift < 24; shift += 8)
                bytes |= ((pixel >> shift & 255) * alpha + 127) / 255 << shift;
            memcpy(data + (size_t)row * (size_t)stride + 4 * (size_t)column, &bytes, 4);
        }
    cairo_surface_mark_dirty(surface);
    return surface;
}

static cairo_status_t append(void *text, const unsigned char *bytes, unsigned length)
{
    grove_text_append(text, (const char *)bytes, length);
    return CAIRO_STATUS_SUCCESS;
}

void grove_canvas_image(grove_canvas *canvas, grove_box box, const grove_colour *pixels,
                        int columns, int rows)
{
    cairo_surface_t *image = make_surface(pixels, columns, rows);
    cairo_t *cairo = canvas->cairo;

    if (!image) {
        canvas->failed = true;
        return;
    }
    if (canvas->svg) {
        grove_text png = {0};
        if (cairo_surface_write_to_png_stream(image, append, &png))
            canvas->failed = true;
        else
            grove_svg_image(canvas->svg, box, png.at, png.length);
        free(png.at);
    } else {
        cairo_save(cairo);
        cairo_translate(cairo, box.x, box.y);
        cairo_scale(cairo, box.width / columns, box.height / rows);
        cairo_set_source_surface(cairo, image, 0, 0);
        bool larger = box.width * canvas->scale >= columns && box.height * canvas->scale >= rows;
        cairo_pattern_set_filter(cairo_get_source(cairo),
                                 larger ? CAIRO_FILTER_NEAREST : CAIRO_FILTER_GOOD);
        cairo_rectangle(cairo, 0, 0, columns, rows);
        cairo_fill(cairo);
        cairo_restore(cairo);
    }
    cairo_surface_destroy(image);
}

static void set_font(cairo_t *cairo, double size, bool bold)
{
    cairo_select_font_face(cairo, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(cairo, size);
}

double grove_canvas_text_width(grove_canvas *canvas, const char *text, double size, bool bold)
{
    char *clean = grove_svg_clean(text);
    cairo_text_extents_t extents;

    set_font(canvas->cairo, size, bold);
    cairo_text_extents(canvas->cairo, clean, &extents);
    free(clean);
    return extents.x_advance;
}

void grove_canvas_text(grove_canvas *canvas, double x, double y, const char *text,
                       const grove_lettering *lettering)
{
    cairo_t *cairo = canvas->cairo;
    char *clean = grove_svg_clean(text);

    if (canvas->svg) {
        grove_svg_write(canvas->svg, x, y, clean, lettering);
    } else {
        double width = grove_canvas_text_width(canvas, clean, lettering->size, lettering->bold);
        cairo_save(cairo);
        set_colour(cairo, lettering->colour);
        cairo_move_to(cairo, x, y);
        if (lettering->upright)
            cairo_rotate(cairo, -M_PI / 2);
        cairo_rel_move_to(cairo, -lettering->anchor * width, 0);
        cairo_show_text(cairo, clean);
        cairo_restore(cairo);
    }
    free(clean);
}

static cairo_status_t put(void *stream, const unsigned char *bytes, unsigned length)
{
    return fwrite(bytes, 1, length, stream) == length ? CAIRO_STATUS_SUCCESS
                                                      : CAIRO_STATUS_WRITE_ERROR;
}

int grove_canvas_write(grove_canvas *canvas, FILE *stream, grove_error *error)
{
    cairo_status_t status = cairo_status(canvas->cairo);

    if (canvas->failed)
        status = CAIRO_STATUS_NO_MEMORY;
    if (!status && canvas->svg)
        return grove_svg_finish(canvas->svg, stream);
    if (!status)
        status = cairo_surface_write_to_png_stream(canvas->surface, put, stream);
    /* The stream keeps a write error: whoever commits the file reports it. */
    if (status && status != CAIRO_STATUS_WRITE_ERROR)
        return grove_fail(error,
                          status == CAIRO_STATUS_NO_MEMORY ? GROVE_NO_MEMORY : GROVE_INTERNAL,
                          "cannot draw the picture: %s", cairo_status_to_string(status));
    return GROVE_OK;
}
