// Sums over the samples that count in an image, without their places: a thread takes samples at
// equal distances, and the threads of a warp are added up, always in the same order.
#include "gridder_load_cuda.h"

namespace
{
// nodes/imaging/image_plane.h: image_is_within().
__device__ __forceinline__ bool is_within(const grove_gridder_weighing *g, const double uvw[3],
                                          double freq)
{
    for (int d = 0; d < 3; d++)
        if (!(fabs(uvw[d]) * freq <= g->longest[d]))
            return false;
    return true;
}

template <typename real>
__device__ void weigh_sample(const grove_args *args, const grove_gridder_weighing *g, uint32_t n,
                             double sum[GROVE_GRIDDER_TOTALS])
{
    const grove_gridder_state *s = &g->samples;
    const uint32_t row = n / (uint32_t)s->channels;
    const place p = {row / (uint32_t)s->baselines, row % (uint32_t)s->baselines,
                     n % (uint32_t)s->channels};
    const grove_view *baselines = &args->in[GROVE_GRIDDER_UVW];
    const double weight = weight_at(args, s, &p);
    complex_number<real> value;

    if (!(weight > 0))
        return;
    if (g->limited &&
        !is_within(
            g,
            (const double *)(const void *)((const char *)baselines->data +
                                           offset_of(baselines, s->axis, p.time, p.baseline, 0)),
            ((const double *)args->in[GROVE_GRIDDER_WAVENUMBERS].data)[p.channel]))
        sum[GROVE_GRIDDER_BEYOND]++;
    else if (!s->as_ones && !mix<real>(args, s, p, 0, &value))
        sum[GROVE_GRIDDER_NO_NUMBERS]++;
    else
        sum[GROVE_GRIDDER_WEIGHT_TOTAL] += weight;
}

template <typename real> __device__ void weigh(const grove_args *args, int64_t i)
{
    const grove_gridder_weighing *g =
        (const grove_gridder_weighing *)(const void *)args->state.bytes;
    double sum[GROVE_GRIDDER_TOTALS] = {};

#pragma unroll 1
    for (int64_t n = i; n < g->rows * g->samples.channels; n += g->threads)
        weigh_sample<real>(args, g, (uint32_t)n, sum);
    for (int k = 0; k < GROVE_GRIDDER_TOTALS; k++) {
        for (int by = 16; by > 0; by /= 2)
            sum[k] += __shfl_down_sync(0xffffffffu, sum[k], (unsigned)by);
        if (i % 32 == 0)
            ((double *)args->out.data)[i / 32 * GROVE_GRIDDER_TOTALS + k] = sum[k];
    }
}
} // namespace

// All threads of a warp have a number: there are whole warps of them.
#define KERNEL(precision, real)                                                                    \
    extern "C" __global__ void gridder_weigh_##precision(const __grid_constant__ grove_args args)  \
    {                                                                                              \
        const int64_t count = grove_args_cells(&args), step = (int64_t)gridDim.x * blockDim.x;     \
                                                                                                   \
        for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)     \
            weigh<real>(&args, i);                                                                 \
    }                                                                                              \
    GROVE_CUDA_EXPORT(gridder_weigh_##precision)

KERNEL(single, float)
KERNEL(double, double)
