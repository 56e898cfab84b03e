/* Observations: the axes and members that `observe` and `ms` have in common. */
#ifndef GROVE_NODES_OBSERVATION_H
#define GROVE_NODES_OBSERVATION_H

#include "base/error.h"
#include "nodes/common/coordinates.h"
#include "plugin.h"

/* Owned by the node; free with grove_observation_free. */
typedef struct {
    double *time, *interval; /* [times] UTC MJD s, s */
    double *scan;            /* [times] scan numbers */
    int64_t times;
    double *freq, *channel_width; /* [channels] Hz */
    int64_t channels;
    char **names;     /* [stations] */
    double *position; /* [stations][3] ITRF m */
    double *diameter; /* [stations] m */
    int64_t stations;
    int32_t *left, *right; /* [baselines] station numbers */
    int64_t baselines;
    double phase_centre[2]; /* J2000 ra, dec, rad */
    double reference[3];    /* ITRF position at which sidereal time and horizon are taken, m */
    grove_earth earth;
    bool circular;   /* receptors */
    char *misplaced; /* why nothing can be computed from the positions; NULL: it can */
} grove_observation;

/* Adds the axes time, freq, station, baseline and all members to a leaf. Constant members: time,
 * interval, scan, freq, channel_width, position, diameter, station_diameter, phase_centre, feed,
 * station_index, baseline. Members that are read block by block: uvw, uvw_rate, station_uvw,
 * station_rate, hour_angle, azimuth, elevation, parallactic. */
int grove_observation_publish(grove_node *node, const grove_observation *observation);
/* Reads a member of the second kind for a block, by ERFA from positions, phase centre and times.
 * GROVE_MISSING when it is none of them. */
int grove_observation_read(const grove_node *node, const grove_observation *observation,
                           const char *member, grove_array *out);
/* Station coordinates and rates of a range of times, [times][stations][3] each; rate may be NULL.
 */
int grove_observation_station_uvw(const grove_observation *observation, int64_t first,
                                  int64_t count, double *uvw, double *rate, grove_error *error);
/* Sets the reference, the middle of the stations; and `misplaced`, if one that has baselines is not
 * at the Earth's surface or above: positions that are 0, or relative to the array's centre. */
void grove_observation_place(grove_observation *observation);
void grove_observation_free(grove_observation *observation);

/* The range of a block along an axis kind. */
grove_range grove_observation_range(const grove_array *out, int kind);

#endif
