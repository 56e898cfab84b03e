/* Coordinates. Earth's orientation follows IAU 2006/2000A, through ERFA: celestial (ICRS) to
 * terrestrial (ITRF) by the intermediate pole and the Earth rotation angle (IERS Conventions 2010,
 * chapter 5).
 *
 * Aberration. A source at s is seen at s', shifted by the velocity of the observer (annual and
 * diurnal). The delay of a baseline b is b.s', so the axes (u, v, w) at the phase centre are the
 * ICRS ones turned by the smallest rotation that takes s to s'. Aberration turns the directions
 * near s by the same rotation, apart from a change of scale by up to 1e-4, which belongs to l and
 * m. Casacore's uvw machinery does the same. Against the UVW column of a LOFAR set (8 stations,
 * 2013; UT1-UTC and polar motion left at zero) the relative difference is 1.01e-5 so, 0.97e-5
 * without the diurnal part, 6.2e-5 without any; with a UT1-UTC of 0.17 s it is 1.89e-6, 1.96e-6 and
 * 5.3e-5. */
#include "nodes/common/coordinates.h"

#include <erfa.h>
#include <erfam.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define DAY                86400.0
#define LIGHT_SPEED        299792458.0
#define EARTH_TURN         (2 * M_PI * 1.00273781191135448 / DAY) /* rad per second of UT1 */
#define FIRST_MJD          15020.0                                /* 1900 January 0.5 */
#define LAST_MJD           88069.0                                /* 2100 January 0 */
#define RATE_STEP          1.0 /* s; the truncation error of the rates is (2 pi / day)^2 / 6 of them */
#define NEAREST_ITERATIONS 8

/* Slowly varying quantities at a full hour of terrestrial time: celestial intermediate pole x, y,
 * locator s, equation of the origins, barycentric velocity of Earth in units of c. */
typedef struct {
    int64_t hour;
    bool valid;
    double value[7];
} slow_node;

/* Linear interpolation between full hours has an error below 1e-10 rad. The hours are absolute, so
 * that a result depends on its own time only, and stay from call to call: each takes 0.1 ms. */
typedef struct {
    slow_node node[4];
} slow_table;

/* Quantities at one time: the axes at the phase centre in ITRF, and the equation of the origins and
 * Earth rotation angle, which give sidereal time. */
typedef struct {
    double u[3], v[3], w[3];
    double origins, rotation;
} frame;

static const grove_earth still_earth = {0, 0, 0};

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void cross(const double a[3], const double b[3], double c[3])
{
    c[0] = a[1] * b[2] - a[2] * b[1];
    c[1] = a[2] * b[0] - a[0] * b[2];
    c[2] = a[0] * b[1] - a[1] * b[0];
}

static bool time_in_range(double time)
{
    return time >= FIRST_MJD * DAY && time <= LAST_MJD * DAY;
}

/* A time as a two-part Julian date in `scale`, without loss of resolution. */
static void julian(double time, double offset, double date[2])
{
    double day = floor(time / DAY);
    date[0] = ERFA_DJM0 + day;
    date[1] = ((time - day * DAY) + offset) / DAY;
}

static double terrestrial_minus_utc(double time)
{
    int year, month, day;
    double fraction, leap = 0;
    eraJd2cal(ERFA_DJM0, floor(time / DAY), &year, &month, &day, &fraction);
    eraDat(year, month, day, 0, &leap);
    return leap + ERFA_TTMTAI;
}

double grove_utc_of_atomic(double time)
{
    double utc = time;

    for (int k = 0; k < 2; k++) /* the day that says how many leap seconds there were is UTC's */
        utc = time - (terrestrial_minus_utc(utc) - ERFA_TTMTAI);
    return utc;
}

static const double *slow_values(slow_table *table, int64_t hour)
{
    slow_node *node = &table->node[hour & 3];
    if (node->valid && node->hour == hour) {
        return node->value;
    }
    double day = floor((double)hour / 24), fraction = ((double)hour - day * 24) / 24;
    double npb[3][3], heliocentric[2][3], barycentric[2][3];
    eraPnm06a(ERFA_DJM0 + day, fraction, npb);
    eraBpn2xy(npb, &node->value[0], &node->value[1]);
    node->value[2] = eraS06(ERFA_DJM0 + day, fraction, node->value[0], node->value[1]);
    node->value[3] = eraEors(npb, node->value[2]);
    eraEpv00(ERFA_DJM0 + day, fraction, heliocentric, barycentric);
    for (int k = 0; k < 3; k++) {
        node->value[4 + k] = barycentric[1][k] * (ERFA_DAU / DAY / LIGHT_SPEED);
    }
    node->hour = hour;
    node->valid = true;
    return node->value;
}

