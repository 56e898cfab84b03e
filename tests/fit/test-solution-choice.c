/* solutions: which tables are taken, what stands for missing solutions and outside their
 * range, and what is refused. */
#include "solution-testing.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double one(const double at[4], int e)
{
    return 1 + 0 * at[0] + 0 * e;
}

static void put_plain(const char *table, const char *title, const char *axes, const char *pol)
{
    hdf5_put_table(&(hdf5_soltab){table, title, axes, 0, 0, 0, NULL, NULL, NULL, pol, one, NULL});
}

TEST(which_tables)
{
    put_plain("a/phase000", "phase", "ant", NULL);
    put_plain("a/phase001", "phase", "ant", NULL);
    put_plain("a/amplitude001", "amplitude", "ant", NULL);
    hdf5_put_text(H5Gopen2(hdf5_file, "a/phase001", H5P_DEFAULT), "GROVE_PARM", "G");
    hdf5_put_text(H5Gopen2(hdf5_file, "a/amplitude001", H5P_DEFAULT), "GROVE_PARM", "G");
    put_plain("b/tec000", "tec", "ant", NULL);
    put_plain("b/tec001", "tec", "ant", NULL);
    put_plain("b/screen000", "screen", "ant", NULL);
    put_plain("d/screen000", "screen", "ant", NULL);
    put_plain("c/amplitude000", "amplitude", "ant", NULL);
    put_plain("c/phase001", "phase", "ant", NULL);
    hdf5_finish();
    solution_refused(
        "", "it has several sets of solutions; tables=\"a/amplitude001\" names a table with "
            "its set; there are a/amplitude001 "
            "(parm G), a/phase000, a/phase001 (parm G), b/screen000, b/tec000, b/tec001, "
            "c/amplitude000");
    solution_refused(", solset=\"e\"",
                     "there is no set 'e'; there are a/amplitude001 (parm G), a/phase000");
    solution_refused(", solset=\"a\"", "'phase000' and 'phase001' are both phase; tables= chooses "
                                       "from amplitude001 (parm G), phase000, phase001 (parm G)");
    solution_refused(
        ", solset=\"b\"",
        "'screen000' is of a kind that cannot be applied, screen; tables=\"tec000 tec001\" leaves "
        "it out");
    solution_refused(", solset=\"b\", tables=\"screen000\"",
                     "'screen000' has screen, but needed is amplitude or phase or clock or tec or "
                     "rotation; tables= chooses from screen000, tec000, tec001");
    solution_refused(", solset=\"d\"", "'screen000' has screen, but needed is amplitude or phase");
    solution_refused(", solset=\"c\"", "'amplitude000' and 'phase001' have different numbers");
    solution_refused(", solset=\"c\", tables=\"phase000\"",
                     "there is no 'phase000'; tables= chooses");
    static const char *const good[] = {
        ", solset=\"a\", tables=\"G\"", ", solset=\"a\", tables=\" phase000 amplitude001\"",
        ", solset=\"c\", tables=\"amplitude000 phase001\"", ", tables=\"a/amplitude001 phase000\"",
        ", solset=\"b\", tables=\"tec000\""};
    for (int k = 0; k < 5; k++) {
        testing_value x = solution_value(good[k], "x = 1 * G\n", "x", NULL);
        if (k < 4)
            solution_near(x.at[0], cexp(I), good[k], 0, 0, 0);
    }
}

static double tiny(const double at[4], int e)
{
    return at[2] + e;
}

