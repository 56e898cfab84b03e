/* Coordinates against closed forms, a real observation's uvw and casacore's measures. */
#include "nodes/common/coordinates.h"
#include "tests/common/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DAY       86400.0
#define J2000     51544.5
#define RA_3C147  1.4948845339
#define DEC_3C147 0.87008170140032

static const double vla[3] = {-1601185.4, -5041977.5, 3554875.9};

/* Four stations about `vla`, the first of them there. */
static const double stations[4][3] = {{-1601185.4, -5041977.5, 3554875.9},
                                      {-1619757.27801, -5042937.57456, 3545120.33283},
                                      {-1584460.89944, -5052385.73479, 3547599.95893},
                                      {-1599557.83837, -5031396.39194, 3570494.71676}};

static double length(const double a[3])
{
    return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
}

static double angle_difference(double a, double b)
{
    return remainder(a - b, 2 * M_PI);
}

static void uvw_of(double time, const double radec[2], double uvw[4][3], double rate[4][3])
{
    ck_assert_int_eq(grove_station_uvw(&time, 1, stations[0], 4, vla, radec, NULL, uvw[0],
                                       rate ? rate[0] : NULL, NULL),
                     0);
}

/* Geodetic latitude on WGS84, by iteration. */
static double latitude_of(const double xyz[3])
{
    const double a = 6378137.0, f = 1 / 298.257223563, e2 = f * (2 - f);
    double p = hypot(xyz[0], xyz[1]), latitude = atan2(xyz[2], p * (1 - e2));
    for (int k = 0; k < 20; k++) {
        double s = sin(latitude), n = a / sqrt(1 - e2 * s * s);
        latitude = atan2(xyz[2] + e2 * n * s, p);
    }
    return latitude;
}

/* The textbook's (u, v, w) of a station for apparent hour angle and declination, pole of date
 * (Thompson, Moran & Swenson, equation 4.1). */
static void closed_form(double time, const double radec[2], double uvw[4][3], double *declination)
{
    double h, azimuth, elevation, latitude = latitude_of(vla), longitude = atan2(vla[1], vla[0]);
    grove_horizon(time, radec, vla, NULL, &h, NULL, &azimuth, &elevation, NULL);
    double d = asin(sin(latitude) * sin(elevation) + cos(latitude) * cos(elevation) * cos(azimuth));
    for (int p = 0; p < 4; p++) {
        double x = stations[p][0] - vla[0], y = stations[p][1] - vla[1],
               z = stations[p][2] - vla[2];
        double xl = x * cos(longitude) + y * sin(longitude);
        double yl = y * cos(longitude) - x * sin(longitude);
        uvw[p][0] = xl * sin(h) + yl * cos(h);
        uvw[p][1] = -xl * sin(d) * cos(h) + yl * sin(d) * sin(h) + z * cos(d);
        uvw[p][2] = xl * cos(d) * cos(h) - yl * cos(d) * sin(h) + z * sin(d);
    }
    *declination = d;
}

TEST(uvw_equals_the_closed_form)
{
    static const double directions[][2] = {{RA_3C147, DEC_3C147}, {4.0, -0.4}, {0.1, 0.02}};
    static const double years[] = {0, 13.3, 26.9};
    for (int k = 0; k < 9; k++) {
        const double *radec = directions[k / 3];
        double time = (J2000 + years[k % 3] * 365.25) * DAY + 1234.5, uvw[4][3], form[4][3], dec;
        uvw_of(time, radec, uvw, NULL);
        closed_form(time, radec, form, &dec);
        /* From J2000's pole to that of date: one rotation about the line of sight. */
        double turned = atan2(uvw[1][1], uvw[1][0]) - atan2(form[1][1], form[1][0]);
        double general = years[k % 3] * 20.043 / 206264.8 * sin(radec[0]) / cos(radec[1]);
        ck_assert_double_lt(fabs(angle_difference(turned, general)), 2e-4);
        for (int p = 0; p < 4; p++) {
            double size = length(uvw[p]) + 1;
            double u = form[p][0] * cos(turned) - form[p][1] * sin(turned);
            double v = form[p][0] * sin(turned) + form[p][1] * cos(turned);
            ck_assert_double_lt(fabs(uvw[p][2] - form[p][2]), 1e-9 * size);
            ck_assert_double_lt(fabs(uvw[p][0] - u), 1e-9 * size);
            ck_assert_double_lt(fabs(uvw[p][1] - v), 1e-9 * size);
        }
    }
}

