/* Which row of a Measurement Set has a time and a baseline. All who have a set open at the same
 * time in this process share it. */
#ifndef GROVE_NODES_SETS_SET_ROWS_H
#define GROVE_NODES_SETS_SET_ROWS_H

#include "unstable/hash.h"

typedef struct {
    int64_t times, baselines;
    int64_t count; /* rows; times * baselines where none is missing */
    /* Row [t][b] is of_time[t] + of_baseline[b], if that holds for all rows; else NULL, and: */
    int64_t *of_time, *of_baseline;
    int64_t *first;    /* [times + 1] into the others, which have the rows of each time: */
    int32_t *baseline; /* [count] ascending in a time */
    uint32_t *narrow;  /* [count] rows; NULL: they need more bits, and are in */
    int64_t *wide;
    /* Also found in the columns: */
    double *time, *interval; /* [times] UTC MJD s, ascending, and s; at one time, too */
    int *scan;               /* [times] */
    int *left, *right;       /* [baselines] stations */
    int fields, windows;     /* of all rows of the set */
    int polarizations;       /* ... of this window */
    int selections;          /* ... of all together */
    bool by_baseline;        /* most rows follow one of the same baseline */
} grove_set_rows;

/* All zero; the caller fills in arrays of malloc, and is its first user. */
grove_set_rows *grove_set_rows_new(void);
/* Others may use it, too; `key` is of the set's files and of the choice of rows. */
void grove_set_rows_share(grove_set_rows *rows, grove_hash key);
/* The rows that were shared with this key, with one more user; NULL: none. */
grove_set_rows *grove_set_rows_find(grove_hash key);
void grove_set_rows_release(grove_set_rows *rows); /* NULL is fine; the last one frees it */
/* Puts baselines [count] into the order that a shared one with the same baselines has, if there is
 * one, so that values of two sets meet. False: there is none, and nothing changes. */
bool grove_set_rows_order(int64_t count, int *left, int *right);

/* Whether all times and baselines have the same rows. */
bool grove_set_rows_equal(const grove_set_rows *a, const grove_set_rows *b);
/* Runs of baselines that follow each other, all with rows, in all times. */
int64_t grove_set_rows_runs(const grove_set_rows *rows);
/* Bytes that it takes. */
uint64_t grove_set_rows_bytes(const grove_set_rows *rows);
/* Rows of a block, of each time after the other, and their places [time][baseline] in the block.
 * Both have space for all of it. Returns their number. */
int64_t grove_set_rows_list(const grove_set_rows *rows, int64_t first_time, int64_t times,
                            int64_t first_baseline, int64_t baselines, int64_t *row,
                            int64_t *place);

#endif
