/* Solution tables to write as H5Parm files, in plain C. The layout:
 * https://github.com/revoltek/losoto/wiki/H5parm-specifications. */
#ifndef GROVE_NODES_COMMON_SOLUTION_TABLE_H
#define GROVE_NODES_COMMON_SOLUTION_TABLE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GROVE_SOLUTION_AXES = 5 };

typedef struct {
    const char *name; /* time (MJD, s), freq (Hz), ant, dir, pol */
    int64_t size;
    const double *number;     /* [size], or */
    const char *const *label; /* [size] */
    const double *width;      /* [size] of the intervals around the numbers; NULL: not known */
    const double *centre; /* [size] of the intervals where they differ from the numbers, or NULL */
} grove_solution_axis;

/* A soltab: one quantity of a parm. */
typedef struct {
    const char *type; /* "phase": its group is phase000, or has the next number */
    const char *parm, *jones;
    const char *unit; /* NULL: a plain number */
    int axes;
    grove_solution_axis axis[GROVE_SOLUTION_AXES]; /* slowest first; time and freq come first */
    const double *value;                           /* NaN: no solution */
    const float *weight;
    const double *error; /* standard deviations; NULL: not known */
    /* Results of the domain of each cell of time and freq, as far as the soltab has these axes. */
    const double *chi2;
    const int64_t *freedom; /* degrees of it */
    const int32_t *iterations, *outcome;
} grove_soltab;

typedef struct {
    int64_t antennas;
    const char *const *antenna;
    const double *position; /* [antennas][3] ITRF, m */
    int64_t sources;
    const char *const *source;
    const double *direction;    /* [sources][2] J2000, rad */
    const char *history;        /* of the run that made it */
    const char *const *outcome; /* [outcomes] a word for each number */
    int outcomes;
    const grove_soltab *soltab;
    int soltabs;
} grove_solution_table;

/* 0 where this build can write them, else GROVE_MISSING with a message. */
int grove_solution_table_ready(grove_error *error);
/* The bytes of the file, the same for the same table; the caller frees. NULL with a message. */
char *grove_solution_table_bytes(const grove_solution_table *table, size_t *length,
                                 grove_error *error);

#endif
