/* Tuning of all kernels that a session runs, with the arguments of its launches. */
#ifndef GROVE_TUNE_TUNE_H
#define GROVE_TUNE_TUNE_H

#include "base/error.h"
#include "tune/space.h"
#include "unstable/tuning.h"

typedef struct {
    const char *kernel; /* tunes this one only, however little time it takes; NULL: all */
    double least_share; /* of the time of kernels: tunes no kernel that takes less */
    tune_strategy strategy;
    double budget;   /* seconds for all kernels, shared by their time; 0: none */
    double patience; /* seconds after which a configuration counts as failed, besides 100 times as
                        long as the default one */
    bool energy;     /* the configuration that takes the least energy, not the least time */
    bool quiet;      /* no line on standard error for each kernel that was tuned */
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
} tune_result;

typedef struct {
    tune_result *results;
    size_t count, capacity;
    double seconds; /* of all kernels, with default configurations */
    char *path;     /* of the file that runs read */
} tune_report;

/* Launches all kernels with the tuner in the place of launches: of a session by grove_session_tune,
 * of a device by its member `tuner`. 0 or a code with a message. */
typedef int tune_run(void *context, const grove_tuner *tuner, grove_error *error);

/* Runs twice: first to find the time of each kernel, then to tune them. 0 or a code with a message.
 * `report` is zeroed by the caller. */
int tune_kernels(tune_run *run, void *context, const tune_options *options, tune_report *report,
                 grove_error *error);
/* A table on standard output. */
void tune_report_print(const tune_report *report);
void tune_report_free(tune_report *report);

/* Whether this machine has a counter of energy that may be read. */
bool tune_measures_energy(void);

#endif
