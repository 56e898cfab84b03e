/* Sums over the samples that count in an image, on OpenCL devices: for each 32 threads of CUDA's
 * kernel one thread adds their samples. */
#ifndef GROVE_GRIDDER_WEIGH_OPENCL
#define GROVE_GRIDDER_WEIGH_OPENCL
#include "gridder_sample_cuda.h"

enum { TOGETHER = 32 };

GROVE_FN bool gridder_is_within(const grove_gridder_weighing *g, const double *uvw, double freq)
{
    bool within = true;

    for (int d = 0; d < 3; d++)
        within = within && fabs(uvw[d]) * freq <= g->longest[d];
    return within;
}

GROVE_FN void gridder_weigh_one(const grove_args *args, const grove_gridder_weighing *g, uint32_t n,
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
    const double *uvw =
        (const double *)(const void *)((const char *)baselines->data +
                                       offset_of(baselines, s->axis, p.time, p.baseline, 0));
    if (g->limited &&
        !gridder_is_within(g, uvw,
                           ((const double *)args->in[GROVE_GRIDDER_WAVENUMBERS].data)[p.channel]))
        sum[GROVE_GRIDDER_BEYOND]++;
    else if (!s->as_ones && !mix_parts(args, s, &p, 0, value))
        sum[GROVE_GRIDDER_NO_NUMBERS]++;
    else
        sum[GROVE_GRIDDER_WEIGHT_TOTAL] += weight;
}

GROVE_FN void gridder_weigh_all(const grove_args *args)
{
    const grove_gridder_weighing *g =
        (const grove_gridder_weighing *)(const void *)args->state.bytes;
    const int64_t count = grove_args_cells(args) / TOGETHER;

    for (int64_t i = get_global_id(0); i < count; i += get_global_size(0)) {
        double sum[GROVE_GRIDDER_TOTALS] = {0};
        for (int64_t first = i * TOGETHER; first < (i + 1) * TOGETHER; first++)
            for (int64_t n = first; n < g->rows * g->samples.channels; n += g->threads)
                gridder_weigh_one(args, g, (uint32_t)n, sum);
        for (int k = 0; k < GROVE_GRIDDER_TOTALS; k++)
            ((double *)args->out.data)[i * GROVE_GRIDDER_TOTALS + k] = sum[k];
    }
}
#endif

GROVE_OPENCL_KERNEL(gridder_weigh, gridder_weigh_all)
