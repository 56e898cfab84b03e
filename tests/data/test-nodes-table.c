/* table: files that the test writes against formulas, and those of save bit by bit. */
#include "config.h"

#include "tests/common/probe.h"

#include "base/file.h"
#include "base/text.h"
#include "nodes/common/npy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TESTING_FIXTURE(probe_begin(&t))

#define START (51544.5 * 86400)

/* A tree of `obs` and the line, with the test's folder for %s. */
static void tree(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void tree(const char *format, ...)
{
    grove_text text = {0};
    va_list args;

    grove_text_add(&text, "obs = probe()\n");
    va_start(args, format);
    grove_text_add_v(&text, format, args);
    va_end(args);
    testing_tree(&t, text.at);
    free(text.at);
}

/* Linear along time and along freq. */
static double complex formula(double time, double freq, int station)
{
    double x = (time - START) / 1000, y = (freq - 1.4e9) / 1e7;

    return (station + 1) * CMPLX(1 + 2 * x - 3 * y + 0.5 * x * y, x - y);
}

enum { KNOTS = 3 };
static const double times[KNOTS] = {START - 100, START + 900, START + 2500};
static const double freqs[KNOTS] = {1.39e9, 1.405e9, 1.42e9};

/* A table of the formula in which rows and stations stand in another order. */
static const char *write_table(const char *left_out)
{
    grove_text text = {0};

    grove_text_add(&text,
                   "# made by a test\nstation, freq (MHz), value_im, time (s), value_re\n\n");
    for (int n = 0; n < KNOTS * KNOTS * 5; n++) {
        int i = n * 7 % 45, p = i % 5, k = i / 5 % KNOTS, m = i / 15;
        double complex x = formula(times[m], freqs[k], p);
        char *row = suite_text("\"P%d\", %.17g, %.17g, %.17g, %.17g\n", p, freqs[k] / 1e6, cimag(x),
                               times[m], creal(x));
        if (!left_out || !strstr(row, left_out))
            grove_text_add(&text, "%s", row);
    }
    const char *path = testing_file(&t, "gains.csv", text.at);
    free(text.at);
    return path;
}

static double time_of(int i)
{
    return START + 600 * i;
}

static double freq_of(int k)
{
    return 1.4e9 + 2e6 * k;
}

TEST(linear)
{
    tree("g = table(\"%s\", obs=obs)\nx = 1 * g.value\n", write_table(NULL));
    testing_value x = testing_evaluate(&t, "x");
    int n = 0;

    ck_assert(x.axes == 3 && x.elements == 1);
    for (int i = 0; i < PROBE_TIMES; i++)
        for (int p = 0; p < PROBE_STATIONS; p++)
            for (int k = 0; k < PROBE_CHANNELS; k++, n++)
                ck_assert_msg(cabs(x.at[n] - formula(time_of(i), freq_of(k), p)) < 1e-11,
                              "%d %d %d: %g%+gi", i, p, k, creal(x.at[n]), cimag(x.at[n]));
    ck_assert_int_eq(x.cells, n);
}

static double nearest(const double *knots, double x)
{
    double found = knots[0];

    for (int i = 1; i < KNOTS; i++)
        found = fabs(knots[i] - x) < fabs(found - x) ? knots[i] : found;
    return found;
}

TEST(nearest_ones)
{
    unsigned char *flags;

    tree("g = table(\"%s\", obs=obs, interpolate=nearest)\nG[p] = g.value\nx = G[p] * "
         "obs.baseline\ny = 1 * G[q] * obs.data\nz = 1 * G\n",
         write_table(NULL));
    testing_value z = probe_session(&t, "z", NULL, &flags);
    int n = 0;

    for (int i = 0; i < PROBE_TIMES; i++)
        for (int p = 0; p < PROBE_STATIONS; p++)
            for (int k = 0; k < PROBE_CHANNELS; k++, n++)
                ck_assert(cabs(z.at[n] - formula(nearest(times, time_of(i)),
                                                 nearest(freqs, freq_of(k)), p)) < 1e-12);
}

/* A row that is missing flags what lies between its neighbours; beyond the file's range the edge
 * is taken, or all is flagged, or it is an error. */
TEST(missing_rows_and_times)
{
    static const char *const words[] = {"edge", "flag"};
    unsigned char *flags;
    const char *path = testing_file(&t, "short.csv",
                                    "time,station,value\n4453445400,P0,1\n4453445400,P1,2\n"
                                    "4453446600,P0,3\n4453446600,P1,nan\n4453446600,P2,5\n"
                                    "4453446600,P3,7\n");
    const char *said = testing_faults(
        &t, suite_text("obs = probe()\nx = 1 * table(\"%s\", obs=obs).value\n", path));

    ck_assert_msg(
        strstr(said, "time 4453444800 of 'obs' is outside the range of the file, from 4453445400 "
                     "to 4453446600; outside=edge takes the nearest, outside=flag flags"),
        "%s", said);
    for (int w = 0; w < 2; w++) {
        tree("x = 1 * table(\"%s\", obs=obs, outside=%s).value\n", path, words[w]);
        testing_value x = probe_session(&t, "x", NULL, &flags);
        ck_assert_int_eq(x.cells, PROBE_TIMES * PROBE_STATIONS);
        for (int i = 0; i < PROBE_TIMES; i++)
            for (int p = 0; p < PROBE_STATIONS; p++) {
                /* P0 1 to 3; P1 2 to flagged; P2 and P3 flagged at the first time */
                int at = i < 1 ? 1 : i > 3 ? 3 : i, n = i * PROBE_STATIONS + p;
                bool beyond = w == 1 && (i == 0 || i == 4);
                bool flagged = beyond || (p == 1 && at > 1) || (p > 1 && at < 3);
                double wanted = p == 0 ? at : p == 1 ? 2 : p == 2 ? 5 : 7;
                ck_assert_msg(flags[n] == flagged, "%s: flag of %d %d", words[w], i, p);
                ck_assert(flagged || x.at[n] == wanted);
            }
    }
}

/* Each column is a member, in its own unit; without an object the table's axes are its own. */
TEST(columns)
{
    const char *path = testing_file(&t, "c.csv",
                                    "station,delay (ns),phase (deg),J_re (Jy m^-1),J_im (Jy m^-1)\n"
                                    "A,1,180,1,2\nB,2.5,-90,3,4\n");
    const double pi = acos(-1);

    tree("g = table(\"%s\")\na = g.delay / 1s\nb = g.phase / 1rad\nc = g.J * 1m / 1Jy\n", path);
    testing_value a = testing_evaluate(&t, "a"), b = testing_evaluate(&t, "b");
    testing_value c = testing_evaluate(&t, "c");
    ck_assert(a.cells == 2 && cabs(a.at[1] - 2.5e-9) < 1e-24);
    ck_assert(cabs(b.at[0] - pi) < 1e-12 && cabs(b.at[1] + pi / 2) < 1e-12);
    ck_assert(c.at[0] == CMPLX(1, 2) && c.at[1] == CMPLX(3, 4));
    ck_assert_str_eq(c.axis[0]->labels[1], "B");
}

/* ---- what save writes ---- */

static const struct {
    const char *value;
    bool single; /* the run */
} saved[] = {
    {"1 * obs.data", true},
    {"2 * obs.data", false},
    {"1 / 3 * obs.data", false},
    {"exp(1i * obs.parallactic / 1rad)", true},
    {"1 * obs.uvw", false},
    {"diagonal(select(obs.data, element=XX), select(obs.data, element=YY))", true},
    {"obs.freq / 7", false},
    {"mean(obs.data)", true},
};
enum { SAVED = sizeof(saved) / sizeof(saved[0]) };

/* The same bits and flags come back, in files of both kinds. */
LOOP_TEST(round_trip, 0, 2 * SAVED)
{
    static const char *const ends[] = {"csv", "npy"};
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.double_precision = !saved[_i / 2].single, .tile_times = 2);
    const char *value = saved[_i / 2].value;
    unsigned char *first, *second;
    char *path = suite_text("%s/saved.%s", t.folder, ends[_i % 2]);

    tree("x = %s\nsave(x, to=\"%s\")\n", value, path);
    ck_assert_msg(!probe_run(&t, &options), "%s", grove_error_message(t.error, 0));
    testing_value x = probe_session(&t, "x", &options, &first);
    tree("y = 1 * table(\"%s\", obs=obs).value\n", path);
    testing_value y = probe_session(&t, "y", &options, &second);
    ck_assert(x.cells == y.cells && x.elements == y.elements && x.axes == y.axes);
    for (int64_t n = 0; n < x.cells * x.elements; n++) {
        ck_assert_msg(first[n] == second[n], "%s: flag %ld", value, (long)n);
        ck_assert_msg(first[n] ||
                          (creal(x.at[n]) == creal(y.at[n]) && cimag(x.at[n]) == cimag(y.at[n])),
                      "%s: number %ld: %.17g%+.17gi, not %.17g%+.17gi", value, (long)n,
                      creal(y.at[n]), cimag(y.at[n]), creal(x.at[n]), cimag(x.at[n]));
    }
}

