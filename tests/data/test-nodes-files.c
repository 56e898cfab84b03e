/* print and save: what they write of values that the test knows, in any tiles. */
#include "tests/common/probe.h"

#include "base/file.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TESTING_FIXTURE(probe_begin(&t))

static const grove_session_options tilings[] = {
    TESTING_OPTIONS(.threads = 1),
    TESTING_OPTIONS(.tile_times = 2, .tile_channels = 3, .tile_baselines = 4),
    TESTING_OPTIONS(.tile_times = 1, .tile_channels = 1, .tile_baselines = 1, .threads = 3),
    TESTING_OPTIONS(.tile_channels = 2, .double_precision = true),
};
enum { TILINGS = sizeof(tilings) / sizeof(tilings[0]) };

/* What a run of these lines writes to standard output; until the next call. */
static const char *run(const char *lines, const grove_session_options *options, int *code)
{
    static char said[8192];
    testing_tree(&t, suite_text("obs = probe()\n%s\n", lines));
    *code = probe_run_said(&t, options, said, sizeof(said));
    return said;
}

static void prints(const char *lines, const grove_session_options *options, const char *wanted)
{
    int code;
    const char *said = run(lines, options, &code);

    ck_assert_msg(code == 0, "%s: %s", lines, grove_error_message(t.error, 0));
    ck_assert_msg(!strcmp(said, wanted), "%s:\n%s--- not\n%s", lines, said, wanted);
}

/* ---- print ---- */

TEST(small_values)
{
    prints("print(obs.freq, rows=4)", NULL,
           "obs.freq: real scalar, Hz; freq 7\n"
           "freq (Hz)   value\n"
           "1400000000  1.4e+09\n"
           "1402000000  1.402e+09\n"
           "... 3 more ...\n"
           "1410000000  1.41e+09\n"
           "1412000000  1.412e+09\n");
    prints("d = 0.5 * obs.diameter\nprint(d, digits=2, title=\"radii\")", NULL,
           "radii: real scalar, m; station 4\n"
           "station  value\n"
           "P0       12\n"
           "P1       13\n"
           "P2       14\n"
           "P3       14\n");
    prints("print(obs.baseline, rows=3)", NULL,
           "obs.baseline: real vector of 2; baseline 6\n"
           "p   q   0  1\n"
           "P0  P1  0  1\n"
           "P0  P2  0  2\n"
           "... 3 more ...\n"
           "P2  P3  2  3\n");
    prints("print(1.5Jy + 0.25i * 1Jy)", NULL, "1.5 Jy+0.25i: 1.5+0.25i Jy\n");
    prints("print(2 * obs.phase_centre, title=\"\")", NULL, "9.8  1.6 rad\n");
    prints("print(obs.time, rows=1)", NULL,
           "obs.time: real scalar, s; time 5\n"
           "time (UTC)             value\n"
           "2000-01-01T12:00:00.0  4.45344e+09\n"
           "... 4 more ...\n");
}

/* A line of the data as print writes it: element YX with its mark. */
static void add_line(grove_text *text, int i, int b, int k)
{
    static const char *const pairs[] = {"P0  P1", "P0  P2", "P0  P3", "P1  P2", "P1  P3", "P2  P3"};
    double complex x = probe_data(i, b, k, 2);

    grove_text_add(text, "2000-01-01T12:%02d:00.0  %s  %d  %.5g%+.5gi%s\n", 10 * i, pairs[b],
                   1400000000 + 2000000 * k, creal(x), cimag(x),
                   probe_flagged(i, b, k, 2) ? "*" : "");
}

LOOP_TEST(data_in_any_tiles, 0, TILINGS)
{
    grove_text wanted = {0};

    grove_text_add(&wanted, "yx: complex scalar, Jy; time 5, baseline 6, freq 7\n"
                            "time (UTC)             p   q   freq (Hz)   value\n");
    for (int n = 0; n < 20; n++)
        add_line(&wanted, n / 42, n / 7 % 6, n % 7);
    grove_text_add(&wanted, "... 170 more ...\n");
    for (int n = 190; n < 210; n++)
        add_line(&wanted, n / 42, n / 7 % 6, n % 7);
    grove_text_add(&wanted, "* flagged\n");
    prints("yx = select(obs.data, element=YX)\nprint(yx, rows=40, digits=5)", &tilings[_i],
           wanted.at);
    free(wanted.at);
}

