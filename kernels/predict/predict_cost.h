/* What the ways to compute the sum over sources cost on this machine. */
#ifndef GROVE_KERNELS_PREDICT_COST_H
#define GROVE_KERNELS_PREDICT_COST_H

#include "predict.h"

/* Processor time in ns, for one source without smearing. */
typedef struct {
    double panel;   /* by baselines: phases for a row and block of equally spaced channels */
    double channel; /* ... and for each of the channels */
    double direct;  /* by baselines: a row and channel with an evaluated phase */
    double phase;   /* by stations: a station, time and channel */
    double pair;    /* ... and each pair of stations in it */
} grove_predict_costs;

/* Measures them for an instruction set (grove_isa) and numbers of 4 or 8 bytes: some tens of
 * milliseconds. `jones`: with a matrix for each source and station on both sides that does not vary
 * with frequency. 0: no memory. */
int grove_predict_measure(int isa, int bytes, int jones, grove_predict_costs *costs);
/* Typical costs, for machines where they have not been measured. */
grove_predict_costs grove_predict_usual_costs(int isa, int bytes, int jones);

/* For a source and time, ns. `regular`: equally spaced channels that are not too few. */
double grove_predict_cost_of_baselines(const grove_predict_costs *costs, int64_t baselines,
                                       int64_t channels, int regular);
double grove_predict_cost_of_stations(const grove_predict_costs *costs, int64_t stations,
                                      int64_t channels);

#endif
