/* Sums over the samples that count in an image, on OpenCL devices: for each 32 threads of CUDA's
 * kernel one thread adds their samples. */
#ifndef GROVE_GRIDDER_WEIGH_OPENCL
#define GROVE_GRIDDER_WEIGH_OPENCL
#include "gridder_sample_cuda.h"

enum { TOGETHER = 32 };

GROVE_FN void gridder_weigh_all(const grove_args *args)
{
    const grove_gridder_weighing *g =
        (const grove_gridder_weighing *)(const void *)args->state.bytes;
    const int64_t count = grove_args_cells(args) / TOGETHER;

    for (int64_t i = get_global_id(0); i < count; i += get_global_size(0)) {
        double sum[GROVE_GRIDDER_TOTALS] = {0};
        for (int64_t first = i * TOGETHER; first < (i + 1) * TOGETHER; first++)
            for (int64_t n = first; n < g->rows * g->samples.channels; n += g->threads)
                weigh_sample(args, g, (uint32_t)n, sum);
        for (int k = 0; k < GROVE_GRIDDER_TOTALS; k++)
            ((double *)args->out.data)[i * GROVE_GRIDDER_TOTALS + k] = sum[k];
    }
}
#endif

GROVE_OPENCL_KERNEL(gridder_weigh, gridder_weigh_all)
