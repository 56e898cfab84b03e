/* Functions of cells and numbers for kernels of fits on devices: for fit_*.cu and fit_*.cl alone.
 */
#ifndef GROVE_KERNELS_FIT_CELL_H
#define GROVE_KERNELS_FIT_CELL_H

#include "fit_tile.h"

/* Where a thread is: cells of the tile. */
typedef struct {
    int64_t at[3]; /* time, baseline, frequency */
} place;

/* Cells [first, end) along time and frequency. */
typedef struct {
    int64_t first[2], end[2], baseline;
} box;

GROVE_FN const char *find(const grove_args *args, const grove_fit_tile *tile, int k, const place *p)
{
    const grove_view *view = &args->in[k];
    int64_t offset = 0;

    for (int d = 0; d < 3; d++)
        if (tile->axis[d] >= 0)
            offset += view->stride[tile->axis[d]] * p->at[d];
    return view->data ? (const char *)view->data + offset : 0;
}

GROVE_FN double number(const grove_view *view, const char *at, int k)
{
    return view->bytes == 8 ? ((const double *)(const void *)at)[k]
                            : (double)((const float *)(const void *)at)[k];
}

GROVE_FN bool is_finite(grove_cplx64 x)
{
    return x.re - x.re == 0 && x.im - x.im == 0;
}

/* Whether the baseline's length is within the requested range. */
GROVE_FN bool is_in_range(const grove_args *args, const grove_fit_tile *tile, const place *p)
{
    if (!tile->uvw)
        return true;
    const grove_view *view = &args->in[tile->uvw];
    const char *at = find(args, tile, tile->uvw, p);
    double length = hypot(number(view, at, 0), number(view, at, 1)), waves = length;
    if (tile->centred) {
        int64_t channel = p->at[2] + (tile->axis[2] >= 0 ? args->origin[tile->axis[2]] : 0);
        waves *= ((const double *)args->table)[tile->centres + channel] / GROVE_SPEED_OF_LIGHT;
    }
    return (tile->in_wavelengths[0] ? waves : length) >= tile->limits[0] &&
           (tile->in_wavelengths[1] ? waves : length) <= tile->limits[1];
}

/* The cells of row number `row`: [stretch in time, in frequency][baseline]. */
GROVE_FN box find_box(const grove_args *args, const grove_fit_tile *tile, int64_t row)
{
    const int64_t stretch = row / tile->baselines;
    const int64_t number[2] = {stretch / tile->stretches[1], stretch % tile->stretches[1]};
    box cells;

    cells.baseline = row % tile->baselines;
    for (int cut = 0; cut < 2; cut++) {
        int axis = tile->axis[2 * cut];
        const int64_t *edge = (const int64_t *)args->table + tile->edges[cut] + number[cut];
        int64_t origin = axis >= 0 ? args->origin[axis] : 0;
        cells.first[cut] = edge[0] - origin;
        cells.end[cut] = edge[1] - origin;
    }
    return cells;
}

#endif