TEST(uvw_keeps_lengths)
{
    const double radec[2] = {RA_3C147, DEC_3C147};
    for (int k = 0; k < 50; k++) {
        double uvw[4][3];
        uvw_of((J2000 + 200.1 * k) * DAY, radec, uvw, NULL);
        ck_assert_double_eq(length(uvw[0]), 0);
        for (int p = 1; p < 4; p++) {
            double b[3], size;
            for (int i = 0; i < 3; i++) {
                b[i] = stations[p][i] - vla[i];
            }
            size = length(b);
            ck_assert_double_lt(fabs(length(uvw[p]) - size), 1e-12 * size);
        }
    }
}

TEST(w_of_a_neighbour_follows_from_u_and_v)
{
    const double centre[2] = {RA_3C147, DEC_3C147};
    const double neighbour[2] = {RA_3C147 + 2e-3, DEC_3C147 - 1e-3};
    double uvw[4][3], other[4][3], lmn[3], time = 60000.25 * DAY;
    uvw_of(time, centre, uvw, NULL);
    uvw_of(time, neighbour, other, NULL);
    grove_direction_cosines(centre, neighbour, 1, lmn);
    for (int p = 1; p < 4; p++) {
        double delay = uvw[p][0] * lmn[0] + uvw[p][1] * lmn[1] + uvw[p][2] * lmn[2];
        /* Aberration differs over the field by up to 1e-4 of the distance. */
        ck_assert_double_lt(fabs(other[p][2] - uvw[p][2] - delay),
                            1.01e-4 * hypot(lmn[0], lmn[1]) * length(uvw[p]));
    }
}

/* Stations 0, 4, 5, 7 of a LOFAR observation (2013 March 29) and the UVW column of its set, whose
 * sign is the opposite one. Made with the day's UT1-UTC and polar motion. */
TEST(uvw_agrees_with_a_real_observation)
{
    static const double lofar[4][3] = {{3826896.235, 460979.455, 5064658.203},
                                       {3829205.598, 469142.533, 5062181.002},
                                       {3847753.31, 466962.809, 5048397.244},
                                       {3837964.52, 449627.261, 5057357.585}};
    static const struct {
        int p, q;
        double uvw[3];
    } rows[] = {{0, 1, {8470.848177403715, -2334.422480686312, -949.0666632513244}},
                {0, 2, {10370.028680521376, -24044.367877793084, 7040.438109034087}},
                {0, 3, {-8679.679575999888, -13379.702453356604, 7094.0108087315}},
                {2, 3, {-19049.708256521262, 10664.66542443648, 53.572699697413555}}};
    const double radec[2] = {0.4262457236387493, 0.5787469737178225}, time = 4871282393.00695;
    for (int k = 0; k < 2; k++) {
        grove_earth earth = {k ? 0.17 : 0, 0, 0};
        double uvw[4][3], error = 0, size = 0;
        ck_assert_int_eq(
            grove_station_uvw(&time, 1, lofar[0], 4, lofar[0], radec, &earth, uvw[0], NULL, NULL),
            0);
        for (int r = 0; r < 4; r++) {
            for (int i = 0; i < 3; i++) {
                double ours = uvw[rows[r].p][i] - uvw[rows[r].q][i];
                error += pow(ours + rows[r].uvw[i], 2);
                size += pow(rows[r].uvw[i], 2);
            }
        }
        ck_assert_double_lt(sqrt(error / size), k ? 3e-6 : 2e-5);
    }
}

TEST(rates_are_the_derivatives)
{
    const double radec[2] = {2.5, 0.6}, h = 30;
    for (int k = 0; k < 20; k++) {
        double time = (58000 + 0.37 * k) * DAY, uvw[4][3], rate[4][3], at[4][4][3];
        uvw_of(time, radec, uvw, rate);
        for (int j = 0; j < 4; j++) {
            uvw_of(time + (j < 2 ? j - 2 : j - 1) * h, radec, at[j], NULL);
        }
        for (int p = 1; p < 4; p++) {
            double size = length(rate[p]);
            for (int i = 0; i < 3; i++) {
                double slope =
                    (at[0][p][i] - 8 * at[1][p][i] + 8 * at[2][p][i] - at[3][p][i]) / (12 * h);
                ck_assert_double_lt(fabs(rate[p][i] - slope), 1e-6 * size);
            }
        }
    }
}