/* Every kind of place that may be wrong, each with its message. */
TEST(faults)
{
    hsize_t none = 0, size[] = {5, 3}, six[] = {6, 5};
    static const double numbers[30] = {0};

    put_plain("circular/phase000", "phase", "ant,pol", "RR LL");
    put_plain("mixed/phase000", "phase", "ant,pol", "XX LL");
    put_plain("single/phase000", "phase", "ant,pol", "YY");
    put_plain("four/phase000", "phase", "ant,pol", "XX XY YX YY");
    put_plain("four/amplitude000", "amplitude", "ant,pol", "XX YY");
    put_plain("turn/rotation000", "rotation", "ant,pol", "XX YY");
    put_plain("delay/clock000", "clock", "ant,pol", "XX XY YX YY");
    hid_t unit = hdf5_put("unit/clock000/val", H5T_NATIVE_DOUBLE, 1, size, numbers);
    hdf5_put_text(unit, "AXES", "ant");
    hdf5_put_text(unit, "unit", "Jy");
    hdf5_put_text(hdf5_put("names/phase000/val", H5T_NATIVE_DOUBLE, 1, size, numbers), "AXES",
                  "ant");
    hdf5_put_numbers("names/phase000/ant", 4, numbers);
    hdf5_put_text(hdf5_put("few/phase000/val", H5T_NATIVE_DOUBLE, 2, size, numbers), "AXES", "ant");
    hdf5_put_text(hdf5_put("none/phase000/val", H5T_NATIVE_DOUBLE, 1, &none, NULL), "AXES", "ant");
    hdf5_put_text(hdf5_put("odd/phase000/val", H5T_NATIVE_DOUBLE, 2, six, numbers), "AXES",
                  "sheep,ant");
    hdf5_put_text(hdf5_put("weight/phase000/val", H5T_NATIVE_DOUBLE, 1, size, numbers), "AXES",
                  "ant");
    hdf5_put("weight/phase000/weight", H5T_NATIVE_DOUBLE, 1, &size[1], numbers);
    hdf5_put_text(hdf5_put("twice/phase000/val", H5T_NATIVE_DOUBLE, 1, size, numbers), "AXES",
                  "time");
    hdf5_put_text(hdf5_put("who/phase000/val", H5T_NATIVE_DOUBLE, 1, size, numbers), "AXES", "ant");
    hdf5_put_text(hdf5_put("when/phase000/val", H5T_NATIVE_DOUBLE, 1, size, numbers), "AXES",
                  "time");
    hdf5_put_numbers("twice/phase000/time", 5, numbers);
    hdf5_put_table(&(hdf5_soltab){"good/phase000", "phase", "ant", 0, 0, 0, NULL, NULL, NULL, NULL,
                                  tiny, NULL});
    hdf5_finish();
    solution_refused(", solset=\"circular\"",
                     "circular/phase000: its polarisations are RR, LL, but the "
                     "feeds of 'obs' are linear");
    solution_refused(", solset=\"mixed\"",
                     "its polarisations are not XX XY YX YY, XX YY, or the same");
    solution_refused(", solset=\"single\"",
                     "its only polarisation is YY; a single one must be I, or have no name");
    solution_refused(", solset=\"four\"",
                     "four/amplitude000 has 2 polarisations, four/phase000 4: they do not match");
    solution_refused(", solset=\"turn\"", "turn/rotation000: 2 polarisations have no meaning here");
    solution_refused(", solset=\"delay\"", "delay/clock000: 4 polarisations have no meaning here");
    solution_refused(", solset=\"unit\"",
                     "unit/clock000: it is a flux density, but must be a time");
    solution_refused(", solset=\"names\"",
                     "the coordinates of station are not 5 along one dimension");
    solution_refused(", solset=\"few\"", "the attribute AXES does not name its 2 dimensions");
    solution_refused(", solset=\"none\"", "it has no numbers");
    solution_refused(", solset=\"odd\"", "odd/phase000: solutions along 'sheep' are not supported; "
                                         "axes can be time, freq, ant, dir and pol");
    solution_refused(", solset=\"weight\"", "its weights cannot be read");
    solution_refused(", solset=\"who\"",
                     "who/phase000: it does not say which station its numbers belong to");
    solution_refused(", solset=\"when\"",
                     "when/phase000: it does not say which time its numbers belong to");
    solution_refused(", solset=\"twice\", outside=edge", "time 0 is in the file twice");
    solution_refused(", solset=\"good\", interpolate=cubic", "one of");
    solution_refused(", obs=obs", "'obs' is given twice");
    free(solution_path);
    solution_path = grove_strdup("gains.csv");
    solution_refused("", "the name ends in .h5 or .hdf5");
    solution_path[0] = 0;
}

/* A station that the table lacks is named, or flagged. */
TEST(missing_stations)
{
    static const char *const few[] = {"P3", "P1", "P0"};
    static const double numbers[] = {3, 1, 0.5};
    hsize_t size = 3;
    unsigned char *flags;

    hdf5_put_text(hdf5_put("sol000/amplitude000/val", H5T_NATIVE_DOUBLE, 1, &size, numbers), "AXES",
                  "ant");
    hdf5_put_texts("sol000/amplitude000/ant", 3, few, true);
    hdf5_finish();
    solution_refused("", "it has no station 'P2' of 'obs'; outside=flag flags missing ones");
    testing_value x = solution_value(", outside=flag", "x = 1 * G\n", "x", &flags);
    ck_assert(x.at[0] == 0.5 && x.at[1] == 1 && x.at[3] == 3);
    ck_assert(!flags[0] && !flags[1] && flags[2] && !flags[3]);
    free(flags);
}

/* ---- missing solutions ---- */

#define START (51544.5 * 86400)

static double slope(const double at[4], int e)
{
    return 0.2 * e + (at[2] + 1) * ((at[0] - START) / 600 * 0.2 + (at[1] - 1.4e9) / 4e6 * 0.2);
}

static double wrapped_slope(const double at[4], int e)
{
    return remainder(slope(at, e), 2 * acos(-1));
}

/* Slots are a third of an interval after the centres of table rows 0 to 4. One solution is missing
 * between others, one polarisation twice in a row, a band of a station at all times, the first and
 * the last rows of a station. */
