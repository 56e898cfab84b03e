/* A Measurement Set as pictures see it: walked in blocks, in bounded memory. */
#ifndef GROVE_PLOT_SET_H
#define GROVE_PLOT_SET_H

#include "io/data_module.h"

typedef struct {
    const grove_data_module *module;
    grove_ms *ms;
    const grove_ms_layout *layout;
    const char *path, *name; /* name: the last part of the path */
    const char *column;
    int parallel[2], parallel_count; /* correlations that make Stokes I: XX YY, RR LL, I, or one */
    int64_t every;                   /* each such time slot is looked at; 1: all */
    grove_error *error;              /* borrowed */
} grove_set;

/* What a walk reads. */
enum { GROVE_SET_UVW = 1, GROVE_SET_DATA = 2, GROVE_SET_WEIGHT = 4 };

/* Samples of some times, all or some baselines, all channels. What was not asked for is NULL. */
typedef struct {
    int64_t first_time, times, first_baseline, baselines;
    double *uvw;         /* [time][baseline][3] m, in Grove's sign; NaN where a row is missing */
    float *data;         /* [time][baseline][channel][correlation] complex */
    float *weight;       /* the same, real */
    unsigned char *flag; /* the same; with data */
} grove_set_samples;

/* Opens for reading; fails for a set without rows, and, when `data`, without the column or without
 * a correlation that counts towards Stokes I. */
int grove_set_open(grove_set *set, const char *path, int field, int spectral_window,
                   const char *column, bool data, grove_error *error);
void grove_set_close(grove_set *set);

/* Looks at every n-th time slot only, so that at most about `most` samples (rows, or with `data`
 * visibilities) are read. */
void grove_set_limit(grove_set *set, double most, bool data);
/* Calls `each` for consecutive blocks until it returns other than 0. */
int grove_set_walk(grove_set *set, unsigned what,
                   int (*each)(void *context, const grove_set *set,
                               const grove_set_samples *samples),
                   void *context);

/* Whether sample number `k` belongs to a share (0 to 1) of all: the same ones each time, evenly
 * spread. */
bool grove_set_chosen(uint64_t k, double share);

/* A note for a subtitle on what was left out, "" when nothing was. Caller frees. */
char *grove_set_note(const grove_set *set, double share, const char *what);

#endif
