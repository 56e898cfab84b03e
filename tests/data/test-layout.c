/* Antenna layouts: the text format, the shipped arrays, real files, faults. */
#include "nodes/common/layout.h"

#include "base/text.h"
#include "tests/common/suite.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char form[] = "a line is \"x y z [diameter [name [mount]]]\"";

/* A folder from the environment, else beside the sources. */
static char *folder(const char *variable, const char *below)
{
    const char *given = getenv(variable), *source = getenv("GROVE_SOURCE");
    return suite_keep(given ? grove_strdup(given)
                            : grove_format("%s/%s", source ? source : ".", below));
}

static char *arrays_folder(void)
{
    char *data = folder("GROVE_DATA_PATH", "data"), *arrays = grove_format("%s/arrays", data);
    return suite_keep(arrays);
}

static grove_layout *shipped(const char *name, grove_error *error)
{
    const char *folders[] = {"/nonexistent", arrays_folder(), NULL};
    grove_layout *layout = grove_layout_read(name, folders, error);
    return layout;
}

static double longest_baseline(const grove_layout *layout)
{
    double longest = 0;
    for (int p = 0; p < layout->count; p++) {
        for (int q = 0; q < p; q++) {
            const double *a = layout->stations[p].position, *b = layout->stations[q].position;
            longest = fmax(longest,
                           sqrt(pow(a[0] - b[0], 2) + pow(a[1] - b[1], 2) + pow(a[2] - b[2], 2)));
        }
    }
    return longest;
}

TEST(text_is_read)
{
    grove_layout *layout = grove_layout_parse("# a comment\n"
                                              "# name: TEST\r\n"
                                              "\n"
                                              "  1 -2.5e3\t3 # rest\r\n"
                                              "4 5 6 25\n"
                                              "7 8 9 12.5 A\n"
                                              "7 8 9.5 0 B X-Y",
                                              "folder/some.itrf.txt", NULL);
    ck_assert_ptr_nonnull(layout);
    ck_assert_str_eq(layout->name, "TEST");
    ck_assert_int_eq(layout->count, 4);
    const grove_station *s = layout->stations;
    ck_assert(s[0].position[0] == 1 && s[0].position[1] == -2500 && s[0].position[2] == 3);
    ck_assert_double_eq(s[0].diameter, 0);
    ck_assert_str_eq(s[0].name, "S000");
    ck_assert_str_eq(s[0].mount, "ALT-AZ");
    ck_assert_double_eq(s[1].diameter, 25);
    ck_assert_str_eq(s[1].name, "S001");
    ck_assert_str_eq(s[2].name, "A");
    ck_assert_double_eq(s[2].diameter, 12.5);
    ck_assert_str_eq(s[3].name, "B");
    ck_assert_str_eq(s[3].mount, "X-Y");
    grove_layout_free(layout);

    layout = grove_layout_parse("1 2 3", "folder/some.itrf.txt", NULL);
    ck_assert_str_eq(layout->name, "some");
    grove_layout_free(layout);
    grove_layout_free(NULL);
}

/* Numbers of stations and longest baselines as the observatories state them. */
TEST(shipped_arrays_are_known)
{
    static const struct {
        const char *file, *name;
        int count;
        double diameter, longest;
        const char *first, *last, *mount;
    } arrays[] = {{"vla-a", "VLA", 27, 25, 36.6e3, "W08", "N72", "ALT-AZ"},
                  {"vla-b", "VLA", 27, 25, 11.1e3, "W04", "N36", "ALT-AZ"},
                  {"vla-c", "VLA", 27, 25, 3.39e3, "W02", "N18", "ALT-AZ"},
                  {"vla-d", "VLA", 27, 25, 1.03e3, "W01", "N09", "ALT-AZ"},
                  {"meerkat", "MeerKAT", 64, 13.5, 7.7e3, "M000", "M063", "ALT-AZ"},
                  {"kat-7", "KAT-7", 7, 12, 181, "ant1", "ant7", "ALT-AZ"},
                  {"wsrt", "WSRT", 14, 25, 2.7e3, "RT0", "RTD", "EQUATORIAL"}};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) {
        grove_layout *layout = shipped(arrays[k].file, NULL);
        ck_assert_ptr_nonnull(layout);
        ck_assert_str_eq(layout->name, arrays[k].name);
        ck_assert_int_eq(layout->count, arrays[k].count);
        ck_assert_double_lt(fabs(longest_baseline(layout) / arrays[k].longest - 1), 5e-3);
        ck_assert_str_eq(layout->stations[0].name, arrays[k].first);
        ck_assert_str_eq(layout->stations[layout->count - 1].name, arrays[k].last);
        for (int s = 0; s < layout->count; s++) {
            const double *at = layout->stations[s].position;
            double radius = sqrt(at[0] * at[0] + at[1] * at[1] + at[2] * at[2]);
            ck_assert(radius > 6.35e6 && radius < 6.39e6);
            ck_assert_double_eq(layout->stations[s].diameter, arrays[k].diameter);
            ck_assert_str_eq(layout->stations[s].mount, arrays[k].mount);
        }
        grove_layout_free(layout);
    }
}