TEST(a_time_alone_decides)
{
    const double radec[2] = {2.5, 0.6};
    double time[40], uvw[40][4][3], rate[40][4][3], one[4][3], one_rate[4][3];
    for (int k = 0; k < 40; k++) {
        time[k] = 57000.3 * DAY + (k * 37 % 40) * 1800.0;
    }
    ck_assert_int_eq(
        grove_station_uvw(time, 40, stations[0], 4, vla, radec, NULL, uvw[0][0], rate[0][0], NULL),
        0);
    for (int k = 0; k < 40; k++) {
        uvw_of(time[k], radec, one, one_rate);
        ck_assert_mem_eq(uvw[k], one, sizeof one);
        ck_assert_mem_eq(rate[k], one_rate, sizeof one_rate);
    }
}

/* Apparent places by casacore 3.5: IAU 1976/1980, no tables of Earth's orientation, and no diurnal
 * aberration, which is up to 1.5e-6. */
TEST(horizon_agrees_with_casacore)
{
    static const struct {
        double site[3], radec[2], time, hour_angle, azimuth, elevation, sidereal, parallactic;
    } cases[] = {{{-1601185.4, -5041977.5, 3554875.9},
                  {RA_3C147, DEC_3C147},
                  4453423200.0,
                  -0.053436891,
                  0.125791045,
                  1.292728093,
                  1.441507984,
                  -2.979788266},
                 {{5109360.0, 2006852.6, -3238948.1},
                  {0.7, -1.1},
                  5084614081.25,
                  -0.453253718,
                  2.798112526,
                  0.938003446,
                  0.248825938,
                  -0.692696844},
                 {{3828763.1, 442449.1, 5064923.0},
                  {5.9, 0.2},
                  5210809920.0,
                  -2.151971218,
                  0.979207511,
                  -0.164882567,
                  3.753134663,
                  -0.535283403}};
    for (int k = 0; k < 3; k++) {
        double h, s, a, e, q;
        grove_horizon(cases[k].time, cases[k].radec, cases[k].site, NULL, &h, &s, &a, &e, &q);
        ck_assert_double_lt(fabs(angle_difference(h, cases[k].hour_angle)) * cos(cases[k].radec[1]),
                            3e-6);
        ck_assert_double_lt(fabs(angle_difference(s, cases[k].sidereal)), 1e-6);
        ck_assert_double_lt(fabs(angle_difference(a, cases[k].azimuth)) * cos(e), 3e-6);
        ck_assert_double_lt(fabs(e - cases[k].elevation), 3e-6);
        ck_assert_double_lt(fabs(angle_difference(q, cases[k].parallactic)), 1e-4);
    }
}

/* The angle at the source from north to the zenith, from the places of its neighbours. */
TEST(parallactic_angle_is_that_of_the_zenith)
{
    const double step = 1e-4;
    for (int k = 0; k < 12; k++) {
        double radec[2] = {0.5 * k, 1.2 - 0.17 * k}, time = (57500 + 0.2 * k) * DAY;
        double a[3], e[3], q;
        for (int j = 0; j < 3; j++) {
            double at[2] = {radec[0], radec[1] + (j - 1) * step};
            grove_horizon(time, at, vla, NULL, NULL, NULL, &a[j], &e[j], j == 1 ? &q : NULL);
        }
        /* Seen from below the sky azimuth grows to the right, east of north is to the left. */
        double across = angle_difference(a[2], a[0]) * cos(e[1]), up = e[2] - e[0];
        ck_assert_double_lt(fabs(angle_difference(q, atan2(across, up))), 1e-5);
    }
}

TEST(hour_angle_is_reached_at_the_nearest_time)
{
    const double radec[2] = {RA_3C147, DEC_3C147}, near = 59000.6 * DAY;
    static const double wanted[] = {0, -0.5, 1.5, 3.0, -3.1, M_PI};
    for (int k = 0; k < 6; k++) {
        double time = grove_time_of_hour_angle(wanted[k], radec, vla, near, NULL), h;
        grove_horizon(time, radec, vla, NULL, &h, NULL, NULL, NULL, NULL);
        ck_assert_double_lt(fabs(angle_difference(h, wanted[k])), 2e-10);
        ck_assert_double_lt(fabs(time - near), 43083);
    }
    grove_earth earth = {0.8, 0, 0};
    double shift = grove_time_of_hour_angle(0, radec, vla, near, NULL) -
                   grove_time_of_hour_angle(0, radec, vla, near, &earth);
    ck_assert_double_lt(fabs(shift - 0.8), 1e-5);
}

