/* parm: start values from solution tables that the test writes, against closed forms. */
#include "tests/common/hdf5-testing.h"
#include "tests/common/probe.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *path;
static double pi;

TESTING_FIXTURE(probe_begin(&t), path = suite_text("%s/gains.h5", t.folder), pi = acos(-1),
                hdf5_begin(path))

#define START (51544.5 * 86400)

static double freq_of(int k)
{
    return 1.4e9 + 2e6 * k;
}

/* ---- values ---- */

/* The value of parm("G", obs, <options>, from=...) where no fit changes it. */
static testing_value value_of(const char *options)
{
    testing_tree(&t,
                 suite_text("obs = probe()\nG[p] = parm(\"G\", obs=obs, from=\"%s\"%s)\nx = 1 * "
                            "G\n",
                            path, options));
    return probe_session(&t, "x", NULL, NULL);
}

static void refused(const char *options, const char *message)
{
    const char *said = testing_faults(
        &t, suite_text("obs = probe()\nG[p] = parm(\"G\", obs=obs, from=\"%s\"%s)\nx = 1 * "
                       "G\n",
                       path, options));

    ck_assert_msg(strstr(said, message) != NULL, "%s, not: %s", said, message);
    ck_assert_ptr_null(strstr(strstr(said, "error:") + 1, "error:")); /* one message */
}

static void near(double complex found, double complex wanted, const char *what, int64_t at)
{
    ck_assert_msg(cabs(found - wanted) < 1e-9, "%s at %d: %.12g%+.12gi, not %.12g%+.12gi", what,
                  (int)at, creal(found), cimag(found), creal(wanted), cimag(wanted));
}

static const double centres[] = {START - 300, START + 900, START + 2100, START + 3300};

/* Linear in time; wraps. */
static double phase_of(const double at[4], int e)
{
    return remainder(0.3 * e + (at[2] + 1) * (at[0] - START) / 2000, 2 * pi);
}

static double amplitude_of(const double at[4], int e)
{
    return 2 + 0.1 * e + at[2] + (at[0] - START) / 1e5;
}

static double some(const double at[4], int e)
{
    return at[0] == centres[1] && at[2] == 2 && e == 1 ? 0 : 1;
}

static void put(const char *table, const char *title, const char *pol, hdf5_formula *value)
{
    hdf5_put_table(&(hdf5_soltab){table, title, pol ? "time,ant,pol" : "time,ant", 4, 0, 0, centres,
                                  NULL, NULL, pol, value, NULL});
}

TEST(complex_gains)
{
    static const char *const options[] = {", jones=diagonal, interpolate=linear, time=20min",
                                          ", jones=full, interpolate=linear, time=20min"};
    /* the centres of intervals of two cells, the last of one */
    static const double middle[PROBE_TIMES] = {START + 300, START + 300, START + 1500, START + 1500,
                                               START + 2400};

    put("sol000/amplitude000", "amplitude", "XX YY", amplitude_of);
    put("sol000/phase000", "phase", "YY XX", phase_of);
    hdf5_finish();
    for (int k = 0; k < 2; k++) {
        testing_value x = value_of(options[k]);
        int64_t n = 0, elements = k ? 4 : 2;
        ck_assert(x.axes == 2 && x.elements == elements);
        for (int i = 0; i < PROBE_TIMES; i++)
            for (int p = 0; p < PROBE_STATIONS; p++)
                for (int e = 0; e < elements; e++, n++) {
                    int of = e * 2 / (int)elements;
                    const double at[] = {middle[i], 0, p, 0};
                    bool off = k && (e == 1 || e == 2);
                    near(x.at[n], off ? 0 : amplitude_of(at, of) * cexp(I * phase_of(at, 1 - of)),
                         options[k], n);
                }
    }
}

/* Without a solution it is init; nearest takes the interval that contains the centre. */
TEST(what_the_table_lacks)
{
    hdf5_put_table(&(hdf5_soltab){"sol000/amplitude000", "amplitude", "time,ant,pol", 4, 0, 0,
                                  centres, NULL, NULL, "XX YY", amplitude_of, some});
    hdf5_finish();
    testing_value x = value_of(", jones=amplitude, time=10min, init=7");
    /* edges at START + 300, + 1500, + 2700 */
    static const int interval[PROBE_TIMES] = {0, 1, 1, 2, 2};
    int64_t n = 0;
    for (int i = 0; i < PROBE_TIMES; i++)
        for (int p = 0; p < PROBE_STATIONS; p++)
            for (int e = 0; e < 2; e++, n++) {
                const double at[] = {centres[interval[i]], 0, p, 0};
                near(x.at[n], some(at, e) == 0 ? 7 : amplitude_of(at, e), "amplitude", n);
            }
    /* a parm that is the same for all times has that of the middle, START + 1200 */
    x = value_of(", jones=diagonal, table=\"amplitude000\"");
    ck_assert_int_eq(x.cells, PROBE_STATIONS);
    for (int p = 0; p < PROBE_STATIONS; p++) {
        const double at[] = {centres[1], 0, p, 0};
        near(x.at[2 * p], amplitude_of(at, 0), "middle", p);
        near(x.at[2 * p + 1], p == 2 ? 1 : amplitude_of(at, 1), "middle", p);
    }
}

