/* solutions: Jones terms from tables that the test writes, against closed forms. */
#include "solution-testing.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double pi;

static void setup(void)
{
    pi = acos(-1);
    solution_setup();
}

#define START (51544.5 * 86400)

static double time_of(int i)
{
    return START + 600 * i;
}

static double freq_of(int k)
{
    return 1.4e9 + 2e6 * k;
}

/* ---- phases and amplitudes ---- */

/* Linear along time and frequency: it wraps between most of the centres, by less than half a turn
 * along each axis. */
static double slope(double time, double freq, int station, int e)
{
    return 0.3 * e + (station + 1) * ((time - START) / 600 * 0.4 + (freq - 1.4e9) / 4e6 * 0.35);
}

static double wrapped_slope(const double at[4], int e)
{
    return remainder(slope(at[0], at[1], (int)at[2], e), 2 * pi);
}

static double growing(const double at[4], int e)
{
    return 1 + 0.1 * e + 0.01 * at[2] + (at[0] - START) / 6000;
}

static const double centres[] = {START - 300, START + 300, START + 900, START + 1500, START + 2700};
static const double bands[] = {1.398e9, 1.402e9, 1.406e9, 1.410e9, 1.414e9};

TEST(phases_that_wrap)
{
    hdf5_put_table(&(hdf5_soltab){"sol000/phase000", "phase", "time,freq,ant,pol", 4, 5, 0, centres,
                                  bands, NULL, "XX YY", wrapped_slope, NULL});
    hdf5_put_table(&(hdf5_soltab){"sol000/amplitude000", "amplitude", "time,ant,pol", 4, 0, 0,
                                  centres, NULL, NULL, "YY XX", growing, NULL});
    hdf5_finish();
    testing_value x =
        solution_value(", interpolate=linear, outside=edge", "x = 1 * G\n", "x", NULL);
    int n = 0;

    ck_assert(x.axes == 3 && x.elements == 2);
    for (int i = 0; i < PROBE_TIMES; i++)
        for (int p = 0; p < PROBE_STATIONS; p++)
            for (int k = 0; k < PROBE_CHANNELS; k++)
                for (int e = 0; e < 2; e++, n++) {
                    const double time = fmin(time_of(i), centres[3]), at[] = {time, 0, p, 0};
                    double amplitude = growing(at, 1 - e);
                    solution_near(x.at[n], amplitude * cexp(I * slope(time, freq_of(k), p, e)),
                                  "gain", i, p, k);
                }
}

/* The data are G[p] M G[q]^H; members are the parts. */
static double four(const double at[4], int e)
{
    return 0.5 + 0.1 * e + at[2] + (at[0] - START) / 6e4;
}

static double four_phases(const double at[4], int e)
{
    return 0.7 * e - 0.2 * at[2] * (at[1] - 1.4e9) / 1e6;
}

