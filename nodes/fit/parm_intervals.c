/* The intervals of a parm, and the order of its coefficients. */
#include "nodes/fit/parm.h"

#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int64_t grove_parm_count(const grove_parm *p)
{
    int64_t count = p->time.count * p->freq.count * p->time.terms * p->freq.terms;

    count *= p->groups ? p->groups->size : p->source ? p->source->size : 1;
    return count * (p->station ? p->station->size : 1);
}

int64_t grove_parm_index(const grove_parm *p, int64_t source, int64_t station, int64_t interval,
                         int64_t band, int64_t term)
{
    int64_t at = p->source && !p->groups ? source : 0;

    at = p->station ? at * p->station->size + station : at;
    at = p->groups ? at * p->groups->size + source : at;
    at = (at * p->time.count + interval) * p->freq.count + band;
    return at * p->time.terms * p->freq.terms + term;
}

int64_t grove_parm_find(const grove_parm_intervals *own, int64_t cell, double *x)
{
    int64_t i = own->axis ? own->number[cell] : 0;

    *x = own->axis ? 2 * (own->axis->centre[cell] - own->centre[i]) / own->width[i] : 0;
    return i;
}

void grove_parm_intervals_free(grove_parm_intervals *own)
{
    free(own->centre);
    free(own->width);
    free(own->whole);
    free(own->number);
}

/* ---- making them ---- */

static int check_along(const grove_node *node, const char *option, const grove_axis *axis,
                       double length)
{
    if (!(length > 0))
        return grove_node_fail_option(node, option, "%g is not a length of an interval", length);
    if (!axis || !axis->centre || axis->size < 1)
        return grove_node_fail_option(node, grove_node_given(node, option) ? option : "degree",
                                      "it varies with %s, but no observation gives the %s; write "
                                      "obs=... with the name of one",
                                      option, *option == 't' ? "times" : "channels");
    return 0;
}

typedef struct {
    double centre, half;
    int64_t cell;
} ordered;

static int compare(const void *a, const void *b)
{
    const ordered *x = a, *y = b;

    return x->centre < y->centre   ? -1
           : x->centre > y->centre ? 1
                                   : (x->cell > y->cell) - (x->cell < y->cell);
}

/* The cells from low to high. */
static ordered *in_order(const grove_axis *axis)
{
    ordered *cells = grove_alloc((size_t)axis->size * sizeof(*cells));

    for (int64_t i = 0; i < axis->size; i++)
        cells[i] = (ordered){axis->centre[i], axis->width ? fabs(axis->width[i]) / 2 : 0, i};
    qsort(cells, (size_t)axis->size, sizeof(*cells), compare);
    return cells;
}

/* A cell whose centre is this part of its width below an edge counts as on it. */
#define ON_EDGE 1e-3

/* Cells of one stretch, in order: intervals from its low edge on, the last one to its high edge.
 * Those without a cell are left out; of a length below a cell's, they are as long as that. */
static void cut(grove_parm_intervals *own, const ordered *cells, int64_t count, double length)
{
    double start = cells[0].centre - cells[0].half, end = start, former = -1;

    for (int64_t i = 0; i < count; i++) {
        start = fmin(start, cells[i].centre - cells[i].half);
        end = fmax(end, cells[i].centre + cells[i].half);
    }
    const double extent = end > start ? end - start : 1;
    length = fmin(fmax(length, 1e-12 * extent), extent);
    for (int64_t i = 0; i < count; i++) {
        const ordered *cell = &cells[i];
        double k = floor((cell->centre + 2 * cell->half * ON_EDGE - start) / length);
        if (k > former) {
            double low = start + k * length, width = fmin(length, end - low);
            bool wide = length < 2 * cell->half * (1 - ON_EDGE) || !(width > 0);
            own->centre[own->count] = wide ? cell->centre : low + width / 2;
            own->whole[own->count] = wide ? cell->centre : low + length / 2;
            own->width[own->count] = !wide ? width : cell->half > 0 ? 2 * cell->half : 1;
            own->count++;
            former = k;
        }
        own->number[cell->cell] = (int32_t)(own->count - 1);
    }
}

/* The longest cell that has the centre of a shorter one in it, as where rows are averaged by their
 * baselines; 0: there is none. */
