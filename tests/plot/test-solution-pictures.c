/* Pictures of solution tables: where each number is drawn, read from the SVG file by the labels of
 * its axes, against the formulas that the tables were written from. */
#include "picture-testing.h"
#include "tests/common/hdf5-testing.h"
#include "tests/common/suite.h"

#include <cairo.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void setup(void)
{
    picture_begin();
    hdf5_begin("gains.h5");
}

/* ---- tables ---- */

enum { TIMES = 30, FREQS = 12 };
#define START 4871282400.0 /* 14:00 */
static const char *const xx = "#0072b2", *const yy = "#d55e00";
static const int station_of[HDF5_STATIONS] = {4, 0, 3, 1, 2}; /* in the order of the file */
static double times[TIMES], freqs[FREQS];

static double wrapped(double degrees)
{
    return degrees - 360 * round(degrees / 360);
}

/* Many turns, as they are written. */
static double phase(const double at[4], int e)
{
    return 0.9 * at[2] + 0.002 * (at[2] + 1) * (at[0] - START) + 0.4 * e + 2 * at[3];
}

static double amplitude(const double at[4], int e)
{
    return 1 + 0.1 * at[2] + 0.05 * e + 2e-4 * (at[0] ? at[0] - START : 0) +
           (at[1] ? (at[1] - 1.4e9) / 1e8 : 0);
}

/* Nothing of P1; nothing of P3 at three times. */
static double weight(const double at[4], int e)
{
    bool hidden = at[2] == 3 && e == 1 && at[0] > START + 1000 && at[0] < START + 1400;

    return at[2] != 1 && !hidden;
}

static hdf5_soltab table_of(const char *path, const char *title, const char *axes)
{
    for (int i = 0; i < TIMES; i++)
        times[i] = START + 120 * i;
    for (int k = 0; k < FREQS; k++)
        freqs[k] = 1.4e9 + 1e7 * k;
    return (hdf5_soltab){.path = path,
                         .title = title,
                         .axes = axes,
                         .times = TIMES,
                         .freqs = FREQS,
                         .time = times,
                         .freq = freqs,
                         .pol = "XX YY",
                         .value = strcmp(title, "phase") ? amplitude : phase};
}

/* ---- against time, frequency, station ---- */

/* All dots of station k in order of time; `reference`: in the order of the file, or -1. */
static void check_phases(int k, int e, int reference, const scale *x, const scale *y)
{
    dot dots[MAX_DOTS];
    int count = find_dots(k, e ? yy : xx, false, dots), n = 0;

    for (int i = 0; i < TIMES; i++) {
        double at[] = {times[i], 0, station_of[k], 0}, angle = phase(at, e);
        if (!(weight(at, e) > 0))
            continue;
        at[2] = reference < 0 ? 0 : station_of[reference];
        angle = wrapped((angle - (reference < 0 ? 0 : phase(at, e))) * 180 / M_PI);
        ck_assert_int_lt(n, count);
        ck_assert_msg(fabs(x_of(x, k, dots[n]) - times[i]) < 5, "station %d, %d", k, i);
        ck_assert_msg(fabs(wrapped(y_of(y, k, dots[n]) - angle)) < 0.6,
                      "station %d, %d: %g, not %g", k, i, y_of(y, k, dots[n]), angle);
        ck_assert(fabs(y_of(y, k, dots[n])) < 180.6);
        n++;
    }
    ck_assert_int_eq(n, count);
}

TEST(phases_against_time)
{
    hdf5_soltab table = table_of("sol000/phase000", "phase", "time,ant,pol");
    grove_picture picture = GROVE_PICTURE(.what = "phase-time");

    table.weight = weight;
    hdf5_put_table(&table);
    hdf5_finish();
    draw("gains.h5", &picture);
    ck_assert_int_eq(panel_count, HDF5_STATIONS);
    scale x = x_scale(3, "14:20", "14:40", START + 1200, START + 2400);
    scale y = y_scale(0, "−90", "90", -90, 90);
    for (int k = 0; k < HDF5_STATIONS; k++)
        for (int e = 0; e < 2; e++)
            check_phases(k, e, -1, &x, &y);
    ck_assert_ptr_nonnull(strstr(svg, ">no solutions<"));
    ck_assert_ptr_nonnull(strstr(svg, "sol000/phase000, 21 % flagged<"));

    picture.reference = "P2";
    draw("gains.h5", &picture);
    y = y_scale(0, "−90", "90", -90, 90);
    for (int k = 0; k < HDF5_STATIONS; k++)
        for (int e = 0; e < 2; e++)
            check_phases(k, e, 4, &x, &y);
    ck_assert_ptr_nonnull(strstr(svg, "relative to P2"));
}

