/* Class `probe`: an observation with known data and flags and the members of `ms`; and functions
 * that run trees in sessions. */
#ifndef GROVE_TESTS_PROBE_H
#define GROVE_TESTS_PROBE_H

#include "testing.h"

enum { PROBE_TIMES = 5, PROBE_STATIONS = 4, PROBE_BASELINES = 6, PROBE_CHANNELS = 7 };

/* Registers the class. Its options: `spoil=true` puts a NaN into data[0, 0, 0, XX], `scale` is a
 * factor of the data, `flags=false` flags nothing; of the stations' diameters
 * `dishes` are different. Time slots of 600 s follow each other, or with
 * gaps: after each `slots` of them one of the length `gap`; with `scans=true` a scan ends there.
 * `declination` is that of the phase centre, rad. */
void probe_begin(testing *t);

/* Element e of member data: multiples of 1/64 below 16 in modulus, so that sums are exact; 1e6
 * where flagged. Baseline 2 is flagged completely at time 1. */
double complex probe_data(int64_t time, int64_t baseline, int64_t channel, int e);
bool probe_flagged(int64_t time, int64_t baseline, int64_t channel, int e);
/* Member weight, real. */
double probe_weight(int64_t time, int64_t baseline, int64_t channel, int e);

/* The value of the node of that name from a session (options NULL: double precision, otherwise the
 * defaults), with a byte of flags per element; on failure the test ends. Free both. */
testing_value probe_session(testing *t, const char *name, const grove_session_options *options,
                            unsigned char **flags);
/* Runs the actions of the tree; returns the code, with messages in t->error. */
int probe_run(testing *t, const grove_session_options *options);
/* The same, and what the run writes to standard output, in `said`, 0-terminated. */
int probe_run_said(testing *t, const grove_session_options *options, char *said, size_t size);

#endif