/* A pad of the VLA is at one place in whichever configuration it is used. */
TEST(pads_agree_between_configurations)
{
    grove_layout *a = shipped("vla-a", NULL), *d = shipped("vla-d", NULL);
    int met = 0;
    for (int k = 0; k < 27 * 27; k++) {
        const grove_station *x = &a->stations[k / 27], *y = &d->stations[k % 27];
        if (grove_equal(x->name, y->name)) {
            ck_assert_mem_eq(x->position, y->position, sizeof x->position);
            met++;
        }
    }
    ck_assert_int_eq(met, 3);
    grove_layout_free(a);
    grove_layout_free(d);
}

/* The fields of the file scanned by the C library. */
TEST(real_files_are_read)
{
    static const struct {
        const char *file;
        int count;
        const char *array;
    } files[] = {{"kat-7", 7, "kat-7"},    {"lofar_nl", 0, NULL}, {"meerkat", 64, "meerkat"},
                 {"skamid197", 197, NULL}, {"vlaa", 27, "vla-a"}, {"vlab", 27, "vla-b"},
                 {"vlac", 27, "vla-c"},    {"vlad", 27, "vla-d"}, {"wsrt", 14, "wsrt"}};
    char *data = folder("GROVE_TEST_DATA", "../shared/data");
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        char *path = suite_text("%s/layouts/%s.itrf.txt", data, files[k].file), line[256];
        FILE *file = fopen(path, "r");
        if (!file) {
            printf("%s is not there: skipped\n", path);
            continue;
        }
        grove_layout *layout = grove_layout_read(path, NULL, NULL);
        grove_layout *array = files[k].array ? shipped(files[k].array, NULL) : NULL;
        ck_assert_ptr_nonnull(layout);
        ck_assert_str_eq(layout->name, files[k].file);
        int count = 0;
        while (fgets(line, sizeof line, file)) {
            double x, y, z, d;
            char name[64], mount[64];
            if (sscanf(line, "%lf %lf %lf %lf %63s %63s", &x, &y, &z, &d, name, mount) == 6) {
                const grove_station *s = &layout->stations[count];
                ck_assert(s->position[0] == x && s->position[1] == y && s->position[2] == z);
                ck_assert(s->diameter == d);
                ck_assert_str_eq(s->name, name);
                ck_assert_str_eq(s->mount, mount);
                if (array) {
                    ck_assert_mem_eq(array->stations[count].position, s->position,
                                     sizeof s->position);
                }
                count++;
            }
        }
        ck_assert_int_eq(count, layout->count);
        ck_assert(!files[k].count || files[k].count == count);
        fclose(file);
        grove_layout_free(array);
        grove_layout_free(layout);
    }
}

/* Reads a wrong text; its whole message must be `expected`, in which %F stands for the form. */
static void refused(const char *text, const char *expected)
{
    grove_error *error = grove_error_new();
    ck_assert_ptr_null(grove_layout_parse(text, "a.txt", error));
    char *message = suite_messages(error);
    grove_text full = {0};
    for (const char *at = expected; *at; at++) {
        if (at[0] == '%' && at[1] == 'F') {
            grove_text_add(&full, "%s", form);
            at++;
        } else {
            grove_text_append(&full, at, 1);
        }
    }
    ck_assert_str_eq(message, full.at);
    free(full.at);
    grove_error_free(error);
}

