/* Records of tuning: all configurations of a kernel that were tried on a device with some sizes, in
 * the format of cache files of kernel_tuner 1.5 (Python), whose programs read ours; ours read
 * theirs. Members that it does not know: `grove`, and `reason` of a failure. */
#ifndef GROVE_TUNE_RECORD_H
#define GROVE_TUNE_RECORD_H

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { TUNE_KEYS = 32, TUNE_RUNS = 256 };

typedef struct {
    char *key;                       /* values of all tunables, "128,4" */
    char *failure;                   /* the reason, NULL: it ran and its output was right */
    double time;                     /* median of a run, ms; of a failure INFINITY */
    double error;                    /* standard error of `time`, ms */
    double energy;                   /* of a run, J; 0: not measured */
    double compile, verify, measure; /* their times, ms */
    double *times;                   /* of each run, ms */
    int runs;
} tune_point;

typedef struct {
    char *path;
    char *machine, *kernel, *sizes; /* "16,300" */
    char *code;                     /* of a record that was read; of kernel_tuner's "" */
    int tunables;
    char *name[TUNE_KEYS];   /* of tunables */
    char *values[TUNE_KEYS]; /* all values of each, "128,64" */
    tune_point *points;
    size_t count, capacity;
    FILE *stream; /* of an open record */
} tune_record;

/* The folder of the user's records, DEVICE/KERNEL-PRECISION-CODE-SIZES.json, which need not exist;
 * NULL with a message: there is none. Caller frees. */
char *tune_record_folder(grove_error *error);
/* NULL with a message. A record whose program was ended while it wrote is complete up to its last
 * whole configuration. */
tune_record *tune_record_read(const char *path, grove_error *error);
/* Opens a record to add configurations, and reads it where it exists; takes names, values, machine,
 * kernel, sizes and path of `head`, which it copies. `code` is the kernel's name, precision and
 * hash. It is locked until it is closed: GROVE_IO while another program has it. */
tune_record *tune_record_open(const tune_record *head, const char *code, grove_error *error);
/* Writes a configuration to the file at once, and keeps a copy. */
int tune_record_add(tune_record *record, const tune_point *point, grove_error *error);
/* Completes the file, of an open record, and frees all; NULL is fine. */
void tune_record_free(tune_record *record);

/* Of at most TUNE_RUNS numbers; INFINITY of none. The standard error of their mean. */
double tune_median(const double *numbers, int count);
double tune_standard_error(const double *numbers, int count);
/* The standard error of the median, from the quartiles: some runs that are disturbed do not
 * matter. */
double tune_median_error(const double *numbers, int count);

/* NULL where it is not there. */
const tune_point *tune_record_find(const tune_record *record, const char *key);
/* The point with the least time; with `energy` the least energy. NULL: none ran. */
const tune_point *tune_record_best(const tune_record *record, bool energy);

#endif
