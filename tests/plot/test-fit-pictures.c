/* Pictures of how fits went; of tables of many stations; what is refused. */
#include "base/text.h"
#include "picture-testing.h"
#include "tests/common/hdf5-testing.h"
#include "tests/common/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define START 4871282400.0 /* 14:00 */
enum { TIMES = 20, BANDS = 2 };
static double times[TIMES], freqs[] = {1.40e9, 1.45e9};

static void setup(void)
{
    picture_begin();
    hdf5_begin("gains.h5");
    for (int i = 0; i < TIMES; i++)
        times[i] = START + 180 * i;
}

static double one(const double at[4], int e)
{
    (void)at, (void)e;
    return 1;
}

static void put_table(const char *path, const char *title, const char *parm)
{
    hdf5_soltab table = {.path = path,
                         .title = title,
                         .axes = "time,freq,ant,pol",
                         .times = TIMES,
                         .freqs = BANDS,
                         .time = times,
                         .freq = freqs,
                         .pol = "XX YY",
                         .value = one};

    hdf5_put_table(&table);
    if (parm)
        hdf5_put_text(H5Gopen2(hdf5_file, path, H5P_DEFAULT), "GROVE_PARM", parm);
}

static double chi2_of(int time, int band)
{
    return 100 + 5 * time - 30 * band;
}

/* Each word in turn; a number that has none. */
static int outcome_of(int time, int band)
{
    return time == 7 ? 9 : (time + 3 * band) % 4;
}

static int iterations_of(int time, int band)
{
    return 3 + time % 5 + 2 * band;
}

static void put_fit(const char *path)
{
    hsize_t size[] = {TIMES, BANDS};
    double chi2[TIMES][BANDS];
    int iterations[TIMES][BANDS], outcome[TIMES][BANDS];
    char name[64];

    for (int i = 0; i < TIMES; i++)
        for (int b = 0; b < BANDS; b++) {
            chi2[i][b] = i == 4 ? NAN : chi2_of(i, b);
            iterations[i][b] = iterations_of(i, b);
            outcome[i][b] = outcome_of(i, b);
        }
    snprintf(name, sizeof(name), "%s/chi2", path);
    hdf5_put_text(hdf5_put(name, H5T_NATIVE_DOUBLE, 2, size, chi2), "AXES", "time,freq");
    snprintf(name, sizeof(name), "%s/iterations", path);
    hdf5_put_text(hdf5_put(name, H5T_NATIVE_INT, 2, size, iterations), "AXES", "time,freq");
    snprintf(name, sizeof(name), "%s/outcome", path);
    hid_t made = hdf5_put(name, H5T_NATIVE_INT, 2, size, outcome);
    hdf5_put_text(made, "AXES", "time,freq");
    hdf5_put_text(made, "NAMES", "running,converged,stalled,not enough data");
}

TEST(chi2_of_each_band)
{
    static const char *const colours[] = {"#0072b2", "#d55e00"};
    grove_picture picture = GROVE_PICTURE(.what = "chi2-time");
    dot dots[MAX_DOTS];

    put_table("sol000/phase000", "phase", "G");
    put_fit("sol000/phase000");
    hdf5_finish();
    draw("gains.h5", &picture);
    ck_assert_int_eq(panel_count, 1);
    scale x = x_scale(0, "14:10", "14:40", START + 600, START + 2400);
    scale y = y_scale(0, "100", "160", 100, 160);
    for (int b = 0; b < BANDS; b++) {
        int n = 0;
        ck_assert_int_eq(find_dots(0, colours[b], false, dots), TIMES - 1);
        for (int i = 0; i < TIMES; i++) {
            if (i == 4)
                continue;
            ck_assert_double_eq_tol(x_of(&x, 0, dots[n]), times[i], 5);
            ck_assert_double_eq_tol(y_of(&y, 0, dots[n++]), chi2_of(i, b), 0.5);
        }
    }
    ck_assert_ptr_nonnull(strstr(svg, ">1400 MHz<"));
    ck_assert_ptr_nonnull(strstr(svg, ">1450 MHz<"));
}

