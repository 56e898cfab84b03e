/* The coordinates of a file in ascending order, and the intervals around them. */
#ifndef GROVE_NODES_GRID_INTERVALS_H
#define GROVE_NODES_GRID_INTERVALS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    double at, low, high; /* the centre and the edges */
    int64_t place;        /* in the file */
} grove_knot;

/* In ascending order; the caller frees. `intervals`: edges of intervals of these widths; width
 * NULL: half-way between neighbours, but no farther from the centre than half of the median
 * spacing. Otherwise edges are half-way between neighbours. */
grove_knot *grove_knots_new(const double *centre, const double *width, int64_t count,
                            bool intervals);
/* The place of the interval that has x, the centre of a cell of this width, in it: of several, of
 * the one whose centre is nearest; of none, of the one whose edge is nearest. */
int64_t grove_knots_interval(const grove_knot *knots, int64_t count, double x, double width);

#endif
