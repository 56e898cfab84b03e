#include "nodes/common/grid_intervals.h"

#include "util.h"

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
    const double most = intervals ? usual_length(knots, count) : INFINITY;
    for (int64_t i = 0; i < count; i++) {
        double before = i ? knots[i].at - knots[i - 1].at : knots[1].at - knots[0].at;
        double behind = i < count - 1 ? knots[i + 1].at - knots[i].at : before;
        knots[i].low = knots[i].at - fmin(before, most) / 2;
        knots[i].high = knots[i].at + fmin(behind, most) / 2;
    }
    return knots;
}

/* A cell whose centre is this part of its width below an edge counts as on it. */
#define ON_EDGE 1e-3

/* How far x is from an interval; 0: inside. */
static double distance(const grove_knot *knot, double x)
{
    return fmax(0, fmax(knot->low - x, x - knot->high));
}

/* Intervals may overlap, if channels are wider than their spacing: searched from the nearest centre
 * outwards, up to the first interval that contains x. */
int64_t grove_knots_interval(const grove_knot *knots, int64_t count, double x, double width)
{
    int64_t low = 0, high = count, found = -1;

    x += ON_EDGE * width;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (knots[middle].at < x)
            low = middle + 1;
        else
            high = middle;
    }
    low--;
    while ((low >= 0 || high < count) && (found < 0 || distance(&knots[found], x) > 0)) {
        bool above = low < 0 || (high < count && knots[high].at - x <= x - knots[low].at);
        int64_t next = above ? high++ : low--;
        if (found < 0 || distance(&knots[next], x) < distance(&knots[found], x))
            found = next;
    }
    return knots[found].place;
}