/* Per degree of freedom, where the table has those: the numbers of messages. */
TEST(chi2_per_degree_of_freedom)
{
    grove_picture picture = GROVE_PICTURE(.what = "chi2-time");
    hsize_t size[] = {TIMES, BANDS};
    int64_t freedom[TIMES][BANDS];
    dot dots[MAX_DOTS];

    for (int i = 0; i < TIMES; i++)
        for (int b = 0; b < BANDS; b++)
            freedom[i][b] = i == 5 ? 0 : 50 + 10 * i;
    put_table("sol000/phase000", "phase", "G");
    put_fit("sol000/phase000");
    hdf5_put_text(
        hdf5_put("sol000/phase000/degrees_of_freedom", H5T_NATIVE_INT64, 2, size, freedom), "AXES",
        "time,freq");
    hdf5_finish();
    draw("gains.h5", &picture);
    ck_assert_ptr_nonnull(strstr(svg, ">chi-squared per degree of freedom<"));
    scale y = y_scale(0, "1.0", "1.8", 1, 1.8);
    ck_assert_int_eq(find_dots(0, "#0072b2", false, dots), TIMES - 2);
    for (int i = 0, n = 0; i < TIMES; i++)
        if (i != 4 && i != 5)
            ck_assert_double_eq_tol(y_of(&y, 0, dots[n++]), chi2_of(i, 0) / (50 + 10 * i), 0.01);
}

/* Domains by their outcomes: success is green; bands of one time stand beside each other. */
TEST(convergence_by_outcome)
{
    static const struct {
        const char *colour, *word;
        int outcome;
    } kinds[] = {{"#d55e00", "running", 0},
                 {"#009e73", "converged", 1},
                 {"#cc79a7", "stalled", 2},
                 {"#e69f00", "not enough data", 3}};
    grove_picture picture = GROVE_PICTURE(.what = "convergence");
    dot dots[MAX_DOTS];
    int all = 0;

    put_table("sol000/phase000", "phase", "G");
    put_fit("sol000/phase000");
    hdf5_finish();
    draw("gains.h5", &picture);
    scale x = x_scale(0, "14:10", "14:40", START + 600, START + 2400);
    scale y = y_scale(0, "2", "8", 2, 8);
    for (int k = 0; k < 4; k++) {
        int count = find_dots(0, kinds[k].colour, false, dots), n = 0;
        for (int i = 0; i < TIMES; i++)
            for (int b = 0; b < BANDS; b++) {
                if (outcome_of(i, b) != kinds[k].outcome)
                    continue;
                ck_assert_int_lt(n, count);
                ck_assert_double_eq_tol(y_of(&y, 0, dots[n]), iterations_of(i, b), 0.05);
                ck_assert_double_eq_tol(x_of(&x, 0, dots[n]), times[i] + (b ? 31.5 : -31.5), 5);
                n++;
            }
        ck_assert_int_eq(n, count);
        char *label = suite_text(">%s (%d)<", kinds[k].word, n);
        ck_assert_msg(strstr(svg, label) != NULL, "no %s", label);
        all += n;
    }
    ck_assert_int_eq(all, BANDS * (TIMES - 1));
    ck_assert_ptr_nonnull(strstr(svg, ">other (2)<"));
}

/* ---- which tables ---- */

static void check_pictures(const char *dataset, const char *wanted)
{
    char *list = grove_library_pictures(library, "gains.h5", dataset, error);

    ck_assert_ptr_nonnull(list);
    ck_assert_str_eq(list, wanted);
    free(list);
}

TEST(pictures_that_suit)
{
    put_table("sol000/phase000", "phase", "G");
    put_table("sol000/phase001", "phase", "B");
    put_table("sol000/tec000", "tec", "T");
    put_table("sol000/error000", "error", NULL); /* one that only DP3 or LoSoTo has */
    put_fit("sol000/phase001");
    hdf5_finish();
    check_pictures(NULL, "phase-time,tec-time,value-time,chi2-time,convergence");
    check_pictures("sol000/tec000", "tec-time");
    check_pictures("phase001", "phase-time,chi2-time,convergence");
    /* which of two: the first, and a message */
    draw("gains.h5", &GROVE_PICTURE(.what = "phase-time"));
    ck_assert_ptr_nonnull(strstr(svg, "sol000/phase000, parm G"));
    ck_assert_ptr_nonnull(strstr(suite_messages(error),
                                 "2 tables have this: sol000/phase000 (G), sol000/phase001 "
                                 "(B); the first is drawn; --dataset names another"));
    draw("gains.h5", &GROVE_PICTURE(.what = "phase-time", .dataset = "phase001"));
    ck_assert_ptr_nonnull(strstr(svg, "sol000/phase001, parm B"));
}