TEST(full_jones)
{
    double at_times[PROBE_TIMES], at_channels[PROBE_CHANNELS];

    for (int i = 0; i < PROBE_TIMES; i++)
        at_times[i] = time_of(i);
    for (int k = 0; k < PROBE_CHANNELS; k++)
        at_channels[k] = freq_of(k);
    hdf5_put_table(&(hdf5_soltab){"s/amplitude003", "amplitude", "time,ant,pol", PROBE_TIMES, 0, 0,
                                  at_times, NULL, NULL, "XX XY YX YY", four, NULL});
    hdf5_put_table(&(hdf5_soltab){"s/phase003", NULL, "freq,ant,pol", 0, PROBE_CHANNELS, 0, NULL,
                                  at_channels, NULL, "XX XY YX YY", four_phases, NULL});
    hdf5_finish();
    testing_value x = solution_value("",
                                     "x[p,q] = G[p] * matrix(1, 2i, 3, 4) * G[q]^H\n"
                                     "a = 1 * G.amplitude\nb = 1 * G.phase\nc = 1 * G.gain\n",
                                     "x", NULL);
    const double complex middle[] = {1, 2 * I, 3, 4};
    int n = 0;

    for (int i = 0; i < PROBE_TIMES; i++)
        for (int p = 0; p < PROBE_STATIONS; p++)
            for (int q = p + 1; q < PROBE_STATIONS; q++)
                for (int k = 0; k < PROBE_CHANNELS; k++)
                    for (int e = 0; e < 4; e++, n++) {
                        double complex sum = 0, g[2][4];
                        for (int m = 0; m < 8; m++) {
                            const double at[] = {time_of(i), freq_of(k), m < 4 ? p : q, 0};
                            g[m / 4][m % 4] = four(at, m % 4) * cexp(I * four_phases(at, m % 4));
                        }
                        for (int m = 0; m < 4; m++)
                            sum +=
                                g[0][e / 2 * 2 + m / 2] * middle[m] * conj(g[1][e % 2 * 2 + m % 2]);
                        solution_near(x.at[n] / 100, sum / 100, "visibility", i, p * 10 + q, k);
                    }
    ck_assert_int_eq(n, x.cells * 4);
    x = testing_evaluate(&solution_t, "b");
    ck_assert(x.axes == 2 && x.elements == 4 && testing_node(&solution_t, "b")->form.unit.rad == 1);
    solution_near(x.at[(1 * PROBE_CHANNELS + 2) * 4 + 3], 0.7 * 3 - 0.2 * 4, "phase", 0, 1, 2);
    x = testing_evaluate(&solution_t, "a");
    solution_near(x.at[(2 * PROBE_STATIONS + 3) * 4 + 1], 3.6 + 1200 / 6e4, "amplitude", 2, 3, 0);
}

/* ---- clock, TEC, rotation ---- */

static double clock_of(const double at[4], int e)
{
    return 1e-9 * (at[2] + 1) * (e + 1);
}

static double tec_of(const double at[4], int e)
{
    return 0.1 * at[2] + 0 * e;
}

static double angle_of(const double at[4], int e)
{
    return 0.3 + 0.2 * at[2] + 0 * e;
}

TEST(clock_tec_rotation)
{
    static const double zero_hour[] = {START - 1e7};

    hdf5_put_table(&(hdf5_soltab){"sol000/clock000", "clock", "ant,pol", 0, 0, 0, NULL, NULL, NULL,
                                  "XX YY", clock_of, NULL});
    hdf5_put_table(&(hdf5_soltab){"sol000/tec000", "tec", "time,ant", 1, 0, 0, zero_hour, NULL,
                                  NULL, NULL, tec_of, NULL});
    hdf5_put_table(&(hdf5_soltab){"sol000/rotation000", "rotation", "ant", 0, 0, 0, NULL, NULL,
                                  NULL, NULL, angle_of, NULL});
    hdf5_finish();
    testing_value x = solution_value("", "x = 1 * G\n", "x", NULL);
    int n = 0;

    for (int i = 0; i < PROBE_TIMES; i++)
        for (int p = 0; p < PROBE_STATIONS; p++)
            for (int k = 0; k < PROBE_CHANNELS; k++)
                for (int e = 0; e < 4; e++, n++) {
                    const double at[] = {0, 0, p, 0}, angle = angle_of(at, 0), nu = freq_of(k);
                    const double turn[] = {cos(angle), -sin(angle), sin(angle), cos(angle)};
                    double phase =
                        2 * pi * nu * clock_of(at, e / 2) - 8.44797245e9 * tec_of(at, 0) / nu;
                    solution_near(x.at[n], cexp(I * phase) * turn[e], "term", i, p, k);
                }
    ck_assert_int_eq(n, x.cells * 4);
}

/* ---- intervals ---- */

static double place_of(const double at[4], int e)
{
    static const double times[] = {START - 1500, START + 900, START + 2400, START + 3300};

    for (int i = 0; i < 4; i++)
        if (at[0] == times[i])
            return 1 + i + e;
    return 0;
}