static void slow_at(slow_table *table, double terrestrial, double value[7])
{
    double hours = terrestrial / 3600, hour = floor(hours), part = hours - hour;
    double first[7];
    memcpy(first, slow_values(table, (int64_t)hour), sizeof first);
    const double *second = slow_values(table, (int64_t)hour + 1);
    for (int k = 0; k < 7; k++) {
        value[k] = first[k] + part * (second[k] - first[k]);
    }
}

/* Rotates `vector` by the smallest rotation from unit vector `from` to unit vector `to`. */
static void turn(const double from[3], const double to[3], double vector[3])
{
    double axis[3], across[3], cosine = dot(from, to);
    cross(from, to, axis);
    cross(axis, vector, across);
    double along = dot(axis, vector) / (1 + cosine);
    for (int k = 0; k < 3; k++) {
        vector[k] = cosine * vector[k] + across[k] + along * axis[k];
    }
}

/* East, north and outward unit vectors at `radec`. */
static void axes_at(const double radec[2], double east[3], double north[3], double out[3])
{
    double sa = sin(radec[0]), ca = cos(radec[0]), sd = sin(radec[1]), cd = cos(radec[1]);
    east[0] = -sa, east[1] = ca, east[2] = 0;
    north[0] = -sd * ca, north[1] = -sd * sa, north[2] = cd;
    out[0] = cd * ca, out[1] = cd * sa, out[2] = sd;
}

static void frame_at(slow_table *table, double time, const double radec[2],
                     const double reference[3], const grove_earth *earth, frame *result)
{
    double tt[2], ut[2], slow[7], offset = terrestrial_minus_utc(time);
    slow_at(table, time + offset, slow);
    julian(time, offset, tt);
    julian(time, earth->ut1_utc, ut);

    double intermediate[3][3], motion[3][3], terrestrial[3][3];
    eraC2ixys(slow[0], slow[1], slow[2], intermediate);
    eraPom00(earth->polar_x, earth->polar_y, eraSp00(tt[0], tt[1]), motion);
    result->rotation = eraEra00(ut[0], ut[1]);
    result->origins = slow[3];
    eraC2tcio(intermediate, result->rotation, motion, terrestrial);

    double place[3], carried[3], velocity[3], out[3], seen[3];
    memcpy(place, reference, sizeof place);
    eraTrxp(terrestrial, place, place);
    cross(intermediate[2], place, carried);
    for (int k = 0; k < 3; k++) {
        velocity[k] = slow[4 + k] + EARTH_TURN / LIGHT_SPEED * carried[k];
    }
    axes_at(radec, result->u, result->v, out);
    eraAb(out, velocity, 1.0, sqrt(1 - dot(velocity, velocity)), seen);
    turn(out, seen, result->u);
    turn(out, seen, result->v);
    eraRxp(terrestrial, result->u, result->u);
    eraRxp(terrestrial, result->v, result->v);
    eraRxp(terrestrial, seen, result->w);
}

static bool all_finite(const double *values, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        if (!isfinite(values[i])) {
            return false;
        }
    }
    return true;
}

static int check_inputs(const double *time, int64_t times, const double *positions,
                        int64_t stations, const double reference[3], const double radec[2],
                        grove_error *error)
{
    if (!all_finite(positions, 3 * stations) || !all_finite(reference, 3)) {
        return grove_fail(error, GROVE_INVALID,
                          "station coordinates: not all are finite; they are metres in ITRF");
    }
    if (!all_finite(radec, 2)) {
        return grove_fail(error, GROVE_INVALID, "phase centre: not finite; it is two angles");
    }
    for (int64_t t = 0; t < times; t++) {
        if (!time_in_range(time[t])) {
            return grove_fail(error, GROVE_INVALID,
                              "time: MJD %.6g is not between the years 1900 and 2100",
                              time[t] / DAY);
        }
    }
    return GROVE_OK;
}