static double longest_over_others(const ordered *cells, int64_t count)
{
    double longest = 0;

    for (int64_t i = 0; i < count; i++)
        for (int64_t k = i ? i - 1 : 1; k <= i + 1 && k < count; k += 2)
            if (cells[k].half < cells[i].half * (1 - ON_EDGE) &&
                fabs(cells[k].centre - cells[i].centre) < cells[i].half * (1 - ON_EDGE))
                longest = fmax(longest, 2 * cells[i].half);
    return longest;
}

/* A cell has one number of each interval, so that it must not be longer than an interval, where
 * other cells determine its parts. */
static int check_longest(const grove_node *node, const char *option, const ordered *cells,
                         int64_t count, double length)
{
    double longest = longest_over_others(cells, count);

    return length >= longest * (1 - ON_EDGE)
               ? 0
               : grove_node_fail_option(
                     node, option,
                     "%g s is shorter than the longest of the intervals of its "
                     "rows, %g s, and a row has one solution; write %s=%gs, or a "
                     "multiple of it",
                     length, longest, option, longest);
}

/* The number of the first cell after `from` that is of another scan. */
static int64_t end_of_scan(const ordered *cells, const double *scan, int64_t from, int64_t count)
{
    int64_t i = from + 1;

    while (i < count && (!scan || scan[cells[i].cell] == scan[cells[from].cell]))
        i++;
    return i;
}

/* A frequency where a bandwidth was asked for. */
static void warn_of_frequency(const grove_node *node, const grove_axis *axis, double length)
{
    double low = INFINITY, high = -INFINITY, wide = 0;

    for (int64_t i = 0; i < axis->size; i++) {
        double width = axis->width ? fabs(axis->width[i]) : 0;
        low = fmin(low, axis->centre[i]);
        high = fmax(high, axis->centre[i]);
        wide = fmax(wide, width);
    }
    if (length > 2 * (high - low + wide) && length > 0.9 * low && length < 1.1 * high)
        grove_node_warn(node,
                        "freq is the length of its intervals in frequency, but %g MHz are many "
                        "times the band of %g MHz; without it one interval has all channels",
                        length / 1e6, (high - low + wide) / 1e6);
}

static int divide(const grove_node *node, const char *option, int degree, grove_parm_intervals *own)
{
    const grove_node *obs = grove_node_object(node, "obs");
    const grove_axis *axis = obs ? grove_node_axis(obs, option) : NULL;
    bool given = grove_node_given(node, option), time = !strcmp(option, "time");
    const double *scan = given && time && obs ? grove_node_member_data(obs, "scan") : NULL;
    double length = given ? grove_node_number(node, option) : INFINITY;

    *own = (grove_parm_intervals){.count = 1, .terms = degree + 1};
    if (!given && !degree)
        return 0;
    int code = check_along(node, option, axis, length);
    if (code)
        return code;
    size_t size = (size_t)axis->size;
    ordered *cells = in_order(axis);
    if (!time && given)
        warn_of_frequency(node, axis, length);
    if (time && (code = check_longest(node, option, cells, axis->size, length))) {
        free(cells);
        return code;
    }
    own->axis = axis;
    own->count = 0;
    own->centre = grove_alloc(size * sizeof(*own->centre));
    own->width = grove_alloc(size * sizeof(*own->width));
    own->whole = grove_alloc(size * sizeof(*own->whole));
    own->number = grove_alloc(size * sizeof(*own->number));
    for (int64_t from = 0, end; from < axis->size; from = end) {
        end = end_of_scan(cells, scan, from, axis->size);
        cut(own, cells + from, end - from, length);
    }
    free(cells);
    return 0;
}

int grove_parm_divide(grove_node *node, grove_parm *p)
{
    const double *degree;
    int degrees = grove_node_list(node, "degree", &degree);
    int code = 0;

    if (degrees > 2 || degrees < 1)
        return grove_node_fail_option(node, "degree",
                                      "must be one or two whole numbers: in time and frequency");
    for (int i = 0; i < degrees; i++)
        if (!(degree[i] >= 0 && degree[i] < GROVE_PARM_TERMS) || degree[i] != rint(degree[i]))
            return grove_node_fail_option(node, "degree", "%g is not a whole number from 0 to %d",
                                          degree[i], (int)GROVE_PARM_TERMS - 1);
    code = divide(node, "time", (int)degree[0], &p->time);
    if (!code)
        code = divide(node, "freq", degrees > 1 ? (int)degree[1] : 0, &p->freq);
    return code;
}
