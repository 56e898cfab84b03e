/* table: HDF5 files that the test writes by the library itself, against formulas. */
#include "tests/common/hdf5-testing.h"
#include "tests/common/probe.h"

#include "base/file.h"
#include "base/text.h"
#include "nodes/common/grid.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char *path;

TESTING_FIXTURE(probe_begin(&t), path = suite_text("%s/x.h5", t.folder), hdf5_begin(path))

#define START (51544.5 * 86400)

static double time_of(int i)
{
    return START + 600 * i;
}

static double freq_of(int k)
{
    return 1.4e9 + 2e6 * k;
}

/* ---- writing ---- */

/* As H5DSattach_scale writes it: a list of references for each dimension. */
static void put_scales(hid_t data, int rank, const char *const *names)
{
    hid_t type = H5Tvlen_create(H5T_STD_REF_OBJ);
    hsize_t size = (hsize_t)rank;
    hid_t space = H5Screate_simple(1, &size, NULL);
    hid_t list = H5Acreate2(data, "DIMENSION_LIST", type, space, H5P_DEFAULT, H5P_DEFAULT);
    hobj_ref_t reference[8];
    hvl_t of[8] = {{0}};

    for (int d = 0; d < rank; d++)
        if (names[d]) {
            ck_assert(H5Rcreate(&reference[d], hdf5_file, names[d], H5R_OBJECT, -1) >= 0);
            of[d] = (hvl_t){.len = 1, .p = &reference[d]};
        }
    ck_assert(list >= 0 && H5Awrite(list, type, of) >= 0);
}

static hid_t complex_type(hid_t part, size_t bytes)
{
    hid_t type = H5Tcreate(H5T_COMPOUND, 2 * bytes);

    H5Tinsert(type, "r", 0, part);
    H5Tinsert(type, "i", bytes, part);
    return type;
}

static const char *const stations[] = {"P4", "P0", "P3", "P1", "P2"};

/* ---- what is read ---- */

/* Linear along time and freq; another number for each station and element. */
static double complex gain(double time, double freq, int station, int element)
{
    double x = (time - START) / 1000, y = (freq - 1.4e9) / 1e7;

    return (station + 1 + 10 * element) * CMPLX(1 + 2 * x - 3 * y + 0.5 * x * y, x - y);
}

/* Complex diagonals with dimension scales: names by the scales' place or by their attribute. */
TEST(dimension_scales)
{
    static const double times[] = {START - 100, START + 900, START + 4000};
    static const double megahertz[] = {1390, 1450};
    static const char *const scales[] = {"/axes/time", "/axes/f", "/axes/ant", NULL};
    static float numbers[3 * 2 * 5 * 2 * 2];
    hsize_t size[] = {3, 2, 5, 2};
    int n = 0;

    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 2; k++)
            for (int p = 0; p < 5; p++)
                for (int e = 0; e < 2; e++, n++) {
                    double complex g = gain(times[i], megahertz[k] * 1e6, stations[p][1] - '0', e);
                    numbers[2 * n] = (float)creal(g);
                    numbers[2 * n + 1] = (float)cimag(g);
                }
    hdf5_put_numbers("axes/time", 3, times);
    hid_t f = hdf5_put_numbers("axes/f", 2, megahertz);
    hdf5_put_text(f, "NAME", "frequency");
    hdf5_put_text(f, "units", "MHz");
    hdf5_put_texts("axes/ant", 5, stations, true);
    for (int k = 0; k < 3; k++)
        hdf5_put_text(H5Oopen(hdf5_file, scales[k], H5P_DEFAULT), "CLASS", "DIMENSION_SCALE");
    hid_t data = hdf5_put("gains", complex_type(H5T_NATIVE_FLOAT, 4), 4, size, numbers);
    hdf5_put_text(data, "units", "mJy");
    put_scales(data, 4, scales);
    hdf5_finish();

    testing_tree(&t, suite_text("obs = probe()\nx = 1 * table(\"%s\", obs=obs).value\n", path));
    testing_value x = testing_evaluate(&t, "x");
    ck_assert(x.axes == 3 && x.elements == 2);
    ck_assert_int_eq(testing_node(&t, "x")->form.shape, GROVE_DIAGONAL);
    ck_assert_int_eq(testing_node(&t, "x")->form.unit.Jy, 1);
    n = 0;
    for (int i = 0; i < PROBE_TIMES; i++)
        for (int p = 0; p < PROBE_STATIONS; p++)
            for (int k = 0; k < PROBE_CHANNELS; k++)
                for (int e = 0; e < 2; e++, n++) {
                    double complex wanted = 1e-3 * gain(time_of(i), freq_of(k), p, e);
                    ck_assert_msg(cabs(x.at[n] - wanted) < 3e-7 * 1e-3 * 400, "%d %d %d %d", i, p,
                                  k, e);
                }
}