int grove_station_uvw(const double *time, int64_t times, const double *positions, int64_t stations,
                      const double reference[3], const double radec[2], const grove_earth *earth,
                      double *uvw, double *rate, grove_error *error)
{
    int code = check_inputs(time, times, positions, stations, reference, radec, error);
    if (code) {
        return code;
    }
    earth = earth ? earth : &still_earth;
    static _Thread_local slow_table table;
    for (int64_t t = 0; t < times; t++) {
        frame now, before, after;
        frame_at(&table, time[t], radec, reference, earth, &now);
        if (rate) {
            frame_at(&table, time[t] - RATE_STEP, radec, reference, earth, &before);
            frame_at(&table, time[t] + RATE_STEP, radec, reference, earth, &after);
            for (int k = 0; k < 3; k++) {
                after.u[k] = (after.u[k] - before.u[k]) / (2 * RATE_STEP);
                after.v[k] = (after.v[k] - before.v[k]) / (2 * RATE_STEP);
                after.w[k] = (after.w[k] - before.w[k]) / (2 * RATE_STEP);
            }
        }
        for (int64_t p = 0; p < stations; p++) {
            const double *at = positions + 3 * p;
            double b[3] = {at[0] - reference[0], at[1] - reference[1], at[2] - reference[2]};
            double *to = uvw + 3 * (t * stations + p);
            to[0] = dot(b, now.u), to[1] = dot(b, now.v), to[2] = dot(b, now.w);
            if (rate) {
                to = rate + 3 * (t * stations + p);
                to[0] = dot(b, after.u), to[1] = dot(b, after.v), to[2] = dot(b, after.w);
            }
        }
    }
    return GROVE_OK;
}

void grove_direction_cosines(const double centre[2], const double *radec, int64_t count,
                             double *lmn)
{
    double sin_centre = sin(centre[1]), cos_centre = cos(centre[1]);
    for (int64_t s = 0; s < count; s++) {
        double ra = radec[2 * s] - centre[0], dec = radec[2 * s + 1], up = dec - centre[1];
        double half_ra = sin(0.5 * ra), half_up = sin(0.5 * up), cos_dec = cos(dec);
        double *to = lmn + 3 * s;
        to[0] = cos_dec * sin(ra);
        to[1] = sin(up) + 2 * cos_dec * sin_centre * half_ra * half_ra;
        /* 1 - cos(theta) by the haversine of theta */
        to[2] = -2 * (half_up * half_up + cos_dec * cos_centre * half_ra * half_ra);
    }
}

double grove_north_angle(const double centre[2], const double radec[2])
{
    double ra = radec[0] - centre[0], dec = radec[1];
    return atan2(-sin(dec) * sin(ra),
                 sin(dec) * sin(centre[1]) * cos(ra) + cos(dec) * cos(centre[1]));
}

static void site(const double reference[3], double *longitude, double *latitude)
{
    double place[3] = {reference[0], reference[1], reference[2]}, height;
    eraGc2gd(ERFA_WGS84, place, longitude, latitude, &height);
}

static double apparent_hour_angle(const frame *at, double longitude)
{
    return eraAnpm(longitude - atan2(at->w[1], at->w[0]));
}

double grove_time_of_hour_angle(double hour_angle, const double radec[2], const double reference[3],
                                double near_mjd, const grove_earth *earth)
{
    if (!isfinite(hour_angle) || !all_finite(radec, 2) || !all_finite(reference, 3)) {
        return NAN;
    }
    earth = earth ? earth : &still_earth;
    static _Thread_local slow_table table;
    double time = near_mjd;
    double longitude, latitude;
    site(reference, &longitude, &latitude);
    for (int k = 0; k < NEAREST_ITERATIONS; k++) {
        if (!time_in_range(time)) {
            return NAN;
        }
        frame at;
        frame_at(&table, time, radec, reference, earth, &at);
        double missing = eraAnpm(hour_angle - apparent_hour_angle(&at, longitude));
        time += missing / EARTH_TURN;
        if (fabs(missing) < 1e-11) {
            break;
        }
    }
    return time;
}

static void put(double *to, double value)
{
    if (to) {
        *to = value;
    }
}

void grove_horizon(double time, const double radec[2], const double reference[3],
                   const grove_earth *earth, double *hour_angle, double *sidereal, double *azimuth,
                   double *elevation, double *parallactic)
{
    frame at = {{NAN, NAN, NAN}, {NAN, NAN, NAN}, {NAN, NAN, NAN}, NAN, NAN};
    double longitude = NAN, latitude = NAN;
    if (time_in_range(time) && all_finite(radec, 2) && all_finite(reference, 3)) {
        static _Thread_local slow_table table;
        frame_at(&table, time, radec, reference, earth ? earth : &still_earth, &at);
        site(reference, &longitude, &latitude);
    }
    double position[2] = {longitude, latitude}, east[3], north[3], zenith[3];
    axes_at(position, east, north, zenith);
    put(hour_angle, apparent_hour_angle(&at, longitude));
    put(sidereal, eraAnp(at.rotation - at.origins + longitude));
    put(azimuth, eraAnp(atan2(dot(at.w, east), dot(at.w, north))));
    put(elevation, asin(fmax(-1, fmin(1, dot(at.w, zenith)))));
    put(parallactic, atan2(dot(zenith, at.u), dot(zenith, at.v)));
}