/* What varies with time and frequency is a waterfall, from three of each on. */
TEST(waterfalls_of_few_channels)
{
    static const double six[] = {1.1e9, 1.2e9, 1.3e9, 1.4e9, 1.5e9, 1.6e9};
    static const struct {
        const char *title, *wanted;
        int times, freqs;
    } tables[] = {{"amplitude", "amplitude-waterfall", 3, 6},
                  {"phase", "phase-waterfall", TIMES, 3},
                  {"clock", "clock-freq", 2, 6},
                  {"tec", "tec-time", TIMES, 2}};

    for (int k = 0; k < 4; k++) {
        hdf5_put_table(&(hdf5_soltab){.path = suite_text("sol000/%s000", tables[k].title),
                                      .title = tables[k].title,
                                      .axes = "time,freq,ant",
                                      .times = tables[k].times,
                                      .freqs = tables[k].freqs,
                                      .time = times,
                                      .freq = six,
                                      .value = one});
    }
    hdf5_finish();
    for (int k = 0; k < 4; k++) {
        check_pictures(suite_text("%s000", tables[k].title), tables[k].wanted);
    }
}

/* ---- many stations ---- */

enum { STATIONS = 197, FEW = 6 };

/* Axes in another order than Grove's; numbers from `low`, of the first station, to `high`. */
static void put_many(const char *path, double low, double high)
{
    static double numbers[STATIONS][FEW];
    char names[STATIONS][16] = {{0}}, name[64];
    hsize_t size[] = {STATIONS, FEW};
    hid_t text = H5Tcopy(H5T_C_S1);

    H5Tset_size(text, 16);
    for (int p = 0; p < STATIONS; p++) {
        snprintf(names[p], 16, "S%03d", p);
        for (int i = 0; i < FEW; i++)
            numbers[p][i] = low + (high - low) * (p + 0.1 * i) / (STATIONS - 0.5);
    }
    snprintf(name, sizeof(name), "%s/val", path);
    hdf5_put_text(hdf5_put(name, H5T_NATIVE_DOUBLE, 2, size, numbers), "AXES", "ant,time");
    snprintf(name, sizeof(name), "%s/ant", path);
    hdf5_put(name, text, 1, size, names);
    snprintf(name, sizeof(name), "%s/time", path);
    hdf5_put_numbers(name, FEW, times);
}

TEST(panels_of_many_stations)
{
    grove_picture picture = GROVE_PICTURE(.what = "amplitude-time");
    dot dots[MAX_DOTS];

    put_many("sol000/amplitude000", 1, 197.5);
    hdf5_finish();
    draw("gains.h5", &picture);
    ck_assert_int_eq(panel_count, STATIONS);
    double last = 1e9;
    for (int k = 0; k < STATIONS; k++) {
        ck_assert_ptr_nonnull(strstr(svg, suite_text(">S%03d</text>", k)));
        ck_assert(panels[k].width >= 100 && panels[k].height >= 50);
        for (int i = 0; i < k; i++) /* side by side, or one below the other with room for a title */
            ck_assert(fabs(panels[k].x - panels[i].x) > panels[k].width ||
                      fabs(panels[k].y - panels[i].y) > panels[k].height + 14);
        ck_assert_int_eq(find_dots(k, "#0072b2", false, dots), FEW);
        double share = (panels[k].y + panels[k].height - dots[0].y) / panels[k].height;
        ck_assert_double_eq_tol(share, 0.04 / 1.08 + k / (196.5 * 1.08), 0.01);
        last = panels[k].y + panels[k].height;
    }
    const char *size = strstr(svg, " height=\"");
    ck_assert_double_lt(last + 40, strtod(size + 9, NULL));
}

/* Small panels of phases have at least two labels, which tell the scale. */
TEST(labels_of_small_panels)
{
    grove_picture picture = GROVE_PICTURE(.what = "phase-time");
    dot dots[MAX_DOTS];

    put_many("sol000/phase000", -20 * M_PI / 180, 150 * M_PI / 180);
    hdf5_finish();
    draw("gains.h5", &picture);
    ck_assert_int_eq(panel_count, STATIONS);
    scale y = y_scale(0, "0", "90", 0, 90);
    for (int k = 0; k < 15; k++) { /* a row */
        ck_assert_int_eq(find_dots(k, "#0072b2", false, dots), FEW);
        ck_assert_double_eq_tol(y_of(&y, k, dots[0]), -20 + 170 * k / 196.5, 3);
    }
}

/* ---- what is refused ---- */

static void refused(const grove_picture *picture, const char *message)
{
    grove_error_clear(error);
    ck_assert_int_ne(grove_library_plot(library, "gains.h5", picture, "no.svg", error), 0);
    char *text = suite_messages(error);
    ck_assert_msg(strstr(text, message) != NULL, "%s, not: %s", text, message);
    ck_assert_uint_eq(grove_error_count(error), 1);
    ck_assert_int_ne(access("no.svg", F_OK), 0);
}

#define REFUSED(message, ...) refused(&GROVE_PICTURE(__VA_ARGS__), message)

