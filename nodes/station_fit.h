/* Station coordinates from baseline coordinates. */
#ifndef GROVE_NODES_STATION_FIT_H
#define GROVE_NODES_STATION_FIT_H

#include <stdint.h>

/* The station coordinates [stations][3] whose differences u_p - u_q come nearest to uvw
 * [baselines][3] in the least-squares sense. Each group of stations that baselines connect has mean
 * zero; a station without baseline gets zero. Non-zero when memory is short. */
int grove_station_fit(const double *uvw, const int32_t *left, const int32_t *right,
                      int64_t baselines, int64_t stations, double *station);

#endif