/* Bars reach from the number less its error to the number and its error. */
TEST(amplitudes_have_errors)
{
    hdf5_soltab table = table_of("sol000/amplitude000", "amplitude", "time,ant,pol");
    hsize_t size[] = {TIMES, HDF5_STATIONS, 2};
    double errors[TIMES * HDF5_STATIONS * 2];
    grove_picture picture = GROVE_PICTURE(.what = "amplitude-time", .stations = "P0,P2");
    dot dots[MAX_DOTS], ends[MAX_DOTS];

    for (int n = 0; n < TIMES * HDF5_STATIONS * 2; n++)
        errors[n] = 0.02 + 0.01 * (n % 2);
    hdf5_put_table(&table);
    hdf5_put_text(hdf5_put("sol000/amplitude000/error", H5T_NATIVE_DOUBLE, 3, size, errors), "AXES",
                  "time,ant,pol");
    hdf5_finish();
    draw("gains.h5", &picture);
    ck_assert_int_eq(panel_count, 2);
    scale y = y_scale(0, "1.2", "1.4", 1.2, 1.4);
    for (int k = 0; k < 2; k++)
        for (int e = 0; e < 2; e++) {
            int count = find_dots(k, e ? yy : xx, false, dots);
            ck_assert_int_eq(count, TIMES);
            ck_assert_int_eq(find_dots(k, e ? "#f2c6a3" : "#a6cfe6", true, ends), 2 * TIMES);
            for (int i = 0; i < TIMES; i++) {
                double at[] = {times[i], 0, k ? 2 : 0, 0}, wanted = amplitude(at, e);
                double by = 0.02 + 0.01 * e;
                ck_assert_double_eq_tol(y_of(&y, k, dots[i]), wanted, 0.003);
                ck_assert_double_eq_tol(y_of(&y, k, ends[2 * i]), wanted - by, 0.003);
                ck_assert_double_eq_tol(y_of(&y, k, ends[2 * i + 1]), wanted + by, 0.003);
                ck_assert(dots[i].x == ends[2 * i].x && dots[i].x == ends[2 * i + 1].x);
            }
        }
}

static double with_outlier(const double at[4], int e)
{
    return at[2] == 3 && e == 0 && at[0] == times[5] ? 1e6 : amplitude(at, e);
}

/* One wild number does not flatten the others, and is told. */
TEST(outliers)
{
    hdf5_soltab table = table_of("sol000/amplitude000", "amplitude", "time,ant,pol");
    grove_picture picture = GROVE_PICTURE(.what = "amplitude-time");
    dot dots[MAX_DOTS];

    table.value = with_outlier;
    hdf5_put_table(&table);
    hdf5_finish();
    draw("gains.h5", &picture);
    scale y = y_scale(0, "1.2", "1.4", 1.2, 1.4);
    ck_assert_int_eq(find_dots(2, xx, false, dots), TIMES);
    for (int i = 0; i < TIMES; i++) {
        double at[] = {times[i], 0, 3, 0};
        if (i == 5)
            ck_assert_double_lt(dots[i].y, panels[2].y);
        else
            ck_assert_double_eq_tol(y_of(&y, 2, dots[i]), amplitude(at, 0), 0.02);
    }
    ck_assert_ptr_nonnull(strstr(svg, "amplitude000, 1 point beyond the scale<"));
    picture.logarithmic = true;
    draw("gains.h5", &picture);
    ck_assert_ptr_null(strstr(svg, "beyond"));
    find_dots(2, xx, false, dots);
    ck_assert_double_gt(dots[5].y, panels[2].y);
}

TEST(amplitudes_against_frequency)
{
    hdf5_soltab table = table_of("sol000/amplitude000", "amplitude", "freq,ant,pol");
    grove_picture picture = GROVE_PICTURE(.what = "amplitude-freq", .correlations = "YY");
    dot dots[MAX_DOTS];

    hdf5_put_table(&table);
    hdf5_finish();
    draw("gains.h5", &picture);
    scale x = x_scale(3, "1420", "1480", 1.42e9, 1.48e9), y = y_scale(0, "1.0", "2.0", 1, 2);
    for (int k = 0; k < HDF5_STATIONS; k++) {
        ck_assert_int_eq(find_dots(k, xx, false, dots), 0);
        ck_assert_int_eq(find_dots(k, yy, false, dots), FREQS);
        for (int f = 0; f < FREQS; f++) {
            double at[] = {0, freqs[f], station_of[k], 0};
            ck_assert_double_eq_tol(x_of(&x, k, dots[f]), freqs[f], 3e5);
            ck_assert_double_eq_tol(y_of(&y, k, dots[f]), amplitude(at, 1), 0.01);
        }
    }
}

