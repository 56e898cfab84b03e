/* The costs of the ways to compute the sum over sources on this machine. */
#ifndef GROVE_KERNELS_PREDICT_COST_H
#define GROVE_KERNELS_PREDICT_COST_H

#include "predict.h"

/* Kinds of costs: without Jones terms inside the sum; with a matrix for each source and station on
 * both sides; with one for each channel, too. */
enum { PREDICT_COSTS_POINTS, PREDICT_COSTS_JONES, PREDICT_COSTS_VARIED, PREDICT_COSTS_KINDS };

/* Processor time in ns, for one source without smearing. With Jones terms, `direct` is without the
 * phases of stations, two for each, as dear as `phase`. With Jones terms of channels `panel` is of
 * a station and channel by baselines, `channel` of a row in it. */
typedef struct {
    double panel;   /* by baselines: phases for a row and block of equally spaced channels */
    double channel; /* ... and for each of the channels */
    double direct;  /* by baselines: a row and channel with an evaluated phase */
    double phase;   /* by stations: a station, time and channel */
    double pair;    /* ... and each pair of stations in it */
} grove_predict_costs;

/* Measures them for an instruction set (grove_isa) and numbers of 4 or 8 bytes: some tens of
 * milliseconds. `jones`: PREDICT_COSTS_. 0: no memory. */
int grove_predict_measure(int isa, int bytes, int jones, grove_predict_costs *costs);
/* Typical costs, for machines where they have not been measured. */
grove_predict_costs grove_predict_usual_costs(int isa, int bytes, int jones);

/* A sum. jones: PREDICT_COSTS_; elements: 1, 2 or 4 of the Jones terms; sums: elements of the
 * result that differ, 1, 2 or 4 (0: 1). regular: equally spaced channels that are not too few.
 * flat: the brightness does not vary with frequency. gaussians: of the sources. fitted: coordinates
 * of stations are found from the rows', for points by stations alone. lanes: channels that a vector
 * holds, 0: 1. strays: coordinates are no differences of stations'. sources: 0: enough that storing
 * takes no time. share: of the rows that are computed, drawn at random, 0: all; sums by stations
 * then compute the tiles of pairs that have any. */
typedef struct {
    int64_t baselines, stations, channels, sources, gaussians;
    int regular, flat, smear_time, smear_freq, fitted, strays, jones, elements, sums, lanes;
    double share;
} grove_predict_shape;

/* For a source and time, ns; `costs` are for shape->jones. */
double grove_predict_cost_of_baselines(const grove_predict_costs *costs,
                                       const grove_predict_shape *shape);
double grove_predict_cost_of_stations(const grove_predict_costs *costs,
                                      const grove_predict_shape *shape);
/* Whether by baselines a source is in each lane, not a row: between Jones terms that do not vary
 * with frequency in channels that a recurrence takes, too. */
int grove_predict_sources_win(const grove_predict_costs *costs, const grove_predict_shape *shape);

#endif