/* ---- save ---- */

static char *read_file(const char *name, size_t *length)
{
    char *path = suite_text("%s/%s", t.folder, name);
    char *bytes = grove_file_read(path, 1 << 24, false, length, t.error);

    ck_assert_msg(bytes != NULL, "%s", path);
    return suite_keep(bytes);
}

static void save(const char *expression, const char *name, const grove_session_options *options)
{
    char *line = suite_text("save(%s, to=\"%s/%s\")", expression, t.folder, name);
    int code;

    run(line, options, &code);
    ck_assert_msg(code == 0, "%s: %s", line, grove_error_message(t.error, 0));
}

LOOP_TEST(csv, 0, TILINGS)
{
    size_t length;
    int n = 0;

    save("obs.data", "data.csv", &tilings[_i]);
    char *bytes = read_file("data.csv", &length), *line = bytes, *end;
    static const char heading[] =
        "time (s),p,q,freq (Hz),XX_re (Jy),XX_im (Jy),XY_re (Jy),XY_im (Jy),YX_re (Jy),YX_im "
        "(Jy),YY_re (Jy),YY_im (Jy)\n";
    ck_assert(!strncmp(line, heading, strlen(heading)));
    for (line = strchr(line, '\n') + 1; *line; line = end + 1, n++) {
        int k = n % 7, b = n / 7 % 6, i = n / 42;
        static const char *const pairs[] = {"P0,P1", "P0,P2", "P0,P3", "P1,P2", "P1,P3", "P2,P3"};
        end = strchr(line, '\n');
        char *time = suite_text("%.0f,%s,%d,", 51544.5 * 86400 + 600 * i, pairs[b],
                                1400000000 + 2000000 * k);
        ck_assert_msg(!strncmp(line, time, strlen(time)), "%.60s is not %s", line, time);
        line += strlen(time);
        for (int e = 0; e < 4; e++) {
            double complex x = probe_data(i, b, k, e);
            for (int part = 0; part < 2; part++) {
                char *behind = line;
                float got = strtof(line, &behind);
                bool empty = *line == ',' || *line == '\n';
                ck_assert_int_eq(empty, probe_flagged(i, b, k, e));
                ck_assert(empty || got == (float)(part ? cimag(x) : creal(x)));
                ck_assert(empty || behind > line);
                line = (empty ? line : behind) + 1;
            }
        }
        ck_assert_ptr_eq(line, end + 1);
    }
    ck_assert_int_eq(n, PROBE_TIMES * PROBE_BASELINES * PROBE_CHANNELS);
}

/* Bytes as NumPy's documents describe them. */
LOOP_TEST(npy, 0, TILINGS)
{
    bool wide = tilings[_i].double_precision;
    size_t length, from, n = 0;

    save("1 * obs.data", "data.npy", &tilings[_i]);
    char *bytes = read_file("data.npy", &length);
    ck_assert(!memcmp(bytes, "\x93NUMPY\1\0", 8));
    from = 10 + (size_t)(unsigned char)bytes[8] + 256 * (size_t)(unsigned char)bytes[9];
    ck_assert(from % 64 == 0 && bytes[from - 1] == '\n');
    bytes[from - 1] = 0;
    ck_assert_ptr_nonnull(strstr(bytes + 10, wide ? "{'descr': '<c16', 'fortran_order': False, "
                                                    "'shape': (5, 6, 7, 2, 2,), }"
                                                  : "{'descr': '<c8', 'fortran_order': False, "
                                                    "'shape': (5, 6, 7, 2, 2,), }"));
    for (int i = 0; i < PROBE_TIMES; i++)
        for (int b = 0; b < PROBE_BASELINES; b++)
            for (int k = 0; k < PROBE_CHANNELS; k++)
                for (int e = 0; e < 4; e++, n++) {
                    double complex x = probe_data(i, b, k, e);
                    float narrow[2];
                    double number[2];
                    memcpy(narrow, bytes + from + n * (wide ? 16 : 8), sizeof(narrow));
                    number[0] = (double)narrow[0];
                    number[1] = (double)narrow[1];
                    if (wide)
                        memcpy(number, bytes + from + n * 16, sizeof(number));
                    ck_assert(probe_flagged(i, b, k, e)
                                  ? number[0] != number[0] && number[1] != number[1]
                                  : number[0] == creal(x) && number[1] == cimag(x));
                }
    ck_assert_uint_eq(length, from + n * (wide ? 16 : 8));
    bytes = read_file("data.npy.axes", &length);
    ck_assert_str_eq(bytes,
                     "# axes of the .npy file, slowest first, each with a line for each cell\n"
                     "cell complex matrix\nunit Jy\n"
                     "axis time 5 s\n4453444800\n4453445400\n4453446000\n4453446600\n4453447200\n"
                     "axis baseline 6\nP0,P1\nP0,P2\nP0,P3\nP1,P2\nP1,P3\nP2,P3\n"
                     "axis freq 7 Hz\n1400000000\n1402000000\n1404000000\n1406000000\n1408000000\n"
                     "1410000000\n1412000000\n");
}