static double delay_of(const double at[4], int e)
{
    return 1e-9 * (at[2] + 0.5 * e);
}

static double small(const double at[4], int e)
{
    return 0.1 * (at[2] + 1) + 0.01 * e;
}

/* Of each kind the Jones term of these numbers. */
TEST(terms)
{
    static const struct {
        const char *options;
        int elements;
    } kind[] = {{"phase", 2},    {"delay", 2},   {"tec", 1},
                {"rotation", 4}, {"leakage", 4}, {"scalar", 1}};

    put("a/phase000", "phase", "XX YY", small);
    put("a/clock000", "clock", "XX YY", delay_of);
    put("a/tec000", "tec", NULL, small);
    put("a/rotation000", "rotation", NULL, small);
    put("a/amplitude001", "amplitude", "XX XY YX YY", small);
    put("a/amplitude002", "amplitude", NULL, small);
    hdf5_finish();
    static const char *const table[] = {"", "", "", "", "amplitude001", "a/amplitude002"};
    for (int k = 0; k < 6; k++) {
        testing_value x =
            value_of(suite_text(", jones=%s, table=\"%s\"", kind[k].options, table[k]));
        int channels = k == 1 || k == 2 ? PROBE_CHANNELS : 1;
        ck_assert_int_eq(x.elements, kind[k].elements);
        ck_assert_int_eq(x.cells, PROBE_STATIONS * channels);
        for (int64_t n = 0; n < x.cells * x.elements; n++) {
            int e = (int)(n % x.elements), p = (int)(n / x.elements / channels);
            const double at[] = {0, 0, p, 0}, nu = freq_of((int)(n / x.elements % channels));
            double y = small(at, 0);
            const double complex wanted[] = {
                cexp(I * small(at, e)),
                cexp(2 * pi * I * nu * delay_of(at, e)),
                cexp(-8.44797245e9 * I * small(at, 0) / nu),
                e == 1   ? -sin(y)
                : e == 2 ? sin(y)
                         : cos(y),
                e == 1 || e == 2 ? small(at, e) : 1,
                small(at, 0),
            };
            near(x.at[n], wanted[k], kind[k].options, n);
        }
    }
}

/* ---- which tables ---- */

TEST(tables_of_parms)
{
    put("sol000/phase000", "phase", NULL, phase_of);
    put("sol000/phase001", "phase", NULL, small);
    put("sol000/tec000", "tec", NULL, small);
    hdf5_put_text(H5Gopen2(hdf5_file, "sol000/phase000", H5P_DEFAULT), "GROVE_PARM", "B");
    hdf5_put_text(H5Gopen2(hdf5_file, "sol000/phase001", H5P_DEFAULT), "GROVE_PARM", "G");
    hdf5_finish();
    testing_value x = value_of(", jones=scalar");
    for (int p = 0; p < PROBE_STATIONS; p++)
        near(x.at[p], cexp(I * small((double[]){0, 0, p, 0}, 0)), "phase", p);
    x = value_of(", jones=scalar, table=\"B\"");
    near(x.at[1], cexp(I * phase_of((double[]){centres[1], 0, 1, 0}, 0)), "phase", 0);
    refused(", jones=tec", "'phase001' has phase, but needed is tec; table= chooses from phase000 "
                           "(parm B), phase001 (parm G), tec000");
    refused(", jones=amplitude, table=\"phase000\"",
            "'phase000' has phase, but needed is amplitude");
    refused(", jones=scalar, table=\"sol001/phase000\"", "there is no set 'sol001'; there are "
                                                         "sol000/phase000 (parm B)");
}

