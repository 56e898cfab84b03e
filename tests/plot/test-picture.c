/* Pictures of Measurement Sets: the sky with east to the left and north up, in one scale, stations
 * with east to the right. */
#include "base/error.h"
#include "picture-testing.h"
#include "tests/common/suite.h"

#include <cairo.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void no_error(const char *what)
{
    ck_assert_msg(!grove_error_count(error), "%s: %s", what, suite_messages(error));
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

/* A set with one source, `dec` minutes of arc north of the phase centre and `ra` seconds of right
 * ascension east of it, on the celestial equator; in CORRECTED_DATA it has half the flux. */
static void simulate(const char *name, int ra, int dec)
{
    char text[1024];

    snprintf(text, sizeof(text),
             "format = Name, Type, Ra, Dec, I\none, POINT, 06:00:%02d, +00.%02d.00, 3\n", ra, dec);
    write_text("one.skymodel", text);
    snprintf(text, sizeof(text),
             "obs = observe(array=\"vla-d\", phase_centre=\"6h0m0s 0d0m0s\", hour_angle=-3h..3h,\n"
             "    integration=10min, frequency=1.4GHz, channels=4, channel_width=10MHz)\n"
             "S = sky_model(\"one.skymodel\")\n"
             "V[p,q] = sum[s]( point(S, obs) )\n"
             "w = sink(V, obs, to=\"%s\")\n"
             "half = sink(0.5 * V, obs, to=\"%s\", column=\"CORRECTED_DATA\")\n",
             name, name);
    grove_tree *tree = grove_library_parse(library, text, "text.tree", NULL, 0, error);
    no_error("parse");
    grove_session *session = grove_session_new(tree, NULL, error);
    grove_session_run(session);
    no_error("run");
    grove_session_free(session);
    grove_tree_free(tree);
}

static cairo_surface_t *draw_png(const char *data, const grove_picture *picture)
{
    grove_picture again = *picture;

    again.overwrite = true;
    grove_library_plot(library, data, &again, "picture.png", error);
    no_error(picture->what);
    cairo_surface_t *surface = cairo_image_surface_create_from_png("picture.png");
    ck_assert_int_eq(cairo_surface_status(surface), CAIRO_STATUS_SUCCESS);
    return surface;
}

/* Whether a colour is of the hot end of the images' map: orange to yellow. */
static bool is_hot(unsigned colour)
{
    int red = (int)(colour >> 16 & 255), blue = (int)(colour & 255);

    return red > 200 && blue < red - 60;
}

/* Blue points on white. */
static bool is_point(unsigned colour)
{
    int red = (int)(colour >> 16 & 255), blue = (int)(colour & 255);

    return blue > red + 60;
}

/* Middle of all pixels of a kind, in the left part of the picture. */
static int middle(cairo_surface_t *surface, bool (*is)(unsigned), double part, double *x, double *y)
{
    int width = cairo_image_surface_get_width(surface), count = 0;
    int height = cairo_image_surface_get_height(surface);
    int stride = cairo_image_surface_get_stride(surface);
    const unsigned char *data = cairo_image_surface_get_data(surface);

    *x = *y = 0;
    for (int row = 0; row < height; row++)
        for (int column = 0; column < width * part; column++) {
            unsigned colour;
            memcpy(&colour, data + row * stride + 4 * column, 4);
            if (!is(colour))
                continue;
            *x += column;
            *y += row;
            count++;
        }
    *x /= count ? count : 1;
    *y /= count ? count : 1;
    return count;
}

/* Where the picture of a set with one source has its hottest pixels: left of the colour bar. */
static void find_source(int ra, int dec, bool logarithmic, double *x, double *y)
{
    /* 64 pixels of 15 arcsec: 8 arcmin to each side */
    grove_picture picture = GROVE_PICTURE(.what = "image", .pixels = 64, .logarithmic = logarithmic,
                                          .cell = 15 * 3.14159265358979 / 180 / 3600);
    char name[32];

    snprintf(name, sizeof(name), "%d-%d-%d.ms", ra, dec, logarithmic);
    simulate(name, ra, dec);
    cairo_surface_t *surface = draw_png(name, &picture);
    ck_assert_int_gt(middle(surface, is_hot, 0.885, x, y), 20);
    cairo_surface_destroy(surface);
}

TEST(images_have_east_left_and_north_up)
{
    double x0, y0, x1, y1, x2, y2;

    /* 16 s of right ascension on the equator are 4 arcmin */
    find_source(0, 0, false, &x0, &y0);
    find_source(16, 0, false, &x1, &y1);
    find_source(0, 4, false, &x2, &y2);
    ck_assert(fabs(y1 - y0) < 3);
    ck_assert(fabs(x2 - x0) < 3);
    ck_assert(x0 - x1 > 100);
    ck_assert(y0 - y2 > 100);
    ck_assert(fabs((x0 - x1) - (y0 - y2)) < 5);
    /* 16 of 64 pixels of a picture that is about 640 wide */
    ck_assert(fabs((x0 - x1) / 16 * 64 - 640) < 50);
}

TEST(uv_coverage_is_symmetric)
{
    grove_picture picture = GROVE_PICTURE(.what = "uv");
    double x, y;

    simulate("uv.ms", 0, 0);
    cairo_surface_t *surface = draw_png("uv.ms", &picture);
    ck_assert_int_gt(middle(surface, is_point, 1, &x, &y), 2000);
    double x_middle = (67 + 674) / 2.0, y_middle = (62 + 652) / 2.0;
    ck_assert_msg(fabs(x - x_middle) < 6 && fabs(y - y_middle) < 6, "at %g %g", x, y);
    cairo_surface_destroy(surface);
}

TEST(layouts_have_east_right_and_north_up)
{
    grove_picture picture = GROVE_PICTURE(.what = "layout");
    double x1, y1, x2, y2, x3, y3;

    /* at longitude 0, latitude 0: y is east, z is north; one station lies apart */
    write_text("east.array",
               "6378137 0 0 25 A\n6378137 1000 0 25 B\n6378137 0 300 25 C\n6378137 0 -300 25 D\n");
    write_text("north.array",
               "6378137 0 0 25 A\n6378137 0 1000 25 B\n6378137 300 0 25 C\n6378137 -300 0 25 D\n");
    write_text("west.array",
               "6378137 0 0 25 A\n6378137 -1000 0 25 B\n6378137 0 300 25 C\n6378137 0 -300 25 D\n");
    const char *names[] = {"east.array", "north.array", "west.array"};
    double *x[] = {&x1, &x2, &x3}, *y[] = {&y1, &y2, &y3};
    for (int k = 0; k < 3; k++) {
        cairo_surface_t *surface = draw_png(names[k], &picture);
        ck_assert_int_gt(middle(surface, is_point, 1, x[k], y[k]), 20);
        cairo_surface_destroy(surface);
    }
    /* three of four points are together on the other side of the frame's middle */
    ck_assert(x1 < 370 - 50);
    ck_assert(x3 > 370 + 50);
    ck_assert(y2 > 357 + 50);
    ck_assert(fabs(y1 - y3) < 2);
}

TEST(charts_of_visibilities_are_drawn)
{
    static const char *const names[] = {"amplitude-time", "phase-time",       "amplitude-freq",
                                        "phase-freq",     "amplitude-uvdist", "phase-uvdist"};

    simulate("charts.ms", 10, 2);
    for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
        grove_picture picture = GROVE_PICTURE(.what = names[k]);
        cairo_surface_t *surface = draw_png("charts.ms", &picture);
        ck_assert_int_eq(cairo_image_surface_get_width(surface), 900);
        cairo_surface_destroy(surface);
    }
}