/* Real numbers, a single one, a vector; axes that have no coordinates. */
TEST(other_shapes)
{
    size_t length;

    save("sum(obs.freq)", "sum.csv", NULL);
    save("obs.phase_centre", "centre.csv", NULL);
    save("select(obs.weight, axis=time, index=1, element=XY)", "weight.npy", NULL);
    char *bytes = read_file("sum.csv", &length);
    ck_assert_str_eq(bytes, "value (Hz)\n9842000000\n");
    bytes = read_file("centre.csv", &length);
    ck_assert_str_eq(bytes, "0 (rad),1 (rad)\n4.9,0.8\n");
    bytes = read_file("weight.npy", &length);
    ck_assert_uint_eq(length, 512 + 42 * sizeof(double));
    for (int n = 0; n < 42; n++) {
        double x;
        memcpy(&x, bytes + 512 + 8 * n, sizeof(x));
        ck_assert(x == probe_weight(1, n / 7, n % 7, 1));
    }
}

static int count_files(void)
{
    char **names = grove_folder_list(t.folder);
    int count = 0;

    for (; names[count]; count++)
        free(names[count]);
    free(names);
    return count;
}

/* What is there stays, unless it is to be replaced and the run ends well. */
LOOP_TEST(files_that_exist, 0, 2)
{
    static const char *const names[] = {"a.csv", "a.npy"};
    int code, before = count_files();
    size_t length;

    save("obs.freq", names[_i], NULL);
    char *first = read_file(names[_i], &length);
    before += _i + 1;
    ck_assert_int_eq(count_files(), before);
    run(suite_text("save(obs.time, to=\"%s/%s\")", t.folder, names[_i]), NULL, &code);
    ck_assert(code < 0 && strstr(grove_error_message(t.error, 0),
                                 "exists already; give overwrite=true to replace it"));
    char *line = suite_text("save(obs.time, to=\"%s/%s\", overwrite=true)\n"
                            "compare(1, 2, tolerance=0, print=false)",
                            t.folder, names[_i]);
    run(line, NULL, &code);
    ck_assert_int_lt(code, 0);
    char *second = read_file(names[_i], &length);
    ck_assert(!memcmp(first, second, length));
    ck_assert_int_eq(count_files(), before);
    *strchr(line, '\n') = 0;
    run(line, NULL, &code);
    ck_assert_int_eq(code, 0);
    second = read_file(names[_i], &length);
    ck_assert(memcmp(first, second, length) != 0);
    ck_assert_int_eq(count_files(), before);
}

static const struct {
    const char *line, *message;
} bad[] = {
    {"save(obs.freq, to=\"x.txt\")", "save: to: 'x.txt': the name ends in .csv or .npy"},
    {"save(obs.freq, to=\"x.h5\")", "HDF5 files can only be read"},
    {"save(obs.freq)", "option 'to' must be given"},
    {"print(obs)", "has no value of its own"},
    {"print(obs.freq, rows=-1)", "a number of rows, or 0 for all"},
    {"print(obs.freq, digits=0)", "from 1 to 17 digits"},
};

LOOP_TEST(faults, 0, sizeof(bad) / sizeof(bad[0]))
{
    const char *said = testing_faults(&t, suite_text("obs = probe()\n%s\n", bad[_i].line));

    ck_assert_msg(strstr(said, bad[_i].message) != NULL, "%s: %s", bad[_i].line, said);
}

SUITE(60, setup, teardown)
