#include "nodes/fit/outliers.h"

#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sorts the numbers. */
static double median(double *x, int64_t count)
{
    qsort(x, (size_t)count, sizeof(*x), grove_compare_numbers);
    return count % 2 ? x[count / 2] : (x[count / 2 - 1] + x[count / 2]) / 2;
}

/* The direction of the mean of unit vectors. */
static double mean_direction(const double *x, int64_t count, double period)
{
    double turn = 2 * acos(-1) / period, re = 0, im = 0;

    for (int64_t i = 0; i < count; i++) {
        re += cos(turn * x[i]);
        im += sin(turn * x[i]);
    }
    return atan2(im, re) / turn;
}

/* Numbers that differ by less than this part of the largest are equal. */
#define ROUNDING 1e-12

/* Element e of the cells first, first + step, ... */
typedef struct {
    grove_grid_column *column;
    int64_t first, step, count;
    int e;
    double period;
} line;

static double *number_at(const line *l, int64_t i)
{
    return &l->column->numbers[(l->first + i * l->step) * l->column->elements + l->e];
}

static int64_t flag_line(const line *l, double sigmas, double *work)
{
    unsigned char *flags = l->column->flags, bit = (unsigned char)(1 << l->e);
    double centre = 0, largest = 0, limit;
    int64_t count = 0, flagged = 0;

    for (int64_t i = 0; i < l->count; i++)
        if (!(flags[l->first + i * l->step] & bit))
            work[count++] = *number_at(l, i);
    if (!count)
        return 0;
    double origin = l->period > 0 ? mean_direction(work, count, l->period) : 0;
    for (int64_t i = 0; i < count; i++) {
        work[i] = l->period > 0 ? remainder(work[i] - origin, l->period) : work[i];
        largest = fmax(largest, fabs(work[i]));
    }
    centre = median(work, count);
    for (int64_t i = 0; i < count; i++)
        work[i] = fabs(work[i] - centre);
    limit = fmax(1.4826 * median(work, count) * sigmas, ROUNDING * largest);
    for (int64_t i = 0; i < l->count; i++) {
        double x = *number_at(l, i) - origin - centre;
        unsigned char *flag = &flags[l->first + i * l->step];
        x = l->period > 0 ? remainder(x, l->period) : x;
        if ((*flag & bit) || !(fabs(x) > limit))
            continue;
        *flag |= bit;
        *number_at(l, i) = 0;
        flagged++;
    }
    return flagged;
}

/* The axis of that name with at least 3 places, or -1. */
static int find_axis(const grove_grid *grid, const char *name)
{
    for (int d = 0; d < grid->axes; d++)
        if (!strcmp(grid->axis[d].name, name) && grid->axis[d].size >= 3)
            return d;
    return -1;
}

int64_t grove_outliers_flag(grove_grid *grid, double period, double sigmas)
{
    grove_grid_column *column = grid->column;
    int time = find_axis(grid, "time"), along = time >= 0 ? time : find_axis(grid, "freq");
    int64_t step = 1, flagged = 0;

    if (along < 0)
        return -1;
    int64_t count = grid->axis[along].size;
    for (int d = along + 1; d < grid->axes; d++)
        step *= grid->axis[d].size;
    if (!column->flags)
        column->flags = grove_alloc((size_t)grid->cells + 1);
    double *work = grove_alloc((size_t)count * sizeof(*work));
    for (int64_t outer = 0; outer < grid->cells; outer += count * step)
        for (int64_t inner = 0; inner < step; inner++)
            for (int e = 0; e < column->elements; e++)
                flagged +=
                    flag_line(&(line){column, outer + inner, step, count, e, period}, sigmas, work);
    free(work);
    grove_grid_settle(grid, column);
    return flagged;
}
