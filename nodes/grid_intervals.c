#include "nodes/grid_intervals.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

static int by_number(const void *a, const void *b)
{
    const grove_knot *x = a, *y = b;

    return x->at < y->at ? -1 : x->at > y->at;
}

/* The length of most intervals: the median of the distances. */
static double usual_length(const grove_knot *knots, int64_t count)
{
    double *step = grove_alloc((size_t)count * sizeof(*step)), length;

    for (int64_t i = 1; i < count; i++)
        step[i - 1] = knots[i].at - knots[i - 1].at;
    qsort(step, (size_t)count - 1, sizeof(*step), grove_compare_numbers);
    length = step[(count - 1) / 2];
    free(step);
    return length;
}

/* A length that differs by less than this part is the usual one: coordinates are rounded. */
#define SAME 1e-3

/* From the end of the one before on, or, after a gap, of the usual length. A shorter one is the
 * last of its scan: the next begins with the usual length again. */
static void follow(grove_knot *knots, int64_t count)
{
    double length = usual_length(knots, count);

    for (int64_t i = 0; i < count; i++) {
        double half = length / 2, before = i ? knots[i].at - knots[i - 1].high : INFINITY;
        if (before <= 0) { /* not of this rule */
            before = (knots[i].at - knots[i - 1].at) / 2;
            knots[i - 1].high = knots[i].at - before;
        }
        half = before < half * (1 - SAME) ? before : half;
        knots[i].low = knots[i].at - half;
        knots[i].high = knots[i].at + half;
    }
}

grove_knot *grove_knots_new(const double *centre, const double *width, int64_t count,
                            bool intervals)
{
    grove_knot *knots = grove_alloc((size_t)count * sizeof(*knots) + 1);

    for (int64_t i = 0; i < count; i++) {
        double half = width && intervals ? width[i] / 2 : 0;
        knots[i] = (grove_knot){centre[i], centre[i] - half, centre[i] + half, i};
    }
    qsort(knots, (size_t)count, sizeof(*knots), by_number);
    if (count < 2 || (width && intervals))
        return knots;
    if (intervals) {
        follow(knots, count);
        return knots;
    }
    for (int64_t i = 0; i < count; i++) {
        double before = i ? knots[i].at - knots[i - 1].at : knots[1].at - knots[0].at;
        double behind = i < count - 1 ? knots[i + 1].at - knots[i].at : before;
        knots[i].low = knots[i].at - before / 2;
        knots[i].high = knots[i].at + behind / 2;
    }
    return knots;
}

/* A cell whose centre is this part of its width below an edge counts as on it. */
#define ON_EDGE 1e-3

int64_t grove_knots_interval(const grove_knot *knots, int64_t count, double x, double width)
{
    int64_t low = 0, high = count - 1;

    x += ON_EDGE * width;
    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        *(knots[middle].low <= x ? &low : &high) = middle;
    }
    /* the last one that begins before x, or the one behind where that is nearer */
    if (high > low && (x >= knots[high].low || x - knots[low].high > knots[high].low - x))
        low = high;
    return knots[low].place;
}