/* Without time and frequency: one chart, in which the stations have their names. */
TEST(delays_against_station)
{
    hdf5_soltab table = table_of("sol000/clock000", "clock", "ant,pol");
    grove_picture picture = GROVE_PICTURE(.what = "clock-station", .reference = "P0");
    dot dots[2][MAX_DOTS];

    hdf5_put_table(&table); /* seconds */
    hdf5_finish();
    draw("gains.h5", &picture);
    ck_assert_int_eq(panel_count, 1);
    ck_assert_ptr_nonnull(strstr(svg, ">clock delay (ns)  ×10⁶</text>"));
    scale y = y_scale(0, "100", "300", 100e6, 300e6);
    for (int e = 0; e < 2; e++)
        ck_assert_int_eq(find_dots(0, e ? yy : xx, false, dots[e]), HDF5_STATIONS);
    for (int k = 0; k < HDF5_STATIONS; k++) {
        char name[] = {'P', (char)('0' + station_of[k]), 0};
        double middle = (dots[0][k].x + dots[1][k].x) / 2;
        ck_assert_double_eq_tol(find_label(name, 0).x, middle, 0.5);
        ck_assert(dots[0][k].x < dots[1][k].x - 5);
        for (int e = 0; e < 2; e++) /* less that of P0, in ns */
            ck_assert_double_eq_tol(y_of(&y, 0, dots[e][k]), 1e8 * station_of[k], 2e6);
    }
}

/* ---- waterfalls ---- */

static double luminance(cairo_surface_t *picture, double x, double y, unsigned *colour)
{
    memcpy(colour,
           cairo_image_surface_get_data(picture) +
               (int)y * cairo_image_surface_get_stride(picture) + 4 * (int)x,
           4);
    return 0.2126 * pow((*colour >> 16 & 255) / 255.0, 2.2) +
           0.7152 * pow((*colour >> 8 & 255) / 255.0, 2.2) +
           0.0722 * pow((*colour & 255) / 255.0, 2.2);
}

/* Greater numbers are lighter; a gap in time is as wide as it lasted, and grey. */
TEST(waterfalls)
{
    hdf5_soltab table = table_of("sol000/amplitude000", "amplitude", "time,freq,ant,pol");
    grove_picture picture = GROVE_PICTURE(.what = "amplitude-waterfall");
    double light[HDF5_STATIONS][TIMES][FREQS];
    unsigned colour;

    for (int i = TIMES / 2; i < TIMES; i++)
        times[i] += 10 * 120;
    table.weight = weight;
    hdf5_put_table(&table);
    hdf5_finish();
    draw("gains.h5", &picture);
    ck_assert_int_eq(panel_count, HDF5_STATIONS);
    grove_library_plot(library, "gains.h5", &picture, "picture.png", error);
    cairo_surface_t *surface = cairo_image_surface_create_from_png("picture.png");
    for (int k = 0; k < HDF5_STATIONS; k++)
        for (int i = 0; i < TIMES + 10; i++)
            for (int f = 0; f < FREQS; f++) {
                const panel *p = &panels[k];
                double here = luminance(surface, p->x + p->width * (i + 0.5) / (TIMES + 10),
                                        p->y + p->height * (1 - (f + 0.5) / FREQS), &colour);
                bool gap = i >= TIMES / 2 && i < TIMES / 2 + 10;
                if (gap || station_of[k] == 1)
                    ck_assert_uint_eq(colour & 0xffffff, 0xd8d8d8);
                else
                    light[k][i < TIMES / 2 ? i : i - 10][f] = here;
            }
    for (int k = 0; k < HDF5_STATIONS; k++)
        for (int i = 1; i < TIMES && station_of[k] != 1; i++)
            for (int f = 1; f < FREQS; f++) {
                ck_assert(light[k][i][f] >= light[k][i - 1][f] - 0.004);
                ck_assert(light[k][i][f] > light[k][i][f - 1]);
            }
    ck_assert_double_gt(light[0][TIMES / 2][3], light[1][TIMES / 2][3] + 0.02);
    cairo_surface_destroy(surface);
}

/* ---- directions ---- */

TEST(directions)
{
    static const char *const names[] = {"[near]", "[far]", "[pointing]"};
    hdf5_soltab table = table_of("sol000/phase000", "phase", "time,ant,dir,pol");
    grove_picture picture = GROVE_PICTURE(.what = "phase-time", .direction = "far");
    dot dots[MAX_DOTS];

    table.dirs = 3;
    table.dir = names;
    hdf5_put_table(&table);
    hdf5_finish();
    for (int i = 0; i < 2; i++) {
        draw("gains.h5", &picture);
        scale y = y_scale(0, "−90", "90", -90, 90);
        ck_assert_int_eq(find_dots(4, xx, false, dots), TIMES);
        for (int n = 0; n < TIMES; n++) {
            double at[] = {times[n], 0, 2, i ? 0 : 1};
            double wanted = wrapped(phase(at, 0) * 180 / M_PI);
            ck_assert(fabs(wrapped(y_of(&y, 4, dots[n]) - wanted)) < 0.6);
        }
        ck_assert_ptr_nonnull(strstr(svg, i ? "direction near of 3" : "direction far of 3"));
        ck_assert_int_eq((int)grove_error_warnings(error), i);
        picture.direction = NULL; /* the first, and a message */
    }
    ck_assert_ptr_nonnull(strstr(suite_messages(error),
                                 "has 3 directions: near, far, pointing; the first is drawn; "
                                 "--direction names another"));
}

SUITE(60, setup, picture_end)