TEST(direction_cosines_are_exact)
{
    static const double centres[][2] = {{1, 0.9}, {6.2, -0.5}, {0, 0}, {3, M_PI / 2}};
    static const double steps[] = {1e-9, 1e-6, 1e-3, 0.1, 1};
    for (int k = 0; k < 4 * 5 * 8; k++) {
        const double *c = centres[k / 40];
        double step = steps[k / 8 % 5], turn = k % 8 * M_PI / 4 + 0.1, lmn[3];
        double radec[2] = {c[0] + step * sin(turn), c[1] + step * cos(turn)};
        long double ra = (long double)radec[0] - c[0], d = radec[1], d0 = c[1];
        long double up = d - d0;
        long double l = cosl(d) * sinl(ra);
        long double m = sinl(up) + 2 * cosl(d) * sinl(d0) * powl(sinl(ra / 2), 2);
        long double n = -2 * (powl(sinl(up / 2), 2) + cosl(d) * cosl(d0) * powl(sinl(ra / 2), 2));
        grove_direction_cosines(c, radec, 1, lmn);
        ck_assert_double_lt(fabs((double)(lmn[0] - l)), 1e-14 * step);
        ck_assert_double_lt(fabs((double)(lmn[1] - m)), 1e-14 * step);
        ck_assert_double_lt(fabs((double)(lmn[2] - n)), 1e-14 * step * step);
        /* They are a unit vector: (n - 1)(n + 1) = -(l^2 + m^2). */
        double flat = lmn[0] * lmn[0] + lmn[1] * lmn[1];
        ck_assert_double_lt(fabs(lmn[2] * (lmn[2] + 2) + flat), 1e-13 * flat + 1e-300);
    }
}

TEST(direction_cosines_of_the_whole_sphere)
{
    const double centre[2] = {1, 0.3};
    const double radec[4][2] = {{1, 0.3}, {1, 0.3 - M_PI / 2}, {1 + M_PI, -0.3}, {1 + M_PI, 0.2}};
    double lmn[4][3];
    grove_direction_cosines(centre, radec[0], 4, lmn[0]);
    ck_assert_double_eq(lmn[0][0], 0);
    ck_assert_double_eq(lmn[0][1], 0);
    ck_assert_double_eq(lmn[0][2], 0);
    ck_assert_double_lt(fabs(lmn[1][1] + 1) + fabs(lmn[1][2] + 1), 1e-15);
    ck_assert_double_lt(fabs(lmn[2][2] + 2), 1e-15);
    ck_assert_double_lt(lmn[3][2], -1);
}

TEST(north_angle_is_the_lean_of_the_meridian)
{
    const double centre[2] = {1, 0.9}, step = 1e-6;
    for (int k = 0; k < 12; k++) {
        double radec[2] = {1 + 0.2 * sin(k), 0.9 + 0.2 * cos(2.1 * k)}, lmn[2][3];
        double ends[2][2] = {{radec[0], radec[1] - step}, {radec[0], radec[1] + step}};
        grove_direction_cosines(centre, ends[0], 2, lmn[0]);
        double lean = atan2(lmn[1][0] - lmn[0][0], lmn[1][1] - lmn[0][1]);
        ck_assert_double_lt(fabs(grove_north_angle(centre, radec) - lean), 1e-8);
    }
    const double above[2] = {1, 0.2}, east[2] = {1.1, 0.9};
    ck_assert_double_eq(grove_north_angle(centre, above), 0);
    ck_assert_double_lt(grove_north_angle(centre, east), 0);
}

static void refused(double time, double station, double ra, const char *message)
{
    double position[3] = {station, 1, 2}, radec[2] = {ra, 0}, uvw[3];
    grove_error *error = grove_error_new();
    ck_assert_int_eq(grove_station_uvw(&time, 1, position, 1, vla, radec, NULL, uvw, NULL, error),
                     GROVE_INVALID);
    ck_assert_str_eq(grove_error_message(error, 0), message);
    grove_error_free(error);
}

TEST(bad_input_is_refused)
{
    double h, time = 60000 * DAY;
    const double radec[2] = {0, 0};
    refused(60000, 0, 0, "time: MJD 0.694444 is not between the years 1900 and 2100");
    refused(NAN, 0, 0, "time: MJD nan is not between the years 1900 and 2100");
    refused(time, INFINITY, 0, "station coordinates: not all are finite; they are metres in ITRF");
    refused(time, 0, NAN, "phase centre: not finite; it is two angles");
    grove_horizon(-INFINITY, radec, vla, NULL, &h, NULL, NULL, NULL, NULL);
    ck_assert(isnan(h));
    ck_assert(isnan(grove_time_of_hour_angle(0, radec, vla, NAN, NULL)));
    ck_assert(isnan(grove_time_of_hour_angle(NAN, radec, vla, time, NULL)));
}

SUITE(60, NULL, NULL)
