#include "picture-testing.h"

#include "base/file.h"
#include "base/text.h"
#include "tests/common/suite.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *svg;
panel panels[MAX_PANELS];
int panel_count;
grove_library *library;
grove_error *error;
static char folder[64];

void picture_begin(void)
{
    strcpy(folder, "/tmp/grove-test-picture-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
    library = grove_library_new(NULL);
    error = grove_error_new();
}

void picture_end(void)
{
    grove_error_free(error);
    grove_library_free(library);
    free(svg);
    svg = NULL;
    ck_assert_int_eq(chdir("/"), 0);
    grove_path_remove(folder, NULL);
}

static double number_after(const char *text, const char *name)
{
    const char *at = strstr(text, name);

    ck_assert_msg(at != NULL, "no %s", name);
    return strtod(at + strlen(name), NULL);
}

static void find_panels(void)
{
    panel_count = 0;
    for (const char *at = svg; (at = strstr(at, "<clipPath")); at++) {
        ck_assert_int_lt(panel_count, MAX_PANELS);
        panel *p = &panels[panel_count++];
        *p = (panel){number_after(at, " x=\""),     number_after(at, " y=\""),
                     number_after(at, " width=\""), number_after(at, " height=\""),
                     strstr(at, "<g clip-path"),    strstr(at, "</g>")};
    }
}

void draw(const char *data, const grove_picture *picture)
{
    grove_picture again = *picture;

    again.overwrite = true;
    grove_library_plot(library, data, &again, "picture.svg", error);
    ck_assert_msg(!grove_error_count(error), "%s: %s", picture->what, suite_messages(error));
    free(svg);
    svg = grove_file_read("picture.svg", 1 << 24, true, NULL, error);
    ck_assert_ptr_nonnull(svg);
    find_panels();
}

int find_dots(int k, const char *colour, bool bars, dot dots[MAX_DOTS])
{
    char stroke[32];
    int count = 0;

    snprintf(stroke, sizeof(stroke), "stroke=\"%s\"", colour);
    for (const char *at = panels[k].from; (at = strstr(at, "<path d=\"")) && at < panels[k].to;
         at++) {
        const char *end = strstr(at, "\" fill"), *close = strchr(at, '>');
        const char *is = strstr(at, stroke), *point = strstr(at, "h0");
        if (!is || is > close || (bars ? point && point < end : !point || point > end))
            continue;
        for (const char *c = at + 9; c < end; c++)
            if (*c == 'M' || *c == 'L') {
                char *comma;
                ck_assert_int_lt(count, MAX_DOTS);
                dots[count].x = strtod(c + 1, &comma);
                dots[count++].y = strtod(comma + 1, NULL);
            }
    }
    return count;
}

dot find_label(const char *label, int k)
{
    char *text = suite_text(">%s</text>", label);
    const panel *p = &panels[k];
    dot found = {NAN, NAN};
    double nearest = INFINITY;

    for (const char *at = svg; (at = strstr(at, text)); at++) {
        const char *start = at;
        while (strncmp(start, "<text", 5) != 0)
            start--;
        double x = number_after(start, " x=\""), y = number_after(start, " y=\"");
        double dx = fmax(0, fmax(p->x - x, x - p->x - p->width));
        double dy = fmax(0, fmax(p->y - y, y - p->y - p->height));
        double away = hypot(dx, dy);
        if (away < nearest) {
            nearest = away;
            found = (dot){x, y};
        }
    }
    ck_assert_msg(isfinite(nearest), "no label '%s'", label);
    return found;
}

static scale scale_from(double a, double at_a, double b, double at_b, double from, double to)
{
    double per_pixel = (b - a) / (at_b - at_a);

    return (scale){a + per_pixel * (from - at_a), per_pixel * (to - from)};
}

/* Labels of y stand beside the first panel of a row, a little below their place. */
scale y_scale(int k, const char *a, const char *b, double number_a, double number_b)
{
    const panel *p = &panels[k];

    return scale_from(number_a, find_label(a, k).y - 0.36 * 11, number_b,
                      find_label(b, k).y - 0.36 * 11, p->y + p->height, p->y);
}

scale x_scale(int k, const char *a, const char *b, double number_a, double number_b)
{
    const panel *p = &panels[k];

    return scale_from(number_a, find_label(a, k).x, number_b, find_label(b, k).x, p->x,
                      p->x + p->width);
}

double x_of(const scale *s, int k, dot d)
{
    return s->first + s->share * (d.x - panels[k].x) / panels[k].width;
}

double y_of(const scale *s, int k, dot d)
{
    return s->first + s->share * (panels[k].y + panels[k].height - d.y) / panels[k].height;
}
