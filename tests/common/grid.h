/* Classes `grid` and `field`: an observation and a sky model with numbers that the test chooses,
 * and the members of `observe` and `sky_model`. */
#ifndef GROVE_TESTS_GRID_H
#define GROVE_TESTS_GRID_H

#include "facts.h"
#include "testing.h"

enum { GRID_TIMES = 4, GRID_STATIONS = 4, GRID_BASELINES = 10, GRID_MAX = 80, FIELD_MAX = 8 };

/* Stations p move on straight lines: start + rate * (time - time[0]). Baselines are all pairs p <=
 * q, including autocorrelations. */
typedef struct {
    int times, channels;
    double time[GRID_TIMES], interval[GRID_TIMES];
    double freq[GRID_MAX], width[GRID_MAX];
    double start[GRID_STATIONS][3], rate[GRID_STATIONS][3];
    double phase_centre[2], feed;
    grove_observation_facts facts;
} grid;

typedef struct {
    int sources;
    double radec[FIELD_MAX][2], stokes[FIELD_MAX][4], reference[FIELD_MAX];
    double spectrum[FIELD_MAX][3], logarithmic[FIELD_MAX];
    double measure[FIELD_MAX], rotation_reference[FIELD_MAX];
    double shape[FIELD_MAX][3], absolute[FIELD_MAX];
    double jones[FIELD_MAX][8]; /* member jones: a complex matrix */
} field;

/* The numbers with which `grid()` and `field()` open. */
extern grid grid_now;
extern field field_now;

/* Registers both classes; fills grid_now and field_now: baselines of up to kilometres, 70 channels
 * of 1 MHz from 1.4 GHz; six sources, the first at the phase centre, two of them Gaussian, with
 * spectra, polarisation and rotation measures. */
void grid_begin(testing *t);
/* Fills in the numbers only. */
void grid_reset(void);
/* u_p - u_q of baseline b = (p, q) at time i, and its rate, in m and m/s. */
void grid_pair(int b, int *p, int *q);
void grid_uvw(int time, int b, double uvw[3], double rate[3]);

/* In long double: direction cosines (n - 1 from the root of 1 - l^2 - m^2), brightness matrix,
 * and visibility of source s on baseline b; smear bit 0: in time, 1: in frequency. */
void grid_lmn(int s, long double lmn[3]);
void grid_brightness(int s, int channel, long double complex b[4]);
void grid_visibility(int s, int time, int b, int channel, int smear, long double complex v[4]);
/* ... without the brightness. */
long double complex grid_factor(int s, int time, int b, int channel, int smear);

/* a b, which may be in `to`. */
void grid_multiply(long double complex to[4], const long double complex a[4],
                   const long double complex b[4]);

#endif