/* Of 2400 s, the last of a scan with one slot: its time is the middle of a whole one. */
TEST(short_last_interval)
{
    static const double times[] = {START - 1500, START + 900, START + 3300};

    hdf5_put_table(&(hdf5_soltab){"sol000/amplitude000", "amplitude", "time", 3, 0, 0, times, NULL,
                                  NULL, NULL, place_of, NULL});
    hdf5_finish();
    testing_tree(&solution_t,
                 suite_text("obs = probe()\nG = solutions(\"%s\")\nx = 1 * G\n", solution_path));
    testing_value x = testing_evaluate(&solution_t, "x");
    static const double wanted[] = {2, 2, 2, 2, 4};
    ck_assert_int_eq(x.cells, PROBE_TIMES);
    for (int i = 0; i < PROBE_TIMES; i++)
        ck_assert_msg(x.at[i] == wanted[i], "%d: %g", i, creal(x.at[i]));
}

/* The nearest centre of those whose intervals have the cell in them; 1200 s and 1800 s are in none.
 * The file's own centres take the place of its times. */
TEST(overlapping_intervals)
{
    static const double times[] = {START + 3300, START + 900, START - 1500, START + 2400},
                        centre[] = {START + 2400, START + 100, START + 500, START + 1400},
                        width[] = {1000, 900, 1000, 300},
                        wrong[] = {START + 2400, START + 100, START + 500, NAN};
    static const double wanted[] = {2, 1, 3, 4, 4}; /* at 0, 600, ... 2400 s */

    for (int k = 0; k < 2; k++) {
        char *table = suite_text("%c/amplitude000", 'a' + k);
        char *widths = suite_text("%s/time_width", table),
             *centres_of = suite_text("%s/time_centre", table);
        hdf5_put_table(&(hdf5_soltab){table, "amplitude", "time", 4, 0, 0, times, NULL, NULL, NULL,
                                      place_of, NULL});
        hdf5_put_numbers(widths, 4, width);
        hdf5_put_numbers(centres_of, 4, k ? wrong : centre);
    }
    hdf5_finish();
    testing_tree(&solution_t,
                 suite_text("obs = probe()\nG = solutions(\"%s\", solset=\"a\")\nx = 1 * G\n",
                            solution_path));
    testing_value x = testing_evaluate(&solution_t, "x");
    for (int i = 0; i < PROBE_TIMES; i++)
        ck_assert_msg(x.at[i] == wanted[i], "%d: %g", i, creal(x.at[i]));
    solution_refused(", solset=\"b\"", "the centres of time are not 4 numbers");
}

static double hours_of(const double at[4], int e)
{
    return 1 + (at[0] - START) / 600 + 10 * (at[1] - 1.4e9) / 2e6 + 0 * e;
}

/* Only two intervals, of 2400 and 600 s: the file says so. */
TEST(widths)
{
    static const double times[] = {START + 900, START + 2400}, width[] = {2400, 600},
                        wrong[] = {2400, -600};

    for (int k = 0; k < 2; k++) {
        const char *table = k ? "b/amplitude000" : "a/amplitude000";
        hdf5_put_table(&(hdf5_soltab){table, "amplitude", "time", 2, 0, 0, times, NULL, NULL, NULL,
                                      place_of, NULL});
        hdf5_put_numbers(k ? "b/amplitude000/time_width" : "a/amplitude000/time_width", 2,
                         k ? wrong : width);
    }
    hdf5_finish();
    testing_tree(&solution_t,
                 suite_text("obs = probe()\nG = solutions(\"%s\", solset=\"a\")\nx = 1 * G\n",
                            solution_path));
    testing_value x = testing_evaluate(&solution_t, "x");
    static const double wanted[] = {2, 2, 2, 2, 3};
    for (int i = 0; i < PROBE_TIMES; i++)
        ck_assert_msg(x.at[i] == wanted[i], "%d: %g", i, creal(x.at[i]));
    solution_refused(", solset=\"b\"", "the widths of time are not 2 numbers above 0");
}