TEST(faults_have_their_place)
{
    refused("", "error: a.txt: no stations; a line is \"x y z [diameter [name [mount]]]\", ITRF in "
                "metres\n");
    refused("1 2\n", "a.txt:1:1: error: station: too few columns; %F\n"
                     "    1 2\n"
                     "    ^~~\n");
    refused("1 2 3 4 A X-Y 7\n", "a.txt:1:1: error: station: too many columns; %F\n"
                                 "    1 2 3 4 A X-Y 7\n"
                                 "    ^~~~~~~~~~~~~~~\n");
    refused("1 2 3\n1 2x 3\n4 5 inf nan\n",
            "a.txt:2:3: error: y: '2x' is not a number; %F, in metres\n"
            "    1 2x 3\n"
            "      ^~\n"
            "a.txt:3:5: error: z: 'inf' is not a number; %F, in metres\n"
            "    4 5 inf nan\n"
            "        ^~~\n"
            "a.txt:3:9: error: diameter: 'nan' is not a number; %F, in metres\n"
            "    4 5 inf nan\n"
            "            ^~~\n");
    refused("1 2 3 -4\n", "a.txt:1:7: error: diameter: '-4' is negative; metres, or 0 where it is "
                          "not known\n"
                          "    1 2 3 -4\n"
                          "          ^~\n");
    refused("1 2 3 4 A\n1 2 4 4 A\n",
            "a.txt:2:9: error: name: there is a station 'A' already; names must differ\n"
            "    1 2 4 4 A\n"
            "            ^\n");
    refused("1 2 3 4 A EQUATORIAL-TOO-LONG\n",
            "a.txt:1:11: error: mount: 'EQUATORIAL-TOO-LONG' is too long; ALT-AZ, EQUATORIAL, X-Y "
            "or the like\n"
            "    1 2 3 4 A EQUATORIAL-TOO-LONG\n"
            "              ^~~~~~~~~~~~~~~~~~~\n");
}

TEST(all_faults_are_told_up_to_twenty)
{
    grove_text text = {0};
    for (int k = 0; k < 50; k++) {
        grove_text_add(&text, "%d\n", k);
    }
    grove_error *error = grove_error_new();
    ck_assert_ptr_null(grove_layout_parse(text.at, "a.txt", error));
    ck_assert_uint_eq(grove_error_count(error), 21);
    ck_assert_str_eq(grove_error_message(error, 20), "a.txt: 20 faults; the rest was not read");
    grove_error_free(error);
    free(text.at);
}

TEST(the_number_of_stations_is_bounded)
{
    for (int count = 100000; count <= 100001; count++) {
        grove_text text = {0};
        for (int k = 0; k < count; k++) {
            grove_text_append(&text, "1 2 3\n", 6);
        }
        grove_error *error = grove_error_new();
        grove_layout *layout = grove_layout_parse(text.at, "a.txt", error);
        if (count == 100000) {
            ck_assert_int_eq(layout->count, count);
        } else {
            ck_assert_ptr_null(layout);
            ck_assert_str_eq(grove_error_message(error, 0), "layout: more than 100000 stations");
        }
        grove_layout_free(layout);
        grove_error_free(error);
        free(text.at);
    }
}

TEST(unknown_names_are_answered_with_the_known)
{
    static const char list[] = "the arrays are kat-7, meerkat, vla-a, vla-b, vla-c, vla-d, wsrt";
    grove_error *error = grove_error_new();
    ck_assert_ptr_null(shipped("meerkt", error));
    ck_assert_str_eq(grove_error_message(error, 0),
                     suite_text("layout: there is no file or array 'meerkt'; did you mean "
                                "'meerkat'? %s",
                                list));
    ck_assert_ptr_null(shipped("some/where.txt", error));
    ck_assert_str_eq(grove_error_message(error, 1),
                     suite_text("layout: there is no file or array 'some/where.txt'; %s", list));
    ck_assert_ptr_null(grove_layout_read("vla-a", NULL, error));
    ck_assert_str_eq(grove_error_message(error, 2),
                     "layout: there is no file or array 'vla-a'; the arrays are not installed");
    grove_error_free(error);
}

/* The text and the path are gone when the message is written. */
TEST(faults_of_files_are_told_later)
{
    char path[] = "/tmp/grove-layout-XXXXXX";
    int descriptor = mkstemp(path);
    ck_assert_int_ge(descriptor, 0);
    ck_assert_int_eq(write(descriptor, "1 2 3\nx y z\n", 12), 12);
    close(descriptor);
    grove_error *error = grove_error_new();
    ck_assert_ptr_null(grove_layout_read(path, NULL, error));
    char *message = suite_messages(error);
    char *expected = suite_text("%s:2:1: error: x: 'x' is not a number; %s, in metres\n"
                                "    x y z\n    ^\n",
                                path, form);
    ck_assert_int_eq(strncmp(message, expected, strlen(expected)), 0);
    grove_error_free(error);
    unlink(path);
}

SUITE(60, NULL, NULL)