static double nothing(const double at[4], int e)
{
    (void)at, (void)e;
    return 0;
}

/* All but P1. */
static double without_one(const double at[4], int e)
{
    (void)e;
    return at[2] != 1;
}

TEST(reference_without_solutions)
{
    hdf5_soltab table = {.path = "sol000/phase000",
                         .title = "phase",
                         .axes = "time,freq,ant",
                         .times = TIMES,
                         .freqs = BANDS,
                         .time = times,
                         .freq = freqs,
                         .value = one,
                         .weight = without_one};

    hdf5_put_table(&table);
    hdf5_finish();
    for (int k = 0; k < 2; k++) {
        const char *what = k ? "phase-waterfall" : "phase-time";
        REFUSED("gains.h5: the reference P1 has no solutions in sol000/phase000 where others have "
                "some; --reference names another",
                .what = what, .reference = "P1");
        REFUSED("gains.h5: all of sol000/phase000 is flagged", .what = what, .reference = "P0",
                .stations = "P1");
        grove_error_clear(error);
        draw("gains.h5", &GROVE_PICTURE(.what = what, .reference = "P0"));
    }
}

TEST(faults)
{
    hdf5_soltab flagged = {.path = "sol000/tec000",
                           .title = "tec",
                           .axes = "time,ant",
                           .times = TIMES,
                           .time = times,
                           .value = one,
                           .weight = nothing};
    hsize_t size[] = {TIMES, BANDS, HDF5_STATIONS};
    double numbers[TIMES * BANDS * HDF5_STATIONS] = {0};

    put_table("sol000/phase000", "phase", NULL);
    hdf5_put_table(&flagged);
    flagged.path = "sol000/clock000";
    flagged.title = "clock";
    flagged.weight = NULL;
    hdf5_put_table(&flagged);
    hdf5_put_text(hdf5_put("sol000/phase000/chi2", H5T_NATIVE_DOUBLE, 3, size, numbers), "AXES",
                  "time,freq,ant");
    hdf5_put_text(hdf5_put("sol000/clock000/error", H5T_NATIVE_DOUBLE, 1, size, numbers), "AXES",
                  "time");
    hdf5_finish();
    REFUSED("phase000 has no station P9; did you mean P", .what = "phase-time",
            .stations = "P0,P9");
    REFUSED("phase000 has no station x; it has P4, P0, P3, P1, P2", .what = "phase-time",
            .reference = "x");
    REFUSED("no polarisation RR; it has XX, YY", .what = "phase-time", .correlations = "RR");
    REFUSED("phase000 does not vary with direction; leave out", .what = "phase-time",
            .direction = "a");
    REFUSED("has no table of amplitude; it has sol000/clock000, sol000/phase000, sol000/tec000",
            .what = "amplitude-time");
    REFUSED("has no table phase002 of phase; it has sol000/c", .what = "phase-time",
            .dataset = "phase002");
    REFUSED("has no table with the dataset iterations; it has", .what = "convergence");
    REFUSED("phase000/chi2 has other axes than time and freq", .what = "chi2-time");
    REFUSED("gains.h5: --column is for Measurement Sets, but this is a file of solution tables",
            .what = "phase-time", .column = "DATA");
    REFUSED("--baselines is for Measurement Sets, but", .what = "tec-time", .baselines = "P0-P1");
    REFUSED("--field is for Measurement Sets, but", .what = "convergence", .field = 1);
    REFUSED("--spectral-window is for", .what = "phase-time", .spectral_window = 1);
    REFUSED("--size is for Measurement Sets, but", .what = "chi2-time", .pixels = 32);
    REFUSED("--cell is for Measurement Sets, but", .what = "phase-time", .cell = 1);
    REFUSED("all of sol000/tec000 is flagged", .what = "tec-time");
    REFUSED("tec000 does not vary with frequency; --what tec-time draws it", .what = "tec-freq");
    REFUSED("tec000 does not vary with frequency; a waterfall", .what = "tec-waterfall");
    REFUSED("clock000: its errors have another shape", .what = "clock-time");
    REFUSED("solution tables have no picture 'uv'; that needs a Measurement Set", .what = "uv");
    FILE *file = fopen("gains.h5", "r+");
    ck_assert_ptr_nonnull(file);
    fseek(file, 0, SEEK_SET);
    fputs("damaged", file);
    fclose(file);
    REFUSED("gains.h5: it is not an HDF5 file, or it is damaged", .what = "phase-time");
    ck_assert_int_eq(remove("gains.h5"), 0);
    REFUSED("gains.h5: there is no such file", .what = "phase-time");
}

SUITE(60, setup, picture_end)