/* A solution table with its axes in any order, one direction for all, and weights. */
static void put_solutions(const char *group, double offset)
{
    static const char *const everywhere[] = {"[pointing]"}, *const pols[] = {"YY", "XX"};
    static const char *const names[] = {"pol", "dir", "ant", "time"};
    hsize_t size[] = {2, 1, 5, PROBE_TIMES};
    double numbers[2 * 5 * PROBE_TIMES], weight[2 * 5 * PROBE_TIMES], times[PROBE_TIMES];
    char *at[8];
    int n = 0;

    for (int i = 0; i < PROBE_TIMES; i++)
        times[i] = time_of(i);
    for (int e = 0; e < 2; e++)
        for (int p = 0; p < 5; p++)
            for (int i = 0; i < PROBE_TIMES; i++, n++) {
                numbers[n] = offset + 100 * (1 - e) + 10 * (stations[p][1] - '0') + i;
                weight[n] = p == 2 && i == 1 && e == 0 ? 0 : 1;
            }
    for (int k = 0; k < 4; k++)
        at[k] = grove_format("%s/%s", group, names[k]);
    for (int k = 4; k < 6; k++)
        at[k] = grove_format("%s/%s", group, k == 4 ? "val" : "weight");
    hdf5_put_texts(at[0], 2, pols, false);
    hdf5_put_texts(at[1], 1, everywhere, false);
    hdf5_put_texts(at[2], 5, stations, false);
    hdf5_put_numbers(at[3], PROBE_TIMES, times);
    hdf5_put_text(hdf5_put(at[4], H5T_NATIVE_DOUBLE, 4, size, numbers), "AXES", "pol,dir,ant,time");
    hdf5_put_text(hdf5_put(at[5], H5T_NATIVE_DOUBLE, 4, size, weight), "AXES", "pol,dir,ant,time");
    for (int k = 0; k < 6; k++)
        free(at[k]);
}

static void check_solutions(const char *call, double offset)
{
    testing_tree(&t, suite_text("obs = probe()\nS = sky_model(\"%s\")\nx = 1 * %s.value\n",
                                testing_file(&t, "a.skymodel",
                                             "format = Name, Type, Ra, Dec, I\n"
                                             "a, POINT, 01:00:00, +31.00.00, 1.0\n"
                                             "b, POINT, 01:00:00, +32.00.00, 1.0\n"),
                                call));
    testing_value x = testing_evaluate(&t, "x");
    int n = 0;

    ck_assert(x.axes == 2 && x.elements == 2 && x.cells == PROBE_TIMES * PROBE_STATIONS);
    for (int i = 0; i < PROBE_TIMES; i++)
        for (int p = 0; p < PROBE_STATIONS; p++)
            for (int e = 0; e < 2; e++, n++) /* YY of P3 has a weight of 0 at the second time */
                ck_assert_msg(x.at[n] ==
                                  (p == 3 && i == 1 && e ? 0 : offset + 100 * e + 10 * p + i),
                              "%d %d %d: %g", i, p, e, creal(x.at[n]));
}

TEST(solution_tables)
{
    static const char *const found[] = {"", ", dataset=\"sol000\"",
                                        ", dataset=\"/sol000/phase000\"",
                                        ", dataset=\"sol000/phase000/val\""};

    put_solutions("sol000/phase000", 0);
    hdf5_finish();
    for (int k = 0; k < 4; k++) {
        check_solutions(suite_text("table(\"%s\", obs=obs, sky=S%s)", path, found[k]), 0);
    }
    testing_tree(&t, suite_text("obs = probe()\nx = 1 * table(\"%s\", obs=obs, "
                                "dataset=\"sol000/phase000/weight\").value\n",
                                path));
    testing_value x = testing_evaluate(&t, "x"); /* its stations by name, too */
    ck_assert_int_eq(x.cells, PROBE_TIMES * PROBE_STATIONS);
    for (int n = 0; n < 2 * PROBE_TIMES * PROBE_STATIONS; n++)
        ck_assert(x.at[n] == (n == 2 * (PROBE_STATIONS + 3) + 1 ? 0 : 1));
}

