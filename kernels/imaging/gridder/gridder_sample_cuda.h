/* A sample of the gridder's input on devices, for CUDA and OpenCL: its weight, its values, and
 * where its kernel begins. */
#ifndef GROVE_KERNELS_GRIDDER_SAMPLE_CUDA_H
#define GROVE_KERNELS_GRIDDER_SAMPLE_CUDA_H

#include "gridder_cuda.h"

#ifdef GROVE_OPENCL
#define GRIDDER_FN static
#define GRIDDER_ONE_BY_ONE
#else
#define GRIDDER_FN         static __device__
#define GRIDDER_ONE_BY_ONE _Pragma("unroll 1")
#endif

GROVE_FN int64_t offset_of(const grove_view *view, const int32_t axis[3], int64_t time,
                           int64_t baseline, int64_t channel)
{
    return (axis[0] < 0 ? 0 : view->stride[axis[0]] * time) +
           (axis[1] < 0 ? 0 : view->stride[axis[1]] * baseline) +
           (axis[2] < 0 ? 0 : view->stride[axis[2]] * channel);
}

GROVE_FN double number_at(const grove_view *view, const char *at, int k)
{
    return view->bytes == 8 ? ((const double *)(const void *)at)[k]
                            : (double)((const float *)(const void *)at)[k];
}

typedef struct {
    int64_t time, baseline, channel;
} place;

/* nodes/imaging/image_samples.h: twice the harmonic mean of the weights of the elements that are
 * used. */
GRIDDER_FN double weight_at(const grove_args *args, const grove_gridder_state *g, const place *p)
{
    const grove_view *flags = &args->in[GROVE_GRIDDER_FLAGS];
    const grove_view *view = &args->in[GROVE_GRIDDER_WEIGHTS];
    const grove_view *bad = &args->in[GROVE_GRIDDER_WEIGHT_FLAGS];
    double sum = 0;
    int count = 0, marks = 0;

    if (flags->data && ((const unsigned char *)flags
                            ->data)[offset_of(flags, g->axis, p->time, p->baseline, p->channel)] &
                           g->used)
        return 0;
    if (!view->data)
        return 1;
    const char *at =
        (const char *)view->data + offset_of(view, g->axis, p->time, p->baseline, p->channel);
    if (bad->data)
        marks = ((const unsigned char *)
                     bad->data)[offset_of(bad, g->axis, p->time, p->baseline, p->channel)];
    GRIDDER_ONE_BY_ONE
    for (int k = 0; k < view->elements; k++) {
        if (view->elements > 1 && !(g->used >> k & 1))
            continue;
        double each = number_at(view, at, k);
        if (!(each > 0) || each - each != 0 || marks >> k & 1)
            return 0;
        sum += 1 / each;
        count++;
    }
    return count ? (view->elements > 1 ? 2 : 1) * count / sum : 0;
}

/* The polarisation's number; false where one of all is none. */
GRIDDER_FN bool mix_parts(const grove_args *args, const grove_gridder_state *g, const place *p,
                          int pol, double value[2])
{
    const grove_view *view = &args->in[GROVE_GRIDDER_DATA];
    const double *stokes = (const double *)args->in[GROVE_GRIDDER_STOKES].data;
    const char *at =
        (const char *)view->data + offset_of(view, g->axis, p->time, p->baseline, p->channel);
    bool finite = true;

    GRIDDER_ONE_BY_ONE
    for (int i = 0; i < g->polarisations; i++) {
        double re = 0, im = 0;
        GRIDDER_ONE_BY_ONE
        for (int k = 0; k < g->elements; k++) {
            const double *factor = stokes + 2 * (4 * i + k);
            if (factor[0] == 0 && factor[1] == 0)
                continue;
            double x = number_at(view, at, 2 * k), y = number_at(view, at, 2 * k + 1);
            re += factor[0] * x - factor[1] * y;
            im += factor[0] * y + factor[1] * x;
        }
        finite = finite && re - re == 0 && im - im == 0;
        if (i == pol)
            value[0] = re, value[1] = im;
    }
    return finite;
}

/* The run of sample n, which is not before `first`. */
GROVE_FN int32_t find_run(const grove_gridder_run *runs, int32_t count, int32_t first, int32_t n)
{
    int32_t low = first, high = first + (n - runs[first].start); // each run has a sample

    high = high < count ? high : count - 1;
    while (low < high) {
        int32_t middle = low + (high - low + 1) / 2;
        if (runs[middle].start <= n)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

GROVE_FN double nearest(double x)
{
    const double big = 6755399441055744.0;

    return (x + big) - big;
}

/* The first cell of the tile in the coordinate of this row, which the grid may wrap. */
GROVE_FN double origin_of(const grove_gridder_state *g, int d, int column, double position)
{
    double tile = (double)(g->first_tile[d] + column);

    if (g->wraps[d]) {
        double tiles = (double)g->tiles[d];
        double first = nearest(position + (0.5 - 0.5 * g->width));
        tile += nearest((first / GROVE_GRIDDER_SIDE - 0.5 - tile) / tiles) * tiles;
    }
    return tile * GROVE_GRIDDER_SIDE;
}

/* Where a kernel begins, from `origin` on, in 0 to `last`, and s. */
GROVE_FN int place_kernel(double position, int width, double last, double *s)
{
    double first = nearest(position + (0.5 - 0.5 * width));

    first = first < 0 ? 0 : first > last ? last : first;
    *s = 2 * (first - position) + (width - 1.0);
    return (int)first;
}

/* nodes/imaging/image_plane.h: image_is_within(). */
GROVE_FN bool is_within(const grove_gridder_weighing *g, const double *uvw, double freq)
{
    for (int d = 0; d < 3; d++)
        if (!(fabs(uvw[d]) * freq <= g->longest[d]))
            return false;
    return true;
}

/* Adds sample n to the sums of gridder_weigh. */
GROVE_FN void weigh_sample(const grove_args *args, const grove_gridder_weighing *g, uint32_t n,
                           double sum[GROVE_GRIDDER_TOTALS])
{
    const grove_gridder_state *s = &g->samples;
    const uint32_t row = n / (uint32_t)s->channels;
    const place p = {row / (uint32_t)s->baselines, row % (uint32_t)s->baselines,
                     n % (uint32_t)s->channels};
    const grove_view *baselines = &args->in[GROVE_GRIDDER_UVW];
    const double weight = weight_at(args, s, &p);
    double value[2];

    if (!(weight > 0))
        return;
    if (g->limited &&
        !is_within(
            g,
            (const double *)(const void *)((const char *)baselines->data +
                                           offset_of(baselines, s->axis, p.time, p.baseline, 0)),
            ((const double *)args->in[GROVE_GRIDDER_WAVENUMBERS].data)[p.channel]))
        sum[GROVE_GRIDDER_BEYOND]++;
    else if (!s->as_ones && !mix_parts(args, s, &p, 0, value))
        sum[GROVE_GRIDDER_NO_NUMBERS]++;
    else
        sum[GROVE_GRIDDER_WEIGHT_TOTAL] += weight;
}

#endif
