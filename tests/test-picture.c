/* Pictures of Measurement Sets: the sky with east to the left and north up, in one scale, stations
 * with east to the right. */
#include "grove.h"

#include <cairo.h>
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];
static grove_library *library;
static grove_error *error;

static void setup(void)
{
    strcpy(folder, "/tmp/grove-test-picture-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
    library = grove_library_new(NULL);
    error = grove_error_new();
}

static void teardown(void)
{
    char command[128];

    grove_error_free(error);
    grove_library_free(library);
    ck_assert_int_eq(chdir("/"), 0);
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    ck_assert_int_eq(system(command), 0);
}

static void no_error(const char *what)
{
    char *text = grove_error_text(error);

    ck_assert_msg(!grove_error_count(error), "%s: %s", what, text);
    free(text);
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

/* A set with one source, `dec` minutes of arc north of the phase centre and `ra` seconds of right
 * ascension east of it, on the celestial equator. */
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
             "w = sink(V, obs, to=\"%s\")\n",
             name);
    grove_tree *tree = grove_library_parse(library, text, "text.tree", NULL, 0, error);
    no_error("parse");
    grove_session *session = grove_session_new(tree, NULL, error);
    grove_session_run(session);
    no_error("run");
    grove_session_free(session);
    grove_tree_free(tree);
}

static cairo_surface_t *draw(const char *data, const grove_picture *picture)
{
    grove_library_plot(library, data, picture, "picture.png", error);
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
    grove_picture picture = {.what = "image",
                             .size = 64,
                             .logarithmic = logarithmic,
                             .cell = 15 * 3.14159265358979 / 180 / 3600};
    char name[32];

    snprintf(name, sizeof(name), "%d-%d-%d.ms", ra, dec, logarithmic);
    simulate(name, ra, dec);
    cairo_surface_t *surface = draw(name, &picture);
    ck_assert_int_gt(middle(surface, is_hot, 0.885, x, y), 20);
    cairo_surface_destroy(surface);
}

START_TEST(images_have_east_left_and_north_up)
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
END_TEST

START_TEST(uv_coverage_is_symmetric)
{
    grove_picture picture = {.what = "uv"};
    double x, y;

    simulate("uv.ms", 0, 0);
    cairo_surface_t *surface = draw("uv.ms", &picture);
    ck_assert_int_gt(middle(surface, is_point, 1, &x, &y), 2000);
    double x_middle = (67 + 674) / 2.0, y_middle = (62 + 652) / 2.0;
    ck_assert_msg(fabs(x - x_middle) < 6 && fabs(y - y_middle) < 6, "at %g %g", x, y);
    cairo_surface_destroy(surface);
}
END_TEST

START_TEST(layouts_have_east_right_and_north_up)
{
    grove_picture picture = {.what = "layout"};
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
        cairo_surface_t *surface = draw(names[k], &picture);
        ck_assert_int_gt(middle(surface, is_point, 1, x[k], y[k]), 20);
        cairo_surface_destroy(surface);
    }
    /* three of four points are together on the other side of the frame's middle */
    ck_assert(x1 < 370 - 50);
    ck_assert(x3 > 370 + 50);
    ck_assert(y2 > 357 + 50);
    ck_assert(fabs(y1 - y3) < 2);
}
END_TEST

START_TEST(charts_of_visibilities_are_drawn)
{
    static const char *const names[] = {"amplitude-time", "phase-time",       "amplitude-freq",
                                        "phase-freq",     "amplitude-uvdist", "phase-uvdist"};

    simulate("charts.ms", 10, 2);
    for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
        grove_picture picture = {.what = names[k]};
        cairo_surface_t *surface = draw("charts.ms", &picture);
        ck_assert_int_eq(cairo_image_surface_get_width(surface), 900);
        cairo_surface_destroy(surface);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("picture");
    TCase *test = tcase_create("picture");

    tcase_add_checked_fixture(test, setup, teardown);
    tcase_set_timeout(test, 60);
    tcase_add_test(test, images_have_east_left_and_north_up);
    tcase_add_test(test, uv_coverage_is_symmetric);
    tcase_add_test(test, layouts_have_east_right_and_north_up);
    tcase_add_test(test, charts_of_visibilities_are_drawn);
    suite_add_tcase(suite, test);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
