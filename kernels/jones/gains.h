/* Errors of receivers, drawn by counter-based random numbers from station, element and time alone.
 * Inputs: station (its number), time. */
#ifndef GROVE_KERNELS_GAINS_H
#define GROVE_KERNELS_GAINS_H

#include "cell.h"

enum { GROVE_GAINS_CONSTANT, GROVE_GAINS_SINE, GROVE_GAINS_RANDOM_WALK };

typedef struct {
    double amplitude, phase; /* 1, rad */
    double period, start;    /* s */
    uint64_t seed;
    int32_t kind, spare;
} grove_gains;

/* Two independent Brownian motions at time x >= 0, zero at x = 0, with variance x. By Levy's
 * construction: a value at the end of a long interval, then midpoints drawn around the mean of the
 * ends, halving the interval. Any time is reached in a few steps without the times before it. */
GROVE_FN void grove_brownian(uint64_t seed, uint64_t station, uint64_t element, double x,
                             double walk[2])
{
    enum { ROOT = 20, FINEST = -9 }; /* intervals of 2^20 to 2^-9, linear within the last */
    double length = 1048576.0, left[2], right[2], middle[2];
    uint64_t cell = 0;

    if (x > length)
        x = length;
    grove_random_normal(seed, station, element, 0, 0, right);
    for (int k = 0; k < 2; k++) {
        left[k] = 0;
        right[k] *= sqrt(length);
    }
    for (int level = ROOT; level > FINEST; level--) {
        grove_random_normal(seed, station, element, (uint64_t)(level - FINEST), cell, middle);
        int upper = x >= length / 2;
        for (int k = 0; k < 2; k++) {
            middle[k] = (left[k] + right[k]) / 2 + middle[k] * sqrt(length) / 2;
            if (upper)
                left[k] = middle[k];
            else
                right[k] = middle[k];
        }
        length /= 2;
        x -= upper ? length : 0;
        cell = 2 * cell + (uint64_t)upper;
    }
    for (int k = 0; k < 2; k++)
        walk[k] = left[k] + (right[k] - left[k]) * (x / length);
}

/* The two numbers, of about unit size, that one element of one station has at a time. */
GROVE_FN void grove_gain_errors(const grove_gains *gains, uint64_t station, uint64_t element,
                                double time, double error[2])
{
    double turn = (time - gains->start) / gains->period;

    if (gains->kind == GROVE_GAINS_RANDOM_WALK) {
        grove_brownian(gains->seed, station, element, turn > 0 ? turn : 0, error);
        return;
    }
    grove_random_normal(gains->seed, station, element, 0, 0, error);
    if (gains->kind == GROVE_GAINS_SINE)
        for (int k = 0; k < 2; k++) {
            uint64_t bits = grove_random_bits(gains->seed, station, element, 1, (uint64_t)k);
            double angle = turn + grove_random_uniform(bits);
            error[k] = sin(2 * GROVE_PI * (angle - rint(angle)));
        }
}

#endif

/* exp(amplitude a + i phase b) on the diagonal; off it, of a matrix, amplitude (a + i b). */
GROVE_CELL(gains)
{
    const grove_gains *gains = GROVE_STATE(c, grove_gains);
    const double *time = GROVE_DOUBLES(c, 1);
    int elements = c->args->out.elements;
    double error[2];

    for (int e = 0; e < elements; e++) {
        grove_gain_errors(gains, (uint64_t)GROVE_DOUBLES(c, 0)[0], (uint64_t)e, time ? *time : 0,
                          error);
        double size = gains->amplitude, angle = gains->phase * error[1];
        if (elements == 4 && (e == 1 || e == 2)) {
            GROVE_OUT_COMPLEX(c)[e] = cx((real)(size * error[0]), (real)(size * error[1]));
            continue;
        }
        size = exp(size * error[0]);
        GROVE_OUT_COMPLEX(c)[e] = cx((real)(size * cos(angle)), (real)(size * sin(angle)));
    }
}