/* Those of a calibrator: other times, other channels. */
TEST(transfer)
{
    static const double before[] = {START - 7200, START - 6600};
    unsigned char *flags;

    hdf5_put_table(&(hdf5_soltab){"sol000/amplitude000", "amplitude", "time,freq,ant", 2, 5, 0,
                                  before, bands, NULL, NULL, hours_of, NULL});
    hdf5_finish();
    solution_refused("",
                     "time 4453444800 of 'obs' is outside the range of the file, from 4453437600 "
                     "to 4453438200; outside=edge takes the nearest, outside=flag flags");
    testing_value x = solution_value(", outside=edge", "x = 1 * G\n", "x", &flags);
    int n = 0;
    for (int i = 0; i < PROBE_TIMES; i++)
        for (int p = 0; p < PROBE_STATIONS; p++)
            for (int k = 0; k < PROBE_CHANNELS; k++, n++) {
                /* intervals of 4 MHz: the edge of two channels is of the one above */
                const double at[] = {before[1], bands[(k + 2) / 2], p, 0};
                solution_near(x.at[n], hours_of(at, 0), "amplitude", i, p, k);
                ck_assert(!flags[n]);
            }
    free(flags);
    x = solution_value(", outside=flag", "x = 1 * G\n", "x", &flags);
    for (n = 0; n < x.cells; n++)
        ck_assert(flags[n]);
    free(flags);
}

/* ---- flags ---- */

/* Around pi, so that it wraps; two places are far off. */
static double noisy(const double at[4], int e)
{
    int i = (int)lround((at[0] - START) / 600), p = (int)at[2];
    bool off = (i == 2 && p == 1 && e == 0) || (i == 1 && p == 2 && e == 1);

    return remainder(pi + 0.01 * (i % 2 ? i : -i) + (off ? 1 : 0), 2 * pi);
}

static double steady(const double at[4], int e)
{
    return at[0] == time_of(2) && at[2] == 3 && !e ? NAN : 1 + at[2];
}

static double some(const double at[4], int e)
{
    return at[0] == time_of(4) && at[2] == 0 && e ? 0 : 1;
}

TEST(outliers_and_weights)
{
    double times[PROBE_TIMES];
    unsigned char *flags;
    int n = 0;

    for (int i = 0; i < PROBE_TIMES; i++)
        times[i] = time_of(i);
    hdf5_put_table(&(hdf5_soltab){"sol000/phase000", "phase", "time,ant,pol", PROBE_TIMES, 0, 0,
                                  times, NULL, NULL, "XX YY", noisy, NULL});
    hdf5_put_table(&(hdf5_soltab){"sol000/amplitude000", "amplitude", "time,ant,pol", PROBE_TIMES,
                                  0, 0, times, NULL, NULL, "XX YY", steady, some});
    hdf5_finish();
    for (int outliers = 0; outliers < 2; outliers++) {
        testing_value x =
            solution_value(outliers ? ", outliers=5" : "", "x = 1 * G\n", "x", &flags);
        n = 0;
        for (int i = 0; i < PROBE_TIMES; i++)
            for (int p = 0; p < PROBE_STATIONS; p++)
                for (int e = 0; e < 2; e++, n++) {
                    const double at[] = {time_of(i), 0, p, 0};
                    bool off = (i == 2 && p == 1 && e == 0) || (i == 1 && p == 2 && e == 1);
                    bool none = isnan(steady(at, e)) || some(at, e) == 0;
                    ck_assert_msg(!flags[n] == !(none || (off && outliers)), "%d %d %d", i, p, e);
                    if (!flags[n])
                        solution_near(x.at[n], (1 + p) * cexp(I * noisy(at, e)), "gain", i, p, e);
                }
        free(flags);
    }
    solution_refused(", outliers=0", "0 is not a number above 0");
}

/* A bandpass: 7 channels, of which one is off. */
static double ripple(const double at[4], int e)
{
    int k = (int)lround((at[1] - 1.4e9) / 2e6);

    return 1 + 0.01 * (k % 2 ? k : -k) + (k == 4 && at[2] == 1 && e == 1 ? 0.5 : 0);
}