TEST(faults)
{
    static const char *const few[] = {"P3", "P1", "P0"};
    static const double numbers[] = {3, 1, 0.5};
    hsize_t size = 3;

    put("a/phase000", "phase", "XX YY", small);
    put("b/phase000", "phase", "RR LL", small);
    put("c/phase000", "phase", "XX XY YX YY", small);
    put("c/phase001", "phase", "XX XY YX YY", small);
    hdf5_put_text(hdf5_put("d/phase000/val", H5T_NATIVE_DOUBLE, 1, &size, numbers), "AXES", "ant");
    hdf5_put_texts("d/phase000/ant", 3, few, true);
    hdf5_put_text(hdf5_put("e/value000/val", H5T_NATIVE_DOUBLE, 1, &size, numbers), "AXES", "ant");
    hdf5_finish();
    refused(", jones=scalar, table=\"a/phase000\"",
            "a/phase000: it has 2 polarisations; jones=scalar takes 1");
    refused(", jones=phase, table=\"b/phase000\"",
            "b/phase000: its polarisations are RR, LL, but the feeds of 'obs' are linear");
    refused(", jones=diagonal, table=\"c/phase000\"",
            "c/phase000: it has 4 polarisations; jones=diagonal takes up to 2");
    refused(", jones=leakage, table=\"a/phase000\"",
            "a/phase000: it has 2 polarisations; jones=leakage takes 4");
    refused(", jones=phase", "it has several sets of solutions; table=\"a/phase000\" names a table "
                             "with its set; there are a/");
    refused(", jones=delay, table=\"a/phase000\"", "'phase000' has phase, but needed is clock");
    refused(", jones=scalar, table=\"d/phase000\"",
            "it has no station 'P2' of 'obs'; outside=flag");
    refused(", jones=phase, table=\"a/phase000\", axes=none", "axes");
    refused(", jones=phase, table=\"a/phase000\", degree=1, fixed=true",
            "a polynomial that is fixed cannot be taken from a table");
    refused(", jones=phase, table=\"a/phase000\", bounds=[0rad, 0.2rad]",
            "the start value 0.3 in the file is not between 0 and 0.2");
    refused(", init=1s, table=\"e/value000\"",
            "e/value000: it is a plain number, but must be a time");
    testing_value x = value_of(", jones=scalar, table=\"d/phase000\", outside=flag");
    near(x.at[2], 1, "P2", 2);
    near(x.at[3], cexp(3 * I), "P3", 3);
}

/* ---- fits ---- */

/* Of each of two intervals; 100 ns are 140 turns. */
static double truth(const double at[4], int e)
{
    return 1e-7 * (at[2] - 1.5) * (at[0] < START + 1500 ? 1 : -1) + 0 * e;
}

static double start(const double at[4], int e)
{
    return truth(at, e) + (at[2] == 1 ? 5e-11 : 0);
}

/* Far from the minimum at 0, and from the solution of the interval before; a fit finds the truth
 * if it starts beside it in each domain. */
TEST(fits_start_at_the_table)
{
    static const double times[] = {START + 600, START + 2100};
    char said[400];
    double largest[2];

    for (int k = 0; k < 2; k++) {
        const char *table = k ? "sol000/value000" : "sol000/clock000";
        hdf5_put_table(&(hdf5_soltab){table, k ? "value" : "clock", "time,ant", 2, 0, 0, times,
                                      NULL, NULL, NULL, k ? start : truth, NULL});
        if (k)
            hdf5_put_text(H5Dopen2(hdf5_file, "sol000/value000/val", H5P_DEFAULT), "unit", "s");
    }
    hdf5_finish();
    for (int k = 0; k < 2; k++) {
        testing_tree(
            &t,
            suite_text(
                "obs = probe(flags=false)\nC[p] = solutions(\"%s\", tables=\"clock000\")\n"
                "K[p] = parm(\"K\", time=30min, init=0s%s)\n"
                "D[p,q] = C[p] * (1Jy * C[q]^H)\n"
                "V[p,q] = exp(2i * pi * obs.freq * K[p]) * 1Jy * exp(-2i * pi * obs.freq * K[q])\n"
                "fit = solve(V, D, batch=1)\nprint(max(norm(V - D)))\n",
                path, k ? suite_text(", from=\"%s\"", path) : ""));
        ck_assert_int_eq(probe_run_said(&t, NULL, said, sizeof(said)), 0);
        ck_assert_msg(strchr(said, ':') != NULL, "%s", said);
        largest[k] = strtod(strrchr(said, ':') + 1, NULL);
    }
    ck_assert_msg(largest[0] > 0.5, "without a start it is found, too: %g", largest[0]);
    ck_assert_msg(largest[1] < 1e-5, "%g", largest[1]);
}

SUITE(60, setup, teardown)
