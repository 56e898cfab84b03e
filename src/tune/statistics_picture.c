/* Statistics of records as a picture. */
#include "tune/statistics.h"

#include "base/file.h"

#include <math.h>
#include <string.h>

enum { STEP = 36, BOX = 20, PLOT = 320, LINE = 20, LETTER = 7 /* pixels */ };

static const char *colour(int device)
{
    static const char *const colours[] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7",
                                          "#56b4e9", "#d55e00", "#f0e442", "#999999"};

    return colours[(size_t)device % (sizeof(colours) / sizeof(*colours))];
}

/* XML has no control characters, and not the two last characters of 16 bits. */
static void put(FILE *to, const char *text)
{
    for (const char *c = text; *c; c++)
        if (strchr("&<>\"", *c)) {
            fprintf(to, "&#%d;", *c);
        } else if ((unsigned char)*c < ' ' || *c == 0x7f) {
            fputc('?', to);
        } else if (!strncmp(c, "\xef\xbf\xbe", 3) || !strncmp(c, "\xef\xbf\xbf", 3)) {
            fputc('?', to);
            c += 2;
        } else {
            fputc(*c, to);
        }
}

static void put_line(FILE *to, double x, double y, double x_end, double y_end, const char *stroke)
{
    fprintf(to, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n", x, y,
            x_end, y_end, stroke);
}

static void put_box(FILE *to, const tune_item *of, double x, double top)
{
    const tune_distribution d = tune_distribution_of(of->record);
    const double high = top + PLOT * (1 - d.upper), low = top + PLOT * (1 - d.lower),
                 median = top + PLOT * (1 - d.median);

    put_line(to, x, top, x, top + PLOT * (1 - d.least), "black");
    fprintf(to,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%.1f\" fill=\"%s\" "
            "stroke=\"black\"/>\n",
            x - BOX / 2, high, BOX, low - high, colour(of->device));
    put_line(to, x - BOX / 2, median, x + BOX / 2, median, "black");
    fprintf(to, "<text transform=\"translate(%.1f %.1f) rotate(-60)\" text-anchor=\"end\">", x + 4,
            top + PLOT + LINE);
    put(to, of->kernel);
    fputc(' ', to);
    put(to, of->sizes);
    fputs("</text>\n", to);
}

/* Returns the number of devices. `to` NULL: only counts. */
static int put_legend(FILE *to, const tune_statistics *s, double x)
{
    int devices = 0;

    for (size_t k = 0; k < s->ran_count; k++) {
        if (s->ran[k].device < devices)
            continue;
        const int y = LINE * ++devices;
        if (!to)
            continue;
        fprintf(to, "<rect x=\"%.1f\" y=\"%d\" width=\"12\" height=\"12\" fill=\"%s\"/>\n", x,
                y - 10, colour(s->ran[k].device));
        fprintf(to, "<text x=\"%.1f\" y=\"%d\">", x + 18, y);
        put(to, s->ran[k].record->machine);
        fputs("</text>\n", to);
    }
    return devices;
}

static void put_picture(FILE *to, const tune_statistics *s)
{
    size_t label = 0, device = 0;

    for (size_t k = 0; k < s->ran_count; k++) {
        const size_t own = strlen(s->ran[k].kernel) + strlen(s->ran[k].sizes) + 1,
                     its = strlen(s->ran[k].record->machine);
        label = own > label ? own : label;
        device = its > device ? its : device;
    }
    const double length = LETTER * (double)label, left = fmax(60, length / 2),
                 right = left + STEP * (double)s->ran_count,
                 top = LINE * (put_legend(NULL, s, 0) + 1.5),
                 width = fmax(right, left + LETTER * (double)device + 18) + LINE,
                 height = top + PLOT + 2 * LINE + 0.87 * length;
    fprintf(to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            width, height);
    put_legend(to, s, left);
    for (int k = 0; k <= 5; k++) {
        const double y = top + PLOT * (1 - k / 5.0);
        put_line(to, left, y, right, y, "#cccccc");
        fprintf(to, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%.1f</text>\n", left - 6,
                y + 4, k / 5.0);
    }
    fprintf(to,
            "<text transform=\"translate(%.1f %.1f) rotate(-90)\" text-anchor=\"middle\">"
            "performance / best</text>\n",
            left - 34, top + PLOT / 2);
    for (size_t k = 0; k < s->ran_count; k++)
        put_box(to, &s->ran[k], left + STEP * ((double)k + 0.5), top);
    fputs("</svg>\n", to);
}

int tune_statistics_draw(const tune_statistics *s, const char *path, bool overwrite,
                         grove_error *error)
{
    if (!s->ran_count)
        return grove_fail(error, GROVE_INVALID, "%s: there is nothing to draw: none ran", path);
    grove_file *file = grove_file_create_output(path, overwrite, error);
    if (!file)
        return GROVE_IO;
    put_picture(grove_file_stream(file), s);
    return grove_file_commit(file, error);
}