TEST(outliers_along_frequency)
{
    static const double times[] = {START, START + 1800};
    double channels[PROBE_CHANNELS];
    unsigned char *flags;

    for (int k = 0; k < PROBE_CHANNELS; k++)
        channels[k] = freq_of(k);
    hdf5_put_table(&(hdf5_soltab){"none/amplitude000", "amplitude", "freq,ant,pol", 0,
                                  PROBE_CHANNELS, 0, NULL, channels, NULL, "XX YY", ripple, NULL});
    hdf5_put_table(&(hdf5_soltab){"two/amplitude000", "amplitude", "time,freq,ant,pol", 2,
                                  PROBE_CHANNELS, 0, times, channels, NULL, "XX YY", ripple, NULL});
    hdf5_put_table(&(hdf5_soltab){"two/clock000", "clock", "ant", 0, 0, 0, NULL, NULL, NULL, NULL,
                                  clock_of, NULL});
    hdf5_finish();
    for (int two = 0; two < 2; two++) {
        testing_value x =
            solution_value(two ? ", solset=\"two\", outliers=5" : ", solset=\"none\", outliers=5",
                           "x = 1 * G.amplitude\n", "x", &flags);
        int n = 0;
        for (int i = 0; i < (two ? PROBE_TIMES : 1); i++)
            for (int p = 0; p < PROBE_STATIONS; p++)
                for (int k = 0; k < PROBE_CHANNELS; k++)
                    for (int e = 0; e < 2; e++, n++)
                        ck_assert_msg(!flags[n] == !(p == 1 && k == 4 && e == 1), "%d %d %d %d", i,
                                      p, k, e);
        ck_assert_int_eq(n, x.cells * 2);
        free(flags);
        const char *note = NULL;
        for (size_t i = 0; i < solution_t.tree->node_count && !note; i++)
            note = solution_t.tree->nodes[i]->kind == GROVE_NODE_LEAF
                       ? solution_t.tree->nodes[i]->note
                       : NULL;
        ck_assert_str_eq(
            note,
            two ? "outliers: 2 of 145 solutions; two/clock000 has neither 3 times nor 3 channels"
                : "outliers: 1 of 70 solutions");
    }
}

static double missing_once(const double at[4], int e)
{
    return at[0] == time_of(1) && at[2] == 2 ? 0 : 1 + 0 * e;
}

/* What a scalar lacks, no polarisation has. */
TEST(flags_of_a_scalar)
{
    double times[PROBE_TIMES];
    unsigned char *flags;

    for (int i = 0; i < PROBE_TIMES; i++)
        times[i] = time_of(i);
    hdf5_put_table(&(hdf5_soltab){"sol000/amplitude000", "amplitude", "time,ant", PROBE_TIMES, 0, 0,
                                  times, NULL, NULL, NULL, steady, missing_once});
    hdf5_put_table(&(hdf5_soltab){"sol000/phase000", "phase", "time,ant,pol", PROBE_TIMES, 0, 0,
                                  times, NULL, NULL, "XX YY", noisy, NULL});
    hdf5_finish();
    testing_value x = solution_value("", "x = 1 * G\n", "x", &flags);
    for (int n = 0; n < x.cells * 2; n++) {
        int i = n / 2 / PROBE_STATIONS, p = n / 2 % PROBE_STATIONS;
        ck_assert_int_eq(flags[n] != 0, (i == 1 && p == 2) || (i == 2 && p == 3));
    }
    free(flags);
}

/* ---- directions ---- */

static double of_direction(const double at[4], int e)
{
    return 1 + at[3] + 10 * at[2] + 0 * e;
}

static char *sky(void)
{
    return suite_text("S = sky_model(\"%s\")\n",
                      testing_file(&solution_t, "a.skymodel",
                                   "format = Name, Type, Patch, Ra, Dec, I\n"
                                   "a, POINT, west, 01:00:00, +31.00.00, 1.0\n"
                                   "b, POINT, east, 01:00:00, +32.00.00, 1.0\n"
                                   "c, POINT, west, 01:10:00, +32.00.00, 1.0\n"
                                   "d, POINT, , 01:20:00, +32.00.00, 1.0\n"));
}

