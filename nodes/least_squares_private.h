/* What the files of least squares share. */
#ifndef GROVE_NODES_LEAST_SQUARES_PRIVATE_H
#define GROVE_NODES_LEAST_SQUARES_PRIVATE_H

#include "nodes/least_squares.h"
#include "nodes/least_squares_algebra.h"

#include <stddef.h>

/* What a rejected step multiplies the damping by; twice that after the next. */
#define DAMPING_GROWTH 3

/* A point with what the caller sums there. */
typedef struct {
    double *x, *gradient, *matrix;
} grove_least_squares_at;

struct grove_least_squares {
    int64_t n;
    grove_least_squares_settings set; /* its arrays are copies */
    grove_least_squares_outcome outcome;
    int32_t iterations;
    grove_least_squares_at best, trial;
    double chi2, power;
    int64_t data;

    /* Unknowns by block, [n], each block's ascending, and where blocks begin, [groups + 1]. */
    int32_t *member, *begin;
    int64_t groups;

    /* The step to the trial point. */
    double damping, growth;
    int32_t quiet;                /* so many points in a row hardly changed chi-squared */
    double *step, *scale, *right; /* scale: sqrt(N_jj), or 0 without data */
    bool *held;                   /* at a bound that the step would cross */
    bool half, cut, undamped_tried, deficient, by_change;
    double predicted, increment, last_increment, reference, floor, rounding;

    grove_factor factor;
    int32_t *list; /* the unknowns of a group that the step changes */
    double *block; /* memory for the factors of blocks */

    bool analysed;
    int64_t rank, null_count;
    double *errors, *null;
};

/* x of an unknown, moved into its bounds. */
double grove_least_squares_clamp(const grove_least_squares *fit, int64_t unknown, double x);
/* Lists the unknowns of a group that have data and are not held. */
void grove_least_squares_list(grove_least_squares *fit, int64_t group);
/* Factors the scaled and damped matrix of the unknowns listed. False when memory is short. */
bool grove_least_squares_factor(grove_least_squares *fit, const grove_least_squares_at *from,
                                double damping);

#endif