/* Both columns on one scale: what is half is drawn half as high, in a panel of the same size. */
TEST(columns_side_by_side)
{
    grove_picture picture = GROVE_PICTURE(.what = "amplitude-time", .column = "DATA,CORRECTED_DATA",
                                          .baselines = "W02-W04");
    static dot left[MAX_DOTS], right[MAX_DOTS];

    simulate("two.ms", 0, 0);
    draw("two.ms", &picture);
    ck_assert_int_eq(panel_count, 4); /* XX and YY of both */
    for (int row = 0; row < 2; row++) {
        const panel *one = &panels[2 * row], *two = one + 1;
        scale y = y_scale(2 * row, "2.0", "3.0", 2, 3),
              z = y_scale(2 * row + 1, "2.0", "3.0", 2, 3);
        int count = find_dots(2 * row, "#0072b2", false, left);
        ck_assert(one->width == two->width && one->height == two->height && one->y == two->y);
        ck_assert_int_gt(count, 100);
        ck_assert_int_eq(find_dots(2 * row + 1, "#0072b2", false, right), count);
        for (int i = 0; i < count; i++) {
            ck_assert_double_eq_tol(y_of(&y, 2 * row, left[i]), 3, 0.02);
            ck_assert_double_eq_tol(y_of(&z, 2 * row + 1, right[i]), 1.5, 0.02);
            ck_assert_double_eq_tol(left[i].x - one->x, right[i].x - two->x, 0.02);
        }
    }
    ck_assert_ptr_nonnull(strstr(svg, ">two.ms: amplitude against time, DATA<"));
    ck_assert_ptr_nonnull(strstr(svg, ">two.ms: amplitude against time, CORRECTED_DATA<"));
}

/* The colours of both images have one range: 3 Jy is hot, 1.5 Jy is not. */
TEST(images_side_by_side)
{
    grove_picture picture =
        GROVE_PICTURE(.what = "image", .pixels = 64, .column = "CORRECTED_DATA,DATA");
    double x, y;

    simulate("two.ms", 0, 0);
    cairo_surface_t *surface = draw_png("two.ms", &picture);
    ck_assert_int_eq(cairo_image_surface_get_width(surface), 1600);
    ck_assert_int_eq(middle(surface, is_hot, 0.44, &x, &y), 0);
    int bar = middle(surface, is_hot, 0.5, &x, &y);
    ck_assert_int_gt(bar, 100);
    ck_assert_int_gt(middle(surface, is_hot, 0.94, &x, &y), bar + 20);
    cairo_surface_destroy(surface);
    picture.column = "DATA,MODEL_DATA";
    ck_assert_int_ne(grove_library_plot(library, "two.ms", &picture, "x.png", error), 0);
    ck_assert_ptr_nonnull(strstr(grove_error_message(error, 0), "has no column MODEL_DATA"));
    grove_error_clear(error);
    picture.column = "DATA,DATA,DATA";
    ck_assert_int_ne(grove_library_plot(library, "two.ms", &picture, "x.png", error), 0);
    ck_assert_ptr_nonnull(strstr(grove_error_message(error, 0), "or two side by side"));
}

SUITE(60, picture_begin, picture_end)
