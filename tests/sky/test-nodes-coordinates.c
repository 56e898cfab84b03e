/* hour_angle, elevation and parallactic, and the member azimuth, against ERFA's chain from
 * catalogue to observed places and spherical trigonometry in long double. */
#include "tests/common/testing.h"

#include "base/text.h"

#include <erfa.h>
#include <erfam.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TESTING_FIXTURE()

/* Three stations hundreds of kilometres apart, so that each has its own zenith. */
enum { STATIONS = 3 };
static const double position[STATIONS][3] = {
    {3826577, 461022, 5064892}, {3370965, 712466, 5349991}, {4033463, -422, 4924309}};

typedef struct {
    const char *options;
    double radec[2];
    double ut1_utc, polar_x, polar_y;
} case_;

#define HOURS(h, m, s)   ((h) + (m) / 60.0 + (s) / 3600.0) * 15 * ERFA_DD2R
#define DEGREES(d, m, s) ((d) + (m) / 60.0 + (s) / 3600.0) * ERFA_DD2R

static const case_ cases[] = {
    {"phase_centre=\"05h42m36.1s 49d51m07s\", start=\"2013-11-20T19:00:00\", duration=10h, "
     "integration=1h",
     {HOURS(5, 42, 36.1), DEGREES(49, 51, 7)},
     0,
     0,
     0},
    /* two thirds of a day: also below the horizon */
    {"phase_centre=\"18h10m00s -10d30m00s\", start=\"2026-03-01T00:00:00\", duration=16h, "
     "integration=1h, ut1_utc=0.3s, polar_x=1e-6rad, polar_y=2e-6rad",
     {HOURS(18, 10, 0), DEGREES(-10, -30, 0)},
     0.3,
     1e-6,
     2e-6},
    /* near the pole, where precession turns north by degrees */
    {"phase_centre=\"02h30m00s 88d00m00s\", start=\"2040-07-01T00:00:00\", duration=12h, "
     "integration=2h",
     {HOURS(2, 30, 0), DEGREES(88, 0, 0)},
     0,
     0,
     0},
};

static testing_value value_of(const case_ *c, const char *value)
{
    char lines[512] = "";

    for (int p = 0; p < STATIONS; p++) {
        char *line =
            grove_format("%g %g %g 25 S%d\n", position[p][0], position[p][1], position[p][2], p);
        strcat(lines, line);
        free(line);
    }
    const char *path = testing_file(&t, "three.itrf.txt", lines);
    testing_tree(&t,
                 suite_text("obs = observe(array=\"%s\", %s)\nx = %s\n", path, c->options, value));
    return testing_evaluate(&t, "x");
}

static void centre(double mean[3])
{
    for (int k = 0; k < 3; k++)
        mean[k] = (position[0][k] + position[1][k] + position[2][k]) / 3;
}

typedef struct {
    double azimuth, zenith, hour_angle, declination;
    double longitude, latitude;
} place;

/* Where the phase centre is seen from ITRF position `at`, without refraction. */
static place observe(const case_ *c, double mjd, const double at[3])
{
    place p;
    double height, right, origins, xyz[3] = {at[0], at[1], at[2]};

    eraGc2gd(ERFA_WGS84, xyz, &p.longitude, &p.latitude, &height);
    ck_assert_int_eq(eraAtco13(c->radec[0], c->radec[1], 0, 0, 0, 0, ERFA_DJM0, mjd, c->ut1_utc,
                               p.longitude, p.latitude, height, c->polar_x, c->polar_y, 0, 0, 0,
                               0.5, &p.azimuth, &p.zenith, &p.hour_angle, &p.declination, &right,
                               &origins) < 0,
                     0);
    return p;
}

static double turned(long double angle)
{
    return (double)remainderl(angle, 2 * acosl(-1));
}

LOOP_TEST(hour_angles, 0, sizeof(cases) / sizeof(cases[0]))
{
    const case_ *c = &cases[_i];
    testing_value x = value_of(c, "1 * obs.hour_angle");
    double mean[3];

    centre(mean);
    ck_assert(x.axes == 1 && x.cells > 5);
    for (int64_t i = 0; i < x.cells; i++) {
        place p = observe(c, x.axis[0]->centre[i] / 86400, mean);
        double off = turned(creal(x.at[i]) - p.hour_angle);
        /* an angle about the pole */
        ck_assert_msg(fabs(off) * cos(p.declination) < 2e-7, "slot %ld: %g", (long)i, off);
    }
}

LOOP_TEST(elevations, 0, sizeof(cases) / sizeof(cases[0]))
{
    const case_ *c = &cases[_i];
    testing_value x = value_of(c, "1 * obs.elevation");
    double mean[3], lowest = 9;

    centre(mean);
    ck_assert(x.axes == 1 && x.cells > 5);
    for (int64_t i = 0; i < x.cells; i++) {
        place p = observe(c, x.axis[0]->centre[i] / 86400, mean);
        long double h = p.hour_angle, d = p.declination, l = p.latitude;
        long double up = asinl(sinl(l) * sinl(d) + cosl(l) * cosl(d) * cosl(h));
        ck_assert(fabsl(up - (acosl(-1) / 2 - p.zenith)) < 1e-5L); /* polar motion turns the pole */
        ck_assert_msg(fabs(creal(x.at[i]) + p.zenith - ERFA_DPI / 2) < 2e-7, "slot %ld: %g",
                      (long)i, creal(x.at[i]) + p.zenith - ERFA_DPI / 2);
        if (c->polar_x == 0)
            ck_assert(fabsl(creal(x.at[i]) - up) < 2e-7L);
        lowest = fmin(lowest, creal(x.at[i]));
    }
    ck_assert(_i != 1 || lowest < -0.1);
}

