/* The median of numbers too many to keep: they are given again and again, and those among which it
 * is become fewer each time. It is exact. Knows no node. */
#ifndef GROVE_NODES_MEDIAN_H
#define GROVE_NODES_MEDIAN_H

#include <stdbool.h>
#include <stdint.h>

enum { GROVE_MEDIAN_ROOM = 2048 };

/* The numbers looked among are those whose bits lie in [first, first + (ROOM << shift)): counted in
 * bins of 1 << shift each, or once the first bin is all and has few, listed. */
typedef struct {
    uint64_t first;
    int shift;
    bool lists;
    int64_t all, below, listed; /* of those given in this turn */
    union {
        int64_t bins[GROVE_MEDIAN_ROOM];
        double numbers[GROVE_MEDIAN_ROOM];
    } in;
} grove_median;

/* `guess`: an estimate of the median; 0: none. */
void grove_median_begin(grove_median *m, double guess);
/* Numbers that are not negative and finite. */
void grove_median_add(grove_median *m, const double *x, int64_t count);
/* All numbers have been given: true, and the median, the larger of two; NaN of none. False: they
 * are needed once more. */
bool grove_median_end(grove_median *m, double *median);

#endif