TEST(one_of_several)
{
    put_solutions("sol000/phase000", 0);
    put_solutions("sol000/amplitude000", 0.5);
    hdf5_finish();
    check_solutions(suite_text("table(\"%s\", obs=obs, dataset=\"sol000/amplitude000\")", path),
                    0.5);
}

/* Without names in the file: those of the option; integers; a matrix. */
TEST(names_from_the_tree)
{
    short numbers[PROBE_CHANNELS][2][2];
    hsize_t size[] = {PROBE_CHANNELS, 2, 2};

    for (int n = 0; n < PROBE_CHANNELS * 4; n++)
        (&numbers[0][0][0])[n] = (short)(n * n);
    hdf5_put("bandpass", H5T_NATIVE_SHORT, 3, size, numbers);
    hdf5_finish();
    char *text =
        grove_format("obs = probe()\nx = 1 * table(\"%s\", obs=obs, axes=\"freq\").value\n", path);
    testing_tree(&t, text);
    testing_value x = testing_evaluate(&t, "x");
    ck_assert_int_eq(testing_node(&t, "x")->form.shape, GROVE_MATRIX);
    ck_assert(x.cells == PROBE_CHANNELS && x.elements == 4);
    for (int n = 0; n < PROBE_CHANNELS * 4; n++)
        ck_assert(x.at[n] == n * n);
    free(text);
}

/* The first of January 2000 at noon is MJD 51544.5. */
TEST(times_as_dates)
{
    static const char *const dates[] = {"2000-01-01T12:00:00", "2000-01-02T12:00:00Z"},
                             *const scales[] = {"/time"};
    double numbers[] = {0, 86400};
    hsize_t size = 2;

    hdf5_put_texts("time", 2, dates, true);
    put_scales(hdf5_put("x", H5T_NATIVE_DOUBLE, 1, &size, numbers), 1, scales);
    hdf5_put_text(H5Oopen(hdf5_file, "/time", H5P_DEFAULT), "CLASS", "DIMENSION_SCALE");
    hdf5_finish();
    testing_tree(&t, suite_text("obs = probe()\nx = 1 * table(\"%s\", obs=obs).value\n", path));
    testing_value x = testing_evaluate(&t, "x");
    ck_assert_int_eq(x.cells, PROBE_TIMES);
    for (int i = 0; i < PROBE_TIMES; i++)
        ck_assert(fabs(creal(x.at[i]) - 600 * i) < 1e-5);
}

/* ---- what is refused ---- */

static void refused(const char *options, const char *message)
{
    char *text =
        grove_format("obs = probe()\nx = 1 * table(\"%s\", obs=obs%s).value\n", path, options);
    const char *said = testing_faults(&t, text);

    ck_assert_msg(strstr(said, message) != NULL, "%s, not: %s", said, message);
    ck_assert_ptr_null(strstr(strstr(said, "error:") + 1, "error:")); /* one message */
    free(text);
}

