#include "nodes/plot/svg.h"
#include "util.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct grove_svg {
    grove_text text;
    int clips;
};

/* Length of the UTF-8 character at `at`, or 0 if it is invalid or not allowed in XML. */
static size_t character(const char *at)
{
    const unsigned char *c = (const unsigned char *)at;
    size_t length = c[0] < 0x80 ? 1 : c[0] < 0xc2 ? 0 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
    unsigned code = c[0];

    if (c[0] < 0x20 || c[0] == 0x7f || c[0] > 0xf4 || !length)
        return 0;
    if (length > 1)
        code = c[0] & (0x7fu >> length);
    for (size_t k = 1; k < length; k++) {
        if ((c[k] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (c[k] & 0x3fu);
    }
    if ((length == 3 && code < 0x800) || (length == 4 && (code < 0x10000 || code > 0x10ffff)) ||
        (code >= 0xd800 && code <= 0xdfff) || code == 0xfffe || code == 0xffff)
        return 0;
    return length;
}

char *grove_svg_clean(const char *text)
{
    char *clean = grove_alloc(strlen(text) + 1), *to = clean;

    while (*text) {
        size_t length = character(text);
        if (length)
            memcpy(to, text, length);
        else
            *to = '?';
        to += length ? length : 1;
        text += length ? length : 1;
    }
    return clean;
}

static void escape(grove_text *to, const char *text)
{
    for (; *text; text++)
        if (*text == '&')
            grove_text_add(to, "&amp;");
        else if (*text == '<')
            grove_text_add(to, "&lt;");
        else if (*text == '>')
            grove_text_add(to, "&gt;");
        else
            grove_text_append(to, text, 1);
}

/* A number with at most two decimals, without trailing zeros, in any locale. */
static void number(grove_text *to, double value)
{
    long long hundredths = llround(fmin(1e9, fmax(-1e9, value)) * 100);
    unsigned long long size = (unsigned long long)llabs(hundredths);

    grove_text_add(to, "%s%llu", hundredths < 0 ? "-" : "", size / 100);
    if (size % 100)
        grove_text_add(to, size % 10 ? ".%02llu" : ".%llu",
                       size % 10 ? size % 100 : size % 100 / 10);
}

static void attribute(grove_text *to, const char *name, double value)
{
    grove_text_add(to, " %s=\"", name);
    number(to, value);
    grove_text_add(to, "\"");
}

static void paint(grove_text *to, const char *name, grove_colour colour)
{
    grove_text_add(to, " %s=\"#%06x\"", name, (unsigned)(colour & 0xffffff));
    if (colour >> 24 != 255) {
        grove_text_add(to, " %s-opacity=\"", name);
        number(to, (colour >> 24) / 255.0);
        grove_text_add(to, "\"");
    }
}

static void box_attributes(grove_text *to, grove_box box)
{
    attribute(to, "x", box.x);
    attribute(to, "y", box.y);
    attribute(to, "width", box.width);
    attribute(to, "height", box.height);
}

grove_svg *grove_svg_new(double width, double height, const char *title)
{
    grove_svg *svg = grove_alloc(sizeof *svg);
    grove_text *to = &svg->text;

    grove_text_add(to, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                       "<svg xmlns=\"http://www.w3.org/2000/svg\" "
                       "xmlns:xlink=\"http://www.w3.org/1999/xlink\"");
    attribute(to, "width", width);
    attribute(to, "height", height);
    grove_text_add(to, " viewBox=\"0 0 ");
    number(to, width);
    grove_text_add(to, " ");
    number(to, height);
    grove_text_add(to,
                   "\" font-family=\"'DejaVu Sans', Verdana, Helvetica, Arial, sans-serif\">\n");
    if (title) {
        char *clean = grove_svg_clean(title);
        grove_text_add(to, "<title>");
        escape(to, clean);
        grove_text_add(to, "</title>\n");
        free(clean);
    }
    return svg;
}

void grove_svg_free(grove_svg *svg)
{
    if (svg)
        free(svg->text.at);
    free(svg);
}

void grove_svg_clip(grove_svg *svg, grove_box box)
{
    grove_text *to = &svg->text;

    grove_text_add(to, "<clipPath id=\"clip%d\"><rect", ++svg->clips);
    box_attributes(to, box);
    grove_text_add(to, "/></clipPath>\n<g clip-path=\"url(#clip%d)\">\n", svg->clips);
}

void grove_svg_unclip(grove_svg *svg)
{
    grove_text_add(&svg->text, "</g>\n");
}

void grove_svg_fill(grove_svg *svg, grove_box box, grove_colour colour)
{
    grove_text_add(&svg->text, "<rect");
    box_attributes(&svg->text, box);
    paint(&svg->text, "fill", colour);
    grove_text_add(&svg->text, "/>\n");
}

static void stroke(grove_text *to, double width, grove_colour colour, const char *cap)
{
    grove_text_add(to, "\" fill=\"none\"");
    paint(to, "stroke", colour);
    attribute(to, "stroke-width", width);
    grove_text_add(to, " stroke-linecap=\"%s\" stroke-linejoin=\"round\"/>\n", cap);
}

void grove_svg_line(grove_svg *svg, const double (*points)[2], size_t count, double width,
                    grove_colour colour)
{
    grove_text *to = &svg->text;
    bool pen = false;

    grove_text_add(to, "<path d=\"");
    for (size_t i = 0; i < count; i++) {
        bool drawn = !isnan(points[i][0] + points[i][1]);
        if (drawn) {
            grove_text_append(to, pen ? "L" : "M", 1);
            number(to, points[i][0]);
            grove_text_append(to, ",", 1);
            number(to, points[i][1]);
        }
        pen = drawn;
    }
    stroke(to, width, colour, count > 2 ? "round" : "butt");
}

/* Lines of zero length with round ends: the shortest way to write a dot. */
void grove_svg_points(grove_svg *svg, const double (*points)[2], size_t count, double diameter,
                      grove_colour colour)
{
    grove_text *to = &svg->text;

    grove_text_add(to, "<path d=\"");
    for (size_t i = 0; i < count; i++) {
        if (isnan(points[i][0] + points[i][1]))
            continue;
        grove_text_append(to, "M", 1);
        number(to, points[i][0]);
        grove_text_append(to, ",", 1);
        number(to, points[i][1]);
        grove_text_append(to, "h0", 2);
    }
    stroke(to, diameter, colour, "round");
}

static void base64(grove_text *to, const unsigned char *bytes, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < length; i += 3) {
        size_t rest = length - i;
        unsigned word = (unsigned)bytes[i] << 16 | (rest > 1 ? (unsigned)bytes[i + 1] << 8 : 0) |
                        (rest > 2 ? bytes[i + 2] : 0);
        char four[4] = {digits[word >> 18], digits[word >> 12 & 63],
                        rest > 1 ? digits[word >> 6 & 63] : '=',
                        rest > 2 ? digits[word & 63] : '='};
        grove_text_append(to, four, 4);
    }
}

void grove_svg_image(grove_svg *svg, grove_box box, const char *png, size_t length)
{
    grove_text *to = &svg->text;

    grove_text_add(to, "<image");
    box_attributes(to, box);
    grove_text_add(to, " preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" "
                       "xlink:href=\"data:image/png;base64,");
    base64(to, (const unsigned char *)png, length);
    grove_text_add(to, "\"/>\n");
}

void grove_svg_write(grove_svg *svg, double x, double y, const char *text,
                     const grove_lettering *lettering)
{
    grove_text *to = &svg->text;

    grove_text_add(to, "<text");
    attribute(to, "x", x);
    attribute(to, "y", y);
    attribute(to, "font-size", lettering->size);
    paint(to, "fill", lettering->colour);
    if (lettering->bold)
        grove_text_add(to, " font-weight=\"bold\"");
    if (lettering->anchor > 0)
        grove_text_add(to, " text-anchor=\"%s\"", lettering->anchor < 1 ? "middle" : "end");
    if (lettering->upright) {
        grove_text_add(to, " transform=\"rotate(-90 ");
        number(to, x);
        grove_text_add(to, " ");
        number(to, y);
        grove_text_add(to, ")\"");
    }
    grove_text_add(to, ">");
    escape(to, text);
    grove_text_add(to, "</text>\n");
}

int grove_svg_finish(grove_svg *svg, FILE *stream)
{
    grove_text_add(&svg->text, "</svg>\n");
    fwrite(svg->text.at, 1, svg->text.length, stream);
    return GROVE_OK;
}
