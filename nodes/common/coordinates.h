/* Coordinates: baselines, hour angles and direction cosines, computed with ERFA. */
#ifndef GROVE_NODES_COMMON_COORDINATES_H
#define GROVE_NODES_COMMON_COORDINATES_H

#include "base/error.h"
#include <stdint.h>

/* Earth orientation parameters: UT1-UTC in s, polar motion in radians; all zero by default. */
typedef struct {
    double ut1_utc, polar_x, polar_y;
} grove_earth;

/* Station uvw in metres (sign as in numerics.md; J2000/ICRS frame about phase centre `radec`, with
 * precession, nutation and aberration) and their rates in m/s, at UTC times `time` (MJD seconds,
 * [times]). positions [stations][3]: ITRF, m; coordinates are relative to `reference` (ITRF, m; a
 * point near the array). uvw and rate: [times][stations][3]; rate may be NULL. */
int grove_station_uvw(const double *time, int64_t times, const double *positions, int64_t stations,
                      const double reference[3], const double radec[2], const grove_earth *earth,
                      double *uvw, double *rate, grove_error *error);

/* Direction cosines l, m, n-1 about `centre` (ra, dec) of directions radec [count][2]; n - 1 is
 * computed without cancellation. lmn: [count][3]. Sources more than 90 degrees from the centre get
 * n - 1 < -1. */
void grove_direction_cosines(const double centre[2], const double *radec, int64_t count,
                             double *lmn);
/* Angle (radians) from true north at radec to the m axis of `centre`. It makes absolute position
 * angles relative: relative = absolute + this. */
double grove_north_angle(const double centre[2], const double radec[2]);

/* UTC of international atomic time, both MJD seconds. */
double grove_utc_of_atomic(double time);
/* The UTC time (MJD seconds) nearest to `near_mjd` at which the phase centre `radec` has the
 * apparent hour angle `hour_angle` (radians) at ITRF position `reference`. */
double grove_time_of_hour_angle(double hour_angle, const double radec[2], const double reference[3],
                                double near_mjd, const grove_earth *earth);
/* Apparent hour angle (radians, -pi..pi), local apparent sidereal time, azimuth (north through
 * east), elevation (no refraction), parallactic angle; each may be NULL. */
void grove_horizon(double time, const double radec[2], const double reference[3],
                   const grove_earth *earth, double *hour_angle, double *sidereal, double *azimuth,
                   double *elevation, double *parallactic);

#endif