TEST(faults)
{
    static const char *const names[] = {"one", "two"}, *const twice[] = {"/freq", "/freq"};
    hsize_t size[] = {2, 2, 3}, long_ago = (hsize_t)1 << 40, none = 0, chunk = (hsize_t)1 << 31;
    hid_t compound = H5Tcreate(H5T_COMPOUND, 8), few = H5Screate_simple(1, size, NULL);
    hid_t outside = H5Pcreate(H5P_DATASET_CREATE), chunks = H5Pcreate(H5P_DATASET_CREATE);
    double numbers[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

    H5Tinsert(compound, "a", 0, H5T_NATIVE_INT);
    hdf5_put("plain", H5T_NATIVE_DOUBLE, 3, size, numbers);
    hdf5_put("large", H5T_NATIVE_DOUBLE, 1, &long_ago, NULL);
    hdf5_put("none", H5T_NATIVE_DOUBLE, 1, &none, NULL);
    hdf5_put("odd", compound, 1, size, numbers);
    hdf5_put_texts("words", 2, names, true);
    hdf5_put_text(hdf5_put("group/val", H5T_NATIVE_DOUBLE, 2, size, numbers), "AXES", "time");
    hdf5_put_numbers("freq", 3, numbers);
    put_scales(hdf5_put("short", H5T_NATIVE_DOUBLE, 2, size, numbers), 2, twice);
    put_scales(hdf5_put("list", H5T_NATIVE_DOUBLE, 1, size, numbers), 2, twice);
    H5Pset_external(outside, "/etc/hostname", 0, 16);
    H5Dcreate2(hdf5_file, "outside", H5T_NATIVE_DOUBLE, few, H5P_DEFAULT, outside, H5P_DEFAULT);
    hsize_t endless = H5S_UNLIMITED;
    H5Pset_chunk(chunks, 1, (hsize_t[]){chunk / 8 - 1});
    hid_t growing = H5Screate_simple(1, size, &endless);
    H5Dcreate2(hdf5_file, "chunk", H5T_NATIVE_DOUBLE, growing, H5P_DEFAULT, chunks, H5P_DEFAULT);
    H5Lcreate_external("/etc/hostname", "/x", hdf5_file, "elsewhere", H5P_DEFAULT, H5P_DEFAULT);
    hdf5_finish();

    refused("", "it has several tables; dataset= names one: ");
    refused(", dataset=\"gains\"", "it has no 'gains'; it has chunk, ");
    refused(", dataset=\"elsewhere\"", "it has no 'elsewhere'");
    refused(", dataset=\"plain\"",
            "plain: its dimensions without a name are not a cell: no dimension, 2 x 2");
    refused(", dataset=\"plain\", axes=\"a b c d\"", "it has 3 dimensions, but axes= names more");
    refused(", dataset=\"plain\", axes=\"a b a\"", "two dimensions are called a");
    refused(", dataset=\"large\", axes=\"time\"", "it has more than 10 dimensions or 1 GiB");
    refused(", dataset=\"chunk\", axes=\"time\"", "or 1 GiB, or is stored in another file");
    refused(", dataset=\"outside\", axes=\"time\"", "or is stored in another file");
    refused(", dataset=\"none\"", "none: it has no numbers");
    refused(", dataset=\"odd\"", "its elements are not numbers; supported are real ones");
    refused(", dataset=\"words\"", "its elements are not numbers");
    refused(", dataset=\"group\"", "the attribute AXES does not name its 2 dimensions");
    refused(", dataset=\"group\", axes=\"time freq\"",
            "it is a solution table: its attribute AXES names its axes; leave out axes=");
    refused(", dataset=\"short\"", "the coordinates of freq are not 2 along one dimension");
    refused(", dataset=\"list\", axes=\"freq\"", "it has 2 cells along freq, 'obs' has 7");
    refused(", dataset=\"plain\", axes=\"a freq station\"",
            "it has 2 cells along freq, 'obs' has 7");
}

static void put_axes(const char *group, const char *axes, const hsize_t *size, int rank)
{
    static const double numbers[] = {1, 2, 3, 4, 5};
    hdf5_put_text(hdf5_put(suite_text("%s/val", group), H5T_NATIVE_DOUBLE, rank, size, numbers),
                  "AXES", axes);
}

/* One polarisation: a scalar, but for those of one hand or of crossed hands. */
TEST(single_polarisation)
{
    static const char *const one[] = {"YY"}, *const stokes[] = {"I"};
    hsize_t size[] = {5, 1}, twice[] = {2, 2};

    put_axes("hand", "ant,pol", size, 2);
    hdf5_put_texts("hand/pol", 1, one, false);
    put_axes("stokes", "ant,pol", size, 2);
    hdf5_put_texts("stokes/pol", 1, stokes, false);
    hdf5_put_texts("stokes/ant", 5, stations, false);
    put_axes("twice", "pol,pol", twice, 2);
    hdf5_finish();
    refused(", dataset=\"hand\"", "hand: its only polarisation is YY; a single one must be I");
    refused(", dataset=\"twice\"", "two dimensions are called pol");
    testing_tree(
        &t, suite_text("obs = probe()\nx = 1 * table(\"%s\", obs=obs, dataset=\"stokes\").value\n",
                       path));
    testing_value x = testing_evaluate(&t, "x");
    ck_assert(x.cells == PROBE_STATIONS && x.elements == 1);
    for (int k = 1; k < 5; k++)
        ck_assert(x.at[stations[k][1] - '0'] == k + 1);
}

/* Puts the bytes of a file's place n of 16 bytes, from an offset on, at all of them. */
static void repeat_place(haddr_t offset, size_t count)
{
    grove_error *error = grove_error_new();
    size_t length;
    char *bytes = suite_keep(grove_file_read(path, 1 << 24, false, &length, error));

    ck_assert(bytes && offset + 16 * count <= length);
    for (size_t i = 1; i < count; i++)
        memcpy(bytes + offset + 16 * i, bytes + offset, 16);
    FILE *to = fopen(path, "wb");
    ck_assert(to && fwrite(bytes, 1, length, to) == length && !fclose(to));
    grove_error_free(error);
}

/* A small file in which 20000 names are one text of 64 KiB. */
TEST(long_names)
{
    enum { NAMES = 20000, LENGTH = 1 << 16 };
    hsize_t size = NAMES;
    char *name = calloc(1, LENGTH + 1);
    const char **names = calloc(NAMES, sizeof(*names));

    ck_assert(name && names);
    memset(name, 'x', LENGTH);
    for (int i = 0; i < NAMES; i++)
        names[i] = i ? "" : name;
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    haddr_t offset = H5Dget_offset(hdf5_put("table/ant", type, 1, &size, names));
    hdf5_put_text(hdf5_put("table/val", H5T_NATIVE_DOUBLE, 1, &size, NULL), "AXES", "ant");
    hdf5_finish();
    repeat_place(offset, NAMES);
    refused("", "the names of station cannot be read, or are more than 1 GiB");
    free(names);
    free(name);
}

TEST(names_twice)
{
    static const char *const two[] = {"P0", "P1", "P2", "P1", "P3"};
    hsize_t size = 5;

    put_axes("table", "ant", &size, 1);
    hdf5_put_texts("table/ant", 5, two, true);
    hdf5_finish();
    refused("", "station 'P1' is in the file twice");
}

/* Cut anywhere: one message. */
TEST(damaged_files)
{
    grove_error *error = grove_error_new();
    size_t length;

    put_solutions("sol000/phase000", 0);
    hdf5_finish();
    char *bytes = suite_keep(grove_file_read(path, 1 << 24, false, &length, error));
    char *cut = suite_text("%s/cut.h5", t.folder);
    ck_assert_ptr_nonnull(bytes);
    for (size_t n = 0; n < length; n += length / 40) {
        FILE *to = fopen(cut, "wb");
        ck_assert(to && fwrite(bytes, 1, n, to) == n && !fclose(to));
        const char *said = testing_faults(
            &t, suite_text("obs = probe()\nx = 1 * table(\"%s\", obs=obs).value\n", cut));
        ck_assert_msg(strstr(said, "it is not an HDF5 file, or it is damaged") != NULL, "%s", said);
    }
    grove_error_free(error);
}

/* One byte changed: read, or an error; neither a crash nor an endless loop. */
TEST(changed_bytes)
{
    enum { TRIALS = 64 };
    grove_error *error = grove_error_new();
    size_t length;
    uint32_t random = 20261122;

    put_solutions("sol000/phase000", 0);
    hdf5_finish();
    char *bytes = suite_keep(grove_file_read(path, 1 << 24, false, &length, error));
    ck_assert_ptr_nonnull(bytes);
    for (int k = 0; k < TRIALS; k++) {
        random = random * 1664525 + 1013904223;
        size_t place = (size_t)((uint64_t)random * length >> 32);
        bytes[place] ^= (char)(1 << k % 8);
        pid_t child = fork();
        ck_assert_int_ge(child, 0);
        if (!child) {
            alarm(20);
            grove_grid *grid =
                grove_grid_parse_hdf5(bytes, length, "changed.h5", "sol000/phase000", "", error);
            bool good = grid || grove_error_count(error) == 1;
            grove_grid_free(grid);
            _exit(!good);
        }
        int status;
        ck_assert(waitpid(child, &status, 0) == child);
        ck_assert_msg(status == 0, "bit %d of byte %zu: %d", k % 8, place, status);
        bytes[place] ^= (char)(1 << k % 8);
    }
    grove_error_free(error);
}

SUITE(60, setup, teardown)