TEST(directions)
{
    static const char *const dir[] = {"[east]", "[north,west]", "d"};
    static const int wanted[] = {1, 0, 1, 2};
    char *S = sky();

    hdf5_put_table(&(hdf5_soltab){"sol000/amplitude000", "amplitude", "ant,dir", 0, 0, 3, NULL,
                                  NULL, dir, NULL, of_direction, NULL});
    hdf5_finish();
    solution_refused(
        "", "amplitude000: it has solutions of several directions: 'east', 'north,west', 'd'; "
            "direction=\"east\" selects one, and sky=... one for each source of a sky");
    solution_refused(", direction=\"nort\"",
                     "it has no direction 'nort'; it has 'east', 'north,west', 'd'");
    char *text =
        grove_format("obs = probe()\n%sE[s,p] = solutions(\"%s\")\nx = 1 * E\n", S, solution_path);
    testing_tree(&solution_t, text);
    testing_value x = testing_evaluate(&solution_t, "x");
    int n = 0;
    ck_assert(x.axes == 2 && x.cells == 4 * PROBE_STATIONS);
    for (int s = 0; s < 4; s++)
        for (int p = 0; p < PROBE_STATIONS; p++, n++)
            solution_near(x.at[n], 1 + wanted[s] + 10 * p, "direction", s, p, 0);
    free(text);
}

/* A single one holds for all where there is no sky. */
TEST(one_direction)
{
    static const char *const dir[] = {"[3C147]"};
    static const char *const without[] = {"", ", sky=none"};

    hdf5_put_table(&(hdf5_soltab){"sol000/amplitude000", "amplitude", "ant,dir", 0, 0, 1, NULL,
                                  NULL, dir, NULL, of_direction, NULL});
    hdf5_finish();
    for (int k = 0; k < 2; k++) {
        char *S = sky();
        testing_tree(&solution_t,
                     suite_text("obs = probe()\n%sG[p] = solutions(\"%s\"%s)\nx = 1 * G\n",
                                k ? S : "", solution_path, without[k]));
        testing_value x = testing_evaluate(&solution_t, "x");
        ck_assert(x.axes == 1 && x.cells == PROBE_STATIONS);
        for (int p = 0; p < PROBE_STATIONS; p++)
            solution_near(x.at[p], 1 + 10 * p, "direction", k, p, 0);
    }
}

/* One that is chosen, by its name or that of a patch in it. */
TEST(chosen_direction)
{
    static const char *const dir[] = {"[east]", "[north,west]", "d"};
    static const struct {
        const char *name;
        int number;
    } names[] = {{"east", 0}, {"north", 1},  {"west", 1},        {"north,west", 1},
                 {"d", 2},    {"[east]", 0}, {"[north,west]", 1}};
    char *S = sky();

    hdf5_put_table(&(hdf5_soltab){"sol000/amplitude000", "amplitude", "ant,dir", 0, 0, 3, NULL,
                                  NULL, dir, NULL, of_direction, NULL});
    hdf5_put_table(&(hdf5_soltab){"sol000/phase000", "phase", "ant", 0, 0, 0, NULL, NULL, NULL,
                                  NULL, angle_of, NULL});
    hdf5_finish();
    for (int k = 0; k < 14; k++) {
        char *text =
            grove_format("obs = probe()\n%sG[p] = solutions(\"%s\", direction=\"%s\")\nx = 1 * G\n",
                         k % 2 ? S : "", solution_path, names[k / 2].name);
        testing_tree(&solution_t, text);
        testing_value x = testing_evaluate(&solution_t, "x");
        ck_assert(x.axes == 1 && x.cells == PROBE_STATIONS);
        for (int p = 0; p < PROBE_STATIONS; p++) {
            const double at[] = {0, 0, p, 0};
            solution_near(x.at[p], (1 + names[k / 2].number + 10 * p) * cexp(I * angle_of(at, 0)),
                          "direction", k, p, 0);
        }
        free(text);
    }
    solution_refused(", tables=\"phase000\", direction=\"d\"",
                     "its tables have no directions; leave out direction=\"d\"");
}

TEST(other_directions)
{
    static const char *const dir[] = {"[east]", "[north]"};
    char *S = sky();

    hdf5_put_table(&(hdf5_soltab){"sol000/amplitude000", "amplitude", "dir", 0, 0, 2, NULL, NULL,
                                  dir, NULL, of_direction, NULL});
    hdf5_finish();
    const char *said = testing_faults(
        &solution_t, suite_text("%sE[s] = solutions(\"%s\")\nx = 1 * E\n", S, solution_path));
    ck_assert_msg(strstr(said, "it has no source 'a' of 'S'; outside=flag flags missing ones"),
                  "%s", said);
}

SUITE(60, setup, solution_teardown)
