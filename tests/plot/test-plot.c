/* Pictures: positions of what is drawn, in files that other programs can read. */
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "nodes/plot/service.h"
#include "tests/common/suite.h"
#include "unstable/module.h"
#include <cairo.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];
static grove_error *error;

static void setup(void)
{
    strcpy(folder, "/tmp/grove-test-plot-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    error = grove_error_new();
}

static void teardown(void)
{
    grove_path_remove(folder, NULL);
    grove_error_free(error);
}

/* ---- drawing and reading back ---- */

static int draw(const grove_figure *figure, const char *path)
{
    const grove_plot *plot = grove_service_open("plot", GROVE_PLOT_VERSION, error);

    return plot ? plot->draw(figure, path, error) : grove_error_code(error);
}

static char *draw_file(const grove_figure *figure, const char *name)
{
    char *path = grove_path_join(folder, name);
    int code = draw(figure, path);
    ck_assert_msg(code == 0, "%s", code ? grove_error_message(error, 0) : "");
    return suite_keep(path);
}

static cairo_surface_t *draw_png(const grove_figure *figure)
{
    char *path = draw_file(figure, "picture.png");
    cairo_surface_t *picture = cairo_image_surface_create_from_png(path);
    double scale = figure->scale > 0 ? figure->scale : 1;

    ck_assert_int_eq(cairo_surface_status(picture), CAIRO_STATUS_SUCCESS);
    ck_assert_int_eq(cairo_image_surface_get_width(picture), (int)(figure->width * scale));
    ck_assert_int_eq(cairo_image_surface_get_height(picture), (int)(figure->height * scale));
    return picture;
}

static unsigned pixel(cairo_surface_t *picture, int x, int y)
{
    unsigned colour;
    memcpy(&colour,
           cairo_image_surface_get_data(picture) + y * cairo_image_surface_get_stride(picture) +
               4 * x,
           4);
    return colour & 0xffffff;
}

/* Every start tag has its end tag; attributes are closed; where xmllint is there it agrees. */
static void check_xml(const char *path, const char *text)
{
    const char *open[64];
    size_t length[64], depth = 0;

    for (const char *at = text; (at = strchr(at, '<')); at++) {
        const char *end = strchr(at, '>');
        ck_assert_ptr_nonnull(end);
        if (at[1] == '?')
            continue;
        if (at[1] == '/') {
            ck_assert_uint_gt(depth, 0);
            depth--;
            ck_assert_uint_eq((size_t)(end - at) - 2, length[depth]);
            ck_assert_int_eq(strncmp(at + 2, open[depth], length[depth]), 0);
        } else if (end[-1] != '/') {
            open[depth] = at + 1;
            length[depth] = strcspn(at + 1, " >");
            ck_assert_uint_lt(++depth, 64);
        }
    }
    ck_assert_uint_eq(depth, 0);
    if (!system("command -v xmllint >/dev/null 2>&1")) {
        ck_assert_int_eq(system(suite_text("xmllint --noout %s", path)), 0);
    }
}

static char *draw_svg(const grove_figure *figure, size_t max)
{
    char *path = draw_file(figure, "picture.svg");
    size_t length;
    char *text = grove_file_read(path, max, true, &length, error);

    ck_assert_msg(text != NULL, "%s", text ? "" : grove_error_message(error, 0));
    check_xml(path, text);
    return text;
}

#define assert_has(text, part) ck_assert_msg(strstr(text, part) != NULL, "no '%s' in it", part)

static bool is_near(unsigned a, unsigned b)
{
    return abs((int)(a >> 16 & 255) - (int)(b >> 16 & 255)) < 60 &&
           abs((int)(a >> 8 & 255) - (int)(b >> 8 & 255)) < 60 &&
           abs((int)(a & 255) - (int)(b & 255)) < 60;
}

/* The middle of all pixels of about this colour: points are a little transparent. */
static void find(cairo_surface_t *picture, unsigned colour, double *x, double *y)
{
    double count = 0;

    *x = *y = 0;
    for (int j = 0; j < cairo_image_surface_get_height(picture); j++)
        for (int i = 0; i < cairo_image_surface_get_width(picture); i++)
            if (is_near(pixel(picture, i, j), colour)) {
                *x += i;
                *y += j;
                count++;
            }
    ck_assert_msg(count > 0, "the colour #%06x is not there", colour);
    *x /= count;
    *y /= count;
}

/* ---- images ---- */

/* The image's box: what is left, right, above and below of (x, y) in one colour. */
static void find_box(cairo_surface_t *picture, int x, int y, int box[4])
{
    unsigned cold = pixel(picture, x, y);

    for (box[0] = x; pixel(picture, box[0] - 1, y) == cold;)
        box[0]--;
    for (box[1] = x; pixel(picture, box[1], y) == cold;)
        box[1]++;
    for (box[2] = y; pixel(picture, x, box[2] - 1) == cold;)
        box[2]--;
    for (box[3] = y; pixel(picture, x, box[3]) == cold;)
        box[3]++;
}

/* One hot pixel in row 2, column 5 of 8 x 8, with the axes either way round: it covers its 64th
 * part of the image, in the right place. */
LOOP_TEST(one_hot_pixel, 0, 8)
{
    bool right_to_left = _i & 1, down = _i & 2, swapped = _i & 4;
    float data[64] = {[2 * 8 + 5] = 1};
    grove_raster raster = {.data = data, .rows = 8, .columns = 8, .x1 = 8, .y1 = 8};
    grove_chart chart = {.raster = &raster,
                         .title = "Hot",
                         .x = {.label = "l", .reversed = right_to_left},
                         .y = {.label = "m", .reversed = down}};
    grove_figure figure = {.width = 500, .height = 420, .charts = &chart, .count = 1};
    if (swapped) {
        raster.x0 = 8;
        raster.x1 = 0;
    }

    cairo_surface_t *picture = draw_png(&figure);
    int box[4];
    find_box(picture, 220, 200, box);
    double width = box[1] - box[0], height = box[3] - box[2], count = 0, x = 0, y = 0;
    unsigned cold = pixel(picture, 220, 200);
    ck_assert_double_gt(width, 250);
    ck_assert_double_gt(height, 250);
    for (int j = box[2]; j < box[3]; j++)
        for (int i = box[0]; i < box[1]; i++)
            if (pixel(picture, i, j) != cold) {
                x += i + 0.5 - box[0];
                y += j + 0.5 - box[2];
                count++;
            }
    ck_assert_double_eq_tol(count, width * height / 64, 0.06 * width * height / 64);
    ck_assert_double_eq_tol(x / count / width, right_to_left != swapped ? 2.5 / 8 : 5.5 / 8, 0.005);
    ck_assert_double_eq_tol(y / count / height, down ? 2.5 / 8 : 5.5 / 8, 0.005);
    cairo_surface_destroy(picture);
}

static double luminance(unsigned colour)
{
    return 0.2126 * pow((colour >> 16 & 255) / 255.0, 2.2) +
           0.7152 * pow((colour >> 8 & 255) / 255.0, 2.2) +
           0.0722 * pow((colour & 255) / 255.0, 2.2);
}

/* From low to high an ordered map only gets lighter, and from its dark end to its light one. */
LOOP_TEST(maps_are_ordered, 0, 3)
{
    static const grove_map maps[] = {GROVE_MAP_LEAF, GROVE_MAP_EMBER, GROVE_MAP_GREY};
    float data[512];
    grove_raster raster = {.data = data, .rows = 1, .columns = 512, .x1 = 512, .y1 = 1};
    grove_chart chart = {.raster = &raster};
    grove_figure figure = {.width = 700, .height = 300, .charts = &chart, .count = 1};
    double before = -1, first = 1, last = 0;

    raster.map = maps[_i];
    for (int i = 0; i < 512; i++)
        data[i] = (float)i;
    cairo_surface_t *picture = draw_png(&figure);
    for (int x = 100; x < 560; x++) {
        double now = luminance(pixel(picture, x, 150));
        ck_assert_msg(now >= before - 0.004, "at %d: %g after %g", x, now, before);
        before = fmax(before, now);
        first = fmin(first, now);
        last = fmax(last, now);
    }
    ck_assert_double_lt(first, 0.05);
    ck_assert_double_gt(last, 0.6);
    cairo_surface_destroy(picture);
}

/* The map of angles has one colour at both ends, and is lightest in its middle, at 0 degrees; its
 * ticks are parts of a right angle. */
TEST(angles_close_the_circle)
{
    float data[512];
    grove_raster raster = {
        .data = data, .rows = 1, .columns = 512, .x1 = 512, .y1 = 1, .map = GROVE_MAP_CYCLE};
    grove_chart chart = {.raster = &raster};
    grove_figure figure = {.width = 700, .height = 300, .charts = &chart, .count = 1};
    int box[4] = {0};

    for (int i = 0; i < 512; i++)
        data[i] = (float)(-180 + 360 * (i + 0.5) / 512);
    raster.low = -180;
    raster.high = 180;
    cairo_surface_t *picture = draw_png(&figure);
    for (box[0] = 350; pixel(picture, box[0] - 1, 150) != 0xffffff || box[0] > 300;)
        box[0]--;
    for (box[1] = 400; pixel(picture, box[1], 150) != 0xffffff;)
        box[1]++;
    double width = box[1] - box[0];
    ck_assert(is_near(pixel(picture, box[0] + 3, 150), pixel(picture, box[1] - 3, 150)));
    for (int i = 4; i < width / 2 - 4; i++)
        ck_assert(luminance(pixel(picture, box[0] + i + 1, 150)) >=
                  luminance(pixel(picture, box[0] + i - 1, 150)) - 0.004);
    ck_assert_double_gt(luminance(pixel(picture, (int)(box[0] + width / 2), 150)), 0.8);
    cairo_surface_destroy(picture);
    char *svg = draw_svg(&figure, 100000);
    assert_has(svg, ">−180</text>");
    assert_has(svg, ">90</text>");
    ck_assert_ptr_null(strstr(svg, ">50</text>"));
    free(svg);
}

TEST(missing_pixels_are_grey)
{
    float data[4] = {NAN, 1, INFINITY, 2};
    grove_raster raster = {.data = data, .rows = 2, .columns = 2, .x1 = 2, .y1 = 2};
    grove_chart chart = {.raster = &raster};
    grove_figure figure = {.width = 400, .height = 400, .charts = &chart, .count = 1};

    cairo_surface_t *picture = draw_png(&figure);
    ck_assert_uint_eq(pixel(picture, 100, 300), 0xd8d8d8);
    ck_assert_uint_eq(pixel(picture, 100, 100), 0xd8d8d8);
    ck_assert_uint_ne(pixel(picture, 280, 300), 0xd8d8d8);
    ck_assert_uint_ne(pixel(picture, 280, 300), pixel(picture, 280, 100));
    cairo_surface_destroy(picture);
}

/* ---- points and lines ---- */

/* Three points whose places are in known proportion; linear, logarithmic, and on a dense screen. */
LOOP_TEST(points_are_in_place, 0, 4)
{
    bool logarithmic = _i & 1;
    double x[3] = {1, 100, logarithmic ? 10 : 50.5}, y[3] = {0, 8, 2};
    grove_series series[3];
    unsigned colours[3] = {0xff0000, 0x00ff00, 0x0000ff};
    grove_chart chart = {.series = series, .series_count = 3};
    grove_figure figure = {.width = 600, .height = 400, .charts = &chart, .count = 1};
    double at[3][2];

    figure.scale = _i & 2 ? 2 : 0;
    chart.x.kind = logarithmic ? GROVE_SCALE_LOGARITHMIC : GROVE_SCALE_LINEAR;
    for (int k = 0; k < 3; k++)
        series[k] =
            (grove_series){.x = x + k, .y = y + k, .count = 1, .colour = colours[k], .size = 12};
    cairo_surface_t *picture = draw_png(&figure);
    for (int k = 0; k < 3; k++)
        find(picture, colours[k], &at[k][0], &at[k][1]);
    ck_assert_double_gt(at[1][0] - at[0][0], 300);
    ck_assert_double_gt(at[0][1] - at[1][1], 200);
    ck_assert_double_eq_tol(at[2][0], (at[0][0] + at[1][0]) / 2, 1.5);
    ck_assert_double_eq_tol(at[2][1], at[0][1] + 0.25 * (at[1][1] - at[0][1]), 1.5);
    cairo_surface_destroy(picture);
}

TEST(nan_breaks_lines)
{
    double x[5] = {0, 4, NAN, 6, 10}, y[5] = {5, 5, 5, 5, 5};
    grove_series series = {.kind = GROVE_SERIES_LINE, .x = x, .y = y, .count = 5, .size = 5};
    grove_chart chart = {.series = &series, .series_count = 1};
    grove_figure figure = {.width = 600, .height = 400, .charts = &chart, .count = 1};
    int first = 600, last = 0, drawn = 0;
    double middle, row;

    series.colour = 0xff0000;
    cairo_surface_t *picture = draw_png(&figure);
    find(picture, 0xff0000, &middle, &row);
    for (int i = 0; i < 600; i++)
        if (pixel(picture, i, (int)row) == 0xff0000) {
            first = i < first ? i : first;
            last = i;
            drawn++;
        }
    ck_assert_double_eq_tol(drawn, 0.8 * (last - first), 8);
    ck_assert_uint_ne(pixel(picture, (first + last) / 2, (int)row), 0xff0000);
    cairo_surface_destroy(picture);
}

/* A curve is its points on a thin line, in one colour. */
TEST(curves)
{
    double x[3] = {0, 1, 2}, y[3] = {1, 5, 2};
    grove_series series = {
        .kind = GROVE_SERIES_CURVE, .x = x, .y = y, .count = 3, .colour = 0x12ab34};
    grove_chart chart = {.series = &series, .series_count = 1};
    grove_figure figure = {.width = 600, .height = 400, .charts = &chart, .count = 1};
    char *text = draw_svg(&figure, 100000);
    int points = 0, lines = 0;

    for (char *at = text; (at = strstr(at, "h0")); at++)
        points++;
    for (char *at = text; (at = strstr(at, "stroke=\"#12ab34\"")); at++)
        lines++;
    ck_assert_int_eq(points, 3);
    ck_assert_int_eq(lines, 2);
    assert_has(text, "stroke-width=\"0.8\"");
    free(text);
}

/* Many points are pixels: the file stays small, and the points stay in place. */
TEST(many_points)
{
    size_t count = 500000;
    double *x = grove_alloc(count * sizeof *x), *y = grove_alloc(count * sizeof *y);
    grove_series series = {.x = x, .y = y, .count = count, .colour = 0xff0000};
    grove_chart chart = {.series = &series, .series_count = 1, .equal = true};
    grove_figure figure = {.width = 500, .height = 500, .charts = &chart, .count = 1};
    double sum[2] = {0}, weight = 0, box[4] = {500, 0, 500, 0};

    for (size_t i = 0; i < count; i++) { /* a ring */
        x[i] = 1000 + 3 * cos((double)i);
        y[i] = 3 * sin((double)i);
    }
    char *svg = draw_svg(&figure, 600000);
    assert_has(svg, "<image ");
    ck_assert_ptr_null(strstr(svg, "linecap=\"round\""));
    free(svg);
    cairo_surface_t *picture = draw_png(&figure);
    for (int j = 0; j < 500; j++)
        for (int i = 0; i < 500; i++) {
            unsigned c = pixel(picture, i, j);
            double red = (double)(c >> 16 & 255) - (double)(c & 255);
            if (red < 60)
                continue;
            sum[0] += i;
            sum[1] += j;
            weight++;
            box[0] = fmin(box[0], i);
            box[1] = fmax(box[1], i);
            box[2] = fmin(box[2], j);
            box[3] = fmax(box[3], j);
        }
    ck_assert_double_eq_tol(box[1] - box[0], box[3] - box[2], 2);
    ck_assert_double_eq_tol(sum[0] / weight, (box[0] + box[1]) / 2, 2);
    ck_assert_double_eq_tol(sum[1] / weight, (box[2] + box[3]) / 2, 2);
    /* Hollow: nothing in its middle. */
    unsigned inside = pixel(picture, (int)(box[0] + 0.4 * (box[1] - box[0])),
                            (int)(box[2] + 0.45 * (box[3] - box[2])));
    ck_assert_uint_ge(inside & 255, 0xe0);
    cairo_surface_destroy(picture);
    free(x);
    free(y);
}

/* A line of a million points stays small and keeps its one spike. */
TEST(long_line)
{
    size_t count = 1000000;
    double *x = grove_alloc(count * sizeof *x), *y = grove_alloc(count * sizeof *y);
    grove_series series = {.kind = GROVE_SERIES_LINE, .x = x, .y = y, .count = count};
    grove_chart chart = {.series = &series, .series_count = 1};
    grove_figure figure = {.width = 600, .height = 400, .charts = &chart, .count = 1};
    int highest = 400;

    series.colour = 0xff0000;
    for (size_t i = 0; i < count; i++)
        x[i] = (double)i;
    y[654321] = 1;
    free(draw_svg(&figure, 200000));
    cairo_surface_t *picture = draw_png(&figure);
    for (int j = 399; j >= 0; j--)
        for (int i = 0; i < 600; i++)
            if (is_near(pixel(picture, i, j), 0xff3c3c))
                highest = j;
    ck_assert_int_lt(highest, 60);
    cairo_surface_destroy(picture);
    free(x);
    free(y);
}

/* ---- text ---- */

TEST(labels_in_svg)
{
    double x[2] = {-1, 1}, y[2] = {0, 4e-6}, t[2] = {4871282400.0, 4871289600.0};
    grove_series series[2] = {{.x = x, .y = y, .count = 2, .label = "CS001 & CS002 <XX>"},
                              {.x = t, .y = y, .count = 2, .kind = GROVE_SERIES_LINE}};
    grove_chart charts[2] = {{.title = "Gains",
                              .subtitle = "bad \xff\xc3, name\n",
                              .x = {.label = "l (rad)"},
                              .y = {.label = "flux (Jy)"},
                              .series = series,
                              .series_count = 1},
                             {.x = {.kind = GROVE_SCALE_CLOCK, .label = "UTC"},
                              .series = series + 1,
                              .series_count = 1}};
    grove_figure figure = {.title = "Two", .charts = charts, .count = 2, .columns = 2};

    char *svg = draw_svg(&figure, 100000);
    assert_has(svg, "width=\"1800\" height=\"600\"");
    assert_has(svg, "<title>Two</title>");
    assert_has(svg, ">Gains</text>");
    assert_has(svg, ">bad ?"
                    "?, name?</text>");
    assert_has(svg, ">CS001 &amp; CS002 &lt;XX&gt;</text>");
    assert_has(svg, ">l (rad)</text>");
    assert_has(svg, ">flux (Jy)  ×10⁻⁶</text>");
    assert_has(svg, ">−1.0</text>");
    assert_has(svg, ">0.0</text>");
    assert_has(svg, ">2.0</text>");
    assert_has(svg, ">14:30</text>");
    assert_has(svg, ">15:30</text>");
    free(svg);
    t[1] = t[0] + 90; /* seconds are shown */
    svg = draw_svg(&figure, 100000);
    assert_has(svg, ">14:00:30</text>");
    free(svg);
}

TEST(logarithmic_labels)
{
    double x[2] = {1, 1e6}, y[2] = {1, 20};
    grove_series series = {.x = x, .y = y, .count = 2};
    grove_chart chart = {.x = {.kind = GROVE_SCALE_LOGARITHMIC},
                         .y = {.kind = GROVE_SCALE_LOGARITHMIC},
                         .series = &series,
                         .series_count = 1};
    grove_figure figure = {.charts = &chart, .count = 1};

    char *svg = draw_svg(&figure, 100000);
    assert_has(svg, ">1000</text>");
    assert_has(svg, ">10⁶</text>");
    assert_has(svg, ">20</text>");
    free(svg);
    y[1] = 1.3; /* less than a decade */
    svg = draw_svg(&figure, 100000);
    assert_has(svg, ">1.20</text>");
    free(svg);
}

/* ---- the edges ---- */

/* Nothing, one point, equal numbers, nothing finite, numbers at the ends of double. */
LOOP_TEST(poor_data, 0, 6)
{
    static const double numbers[6][3] = {{5, 5, 5},      {NAN, NAN, NAN},
                                         {0, 0, 0},      {-1e308, 0, 1e308},
                                         {1e-320, 0, 0}, {1, 1 + 1e-15, INFINITY}};
    grove_series series = {.x = numbers[_i], .y = numbers[_i], .count = 3};
    grove_chart chart = {.series = &series, .series_count = 1, .x = {.label = "x"}};
    grove_figure figure = {.width = 300, .height = 240, .charts = &chart, .count = 1};

    for (int k = 0; k < 8; k++) {
        series.kind = k & 1 ? GROVE_SERIES_LINE : GROVE_SERIES_POINTS;
        chart.x.kind = k & 2 ? GROVE_SCALE_LOGARITHMIC : GROVE_SCALE_LINEAR;
        chart.y.kind = k & 4 ? GROVE_SCALE_CLOCK : GROVE_SCALE_LINEAR;
        free(draw_svg(&figure, 100000));
        cairo_surface_destroy(draw_png(&figure));
    }
    figure.count = 0;
    free(draw_svg(&figure, 100000));
}

static void check_fails(const grove_figure *figure, const char *name, int code, const char *message)
{
    char *path = suite_keep(grove_path_join(folder, name));
    grove_error_clear(error);
    ck_assert_int_eq(draw(figure, path), code);
    ck_assert_uint_eq(grove_error_count(error), 1);
    const char *told = grove_error_message(error, 0);
    ck_assert_msg(strstr(told, message) != NULL, "'%s' instead of '%s'", told, message);
}

TEST(errors)
{
    float data[1] = {1};
    grove_raster raster = {.data = data, .rows = 1, .columns = 1};
    grove_chart chart = {.title = "chart"};
    grove_figure figure = {.charts = &chart, .count = 1};

    check_fails(&figure, "picture.jpg", GROVE_INVALID,
                "the name of a picture ends in .png or .svg");
    check_fails(&figure, "none/picture.png", GROVE_IO, "none/picture.png");
    figure.width = 20000;
    check_fails(&figure, "picture.png", GROVE_INVALID, "it can have 1 to 16384 each");
    figure.width = 40;
    check_fails(&figure, "picture.png", GROVE_INVALID, "too small for its labels");
    figure.width = 0;
    chart.raster = &raster;
    check_fails(&figure, "picture.png", GROVE_INVALID, "an image without extent");
    raster.x1 = raster.y1 = 1;
    chart.x.kind = GROVE_SCALE_LOGARITHMIC;
    check_fails(&figure, "picture.png", GROVE_INVALID, "logarithmic axes with an image");
    raster.rows = 0;
    check_fails(&figure, "picture.png", GROVE_INVALID, "an image without pixels");

    char **left = grove_folder_list(folder);
    ck_assert_ptr_null(left[0]);
    free(left);
}

/* A picture that cannot be drawn leaves the one that was there. */
TEST(failure_keeps_the_old_file)
{
    grove_chart chart = {.title = "first"};
    grove_figure figure = {.charts = &chart, .count = 1};
    size_t length;

    free(draw_svg(&figure, 100000));
    figure.width = 40;
    check_fails(&figure, "picture.svg", GROVE_INVALID, "too small");
    char *path = suite_keep(grove_path_join(folder, "picture.svg"));
    char *svg = suite_keep(grove_file_read(path, 100000, true, &length, error));
    ck_assert_ptr_nonnull(svg);
    assert_has(svg, ">first</text>");
}

SUITE(60, setup, teardown)