LOOP_TEST(azimuths, 0, sizeof(cases) / sizeof(cases[0]))
{
    const case_ *c = &cases[_i];
    testing_value x = value_of(c, "1 * obs.azimuth");
    double mean[3];

    centre(mean);
    for (int64_t i = 0; i < x.cells; i++) {
        place p = observe(c, x.axis[0]->centre[i] / 86400, mean);
        double off = turned(creal(x.at[i]) - p.azimuth);
        ck_assert_msg(fabs(off) * sin(p.zenith) < 2e-7, "slot %ld: %g", (long)i, off);
    }
}

/* ---- parallactic angles ---- */

static long double dot(const long double *a, const long double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* The phase centre with the annual aberration, by the sum of velocities. */
static void aberrate(const long double s[3], double mjd, long double seen[3])
{
    double sun[2][3], barycentre[2][3];
    long double v[3];

    eraEpv00(ERFA_DJM0, mjd + 69.0 / 86400, sun, barycentre);
    for (int k = 0; k < 3; k++)
        v[k] = barycentre[1][k] * (long double)ERFA_DAU / 86400 / 299792458;
    long double inverse = sqrtl(1 - dot(v, v)), sv = dot(s, v);
    for (int k = 0; k < 3; k++)
        seen[k] = (inverse * s[k] + v[k] + sv * v[k] / (1 + inverse)) / (1 + sv);
}

/* Turns x by the smallest rotation from `from` to `to`. */
static void turn(const long double from[3], const long double to[3], long double x[3])
{
    long double sum[3], a[3], along;

    /* two reflections: first in the plane across `from`, then in that across from + to */
    along = 2 * dot(x, from);
    for (int k = 0; k < 3; k++) {
        a[k] = x[k] - along * from[k];
        sum[k] = from[k] + to[k];
    }
    along = 2 * dot(a, sum) / dot(sum, sum);
    for (int k = 0; k < 3; k++)
        x[k] = a[k] - along * sum[k];
}

/* The zenith carried back to where the phase centre is in the catalogue, whose north the class
 * counts from; then the spherical triangle of pole, zenith and phase centre. */
static long double parallactic(const case_ *c, double time, const double at[3])
{
    double mjd = time / 86400, leap, c2t[3][3], longitude, latitude, height;
    double xyz[3] = {at[0], at[1], at[2]}, up[3], sky[3];
    long double ra = c->radec[0], dec = c->radec[1], seen[3], z[3];
    long double s[3] = {cosl(dec) * cosl(ra), cosl(dec) * sinl(ra), sinl(dec)};
    int year, month, day;
    double part;

    eraJd2cal(ERFA_DJM0, floor(mjd), &year, &month, &day, &part);
    eraDat(year, month, day, 0, &leap);
    eraC2t06a(ERFA_DJM0, mjd + (leap + 32.184) / 86400, ERFA_DJM0, mjd + c->ut1_utc / 86400,
              c->polar_x, c->polar_y, c2t);
    eraGc2gd(ERFA_WGS84, xyz, &longitude, &latitude, &height);
    eraS2c(longitude, latitude, up);
    eraTrxp(c2t, up, sky);
    for (int k = 0; k < 3; k++)
        z[k] = sky[k];
    aberrate(s, mjd, seen);
    turn(seen, s, z);
    long double east = atan2l(z[1], z[0]) - ra, north = asinl(z[2] / sqrtl(dot(z, z)));
    return atan2l(cosl(north) * sinl(east),
                  cosl(dec) * sinl(north) - sinl(dec) * cosl(north) * cosl(east));
}

LOOP_TEST(parallactic_angles, 0, sizeof(cases) / sizeof(cases[0]))
{
    const case_ *c = &cases[_i];
    testing_value x = value_of(c, "1 * obs.parallactic");

    ck_assert(x.axes == 2 && x.cells > 5 * STATIONS);
    for (int64_t i = 0; i < x.cells; i++) {
        double time = x.axis[0]->centre[i / STATIONS];
        const double *at = position[i % STATIONS];
        place p = observe(c, time / 86400, at);
        double off = turned(creal(x.at[i]) - parallactic(c, time, at));
        /* where the zenith is, seen from the phase centre */
        ck_assert_msg(fabs(off) * sin(p.zenith) < 1e-6, "cell %ld: %g", (long)i, off);
        ck_assert(i % STATIONS == 0 || cabs(x.at[i] - x.at[i - 1]) > 1e-4);
    }
}

/* After the meridian the zenith is to the east of what sets: of the sign of the hour angle, and of
 * the textbook's size, up to precession. */
TEST(parallactic_angles_by_the_textbook)
{
    testing_value x = value_of(&cases[0], "1 * obs.parallactic");

    for (int64_t i = 0; i < x.cells; i++) {
        place p =
            observe(&cases[0], x.axis[0]->centre[i / STATIONS] / 86400, position[i % STATIONS]);
        double wanted = atan2(sin(p.hour_angle), tan(p.latitude) * cos(p.declination) -
                                                     sin(p.declination) * cos(p.hour_angle));
        ck_assert_msg(fabs(turned(creal(x.at[i]) - wanted)) < 3e-3, "cell %ld: %g, %g", (long)i,
                      creal(x.at[i]), wanted);
    }
}

SUITE(60, setup, teardown)
