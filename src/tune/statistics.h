/* Statistics of records of tuning: tables in Markdown, and a picture. */
#ifndef GROVE_TUNE_STATISTICS_H
#define GROVE_TUNE_STATISTICS_H

#include "tune/record.h"

/* Of the configurations of a record that ran. Their performance is relative to the best one's: the
 * least time / the time. */
typedef struct {
    int ran, failed;
    double least, lower, median, upper; /* the least performance, and quartiles */
    double distance; /* of the best one from the mean, in standard deviations; 0: all are equal */
    double bound;    /* Chebyshev's, of the share of configurations that are as good */
} tune_distribution;
tune_distribution tune_distribution_of(const tune_record *record);

typedef struct {
    tune_record *record; /* its points are sorted by their keys */
    const tune_point *best;
    char *kernel; /* "predict_plain single" */
    char *sizes;  /* "16x300" */
    double cells; /* their product */
    int device;   /* a number, from 0 */
} tune_item;

/* Items are sorted by kernel, device, code and sizes. */
typedef struct {
    tune_item *items, *ran; /* all, and those with a configuration that ran */
    size_t count, capacity, ran_count;
} tune_statistics;

/* Reads records, and all of folders and the folders in them; without paths the user's records.
 * NULL with a message, also where a folder has none. */
tune_statistics *tune_statistics_read(const char *const *paths, size_t count, grove_error *error);
void tune_statistics_free(tune_statistics *s); /* NULL is fine */
/* Caller frees. */
char *tune_statistics_text(const tune_statistics *s);
/* A box for each record, as SVG. 0 or a code with a message. */
int tune_statistics_draw(const tune_statistics *s, const char *path, bool overwrite,
                         grove_error *error);

#endif
