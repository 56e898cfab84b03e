/* Station coordinates from baseline coordinates, by least squares. */
#ifndef GROVE_NODES_STATION_FIT_H
#define GROVE_NODES_STATION_FIT_H

#include <stdint.h>

/* The station coordinates [stations][3] whose differences u_p - u_q fit uvw [baselines][3] best in
 * the least-squares sense; baselines whose uvw are not finite do not count. Each group of stations
 * connected by baselines has mean zero; a station without baselines gets zero. Non-zero when memory
 * is short. */
int grove_station_fit(const double *uvw, const int32_t *left, const int32_t *right,
                      int64_t baselines, int64_t stations, double *station);

/* The median distance of a row's coordinates from the difference of its stations' coordinates,
 * fitted into station [stations][3]; in the unit of uvw, negative where it is not known. distance:
 * room for a number for each baseline. */
double grove_station_misclosure(const double *uvw, const int32_t *left, const int32_t *right,
                                int64_t baselines, int64_t stations, double *station,
                                double *distance);

#endif