/* A .npy file that others write, in both orders, without a file .axes. */
LOOP_TEST(foreign_npy, 0, 2)
{
    static const char header[] = "{'descr': '<i4', 'fortran_order': %s, 'shape': (5, 4), }";
    char bytes[256] = "\x93NUMPY\1\0", *path = suite_text("%s/f.npy", t.folder);
    int32_t numbers[20];

    for (int n = 0; n < 20; n++) /* 10 time + station */
        numbers[n] = _i ? n / 5 + 10 * (n % 5) : 10 * (n / 4) + n % 4;
    int length = snprintf(bytes + 10, 100, header, _i ? "True" : "False");
    bytes[8] = (char)length;
    memcpy(bytes + 10 + length, numbers, sizeof(numbers));
    FILE *file = fopen(path, "wb");
    ck_assert(file && fwrite(bytes, 1, 10 + (size_t)length + sizeof(numbers), file) > 80);
    ck_assert_int_eq(fclose(file), 0);
    tree("x = 1 * table(\"%s\", obs=obs, axes=\"time station\").value\n", path);
    testing_value x = testing_evaluate(&t, "x");
    ck_assert_int_eq(x.cells, 20);
    for (int n = 0; n < 20; n++)
        ck_assert(x.at[n] == 10 * (n / 4) + n % 4);
}

