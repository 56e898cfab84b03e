/* Cells and numbers for kernels of fits on OpenCL devices. */
#ifndef GROVE_KERNELS_FIT_OPENCL_H
#define GROVE_KERNELS_FIT_OPENCL_H

#include "fit_tile.h"

/* A baseline and its cells [first, end) along time and frequency. */
typedef struct {
    const grove_args *args;
    const grove_fit_tile *tile;
    int64_t first[2], end[2], baseline;
} fit_box;

/* A cell of it. */
typedef struct {
    int64_t time, channel;
} fit_cell;

GROVE_FN const char *fit_find(const fit_box *box, int input, const fit_cell *cell)
{
    const grove_fit_tile *tile = box->tile;
    const grove_view *view = &box->args->in[input];
    const int64_t at[3] = {cell->time, box->baseline, cell->channel};
    int64_t offset = 0;

    for (int d = 0; d < 3; d++)
        if (tile->axis[d] >= 0)
            offset += view->stride[tile->axis[d]] * at[d];
    return view->data ? (const char *)view->data + offset : 0;
}

GROVE_FN double fit_number(const grove_view *view, const char *at, int k)
{
    return view->bytes == 8 ? ((const double *)at)[k] : (double)((const float *)at)[k];
}

GROVE_FN bool fit_is_finite(grove_cplx64 x)
{
    return x.re - x.re == 0 && x.im - x.im == 0;
}

/* Whether the baseline's length is within the requested range. */
GROVE_FN bool fit_is_in_range(const fit_box *box, const fit_cell *cell)
{
    const grove_fit_tile *tile = box->tile;

    if (!tile->uvw)
        return true;
    const grove_view *view = &box->args->in[tile->uvw];
    const char *at = fit_find(box, tile->uvw, cell);
    const double length = hypot(fit_number(view, at, 0), fit_number(view, at, 1));
    double waves = length;
    if (tile->centred) {
        const int64_t channel =
            cell->channel + (tile->axis[2] >= 0 ? box->args->origin[tile->axis[2]] : 0);
        waves *= ((const double *)box->args->table)[tile->centres + channel] / GROVE_SPEED_OF_LIGHT;
    }
    return (tile->in_wavelengths[0] ? waves : length) >= tile->limits[0] &&
           (tile->in_wavelengths[1] ? waves : length) <= tile->limits[1];
}

/* The cells of row number `row`: [stretch in time, in frequency][baseline]. */
GROVE_FN fit_box fit_find_box(const grove_args *args, const grove_fit_tile *tile, int64_t row)
{
    fit_box box;

    box.args = args;
    box.tile = tile;
    const int64_t stretch = row / tile->baselines,
                  number[2] = {stretch / tile->stretches[1], stretch % tile->stretches[1]};
    box.baseline = row % tile->baselines;
    for (int cut = 0; cut < 2; cut++) {
        const int axis = tile->axis[2 * cut];
        const int64_t *edge = (const int64_t *)args->table + tile->edges[cut] + number[cut];
        const int64_t origin = axis >= 0 ? args->origin[axis] : 0;
        box.first[cut] = edge[0] - origin;
        box.end[cut] = edge[1] - origin;
    }
    return box;
}

#endif
