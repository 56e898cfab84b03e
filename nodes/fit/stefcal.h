/* Jones matrices of stations from compressed sums by alternating least squares (StEFCal; Salvini &
 * Wijnholds 2014, A&A 571, A97): with the right matrices fixed, each station's is the solution of a
 * small linear problem. Every second of the first iterates is the mean of the last two, later
 * ones are extrapolated (Anderson acceleration), so that directions that the data say little about
 * do not hold up the rest. */
#ifndef GROVE_NODES_STEFCAL_H
#define GROVE_NODES_STEFCAL_H

#include "nodes/fit/compression.h"

#include <stdbool.h>

typedef enum {
    GROVE_STEFCAL_SCALAR,   /* the same number for both polarisations */
    GROVE_STEFCAL_DIAGONAL, /* needs sums of the diagonal form, as scalar does */
    GROVE_STEFCAL_FULL      /* needs sums of the full form */
} grove_stefcal_jones;

/* The part of each number that is solved for (scalar and diagonal only). */
typedef enum {
    GROVE_STEFCAL_COMPLEX,
    GROVE_STEFCAL_PHASE,    /* amplitudes stay as at the start */
    GROVE_STEFCAL_AMPLITUDE /* phases stay as at the start */
} grove_stefcal_part;

typedef enum {
    GROVE_STEFCAL_CONVERGED,
    GROVE_STEFCAL_LIMIT,   /* of iterations, or too slow to go on: the solution is better than the
                              start */
    GROVE_STEFCAL_NO_DATA, /* no station has any */
    GROVE_STEFCAL_DIVERGED /* chi-squared grew or overflowed: the start values are back */
} grove_stefcal_outcome;

typedef struct {
    grove_stefcal_jones jones;
    grove_stefcal_part part;
    int32_t groups, stations;
    int64_t baselines;
    const int32_t *left, *right; /* stations of the baselines */
    bool autocorrelations;       /* whether they count */
    int32_t max_iterations;
    double tolerance; /* of the next iterate's distance, relative in the norm */
    /* Stops when chi-squared can still fall by less than this fraction, estimated from its fall
     * over the last iterations; 0: off. */
    double negligible;
    /* Stops when more iterations than these are still needed at the rate of the last ones: the cost
     * of finishing with another solver, in iterations. 0: never. */
    int32_t patience;
} grove_stefcal_problem;

typedef struct {
    grove_stefcal_outcome outcome;
    int32_t iterations;
    double increment; /* the relative distance of the next iterate */
    double rate;      /* by which an iteration shrinks it (mean of 8); 0 before it is known */
    double change;    /* of chi-squared since the start */
} grove_stefcal_result;

/* Solves for `jones` [station][group][4] (2x2, row-wise), which holds the start. Scalar: elements 0
 * and 3 get the same number; scalar and diagonal: the others are not looked at. sums:
 * [baseline][size], with grove_compression_size(form, groups). Stations without data, and numbers
 * that the data do not determine, keep their start exactly; `solved`, [station][group][4] (may be
 * NULL), is set for numbers with data. Non-zero when memory is short. One thread; several may call
 * it. */
int grove_stefcal_solve(const grove_stefcal_problem *problem, const double *sums,
                        double _Complex *jones, bool *solved, grove_stefcal_result *result);

#endif
