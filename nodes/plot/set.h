/* A Measurement Set for pictures, read in blocks with bounded memory. */
#ifndef GROVE_NODES_PLOT_SET_H
#define GROVE_NODES_PLOT_SET_H

#include "nodes/sets/service.h"

enum { GROVE_SET_COLUMNS = 2 };

typedef struct {
    const grove_sets *module;
    grove_ms *ms;
    const grove_ms_layout *layout;
    const char *path, *name;          /* name: the last component of the path */
    const char *column;               /* the one that a walk reads */
    char *columns[GROVE_SET_COLUMNS]; /* drawn side by side */
    int column_count;
    int parallel[2], parallel_count; /* correlations that give Stokes I: XX YY, RR LL, I, or one */
    int shown[4], shown_count;       /* correlations of pictures of visibilities */
    unsigned char *chosen;           /* [baselines] 1: is drawn */
    int64_t chosen_count;
    bool named;         /* the baselines were chosen by name */
    int64_t every;      /* stride through the time slots; 1: all are read */
    grove_error *error; /* borrowed */
} grove_set;

/* The selection that a walk reads. */
enum { GROVE_SET_UVW = 1, GROVE_SET_DATA = 2, GROVE_SET_WEIGHT = 4 };

/* A block: some times, all or some baselines, all channels. Parts that were not requested are NULL.
 */
typedef struct {
    int64_t first_time, times, first_baseline, baselines;
    double *uvw;         /* [time][baseline][3] m, in Grove's sign; NaN where a row is missing */
    float *data;         /* [time][baseline][channel][correlation] complex */
    float *weight;       /* the same shape, real */
    unsigned char *flag; /* the same shape; with data */
} grove_set_samples;

/* Opens for reading, with all baselines chosen, without autocorrelations; fails for a set without
 * rows, and, when `data`, without the column (NULL: DATA; two with a comma) or channels. */
int grove_set_open(grove_set *set, const char *path, const grove_ms_part *part, const char *column,
                   bool data, grove_error *error);
void grove_set_close(grove_set *set);

/* Chooses the baselines of a list with commas: "p-q", or "p" for all baselines of a station, by
 * name or number; autocorrelations only where named. NULL: all cross-correlations. */
int grove_set_choose_baselines(grove_set *set, const char *list);
/* "XX,YX" or "all". NULL: the parallel hands, or all where there are none. */
int grove_set_choose_correlations(grove_set *set, const char *list);
/* The title of the chart of column k: the set's name, `what`, and the column if there are two.
 * Caller frees. */
char *grove_set_title(const grove_set *set, const char *what, int k);
/* "XX"; borrowed. */
const char *grove_set_correlation(const grove_set *set, int k);
/* "m000–m001". Caller frees. */
char *grove_set_baseline_name(const grove_set *set, int64_t baseline);

/* Sets the stride so that at most about `max` samples (rows, or visibilities when `data`) are
 * read. */
void grove_set_limit(grove_set *set, double max, bool data);
/* Calls `each` for consecutive blocks until it returns non-zero. Blocks may have baselines that are
 * not chosen. */
int grove_set_walk(grove_set *set, unsigned what,
                   int (*each)(void *context, const grove_set *set,
                               const grove_set_samples *samples),
                   void *context);

/* Whether sample number `k` belongs to a share (0 to 1) of all, evenly distributed and always the
 * same. */
bool grove_set_chosen(uint64_t k, double share);

/* A note for a subtitle on chosen and omitted data, "" for nothing. Caller frees. */
char *grove_set_note(const grove_set *set, double share, const char *what);

#endif