static double gaps(const double at[4], int e)
{
    int row = (int)lround((at[0] - START + 200) / 600), p = (int)at[2];
    bool band = at[1] == 1.404e9;

    return !((p == 1 && row == 2) || (p == 3 && e == 1 && (row == 2 || row == 3)) ||
             (p == 0 && band) || (p == 2 && (row == 0 || row == 5)));
}

TEST(missing_solutions)
{
    double times[6];
    static const double bands[] = {1.4e9, 1.404e9, 1.408e9, 1.412e9};
    unsigned char *flags;
    int n = 0;

    for (int i = 0; i < 6; i++)
        times[i] = START + 600 * i - 200;
    hdf5_put_table(&(hdf5_soltab){"sol000/phase000", "phase", "time,freq,ant,pol", 6, 4, 0, times,
                                  bands, NULL, "XX YY", wrapped_slope, gaps});
    hdf5_finish();
    testing_value x = solution_value(", interpolate=linear", "x = 1 * G\n", "x", &flags);
    for (int i = 0; i < PROBE_TIMES; i++)
        for (int p = 0; p < PROBE_STATIONS; p++)
            for (int k = 0; k < PROBE_CHANNELS; k++)
                for (int e = 0; e < 2; e++, n++) {
                    /* near row 0 nothing comes before; before the missing row 5 row 4 holds, along
                     * frequency that of the band whose interval it is */
                    bool last = p == 2 && i == 4, none = p == 2 && i == 0;
                    double time = START + 600 * i - (last ? 200 : 0),
                           freq = 1.4e9 + 2e6 * (last ? (k + 1) / 2 * 2 : k);
                    ck_assert_msg(!flags[n] == !none, "flag at %d %d %d %d", i, p, k, e);
                    if (!none)
                        solution_near(x.at[n],
                                      cexp(I * slope((const double[]){time, freq, p, 0}, e)),
                                      "phase", i, p, k);
                }
    free(flags);
}

/* ---- outside ---- */

/* The note of the leaf of that class with those options, or its warning. */
static void noted(const char *class, const char *options, const char *note, bool warns)
{
    char *text =
        grove_format("obs = probe()\nG[p] = %s, outside=edge%s)\nx = 1 * G\n", class, options);

    testing_tree(&solution_t, text);
    const char *said = NULL;
    for (size_t i = 0; i < solution_t.tree->node_count && !said; i++)
        said = solution_t.tree->nodes[i]->kind == GROVE_NODE_LEAF ? solution_t.tree->nodes[i]->note
                                                                  : NULL;
    char *warnings = suite_messages(solution_t.error);
    ck_assert_msg(warns ? !said && strstr(warnings, note) : grove_equal(said, note),
                  "%s%s: %s, not: %s", class, options, said ? said : warnings, note ? note : "-");
    free(text);
}

TEST(far_outside)
{
    static const struct {
        const char *set;
        double time, freq; /* of the first of 3 intervals of 600 s, and of 2 bands of 8 MHz */
        const char *note;
        bool warns; /* of another day, or of other frequencies */
    } tables[] = {
        {"a", START - 30 * 86400., 1.4e9, "times of 'obs' begin 30 d after the last of the file, ",
         true},
        {"b", START + 9300, 1.4e9,
         "times of 'obs' end 1 h 50 min before the first of the file; its first solutions are "
         "used"},
        {"c", START - 300, 1.4e9,
         "times of 'obs' end 20 min 0 s after the last of the file; its last solutions are used "
         "there"},
        {"d", START + 3000, 2.4e9,
         "times of 'obs' begin 45 min 0 s before the first of the file; its first solutions are "
         "used there; channels of 'obs' end 984 MHz below the first of the file; its first "
         "solutions are used",
         true},
        {"e", START + 600, 1.402e9, NULL},
    };

    for (int k = 0; k < 5; k++) {
        const double times[] = {tables[k].time, tables[k].time + 600, tables[k].time + 1200},
                     bands[] = {tables[k].freq, tables[k].freq + 8e6};
        for (int kind = 0; kind < 2; kind++) {
            const char *title = kind ? "phase" : "amplitude";
            hdf5_put_table(&(hdf5_soltab){suite_text("%s/%s000", tables[k].set, title), title,
                                          "time,freq,ant", 3, 2, 0, times, bands, NULL, NULL, one,
                                          NULL});
        }
    }
    hdf5_finish();
    for (int k = 0; k < 5; k++) {
        char *calls[] = {
            grove_format("solutions(\"%s\", obs, tables=\"%s/phase000 amplitude000\"",
                         solution_path, tables[k].set),
            grove_format("parm(\"G\", jones=scalar, from=\"%s\", table=\"%s/phase000\"",
                         solution_path, tables[k].set)};
        noted(calls[0], "", tables[k].note, tables[k].warns);
        noted(calls[1], ", time=10min, freq=2MHz", tables[k].note, tables[k].warns);
        free(calls[0]);
        free(calls[1]);
    }
}

SUITE(60, solution_setup, solution_teardown)
