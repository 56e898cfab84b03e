/* Tuning of all kernels that a session runs, with the arguments of its launches. */
#ifndef GROVE_TUNE_TUNE_H
#define GROVE_TUNE_TUNE_H

#include "base/error.h"
#include "tune/space.h"
#include "unstable/tuning.h"

typedef struct {
    const char *kernel; /* tunes this one only; NULL: all that take 1 % of the time of kernels */
    tune_strategy strategy;
    double budget;   /* seconds for all kernels, shared by their time; 0: none */
    double patience; /* seconds after which a configuration counts as failed, besides 100 times as
                        long as the default one */
    bool energy;     /* the configuration that takes the least energy, not the least time */
    bool quiet;
    int guard; /* a pipe: before each configuration is tried a line "SECONDS\tRECORD\tKEY", by which
                  another process can end this one and write the failure, and after it an empty
                  line; -1: none */
} tune_options;

/* The result for a kernel. */
typedef struct {
    char *kernel;             /* "predict_plain single 16x300" */
    double share;             /* of the time of all kernels of the run */
    int count, tried, failed; /* configurations */
    char *best;               /* "BLOCK=64 GROUP=8" */
    double time;              /* of the default configuration, ms */
    double ratio;             /* the best one's time, or energy, to the default one's */
    char *record;             /* path; NULL: it was not tuned */
} tune_result;

typedef struct {
    tune_result *results;
    size_t count, capacity;
    double seconds; /* of all kernels, with default configurations */
    char *path;     /* of the file that runs read */
} tune_report;

typedef struct tuning tuning;
/* `report` is zeroed by the caller; both must outlive the tuning. Never NULL. */
tuning *tune_new(const tune_options *options, tune_report *report, grove_error *error);
void tune_free(tuning *t);
/* Runs the tree of a session: the first one to find the time of each kernel, then another one, of
 * the same tree and options, to tune them. 0 or a code with a message. */
int tune_session(tuning *t, grove_session *session);
void tune_report_free(tune_report *report);

/* Whether this machine has a counter of energy that may be read. */
bool tune_measures_energy(void);

#endif