/* MJD 51544.5 is the first of January 2000 at noon. */
LOOP_TEST(times_as_dates, 0, 2)
{
    static const grove_npy npy = {.axes = 1, .size = {2}, .bytes = 8};
    static const double numbers[2] = {0, 2400};
    char header[GROVE_NPY_HEADER];
    const char *path = suite_text("%s/dates.npy", t.folder);

    if (_i) {
        FILE *file = fopen(path, "wb");
        grove_npy_header(&npy, header);
        ck_assert(file && fwrite(header, sizeof(header), 1, file) == 1);
        ck_assert(fwrite(numbers, sizeof(numbers), 1, file) == 1 && !fclose(file));
        testing_file(&t, "dates.npy.axes",
                     "cell scalar\naxis time 2 s\n2000-01-01T12:00:00\n2000-01-01T12:40:00\n");
    } else {
        path = testing_file(&t, "dates.csv",
                            "time (s),value\n\"2000-01-01T12:40:00.0Z\",2400\n"
                            "2000-01-01 12:00,0\n");
    }
    tree("x = 1 * table(\"%s\", obs=obs).value\n", path);
    testing_value x = testing_evaluate(&t, "x");
    ck_assert_int_eq(x.cells, PROBE_TIMES);
    for (int i = 0; i < PROBE_TIMES; i++)
        ck_assert_msg(fabs(creal(x.at[i]) - 600 * i) < 1e-9, "%d: %g", i, creal(x.at[i]));
}

static const struct {
    const char *name, *text, *message;
} bad[] = {
    {"x.txt", "", "the name ends in .csv, .npy, .h5 or .hdf5"},
    {"x.npy", "no", "x.npy: not a .npy file"},
    {"x.csv", "", "it has no rows"},
    {"x.csv", "station,value\n", "it has no rows"},
    {"x.csv", "station,value\nP0,1\nP1,2\nP2,3\n", "it has no station 'P3' of 'obs'; outside=flag"},
    {"x.csv", "station,value\nP0,1\nP0,2\n", ":3:1: error: another row has these coordinates"},
    {"x.csv", "station,value\nP0,one\n", ":2:4: error: not a number; an empty field is flagged"},
    {"x.csv", "station,value\nP0,1,2\n", ":2:1: error: this row has another number of columns"},
    {"x.csv", "station,XX,YX\nP0,1,2\n", "the columns of 'value' do not make a number"},
    {"x.csv", "station,value_re\nP0,1\n", "real or with both _re and _im"},
    {"x.csv", "p,value\nP0,1\n", "a baseline needs both columns p and q"},
    {"x.csv", "station,value (Jx)\nP0,1\n", ":1:9: error: 'value (Jx)' has an unknown unit"},
    {"x.csv", "time,value\n2000-13-01T00:00,1\n",
     ":2:1: error: time must be a number, or a UTC date such"},
    {"x.csv", "freq,value\n2000-01-01,1\n", ":2:1: error: freq must be a number\n"},
    {"x.csv", "time (m),value\n0,1\n", "'time' has another unit than that axis"},
    {"x.csv", "station,a b\nP0,1\n", "'a b' is not the name of a column"},
    {"x.csv", "station\nP0\n", "no column has numbers"},
};

LOOP_TEST(faults, 0, sizeof(bad) / sizeof(bad[0]))
{
    const char *path = testing_file(&t, bad[_i].name, bad[_i].text);
    const char *said = testing_faults(
        &t, suite_text("obs = probe()\nx = 1 * table(\"%s\", obs=obs).value\n", path));

    ck_assert_msg(strstr(said, bad[_i].message) != NULL, "%s: %s", bad[_i].text, said);
}

TEST(hdf5)
{
    const char *path = testing_file(&t, "x.h5", "no");
    const char *said = testing_faults(
        &t, suite_text("obs = probe()\nx = 1 * table(\"%s\", obs=obs).value\n", path));
#ifdef HAVE_HDF5
    const char *message = "x.h5: it is not an HDF5 file, or it is damaged";
#else
    const char *message = "this build cannot read HDF5 files; build Grove with HDF5";
#endif

    ck_assert_msg(strstr(said, message) != NULL, "%s", said);
    said = testing_faults(&t, "x = 1 * table(\"x.csv\", dataset=\"gains\").value\n");
    ck_assert_msg(strstr(said, "dataset: only .h5 files have datasets") != NULL, "%s", said);
}

SUITE(60, setup, teardown)
