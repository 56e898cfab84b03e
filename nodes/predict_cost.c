#include "nodes/predict_cost.h"

#include "../kernels/simd/isa.h"
#include "../kernels/visibility.h"

#include <stdio.h>

enum {
    NUMBERS = sizeof(grove_predict_costs) / sizeof(double),
    CUDA_NUMBERS = sizeof(grove_predict_cuda_costs) / sizeof(double)
};

grove_tuning predict_costs_entry(const grove_predict_costs *costs, int isa, int jones,
                                 char what[PREDICT_COSTS_WORDS])
{
    grove_tuning entry = {GROVE_TUNING_CPU, what, (const double *)costs, NUMBERS};

    snprintf(what, PREDICT_COSTS_WORDS, "predict, %s%s", grove_isa_name((grove_isa)isa),
             jones == PREDICT_COSTS_VARIED  ? ", Jones terms of channels"
             : jones == PREDICT_COSTS_JONES ? ", Jones terms"
                                            : "");
    return entry;
}

grove_tuning predict_cuda_costs_entry(const grove_predict_cuda_costs *costs)
{
    grove_tuning entry = {GROVE_TUNING_GPU, "predict, GPU", (const double *)costs, CUDA_NUMBERS};

    return entry;
}

grove_predict_costs predict_costs(int isa, int jones)
{
    grove_predict_costs costs = grove_predict_usual_costs(isa, 4, jones);
    char what[PREDICT_COSTS_WORDS];

    predict_costs_entry(&costs, isa, jones, what);
    grove_tuning_find(GROVE_TUNING_CPU, what, (double *)&costs, NUMBERS);
    return costs;
}

grove_predict_cuda_costs predict_cuda_costs(void)
{
    grove_predict_cuda_costs costs = grove_predict_cuda_counted();

    grove_tuning_find(GROVE_TUNING_GPU, predict_cuda_costs_entry(&costs).what, (double *)&costs,
                      CUDA_NUMBERS);
    return costs;
}

predict_sources predict_count_sources(const grove_node *node)
{
    grove_node *sky = grove_node_object(node, "sky");
    const grove_axis *axis = sky ? grove_node_axis(sky, "source") : NULL;
    const double *shape = sky ? grove_node_member_data(sky, "shape") : NULL;
    const double *stokes = sky ? grove_node_member_data(sky, "stokes") : NULL;
    predict_sources count = {.all = axis ? axis->size : 0};

    for (int64_t k = 0; k < count.all; k++) {
        const double *s = stokes ? stokes + 4 * k : NULL;
        count.gaussians += shape && grove_is_gaussian(shape + 3 * k);
        count.polarised += s && (s[1] != 0 || s[2] != 0 || s[3] != 0);
    }
    return count;
}
